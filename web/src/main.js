// The page: who am I, then the map and the panel beside it.
import { render } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Avatar, Nearby } from "./friends.js";
import { html, paced } from "./html.js";
import { become, current, forget, personas, remember } from "./identity.js";
import { Banner, Chip, TokenForm } from "./link.js";
import { Live } from "./live.js";
import { KithMap } from "./map.js";
import { Another, Me } from "./me.js";
import { Pin } from "./pin.js";
import { Requests } from "./requests.js";
import { Said } from "./said.js";
import "./style.css"; // after Leaflet's, which it changes

/** The panel is drawn at most this often, and once a second for the ages. */
const drawMs = 120;
/** The same where more people move than anybody can read. */
const crowdMs = 700;
const crowd = 100;

const root = document.getElementById("app");

function Who({ offered, onBecome }) {
  const form = html`
    <p class="hint">Paste the token that says who you are. Whoever runs this node gives it to you, for example with <code>kith token</code>.</p>
    <${TokenForm} user="" onToken=${(token, user) => onBecome(remember({ user, token, name: user, at: null }))} />`;
  return html`<main class="who-page"><div class="who-card">
    <${Brand} />
    <h1>Who are you?</h1>
    ${offered.length > 0 && html`
      <p>This node is for trying. Be one of these people; open another in a second tab and watch the two meet.</p>
      <ul class="personas">${offered.map((p) => html`<li key=${p.user}><button onClick=${() => onBecome(become(p))}><${Avatar} user=${p.user} /><span>${p.name || p.user}</span></button></li>`)}</ul>`}
    ${offered.length ? html`<details><summary>Use a token</summary>${form}</details>` : form}
  </div></main>`;
}

const Brand = () => html`<span class="brand"><svg viewBox="0 0 32 32" aria-hidden="true"><circle cx="16" cy="16" r="14" class="brand-ring" /><circle cx="16" cy="16" r="5.5" class="brand-me" /><circle cx="24" cy="10" r="3.5" class="brand-friend" /></svg>Kith</span>`;

const tabs = [["near", "Nearby"], ["friends", "Friends"], ["me", "Me"]];

function Page({ town, offered, onSwitch }) {
  const { live, pin, said } = town;
  const [, redraw] = useState(0);
  const [tab, setTab] = useState("near");
  const [selected, setSelected] = useState("");
  const [tall, setTall] = useState(false);
  const element = useRef(null);
  const map = useRef(null);

  const select = (user) => {
    setSelected(user);
    map.current?.select(user);
    const item = user && live.near.get(user);
    if (item) {
      setTab("near");
      map.current.show(item);
    }
  };
  useEffect(() => {
    map.current = new KithMap(element.current, live, pin, select);
    const draw = paced(() => redraw((n) => n + 1), () => (live.near.size > crowd ? crowdMs : drawMs));
    said.changed = draw;
    const offs = [live.on("change", draw), pin.on(draw)];
    const ages = setInterval(() => document.hidden || draw(), 1000);
    draw();
    return () => {
      clearInterval(ages);
      for (const off of offs) off();
      map.current.shut();
    };
  }, [town]);

  const ghost = live.shareWith("").mode === "none";
  return html`
    <a class="skip" href="#panel">Skip to the list</a>
    <main class="page ${tall ? "tall" : ""}">
      <div class="map-holder">
        <div class="map" id="map" ref=${element} role="region" aria-label="Map of the friends near you"></div>
        <div class="notices"><${Banner} live=${live} /><${Toasts} said=${said} /></div>
      </div>
      <section class="panel" id="panel" aria-label="Friends and settings" tabindex="-1">
        <button class="handle" aria-expanded=${tall} onClick=${() => setTall(!tall)}><span class="hidden">${tall ? "Show more of the map" : "Show more of the list"}</span></button>
        <header class="head">
          <${Brand} />
          <${Chip} link=${live.link} />
        </header>
        <div class="self">
          <${Avatar} user=${live.me.user} />
          <span class="who"><h1 class="name">${live.me.name}</h1><span class="sub">${ghost ? "hidden from everyone" : pin.following ? "following this device" : live.pending > 0 && live.link.state !== "open" ? waiting(live.pending) : "visible to friends"}</span></span>
          <label class="switch"><input type="checkbox" role="switch" id="ghost" checked=${ghost} onChange=${(e) => live.share("", e.currentTarget.checked ? "none" : "exact")} /><span class="track" aria-hidden="true"></span>Ghost</label>
        </div>
        <${Tabs} tab=${tab} onTab=${setTab} counts=${{ near: live.near.size, friends: live.requests.size }} />
        <div class="body" role="tabpanel" id="tab-panel" aria-labelledby=${`tab-${tab}`} tabindex="0">
          ${tab === "near" && html`<${Nearby} live=${live} pin=${pin} selected=${selected} onSelect=${select} />`}
          ${tab === "friends" && html`<${Requests} live=${live} />`}
          ${tab === "me" && html`<${Me} live=${live} pin=${pin} map=${() => map.current} offered=${offered} licences=${root.dataset.licences} onSwitch=${onSwitch} />`}
        </div>
        <footer class="foot"><${Another} live=${live} offered=${offered} /></footer>
      </section>
    </main>
    <div class="hidden" id="said" role="status" aria-live="polite">${said.sentence}</div>`;
}

const waiting = (n) => (n === 1 ? "1 fix waits for the connection" : `${n} fixes wait for the connection`);

function Tabs({ tab, onTab, counts }) {
  const onKey = (e) => {
    const by = { ArrowRight: 1, ArrowLeft: tabs.length - 1 }[e.key];
    if (!by) return;
    e.preventDefault();
    const next = tabs[(tabs.findIndex(([id]) => id === tab) + by) % tabs.length][0];
    onTab(next);
    document.getElementById(`tab-${next}`).focus();
  };
  return html`<div class="tabs" role="tablist" aria-label="What is shown" onKeyDown=${onKey}>
    ${tabs.map(([id, label]) => html`<button key=${id} id=${`tab-${id}`} role="tab" aria-selected=${tab === id} aria-controls="tab-panel" tabindex=${tab === id ? 0 : -1} onClick=${() => onTab(id)}>
      ${label}${counts[id] > 0 && html` <span class="count">${counts[id]}</span>`}</button>`)}
  </div>`;
}

function Toasts({ said }) {
  return html`<ul class="toasts" aria-hidden="true">
    ${said.toasts.map((t) => html`<li key=${t.id} class="toast ${t.kind}" data-user=${t.user} onClick=${() => said.dismiss(t.id)}>
      ${t.user && html`<${Avatar} user=${t.user} small idle=${t.kind === "out"} />`}<span>${t.text}</span></li>`)}
  </ul>`;
}

function settle(me) {
  const live = new Live(me);
  const pin = new Pin(live);
  const town = { live, pin };
  town.said = new Said(live, () => {});
  return town;
}

function App({ offered, first }) {
  const [town, setTown] = useState(() => first && settle(first));
  useEffect(() => {
    document.title = town ? `${town.live.me.name} · Kith` : "Kith";
  }, [town]);
  const leave = () => {
    town.pin.shut();
    town.live.shut();
    forget();
    setTown(null);
  };
  if (!town) return html`<${Who} offered=${offered} onBecome=${(me) => setTown(settle(me))} />`;
  return html`<${Page} key=${town.live.me.user} town=${town} offered=${offered} onSwitch=${leave} />`;
}

const offered = await personas().catch(() => []);
render(html`<${App} offered=${offered} first=${current(offered)} />`, root);

// Another person in the same tab: the address was changed by hand.
addEventListener("hashchange", () => {
  if (/(^#|&)token=/.test(location.hash)) location.reload();
});
