// A TCP proxy that does to connections what networks do.

import net from "node:net";

/** Numbers in [0, 1) that a seed determines. */
export function seeded(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** What can happen to a pair of sockets; each gets the pair and randomness. */
const FAULTS = {
  drop(pair) {
    pair.client.destroy();
    pair.server.destroy();
  },
  reset(pair) {
    pair.client.resetAndDestroy();
    pair.server.resetAndDestroy();
  },
  stall(pair, random) {
    pair.hold(["up", "down"], 200 + random() * 3000);
  },
  "stall one way"(pair, random) {
    pair.hold([random() < 0.5 ? "up" : "down"], 200 + random() * 3000);
  },
  "cut mid-frame"(pair, random) {
    pair.cutAfter = { way: random() < 0.5 ? "up" : "down", bytes: 1 + Math.floor(random() * 60) };
  },
  // The other side is gone and nobody says so.
  "half-open to the client"(pair) {
    pair.deaf = true;
    pair.server.destroy();
  },
  "half-open to the server"(pair) {
    pair.deaf = true;
    pair.client.destroy();
  },
  "half-open to both"(pair) {
    pair.deaf = true;
  },
  trickle(pair) {
    pair.piece = 3;
  },
};

class Pair {
  deaf = false; // all that comes is swallowed
  cutAfter = null;
  piece = 0; // bytes at once; 0 = as they come
  #held = { up: 0, down: 0 }; // how many faults hold a way
  #waiting = { up: [], down: [] };

  constructor(client, server, ended) {
    this.client = client;
    this.server = server;
    this.#join("up", client, server, ended);
    this.#join("down", server, client, ended);
  }

  #join(way, from, to, ended) {
    from.setNoDelay(true);
    from.on("error", () => {});
    from.on("data", (chunk) => {
      if (this.deaf) return;
      this.#waiting[way].push(chunk);
      this.#pump(way, to);
    });
    from.on("close", () => {
      if (!this.deaf) to.destroy();
      ended(this);
    });
  }

  #pump(way, to) {
    while (!this.#held[way] && this.#waiting[way].length > 0 && !to.destroyed) {
      let chunk = this.#waiting[way].shift();
      const cut = this.cutAfter;
      if (cut?.way === way && cut.bytes < chunk.length) {
        to.write(chunk.subarray(0, cut.bytes), () => FAULTS.drop(this));
        this.cutAfter = null;
        this.deaf = true;
        return;
      }
      if (cut?.way === way) cut.bytes -= chunk.length;
      for (; this.piece && chunk.length > this.piece; chunk = chunk.subarray(this.piece)) to.write(chunk.subarray(0, this.piece));
      to.write(chunk);
    }
  }

  hold(ways, ms) {
    for (const way of ways) this.#held[way]++;
    setTimeout(() => {
      for (const way of ways) {
        this.#held[way]--;
        this.#pump(way, way === "up" ? this.server : this.client);
      }
    }, ms).unref();
  }

  destroy() {
    this.client.destroy();
    this.server.destroy();
  }
}

export class Proxy {
  counts = Object.fromEntries(Object.keys(FAULTS).map((name) => [name, 0]));
  connections = 0;
  most = 0; // open at once
  #random;
  #target;
  #meanLife;
  #joined;
  #healthy = false;
  #pairs = new Set();
  #next = [];
  #server;

  /** meanLife: ms between faults of one connection; joined(pair) is told of each. */
  constructor(target, { random, meanLife = 1000, joined = () => {} }) {
    this.#joined = joined;
    this.#target = target;
    this.#random = random;
    this.#meanLife = meanLife;
    this.#server = net.createServer({ allowHalfOpen: false }, (client) => this.#accept(client));
  }

  async listen() {
    await new Promise((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${this.#server.address().port}`;
  }

  #accept(client) {
    this.connections++;
    const pair = new Pair(client, net.connect(this.#target(), "127.0.0.1"), (ended) => {
      if (ended.client.destroyed && ended.server.destroyed) this.#pairs.delete(ended);
    });
    this.#pairs.add(pair);
    this.#joined(pair);
    this.#schedule(pair);
  }

  #schedule(pair) {
    if (this.#healthy) return;
    const timer = setTimeout(() => {
      if (this.#healthy || pair.client.destroyed || pair.deaf) return;
      const name = this.#pick();
      this.counts[name]++;
      FAULTS[name](pair, this.#random);
      this.#schedule(pair);
    }, -Math.log(1 - this.#random()) * this.#meanLife);
    timer.unref();
  }

  // All faults in random order, then all again: each of them happens.
  #pick() {
    if (this.#next.length === 0) {
      this.#next = Object.keys(FAULTS).map((name) => [this.#random(), name]).sort().map(([, name]) => name);
    }
    return this.#next.pop();
  }

  /** No more faults; what is broken stays so. */
  heal() {
    this.#healthy = true;
  }

  close() {
    this.heal();
    for (const pair of this.#pairs) pair.destroy();
    this.#server.close();
  }
}
