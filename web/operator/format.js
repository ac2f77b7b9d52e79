// How figures are written.

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const tenths = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });
const hundredths = new Intl.NumberFormat("en", { maximumFractionDigits: 2 });

export const count = (n) => whole.format(n);

/** A rate: more digits when it is small. */
export const rate = (x) => (x >= 100 ? whole : x >= 10 ? tenths : hundredths).format(x);

/** Seconds as a latency; null = nothing was measured. */
export function latency(s) {
  if (s === null || s === undefined) return "–";
  if (s >= 30) return "over 30 s";
  if (s >= 1) return `${hundredths.format(s)} s`;
  return `${(s >= 0.1 ? whole : s >= 0.01 ? tenths : hundredths).format(s * 1000)} ms`;
}

export function bytes(n) {
  if (!n) return "–";
  for (const [unit, size] of [["GiB", 2 ** 30], ["MiB", 2 ** 20], ["KiB", 2 ** 10]]) {
    if (n >= size) return `${(n >= 100 * size ? whole : tenths).format(n / size)} ${unit}`;
  }
  return `${n} B`;
}

export function duration(s) {
  const d = Math.floor(s / 86400);
  const hours = Math.floor((s % 86400) / 3600);
  const m = Math.floor((s % 3600) / 60);
  if (d) return `${d} d ${hours} h`;
  if (hours) return `${hours} h ${m} min`;
  if (m) return `${m} min ${Math.floor(s % 60)} s`;
  return `${Math.floor(s)} s`;
}

/** How long before now a time was; 0 = never. Times are of the node's clock. */
export function age(at, now) {
  if (!at) return "never";
  const s = Math.max(0, (now - at) / 1000);
  return s < 1 ? "now" : `${duration(s)} ago`;
}

const clockTime = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const minuteTime = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
export const clock = (at) => clockTime.format(at);
export const minute = (at) => minuteTime.format(at);
