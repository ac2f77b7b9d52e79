// The canvas of people: radius ring, friends, and what is known about each.
import { onMap } from "./canvaslayer.js";
import { destination, metres, nearestCopy } from "./geo.js";
import { Glide } from "./glide.js";
import { hue, initials, reducedMotion, theme } from "./theme.js";

/** More friends in sight than this are drawn small and without letters. */
const crowd = 60;
/** At most this many names stand on the map, those of the nearest first. */
const mostNames = 40;
const fewNames = 16; // in a crowd
const ringPoints = 120;

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
    if (pin.at) {
      this.ring(ctx, map, pin.at, c);
      circle(ctx, this.project(map, pin.at), pin.accuracy / mpp, c.me);
    }
    const inSight = this.inSight(map, size, now);
    const small = inSight.length > crowd;
    for (const s of inSight) if (!small || s.dot.user === this.selected) trail(ctx, map, this, s, c);
    for (const s of inSight) if (!small || s.dot.user === this.selected) accuracy(ctx, s, mpp, c);
    for (const dot of this.glide.leaving.values()) this.ghost(ctx, map, dot, now, c);
    const radius = small ? 5 : 11;
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

  ring(ctx, map, at, c) {
    const r = this.live.radius;
    if (!r) return;
    const middle = nearestCopy(at.lng, map.getCenter().lng);
    ctx.beginPath();
    for (let i = 0; i <= ringPoints; i++) {
      const p = destination(at, r, (i * 360) / ringPoints);
      const xy = onMap(map, p.lat, nearestCopy(p.lng, middle));
      if (i) ctx.lineTo(xy.x, xy.y);
      else ctx.moveTo(xy.x, xy.y);
    }
    ctx.fillStyle = c.ringFill;
    ctx.fill();
    ctx.strokeStyle = c.ring;
    ctx.lineWidth = 1.75;
    ctx.setLineDash([7, 5]);
    ctx.stroke();
    ctx.setLineDash([]);
    const top = destination(at, r, 0);
    const xy = onMap(map, top.lat, nearestCopy(top.lng, middle));
    text(ctx, metres(r), xy.x, xy.y - 7, `600 12px ${c.font}`, c.ring, c.halo, "center");
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
    const font = `600 12px ${c.font}`;
    ctx.font = font;
    for (const { dot, at, item } of first.slice(0, small ? fewNames : mostNames)) {
      const label = `${dot.user}  ${metres(item.distance_m)}`;
      const w = this.width(ctx, label);
      const places = labelBoxes(at, radius, w, size);
      // The side that it had is tried first, so that labels do not hop about.
      const side = [dot.side ?? 0, 0, 1, 2, 3].find((i) => places[i] && !taken.some((o) => overlap(o, places[i])));
      if (side === undefined) continue;
      dot.side = side;
      taken.push(places[side]);
      text(ctx, label, places[side][0] + 2, places[side][1] + 13, font, c.ink, c.halo, "left");
    }
  }

  width(ctx, label) {
    let w = this.widths.get(label);
    if (w === undefined) {
      if (this.widths.size > 4000) this.widths.clear();
      this.widths.set(label, (w = ctx.measureText(label).width));
    }
    return w;
  }
}

// Boxes are [left, top, right, bottom] in pixels.
const around = (at, r) => [at.x - r, at.y - r, at.x + r, at.y + r];
const overlap = (a, b) => a[0] < b[2] && a[2] > b[0] && a[1] < b[3] && a[3] > b[1];

/** Where a label w wide may stand: right, left, below, above. null = out of sight. */
function labelBoxes(at, r, w, size) {
  const [gap, high] = [r + 6, 18];
  return [
    [at.x + gap, at.y - high / 2],
    [at.x - gap - w - 4, at.y - high / 2],
    [at.x - w / 2 - 2, at.y + gap - 2],
    [at.x - w / 2 - 2, at.y - gap - high + 2],
  ].map(([x, y]) => (x < 0 || y < 0 || x + w + 4 > size.x || y + high > size.y ? null : [x, y, x + w + 4, y + high]));
}

const pixelMetres = (map) => (40_075_016.7 * Math.cos((map.getCenter().lat * Math.PI) / 180)) / (256 * 2 ** map.getZoom());

function text(ctx, label, x, y, font, colour, halo, align) {
  ctx.font = font;
  ctx.textAlign = align;
  ctx.lineWidth = 3.5;
  ctx.strokeStyle = halo;
  ctx.strokeText(label, x, y);
  ctx.fillStyle = colour;
  ctx.fillText(label, x, y);
  ctx.textAlign = "left";
}

function circle(ctx, at, r, colour, dashed) {
  if (!(r > 8)) return;
  ctx.beginPath();
  ctx.arc(at.x, at.y, r, 0, 2 * Math.PI);
  ctx.globalAlpha = 0.1;
  ctx.fillStyle = colour;
  ctx.fill();
  ctx.globalAlpha = 0.6;
  ctx.strokeStyle = colour;
  ctx.lineWidth = 1;
  if (dashed) ctx.setLineDash([4, 4]);
  ctx.stroke();
  ctx.setLineDash([]);
  ctx.globalAlpha = 1;
}

// One kilometre of grid hides where in it an `area` friend is.
const areaRadius = 707;

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

// A live friend is a filled dot, an idle one is an empty ring; who moves has an
// arrow on the side they move to.
function mark(ctx, { dot, at, item, entering }, r, c, selected) {
  const colour = c.friend[hue(dot.user)];
  if (entering < 1) {
    ctx.globalAlpha = (1 - entering) * 0.7;
    ctx.strokeStyle = colour;
    ctx.lineWidth = 3;
    ctx.beginPath();
    ctx.arc(at.x, at.y, r + 4 + 26 * entering, 0, 2 * Math.PI);
    ctx.stroke();
    ctx.globalAlpha = 1;
  }
  if (Number.isFinite(item.heading)) arrow(ctx, at, r, item.heading, colour, c.dotEdge);
  const idle = item.state === "idle";
  ctx.beginPath();
  ctx.arc(at.x, at.y, r, 0, 2 * Math.PI);
  ctx.fillStyle = idle ? c.land : colour;
  ctx.fill();
  ctx.lineWidth = idle ? 2.5 : 2;
  ctx.strokeStyle = idle ? colour : c.dotEdge;
  ctx.stroke();
  if (selected) {
    ctx.beginPath();
    ctx.arc(at.x, at.y, r + 5, 0, 2 * Math.PI);
    ctx.strokeStyle = c.ink;
    ctx.lineWidth = 2;
    ctx.stroke();
  }
  if (r < 9) return;
  ctx.font = `700 10px ${c.font}`;
  ctx.textAlign = "center";
  ctx.fillStyle = idle ? c.ink : c.onFriend;
  ctx.fillText(initials(dot.user), at.x, at.y + 3.5);
  ctx.textAlign = "left";
}

function arrow(ctx, at, r, heading, colour, edge) {
  ctx.save();
  ctx.translate(at.x, at.y);
  ctx.rotate((heading * Math.PI) / 180);
  ctx.beginPath();
  ctx.moveTo(0, -r - (r < 9 ? 6 : 11));
  ctx.lineTo(r * 0.78, -r * 0.66);
  ctx.lineTo(-r * 0.78, -r * 0.66);
  ctx.closePath();
  ctx.fillStyle = colour;
  ctx.fill();
  ctx.lineWidth = 1.5;
  ctx.strokeStyle = edge;
  ctx.stroke();
  ctx.restore();
}
