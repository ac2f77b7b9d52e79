// What the page says: toasts to those who see, the same sentences to screen
// readers, each once and many as one.
import { metres, wind } from "./geo.js";

const toastMs = 5000;
const mostToasts = 3;
/** Sentences for screen readers come no faster than this. */
const sayMs = 1200;
/** The same sentence is not said again within this. */
const againMs = 4000;
/** More people than this who come or go at once are counted, not named. */
const mostNamed = 3;

export const reasons = {
  away: "moved out of range",
  stale: "has sent nothing for a while",
  offline: "went offline",
  hidden: "stopped sharing",
  unfriended: "is no longer a friend",
  replaced: "not seen since the connection came back",
};

export const reasonOf = (reason) => reasons[reason] ?? reason;

export class Said {
  constructor(live, changed) {
    this.toasts = [];
    this.sentence = "";
    this.queue = [];
    this.recent = new Map();
    this.changed = changed;
    this.id = 0;
    this.filled = false;
    live.on("view", (change) => this.onView(change, live));
    live.on("say", (text) => this.say(text));
  }

  onView({ full, entered, gone }, live) {
    if (full && !this.filled) {
      this.filled = true; // the first view is told as a whole
      const n = live.near.size;
      this.say(n === 1 ? "One friend is near." : n ? `${n} friends are near.` : "No friends are near.", { quiet: true });
      return;
    }
    if (entered.length > mostNamed) this.say(`${entered.length} friends came near.`);
    else for (const f of entered) this.say(`${f.user} is near: ${metres(f.distance_m)} ${wind(f.bearing_deg)}.`, { user: f.user, kind: "in" });
    const left = gone.filter((g) => g.reason !== "replaced"); // the list shows who did not come back
    if (left.length > mostNamed) this.say(`${left.length} friends are gone.`);
    else for (const g of left) this.say(`${g.user} is gone: ${reasonOf(g.reason)}.`, { user: g.user, kind: "out" });
  }

  /** Says text; quiet = to screen readers only. */
  say(text, { quiet = false, user = "", kind = "" } = {}) {
    const now = performance.now();
    if (now - (this.recent.get(text) ?? -Infinity) < againMs) return;
    for (const [t, at] of this.recent) if (now - at > againMs) this.recent.delete(t);
    this.recent.set(text, now);
    if (!quiet) this.toast({ id: ++this.id, text, user, kind });
    this.queue = this.queue.filter((q) => !user || q.user !== user); // what is no longer so is not said
    this.queue.push({ text, user });
    if (this.queue.length > 6) this.queue.shift();
    this.speak();
  }

  toast(t) {
    this.toasts = [...this.toasts, t].slice(-mostToasts);
    setTimeout(() => this.dismiss(t.id), toastMs);
    this.changed();
  }

  dismiss(id) {
    this.toasts = this.toasts.filter((t) => t.id !== id);
    this.changed();
  }

  speak() {
    if (this.speaking || !this.queue.length) return;
    this.speaking = true;
    this.sentence = this.queue.shift().text;
    this.changed();
    setTimeout(() => {
      this.speaking = false;
      this.speak();
    }, sayMs);
  }
}
