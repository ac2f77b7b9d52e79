// Line charts over the last quarter of an hour, as SVG that takes its colours
// from the style sheet.
import { h, say } from "./dom.js";
import { clock, minute } from "./format.js";

const longest = 15 * 60_000;
const shortest = 2 * 60_000;
const height = 168;
const margin = { left: 54, right: 10, top: 8, bottom: 22 };

/** The ticks of a linear axis from 0: at most four steps of 1, 2 or 5 × 10ⁿ. */
function linear(most, least) {
  const top = Math.max(most, least);
  const rough = top / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough);
  const ticks = [];
  for (let at = 0; at < top + step; at += step) ticks.push(at);
  const end = ticks.at(-1);
  return { ticks, place: (v) => v / end };
}

/** A logarithmic axis with a tick at each power of ten. */
function logarithmic(most, least) {
  const low = Math.floor(Math.log10(least));
  const high = Math.max(low + 2, Math.ceil(Math.log10(most || least)));
  const ticks = [];
  for (let p = low; p <= high; p++) ticks.push(10 ** p);
  return { ticks, place: (v) => Math.max(0, (Math.log10(v) - low) / (high - low)) };
}

/**
 * A chart: {title, unit, lines: [{name, column, look}], write, log, least}. look
 * is the number of the line's colour; write formats a value.
 */
export function chart(spec) {
  const legend = h("ul", { class: "legend" });
  const values = spec.lines.map((line) => {
    const value = h("b", {}, "–");
    legend.append(
      h("li", {}, h("svg", { width: 22, height: 8, "aria-hidden": "true" }, h("path", { d: "M0 4H22", class: `line look-${line.look}` })), ` ${line.name} `, value),
    );
    return value;
  });
  const svg = h("svg", { class: "plot", height, role: "img", tabindex: 0 });
  const tip = h("p", { class: "tip", "aria-live": "polite" });
  const figure = h("figure", {}, h("figcaption", {}, h("b", {}, spec.title), h("span", { class: "muted" }, ` ${spec.unit}`)), legend, svg, tip);
  let data = null;
  let picked = null; // the time that is pointed at

  const width = () => Math.max(220, svg.clientWidth || figure.clientWidth || 400);
  // How far back it goes: as far as there is something, within bounds.
  let span = longest;
  const x = (at) => margin.left + ((at - (data.end - span)) / span) * (width() - margin.left - margin.right);
  const nearest = (time) => {
    let best = 0;
    data.at.forEach((at, n) => {
      if (Math.abs(at - time) < Math.abs(data.at[best] - time)) best = n;
    });
    return best;
  };

  function draw() {
    if (!data) return;
    const w = width();
    const inner = height - margin.top - margin.bottom;
    const all = spec.lines.flatMap((l) => data[l.column]).filter((v) => v !== null);
    const axis = (spec.log ? logarithmic : linear)(Math.max(...all, 0), spec.least);
    const y = (v) => margin.top + inner * (1 - axis.place(v));
    span = Math.min(longest, Math.max(shortest, data.end - data.at[0]));
    const step = span > 6 * 60_000 ? 300_000 : span > 3 * 60_000 ? 60_000 : 30_000;
    const stamp = step < 60_000 ? clock : minute;
    const parts = [];
    for (const tick of axis.ticks) {
      parts.push(h("line", { x1: margin.left, x2: w - margin.right, y1: y(tick), y2: y(tick), class: "grid" }));
      parts.push(h("text", { x: margin.left - 8, y: y(tick) + 4, class: "tick end" }, spec.write(tick)));
    }
    for (let at = Math.ceil((data.end - span) / step) * step; at <= data.end; at += step) {
      const px = x(at);
      if (px < margin.left || px > w - margin.right) continue;
      parts.push(h("line", { x1: px, x2: px, y1: margin.top, y2: margin.top + inner, class: "grid" }));
      if (px < w - 34 && px > margin.left + 20) parts.push(h("text", { x: px, y: height - 5, class: "tick middle" }, stamp(at)));
    }
    for (const line of spec.lines) {
      let path = "";
      let pen = false; // whether the line goes on
      let alone = [];
      data[line.column].forEach((v, n) => {
        const px = x(data.at[n]);
        if (v === null || px < margin.left - 1) {
          pen = false;
          return;
        }
        path += `${pen ? "L" : "M"}${px.toFixed(1)} ${y(v).toFixed(1)}`;
        const next = data[line.column][n + 1];
        if (!pen && (next === null || next === undefined)) alone.push(h("circle", { cx: px, cy: y(v), r: 2, class: `dot look-${line.look}` }));
        pen = true;
      });
      parts.push(h("path", { d: path || "M0 0", class: `line look-${line.look}` }), ...alone);
    }
    if (picked !== null) {
      const n = nearest(picked);
      parts.push(h("line", { x1: x(data.at[n]), x2: x(data.at[n]), y1: margin.top, y2: margin.top + inner, class: "pointer" }));
      for (const line of spec.lines) {
        const v = data[line.column][n];
        if (v !== null) parts.push(h("circle", { cx: x(data.at[n]), cy: y(v), r: 3.5, class: `dot look-${line.look}` }));
      }
      say(tip, `${clock(data.at[n])}: ${spec.lines.map((l) => `${l.name} ${spec.write(data[l.column][n])}`).join(", ")}`);
    } else {
      say(tip, "");
    }
    svg.setAttribute("viewBox", `0 0 ${w} ${height}`);
    svg.replaceChildren(...parts);
    const last = data.at.length - 1;
    spec.lines.forEach((line, n) => say(values[n], spec.write(data[line.column][last])));
    svg.setAttribute("aria-label", `${spec.title}: ${spec.lines.map((l) => `${l.name} ${spec.write(data[l.column][last])}`).join(", ")} now. Arrow keys look back.`);
  }

  svg.addEventListener("pointermove", (e) => {
    if (!data) return;
    const box = svg.getBoundingClientRect();
    picked = data.end - span + ((e.clientX - box.left - margin.left) / (box.width - margin.left - margin.right)) * span;
    draw();
  });
  const release = () => {
    picked = null;
    draw();
  };
  svg.addEventListener("pointerleave", release);
  svg.addEventListener("blur", release);
  svg.addEventListener("keydown", (e) => {
    const step = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity }[e.key];
    if (e.key === "Escape") release();
    if (!step || !data) return;
    e.preventDefault();
    const from = picked === null ? data.at.length : nearest(picked);
    picked = data.at[Math.min(data.at.length - 1, Math.max(0, from + step))];
    draw();
  });
  new ResizeObserver(draw).observe(figure);
  return {
    figure,
    show(next) {
      data = next;
      draw();
    },
  };
}
