import assert from "node:assert/strict";
import { test } from "node:test";
import { Glide } from "../src/glide.js";

const at = (user, lat, lng = 13) => ({ user, lat, lng });

test("a dot glides to where its friend is, and then nothing moves", () => {
  const g = new Glide();
  g.put(at("bob", 52), 0);
  assert.equal(g.moving(0), false, "who was there from the start does not move");
  g.put(at("bob", 52.001), 1000);
  const dot = g.dots.get("bob");
  assert.equal(g.at(dot, 1000).lat, 52);
  const half = g.at(dot, 1300).lat;
  assert.ok(half > 52 && half < 52.001);
  assert.equal(g.moving(1300), true);
  assert.equal(g.at(dot, 1900).lat, 52.001);
  assert.equal(g.moving(1900), false);
});

test("a fix on the way is glided to from where the dot is shown", () => {
  const g = new Glide();
  g.put(at("bob", 52), 0);
  g.put(at("bob", 52.001), 1000);
  const shown = g.at(g.dots.get("bob"), 1200);
  g.put(at("bob", 52.002), 1200);
  assert.deepEqual(g.at(g.dots.get("bob"), 1200), shown);
});

test("who leaps is simply there, without a trail", () => {
  const g = new Glide();
  g.put(at("bob", 52), 0);
  g.put(at("bob", 52.001), 1000);
  g.put(at("bob", 53), 2000);
  assert.equal(g.at(g.dots.get("bob"), 2000).lat, 53);
  assert.equal(g.dots.get("bob").trail.length, 0);
  assert.equal(g.moving(2000), false);
});

test("a glide across ±180° takes the short way", () => {
  const g = new Glide();
  g.put(at("bob", 0, 179.999), 0);
  g.put(at("bob", 0, -179.999), 1000);
  const { lng } = g.at(g.dots.get("bob"), 1300);
  assert.ok(lng > 179.999 && lng < 180.001, String(lng));
});

test("coming and going are shown for a moment, and forgotten", () => {
  const g = new Glide();
  g.put(at("bob", 52), 0, { entered: true });
  assert.equal(g.moving(100), true);
  assert.equal(g.moving(1600), false);
  g.remove("bob", 2000);
  assert.equal(g.dots.size, 0);
  assert.equal(g.moving(2100), true);
  assert.equal(g.moving(3400), false);
  assert.equal(g.leaving.size, 0);
  g.put(at("bob", 52), 4000, { entered: true, still: true });
  assert.equal(g.moving(4000), false, "with reduced motion nothing moves");
  g.remove("bob", 4000, true);
  assert.equal(g.leaving.size, 0);
});

test("trails and their memory are short", () => {
  const g = new Glide();
  for (let i = 0; i < 50; i++) g.put(at("bob", 52 + i / 1000), i * 1000);
  assert.equal(g.dots.get("bob").trail.length, 6);
});
