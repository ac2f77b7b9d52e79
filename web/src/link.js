// The state of the connection in words.
import { useState } from "preact/hooks";
import { html } from "./html.js";
import { userOf } from "./identity.js";

const closes = {
  1006: "the connection was lost",
  4000: "the node did not understand this page",
  4001: "the token was not accepted",
  4002: "the token has run out",
  4003: "this person was opened somewhere else",
  4004: "the connection was not used in time",
  4005: "too much was sent",
  4100: "the node is being restarted",
  4101: "the connection was too slow",
  4102: "the node heard nothing for too long",
  4103: "the node had a fault",
  4104: "the node is overloaded",
  4200: "this person’s home has moved",
};

/** Why the last connection ended, in words. */
export const closeText = ({ code, reason }) => (code && closes[code]) || (reason && reason.replace(/\.$/, "")) || "the connection was lost";

/** {short, long, tone} for a link. */
export function linkText(link) {
  const why = link.last ? closeText(link.last) : "";
  switch (link.state) {
    case "open":
      return { short: "Live", long: "connected", tone: "good" };
    case "connecting":
      return { short: "Connecting", long: why ? `connecting again: ${why}` : "connecting", tone: "busy" };
    case "waiting": {
      const s = Math.max(0, Math.ceil((link.retryAt - Date.now()) / 1000));
      const offline = navigator.onLine === false;
      return { short: offline ? "Offline" : `Again in ${s} s`, long: `${offline ? "this device is offline" : why || "the node is not reached"}; next try in ${s} s`, tone: "bad" };
    }
    case "closed":
      return { short: "Closed", long: why || "closed", tone: "bad" };
    default:
      return { short: "Starting", long: "starting", tone: "busy" };
  }
}

const marks = { good: "●", busy: "◌", bad: "▲" };

export function Chip({ link }) {
  const { short, long, tone } = linkText(link);
  return html`<span class="chip ${tone}" title=${long} id="link" data-state=${link.state}><span aria-hidden="true">${marks[tone]}</span> ${short}</span>`;
}

/** Says why there is no connection, and what can be done about it. */
export function Banner({ live }) {
  const { link } = live;
  if (link.state === "waiting") return html`<p class="banner">${sentence(linkText(link).long)}.</p>`;
  if (link.state !== "closed") return null;
  const needsToken = link.code === 4001 || link.code === 4002;
  return html`<div class="banner"><p>${sentence(linkText(link).long)}.</p>
    ${needsToken ? html`<${TokenForm} user=${live.me.user} onToken=${(t) => live.reopen(t)} />` : html`<button class="primary" onClick=${() => live.reopen()}>Connect here</button>`}
  </div>`;
}

const sentence = (s) => s.charAt(0).toUpperCase() + s.slice(1);

/** Asks for a token; user = whose it must be, "" = anybody's. */
export function TokenForm({ user, onToken }) {
  const [token, setToken] = useState("");
  const [wrong, setWrong] = useState("");
  const submit = (e) => {
    e.preventDefault();
    const whose = userOf(token);
    if (!whose) return setWrong("This is no token: it has three parts with dots between.");
    if (user && whose !== user) return setWrong(`This token is for ${whose}, not for ${user}.`);
    onToken(token.trim(), whose);
  };
  return html`<form class="field" onSubmit=${submit}>
    <label for="token">Token</label>
    <textarea id="token" required rows="4" spellcheck=${false} autocomplete="off" value=${token} aria-invalid=${wrong !== ""} aria-describedby="token-wrong"
      onInput=${(e) => { setToken(e.currentTarget.value); setWrong(""); }}></textarea>
    <p id="token-wrong" class="wrong" role="alert">${wrong}</p>
    <button class="primary">Connect</button>
  </form>`;
}
