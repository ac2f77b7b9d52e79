// Friend requests: those that wait for an answer, and a new one.
import { useState } from "preact/hooks";
import { Avatar } from "./friends.js";
import { html } from "./html.js";
import { Sharing } from "./sharing.js";

export function Requests({ live }) {
  const waiting = [...live.requests].sort();
  return html`
    <h2 class="section">Requests</h2>
    ${!waiting.length && html`<p class="hint">Nobody waits for an answer.</p>`}
    <ul class="rows" aria-label="Friend requests">
      ${waiting.map((user) => html`<li class="row request" key=${user} data-user=${user}>
        <${Avatar} user=${user} /><span class="who"><span class="name">${user}</span><span class="sub">asks to be your friend</span></span>
        <button class="primary" onClick=${() => live.friend("accept", user)}>Accept<span class="hidden"> ${user}</span></button>
        <button class="plain" onClick=${() => live.friend("decline", user)}>Decline<span class="hidden"> ${user}</span></button>
      </li>`)}
    </ul>
    <${Ask} live=${live} />
    <${Others} live=${live} />`;
}

const idPattern = "[A-Za-z0-9._~@\\-]{1,64}";

function Ask({ live }) {
  const [user, setUser] = useState("");
  const submit = async (e) => {
    e.preventDefault();
    if (await live.friend("request", user.trim())) setUser("");
  };
  return html`<form class="field" onSubmit=${submit}>
    <label for="ask-user">Ask somebody by their id</label>
    <div class="inline"><input id="ask-user" required pattern=${idPattern} autocomplete="off" autocapitalize="none" spellcheck=${false} value=${user} onInput=${(e) => setUser(e.currentTarget.value)} />
    <button class="primary">Ask</button></div>
  </form>`;
}

// Shares that were set here with friends who are not in the list beside.
function Others({ live }) {
  const others = Object.keys(live.shares).filter((u) => u && live.shareWith(u).mode !== "exact").sort();
  if (!others.length) return null;
  return html`<h2 class="section">Shared with less</h2>
    ${others.map((user) => html`<div class="card" key=${user}><${Sharing} live=${live} user=${user} /></div>`)}`;
}
