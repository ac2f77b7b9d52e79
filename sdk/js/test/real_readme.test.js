// The quick start of README.md, as written, against `kith dev`.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { ENV, kith, until } from "./server.js";

const here = (name) => fileURLToPath(new URL(`../${name}`, import.meta.url));
const readme = readFileSync(here("README.md"), "utf8");

/** The first block of the README in a language. */
function block(language, from = 0) {
  const begin = readme.indexOf(`\`\`\`${language}\n`, from) + language.length + 4;
  return readme.slice(begin, readme.indexOf("```", begin));
}

/** A process, and all that it has written. */
function run(t, command, args, cwd) {
  const child = spawn(command, args, { cwd, env: ENV, stdio: ["ignore", "pipe", "pipe"] });
  const over = new Promise((resolve) => child.once("exit", resolve));
  const said = { out: "", err: "" };
  child.stdout.on("data", (chunk) => (said.out += chunk));
  child.stderr.on("data", (chunk) => (said.err += chunk));
  t.after(async () => {
    child.kill("SIGINT");
    await over;
  });
  return said;
}

test("the quick start works as written", async (t) => {
  const dir = mkdtempSync(join(tmpdir(), "kith-js-readme-"));
  t.after(() => rmSync(dir, { recursive: true, force: true, maxRetries: 20 }));
  for (const name of ["kith.js", "buffer.js", "rules.js", "socket.js", "storage.js", "view.js", "node_modules"]) symlinkSync(here(name), join(dir, name));
  writeFileSync(join(dir, "near.mjs"), block("js"));

  const dev = run(t, kith(dir), ["dev", "--node.listen", "127.0.0.1:0", "--node.admin", "127.0.0.1:0", "--set", "node.drain_within=1s"], dir);
  const tokens = await until("kith dev prints two tokens", () => {
    const all = dev.out.match(/eyJ[\w-]+\.[\w-]+\.[\w-]+/g) ?? [];
    const of = new Map(all.map((token) => [JSON.parse(Buffer.from(token.split(".")[1], "base64url")).sub, token]));
    return of.has("alice") && of.has("bob") && of;
  });
  const [url] = dev.out.match(/http:\/\/127\.0\.0\.1:\d+/);

  const commands = block("sh", readme.indexOf("Be alice in one terminal")).trim().split("\n");
  assert.equal(commands.length, 2);
  const people = commands.map((line) => {
    const words = line.replace("http://127.0.0.1:8080", url).replace("ALICES_TOKEN", tokens.get("alice")).replace("BOBS_TOKEN", tokens.get("bob")).split(" ");
    assert.equal(words.shift(), "node");
    return run(t, process.execPath, ["--preserve-symlinks", "--preserve-symlinks-main", ...words], dir);
  });
  const expected = block("", readme.indexOf("Alice's terminal says")).trim().split("\n");
  assert.equal(expected.length, 3);
  await until(`alice's terminal says ${expected.at(-1)}`, () => {
    const lines = people[0].out.split("\n").map((line) => line.trim());
    assert.deepEqual(lines.filter((line) => expected.includes(line)), expected, people[0].out + people[0].err);
    return true;
  });
});

test("the README names every option, member and event, and no others", () => {
  const declared = readFileSync(here("kith.d.ts"), "utf8");
  const part = (name) => declared.slice(declared.indexOf(`export ${name} {`)).split("\n}")[0];
  const names = (text) => [...text.matchAll(/^  (?:readonly )?(\w+)\??[(<:]/gm)].map(([, name]) => name).filter((name) => name !== "constructor");
  const cells = [...readme.matchAll(/^\| (`.+?) \|/gm)].flatMap(([, cell]) => [...cell.matchAll(/`(\w+)/g)].map(([, name]) => name));
  const wanted = ["interface Options", "class KithClient", "interface Events"].flatMap((name) => names(part(name)));
  assert.ok(wanted.length > 25);
  assert.deepEqual([...new Set(cells)].sort(), [...new Set(wanted)].sort());
});
