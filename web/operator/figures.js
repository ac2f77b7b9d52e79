// The cards, charts and tables that show the node's figures.
import { $, h, say, table } from "./dom.js";
import { bytes, count, duration, latency, rate } from "./format.js";
import { chart } from "./chart.js";

const percent = (part, all) => (all > 0 ? `${part > 0 && part < all / 200 ? "under 1" : Math.round((100 * part) / all)} %` : "–");

/** The cards: title, value, what stands below, and when it is a warning. */
const cards = [
  { title: "Connections", value: (s) => count(s.live.connections), note: (s) => `of ${count(s.process.most_files)} files` },
  { title: "Users", value: (s) => count(s.live.users), note: states },
  { title: "Fixes a second", value: (s) => rate(s.live.fixes_per_s), note: (s) => `${rate(s.history.committed_per_s)} stored` },
  {
    title: "Deliveries owed a second",
    value: (s) => rate(s.live.owed_per_s),
    note: (s) => `${percent(s.live.avoided_per_s, s.live.owed_per_s + s.live.avoided_per_s)} avoided`,
  },
  {
    title: "Fix to a friend’s socket",
    value: (s) => latency(s.live.push_p99_s),
    note: (s) => `99 % within, half within ${latency(s.live.push_p50_s)}`,
    bad: (s) => s.live.push_p99_s > 1,
  },
  {
    title: "Fix to disk",
    value: (s) => latency(s.live.ack_p99_s),
    note: (s) => (s.history.lag_s > 1 ? `the oldest of ${count(s.history.queued_rows)} waits for ${latency(s.history.lag_s)}` : `99 % within, half within ${latency(s.live.ack_p50_s)}`),
    bad: (s) => s.live.ack_p99_s > 1 || s.history.lag_s > 5,
  },
  {
    title: "Memory",
    value: (s) => bytes(s.process.resident_bytes || s.process.heap_bytes),
    note: (s) => (s.process.limit_bytes ? `limit ${bytes(s.process.limit_bytes)}` : `heap ${bytes(s.process.heap_bytes)}, no limit`),
    bad: (s) => s.process.limit_bytes > 0 && s.process.resident_bytes > 0.9 * s.process.limit_bytes,
  },
  {
    title: "Processor",
    value: (s) => `${percent(s.process.cpu_cores, s.process.all_cores)}`,
    note: (s) => `of ${s.process.all_cores} cores, ${count(s.process.goroutines)} goroutines`,
    bad: (s) => s.process.cpu_cores > 0.9 * s.process.all_cores,
  },
];

/** The states of the users: of all, or of a sample. */
function states(s) {
  const of = s.live.users_by_state_sampled;
  if (!of.of) return "states not known yet";
  const parts = ["live", "idle", "stale"].filter((name) => of[name] > 0);
  return parts.map((name) => `${percent(of[name], of.of)} ${name}`).join(", ") + (of.of < s.live.users ? `, of ${of.of}` : "");
}

const cardParts = cards.map((card) => {
  const value = h("dd", { class: "value" }, "–");
  const note = h("dd", { class: "note" }, " ");
  const box = h("div", { class: "card" }, h("dt", {}, card.title), value, note);
  $("cards").append(box);
  return { ...card, box, parts: { value, note } };
});

const charts = [
  { title: "People", unit: "connections and users", least: 4, write: (v) => (v === null ? "–" : count(v)), lines: [{ name: "connections", column: "connections", look: 0 }, { name: "users", column: "users", look: 1 }] },
  { title: "Fixes", unit: "a second", least: 1, write: (v) => (v === null ? "–" : rate(v)), lines: [{ name: "fixes", column: "fixes_per_s", look: 0 }] },
  {
    title: "Deliveries",
    unit: "a second",
    least: 4,
    write: (v) => (v === null ? "–" : rate(v)),
    lines: [{ name: "owed", column: "owed_per_s", look: 0 }, { name: "avoided by quiet zones", column: "avoided_per_s", look: 1 }],
  },
  {
    title: "Latency",
    unit: "what 99 % and half are within",
    log: true,
    least: 0.0001,
    write: latency,
    lines: [
      { name: "to disk, 99 %", column: "ack_p99_s", look: 0 },
      { name: "half", column: "ack_p50_s", look: 2 },
      { name: "to a friend, 99 %", column: "push_p99_s", look: 1 },
      { name: "half", column: "push_p50_s", look: 3 },
    ],
  },
].map((spec) => {
  const c = chart(spec);
  $("charts").append(c.figure);
  return c;
});

/** A link to what a code means. */
const meaning = (r) => (r.anchor ? h("a", { href: `/operator/codes.html#${r.anchor}` }, r.code) : h("span", {}, r.code));

function fill(s) {
  const box = (q) => ({
    update(cell) {
      if (!q.bound) return say(cell, "–");
      const part = q.depth / q.bound;
      let meter = cell.firstElementChild;
      if (!meter) {
        meter = h("meter", { min: 0, max: 1, low: 0.25, high: 0.75, optimum: 0, "aria-label": `${q.name}, part that is full` });
        cell.append(meter, h("span", { class: "muted" }));
      }
      meter.value = part;
      say(cell.lastElementChild, ` ${percent(q.depth, q.bound)}`);
    },
  });
  table($("queues").tBodies[0], s.queues, (q) => q.name, (q) => [q.name, count(q.depth), q.bound ? count(q.bound) : "–", box(q), q.drops === null ? "–" : count(q.drops), q.full], "none");
  const ended = (r) => [meaning(r), `${r.name ? `${r.name}: ` : ""}${r.sentence}`, rate(r.per_s), count(r.total)];
  table($("closes").tBodies[0], s.closes, (r) => r.code, ended, "No connection has ended yet.");
  const kinds = { upgrade: "connection", message: "message", fix: "fix", actor: "actor’s message", http: "HTTP call" };
  const refused = (r) => [kinds[r.kind], meaning(r), r.sentence, rate(r.per_s), count(r.total)];
  table($("refusals").tBodies[0], s.refusals, (r) => `${r.kind} ${r.code}`, refused, "Nothing was refused.");
}

/** Shows a snapshot and the history so far (by columns, oldest first). */
export function show(s, history) {
  say($("instance"), s.node.instance);
  say($("uptime"), `up ${duration(s.node.uptime_s)}`);
  say($("version"), s.node.version);
  for (const { value, note, bad, box, parts } of cardParts) {
    say(parts.value, value(s));
    say(parts.note, note(s));
    box.classList.toggle("bad", Boolean(bad?.(s)));
  }
  for (const c of charts) c.show(history);
  fill(s);
}
