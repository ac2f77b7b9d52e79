// The outlines of countries, drawn at the zooms where they are true: they are
// exact to a kilometre or two, so nearer than that only the grid is shown.
import { feature } from "topojson-client";
import outlines from "outlines";
import { theme } from "./theme.js";

export const nearestZoom = 10;

// Mercator with the world as the square [0, 1]².
const mx = (lng) => (lng + 180) / 360;
const my = (lat) => 0.5 - Math.log(Math.tan(Math.PI / 4 + (Math.max(-85.06, Math.min(85.06, lat)) * Math.PI) / 360)) / (2 * Math.PI);

// A ring that crosses ±180° is drawn across it, beyond the square, and one that
// goes around a pole is closed below the edge of the map.
function project(ring) {
  const xy = [];
  let turn = 0;
  for (let i = 0; i < ring.length; i++) {
    const x = mx(ring[i][0]);
    if (i > 0) turn -= Math.round(x - mx(ring[i - 1][0]));
    xy.push(x + turn, my(ring[i][1]));
  }
  if (turn !== 0) xy.push(xy[xy.length - 2], 1, xy[0], 1);
  const points = Float64Array.from(xy);
  const box = [Infinity, Infinity, -Infinity, -Infinity];
  for (let i = 0; i < points.length; i += 2) {
    box[0] = Math.min(box[0], points[i]);
    box[1] = Math.min(box[1], points[i + 1]);
    box[2] = Math.max(box[2], points[i]);
    box[3] = Math.max(box[3], points[i + 1]);
  }
  return { points, box };
}

export class Land {
  constructor(onLoad) {
    this.polygons = null;
    this.onLoad = onLoad;
  }

  // Asked for when first needed: a page at street zooms never is.
  load() {
    this.loading ??= fetch(outlines)
      .then((answer) => (answer.ok ? answer.json() : Promise.reject(new Error(answer.statusText))))
      .then((atlas) => {
        const { features } = feature(atlas, atlas.objects.countries);
        this.polygons = features
          .flatMap(({ geometry: g }) => (g.type === "Polygon" ? [g.coordinates] : g.type === "MultiPolygon" ? g.coordinates : []))
          .map((rings) => rings.map(project));
        this.onLoad();
      })
      .catch(() => {
        this.loading = undefined; // tried again at the next paint
      });
  }

  paint(ctx, map, size) {
    const c = theme();
    const near = map.getZoom() > nearestZoom;
    ctx.fillStyle = near ? c.land : c.sea;
    ctx.fillRect(0, 0, size.x, size.y);
    if (near) return;
    if (!this.polygons) return this.load();
    const world = 256 * 2 ** map.getZoom();
    const middle = map.project(map.getCenter());
    const left = (middle.x - size.x / 2) / world;
    const top = (middle.y - size.y / 2) / world;
    const right = left + size.x / world;
    const bottom = top + size.y / world;
    ctx.beginPath();
    for (let turn = Math.floor(left) - 1; turn <= Math.floor(right) + 1; turn++) {
      for (const rings of this.polygons) {
        const [x0, y0, x1, y1] = rings[0].box;
        if (x1 + turn < left || x0 + turn > right || y1 < top || y0 > bottom) continue;
        for (const { points } of rings) trace(ctx, points, world, left - turn, top);
      }
    }
    ctx.fillStyle = c.land;
    ctx.fill("evenodd");
    ctx.lineWidth = 0.75;
    ctx.strokeStyle = c.coast;
    ctx.stroke();
  }
}

// Points nearer to each other than this many pixels are one.
const merged = 0.6;

function trace(ctx, points, world, left, top) {
  let px = NaN;
  let py = NaN;
  for (let i = 0; i < points.length; i += 2) {
    const x = (points[i] - left) * world;
    const y = (points[i + 1] - top) * world;
    if (i === 0) ctx.moveTo(x, y);
    else if (Math.abs(x - px) < merged && Math.abs(y - py) < merged) continue;
    else ctx.lineTo(x, y);
    px = x;
    py = y;
  }
  ctx.closePath();
}
