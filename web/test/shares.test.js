import assert from "node:assert/strict";
import { test } from "node:test";
import { everything, nextShare, shareAt } from "../src/shares.js";

const mode = (s, now) => shareAt(s, now).mode;

test("what comes after an end never shows more than was meant", () => {
  const hour = nextShare("exact", 100, everything);
  assert.deepEqual([mode(hour, 99), mode(hour, 100)], ["exact", "none"]);
  const area = nextShare("area", 100, nextShare("none", 0, everything));
  assert.deepEqual([mode(area, 99), mode(area, 100)], ["area", "none"]);
  const ghost = nextShare("none", 100, nextShare("area", 0, everything));
  assert.deepEqual([mode(ghost, 99), mode(ghost, 100)], ["none", "area"]);
  const again = nextShare("none", 200, ghost);
  assert.equal(mode(again, 200), "area");
  const after = nextShare("none", 200, hour);
  assert.equal(mode(after, 200), "none");
  assert.equal(mode(nextShare("none", 0, hour), 1e15), "none");
});
