// Randomness of a device: the operating system's, looked at before anything is drawn with it.

import { refuse } from "./errors.js";

const MOST_AT_ONCE = 65536;

/** @returns {never} */
const fail = () => refuse("randomness", "the system must give random bytes, and it does not; nothing was charged.");

/** @param {number} count of bytes @returns {Uint8Array} */
function drawn(count) {
  const bytes = new Uint8Array(count);
  for (let start = 0; start < count; start += MOST_AT_ONCE) {
    crypto.getRandomValues(bytes.subarray(start, start + MOST_AT_ONCE));
  }
  return bytes;
}

/** @type {string | undefined} */
let last;

/**
 * Fresh bytes, after two draws that must differ from each other and from those before, and not be zero.
 * @param {number} count @returns {Uint8Array}
 */
export function randomBytes(count) {
  try {
    const probes = [drawn(32), drawn(32)].map(String), seen = new Set([...probes, last, String(new Uint8Array(32))]);
    if (seen.size === 4) {
      last = probes[1];
      return drawn(count);
    }
  } catch { /* It fails. */ }
  return fail();
}

/** The words of one report, as `draw` takes them. @returns {(n: number) => Uint8Array} */
export function freshWords() {
  randomBytes(0);
  return (n) => {
    try {
      return drawn(8 * n);
    } catch {
      fail();
    }
  };
}

/** A fresh number, uniform on 0 to below 1. */
export const share = () => Number(new DataView(randomBytes(8).buffer).getBigUint64(0) >> 11n) / 2 ** 53;
