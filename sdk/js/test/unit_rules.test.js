import assert from "node:assert/strict";
import { test } from "node:test";
import { Bucket, Pauses, judge } from "../rules.js";

const TIMES = { backoff: 500, backoffMost: 20_000, stable: 60_000 };

test("J4: what every close code asks for", () => {
  const table = {
    stop: [1002, 1007, 1009, 4000, 4001, 4003, 4004, 4005, 4006, 4050, 4099],
    token: [4002],
    "at once": [4200, 4201, 4299],
    backoff: [1000, 1001, 1003, 1005, 1006, 1008, 1010, 1011, 1012, 1013, 1014, 1015, 3000, 3999, 4100, 4101, 4102, 4103, 4104, 4150, 4199, 4300, 4999, 0, undefined],
  };
  for (const [verdict, codes] of Object.entries(table)) {
    for (const code of codes) assert.equal(judge(code), verdict, `${code}`);
  }
});

test("J4: pauses are full jitter between nothing and a bound that doubles to 20 s", () => {
  const bounds = [500, 1000, 2000, 4000, 8000, 16_000, 20_000, 20_000, 20_000];
  const sums = bounds.map(() => 0);
  const [lowest, highest] = [bounds.map(() => Infinity), bounds.map(() => 0)];
  const runs = 4000;
  for (let i = 0; i < runs; i++) {
    const pauses = new Pauses(TIMES, Math.random);
    bounds.forEach((bound, k) => {
      const { ms, asked } = pauses.next(0);
      assert.ok(ms >= 0 && ms < bound && !asked, `pause ${k}: ${ms} of ${bound}`);
      sums[k] += ms;
      lowest[k] = Math.min(lowest[k], ms);
      highest[k] = Math.max(highest[k], ms);
    });
  }
  bounds.forEach((bound, k) => {
    // The mean of 4 000 has a standard deviation of 0.0046 bounds: this is 8 of them.
    assert.ok(Math.abs(sums[k] / runs / bound - 0.5) < 0.037, `mean of pause ${k}: ${sums[k] / runs}`);
    assert.ok(lowest[k] < bound * 0.05 && highest[k] > bound * 0.95, `spread of pause ${k}`);
  });
});

test("J4: a connection that was open for 60 s ends the row of failures, a shorter one does not", () => {
  const pauses = new Pauses(TIMES, () => 0.5);
  const waits = (lasted) => pauses.next(lasted).ms;
  assert.deepEqual([waits(0), waits(0), waits(59_999), waits(0)], [250, 500, 1000, 2000]);
  assert.deepEqual([waits(60_000), waits(1)], [250, 500]);
  for (let i = 0; i < 2000; i++) waits(0);
  assert.equal(waits(0), 10_000, "still finite after very many");
});

test("J4: retry_after_ms is clamped, obeyed once, and ignored if it is no number", () => {
  const own = 250;
  const table = [
    [0, 0], [1, 1], [1500, 1500], [60_000, 60_000], [60_001, 60_000], [1e9, 60_000], [Infinity, 60_000],
    [-1, 0], [-Infinity, 0], [NaN, own], [undefined, own], [null, own], ["1000", own], [{}, own],
  ];
  for (const [said, pause] of table) {
    const pauses = new Pauses(TIMES, () => 0.5);
    pauses.suggest(said);
    assert.equal(pauses.next(70_000).ms, pause, `${said}`);
    assert.equal(pauses.next(0).ms, 500, "the pause after it is an ordinary one, and it counted as a failure");
  }
});

test("J4: at once is heard after a connection that worked, and not twice in a row", () => {
  const pauses = new Pauses(TIMES, () => 0.5);
  assert.deepEqual(pauses.next(100, true), { ms: 0, asked: true });
  assert.deepEqual(pauses.next(100, true), { ms: 500, asked: false }, "sent to and fro");
  assert.deepEqual(pauses.next(60_000, true), { ms: 0, asked: true });
  assert.deepEqual(new Pauses(TIMES, () => 0.5).next(0, true), { ms: 250, asked: false }, "never open");
});

test("J2: a bucket gives its burst, then its rate, also when the clock is set back", () => {
  let now = 0;
  const bucket = new Bucket(4, 20, () => now);
  for (let i = 0; i < 20; i++) {
    assert.equal(bucket.wait(1), 0);
    bucket.take(1);
  }
  assert.equal(bucket.wait(1), 250);
  now += 248;
  assert.ok(bucket.wait(1) >= 2);
  now += 2;
  assert.equal(bucket.wait(1), 0);
  bucket.take(1);
  now -= 10_000;
  assert.equal(bucket.wait(1), 250);
  now += 250;
  assert.equal(bucket.wait(1), 0);
  now += 3_600_000;
  assert.equal(bucket.wait(21), 0, "more than the burst counts as the burst");
  bucket.take(20);
  assert.ok(Math.abs(bucket.wait(20) - 5000) <= 1);
});
