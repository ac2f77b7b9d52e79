import assert from "node:assert/strict";
import { test } from "node:test";
import { BERLIN, fakeClient } from "./fakes.js";

const item = (user, more = {}) => ({ user, ...BERLIN, ts: 1, distance_m: 1, bearing_deg: 0, state: "live", precision: "exact", ...more });
const frame = (v, near, { full = false, gone = [] } = {}) => ({ type: "friends", v, full, near, gone });
const users = (client) => [...client.view].map(([user]) => user).sort();

async function watched() {
  const w = fakeClient();
  await w.open();
  const changes = [];
  w.off = w.client.view.subscribe(({ full, entered, updated, gone }) => changes.push({
    full, entered: entered.map((i) => i.user), updated: updated.map((i) => i.user), gone: gone.map((g) => `${g.user} ${g.reason}`),
  }));
  w.changes = () => changes.splice(0);
  return w;
}

test("J3: a full frame replaces all, others change what they name", async () => {
  const w = await watched();
  assert.equal(w.client.view.size, 0);
  w.ws.say(frame(1, [item("a"), item("b")], { full: true }));
  assert.deepEqual(w.changes(), [{ full: true, entered: ["a", "b"], updated: [], gone: [] }]);
  w.ws.say(frame(2, [item("b", { lat: 1 }), item("c")], { gone: [{ user: "a", reason: "away" }, { user: "nobody", reason: "away" }] }));
  assert.deepEqual(w.changes(), [{ full: false, entered: ["c"], updated: ["b"], gone: ["a away"] }]);
  assert.deepEqual(users(w.client), ["b", "c"]);
  assert.equal(w.client.view.get("b").lat, 1);
  assert.equal(w.client.view.has("a"), false);
  w.ws.say(frame(3, [item("d"), item("c")], { full: true }));
  assert.deepEqual(w.changes(), [{ full: true, entered: ["d"], updated: ["c"], gone: ["b replaced"] }]);
  assert.deepEqual(users(w.client), ["c", "d"]);
  assert.equal(w.client.view.size, 2);
});

test("J3: v orders the frames of a connection, gaps are normal, and the next one counts from anew", async () => {
  const w = await watched();
  w.ws.say(frame(5, [item("a")], { full: true }));
  w.ws.say(frame(9, [item("a", { ts: 9 })]));
  w.changes();
  for (const v of [9, 8, 1, undefined, NaN]) w.ws.say(frame(v, [item("a", { ts: 0 }), item("b")]));
  assert.deepEqual(w.changes(), []);
  assert.equal(w.client.view.get("a").ts, 9);
  await w.comeBack();
  assert.deepEqual(users(w.client), ["a"], "the view stays while the same session goes on");
  w.ws.say(frame(1, [item("a", { ts: 10 })], { full: true }));
  assert.deepEqual(w.changes(), [{ full: true, entered: [], updated: ["a"], gone: [] }]);
});

test("J3: a full view in pages is told as one difference", async () => {
  const w = await watched();
  const crowd = Array.from({ length: 250 }, (_, i) => item(`u${i}`));
  const pages = (v, list) => {
    for (let i = 0; i <= list.length; i += 100) w.ws.say(frame(v + i, list.slice(i, i + 100), { full: i === 0 }));
  };
  pages(1, crowd);
  assert.equal(w.client.view.size, 250);
  assert.deepEqual(w.changes().map(({ full, entered, updated, gone }) => [full, entered.length, updated.length, gone.length]), [[true, 250, 0, 0]]);
  pages(1000, crowd.slice(10));
  const [second, ...none] = w.changes();
  assert.deepEqual([second.full, second.entered.length, second.updated.length, second.gone.length, none.length], [true, 0, 240, 10, 0]);
});

test("J3: a full view of exactly one page is told without a frame after it", async () => {
  const w = await watched();
  const crowd = Array.from({ length: 100 }, (_, i) => item(`u${i}`));
  w.ws.say(frame(1, crowd, { full: true }));
  await w.clock.pass(249);
  assert.deepEqual(w.changes(), []);
  await w.clock.pass(1);
  assert.equal(w.changes()[0].entered.length, 100);
  w.ws.say(frame(2, crowd, { full: true }));
  await w.comeBack();
  assert.equal(w.changes()[0].updated.length, 100, "told when the connection ended");
  w.ws.say(frame(1, crowd, { full: true }));
  w.ws.say(frame(2, [], { gone: [{ user: "u7", reason: "stale" }] }));
  assert.deepEqual(w.changes()[0].gone, ["u7 stale"], "with the reason that is known");
});

test("J3: a new session without a position empties the view: the server knows no one near", async () => {
  const w = await watched();
  w.ws.say(frame(1, [item("a")], { full: true }));
  w.changes();
  await w.comeBack({ session: 2 });
  assert.deepEqual(w.changes(), [{ full: true, entered: [], updated: [], gone: ["a replaced"] }]);
  assert.equal(w.client.view.size, 0);
});

test("J3: who has unsubscribed is told nothing; the same function may subscribe twice", async () => {
  const w = await watched();
  let calls = 0;
  const fn = () => calls++;
  const [off, other] = [w.client.view.subscribe(fn), w.client.view.subscribe(fn)];
  w.ws.say(frame(1, [item("a")]));
  assert.equal(calls, 2);
  off();
  off();
  w.ws.say(frame(2, [item("a")]));
  assert.equal(calls, 3);
  other();
  w.off();
  w.changes();
  w.ws.say(frame(3, [item("a")]));
  assert.equal(calls, 3);
  assert.deepEqual(w.changes(), []);
});
