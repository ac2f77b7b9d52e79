// Who sits before this tab: a person and the token that proves it. Tokens come
// in the URL's fragment, which no server sees, or are pasted; they stay in this
// tab's session and leave the address bar at once.
import { config } from "./config.js";

const key = "kith.me";
const placeKey = (user) => `kith.at.${user}`;

/** For so long the page waits for a node that has just been started, ms. */
const patience = 15_000;

/** The people that a node in dev mode offers: [{user, name, token, lat, lng}]. */
export async function personas() {
  if (!config.dev) return [];
  for (const began = performance.now(); ; ) {
    const answer = await fetch("/dev/personas.json", { cache: "no-store" });
    if (answer.ok) return answer.json();
    if (answer.status !== 503 || performance.now() - began > patience) return [];
    await new Promise((wake) => setTimeout(wake, 500)); // they are still being made
  }
}

/** The user that a token is for, or "" if it is no token. The server checks it. */
export function userOf(token) {
  try {
    const body = token.trim().split(".")[1].replace(/-/g, "+").replace(/_/g, "/");
    return JSON.parse(new TextDecoder().decode(Uint8Array.from(atob(body), (c) => c.charCodeAt(0)))).sub ?? "";
  } catch {
    return "";
  }
}

function fromFragment() {
  const said = new URLSearchParams(location.hash.slice(1));
  const token = said.get("token") ?? "";
  const user = said.get("user") ?? userOf(token);
  if (!user) return null;
  history.replaceState(null, "", `${location.pathname}#user=${encodeURIComponent(user)}`);
  const lat = Number.parseFloat(said.get("lat"));
  const lng = Number.parseFloat(said.get("lng"));
  return { user, token, name: said.get("name") ?? "", at: Number.isFinite(lat) && Number.isFinite(lng) ? { lat, lng } : null };
}

function kept() {
  try {
    return JSON.parse(sessionStorage.getItem(key));
  } catch {
    return null;
  }
}

/** Who this tab is: from the fragment, then from before a reload. null = ask. */
export function current(offered) {
  const asked = fromFragment();
  const before = kept();
  const me = asked ?? before;
  if (!me) return null;
  const known = offered.find((p) => p.user === me.user);
  const token = asked?.token || known?.token || (before?.user === me.user ? before.token : "");
  if (!token) return null;
  return remember({ user: me.user, token, name: me.name || known?.name || me.user, at: me.at ?? placeOf(me.user) ?? place(known) });
}

/** Makes this tab that person, also after a reload. */
export function remember(me) {
  sessionStorage.setItem(key, JSON.stringify({ user: me.user, token: me.token, name: me.name }));
  return me;
}

export function forget() {
  sessionStorage.removeItem(key);
  history.replaceState(null, "", location.pathname);
}

/** A persona as this tab's person. */
export const become = (p) => remember({ user: p.user, token: p.token, name: p.name || p.user, at: placeOf(p.user) ?? place(p) });

const place = (p) => (p && Number.isFinite(p.lat) && Number.isFinite(p.lng) ? { lat: p.lat, lng: p.lng } : null);

function placeOf(user) {
  try {
    return place(JSON.parse(sessionStorage.getItem(placeKey(user))));
  } catch {
    return null;
  }
}

/** Keeps where the pin is for a reload of this tab. */
export const keepPlace = (user, at) => sessionStorage.setItem(placeKey(user), JSON.stringify(at));
