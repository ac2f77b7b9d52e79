// The fixes that the server has not acknowledged.

const NUMBERS = ["lat", "lng", "acc", "alt", "speed", "heading", "battery"];
const MOST_IN_FRAME = 1000;
const ENVELOPE = 64; // bytes around the fixes of a frame

/** A fix as it is sent. JSON has no NaN, so what is not a finite number throws. */
function fixOf(given, seq, now) {
  const fix = { seq };
  for (const name of NUMBERS) {
    const value = given[name];
    if (value === undefined || value === null) continue; // as the Geolocation API says "not known"
    if (!Number.isFinite(value)) throw new TypeError(`${name} must be a finite number`);
    fix[name] = value;
  }
  if (fix.lat === undefined || fix.lng === undefined) throw new TypeError("lat and lng are needed");
  const ts = given.ts ?? now;
  if (!Number.isFinite(ts)) throw new TypeError("ts must be unix milliseconds");
  fix.ts = Math.trunc(ts);
  if (given.mock) fix.mock = true;
  return fix;
}

const wellFormed = (fix) => [fix?.seq, fix?.ts, fix?.lat, fix?.lng].every(Number.isFinite);

/**
 * Keeps fixes in rising seq until they are acknowledged or refused, or until
 * more than `most` wait: then the oldest is dropped and counted.
 */
export class Buffer {
  #most;
  #journal;
  #fixes = []; // rising seq
  #sent = 0; // how many of them, from the first, went out on this connection
  #tried = 0; // up to this seq they may have gone out on an earlier connection
  #later = []; // refused for the moment
  #seq = 0;
  #newest = null; // of those acknowledged
  #reminder = null; // #newest, while it is on its way once more
  dropped = 0;

  constructor(most, journal) {
    this.#most = most;
    this.#journal = journal;
  }

  get size() {
    return this.#fixes.length + this.#later.length;
  }

  get unsent() {
    return this.#fixes.length > this.#sent;
  }

  get repeats() {
    return this.#later.length > 0;
  }

  /** Takes one fix and returns it as it will be sent; now in unix ms. */
  add(given, now) {
    const fix = fixOf(given, this.#nextSeq(now), now);
    this.#seq = fix.seq;
    if (this.size >= this.#most) this.#dropOldest();
    this.#fixes.push(fix);
    this.#journal.put(fix);
    return fix;
  }

  /**
   * Takes in what an earlier run left, before all that was added since. seq is
   * the last that any run used; if the clock was set back in between, what was
   * added since is numbered anew above it.
   */
  restore({ fixes, seq }) {
    const old = fixes.filter(wellFormed).sort((a, b) => a.seq - b.seq);
    const last = Math.max(Number.isSafeInteger(seq) ? seq : 0, old.at(-1)?.seq ?? 0);
    const added = this.#fixes;
    if (added.length > 0 && added[0].seq <= last) {
      for (const fix of added) this.#journal.remove(fix.seq);
      this.#seq = Math.max(this.#seq, last);
      this.#fixes = added.map((fix) => ({ ...fix, seq: ++this.#seq }));
      for (const fix of this.#fixes) this.#journal.put(fix);
    }
    this.#fixes = old.concat(this.#fixes);
    this.#tried = last;
    this.#seq = Math.max(this.#seq, last);
    while (this.size > this.#most) this.#dropOldest();
  }

  /** Forgets all up to seq that went out, and returns whether there were any. */
  acked(seq) {
    let n = 0;
    while (n < this.#sent && this.#fixes[n].seq <= seq) n++;
    for (const fix of this.#fixes.splice(0, n)) {
      this.#journal.remove(fix.seq);
      this.#newest = fix;
    }
    this.#sent -= n;
    return n > 0;
  }

  /**
   * Forgets the one fix, or, if it was refused for the moment, keeps it for
   * repeat(). False: it may be in history already, from an earlier connection, so
   * it must keep its seq; that takes a new connection, where all go out in order.
   */
  refused(seq, temporary) {
    const i = this.#fixes.findIndex((fix) => fix.seq === seq);
    if (i < 0) return true;
    if (temporary && seq <= this.#tried && this.#fixes[i] !== this.#reminder) return false;
    const [fix] = this.#fixes.splice(i, 1);
    if (i < this.#sent) this.#sent--;
    if (temporary && fix !== this.#reminder) this.#later.push(fix);
    else this.#journal.remove(seq);
    return true;
  }

  /**
   * Queues what was refused for the moment. It gets a new seq: the ack of a later
   * fix covers the old one, so a lost answer would look like success.
   */
  repeat(now) {
    for (const fix of this.#later.splice(0)) {
      const again = { ...fix, seq: (this.#seq = this.#nextSeq(now)) };
      this.#journal.remove(fix.seq);
      this.#journal.put(again);
      this.#fixes.push(again);
    }
  }

  /** Makes all unsent: the connection is a new one. */
  rewind() {
    if (this.#sent > 0) this.#tried = Math.max(this.#tried, this.#fixes[this.#sent - 1].seq);
    this.#sent = 0;
  }

  /** The next frame of at most maxBytes, with how many fixes it has; sent(n) takes them. */
  frame(maxBytes) {
    const parts = [];
    let size = ENVELOPE;
    for (let i = this.#sent; i < this.#fixes.length && parts.length < MOST_IN_FRAME; i++) {
      const part = JSON.stringify(this.#fixes[i]); // ASCII: as many bytes as characters
      if (parts.length > 0 && size + part.length + 1 > maxBytes) break;
      parts.push(part);
      size += part.length + 1;
    }
    const text = parts.length === 1 ? `{"type":"fix",${parts[0].slice(1)}` : `{"type":"fixes","fixes":[${parts}]}`;
    return { text, n: parts.length };
  }

  sent(n) {
    this.#sent += n;
  }

  /**
   * If nothing waits, queues the newest acknowledged fix once more, unless it is
   * from before `since` (unix ms): a server that has started anew knows no
   * position. History has it under the same seq and ts and takes no second one.
   */
  remind(since) {
    if (this.size > 0 || this.#newest === null || this.#newest.ts < since) return;
    this.#reminder = this.#newest;
    this.#fixes.push(this.#newest);
  }

  // Milliseconds since 1970 rise over restarts even where nothing is stored.
  #nextSeq(now) {
    return Math.max(this.#seq + 1, Math.trunc(now));
  }

  #dropOldest() {
    const from = this.#later.length > 0 ? this.#later : this.#fixes;
    const oldest = from.shift();
    if (from === this.#fixes && this.#sent > 0) this.#sent--;
    this.#journal.remove(oldest.seq);
    if (oldest !== this.#reminder) this.dropped++;
  }
}
