// Memory of a device: what it keeps is read, changed and written as one, and is on disk before anything may be sent.
//
// Kept: the highest version of each name, consent, the ledger, reports to send and sent; and apart from them, so that no
// log or export can hold them, keys, prints of permanent answers and secret places. Never kept: values, coins, seeds.

import { must, refuse } from "./errors.js";

const FORMAT = 1;
const STORE = "kept";

/** @typedef {import("./index.js").Kept} Kept */

/** @returns {Kept} */
const nothing = () => ({ format: FORMAT, revision: 0, state: { latest: 0, names: [], versions: [] }, secret: [] });

/** The face of every memory; `read` and `write` are a store's own. @abstract */
export class Memory {
  /** True if the content survives this process. */
  lasts = true;
  /** True if keys are kept that nobody can take out of it. */
  keepsKeys = false;

  /** @returns {Promise<Kept | undefined>} */
  async read() {
    throw TypeError("read");
  }

  /** Write, if nobody else has since the revision was read. @param {Kept} kept @param {number} revision @returns {Promise<boolean>} */
  async write(kept, revision) {
    throw TypeError("write");
  }

  /** Keep others out, as far as a store can. @template T @param {() => Promise<T>} work @returns {Promise<T>} */
  locked(work) {
    return work();
  }

  /**
   * Do some work on what is kept, and keep what it made of it: all or nothing. If another process wrote meanwhile, the work
   * is done again, from what that one wrote.
   * @template T @param {(kept: Kept) => Promise<T>} work @returns {Promise<T>}
   */
  change(work) {
    return this.locked(async () => {
      for (;;) {
        const kept = await this.look();
        const { revision } = kept, before = JSON.stringify(kept), done = await work(kept);
        if (JSON.stringify(kept) === before) return done;
        kept.revision = revision + 1;
        if (await this.#kept(this.write(kept, revision))) return done;
      }
    });
  }

  /** The present content. */
  async look() {
    const kept = (await this.#kept(this.read())) ?? nothing();
    must(kept.format <= FORMAT, "store", "newer version");
    return kept;
  }

  /** Ask that nothing of it be cleared when the disk is full. */
  async persist() {}

  /** @template T @param {Promise<T>} operation @returns {Promise<T>} */
  async #kept(operation) {
    try {
      return await operation;
    } catch (error) {
      // Not its message, which may quote what was to be written.
      refuse("store", error instanceof Error ? error.name : "?");
    }
  }
}

/** A memory that is gone with the page or the process: for tests, and for one answer where nothing can be kept. */
export class RamMemory extends Memory {
  /** @type {Kept | undefined} */
  #held;
  /** @type {Promise<any>} */
  #turn = Promise.resolve();
  lasts = false;

  async read() {
    return structuredClone(this.#held);
  }

  /** @param {Kept} kept */
  async write(kept) {
    this.#held = structuredClone(kept);
    return true;
  }

  /** @template T @param {() => Promise<T>} work @returns {Promise<T>} */
  locked(work) {
    const done = this.#turn.then(work);
    this.#turn = done.catch(() => {});
    return done;
  }
}

/** @template T @param {IDBRequest<T>} request @returns {Promise<T>} */
const finished = (request) =>
  new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });

/** A browser's memory: IndexedDB, written through to the disk, with a lock against other tabs. */
export class BrowserMemory extends Memory {
  #database;
  #name;
  keepsKeys = true;

  /** @param {IDBDatabase} database @param {string} name */
  constructor(database, name) {
    super();
    this.#database = database;
    this.#name = name;
  }

  /** @param {string} [name] of the database @returns {Promise<BrowserMemory>} */
  static async open(name = "discreet") {
    try {
      const request = indexedDB.open(name, FORMAT);
      request.onupgradeneeded = () => request.result.createObjectStore(STORE);
      const database = await finished(request);
      database.onversionchange = () => database.close();
      return new BrowserMemory(database, name);
    } catch {
      refuse("store", "IndexedDB");
    }
  }

  async read() {
    return finished(this.#database.transaction(STORE).objectStore(STORE).get(0));
  }

  /** @param {Kept} kept @param {number} revision @returns {Promise<boolean>} */
  write(kept, revision) {
    return new Promise((resolve, reject) => {
      const transaction = this.#database.transaction(STORE, "readwrite", { durability: "strict" });
      const store = transaction.objectStore(STORE), request = store.get(0);
      let isNewest = false;
      request.onsuccess = () => {
        isNewest = (request.result?.revision ?? 0) === revision;
        if (isNewest) store.put(kept, 0);
      };
      transaction.oncomplete = () => resolve(isNewest);
      transaction.onabort = () => reject(transaction.error);
    });
  }

  /** @template T @param {() => Promise<T>} work @returns {Promise<T>} */
  locked(work) {
    return navigator.locks.request(`discreet ${this.#name}`, work);
  }

  async persist() {
    await navigator.storage?.persist?.().catch(() => {});
  }

  close() {
    this.#database.close();
  }
}
