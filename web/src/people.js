// The canvas of people: radius ring, friends, and what is known about each.
import { onMap } from "./canvaslayer.js";
import { metres, nearestCopy } from "./geo.js";
import { Glide } from "./glide.js";
import { areaRadius, circle, label, labelHigh, labelWide, mark, pixelMetres } from "./marks.js";
import { hue, reducedMotion, theme } from "./theme.js";

const smallRadius = 5;
/** More friends in sight than this are drawn small and without letters. */
const crowd = 60;
/** At most this many names stand on the map, those of the nearest first. */
const mostNames = 40;
const fewNames = 16; // in a crowd
export class People {
  constructor(live, redraw) {
    this.live = live;
    this.glide = new Glide();
    this.selected = "";
    this.redraw = redraw;
    this.frame = 0;
    this.widths = new Map();
    live.on("view", (change) => this.onView(change));
  }

  onView({ full, entered, updated, gone }) {
    const now = performance.now();
    const still = reducedMotion();
    for (const item of entered) this.glide.put(item, now, { still, entered: !full || item.entered === true });
    for (const item of updated) this.glide.put(item, now, { still });
    for (const { user } of gone) this.glide.remove(user, now, still);
    this.wake();
  }

  /** Paints until nothing moves any more. */
  wake() {
    if (this.frame) return;
    const tick = () => {
      this.frame = 0;
      this.redraw();
      if (this.glide.moving(performance.now())) this.frame = requestAnimationFrame(tick);
    };
    this.frame = requestAnimationFrame(tick);
  }

  /** The friend whose dot is at a point of the map, or "". */
  hit(map, point) {
    const now = performance.now();
    let best = 18; // pixels: a finger
    let user = "";
    for (const dot of this.glide.dots.values()) {
      const d = point.distanceTo(this.project(map, this.glide.at(dot, now)));
      if (d < best) [best, user] = [d, dot.user];
    }
    return user;
  }

  project(map, at) {
    return onMap(map, at.lat, nearestCopy(at.lng, map.getCenter().lng));
  }

  paint(ctx, map, size, pin) {
    const c = theme();
    const now = performance.now();
    ctx.lineJoin = "round";
    const mpp = pixelMetres(map);
    const inSight = this.inSight(map, size, now);
    const small = inSight.length > crowd;
    for (const s of inSight) {
      if (small && s.dot.user !== this.selected) continue;
      trail(ctx, map, this, s, c);
      accuracy(ctx, s, mpp, c);
    }
    for (const dot of this.glide.leaving.values()) this.ghost(ctx, map, dot, now, c);
    const radius = small ? smallRadius : 11;
    for (const s of inSight) mark(ctx, s, radius, c, s.dot.user === this.selected);
    this.names(ctx, map, size, inSight, radius, pin, c);
  }

  inSight(map, size, now) {
    const list = [];
    for (const dot of this.glide.dots.values()) {
      const at = this.project(map, this.glide.at(dot, now));
      if (at.x < -60 || at.y < -60 || at.x > size.x + 60 || at.y > size.y + 60) continue;
      list.push({ dot, at, item: dot.item, entering: this.glide.entering(dot, now) });
    }
    return list;
  }

  // Where a friend was when it went: an empty outline that fades.
  ghost(ctx, map, dot, now, c) {
    const t = this.glide.goneBy(dot, now);
    const at = this.project(map, dot.to);
    ctx.globalAlpha = 1 - t;
    ctx.strokeStyle = c.friend[hue(dot.user)];
    ctx.lineWidth = 2;
    ctx.setLineDash([3, 3]);
    ctx.beginPath();
    ctx.arc(at.x, at.y, 11 + 8 * t, 0, 2 * Math.PI);
    ctx.stroke();
    ctx.setLineDash([]);
    ctx.globalAlpha = 1;
  }

  // Names and distances of the nearest, where there is room for them.
  names(ctx, map, size, inSight, radius, pin, c) {
    const small = inSight.length > crowd;
    const first = [...inSight].sort((a, b) => (b.dot.user === this.selected) - (a.dot.user === this.selected) || a.item.distance_m - b.item.distance_m);
    const taken = inSight.map(({ at }) => around(at, radius));
    if (pin.at) taken.push(around(this.project(map, pin.at), 14));
    for (const { dot, at, item } of first.slice(0, small ? fewNames : mostNames)) {
      const words = `${dot.user}  ${metres(item.distance_m)}`;
      const w = this.wide(ctx, words, c);
      const places = labelBoxes(at, Number.isFinite(item.heading) ? radius + 5 : radius, w, size);
      // The side that it had is tried first, so that labels do not hop about.
      const side = [dot.side ?? 0, 0, 1, 2, 3].find((i) => places[i] && !taken.some((o) => overlap(o, places[i])));
      if (side === undefined) continue;
      dot.side = side;
      taken.push(places[side]);
      label(ctx, words, places[side][0], places[side][1], w, c);
    }
  }

  wide(ctx, words, c) {
    let w = this.widths.get(words);
    if (w === undefined) {
      if (this.widths.size > 4000) this.widths.clear();
      this.widths.set(words, (w = labelWide(ctx, words, c)));
    }
    return w;
  }
}
// Boxes are [left, top, right, bottom] in pixels.
const around = (at, r) => [at.x - r, at.y - r, at.x + r, at.y + r];
const overlap = (a, b) => a[0] < b[2] && a[2] > b[0] && a[1] < b[3] && a[3] > b[1];

/** Where a label w wide may stand: right, left, below, above. null = out of sight. */
function labelBoxes(at, r, w, size) {
  const gap = r + 6;
  return [
    [at.x + gap, at.y - labelHigh / 2],
    [at.x - gap - w, at.y - labelHigh / 2],
    [at.x - w / 2, at.y + gap - 2],
    [at.x - w / 2, at.y - gap - labelHigh + 2],
  ].map(([x, y]) => (x < 0 || y < 0 || x + w > size.x || y + labelHigh > size.y ? null : [x, y, x + w, y + labelHigh]));
}

function accuracy(ctx, { at, item }, mpp, c) {
  const area = item.precision === "area";
  circle(ctx, at, (area ? areaRadius : (item.acc ?? 0)) / mpp, c.friend[hue(item.user)], area);
}

function trail(ctx, map, people, { dot, at }, c) {
  if (!dot.trail.length) return;
  ctx.strokeStyle = c.friend[hue(dot.user)];
  ctx.lineWidth = 2.5;
  ctx.lineCap = "round";
  const points = [...dot.trail.map((p) => people.project(map, p)), at];
  for (let i = 1; i < points.length; i++) {
    ctx.globalAlpha = (0.35 * i) / points.length;
    ctx.beginPath();
    ctx.moveTo(points[i - 1].x, points[i - 1].y);
    ctx.lineTo(points[i].x, points[i].y);
    ctx.stroke();
  }
  ctx.globalAlpha = 1;
}

