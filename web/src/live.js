// The page's one connection and all that it has told: who is near, who has
// gone and why, requests, shares, and how the connection itself is.
import { KithClient } from "../../sdk/js/kith.js";
import { personas, remember } from "./identity.js";
import { socketURL } from "./config.js";
import { everything, nextShare, shareAt } from "./shares.js";

/** How many people who went are remembered with their reason. */
const mostGone = 30;
/** Who came is shown as new for so long, ms. */
const freshMs = 1600;

const sharesKey = (user) => `kith.shares.${user}`;

export class Live {
  constructor(me) {
    this.me = me;
    this.link = { state: "idle", code: 0, reason: "", retryAt: 0, last: null };
    this.wasOpen = false;
    this.node = "";
    this.settings = null; // the server's config, once connected
    this.clockAhead = 0; // server's clock minus this one's, ms
    this.pending = 0;
    this.gone = new Map(); // user → {user, reason, at}
    this.fresh = new Map(); // user → when they came near, for a moment
    this.requests = new Set();
    this.shares = readShares(me.user); // user or "" → {mode, until, then}
    this.radius = 0;
    this.resizing = false;
    this.listeners = { change: new Set(), view: new Set(), say: new Set(), connected: new Set() };
    this.open();
  }

  open() {
    const client = new KithClient({
      url: socketURL(),
      token: () => this.freshToken(),
      device: "web",
      name: this.me.user,
      ...(this.radius ? { radius_m: this.radius } : {}),
    });
    this.client = client;
    this.offs = [
      client.on("state", (s) => this.onState(s)),
      client.on("connected", (c) => this.onConnected(c)),
      client.on("pending", (n) => this.set({ pending: n })),
      client.on("error", (e) => this.onError(e)),
      client.on("request", (r) => this.onRequest(r.user)),
      client.on("friend", (f) => this.onFriend(f)),
      client.on("drain", (d) => this.emit("say", `The node says goodbye: ${d.reason || "it restarts"}.`)),
      client.view.subscribe((change) => this.onView(change)),
    ];
    client.start();
  }

  /** Starts anew after a close that the client does not retry. */
  reopen(token) {
    if (token) remember(Object.assign(this.me, { token }));
    const gone = [...this.near].map(([user]) => ({ user, reason: "replaced" }));
    this.shut();
    this.open();
    this.onView({ full: true, entered: [], updated: [], gone }); // the new view is empty
  }

  shut() {
    for (const off of this.offs) off();
    this.client.close();
  }

  on(event, fn) {
    this.listeners[event].add(fn);
    return () => this.listeners[event].delete(fn);
  }

  emit(event, what) {
    for (const fn of this.listeners[event]) fn(what);
  }

  set(changes) {
    Object.assign(this, changes);
    this.emit("change");
  }

  /** Now, by the server's clock, ms. */
  now() {
    return Date.now() + this.clockAhead;
  }

  get near() {
    return this.client.view;
  }

  // In dev mode a token that has run out is replaced by the node's newest.
  async freshToken() {
    const known = (await personas().catch(() => [])).find((p) => p.user === this.me.user);
    return known?.token ?? this.me.token;
  }

  // Why a connection ended says more than that the next try found nobody.
  onState({ state, code = 0, reason = "", retryInMs }) {
    const tells = state === "closed" || (state === "waiting" && (this.wasOpen || !this.link.last));
    const last = tells ? { code, reason, at: Date.now() } : this.link.last;
    if (state === "open" || tells) this.wasOpen = state === "open";
    this.set({ link: { state, code, reason, retryAt: retryInMs >= 0 ? Date.now() + retryInMs : 0, last } });
  }

  onConnected(c) {
    this.requests.clear(); // the server tells them again
    this.set({ node: c.node, settings: c.config, clockAhead: c.now - Date.now(), radius: c.config.radius_m });
    this.emit("connected", c);
  }

  onError(e) {
    if (!e.temporary && e.code !== "unauthorized") this.emit("say", e.message);
  }

  onRequest(user) {
    this.requests.add(user);
    this.emit("say", `${user} asks to be your friend.`);
    this.emit("change");
  }

  onFriend({ user, op }) {
    this.requests.delete(user);
    this.emit("say", op === "accepted" ? `${user} is your friend now.` : `${user} is no longer your friend.`);
    this.emit("change");
  }

  onView(change) {
    const at = Date.now();
    for (const [user, since] of this.fresh) if (at - since > freshMs) this.fresh.delete(user);
    for (const item of change.entered) {
      this.gone.delete(item.user);
      if (!change.full) this.fresh.set(item.user, at);
    }
    // A new radius is answered with a whole new view: who is not in it is too far.
    const outside = change.full && this.resizing;
    if (change.full) this.resizing = false;
    for (const g of change.gone) {
      if (outside && g.reason === "replaced") g.reason = "away";
      this.gone.delete(g.user);
      this.gone.set(g.user, { ...g, at });
    }
    while (this.gone.size > mostGone) this.gone.delete(this.gone.keys().next().value);
    this.emit("view", change);
    this.emit("change");
  }

  isFresh(user) {
    return Date.now() - (this.fresh.get(user) ?? 0) < freshMs;
  }

  async setRadius(metres) {
    const before = this.radius;
    this.set({ radius: metres });
    this.resizing = true;
    try {
      await this.client.setRadius(metres);
    } catch (e) {
      this.resizing = false;
      this.set({ radius: before });
      this.emit("say", e.message);
    }
  }

  /** One friend operation. Says what came of it; true if it was done. */
  async friend(op, user) {
    const done = { request: `You asked ${user}.`, accept: `You and ${user} are friends now.`, decline: `You declined ${user}.`,
      remove: `${user} is no longer your friend.`, block: `${user} is blocked.`, unblock: `${user} is no longer blocked.` }[op];
    try {
      await this.client.friend(op, user);
    } catch (e) {
      this.emit("say", e.message);
      return false;
    }
    if (op !== "request") this.requests.delete(user);
    if (op === "remove" || op === "block") this.gone.delete(user);
    this.emit("say", done);
    this.emit("change");
    return true;
  }

  /** How I share with a friend, as far as this browser set it; "" = everyone. */
  shareWith(user) {
    return shareAt(this.shares[user] ?? everything, this.now());
  }

  async share(user, mode, until = 0) {
    const before = this.shares;
    this.set({ shares: { ...before, [user]: nextShare(mode, until, this.shareWith(user)) } });
    try {
      await this.client.share({ ...(user ? { user } : {}), mode, ...(until ? { until } : {}) });
    } catch (e) {
      this.set({ shares: { ...this.shares, [user]: before[user] ?? everything } });
      this.emit("say", e.message);
      return;
    }
    localStorage.setItem(sharesKey(this.me.user), JSON.stringify(this.shares));
  }
}

function readShares(user) {
  try {
    return JSON.parse(localStorage.getItem(sharesKey(user))) ?? {};
  } catch {
    return {};
  }
}
