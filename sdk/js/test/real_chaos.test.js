// A bad network: KITH_CHAOS seconds of it (20), from the seed KITH_SEED.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Proxy, seeded } from "./proxy.js";
import { Server, pause, until } from "./server.js";

const SECONDS = Number(process.env.KITH_CHAOS ?? 20);
const SEED = Number(process.env.KITH_SEED ?? Date.now() % 1_000_000);
const TIMES = { ping: 1000, slack: 200, pong: 800, connect: 2000, backoff: 50, backoffMost: 500, repeat: 200 };

/** A person who moves and gives a fix every so many ms until told to stop. */
class Walker {
  given = [];
  states = new Map();
  errors = new Map();
  most = 0; // fixes waiting at once
  #timer;

  constructor(client, path, every) {
    this.client = client;
    client.on("state", ({ state, code, reason }) => count(this.states, state === "waiting" ? `${code} ${reason}` : state));
    client.on("error", ({ code }) => count(this.errors, code));
    client.on("pending", (n) => (this.most = Math.max(this.most, n)));
    this.#timer = setInterval(() => {
      const fix = { ...path(this.given.length), ts: Date.now() };
      this.given.push({ ...fix, seq: client.fix(fix) });
    }, every);
  }

  rest() {
    clearInterval(this.#timer);
  }
}

const count = (map, key) => map.set(key, (map.get(key) ?? 0) + 1);
const byUser = (a, b) => (a.user < b.user ? -1 : 1);
const key = ({ ts, lat, lng }) => `${ts} ${lat} ${lng}`;

test("J4: the hello of a connection that was given up arrives late, and the client comes back", async (t) => {
  const server = await Server.start(t);
  let held = 0;
  const proxy = new Proxy(() => server.port, {
    // The first connection's frames stay on the way once its handshake has passed.
    joined: (pair) => held++ === 0 && pair.client.once("data", () => setImmediate(() => pair.hold(["up"], 3000))),
  });
  t.after(() => proxy.close());
  proxy.heal();
  const states = [];
  const client = server.client(t, "alice", { url: await proxy.listen(), times: { ...TIMES, connect: 1000 } });
  client.on("state", ({ state, code }) => states.push(state === "waiting" ? code : state));
  await until("it was replaced by itself", () => states.includes(4003));
  await until("it is back", () => client.state === "open");
  assert.deepEqual(states.filter((state) => state !== "connecting"), [1006, "open", 4003, "open"]);
  assert.equal(held, 3);
  client.fix({ lat: 1, lng: 2 });
  await until("it works", () => client.pending === 0);
});

test(`J1 J2 J3 J6: ${SECONDS} s of drops, stalls, cuts and half-open connections lose nothing and double nothing`, async (t) => {
  t.diagnostic(`KITH_SEED=${SEED}`);
  const random = seeded(SEED);
  const server = await Server.start(t);
  for (const [a, b] of [["alice", "bob"], ["alice", "carol"], ["bob", "carol"]]) await server.befriend(a, b);
  const proxy = new Proxy(() => server.port, { random, meanLife: 1200 });
  t.after(() => proxy.close());
  const url = await proxy.listen();
  const round = (degrees) => Number(degrees.toFixed(7));
  const walkers = ["alice", "bob", "carol"].map((user, i) => {
    const client = server.client(t, user, { url, times: TIMES });
    // Bob walks in and out of the radius, the others stay about.
    const path = (n) => ({ lat: round(52.5 + (user === "bob" ? 0.12 * Math.sin(n / 40) : 0.001 * i) + n * 1e-6), lng: 13.4 });
    return new Walker(client, path, 50 + 20 * i);
  });
  t.after(() => walkers.forEach((walker) => walker.rest()));

  await pause(SECONDS * 500);
  await server.stop("SIGKILL"); // and once the node itself
  await server.launch();
  await pause(SECONDS * 500);
  walkers.forEach((walker) => walker.rest());
  proxy.heal();

  for (const [name, n] of Object.entries(proxy.counts)) assert.ok(n > 0 || SECONDS < 20, `no ${name} happened`);
  for (const { client, given, states, errors, most } of walkers) {
    await until("all is acknowledged", () => client.pending === 0);
    const user = client.user;
    const [rows, wanted] = [(await server.history(user)).map(key).sort(), given.map(key).sort()];
    const missing = wanted.filter((row) => !rows.includes(row)).length;
    assert.deepEqual([rows.length, new Set(rows).size, missing], [wanted.length, wanted.length, 0], `${user}: rows, different rows, missing`);
    assert.equal(client.dropped, 0);
    assert.ok(!states.has("closed"), `${[...states.keys()]}`);
    t.diagnostic(`${user}: ${given.length} fixes, at most ${most} waiting; ends ${JSON.stringify([...states])}; errors ${JSON.stringify([...errors])}`);
  }
  for (const { client } of walkers) {
    await until(`${client.user}'s view is GET /v1/nearby`, async () => {
      const near = (await server.nearby(client.user)).sort(byUser);
      assert.deepEqual([...client.view].map(([, { entered, ...item }]) => item).sort(byUser), near);
      return true;
    });
  }
  assert.ok(walkers[0].client.view.has("carol"));
  t.diagnostic(`${proxy.connections} connections; faults ${JSON.stringify(proxy.counts)}`);
});
