import assert from "node:assert/strict";
import { test } from "node:test";
import { BERLIN, CONFIG, fakeClient, settle } from "./fakes.js";

const seqs = (frames) => frames.flatMap((frame) => (frame.fixes ?? [frame]).map(({ seq }) => seq));

test("J1: a fix goes out as given, and is kept until it is acknowledged", async () => {
  const w = fakeClient();
  await w.open();
  const seq = w.client.fix({ ...BERLIN, acc: 5, alt: null, speed: undefined, heading: 90, battery: 0.5, mock: true, other: "not sent" });
  assert.deepEqual(w.ws.take("fix"), [{ type: "fix", seq, ...BERLIN, acc: 5, heading: 90, battery: 0.5, ts: w.clock.now(), mock: true }]);
  const given = w.client.fix({ ...BERLIN, ts: 1_700_000_000_000.7 });
  assert.equal(w.ws.take("fix")[0].ts, 1_700_000_000_000);
  assert.equal(given, seq + 1);
  assert.equal(w.client.pending, 2);
  w.ws.say({ type: "ack", seq, next_s: 30 });
  assert.equal(w.client.pending, 1);
  assert.deepEqual(w.take("ack"), [{ type: "ack", seq, next_s: 30 }]);
  assert.deepEqual(w.take("pending").slice(-3), [1, 2, 1]);
  w.ws.say({ type: "ack", seq: given });
  assert.equal(w.client.pending, 0);
});

test("J1: what is not a number throws and takes no seq", async () => {
  const w = fakeClient();
  const seq = w.client.fix(BERLIN);
  for (const bad of [{ lat: NaN }, { lng: Infinity }, { lat: "52" }, { lat: undefined }, { lng: null }, { acc: NaN }, { battery: "full" }, { ts: NaN }, { ts: "now" }]) {
    assert.throws(() => w.client.fix({ ...BERLIN, ...bad }), TypeError, JSON.stringify(bad));
  }
  assert.equal(w.client.pending, 1);
  assert.equal(w.client.fix(BERLIN), seq + 1);
});

test("J1: seq rises, also when the clock is set back", async () => {
  const w = fakeClient();
  let last = 0;
  for (const ms of [0, 0, 5000, -60_000, 0, 1]) {
    w.clock.set(ms);
    const seq = w.client.fix(BERLIN);
    assert.ok(seq > last && Number.isSafeInteger(seq));
    last = seq;
  }
});

test("J2: all that is unacknowledged goes out again, in order, on every connection", async () => {
  const w = fakeClient();
  const early = [w.client.fix(BERLIN), w.client.fix(BERLIN)];
  await w.open();
  const [frame] = w.ws.take("fixes");
  assert.deepEqual(seqs([frame]), early);
  assert.equal("type" in frame.fixes[0], false);
  const third = w.client.fix(BERLIN);
  w.ws.say({ type: "ack", seq: early[0] });
  w.ws.hangUp(1006);
  const fourth = w.client.fix(BERLIN);
  await w.clock.pass(250);
  await w.welcome();
  assert.deepEqual(seqs(w.ws.take("fixes")), [early[1], third, fourth]);
  w.ws.say({ type: "ack", seq: fourth });
  assert.equal(w.client.pending, 0, "acks are cumulative");
});

test("J2: an ack does not reach what has not gone out", async () => {
  const w = fakeClient({ perS: 1 });
  await w.open();
  const all = Array.from({ length: 25 }, () => w.client.fix(BERLIN));
  assert.equal(w.clock.waiting, 2, "one timer for the silence, one for all that waits");
  assert.deepEqual(seqs(w.ws.take("fix")), all.slice(0, 20));
  w.ws.say({ type: "ack", seq: all.at(-1) });
  assert.equal(w.client.pending, 5);
});

test("J2: nothing goes out before the welcome", async () => {
  const w = fakeClient();
  w.client.fix(BERLIN);
  w.client.still();
  w.client.start();
  await settle();
  w.ws.accept();
  w.client.fix(BERLIN);
  await w.clock.pass(10_000);
  assert.deepEqual(w.ws.sent.map(({ type }) => type), ["connect"]);
});

test("J2: no faster than the server takes them: what waits shares a frame", async () => {
  const w = fakeClient();
  await w.open();
  let given = 0;
  const frames = [];
  for (let s = 0; s < 60; s++) {
    for (let i = 0; i < 10; i++) {
      w.client.fix(BERLIN);
      given++;
      await w.clock.pass(100);
    }
    w.ws.say({ type: "ping" });
    frames.push(w.ws.take("fix").length + w.ws.take("fixes").length);
  }
  const sent = frames.reduce((a, b) => a + b);
  assert.ok(sent <= 20 + 4 * 60 + 1 && sent > 200, `${sent} frames for ${given} fixes`);
  assert.ok(Math.max(...frames.slice(10)) <= 5);
  await w.comeBack();
  assert.deepEqual(seqs(w.ws.take("fixes")).length, given);
});

test("J2: batches hold at most 1 000 fixes and as many bytes as the server takes, and are paced", async () => {
  const w = fakeClient();
  const all = Array.from({ length: 10_000 }, () => w.client.fix({ lat: 1, lng: 2 }));
  const config = { ...CONFIG, max_frame_bytes: 1 << 20 };
  await w.open({ config });
  const first = w.ws.take("fixes");
  assert.deepEqual(first.map(({ fixes }) => fixes.length), Array(8).fill(1000), "the burst");
  await w.clock.pass(2499);
  assert.deepEqual(w.ws.take("fixes"), []);
  await w.clock.pass(1);
  const second = w.ws.take("fixes");
  w.ws.say({ type: "ping" });
  await w.clock.pass(2501);
  const third = w.ws.take("fixes");
  assert.deepEqual(seqs([...first, ...second, ...third]), all);

  const small = fakeClient();
  for (let i = 0; i < 100; i++) small.client.fix({ ...BERLIN, acc: 12.345678, heading: 123.456789 });
  await small.open({ config: { ...CONFIG, max_frame_bytes: 1024 } });
  await small.clock.pass(8000);
  const frames = small.ws.take("fixes");
  assert.equal(seqs([...frames, ...small.ws.take("fix")]).length, 100);
  for (const frame of frames) assert.ok(JSON.stringify(frame).length <= 1024);
});

test("J1: the buffer is bounded; the oldest is dropped and counted", async () => {
  const w = fakeClient({ buffer: 5 });
  const all = Array.from({ length: 12 }, () => w.client.fix(BERLIN));
  assert.equal(w.client.pending, 5);
  assert.equal(w.client.dropped, 7);
  await w.open();
  assert.deepEqual(seqs(w.ws.take("fixes")), all.slice(7));
  const more = w.client.fix(BERLIN); // drops one that is on its way
  assert.equal(w.client.dropped, 8);
  w.ws.say({ type: "ack", seq: all[9] });
  assert.equal(w.client.pending, 3);
  w.ws.say({ type: "ack", seq: more });
  assert.equal(w.client.pending, 0);
});

test("J1: a refused fix leaves the buffer with an event", async () => {
  const w = fakeClient();
  await w.open();
  const [a, b, c] = [w.client.fix(BERLIN), w.client.fix(BERLIN), w.client.fix(BERLIN)];
  w.ws.say({ type: "error", code: "bad_time", field: "ts", message: "no", seq: b, temporary: false });
  const [error] = w.take("error");
  assert.deepEqual([error.code, error.field, error.seq, error.temporary], ["bad_time", "ts", b, false]);
  w.ws.say({ type: "error", code: "bad_time", message: "no", seq: 1, temporary: false });
  assert.equal(w.client.pending, 2);
  await w.comeBack();
  assert.deepEqual(seqs(w.ws.take("fixes")), [a, c]);
});

test("J1: a fix refused for the moment goes out again under a new seq, which a later ack does not cover", async () => {
  const w = fakeClient();
  await w.open();
  const [a, b] = [w.client.fix({ ...BERLIN, acc: 1 }), w.client.fix({ ...BERLIN, acc: 2 })];
  w.ws.say({ type: "error", code: "too_many", message: "slower", seq: a, temporary: true });
  w.ws.say({ type: "ack", seq: b });
  assert.equal(w.client.pending, 1);
  w.ws.take("fix");
  await w.clock.pass(1999);
  assert.deepEqual(w.ws.take("fix"), []);
  await w.clock.pass(1);
  const [again] = w.ws.take("fix");
  assert.ok(again.seq > b);
  assert.equal(again.acc, 1);
  w.ws.say({ type: "error", code: "too_many", message: "slower", seq: again.seq, temporary: true });
  await w.comeBack();
  const [last] = w.ws.take("fix");
  assert.ok(last.seq > again.seq, "at once on a new connection");
  w.ws.say({ type: "ack", seq: last.seq });
  assert.equal(w.client.pending, 0);
});

test("J1: a fix that may be stored already keeps its seq when it is refused for the moment", async () => {
  const w = fakeClient();
  await w.open();
  const seq = w.client.fix(BERLIN);
  await w.comeBack();
  const fresh = w.client.fix(BERLIN);
  w.ws.say({ type: "error", code: "too_many", message: "slower", seq: fresh, temporary: true });
  assert.equal(w.client.state, "open", "that one was never sent before");
  w.ws.say({ type: "error", code: "too_many", message: "slower", seq, temporary: true });
  assert.equal(w.client.state, "waiting");
  await w.clock.pass(w.take("state").at(-1).retryInMs);
  await w.welcome();
  const again = seqs(w.ws.take("fixes"));
  assert.equal(again[0], seq);
  assert.ok(again[1] > fresh);
  assert.equal(w.take("error").length, 2);
});

test("still: once for the newest word, and not later", async () => {
  const w = fakeClient();
  w.client.still();
  await w.open();
  await w.clock.pass(1000);
  assert.deepEqual(w.ws.take("still"), []);
  for (let i = 0; i < 100; i++) w.client.still();
  assert.equal(w.ws.take("still").length, 20, "paced like fixes");
  await w.clock.pass(250);
  assert.deepEqual(w.ws.take("still"), [{ type: "still" }]);
  await w.clock.pass(10_000);
  assert.deepEqual(w.ws.take("still"), []);
  for (let i = 0; i < 25; i++) w.client.still();
  await w.comeBack();
  await w.clock.pass(1000);
  assert.deepEqual(w.ws.take("still"), [], "the one that waited is not true any more");
});

test("the newest acknowledged fix is told again after a reconnect, under the same seq and ts, once", async () => {
  const w = fakeClient();
  await w.open();
  w.client.fix(BERLIN);
  const seq = w.client.fix({ ...BERLIN, acc: 7 });
  const [, fix] = w.ws.take("fix");
  w.ws.say({ type: "ack", seq });
  await w.comeBack();
  assert.deepEqual(w.ws.take("fix"), [fix]);
  // Refused for the moment, it must not come back under another seq.
  w.ws.say({ type: "error", code: "too_many", message: "slower", seq, temporary: true });
  await w.clock.pass(10_000);
  assert.deepEqual(w.ws.sent.map(({ type }) => type), ["connect"]);
  assert.equal(w.client.pending, 0);

  await w.comeBack();
  await w.comeBack();
  assert.deepEqual(w.ws.take("fix"), [fix], "the first one may not have arrived");
  w.ws.say({ type: "error", code: "too_many", message: "slower", seq, temporary: true });
  assert.deepEqual([w.client.state, w.client.pending], ["open", 0], "it is in history, so nothing is lost");

  await w.comeBack();
  w.ws.say({ type: "ack", seq });
  w.ws.take("fix");
  const newer = w.client.fix(BERLIN);
  await w.comeBack();
  assert.deepEqual(seqs(w.ws.take("fix")), [newer], "another one waits");
  w.ws.say({ type: "ack", seq: newer });
  w.clock.freeze(600_000);
  await w.comeBack();
  assert.deepEqual(w.ws.take("fix"), [], "too old: the server would show nobody");
});

test("J1: a fix that is told again is not missed when it makes room", async () => {
  const w = fakeClient({ buffer: 1 });
  await w.open();
  w.ws.say({ type: "ack", seq: w.client.fix(BERLIN) });
  await w.comeBack();
  assert.equal(w.client.pending, 1);
  w.client.fix(BERLIN);
  assert.deepEqual([w.client.pending, w.client.dropped], [1, 0]);
  w.client.fix(BERLIN);
  assert.deepEqual([w.client.pending, w.client.dropped], [1, 1]);
});
