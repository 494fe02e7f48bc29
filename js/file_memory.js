// Memory of a device in Node: a folder for its owner alone, with one file that is replaced as a whole.
//
// Every change makes a file of the next number, and making one that exists fails: so of two processes one goes first, and
// the other does its work again. Files of lower numbers are overwritten and emptied; the last ones keep their numbers, so
// that nobody who was slow takes one of them.

import { link, mkdir, open, readdir, readFile, stat, unlink } from "node:fs/promises";
import { join } from "node:path";

import { DeviceError, must, refuse } from "./errors.js";
import { Memory } from "./memory.js";

const NAME = /^device\.(\d+)\.json$/, PART = /^\.device\./;
const NUMBERS_KEPT = 16;

/** @typedef {import("./index.js").Kept} Kept */

/** A memory in a folder; two processes may share it. */
export class FileMemory extends Memory {
  #folder;

  /** @param {string} folder */
  constructor(folder) {
    super();
    this.#folder = folder;
  }

  /** @param {string} folder made for its owner alone if it does not exist @returns {Promise<FileMemory>} */
  static async open(folder) {
    try {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const isOpen = process.platform !== "win32" && (await stat(folder)).mode & 0o077;
      must(!isOpen, "store", "mode");
      // What a process left that was ended while it wrote.
      for (const part of (await readdir(folder)).filter((name) => PART.test(name))) {
        if (Date.now() - (await stat(join(folder, part))).mtimeMs > 60_000) await unlink(join(folder, part));
      }
    } catch (error) {
      if (error instanceof DeviceError) throw error;
      refuse("store", "folder");
    }
    return new FileMemory(folder);
  }

  /** @param {number} revision */
  #path(revision) {
    return join(this.#folder, `device.${revision}.json`);
  }

  /** The numbers of the files, ascending. */
  async #revisions() {
    const names = await readdir(this.#folder);
    return names.flatMap((name) => NAME.exec(name)?.slice(1).map(Number) ?? []).sort((left, right) => left - right);
  }

  /** @returns {Promise<Kept | undefined>} */
  async read() {
    for (;;) {
      const revision = (await this.#revisions()).at(-1);
      if (revision === undefined) return undefined;
      const text = await readFile(this.#path(revision), "utf8").catch(() => "");
      // Emptied by another process that has written a newer one meanwhile.
      if ((await this.#revisions()).at(-1) === revision) return JSON.parse(text);
    }
  }

  /** @param {Kept} kept @param {number} revision @returns {Promise<boolean>} */
  async write(kept, revision) {
    const part = join(this.#folder, `.device.${crypto.randomUUID()}`), next = revision + 1;
    try {
      await synced(part, "wx", JSON.stringify(kept));
      await link(part, this.#path(next));
    } catch (error) {
      if (/** @type {any} */ (error).code === "EEXIST") return false;
      throw error;
    } finally {
      await unlink(part).catch(() => {});
    }
    await this.#settle();
    const numbers = await this.#revisions();
    if (numbers.at(-1) !== next) return false;
    for (const number of numbers.slice(0, -1)) {
      await emptied(this.#path(number));
      if (number < next - NUMBERS_KEPT) await unlink(this.#path(number)).catch(() => {});
    }
    return true;
  }

  async #settle() {
    const folder = await open(this.#folder, "r");
    try {
      await folder.sync();
    } finally {
      await folder.close();
    }
  }
}

/** @param {string} path @param {string} flags @param {string | Uint8Array} content */
async function synced(path, flags, content) {
  const file = await open(path, flags, 0o600);
  try {
    await file.writeFile(content);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Overwrite a file, and empty it. @param {string} path */
async function emptied(path) {
  const { size } = await stat(path).catch(() => ({ size: 0 }));
  if (!size) return;
  await synced(path, "r+", new Uint8Array(size));
  const file = await open(path, "r+");
  await file.truncate(0);
  await file.close();
}
