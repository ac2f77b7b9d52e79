import assert from "node:assert/strict";
import { test } from "node:test";
import { ago, bearing, canonical, destination, distance, duration, metres, nearestCopy, nice, wind } from "../src/geo.js";

const berlin = { lat: 52.52, lng: 13.405 };

test("distances are those of the server's sphere", () => {
  assert.equal(Math.round(distance(berlin, { lat: 48.8566, lng: 2.3522 })), 877_465);
  assert.ok(Math.abs(distance({ lat: 0, lng: 179.999 }, { lat: 0, lng: -179.999 }) - 222.39) < 0.01);
  assert.ok(Math.abs(distance({ lat: 90, lng: 0 }, { lat: -90, lng: 77 }) - Math.PI * 6_371_008.8) < 1);
  assert.equal(distance(berlin, berlin), 0);
});

test("a destination is as far and in the direction that was asked for", () => {
  for (let deg = 0; deg < 360; deg += 15) {
    for (const far of [1, 250, 8047, 50_000]) {
      const to = destination(berlin, far, deg);
      assert.ok(Math.abs(distance(berlin, to) - far) < 1e-3, `${far} m to ${deg}°`);
      assert.ok(Math.abs(((bearing(berlin, to) - deg + 540) % 360) - 180) < 0.01, `${far} m to ${deg}°`);
    }
  }
  assert.ok(destination({ lat: 0, lng: 179.99 }, 5000, 90).lng < -179);
});

test("longitudes wrap", () => {
  assert.deepEqual(canonical({ lat: 89, lng: 190 }), { lat: 85, lng: -170 });
  assert.equal(canonical({ lat: 0, lng: 180 }).lng, -180);
  assert.equal(nearestCopy(-179, 179), 181);
  assert.equal(nearestCopy(10, 371), 370);
});

test("numbers are said as people say them", () => {
  assert.deepEqual([0, 7.4, 99.6, 240, 994, 996, 8047, 9949, 12_345].map(metres), ["0 m", "7 m", "100 m", "240 m", "990 m", "1.0 km", "8.0 km", "9.9 km", "12 km"]);
  assert.deepEqual([0, 59_400, 60_000, 3_599_000, 7_200_000, 90_000_000, -5].map(duration), ["0 s", "59 s", "1 min", "59 min", "2 h", "1 d", "0 s"]);
  assert.deepEqual([ago(100), ago(12_000)], ["just now", "12 s ago"]);
  assert.deepEqual([0, 22, 23, 180, 337, 338, 359.9].map(wind), ["north", "north", "north-east", "south", "north-west", "north", "north"]);
  assert.deepEqual([1, 4.9, 5, 19, 20, 999].map(nice), [1, 2, 5, 10, 20, 500]);
});
