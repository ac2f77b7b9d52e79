// The tab about me: my pin, the radius, other people in other tabs, and the
// connection.
import { useState } from "preact/hooks";
import { duration, metres } from "./geo.js";
import { html } from "./html.js";
import { closeText, linkText } from "./link.js";

const least = 500;
const most = 50_000;
const steps = 60;
// The slider is logarithmic; what it stands for is rounded to two digits.
const toStep = (m) => Math.round((Math.log(m / least) / Math.log(most / least)) * steps);
const toMetres = (step) => Number((least * (most / least) ** (step / steps)).toPrecision(2));

export function Me({ live, pin, map, offered, licences, onSwitch }) {
  return html`
    <h2 class="section">My place</h2>
    <div class="buttons">
      <${Follow} pin=${pin} live=${live} />
      <button onClick=${() => map().bringPin()}>Put my pin in the middle of the map</button>
      ${pin.at && html`<button onClick=${() => map().frame()}>Show my whole ring</button>`}
    </div>
    <p class="hint">Drag the pin, or focus it and use the arrow keys; with Shift it goes farther.</p>
    <${Radius} live=${live} />
    <h2 class="section">Other people</h2>
    <div class="buttons">
      <span class="on-phone"><${Another} live=${live} offered=${offered} /></span>
      <button onClick=${onSwitch}>Be someone else here</button>
    </div>
    <${Connection} live=${live} />
    <p class="hint"><a href=${licences}>Licences of what this page is made with</a></p>`;
}

function Follow({ pin, live }) {
  const toggle = async () => {
    if (pin.following) return pin.unfollow();
    const wrong = await pin.follow();
    if (wrong) live.emit("say", wrong);
  };
  return html`<button aria-pressed=${pin.following} onClick=${toggle}>${pin.following ? "Stop following this device" : "Follow this device’s location"}</button>`;
}

function Radius({ live }) {
  const [dragged, setDragged] = useState(null);
  const metresNow = dragged ?? live.radius;
  if (!metresNow) return null;
  return html`<div class="field">
    <label for="radius">Show friends within <b>${metres(metresNow)}</b></label>
    <input id="radius" type="range" min="0" max=${steps} value=${toStep(metresNow)} aria-valuetext=${metres(metresNow)}
      onInput=${(e) => setDragged(toMetres(Number(e.currentTarget.value)))}
      onChange=${(e) => {
        setDragged(null);
        live.setRadius(toMetres(Number(e.currentTarget.value)));
      }} />
  </div>`;
}

/** A link that opens another person in a new tab: the next persona, or the question who. */
export function Another({ live, offered }) {
  const i = offered.findIndex((p) => p.user === live.me.user);
  const next = offered.length > 1 ? offered[(i + 1) % offered.length] : null;
  const href = next ? `/#user=${encodeURIComponent(next.user)}` : "/";
  return html`<a class="button" href=${href} target="_blank" rel="noopener">Open ${next ? next.name || next.user : "another person"} in a new tab <span aria-hidden="true">↗</span></a>`;
}

function Connection({ live }) {
  const { link, node, pending } = live;
  const rows = [
    ["State", linkText(link).long],
    ["Not acknowledged", pending === 0 ? "nothing" : `${pending} ${pending === 1 ? "fix" : "fixes"}`],
    node && ["Node", node],
    live.settings && ["A fix every", duration(live.settings.fix_s * 1000)],
    link.last && ["Last close", `${closeText(link.last)} (${link.last.code})`],
  ].filter(Boolean);
  return html`<h2 class="section">Connection</h2>
    <dl class="facts column">${rows.map(([k, v]) => html`<div key=${k}><dt>${k}</dt><dd>${v}</dd></div>`)}</dl>`;
}
