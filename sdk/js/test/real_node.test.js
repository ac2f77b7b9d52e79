// The client against the real node.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Server, next, token, until } from "./server.js";

const HERE = { lat: 52.52, lng: 13.405 };
const NEAR = { lat: 52.5219, lng: 13.4132 };
const FAR = { lat: 48.1, lng: 11.6 };

/** The view, as GET /v1/nearby gives it: without what is true only once. */
function viewOf(client) {
  return [...client.view].map(([, { entered, ...item }]) => item).sort((a, b) => (a.user < b.user ? -1 : 1));
}

async function agree(server, client, user) {
  await until(`${user}'s view is GET /v1/nearby`, async () => {
    const near = (await server.nearby(user)).sort((a, b) => (a.user < b.user ? -1 : 1));
    assert.deepEqual(viewOf(client), near);
    return true;
  });
}

test("two friends see each other come, move and go", async (t) => {
  const server = await Server.start(t, "presence.offline_grace=300ms");
  await server.befriend("alice", "bob");
  const alice = server.client(t, "alice");
  const bob = server.client(t, "bob");
  const changes = [];
  alice.view.subscribe((change) => changes.push(change));
  alice.fix(HERE);
  bob.fix({ ...NEAR, acc: 12, speed: null, battery: 0.5 });
  await until("alice sees bob", () => alice.view.has("bob"));
  const item = alice.view.get("bob");
  assert.ok(item.distance_m > 580 && item.distance_m < 610, `${item.distance_m} m`);
  assert.equal(item.acc, 12);
  await until("bob sees alice", () => bob.view.has("alice"));

  bob.fix({ lat: 52.53, lng: 13.4132 });
  await until("alice sees bob move", () => alice.view.get("bob").lat === 52.53);
  await agree(server, alice, "alice");
  bob.fix(FAR);
  await until("bob is gone", () => alice.view.size === 0);
  assert.deepEqual(changes.at(-1).gone, [{ user: "bob", reason: "away" }]);
  bob.fix(NEAR);
  await until("bob is back", () => alice.view.has("bob"));
  await bob.close();
  await until("bob is offline", () => alice.view.size === 0);
  assert.deepEqual(changes.at(-1).gone, [{ user: "bob", reason: "offline" }]);
  await until("all is acknowledged", () => alice.pending === 0);
  assert.equal(bob.state, "closed");
});

test("requests are answered: friends, sharing, radius", async (t) => {
  const server = await Server.start(t);
  const alice = server.client(t, "alice");
  const bob = server.client(t, "bob");
  await Promise.all([next(alice, "connected"), next(bob, "connected")]);
  const asked = next(bob, "request");
  await alice.friend("request", "bob");
  assert.equal((await asked).user, "alice");
  const accepted = next(alice, "friend");
  await bob.friend("accept", "alice");
  assert.deepEqual(await accepted, { type: "friend", user: "bob", op: "accepted" });
  alice.fix(HERE);
  bob.fix(NEAR);
  await until("they see each other", () => alice.view.has("bob") && bob.view.has("alice"));

  await bob.share({ user: "alice", mode: "area" });
  await until("alice sees bob's area", () => alice.view.get("bob")?.precision === "area");
  await bob.share({ mode: "none" });
  await until("bob is hidden", () => alice.view.size === 0);
  await bob.share({ mode: "exact", until: Date.now() + 3_600_000 });
  await bob.share({ user: "alice", mode: "exact" });
  await until("bob is back", () => alice.view.has("bob"));

  await alice.setRadius(200);
  await until("bob is out of 200 m", () => alice.view.size === 0);
  await assert.rejects(alice.setRadius(1), { name: "KithError", code: "bad_field", field: "radius_m", temporary: false });
  await assert.rejects(alice.friend("request", "nobody at all"), { code: "bad_field", field: "user" });
  await assert.rejects(alice.friend("accept", "carol"), { name: "KithError" });
  await alice.setRadius(8047);
  await until("and in 8 047 m", () => alice.view.has("bob"));
});

test("a refused fix leaves the buffer, and the others are durable", async (t) => {
  const server = await Server.start(t);
  const alice = server.client(t, "alice");
  await next(alice, "connected");
  const errors = [];
  alice.on("error", (error) => errors.push(error));
  alice.fix(HERE);
  const wrong = alice.fix({ lat: 91, lng: 0 });
  const seconds = alice.fix({ ...HERE, ts: 1_700_000_000 });
  const last = alice.fix(NEAR);
  await until("nothing waits", () => alice.pending === 0);
  assert.deepEqual(errors.map(({ code, seq }) => [code, seq]), [["bad_coordinate", wrong], ["bad_time", seconds]]);
  assert.deepEqual((await server.history("alice")).map((fix) => fix.lat), [HERE.lat, NEAR.lat]);
  assert.equal((await server.history("alice")).at(-1).seq, last);
});

test("a node that is killed and started again: all come back and agree, and every fix is there once", async (t) => {
  const server = await Server.start(t);
  await server.befriend("alice", "bob");
  const alice = server.client(t, "alice", { times: { backoffMost: 1000 } });
  const bob = server.client(t, "bob", { times: { backoffMost: 1000 } });
  alice.fix(HERE);
  bob.fix(NEAR);
  await until("they see each other", () => alice.view.has("bob") && bob.view.has("alice"));
  await until("all is acknowledged", () => alice.pending + bob.pending === 0);

  const lost = next(alice, "state", ({ state }) => state === "waiting");
  await server.stop("SIGKILL");
  assert.equal((await lost).code, 1006);
  const given = Array.from({ length: 1500 }, (_, i) => ({ lat: HERE.lat + i * 1e-6, lng: HERE.lng, ts: Date.now() + i }));
  for (const fix of given) alice.fix(fix);
  assert.equal(alice.pending, 1500);
  await server.launch();
  // Nothing new of bob: what the server forgot, the client tells again.
  await until("they see each other again", () => alice.view.has("bob") && bob.view.has("alice"));
  await until("all is acknowledged", () => alice.pending + bob.pending === 0);
  await agree(server, alice, "alice");
  await agree(server, bob, "bob");
  const rows = await server.history("alice");
  assert.deepEqual(rows.map((row) => row.lat).sort(), [HERE.lat, ...given.map((fix) => Number(fix.lat.toFixed(7)))].sort());
  assert.equal((await server.history("bob")).length, 1, "the fix that was told again is not there twice");
});

test("a drained node says when to come back, and that is obeyed", async (t) => {
  const server = await Server.start(t, "node.drain_within=2s");
  const alice = server.client(t, "alice");
  await next(alice, "connected");
  const told = next(alice, "drain");
  const lost = next(alice, "state", ({ state }) => state === "waiting");
  const stopped = server.stop("SIGTERM");
  const { retry_after_ms } = await told;
  const state = await lost;
  assert.equal(state.code, 4100);
  assert.equal(state.retryInMs, retry_after_ms);
  await stopped;
});

test("the same device twice: the older is closed for good, the newer stays", async (t) => {
  const server = await Server.start(t);
  const older = server.client(t, "alice", { device: "phone" });
  await next(older, "connected");
  const end = next(older, "state", ({ state }) => state === "closed");
  const newer = server.client(t, "alice", { device: "phone" });
  assert.equal((await end).code, 4003);
  await until("the newer is open", () => newer.state === "open");
});

test("a token that ends: a fresh one goes out in time, and without one the end is final", async (t) => {
  const server = await Server.start(t);
  let left = [4, 3600];
  const alice = server.client(t, "alice", { token: () => token("alice", left.shift()) });
  const ends = [];
  alice.on("state", ({ state, code }) => ends.push([state, code]));
  await until("the fresh token was fetched", () => left.length === 0); // expiring comes at once
  const same = token("bob", 2);
  const bob = server.client(t, "bob", { token: () => same, random: () => 0 });
  const end = await next(bob, "state", ({ state }) => state === "closed");
  assert.equal(end.code, 4002);
  assert.equal(alice.state, "open", "it outlived its first token");
  assert.deepEqual(ends.filter(([state]) => state === "waiting" || state === "closed"), []);
});

test("a token that is refused ends it, and so does another user's", async (t) => {
  const server = await Server.start(t);
  const mallory = server.client(t, "mallory", { token: () => `${token("mallory").slice(0, -4)}AAAA` });
  assert.equal((await next(mallory, "state", ({ state }) => state === "closed")).code, 4001);
  const users = ["alice", "bob"];
  const alice = server.client(t, "alice", { token: () => token(users.shift()) });
  await next(alice, "connected");
  await server.stop("SIGKILL");
  await server.launch();
  const end = await next(alice, "state", ({ state }) => state === "closed");
  assert.equal(end.code, 0);
  assert.match(end.reason, /another user/);
});

test("a bad option does not make it try for ever", async (t) => {
  const server = await Server.start(t);
  const wide = server.client(t, "alice", { radius_m: 5 });
  const errors = [];
  wide.on("error", (error) => errors.push(error.field));
  await next(wide, "connected");
  assert.deepEqual(errors, ["radius_m"]);
  const odd = server.client(t, "bob", { device: "tab\t" });
  const end = await next(odd, "state", ({ state }) => state === "closed");
  assert.match(end.reason, /device/);
});
