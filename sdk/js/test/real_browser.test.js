// The client in a real browser, with its IndexedDB and its WebSocket.

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import http from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { PATIENCE, Server, token, withResolvers } from "./server.js";

const browser = ["chromium", "chromium-browser", "google-chrome"].find((name) => spawnSync(name, ["--version"]).status === 0);
const none = "there is no Chromium here: install Debian's package chromium for this test";

/** Serves this folder's parent, and resolves with what the page reports. */
async function serve(t) {
  const { promise, resolve, reject } = withResolvers();
  const server = http.createServer((request, response) => {
    const path = new URL(request.url, "http://page").pathname;
    if (path === "/report") {
      let text = "";
      request.on("data", (chunk) => (text += chunk));
      request.on("end", () => {
        const { failed, ...report } = JSON.parse(text);
        if (failed) reject(new Error(`in the browser: ${failed}`));
        else resolve(report);
        response.end();
      });
      return;
    }
    const type = { js: "text/javascript", html: "text/html" }[path.split(".").pop()];
    if (!type || path.includes("..")) return response.writeHead(404).end();
    response.writeHead(200, { "Content-Type": type });
    response.end(readFileSync(new URL(`..${path}`, import.meta.url)));
  });
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  t.after(() => server.close());
  return { origin: `http://127.0.0.1:${server.address().port}`, report: promise };
}

test("J1: in Chromium, fixes of a page that was left go out from the next one, once", { skip: !browser && !process.env.CI && none }, async (t) => {
  assert.ok(browser, none);
  const { origin, report } = await serve(t);
  const server = await Server.start(t, `gateway.origins=${origin}`);
  const profile = mkdtempSync(join(tmpdir(), "kith-js-chromium-"));
  const query = new URLSearchParams({ first: "", url: server.http, token: token("alice") });
  const flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking", "--disable-component-update"];
  const child = spawn(browser, [...flags, `--user-data-dir=${profile}`, "--remote-debugging-port=0", `${origin}/test/page.html?${query}`], { stdio: "ignore", detached: true });
  const over = new Promise((resolve) => child.once("exit", resolve));
  t.after(async () => {
    try {
      process.kill(-child.pid, "SIGKILL"); // all of Chromium, which is many processes
    } catch {
      // it has ended by itself
    }
    await over;
    rmSync(profile, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  });
  const late = setTimeout(() => process.kill(-child.pid, "SIGKILL"), 2 * PATIENCE);
  const ended = over.then(() => Promise.reject(new Error("the browser ended without a report")));
  ended.catch(() => {});
  const { user, seqs } = await Promise.race([report, ended]);
  clearTimeout(late);
  assert.equal(user, "alice");
  const rows = await server.history("alice");
  assert.deepEqual(rows.map(({ lat, lng }) => [lat, lng]), [13.4, 13.5].flatMap((lng) => [52.5, 52.501, 52.502].map((lat) => [lat, lng])));
  assert.ok(rows.every((row) => row.device === "browser"), JSON.stringify(rows[0]));
  assert.deepEqual(rows.slice(3).map(({ seq }) => seq), seqs);
  assert.ok(rows[2].seq < seqs[0]);
});
