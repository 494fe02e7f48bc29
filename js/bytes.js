// Bytes: as hexadecimal digits, of texts and numbers, joined, and their digest.

/** @param {Uint8Array} bytes */
export const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

/** @param {string} text */
export const unhex = (text) => Uint8Array.from(text.match(/../g) ?? [], (pair) => parseInt(pair, 16));

/** @param {string} text */
export const utf8 = (text) => new TextEncoder().encode(text);

/** A number in so many bytes, the lowest first: an array of bytes takes of each share its value modulo 256. @param {number} number @param {number} count */
export const little = (number, count) => Uint8Array.from({ length: count }, (_, place) => Math.floor(number / 256 ** place));

/** @param {...Uint8Array} parts */
export function joined(...parts) {
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

/** @param {any} bytes */
export const sha256 = async (bytes) => new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
