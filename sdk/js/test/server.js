// The real `kith serve`, and what tests need of it.

import { execFileSync, spawn } from "node:child_process";
import { createHmac, randomBytes } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { WebSocket } from "ws";
import { KithClient } from "../kith.js";

const SECRET = randomBytes(32).toString("hex");
const API_KEY = randomBytes(16).toString("hex");
export const PATIENCE = 20_000; // ms for what must happen

/** Polls until fn returns something truthy, and returns that. */
export async function until(what, fn, patience = PATIENCE) {
  const end = Date.now() + patience;
  let seen;
  for (;;) {
    try {
      const value = await fn();
      if (value) return value;
      seen = undefined;
    } catch (error) {
      seen = error;
    }
    if (Date.now() > end) throw new Error(`not within ${patience} ms: ${what}`, { cause: seen });
    await pause(20);
  }
}

export const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** A user token that holds for so many seconds. */
export function token(user, seconds = 3600) {
  const part = (value) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const text = `${part({ alg: "HS256", typ: "JWT" })}.${part({ sub: user, exp: Math.floor(Date.now() / 1000) + seconds })}`;
  return `${text}.${createHmac("sha256", SECRET).update(text).digest("base64url")}`;
}

// Without what is meant for these tests: kith takes KITH_ for settings.
export const ENV = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("KITH_")));

let binary = null;

/** The path of kith: KITH_BIN, or one that is built now. */
export function kith(dir) {
  binary ??= process.env.KITH_BIN;
  if (binary) return binary;
  const path = join(dir, "kith");
  execFileSync("go", ["build", "-buildvcs=false", "-o", path, "github.com/kith-nearby/kith/cmd/node"]);
  return path;
}

/** A node with its data, which may be stopped and started again on the same port. */
export class Server {
  #dir = mkdtempSync(join(tmpdir(), "kith-js-"));
  #kith = kith(this.#dir);
  #process = null;
  #listen = "127.0.0.1:0";
  http;

  /** settings: key=value each. */
  static async start(t, ...settings) {
    const server = new Server();
    t.after(async () => {
      await server.stop("SIGKILL");
      rmSync(server.#dir, { recursive: true });
    });
    const yaml = `node: {data: data, admin: "127.0.0.1:0"}
auth: {hs256_secret: "${SECRET}", api_keys: ["${API_KEY}"], auto_create: true}
presence: {max_speed_mps: 0}
`;
    writeFileSync(join(server.#dir, "kith.yaml"), yaml, { mode: 0o600 });
    server.settings = settings;
    await server.launch();
    return server;
  }

  async launch() {
    const set = this.settings.flatMap((kv) => ["--set", kv]);
    const args = ["serve", "--config", "kith.yaml", "--set", `node.listen=${this.#listen}`, ...set];
    this.#process = spawn(this.#kith, args, { cwd: this.#dir, env: ENV, stdio: ["ignore", "ignore", "pipe"] });
    const said = [];
    const { promise, resolve, reject } = withResolvers();
    createInterface({ input: this.#process.stderr }).on("line", (line) => {
      said.push(line);
      try {
        const { msg, public: url } = JSON.parse(line);
        if (msg === "serving") resolve(url);
      } catch {
        // Not a line of the log.
      }
    });
    this.#process.once("exit", (code) => reject(new Error(`kith ended with ${code}:\n${said.join("\n")}`)));
    this.http = await promise;
    this.#listen = new URL(this.http).host;
  }

  async stop(signal) {
    const child = this.#process;
    if (child === null) return;
    this.#process = null;
    const over = new Promise((resolve) => child.once("exit", resolve));
    if (child.exitCode === null && child.signalCode === null) {
      child.kill(signal);
      await over;
    }
  }

  get port() {
    return Number(new URL(this.http).port);
  }

  /** An HTTP call; returns the body. */
  async call(method, path, bearer, body) {
    const response = await fetch(this.http + path, {
      method,
      headers: { Authorization: `Bearer ${bearer}`, ...(body && { "Content-Type": "application/json" }) },
      body: body && JSON.stringify(body),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return text === "" ? null : JSON.parse(text);
  }

  async befriend(a, b) {
    for (const user of [a, b]) await this.call("PUT", `/v1/users/${user}`, API_KEY);
    await this.call("PUT", `/v1/users/${a}/friends/${b}`, API_KEY);
  }

  /** All fixes of a user. */
  async history(user) {
    const all = [];
    for (let cursor = ""; ; ) {
      const page = await this.call("GET", `/v1/history?limit=10000&cursor=${encodeURIComponent(cursor)}`, token(user));
      all.push(...page.fixes);
      cursor = page.next;
      if (!cursor) return all;
    }
  }

  async nearby(user) {
    return (await this.call("GET", "/v1/nearby", token(user))).near;
  }

  /** A started client of this node. */
  client(t, user, options = {}) {
    const client = new KithClient({ url: this.http, token: () => token(user), WebSocket, ...options });
    t.after(() => client.close());
    client.start();
    return client;
  }
}

export function withResolvers() {
  const all = {};
  all.promise = new Promise((resolve, reject) => Object.assign(all, { resolve, reject }));
  return all;
}

/** Resolves with the next event of that name that fits. */
export function next(client, name, fits = () => true) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`no ${name} came`)), PATIENCE);
    const off = client.on(name, (value) => {
      if (!fits(value)) return;
      clearTimeout(timer);
      off();
      resolve(value);
    });
  });
}
