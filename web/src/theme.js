// The colours of the canvases: those of the style sheet, also when the reader's
// scheme changes.
const names = ["sea", "land", "coast", "grid", "grid-major", "grid-text", "ring", "ring-fill", "me", "ink", "halo", "dot-edge"];
const hues = 6;

const read = () => {
  const style = getComputedStyle(document.documentElement);
  const value = (name) => style.getPropertyValue(`--${name}`).trim();
  const t = Object.fromEntries(names.map((n) => [n.replace(/-(\w)/g, (_, c) => c.toUpperCase()), value(n)]));
  t.friend = Array.from({ length: hues }, (_, i) => value(`friend-${i}`));
  t.onFriend = value("on-friend");
  t.font = style.getPropertyValue("--font").trim();
  return t;
};

let now = null;
const listeners = new Set();
for (const query of ["(prefers-color-scheme: dark)", "(prefers-contrast: more)", "(forced-colors: active)"]) {
  matchMedia(query).addEventListener("change", () => {
    now = null;
    for (const fn of listeners) fn();
  });
}

export const theme = () => (now ??= read());
export const onTheme = (fn) => listeners.add(fn);

/** Which of the friends' colours a person has, everywhere on the page. */
export function hue(user) {
  let h = 2166136261;
  for (let i = 0; i < user.length; i++) h = Math.imul(h ^ user.charCodeAt(i), 16777619);
  return ((h ^ (h >>> 15)) >>> 0) % hues;
}

/** One or two letters for a person. */
export function initials(user) {
  const parts = user.split(/[._~@-]+/).filter(Boolean);
  const letters = parts.length > 1 ? [...parts[0]][0] + [...parts[1]][0] : [...(parts[0] ?? user)].slice(0, 2).join("");
  return letters.toUpperCase();
}

const still = matchMedia("(prefers-reduced-motion: reduce)");
export const reducedMotion = () => still.matches;
