// Who is near, as an observable map.

const PAGE = 100; // entries of a frame that more of the same change may follow
const PAGES_WITHIN = 250; // ms

/** The view: what the last full `friends` said, with all that followed it. */
export class View {
  #items = new Map();
  #clock;
  #watchers = new Set();
  #v = -1;
  #run = null; // a full view of several frames: { before, reasons, timer }

  constructor(clock) {
    this.#clock = clock;
  }

  get size() {
    return this.#items.size;
  }

  get(user) {
    return this.#items.get(user);
  }

  has(user) {
    return this.#items.has(user);
  }

  [Symbol.iterator]() {
    return this.#items[Symbol.iterator]();
  }

  /** Calls fn with each change; returns what ends that. */
  subscribe(fn) {
    const watcher = { fn };
    this.#watchers.add(watcher);
    return () => void this.#watchers.delete(watcher);
  }

  /** A connection begins: its frames count from anew. */
  begin() {
    this.#v = -1;
  }

  /** Takes in a `friends` frame. One that is not newer than the last is ignored. */
  apply({ v, full, near, gone }) {
    if (!(v > this.#v)) return;
    this.#v = v;
    if (full) this.#replace();
    const change = { full: false, entered: [], updated: [], gone: [] };
    for (const one of gone) {
      this.#run?.reasons.set(one.user, one.reason);
      if (this.#items.delete(one.user)) change.gone.push(one);
    }
    for (const item of near) {
      (this.#items.has(item.user) ? change.updated : change.entered).push(item);
      this.#items.set(item.user, item);
    }
    if (this.#run === null) this.#tell(change);
    else if (near.length + gone.length < PAGE) this.#settle();
    else {
      this.#clock.clearTimeout(this.#run.timer);
      this.#run.timer = this.#clock.setTimeout(() => this.#settle(), PAGES_WITHIN);
    }
  }

  /** Empties the view. */
  clear() {
    this.#settle();
    this.#replace();
    this.#settle();
  }

  #replace() {
    this.#run ??= { before: this.#items, reasons: new Map(), timer: undefined };
    this.#items = new Map();
  }

  // A full view comes in pages. Told one by one, everybody on a later page would
  // leave and enter again; so what is told is the difference that all make.
  #settle() {
    if (this.#run === null) return;
    const { before, reasons, timer } = this.#run;
    this.#run = null;
    this.#clock.clearTimeout(timer);
    const change = { full: true, entered: [], updated: [], gone: [] };
    for (const [user, item] of this.#items) (before.has(user) ? change.updated : change.entered).push(item);
    for (const user of before.keys()) {
      if (!this.#items.has(user)) change.gone.push({ user, reason: reasons.get(user) ?? "replaced" });
    }
    this.#tell(change);
  }

  #tell(change) {
    for (const { fn } of [...this.#watchers]) guarded(fn, change);
  }
}

/** Calls a handler; what it throws is reported, and disturbs nobody else. */
export function guarded(fn, value) {
  try {
    fn(value);
  } catch (error) {
    queueMicrotask(() => {
      throw error;
    });
  }
}
