// Permanent answers: what follows from a name's key, so that a value's report is drawn once and for all.

import { joined, little, unhex, utf8 } from "./bytes.js";
import { again } from "./sampler.js";

const SHORT = new RangeError("words");

/** A key that nobody can take out again. @param {any} raw @returns {Promise<CryptoKey>} */
export const keyOf = (raw) => crypto.subtle.importKey("raw", raw, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);

/** HMAC-SHA256. @param {CryptoKey} key @param {any} bytes */
const digest = async (key, bytes) => new Uint8Array(await crypto.subtle.sign("HMAC", key, bytes));

/** K of a name, the same on all devices that share a person's secret. @param {Uint8Array} secret @param {string} name */
export const keyOfPerson = async (secret, name) => keyOf(await digest(await keyOf(secret), utf8(`discreet person 1\0${name}`)));

/** @param {CryptoKey} key @param {string} purpose @param {{name: string, fingerprint: string, memo?: {truth: string} | null}} collection @param {number} code */
const bound = (key, purpose, { name, fingerprint, memo }, code) =>
  digest(key, joined(utf8(`discreet ${purpose} 1\0${name}\0`), unhex(fingerprint), little(code, 8), memo ? word(memo.truth) : new Uint8Array(0)));

/** Eight bytes of a decimal text, little-endian. @param {string} text */
const word = (text) => new Uint8Array(BigUint64Array.of(BigInt(text)).buffer);

/** The name of the draw of permanent answers: the fingerprint, and S_1 of a second coin. @param {import("./index.js").Collection} collection */
export const drawingOf = ({ fingerprint, memo }) => (memo ? `${fingerprint} ${memo.truth}` : fingerprint);

/** The sampler of permanent answers. @param {import("./index.js").Collection} collection */
export const samplerOf = ({ sampler, memo }) => (memo ? { ...sampler, truth: memo.truth } : sampler);

/**
 * The report that is sent of a permanent answer: itself, or as a second coin of this round says.
 * @param {import("./index.js").Collection} collection @param {Uint8Array} record @param {() => (n: number) => Uint8Array} fresh words
 */
export const sentOf = async ({ sampler, memo }, record, fresh) =>
  memo ? again(sampler, record, String((BigInt(sampler.truth) << 64n) / BigInt(memo.truth)), fresh()) : record;

/** The print of a code, 16 bytes: it counts different values. @param {CryptoKey} key @param {import("./index.js").Collection} collection @param {number} code */
export const printOf = async (key, collection, code) => (await bound(key, "print", collection, code)).subarray(0, 16);

/**
 * The words of a code, which are the same every time: AES-256 in counter mode from zero.
 * @template T @param {CryptoKey} key @param {import("./index.js").Collection} collection @param {number} code
 * @param {(words: (n: number) => Uint8Array) => Promise<T>} work @returns {Promise<T>}
 */
export async function withWords(key, collection, code, work) {
  const stream = await crypto.subtle.importKey("raw", await bound(key, "answer", collection, code), "AES-CTR", false, ["encrypt"]);
  const counter = { name: "AES-CTR", counter: new Uint8Array(16), length: 64 };
  for (let size = 4096; ; size *= 8) {
    const bytes = new Uint8Array(await crypto.subtle.encrypt(counter, stream, new Uint8Array(size)));
    let at = 0;
    try {
      return await work((n) => {
        if (at + 8 * n > size) throw SHORT;
        return bytes.subarray(at, (at += 8 * n));
      });
    } catch (error) {
      // The same words again, and more of them.
      if (error !== SHORT) throw error;
    }
  }
}

/**
 * The names of the collections of a survey that a person answers, by the key of its first question.
 * @param {CryptoKey} key @param {NonNullable<import("./index.js").Collection["survey"]>} survey
 */
export async function drawnOf(key, { name, answers, questions }) {
  const bytes = await digest(key, utf8(`discreet questions 1\0${name}`)), drawn = new DataView(bytes.buffer).getBigUint64(0, true);
  const points = Array.from({ length: answers }, (_, point) => drawn + (BigInt(point) << 64n));
  let end = 0n;
  return questions.filter(([, share]) => {
    const start = end;
    end += BigInt(share);
    return points.some((point) => start <= point && point < end);
  }).map(([one]) => one);
}
