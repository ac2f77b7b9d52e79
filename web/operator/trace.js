// One user, live: reads the server-sent events of GET /v1/users/{user}/trace.
import { $, h, say, keep, table } from "./dom.js";
import { age, bytes, clock, count } from "./format.js";

let watching = null; // the AbortController of the request

$("trace-form").addEventListener("submit", (e) => {
  e.preventDefault();
  $("trace-user").select(); // for the next one
  watch($("trace-user").value.trim());
});
$("trace-user").addEventListener("focus", (e) => e.target.select());
$("trace-stop").addEventListener("click", () => stop("Stopped; nothing is noted any more."));

function stop(why) {
  watching?.abort();
  watching = null;
  $("trace-stop").hidden = true;
  say($("trace-say"), why);
}

async function watch(user) {
  stop(`Asking for ${user}…`);
  $("trace-body").hidden = true;
  const mine = (watching = new AbortController());
  $("trace-stop").hidden = false;
  try {
    const answer = await fetch(`/v1/users/${encodeURIComponent(user)}/trace`, { headers: { Accept: "text/event-stream" }, signal: mine.signal });
    if (!answer.ok) throw new Error(answer.status === 404 ? `There is no user ${user}` : (await answer.json()).detail);
    for await (const event of events(answer.body)) {
      if (event.name === "end") throw new Error(event.data.detail);
      show(event.data);
    }
    throw new Error("The node ended it");
  } catch (e) {
    if (mine.signal.aborted) return;
    stop(`${e.message.replace(/\.$/, "")}.`);
  }
}

/** The events of a stream (WHATWG HTML, 9.2), each of one line of JSON. */
async function* events(body) {
  let rest = "";
  for await (const part of text(body.pipeThrough(new TextDecoderStream()))) {
    const blocks = (rest + part).split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) {
      const field = Object.fromEntries(block.split("\n").map((line) => line.split(/: (.*)/s)));
      if (field.data) yield { name: field.event, data: JSON.parse(field.data) };
    }
  }
}

async function* text(stream) {
  const reader = stream.getReader();
  try {
    for (let r = await reader.read(); !r.done; r = await reader.read()) yield r.value;
  } finally {
    reader.releaseLock();
  }
}

const part = (title, columns) => {
  const id = `trace-${title.split(" ")[0].toLowerCase()}`;
  const body = h("tbody");
  const heads = columns.map(([name, kind]) => h("th", { scope: "col", class: kind }, name));
  const box = h("div", {}, h("h3", { id }, title), h("div", { class: "scroll", role: "group", tabindex: 0, "aria-labelledby": id }, h("table", {}, h("thead", {}, h("tr", {}, heads)), body)));
  return { box, body, title: box.firstChild };
};

const facts = h("dl", { class: "facts" });
const connections = part("Connections", [["device"], ["since"], ["last heard"], ["in", "n"], ["out", "n"], ["bytes out", "n"], ["waiting", "n"], ["ping"]]);
const devices = part("Devices", [["device"], ["newest fix"], ["connected"]]);
const friends = part("Friends online", [["friend"], ["stands"], ["distance"], ["shares with them"], ["last report"]]);
const messages = part("Messages", [["time"], ["way"], ["type"], ["note"], ["connection", "n"]]);
friends.box.classList.add("tall");
messages.box.classList.add("tall");
$("trace-body").append(facts, h("div", { class: "pair" }, h("div", {}, connections.box, devices.box), h("div", {}, friends.box)), messages.box);

function show(t) {
  say($("trace-say"), `Watching ${t.user}: looked at ${clock(t.at)}.`);
  $("trace-body").hidden = false;
  const stand = {};
  for (const f of t.friends.list) stand[f.standing] = (stand[f.standing] ?? 0) + 1;
  const rows = [
    ["State", t.state],
    ["Last report", age(t.heard, t.at)],
    ["Session", t.session ? `${t.session}, began ${age(t.session / 1000, t.at)}` : "none"],
    ["Radius", t.session ? `${count(t.radius_m)} m` : "–"],
    ["Friends", `${count(t.friends.online)} online, ${count(t.friends.offline)} offline`],
    ["Of those online", Object.entries(stand).map(([word, n]) => `${n} ${word}`).join(", ") || "–"],
  ];
  keep(facts, rows, (r) => r[0], (r) => h("div", {}, h("dt", {}, r[0]), h("dd")), (e, r) => say(e.lastChild, r[1]));
  table(
    connections.body,
    t.connections,
    (c) => String(c.conn),
    (c) => [c.device, age(c.since, t.at), age(c.heard, t.at), count(c.frames_in), count(c.frames_out), bytes(c.bytes_out), count(c.queue), c.closing ? "closing" : c.pinged ? "waits for pong" : "–"],
    "Not connected to this node.",
  );
  table(devices.body, t.devices, (d) => d.device, (d) => [d.device, age(d.last_fix, t.at), d.conn ? `yes (${d.conn})` : "no"], "None is known.");
  table(
    friends.body,
    t.friends.list,
    (f) => f.user,
    (f) => [f.user, f.standing, f.distance || "–", f.share, f.heard ? age(f.heard, t.at) : "–"],
    t.friends.unnamed ? "The database is away, so they cannot be named." : "No friend is online.",
  );
  const listed = t.friends.list.length;
  say(friends.title, listed < t.friends.online ? `Friends online: ${count(listed)} of ${count(t.friends.online)}` : "Friends online");
  table(
    messages.body,
    t.messages,
    (m) => String(m.n),
    (m) => [clock(m.at), m.in ? "→ in" : "← out", m.type, m.note || "–", String(m.conn)],
    "None since you began to watch.",
  );
}
