// How things look on the canvases.
import { hue, initials } from "./theme.js";

/** Metres of a pixel in the middle of a map. */
export const pixelMetres = (map) => (40_075_016.7 * Math.cos((map.getCenter().lat * Math.PI) / 180)) / (256 * 2 ** map.getZoom());

export function text(ctx, label, x, y, font, colour, halo, align) {
  ctx.font = font;
  ctx.textAlign = align;
  ctx.lineWidth = 3.5;
  ctx.strokeStyle = halo;
  ctx.strokeText(label, x, y);
  ctx.fillStyle = colour;
  ctx.fillText(label, x, y);
  ctx.textAlign = "left";
}

export function circle(ctx, at, r, colour, dashed) {
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

// One kilometre of grid hides where in it an `area` friend is: half its diagonal.
export const areaRadius = 707;

/** Draws a friend; small ones are many, and come from sprites. */
export function mark(ctx, { dot, at, item, entering }, r, c, selected) {
  const colour = c.friend[hue(dot.user)];
  if (entering < 1) halo(ctx, at, r + 4 + 26 * entering, colour, 3, (1 - entering) * 0.7);
  if (selected) halo(ctx, at, r + 5, c.ink, 2, 1);
  if (r < 9) {
    copyDot(ctx, item, at, r, c);
    return;
  }
  ctx.save();
  ctx.translate(at.x, at.y);
  body(ctx, item, item.heading, r, c);
  ctx.restore();
  ctx.font = `700 10px ${c.font}`;
  ctx.textAlign = "center";
  ctx.fillStyle = item.state === "idle" ? c.ink : c.onFriend;
  ctx.fillText(initials(dot.user), at.x, at.y + 3.5);
  ctx.textAlign = "left";
}

function halo(ctx, at, r, colour, width, alpha) {
  ctx.globalAlpha = alpha;
  ctx.strokeStyle = colour;
  ctx.lineWidth = width;
  ctx.beginPath();
  ctx.arc(at.x, at.y, r, 0, 2 * Math.PI);
  ctx.stroke();
  ctx.globalAlpha = 1;
}

// A live friend is a filled dot, an idle one an empty ring; who moves has an
// arrow on the side they move to.
function body(ctx, item, heading, r, c) {
  const colour = c.friend[hue(item.user)];
  if (Number.isFinite(heading)) arrow(ctx, r, heading, colour, c.dotEdge);
  const idle = item.state === "idle";
  ctx.beginPath();
  ctx.arc(0, 0, r, 0, 2 * Math.PI);
  ctx.fillStyle = idle ? c.land : colour;
  ctx.fill();
  ctx.lineWidth = idle ? 2.5 : 2;
  ctx.strokeStyle = idle ? colour : c.dotEdge;
  ctx.stroke();
}

function arrow(ctx, r, heading, colour, edge) {
  ctx.save();
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

// What is drawn again and again is drawn once, for one theme, and copied.
class Sprites {
  #kept = new Map();
  #theme = null;
  #most;

  constructor(most) {
    this.#most = most;
  }

  /** The sprite of a key, w × h pixels, drawn by draw(ctx) if it is not there. */
  get(key, w, h, c, draw) {
    if (this.#theme !== c || this.#kept.size > this.#most) {
      this.#theme = c;
      this.#kept.clear();
    }
    let s = this.#kept.get(key);
    if (!s) {
      const scale = Math.min(2, window.devicePixelRatio || 1);
      s = Object.assign(document.createElement("canvas"), { width: Math.ceil(w * scale), height: Math.ceil(h * scale) });
      const ctx = s.getContext("2d");
      ctx.scale(scale, scale);
      draw(ctx);
      this.#kept.set(key, s);
    }
    return s;
  }
}

const directions = 24;
const dots = new Sprites(1000); // colours × states × directions
const labels = new Sprites(300);

function copyDot(ctx, item, at, r, c) {
  const to = Number.isFinite(item.heading) ? Math.round((item.heading * directions) / 360) % directions : -1;
  const half = r + 9;
  const s = dots.get(`${hue(item.user)} ${item.state} ${to} ${r}`, 2 * half, 2 * half, c, (own) => {
    own.translate(half, half);
    body(own, item, to < 0 ? NaN : (to * 360) / directions, r, c);
  });
  ctx.drawImage(s, at.x - half, at.y - half, 2 * half, 2 * half);
}

export const labelHigh = 18;
const labelFont = (c) => `600 12px ${c.font}`;

/** How wide a label is, pixels. */
export function labelWide(ctx, words, c) {
  ctx.font = labelFont(c);
  return ctx.measureText(words).width + 4;
}

/** Draws a label, w wide, with its top left at x, y. */
export function label(ctx, words, x, y, w, c) {
  const wide = Math.ceil(w);
  const s = labels.get(words, wide, labelHigh, c, (own) => text(own, words, 2, 13, labelFont(c), c.ink, c.halo, "left"));
  ctx.drawImage(s, Math.round(x), Math.round(y), wide, labelHigh); // on whole pixels letters are sharp
}
