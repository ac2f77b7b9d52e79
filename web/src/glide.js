// Friends between fixes: each dot glides from where it is shown to where its
// friend now is, leaves a short trail, and shows for a moment that its friend
// came or went. No clock of its own: every call is given the time in ms.
import { distance, nearestCopy } from "./geo.js";

const glideMs = 900;
const enterMs = 1600;
const leaveMs = 1400;
/** A dot does not glide farther than this; it is simply there, metres. */
const leap = 20_000;
const trailPoints = 6;

const ease = (t) => 1 - (1 - t) ** 3;
const share = (now, since, ms) => Math.min(1, Math.max(0, (now - since) / ms));

export class Glide {
  constructor() {
    this.dots = new Map(); // user → dot
    this.leaving = new Map(); // user → dot, with `left`
  }

  /** Shows item, which is new or has moved. still = do not animate. */
  put(item, now, { entered = false, still = false } = {}) {
    const dot = this.dots.get(item.user) ?? { user: item.user, trail: [], since: -Infinity, entered: -Infinity };
    const to = { lat: item.lat, lng: item.lng };
    const known = this.dots.has(item.user);
    if (known) {
      const from = this.at(dot, now);
      to.lng = nearestCopy(to.lng, from.lng);
      const moved = distance(dot.to, to);
      if (moved > 1) {
        dot.trail.push(dot.to);
        if (dot.trail.length > trailPoints) dot.trail.shift();
      }
      dot.from = from;
      dot.since = still || moved < 0.5 || moved > leap ? -Infinity : now;
      if (moved > leap) dot.trail = [];
    }
    dot.to = to;
    dot.item = item;
    if (entered && !still) dot.entered = now;
    this.leaving.delete(item.user);
    this.dots.set(item.user, dot);
  }

  remove(user, now, still = false) {
    const dot = this.dots.get(user);
    if (!dot) return;
    this.dots.delete(user);
    if (!still) this.leaving.set(user, { ...dot, from: undefined, to: this.at(dot, now), left: now });
  }

  /** Where a dot is shown. */
  at(dot, now) {
    const t = ease(share(now, dot.since, glideMs));
    if (t >= 1 || !dot.from) return dot.to;
    return { lat: dot.from.lat + (dot.to.lat - dot.from.lat) * t, lng: dot.from.lng + (dot.to.lng - dot.from.lng) * t };
  }

  /** How much of the sign that a friend came is over, 0 to 1. */
  entering = (dot, now) => share(now, dot.entered, enterMs);
  /** How much of the sign that a friend went is over, 0 to 1. */
  goneBy = (dot, now) => share(now, dot.left, leaveMs);

  /** Whether anything will look different a moment later. Forgets who has left. */
  moving(now) {
    for (const [user, dot] of this.leaving) if (this.goneBy(dot, now) >= 1) this.leaving.delete(user);
    if (this.leaving.size) return true;
    for (const dot of this.dots.values()) {
      if (now - dot.since < glideMs || now - dot.entered < enterMs) return true;
    }
    return false;
  }
}
