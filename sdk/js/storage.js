// Where fixes are kept while the server has not acknowledged them.

const VERSION = 1;

function done(request) {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

/**
 * A storage in IndexedDB. Fixes lie under [user, device, seq], so neither another
 * user of this browser nor another device of the user gets them; beside them the
 * last seq of each user and device.
 */
export function indexedDBStorage(name = "kith", indexedDB = globalThis.indexedDB) {
  let opening = null;
  function open() {
    opening ??= new Promise((resolve, reject) => {
      const request = indexedDB.open(name, VERSION);
      request.onupgradeneeded = () => {
        request.result.createObjectStore("fixes").createIndex("owner", "owner");
        request.result.createObjectStore("seqs");
      };
      request.onerror = () => reject(request.error);
      request.onsuccess = () => {
        const db = request.result;
        db.onversionchange = () => db.close();
        resolve(db);
      };
    });
    return opening;
  }
  return {
    async load(user, device) {
      const tx = (await open()).transaction(["fixes", "seqs"]);
      const rows = done(tx.objectStore("fixes").index("owner").getAll([user, device]));
      const seq = done(tx.objectStore("seqs").get([user, device]));
      return { fixes: (await rows).map((row) => row.fix), seq: (await seq) ?? 0 };
    },
    async save(user, device, { put, remove, seq }) {
      const tx = (await open()).transaction(["fixes", "seqs"], "readwrite");
      const over = new Promise((resolve, reject) => {
        tx.oncomplete = () => resolve();
        tx.onabort = () => reject(tx.error ?? new Error("the transaction was aborted"));
      });
      const fixes = tx.objectStore("fixes");
      for (const n of remove) fixes.delete([user, device, n]);
      for (const fix of put) fixes.put({ owner: [user, device], fix }, [user, device, fix.seq]);
      const seqs = tx.objectStore("seqs");
      const last = seqs.get([user, device]);
      // Another tab may have written a higher one.
      last.onsuccess = () => seqs.put(Math.max(seq, last.result ?? 0), [user, device]);
      await over;
    },
  };
}

/**
 * Writes changes to a storage, one write at a time; what changes meanwhile is
 * gathered. A storage that fails is left alone from then on: the fixes are in
 * memory anyway.
 */
export class Journal {
  #storage;
  #most;
  #failed;
  #owner = null;
  #writing = null;
  #put = new Map();
  #remove = new Set();
  #seq = 0;

  /** storage null = keep nothing; most = entries that may wait; failed(error). */
  constructor(storage, most, failed) {
    this.#storage = storage;
    this.#most = most;
    this.#failed = failed;
  }

  /** What the storage has of an owner. */
  async load(user, device) {
    return (await this.#storage?.load(user, device)) ?? { fixes: [], seq: 0 };
  }

  /** Begins to write, also what has changed so far. */
  begin(user, device) {
    this.#owner = [user, device];
    this.#change(() => {});
  }

  put(fix) {
    this.#seq = Math.max(this.#seq, fix.seq);
    this.#change(() => this.#put.set(fix.seq, fix));
  }

  remove(seq) {
    this.#change(() => {
      const unwritten = this.#put.delete(seq) && this.#owner === null;
      if (!unwritten) this.#remove.add(seq);
    });
  }

  /** Resolves once all changes so far are written, or given up. */
  async flushed() {
    while (this.#writing !== null) await this.#writing;
  }

  /** Gives the storage up. */
  fail(error) {
    if (this.#storage === null) return;
    this.#storage = null;
    this.#put.clear();
    this.#remove.clear();
    this.#failed(error);
  }

  #change(apply) {
    if (this.#storage === null) return;
    apply();
    if (this.#put.size + this.#remove.size > this.#most) this.fail(new Error("the storage is too slow"));
    else if (this.#writing === null && this.#owner !== null) this.#writing = Promise.resolve().then(() => this.#write());
  }

  async #write() {
    while (this.#storage !== null && this.#put.size + this.#remove.size > 0) {
      const batch = { put: [...this.#put.values()], remove: [...this.#remove], seq: this.#seq };
      this.#put.clear();
      this.#remove.clear();
      try {
        await this.#storage.save(...this.#owner, batch);
      } catch (error) {
        this.fail(error);
      }
    }
    this.#writing = null;
  }
}
