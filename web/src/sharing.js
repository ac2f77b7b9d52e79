// What one friend may see of me, until when, and the end of a friendship.
import { useState } from "preact/hooks";
import { html } from "./html.js";

const modes = [
  ["exact", "Exact", "where I am"],
  ["area", "Area", "only the square kilometre"],
  ["none", "Nothing", "hidden; you do not see them either"],
];

const ends = [
  [0, "until I change it"],
  [15 * 60_000, "for 15 minutes"],
  [60 * 60_000, "for an hour"],
  [8 * 60 * 60_000, "for 8 hours"],
];

const label = (mode) => modes.find(([m]) => m === mode)[1].toLowerCase();
const clock = (ms) => new Date(ms).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });

export function Sharing({ live, user }) {
  const { mode, until, then } = live.shareWith(user);
  const [span, setSpan] = useState(0);
  const [sure, setSure] = useState(false);
  const share = (m, ms) => live.share(user, m, ms ? live.now() + ms : 0);
  const name = `share-${user}`;
  return html`
    <fieldset class="sharing">
      <legend>${user} sees</legend>
      <div class="segments">
        ${modes.map(([m, label, what]) => html`<label key=${m} class="segment" title=${what}>
          <input type="radio" name=${name} value=${m} checked=${mode === m} onChange=${() => share(m, span)} /><span>${label}</span></label>`)}
      </div>
      <label class="until">
        <span class="hidden">How long</span>
        <select value=${span} onChange=${(e) => {
          const ms = Number(e.currentTarget.value);
          setSpan(ms);
          share(mode, ms);
        }}>${ends.map(([ms, label]) => html`<option key=${ms} value=${ms}>${label}</option>`)}</select>
      </label>
      <p class="sub">${until > 0 ? `Until ${clock(until - live.clockAhead)}, then ${label(then)}.` : "As last set in this browser."}</p>
    </fieldset>
    <div class="buttons">
      ${!sure && html`<button class="plain" onClick=${() => setSure(true)}>End friendship …</button>`}
      ${sure && html`
        <button class="danger" onClick=${() => live.friend("remove", user)}>Remove</button>
        <button class="danger" onClick=${() => live.friend("block", user)}>Block</button>
        <button class="plain" onClick=${() => setSure(false)}>Keep</button>`}
    </div>`;
}
