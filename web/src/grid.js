// The grid: degrees on a map of countries, metres from where my pin first stood
// on a map of streets. It needs no data, so that no view is ever blank.
import { EARTH, metres, nice } from "./geo.js";
import { theme } from "./theme.js";

/** From this zoom on the grid counts metres. */
const metricZoom = 8;
/** Lines are about this far apart, pixels. */
const apart = 170;
/** Spaces between two labelled lines: what 1, 2 and 5 are divided by without a rest. */
const partsOf = (step) => (String(step)[0] === "2" ? 4 : 5);
/** Farther than this from its origin a metre grid is begun anew, degrees. */
const reach = 1;

const degreeSteps = [30, 20, 10, 5, 2, 1, 0.5];
const metresPerDegree = (EARTH * Math.PI) / 180;

export class Grid {
  constructor() {
    this.origin = null;
  }

  paint(ctx, map, size, pin) {
    const c = theme();
    ctx.font = `500 11px ${c.font}`;
    ctx.lineWidth = 1;
    if (map.getZoom() < metricZoom) this.degrees(ctx, map, size, c);
    else this.metric(ctx, map, size, c, pin);
  }

  degrees(ctx, map, size, c) {
    const b = map.getBounds();
    const perDegree = size.x / (b.getEast() - b.getWest());
    const step = degreeSteps.findLast((s) => s * perDegree >= apart) ?? 30;
    const lines = { ctx, map, size, colour: c.gridMajor, text: c.gridText };
    for (let lng = Math.ceil(b.getWest() / step) * step; lng <= b.getEast(); lng += step) {
      meridian(lines, lng, degreesOf(((((lng + 180) % 360) + 360) % 360) - 180, "E", "W"));
    }
    for (let lat = Math.ceil(Math.max(-80, b.getSouth()) / step) * step; lat <= Math.min(84, b.getNorth()); lat += step) {
      parallel(lines, lat, degreesOf(lat, "N", "S"));
    }
  }

  metric(ctx, map, size, c, pin) {
    const b = map.getBounds();
    const from = this.originNear(map.getCenter(), pin);
    const perLat = metresPerDegree;
    const perLng = metresPerDegree * Math.cos((from.lat * Math.PI) / 180);
    const perPixel = ((b.getEast() - b.getWest()) * perLng) / size.x;
    const step = nice(apart * perPixel);
    const parts = partsOf(step);
    const minor = { ctx, map, size, colour: c.grid };
    const major = { ctx, map, size, colour: c.gridMajor, text: c.gridText };
    const range = (low, high, per) => [Math.ceil(((low * per) / step) * parts), Math.floor(((high * per) / step) * parts)];
    const [west, east] = range(b.getWest() - from.lng, b.getEast() - from.lng, perLng);
    const [south, north] = range(b.getSouth() - from.lat, b.getNorth() - from.lat, perLat);
    const labelled = (i) => i % parts === 0;
    for (const [lines, wanted] of [[minor, (i) => !labelled(i)], [major, labelled]]) {
      for (let i = west; i <= east; i++) if (wanted(i)) meridian(lines, from.lng + (i * step) / parts / perLng, offset((i * step) / parts, "E", "W"));
      for (let i = south; i <= north; i++) if (wanted(i)) parallel(lines, from.lat + (i * step) / parts / perLat, offset((i * step) / parts, "N", "S"));
    }
  }

  originNear(centre, pin) {
    const far = (p) => Math.abs(p.lat - centre.lat) > reach || Math.abs(p.lng - centre.lng) > reach;
    if (!this.origin || far(this.origin)) {
      const near = pin && !far(pin) ? pin : centre;
      this.origin = { lat: near.lat, lng: near.lng };
    }
    return this.origin;
  }
}

const degreesOf = (v, plus, minus) => (v === 0 ? "0°" : `${Math.abs(Math.round(v * 10) / 10)}° ${v > 0 ? plus : minus}`);
const offset = (m, plus, minus) => (Math.abs(m) < 1e-6 ? "start" : `${metres(Math.abs(m)).replace(".0 ", " ")} ${m > 0 ? plus : minus}`);

function meridian({ ctx, map, size, colour, text }, lng, label) {
  const x = Math.round(map.latLngToContainerPoint([map.getCenter().lat, lng]).x) + 0.5;
  line(ctx, colour, x, 0, x, size.y);
  if (!text) return;
  ctx.fillStyle = text;
  ctx.fillText(label, x + 5, 15);
}

function parallel({ ctx, map, size, colour, text }, lat, label) {
  const y = Math.round(map.latLngToContainerPoint([lat, map.getCenter().lng]).y) + 0.5;
  line(ctx, colour, 0, y, size.x, y);
  if (!text || y < 30 || y > size.y - 40) return;
  ctx.fillStyle = text;
  ctx.fillText(label, 7, y - 5);
}

function line(ctx, colour, x0, y0, x1, y1) {
  ctx.strokeStyle = colour;
  ctx.beginPath();
  ctx.moveTo(x0, y0);
  ctx.lineTo(x1, y1);
  ctx.stroke();
}
