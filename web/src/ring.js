// My ring: how far I see, and how well my own place is known.
import { onMap } from "./canvaslayer.js";
import { destination, metres, nearestCopy } from "./geo.js";
import { circle, pixelMetres, text } from "./marks.js";
import { theme } from "./theme.js";

const points = 120;

/** Draws the ring of so many metres around my pin, if there is one. */
export function paintRing(ctx, map, pin, radius) {
  if (!pin.at) return;
  const c = theme();
  const middle = nearestCopy(pin.at.lng, map.getCenter().lng);
  const xy = (p) => onMap(map, p.lat, nearestCopy(p.lng, middle));
  if (radius) {
    ctx.beginPath();
    for (let i = 0; i <= points; i++) {
      const { x, y } = xy(destination(pin.at, radius, (i * 360) / points));
      if (i) ctx.lineTo(x, y);
      else ctx.moveTo(x, y);
    }
    ctx.fillStyle = c.ringFill;
    ctx.fill();
    ctx.strokeStyle = c.ring;
    ctx.lineWidth = 1.75;
    ctx.setLineDash([7, 5]);
    ctx.stroke();
    ctx.setLineDash([]);
    const top = xy(destination(pin.at, radius, 0));
    text(ctx, metres(radius), top.x, top.y - 7, `600 12px ${c.font}`, c.ring, c.halo, "center");
  }
  circle(ctx, xy(pin.at), pin.accuracy / pixelMetres(map), c.me);
}
