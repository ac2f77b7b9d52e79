// The operator's page: asks the node for its figures once a second and shows
// them. Nothing is asked while nobody looks.
import { $, say } from "./dom.js";
import { show } from "./figures.js";
import { draining } from "./drain.js";
import { age } from "./format.js";
import "./trace.js";

const every = 1000;
const kept = 15 * 60_000;

let history = null; // by columns, as GET /v1/stats has it
let instance = "";
let heard = 0; // when the node last answered, by this clock

/** Adds what is new to the history and drops what is too old. */
function remember(s) {
  if (!history || instance !== s.node.instance) {
    history = s.series;
    instance = s.node.instance;
    return;
  }
  const old = history.at.findIndex((at) => at > s.at - kept);
  for (const [name, column] of Object.entries(s.series)) {
    if (Array.isArray(column)) history[name] = history[name].slice(Math.max(0, old)).concat(column);
  }
}

/** The history, with the moment that is now at its end. */
function untilNow(s) {
  const last = {
    at: s.at, connections: s.live.connections, users: s.live.users,
    fixes_per_s: s.live.fixes_per_s, owed_per_s: s.live.owed_per_s, avoided_per_s: s.live.avoided_per_s,
    ack_p50_s: s.live.ack_p50_s, ack_p99_s: s.live.ack_p99_s, push_p50_s: s.live.push_p50_s, push_p99_s: s.live.push_p99_s,
  };
  const all = { end: s.at };
  const more = !history.at.length || history.at.at(-1) < s.at;
  for (const [name, value] of Object.entries(last)) all[name] = more ? [...history[name], value] : history[name];
  return all;
}

const signs = { serving: "●", starting: "○", draining: "◐" };

function state(word, good) {
  const chip = $("state");
  chip.className = good ? "chip good" : "chip bad";
  say(chip.firstElementChild, signs[word] ?? "!");
  say(chip.lastElementChild, word.replace("_", " "));
}

function banner(text) {
  const e = $("banner");
  say(e, text);
  e.hidden = !text;
}

async function look() {
  const since = history?.at.at(-1) ?? 0;
  const answer = await fetch(`/v1/stats${since ? `?since=${since}` : ""}`, { signal: AbortSignal.timeout(5000) });
  if (!answer.ok) throw new Error((await answer.json()).detail);
  const s = await answer.json();
  heard = Date.now();
  banner("");
  state(s.node.state, s.node.state === "serving");
  remember(s);
  show(s, untilNow(s));
  draining(s);
}

async function run() {
  if (!document.hidden) {
    try {
      await look();
    } catch {
      state("no answer", false);
      if (!draining(null)) banner(`The node does not answer${heard ? `; it last did ${age(heard, Date.now())}` : ""}. This page goes on asking.`);
    }
  }
  setTimeout(run, every);
}

document.addEventListener("visibilitychange", () => {
  if (!document.hidden && heard) look().catch(() => {});
});
run();
