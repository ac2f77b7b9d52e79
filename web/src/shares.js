// How a share with an end goes on, by the server's rule (presence.Share): what
// comes after the end never shows more than was meant. `exact` and `area` end in
// `none`; a time of `none` ends in what was to last before it.

export const everything = { mode: "exact", until: 0, then: "exact" };

const lasting = (s) => (s.until ? s.then : s.mode);

/** The share that replaces before; until in the server's unix ms, 0 = no end. */
export function nextShare(mode, until, before) {
  return { mode, until, then: until && mode === "none" ? lasting(before) : until ? "none" : mode };
}

/** What is in force at now. */
export const shareAt = (s, now) => (s.until && now >= s.until ? { mode: s.then, until: 0, then: s.then } : s);
