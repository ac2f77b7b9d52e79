// The list beside the map: friends near, by distance, then those who went.
import { useState } from "preact/hooks";
import { ago, metres, wind } from "./geo.js";
import { html } from "./html.js";
import { reasonOf } from "./said.js";
import { Sharing } from "./sharing.js";
import { hue, initials } from "./theme.js";

/** Rows shown at once; there is a button for more. */
const page = 50;

export function Avatar({ user, idle, small }) {
  return html`<span class="avatar hue-${hue(user)} ${idle ? "idle" : ""} ${small ? "small" : ""}" aria-hidden="true">${initials(user)}</span>`;
}

export function Nearby({ live, pin, selected, onSelect }) {
  const [most, setMost] = useState(page);
  const near = [...live.near].map(([, item]) => item).sort((a, b) => a.distance_m - b.distance_m || (a.user < b.user ? -1 : 1));
  const shown = near.slice(0, most);
  const chosen = near.find((item) => item.user === selected);
  if (chosen && !shown.includes(chosen)) shown.push(chosen);
  const gone = [...live.gone.values()].reverse().slice(0, 8);
  return html`
    ${!pin.at && html`<p class="hint">Click the map to say where you are, or use the <em>Me</em> tab.</p>`}
    ${pin.at && !near.length && html`<p class="hint">No friend within ${metres(live.radius || 0)}. Those who come near appear here by themselves.</p>`}
    <ul class="rows" aria-label="Friends near you">
      ${shown.map((item) => html`<${Row} key=${item.user} live=${live} item=${item} open=${item.user === selected} onSelect=${onSelect} />`)}
    </ul>
    ${near.length > shown.length && html`<button class="plain wide" onClick=${() => setMost(most + page)}>Show more of ${near.length}</button>`}
    ${gone.length > 0 && html`
      <h2 class="section">Gone</h2>
      <ul class="rows gone" aria-label="Friends who went">
        ${gone.map((g) => html`<${GoneRow} key=${g.user} live=${live} gone=${g} open=${g.user === selected} onSelect=${onSelect} />`)}
      </ul>`}`;
}

function Row({ live, item, open, onSelect }) {
  const idle = item.state === "idle";
  return html`<li class="row ${open ? "open" : ""} ${live.isFresh(item.user) ? "fresh" : ""}" data-user=${item.user}>
    <button class="row-head" aria-expanded=${open} onClick=${() => onSelect(open ? "" : item.user)}>
      <${Avatar} user=${item.user} idle=${idle} />
      <span class="who"><span class="name">${item.user}</span>
        <span class="sub"><${State} idle=${idle} /> · ${ago(live.now() - item.ts)}${item.precision === "area" ? " · area only" : ""}</span></span>
      <span class="far"><b>${metres(item.distance_m)}</b>
        <span class="sub"><${Arrow} bearing=${item.bearing_deg} /> ${wind(item.bearing_deg)}</span></span>
    </button>
    ${open && html`<div class="row-body"><${Facts} item=${item} /><${Sharing} live=${live} user=${item.user} /></div>`}
  </li>`;
}

const State = ({ idle }) => html`<span class="state ${idle ? "idle" : "live"}">${idle ? "idle" : "live"}</span>`;

function Arrow({ bearing }) {
  return html`<svg class="arrow" viewBox="0 0 12 12" aria-hidden="true"><path transform="rotate(${Math.round(bearing)} 6 6)" d="M6 1l4 9.5L6 8.2 2 10.5z" /></svg>`;
}

function Facts({ item }) {
  const facts = [
    ["Accuracy", item.precision === "area" ? "a square kilometre" : item.acc ? `± ${metres(item.acc)}` : "not told"],
    Number.isFinite(item.speed) && ["Speed", `${Math.round(item.speed * 3.6)} km/h`],
    Number.isFinite(item.heading) && ["Moving", wind(item.heading)],
    Number.isFinite(item.battery) && ["Battery", `${Math.round(item.battery * 100)} %`],
  ].filter(Boolean);
  return html`<dl class="facts">${facts.map(([k, v]) => html`<div key=${k}><dt>${k}</dt><dd>${v}</dd></div>`)}</dl>`;
}

function GoneRow({ live, gone, open, onSelect }) {
  const friends = gone.reason !== "unfriended";
  return html`<li class="row ${open ? "open" : ""}" data-user=${gone.user} data-reason=${gone.reason}>
    <button class="row-head" aria-expanded=${open && friends} disabled=${!friends} onClick=${() => onSelect(open ? "" : gone.user)}>
      <${Avatar} user=${gone.user} idle small />
      <span class="who"><span class="name">${gone.user}</span><span class="sub">${reasonOf(gone.reason)} · ${ago(Date.now() - gone.at)}</span></span>
    </button>
    ${open && friends && html`<div class="row-body"><${Sharing} live=${live} user=${gone.user} /></div>`}
  </li>`;
}
