// The JavaScript client of Kith. README.md says how to use it, docs/PROTOCOL.md
// which rules it follows.

import { Buffer } from "./buffer.js";
import { Bucket, Pauses, judge } from "./rules.js";
import { LOST, Socket } from "./socket.js";
import { Journal, indexedDBStorage } from "./storage.js";
import { View, guarded } from "./view.js";

export { indexedDBStorage };

/** What a promise of the client is rejected with, and what "error" events carry. */
export class KithError extends Error {
  constructor(code, message, { field, temporary = false, seq } = {}) {
    super(message);
    Object.assign(this, { name: "KithError", code, field, temporary, seq });
  }
}

const TIMES = {
  connect: 20_000, // from the handshake to `connected`
  token: 15_000, // for the token function
  storage: 5_000, // for what an earlier run left
  request: 10_000, // for the answer to a request
  repeat: 2_000, // until a fix refused for the moment is sent again
  slack: 2_000, // a ping may be late by
  pong: 8_000, // for the answer to a probe
  backoff: 500, // bound of the first pause; doubles
  backoffMost: 20_000,
  stable: 60_000, // a connection open this long ends a row of failures
};

const CLOCK = {
  now: () => Date.now(),
  setTimeout: (fn, ms) => setTimeout(fn, ms),
  clearTimeout: (timer) => clearTimeout(timer),
};

const REPLACED = 4003;
const MOST_REQUESTS = 64;
const BURST = 20; // frames with fixes at once; the server takes 50
const FIXES_PER_S = 400; // in `fixes` frames; the server takes 500
const FIXES_BURST = 8_000; // the server takes 10 000
const DEFAULT_PING_S = 25;
const NOT_CONNECTED = ["not_connected", "There is no connection; what became of this is not known."];

/** A promise that is rejected unless `promise` settles within ms. */
function within(promise, ms, clock, what) {
  return new Promise((resolve, reject) => {
    const timer = clock.setTimeout(() => reject(new Error(`${what} took longer than ${ms} ms`)), ms);
    Promise.resolve(promise).then(resolve, reject).finally(() => clock.clearTimeout(timer));
  });
}

function socketURL(given) {
  const url = new URL(given, globalThis.location?.href);
  url.protocol = url.protocol.replace("http", "ws");
  if (url.pathname === "/") url.pathname = "/v1/ws";
  url.hash = "";
  return url.href;
}

/** The user that a token speaks of, or undefined if it cannot be read here. */
function userOf(token) {
  try {
    const payload = token.split(".")[1].replaceAll("-", "+").replaceAll("_", "/");
    const { sub } = JSON.parse(atob(payload));
    return typeof sub === "string" ? sub : undefined;
  } catch {
    return undefined;
  }
}

/** One device of one user: one connection, which comes back by itself. */
export class KithClient {
  #opt;
  #clock;
  #times;
  #pauses;
  #frames;
  #bulk;
  #journal;
  #buffer;
  #view;
  #handlers = new Map();
  #calls = new Map();
  #callID = 0;

  #state = "idle";
  #life = 0; // rises with each attempt and each end: what was awaited meanwhile is late
  #socket = null;
  #token;
  #expired = null; // the token that was refused as such
  #user; // whose fixes are kept; known from the first token or `connected` on
  #ready = false; // what an earlier run left is there
  #session;
  #radius; // that the server knows
  #connectedAt = 0;
  #gaveUpAt = -Infinity;
  #maxFrame = 65_536;
  #still = false;
  #asked = false; // the pause is the server's wish
  #last = {}; // code and reason of the last end
  #timers = {}; // retry, flush, repeat: one of each

  constructor(options) {
    const { url, token, device, radius_m, storage, name = "kith", WebSocket = globalThis.WebSocket } = options;
    if (typeof token !== "function") throw new TypeError("token must be a function that returns a token");
    if (typeof WebSocket !== "function") throw new TypeError("there is no WebSocket here; pass one as the option WebSocket");
    const wrong = ["buffer", "perS"].find((key) => options[key] !== undefined && !(options[key] >= 1));
    if (wrong !== undefined) throw new RangeError(`${wrong} must be at least 1`);
    const { clock = CLOCK, random = Math.random, page = globalThis, buffer = 10_000, perS = 4, times } = options;
    this.#opt = { url: socketURL(url), token, device, radius_m, WebSocket, page };
    this.#clock = clock;
    this.#times = { ...TIMES, ...times };
    this.#pauses = new Pauses(this.#times, random);
    const now = () => clock.now();
    this.#frames = new Bucket(perS, BURST, now);
    this.#bulk = new Bucket(FIXES_PER_S, FIXES_BURST, now);
    const kept = storage === undefined && globalThis.indexedDB ? indexedDBStorage(name) : (storage ?? null);
    this.#journal = new Journal(kept, 4 * buffer, (error) => this.#emit("error", new KithError("storage", error?.message ?? String(error))));
    this.#buffer = new Buffer(buffer, this.#journal);
    this.#view = new View(clock);
  }

  get state() {
    return this.#state;
  }

  get view() {
    return this.#view;
  }

  /** The user, once known. */
  get user() {
    return this.#user;
  }

  /** How many fixes are not acknowledged. */
  get pending() {
    return this.#buffer.size;
  }

  /** How many fixes found no room in the buffer. */
  get dropped() {
    return this.#buffer.dropped;
  }

  /** Connects, and keeps connected until close(). */
  start() {
    if (this.#state !== "idle" && this.#state !== "closed") return;
    this.#expired = null;
    this.#listen("addEventListener");
    void this.#connect();
  }

  /** Ends the connection. Resolves once what is unacknowledged is stored. */
  async close() {
    if (this.#state !== "closed") this.#stop(1000, "closed by the application");
    await this.#stored();
  }

  /** Calls fn with each event of that name; returns what ends that. */
  on(event, fn) {
    if (!this.#handlers.has(event)) this.#handlers.set(event, new Set());
    const handler = { fn };
    this.#handlers.get(event).add(handler);
    return () => void this.#handlers.get(event).delete(handler);
  }

  /** Queues one position report and returns its seq. */
  fix(given) {
    const { seq } = this.#buffer.add(given, this.#clock.now());
    this.#pendingChanged();
    this.#flush();
    return seq;
  }

  /** Says that the device has not moved. Without a connection it says nothing later. */
  still() {
    this.#still = this.#state === "open";
    this.#flush();
  }

  /** Sees as far as that from now on, also over later connections. */
  async setRadius(metres) {
    if (this.#state === "open") {
      await this.#ask({ type: "radius", radius_m: metres });
      this.#radius = metres;
    }
    this.#opt.radius_m = metres;
  }

  async friend(op, user) {
    await this.#ask({ type: "friend", op, user });
  }

  async share({ user, mode, until }) {
    await this.#ask({ type: "share", user, mode, until });
  }

  // The life of a connection.

  async #connect() {
    const life = ++this.#life;
    this.#setState({ state: "connecting" });
    let token;
    try {
      token = await this.#freshToken();
    } catch (error) {
      if (life !== this.#life) return;
      this.#emit("error", error);
      return this.#ended(LOST, error.message);
    }
    if (life !== this.#life) return;
    if (token === this.#expired) return this.#stop(4002, "the token has ended, and there is no fresh one");
    this.#token = token;
    const user = userOf(token);
    if (user !== undefined) void this.#restore(user);
    try {
      this.#socket = new Socket(this.#opt.url, {
        WebSocket: this.#opt.WebSocket,
        clock: this.#clock,
        times: this.#times,
        opened: () => this.#hello(),
        frame: (message) => this.#frame(message),
        probe: () => this.#ask({ type: "token", token: this.#token }).catch(() => {}),
        ended: (...how) => this.#ended(...how),
      });
    } catch (error) {
      this.#stop(0, error.message); // the URL, or mixed content: it will not get better
    }
  }

  async #freshToken() {
    try {
      const token = await within(this.#opt.token(), this.#times.token, this.#clock, "the token function");
      if (typeof token === "string" && token !== "") return token;
    } catch (error) {
      throw new KithError("token", `there is no token: ${error?.message ?? error}`, { temporary: true });
    }
    throw new KithError("token", "there is no token: the token function returned none", { temporary: true });
  }

  #hello() {
    const { device, radius_m } = this.#opt;
    this.#radius = radius_m;
    this.#socket.send({ type: "connect", token: this.#token, device, radius_m });
  }

  async #restore(user) {
    if (this.#user !== undefined) return;
    this.#user = user;
    const device = this.#opt.device ?? "default";
    try {
      this.#buffer.restore(await within(this.#journal.load(user, device), this.#times.storage, this.#clock, "the storage"));
      this.#journal.begin(user, device);
    } catch (error) {
      this.#journal.fail(error);
    }
    this.#ready = true;
    this.#pendingChanged();
    void this.#begin();
  }

  #ended(code, reason, gaveUp = false) {
    const now = this.#clock.now();
    const lasted = this.#connectedAt === 0 ? 0 : Math.max(now - this.#connectedAt, 1);
    this.#hangUp();
    // The network may deliver the hello of a connection that was given up late, and
    // the server then takes that one for the newer. It can happen once for each.
    const byItself = code === REPLACED && now - this.#gaveUpAt < this.#times.stable;
    this.#gaveUpAt = gaveUp ? now : -Infinity;
    const verdict = byItself ? "backoff" : judge(code);
    if (verdict === "stop" || (verdict === "token" && this.#expired !== null)) return this.#stop(code, reason);
    if (verdict === "token") this.#expired = this.#token;
    const { ms, asked } = this.#pauses.next(lasted, verdict === "at once");
    this.#asked = asked;
    this.#last = { code, reason };
    this.#wait(ms);
  }

  #wait(ms) {
    this.#timers.retry = this.#clock.setTimeout(() => void this.#connect(), ms);
    this.#setState({ state: "waiting", ...this.#last, retryInMs: ms });
  }

  #stop(code, reason) {
    this.#hangUp();
    this.#listen("removeEventListener");
    this.#setState({ state: "closed", code, reason });
  }

  // Ends what belongs to the connection.
  #hangUp() {
    this.#life++;
    for (const name of Object.keys(this.#timers)) this.#cancel(name);
    this.#socket?.close();
    this.#socket = null;
    this.#connectedAt = 0;
    this.#still = false;
    this.#buffer.rewind();
    for (const id of [...this.#calls.keys()]) this.#answer(id, new KithError(...NOT_CONNECTED, { temporary: true }));
  }

  // What the server says.

  #frame(message) {
    switch (message.type) {
      case "connected":
        return this.#onConnected(message);
      case "friends":
        return this.#view.apply(message);
      case "ack":
        return this.#onAck(message);
      case "ok":
        return this.#answer(message.id);
      case "error":
        return this.#onError(message);
      case "ping":
        return this.#socket.send({ type: "pong" });
      case "expiring":
        return void this.#renew();
      case "drain":
        this.#pauses.suggest(message.retry_after_ms);
    }
    if (["request", "friend", "drain"].includes(message.type)) this.#emit(message.type, message);
  }

  #onConnected(message) {
    if (this.#state === "open") return;
    const { user, session, config } = message;
    if (this.#user !== undefined && this.#user !== user) {
      return this.#stop(0, "the token is another user's; make another client for that user");
    }
    this.#expired = null;
    this.#connectedAt = this.#clock.now();
    this.#maxFrame = config?.max_frame_bytes ?? this.#maxFrame;
    this.#socket.watch(this.#times.ping ?? (config?.ping_s ?? DEFAULT_PING_S) * 1000);
    this.#view.begin();
    if (this.#ready) this.#buffer.remind(this.#clock.now() - (config?.stale_s ?? 0) * 1000);
    // Somebody else's memory: until there is a fix it says nothing of who is near.
    if (session !== this.#session && this.#buffer.size === 0 && this.#view.size > 0) this.#view.clear();
    this.#session = session;
    this.#setState({ state: "open" });
    this.#emit("connected", message);
    const wanted = this.#opt.radius_m; // changed since the hello?
    if (wanted !== this.#radius) this.setRadius(wanted).catch((error) => this.#emit("error", error));
    if (this.#ready) void this.#begin();
    else void this.#restore(user);
  }

  async #begin() {
    if (this.#state !== "open") return;
    if (this.#buffer.repeats) {
      // A new seq is stored before it is used. Otherwise a page that ends in between
      // comes back with the old one, and both may end up in history.
      this.#buffer.repeat(this.#clock.now());
      this.#ready = false;
      await this.#stored();
      this.#ready = true;
    }
    this.#flush();
  }

  async #stored() {
    try {
      await within(this.#journal.flushed(), this.#times.storage, this.#clock, "the storage");
    } catch (error) {
      this.#journal.fail(error);
    }
  }

  #onAck(message) {
    if (this.#buffer.acked(message.seq)) this.#pendingChanged();
    this.#emit("ack", message);
  }

  #onError(message) {
    const { code, field, temporary, id, seq } = message;
    const error = new KithError(code, message.message, { field, temporary, seq });
    if (this.#state === "connecting") {
      this.#emit("error", error);
      if (field === "radius_m" && this.#opt.radius_m !== undefined) {
        this.#opt.radius_m = undefined; // better the server's radius than no connection
        this.#hello();
      } else if (!temporary && code !== "unauthorized") this.#stop(0, message.message);
      return;
    }
    if (!this.#answer(id, error)) this.#emit("error", error);
    if (seq === undefined) return;
    if (!this.#buffer.refused(seq, temporary)) return this.#ended(LOST, "a fix was refused for the moment that may be stored already");
    this.#pendingChanged();
    if (this.#buffer.repeats) this.#after("repeat", this.#times.repeat, () => void this.#begin());
  }

  async #renew() {
    const life = this.#life;
    try {
      const token = await this.#freshToken();
      if (life !== this.#life) return;
      await this.#ask({ type: "token", token });
      this.#token = token;
    } catch (error) {
      if (life === this.#life) this.#emit("error", error);
    }
  }

  // What is sent.

  #flush() {
    if (this.#state !== "open" || !this.#ready) return;
    while (this.#buffer.unsent) {
      const { text, n } = this.#buffer.frame(this.#maxFrame);
      const bulk = n > 1 ? n : 0;
      const wait = Math.max(this.#frames.wait(1), this.#bulk.wait(bulk));
      if (wait > 0) return this.#after("flush", wait, () => this.#flush());
      this.#frames.take(1);
      this.#bulk.take(bulk);
      this.#buffer.sent(n);
      this.#socket.send(text);
    }
    if (!this.#still) return;
    const wait = this.#frames.wait(1);
    if (wait > 0) return this.#after("flush", wait, () => this.#flush());
    this.#frames.take(1);
    this.#still = false;
    this.#socket.send({ type: "still" });
  }

  #ask(frame) {
    return new Promise((resolve, reject) => {
      if (this.#state !== "open") return reject(new KithError(...NOT_CONNECTED, { temporary: true }));
      if (this.#calls.size >= MOST_REQUESTS) {
        return reject(new KithError("too_many", "Too many requests wait for their answer.", { temporary: true }));
      }
      const id = String(++this.#callID);
      const late = () => this.#answer(id, new KithError("timeout", "The server did not answer in time.", { temporary: true }));
      this.#calls.set(id, { resolve, reject, timer: this.#clock.setTimeout(late, this.#times.request) });
      this.#socket.send({ ...frame, id });
    });
  }

  /** Settles a request, and returns whether there is one. */
  #answer(id, error) {
    const call = this.#calls.get(id);
    if (call === undefined) return false;
    this.#calls.delete(id);
    this.#clock.clearTimeout(call.timer);
    if (error === undefined) call.resolve();
    else call.reject(error);
    return true;
  }

  // Around it.

  #after(name, ms, fn) {
    if (this.#timers[name] !== undefined) return;
    this.#timers[name] = this.#clock.setTimeout(() => {
      this.#timers[name] = undefined;
      fn();
    }, ms);
  }

  #cancel(name) {
    this.#clock.clearTimeout(this.#timers[name]);
    this.#timers[name] = undefined;
  }

  #listen(how) {
    const { page } = this.#opt;
    if (typeof page?.[how] === "function") for (const name of ["online", "offline"]) page[how](name, this.#stirred);
    if (page?.document) page.document[how]("visibilitychange", this.#stirred);
  }

  // The network or the page has come or gone: look now instead of later.
  #stirred = (event) => {
    if (event.type === "visibilitychange" && this.#opt.page.document.visibilityState === "hidden") return;
    if (this.#state === "open") return this.#socket.check();
    if (this.#state !== "waiting" || this.#asked || event.type === "offline") return;
    this.#cancel("retry");
    this.#wait(this.#pauses.next(this.#times.stable).ms); // as after a first failure
  };

  #setState(change) {
    this.#state = change.state;
    this.#emit("state", { code: undefined, reason: undefined, retryInMs: undefined, ...change });
  }

  #pendingChanged() {
    this.#emit("pending", this.#buffer.size);
  }

  #emit(event, value) {
    for (const { fn } of [...(this.#handlers.get(event) ?? [])]) guarded(fn, value);
  }
}
