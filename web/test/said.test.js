import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { Said } from "../src/said.js";

function fake() {
  const fns = {};
  const live = { near: new Map(), on: (event, fn) => (fns[event] = fn) };
  const said = new Said(live, () => {});
  return { live, said, view: (change) => fns.view({ full: false, entered: [], updated: [], gone: [], ...change }), say: (text) => fns.say(text) };
}

const friend = (user) => ({ user, distance_m: 1234, bearing_deg: 90 });

test("the first view is told as a whole, and to screen readers only", () => {
  const f = fake();
  f.live.near.set("a", friend("a")).set("b", friend("b"));
  f.view({ full: true, entered: [friend("a"), friend("b")] });
  assert.equal(f.said.sentence, "2 friends are near.");
  assert.equal(f.said.toasts.length, 0);
  f.view({ full: true, entered: [friend("c")] }); // after a reconnect: the difference
  assert.equal(f.said.toasts[0].text, "c is near: 1.2 km east.");
});

test("many at once are counted", () => {
  const f = fake();
  f.view({ entered: ["a", "b", "c", "d"].map(friend) });
  assert.deepEqual(f.said.toasts.map((t) => t.text), ["4 friends came near."]);
  f.view({ gone: ["a", "b", "c", "d", "e"].map((user) => ({ user, reason: "stale" })) });
  assert.equal(f.said.toasts.at(-1).text, "5 friends are gone.");
});

test("each sentence is said in turn, once, and not when it is no longer so", () => {
  mock.timers.enable({ apis: ["setTimeout"] });
  const f = fake();
  f.view({ entered: [friend("a")] });
  assert.equal(f.said.sentence, "a is near: 1.2 km east.");
  f.view({ entered: [friend("b")] });
  f.say("Something else.");
  f.say("Something else.");
  f.view({ gone: [{ user: "b", reason: "away" }] });
  const heard = [];
  for (let i = 0; i < 4; i++) {
    mock.timers.tick(1200);
    heard.push(f.said.sentence);
  }
  assert.deepEqual(heard, ["Something else.", "b is gone: moved out of range.", "b is gone: moved out of range.", "b is gone: moved out of range."]);
  mock.timers.tick(60_000);
  assert.equal(f.said.toasts.length, 0);
  mock.timers.reset();
});

test("who only was not there again after a reconnect is not announced", () => {
  const f = fake();
  f.view({ full: true, entered: [] });
  f.view({ full: true, gone: [{ user: "a", reason: "replaced" }] });
  assert.equal(f.said.toasts.length, 0);
});
