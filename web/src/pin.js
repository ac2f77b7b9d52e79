// My own place: moved by hand, by keys or by the browser's geolocation, and
// sent as fixes while it moves.
import { bearing, canonical, destination, distance } from "./geo.js";
import { keepPlace } from "./identity.js";

/** Fixes while moving are at least this far apart: a little under 3 a second. */
const paceMs = 350;
/** A move by keys has ended when no key came for this long. */
const restMs = 250;
/** What is said of the accuracy of a place that was chosen by hand, metres. */
const byHand = 10;

export class Pin {
  constructor(live) {
    this.live = live;
    this.at = live.me.at;
    this.accuracy = byHand;
    this.heading = null;
    this.following = false;
    this.lastSent = -Infinity;
    this.listeners = new Set();
    this.offs = [live.on("connected", () => this.onConnected())];
    this.scheduleBeat();
    if (this.at) this.send();
  }

  on(fn) {
    this.listeners.add(fn);
    return () => this.listeners.delete(fn);
  }

  /** Moves by hand; final = the move has ended. */
  moveTo(to, final) {
    if (this.following) this.unfollow();
    this.place(canonical(to), byHand, undefined, final);
  }

  /** Moves by a key: so many metres along a bearing. */
  step(metres, bearingDeg) {
    this.moveTo(destination(this.at, metres, bearingDeg), false);
    clearTimeout(this.rest);
    this.rest = setTimeout(() => this.place(this.at, byHand, undefined, true), restMs);
  }

  place(to, accuracy, measured, final) {
    if (this.at && distance(this.at, to) > 3) this.heading = bearing(this.at, to);
    const first = !this.at;
    this.at = to;
    this.accuracy = accuracy;
    this.measured = measured;
    keepPlace(this.live.me.user, to);
    for (const fn of this.listeners) fn();
    if (final || first) {
      this.send();
      // A leap that nobody can make is held by the server until a second fix
      // agrees; a pin that was dragged across the map has leapt.
      this.send();
    } else {
      this.sendPaced();
    }
  }

  sendPaced() {
    const wait = this.lastSent + paceMs - performance.now();
    if (wait <= 0) return this.send();
    this.later ??= setTimeout(() => this.send(), wait);
  }

  send() {
    clearTimeout(this.later);
    this.later = null;
    this.lastSent = performance.now();
    const fix = { lat: this.at.lat, lng: this.at.lng, acc: this.accuracy };
    const heading = this.measured ? this.measured.heading : this.heading;
    if (Number.isFinite(heading)) fix.heading = heading;
    if (Number.isFinite(this.measured?.speed)) fix.speed = this.measured.speed;
    this.live.client.fix(fix);
    this.scheduleBeat();
  }

  // A node that started anew knows nobody's place until the next fix.
  onConnected() {
    if (this.at) this.send();
  }

  /** Says that I am still here, as often as the server would like it. */
  scheduleBeat() {
    clearTimeout(this.beat);
    this.beat = setTimeout(() => {
      if (this.at && this.live.client.state === "open") this.live.client.still();
      this.scheduleBeat();
    }, (this.live.settings?.fix_s ?? 30) * 1000);
  }

  /** Follows the browser's geolocation. Resolves to "" or to what is in the way. */
  follow() {
    if (!("geolocation" in navigator)) return Promise.resolve("This browser has no geolocation.");
    return new Promise((resolve) => {
      this.following = true;
      this.watch = navigator.geolocation.watchPosition(
        ({ coords: c }) => {
          if (!this.following) return;
          this.place({ lat: c.latitude, lng: c.longitude }, c.accuracy, { heading: c.heading, speed: c.speed }, false);
          resolve("");
        },
        (e) => {
          if (e.code === e.PERMISSION_DENIED) this.unfollow();
          resolve(e.code === e.PERMISSION_DENIED ? "This browser does not allow the page to know where you are." : "Your place could not be found just now.");
        },
        { enableHighAccuracy: true, maximumAge: 5000, timeout: 20_000 },
      );
      this.live.emit("change");
    });
  }

  unfollow() {
    navigator.geolocation?.clearWatch(this.watch);
    this.following = false;
    this.measured = undefined;
    this.live.emit("change");
  }

  shut() {
    if (this.following) this.unfollow();
    for (const t of [this.later, this.rest, this.beat]) clearTimeout(t);
    for (const off of this.offs) off();
  }
}
