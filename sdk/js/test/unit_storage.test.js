import "fake-indexeddb/auto";
import assert from "node:assert/strict";
import { test } from "node:test";
import { indexedDBStorage } from "../storage.js";
import { BERLIN, fakeClient, settle } from "./fakes.js";

const jwt = (sub) => `e30.${Buffer.from(JSON.stringify({ sub })).toString("base64url")}.c2ln`;
let databases = 0;
const fresh = () => indexedDBStorage(`test ${++databases}`);

/** A client whose storage has been read. IndexedDB here takes real turns. */
async function stored(storage, options = {}) {
  const w = fakeClient({ storage, token: () => jwt("alice"), ...options });
  w.client.start();
  for (let i = 0; i < 50; i++) await settle();
  return w;
}

const sent = (w) => [...w.ws.take("fix"), ...w.ws.take("fixes").flatMap(({ fixes }) => fixes)].map(({ type, ...fix }) => fix);

async function welcome(w, more) {
  await w.welcome(more);
  for (let i = 0; i < 50; i++) await settle();
}

test("J1: what was not acknowledged survives a restart, and seq goes on above it", async () => {
  const storage = fresh();
  const w = await stored(storage);
  const seqs = [w.client.fix({ ...BERLIN, acc: 3 }), w.client.fix(BERLIN), w.client.fix(BERLIN)];
  await welcome(w);
  w.ws.say({ type: "ack", seq: seqs[0] });
  w.ws.say({ type: "error", seq: seqs[2], code: "bad_time", message: "no", temporary: false });
  await w.client.close();

  const again = await stored(storage);
  again.clock.set(-3_600_000);
  assert.deepEqual(again.take("pending"), [1]);
  const next = again.client.fix(BERLIN);
  assert.ok(next > seqs[2], "though the clock was set back");
  await welcome(again);
  const frames = sent(again);
  assert.deepEqual(frames.map(({ seq }) => seq), [seqs[1], next]);
  assert.equal(frames[0].ts, w.clock.now());
  again.ws.say({ type: "ack", seq: next });
  await again.client.close();

  const third = await stored(storage);
  assert.equal(third.client.pending, 0);
  third.clock.set(-3_600_000);
  assert.ok(third.client.fix(BERLIN) > next, "seq is kept, also when nothing waits");
  await third.client.close();
});

test("J1: fixes of before the storage was read come after what it has, also if the clock was set back", async () => {
  const storage = fresh();
  const w = await stored(storage);
  const old = [w.client.fix({ ...BERLIN, acc: 1 }), w.client.fix({ ...BERLIN, acc: 2 })];
  await w.client.close();
  const again = fakeClient({ storage, token: () => jwt("alice") });
  again.clock.set(-3_600_000);
  again.client.fix({ ...BERLIN, acc: 3 });
  again.client.start();
  again.client.fix({ ...BERLIN, acc: 4 });
  await welcome(again);
  const frames = sent(again);
  assert.deepEqual(frames.map(({ acc }) => acc), [1, 2, 3, 4]);
  assert.deepEqual(frames.map(({ seq }) => seq), [...old, old[1] + 1, old[1] + 2]);
  await again.client.close();
  const { fixes } = await storage.load("alice", "default");
  assert.deepEqual(fixes, frames);
});

test("J1: a fix that waits to be repeated is kept under the seq that it has", async () => {
  const storage = fresh();
  const w = await stored(storage);
  await welcome(w);
  const seq = w.client.fix(BERLIN);
  w.ws.say({ type: "error", seq, code: "too_many", message: "slower", temporary: true });
  await w.client.close();
  assert.deepEqual((await storage.load("alice", "default")).fixes.map((fix) => fix.seq), [seq]);
  w.client.start();
  await welcome(w);
  const [again] = sent(w);
  await w.client.close();
  assert.deepEqual((await storage.load("alice", "default")).fixes.map((fix) => fix.seq), [again.seq]);
});

test("J1: a new seq is stored before it is used, and what comes meanwhile waits behind it", async () => {
  const inner = fresh();
  let release = null;
  const storage = {
    load: (...args) => inner.load(...args),
    async save(user, device, change) {
      if (change.remove.length > 0) await new Promise((resolve) => (release = resolve));
      await inner.save(user, device, change);
    },
  };
  const w = await stored(storage);
  await welcome(w);
  const seq = w.client.fix(BERLIN);
  sent(w);
  for (let i = 0; i < 50; i++) await settle();
  w.ws.say({ type: "error", seq, code: "too_many", message: "slower", temporary: true });
  await w.clock.pass(2000);
  const next = w.client.fix(BERLIN);
  for (let i = 0; i < 50; i++) await settle();
  assert.deepEqual(sent(w), []);
  release();
  for (let i = 0; i < 50; i++) await settle();
  const [again, last] = sent(w).map((fix) => fix.seq);
  assert.ok(again > seq && next > again);
  assert.equal(last, next);
});

test("J1: users and devices are kept apart", async () => {
  const storage = fresh();
  const phone = await stored(storage, { device: "phone" });
  phone.client.fix(BERLIN);
  await phone.client.close();
  for (const [user, device] of [["alice", "tablet"], ["bob", "phone"], ["alice", undefined]]) {
    const other = await stored(storage, { token: () => jwt(user), device });
    assert.equal(other.client.pending, 0, `${user} ${device}`);
    other.client.fix({ ...BERLIN, acc: 9 });
    await other.client.close();
  }
  const again = await stored(storage, { device: "phone" });
  assert.equal(again.client.pending, 1);
  assert.equal(again.client.user, "alice");
});

test("J1: a token that cannot be read: the user comes with the welcome, and nothing goes out before the storage is read", async () => {
  const storage = fresh();
  const first = await stored(storage);
  const old = first.client.fix(BERLIN);
  await first.client.close();
  const w = await stored(storage, { token: () => "opaque" });
  w.client.fix(BERLIN);
  assert.equal(w.client.user, undefined);
  w.ws.accept();
  w.ws.say({ type: "connected", user: "alice", session: 1 });
  w.client.fix(BERLIN);
  assert.deepEqual(sent(w), []);
  for (let i = 0; i < 50; i++) await settle();
  const seqs = sent(w).map(({ seq }) => seq);
  assert.deepEqual(seqs, [old, old + 2, old + 3], "the clock stands still: numbered anew");
  await w.client.close();
  assert.deepEqual((await storage.load("alice", "default")).fixes.map(({ seq }) => seq), seqs);
});

test("J1: another user's token never gets this user's fixes", async () => {
  const tokens = [jwt("alice"), jwt("bob")];
  const w = await stored(fresh(), { token: () => tokens.shift() });
  w.client.fix(BERLIN);
  await welcome(w);
  w.ws.hangUp(1006);
  await w.clock.pass(250);
  await welcome(w, { user: "bob" });
  assert.deepEqual(sent(w), []);
  assert.equal(w.client.state, "closed");
  assert.match(w.take("state").at(-1).reason, /another user/);
});

test("J1: a bounded buffer stays bounded over a restart", async () => {
  const storage = fresh();
  const w = await stored(storage);
  const seqs = Array.from({ length: 50 }, () => w.client.fix(BERLIN));
  await w.client.close();
  const small = await stored(storage, { buffer: 10 });
  assert.equal(small.client.pending, 10);
  assert.equal(small.client.dropped, 40);
  await small.client.close();
  assert.deepEqual((await storage.load("alice", "default")).fixes.map((fix) => fix.seq), seqs.slice(40));
});

test("what a storage holds that is no fix is left out", async () => {
  const good = { seq: 5, ts: 6, lat: 1, lng: 2 };
  const bad = [null, 7, {}, { ...good, seq: "5" }, { ...good, lat: NaN }];
  const storage = { load: async () => ({ fixes: [good, ...bad], seq: "many" }), save: async () => {} };
  const w = await stored(storage);
  await welcome(w);
  assert.deepEqual(sent(w), [good]);
});

test("a storage that fails, hangs or is too slow is given up with one event, and the fixes go out", async () => {
  const never = () => new Promise(() => {});
  const empty = async () => ({ fixes: [], seq: 0 });
  const fail = async () => { throw new Error("quota"); };
  for (const [storage, message] of [
    [{ load: fail, save: fail }, /quota/],
    [{ load: never, save: fail }, /5000 ms/],
    [{ load: empty, save: fail }, /quota/],
    [{ load: empty, save: never }, /too slow/],
  ]) {
    const w = await stored(storage, { buffer: 10 });
    await welcome(w);
    await w.clock.pass(5000);
    const last = Array.from({ length: 60 }, () => w.client.fix(BERLIN)).at(-1);
    await w.clock.pass(5000);
    assert.deepEqual(w.take("error").map(({ code }) => code), ["storage"], `${message}`);
    assert.equal(sent(w).at(-1).seq, last);
    assert.equal(w.client.pending, 10);
    await w.client.close();
  }
});

test("close does not wait for ever for a storage", async () => {
  const w = await stored({ load: async () => ({ fixes: [], seq: 0 }), save: () => new Promise(() => {}) });
  w.client.fix(BERLIN);
  let closed = false;
  w.client.close().then(() => (closed = true));
  await w.clock.pass(4999);
  assert.equal(closed, false);
  await w.clock.pass(1);
  assert.equal(closed, true);
  assert.deepEqual(w.take("error").map(({ code }) => code), ["storage"]);
});

test("many changes at once are few writes, one at a time", async () => {
  const inner = fresh();
  let [writes, at, most] = [0, 0, 0];
  const storage = {
    load: (...args) => inner.load(...args),
    async save(...args) {
      writes++;
      most = Math.max(most, ++at);
      await inner.save(...args);
      at--;
    },
  };
  const w = await stored(storage);
  for (let i = 0; i < 2000; i++) w.client.fix(BERLIN);
  await w.client.close();
  assert.equal((await inner.load("alice", "default")).fixes.length, 2000);
  assert.deepEqual([most, writes < 5], [1, true], `${writes} writes, ${most} at once`);
});

test("two tabs of one user: neither deletes what only the other knows", async () => {
  const storage = fresh();
  const older = await stored(storage);
  const newer = await stored(storage);
  await welcome(newer);
  const hidden = older.client.fix({ ...BERLIN, acc: 1 });
  older.clock.set(1);
  newer.clock.set(5000);
  const later = newer.client.fix(BERLIN);
  newer.ws.say({ type: "ack", seq: later });
  await Promise.all([older.client.close(), newer.client.close()]);
  assert.ok(later > hidden);
  await settle();
  assert.ok(older.client.fix(BERLIN) < later);
  await older.client.close();
  const kept = await storage.load("alice", "default");
  assert.equal(kept.seq, later, "seq never falls");
  assert.equal(kept.fixes.length, 2);
  assert.deepEqual((await storage.load("alice", "default")).fixes.map((fix) => fix.seq).slice(0, 1), [hidden]);
});

test("IndexedDB is the default where there is one", async () => {
  const w = fakeClient({ storage: undefined, name: "by name", token: () => jwt("alice") });
  w.client.start();
  for (let i = 0; i < 50; i++) await settle();
  const seq = w.client.fix(BERLIN);
  await w.client.close();
  assert.deepEqual((await indexedDBStorage("by name").load("alice", "default")).fixes.map((fix) => fix.seq), [seq]);
});
