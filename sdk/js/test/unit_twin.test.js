// Clients against a dumb server, with everything that can go wrong between them,
// from a seed: KITH_SEED repeats one.

import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock, fakeClient, settle } from "./fakes.js";
import { seeded } from "./proxy.js";

/** Keeps fixes as history does, and answers as docs/PROTOCOL.md says. */
class DumbServer {
  history = new Map(); // seq and ts → the fix
  #random;
  refusesNow = 0; // how likely it is that a fix is refused for the moment

  constructor(random) {
    this.#random = random;
  }

  /** Takes a frame and returns its answers, in order. */
  take(frame) {
    const fixes = frame.fixes ?? (frame.type === "fix" ? [frame] : []);
    const answers = [];
    for (const { seq, ts, lat } of fixes) {
      const temporary = this.#random() < this.refusesNow;
      if (lat > 90 || temporary) answers.push({ type: "error", code: temporary ? "too_many" : "bad_coordinate", message: "no", seq, temporary });
      else this.history.set(`${seq} ${ts}`, lat);
    }
    if (fixes.length > 0) answers.push({ type: "ack", seq: Math.max(...fixes.map(({ seq }) => seq)) });
    return answers;
  }
}

/** A storage in memory that clients one after the other share. */
class Memory {
  rows = new Map();
  #last = 0;
  #users = 0;

  /** The storage as a new client sees it. What older ones have not written is lost. */
  open() {
    const user = ++this.#users;
    return {
      load: async () => ({ fixes: [...this.rows.values()], seq: this.#last }),
      save: async (...[, , { put, remove, seq }]) => {
        await settle();
        if (user !== this.#users) return;
        for (const n of remove) this.rows.delete(n);
        for (const fix of put) this.rows.set(fix.seq, fix);
        this.#last = Math.max(this.#last, seq);
      },
    };
  }
}

class World {
  given = [];
  #random;
  #clock = new FakeClock();
  #storage = new Memory();
  #mayBeLost = new Set();
  #server;
  #w;
  #waiting = []; // answers on their way
  #n = 0;

  constructor(random) {
    this.#random = random;
    this.#server = new DumbServer(random);
    this.#launch();
  }

  #launch() {
    this.#w = fakeClient({ clock: this.#clock, storage: this.#storage.open(), random: this.#random, token: () => "e30.eyJzdWIiOiJhbGljZSJ9.c2ln" });
    this.#w.client.start();
  }

  #chance(p) {
    return this.#random() < p;
  }

  give() {
    const bad = this.#chance(0.1);
    const lat = ++this.#n * 1e-6 + (bad ? 90 : 0);
    this.#w.client.fix({ lat, lng: 0 });
    if (!bad) this.given.push(lat);
  }

  /** The network delivers some of what is on its way, either way. */
  deliver(all = false) {
    const { ws } = this.#w;
    if (!ws || ws.readyState === 2 || ws.readyState === 3) return;
    if (ws.readyState === 0) {
      this.#waiting = []; // of a connection that the client ended
      ws.accept();
      ws.say({ type: "connected", user: "alice", session: 1, config: { stale_s: 600, ping_s: 25, max_frame_bytes: this.#chance(0.5) ? 300 : 65536 } });
    }
    for (let n = all ? Infinity : Math.floor(this.#random() * 5); n > 0 && ws.sent.length > 0; n--) {
      const frame = ws.sent.shift();
      if (frame.type === "token") this.#waiting.push({ type: "ok", id: frame.id });
      this.#waiting.push(...this.#server.take(frame));
    }
    for (let n = all ? Infinity : Math.floor(this.#random() * 5); n > 0 && this.#waiting.length > 0; n--) ws.say(this.#waiting.shift());
  }

  /** The connection breaks; what was on its way is lost. */
  cut() {
    this.#waiting = [];
    if (this.#w.ws && this.#w.ws.readyState < 2) this.#w.ws.hangUp(this.#chance(0.2) ? 4200 : 1006);
  }

  /** The page ends without a word and is loaded anew. */
  restart() {
    this.cut();
    this.#w.client.close();
    const known = new Set([...this.#server.history.values(), ...[...this.#storage.rows.values()].map(({ lat }) => lat)]);
    for (const lat of this.given) if (!known.has(lat)) this.#mayBeLost.add(lat); // given in the moment of the end
    this.#clock.freeze(1); // no page is loaded anew within a millisecond
    this.#launch();
  }

  async step() {
    const what = this.#random();
    if (what < 0.5) this.give();
    else if (what < 0.85) this.deliver();
    else if (what < 0.9) this.cut();
    else if (what < 0.93) this.restart();
    else if (what < 0.96) this.#server.refusesNow = this.#chance(0.5) ? 0 : 0.5;
    else this.#clock.set((this.#random() - 0.5) * 120_000);
    if (this.#chance(0.2)) return; // the next one at the same moment
    await this.#clock.pass(this.#random() * 2000);
    await settle();
  }

  async end() {
    this.#server.refusesNow = 0;
    for (let i = 0; i < 100 && (i < 3 || this.#w.client.pending > 0 || this.#w.client.state !== "open"); i++) {
      this.deliver(true);
      await this.#clock.pass(1000);
    }
    const { client } = this.#w;
    assert.deepEqual([client.state, client.pending, client.dropped], ["open", 0, 0]);
    const kept = [...this.#server.history.values()].sort((a, b) => a - b);
    const found = new Set(kept);
    assert.deepEqual(kept, this.given.filter((lat) => found.has(lat) || !this.#mayBeLost.has(lat)));
    const closed = client.close();
    await this.#clock.pass(1000);
    await closed;
    assert.deepEqual([...this.#storage.rows], []);
  }
}

test("J1 J2: every good fix is in history once, whatever happens", async () => {
  const only = process.env.KITH_SEED;
  for (let i = 0; i < (only ? 1 : 150); i++) {
    const seed = only ? Number(only) : Math.floor(Math.random() * 2 ** 31);
    try {
      const world = new World(seeded(seed));
      for (let step = 0; step < 60; step++) await world.step();
      await world.end();
    } catch (error) {
      throw new Error(`KITH_SEED=${seed}`, { cause: error });
    }
  }
});
