// Randomness of a device: the operating system's, looked at before anything is drawn with it.

import { must, refuse } from "./errors.js";

const MOST_AT_ONCE = 65536;

/** @param {number} count of bytes @returns {Uint8Array} */
function drawn(count) {
  const bytes = new Uint8Array(count);
  try {
    for (let start = 0; start < count; start += MOST_AT_ONCE) {
      crypto.getRandomValues(bytes.subarray(start, start + MOST_AT_ONCE));
    }
  } catch {
    refuse("randomness");
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
  const zero = String(new Uint8Array(32)), probes = [drawn(32), drawn(32)].map(String);
  must(new Set([...probes, last, zero]).size === 4, "randomness");
  last = probes[1];
  return drawn(count);
}

/** The words of one report, as `draw` takes them. @returns {(n: number) => Uint8Array} */
export function freshWords() {
  randomBytes(0);
  return (n) => drawn(8 * n);
}

/** A fresh number, uniform on 0 to below 1. */
export const share = () => Number(new BigUint64Array(randomBytes(8).buffer)[0] >> 11n) / 2 ** 53;
