// The rules of docs/PROTOCOL.md that need no connection: what a close code asks
// for, how long to wait, and how fast to send.

/**
 * What a close code asks of a client: "stop", "token" (stop, unless there is a
 * fresh token), "at once" or "backoff".
 */
export function judge(code) {
  if (code === 4002) return "token";
  if (code >= 4000 && code < 4100) return "stop";
  if (code >= 4200 && code < 4300) return "at once";
  // Broken framing, bad UTF-8, a frame too large: the same frames would follow.
  if (code === 1002 || code === 1007 || code === 1009) return "stop";
  return "backoff";
}

const MOST_HINT = 60_000; // ms, of retry_after_ms

/**
 * Decides how long to wait before the next connection: full jitter, that is
 * anything from nothing up to a bound that doubles with each failure in a row.
 */
export class Pauses {
  #times;
  #random;
  #failures = 0;
  #hint = null;

  /** times: backoff, backoffMost and stable in ms; random returns [0, 1). */
  constructor(times, random) {
    this.#times = times;
    this.#random = random;
  }

  /** Takes a server's retry_after_ms for the next pause only. */
  suggest(ms) {
    if (typeof ms !== "number" || Number.isNaN(ms)) return;
    this.#hint = Math.min(Math.max(ms, 0), MOST_HINT);
  }

  /**
   * The pause in ms after a connection that was open for so many ms (0 = never),
   * and whether it was the server that asked for it.
   */
  next(lasted, atOnce = false) {
    const { backoff, backoffMost, stable } = this.#times;
    if (lasted >= stable) this.#failures = 0;
    const failures = this.#failures++;
    const hint = this.#hint;
    this.#hint = null;
    if (hint !== null) return { ms: hint, asked: true };
    // Heard once in a row, or two nodes could send a client to and fro.
    if (atOnce && lasted > 0 && failures === 0) return { ms: 0, asked: true };
    const bound = Math.min(backoff * 2 ** Math.min(failures, 20), backoffMost);
    return { ms: this.#random() * bound, asked: false };
  }
}

/** A token bucket; it starts full. */
export class Bucket {
  #perS;
  #burst;
  #now;
  #level;
  #at;

  constructor(perS, burst, now) {
    this.#perS = perS;
    this.#burst = burst;
    this.#now = now;
    this.#level = burst;
    this.#at = now();
  }

  /** How many ms until n can be taken; 0 = now. n beyond the burst counts as the burst. */
  wait(n) {
    const now = this.#now();
    const passed = Math.max(now - this.#at, 0); // a clock may be set back
    this.#level = Math.min(this.#burst, this.#level + (passed / 1000) * this.#perS);
    this.#at = now;
    const missing = Math.min(n, this.#burst) - this.#level;
    return missing <= 0 ? 0 : Math.ceil((missing / this.#perS) * 1000);
  }

  take(n) {
    this.#level -= n;
  }
}
