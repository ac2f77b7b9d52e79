// A clock that goes only when told, and a WebSocket whose other side is the test.

import { KithClient } from "../kith.js";

export class FakeClock {
  #now = 1_800_000_000_000; // timers go by this
  #set = 0; // ms by which what it shows was set ahead
  #timers = new Map();
  #id = 0;

  now = () => this.#now + this.#set;

  setTimeout = (fn, ms) => {
    this.#timers.set(++this.#id, { at: this.#now + Math.max(ms, 0), fn });
    return this.#id;
  };

  clearTimeout = (id) => void this.#timers.delete(id);

  get waiting() {
    return this.#timers.size;
  }

  /** Lets so many ms pass; what falls due happens in order, promises in between. */
  async pass(ms) {
    const end = this.#now + ms;
    await settle();
    for (;;) {
      const next = [...this.#timers].filter(([, t]) => t.at <= end).sort((a, b) => a[1].at - b[1].at)[0];
      if (next === undefined) break;
      this.#timers.delete(next[0]);
      this.#now = Math.max(this.#now, next[1].at); // later, if frozen meanwhile
      next[1].fn();
      await settle();
    }
    this.#now = Math.max(this.#now, end);
  }

  /** Time passes without any timer, as while a page is frozen. */
  freeze(ms) {
    this.#now += ms;
  }

  /** Somebody sets the clock so many ms ahead; timers do not mind. */
  set(ms) {
    this.#set += ms;
  }
}

/** Lets everything happen that waits for promises only. */
export const settle = () => new Promise((resolve) => setImmediate(resolve));

/** A class of WebSockets; all that were made are in made. */
export function fakeWebSocket() {
  return class FakeWebSocket {
    static made = [];

    constructor(url, protocol) {
      Object.assign(this, { url, protocol, readyState: 0, sent: [], closedWith: null });
      FakeWebSocket.made.push(this);
    }

    static get last() {
      return FakeWebSocket.made.at(-1);
    }

    /** Those that are neither closed nor closing. */
    static get living() {
      return FakeWebSocket.made.filter((ws) => ws.readyState < 2).length;
    }

    send(text) {
      this.sent.push(JSON.parse(text));
    }

    close(code) {
      this.closedWith = code;
      this.readyState = 2;
    }

    // The other side.

    accept() {
      this.readyState = 1;
      this.onopen({});
    }

    say(frame) {
      this.onmessage?.({ data: typeof frame === "string" ? frame : JSON.stringify(frame) });
    }

    hangUp(code, reason = "") {
      this.readyState = 3;
      this.onclose?.({ code, reason });
    }

    take(type) {
      const of = this.sent.filter((frame) => frame.type === type);
      this.sent = this.sent.filter((frame) => frame.type !== type);
      return of;
    }
  };
}

/** What browsers call when the network or the page comes and goes. */
export class FakePage extends EventTarget {
  document = Object.assign(new EventTarget(), { visibilityState: "visible" });
  listeners = 0;

  constructor() {
    super();
    for (const target of [this, this.document]) {
      const { addEventListener, removeEventListener } = target;
      target.addEventListener = (...args) => (this.listeners++, addEventListener.apply(target, args));
      target.removeEventListener = (...args) => (this.listeners--, removeEventListener.apply(target, args));
    }
  }

  happen(name) {
    (name === "visibilitychange" ? this.document : this).dispatchEvent(new Event(name));
  }
}

export const CONFIG = { radius_m: 8047, exit_radius_m: 8450, fix_s: 30, stale_s: 600, ping_s: 25, max_frame_bytes: 65536 };

/** A client whose world is fake. */
export function fakeClient(options = {}) {
  const clock = new FakeClock();
  const WebSocket = fakeWebSocket();
  const page = new FakePage();
  const told = [];
  const client = new KithClient({
    url: "ws://kith.test/v1/ws", token: () => "a token", storage: null, clock, WebSocket, page, random: () => 0.5, ...options,
  });
  for (const name of ["state", "connected", "ack", "error", "request", "friend", "drain", "pending"]) {
    client.on(name, (value) => told.push([name, value]));
  }
  const world = {
    client, clock, WebSocket, page, told,
    get ws() {
      return WebSocket.last;
    },
    /** What was told under a name, and forgets it. */
    take(name) {
      const of = told.filter(([n]) => n === name).map(([, value]) => value);
      told.splice(0, told.length, ...told.filter(([n]) => n !== name));
      return of;
    },
    /** The server's side of a connect. */
    async welcome(more = {}) {
      await settle();
      this.ws.accept();
      this.ws.say({ type: "connected", user: "alice", node: "n1", session: 1, now: clock.now(), config: CONFIG, ...more });
      await settle();
    },
    /** The connection ends, and the next one is welcomed. */
    async comeBack(more) {
      this.ws.hangUp(1006);
      await clock.pass(this.take("state").at(-1).retryInMs);
      await this.welcome(more);
    },
    async open(more) {
      client.start();
      await this.welcome(more);
    },
  };
  return world;
}

export const BERLIN = { lat: 52.52, lng: 13.405 };
