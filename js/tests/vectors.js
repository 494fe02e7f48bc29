// Checks of vectors, for Node and for a browser: each takes the lines of a file and returns what differs.

import { frame } from "../frames.js";
import { realised } from "../promise.js";
import { reading } from "../reading.js";
import { draw } from "../sampler.js";

export const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
export const bytesOf = (text) => Uint8Array.from(text.match(/../g) ?? [], (pair) => parseInt(pair, 16));
export const linesOf = (text) => text.split("\n").filter(Boolean).map((line) => JSON.parse(line));

/** A source that returns exactly these words; `rest()` is how many bytes are left. */
export function replayed(bytes) {
  let at = 0;
  const words = (n) => {
    if (at + 8 * n > bytes.length) throw new RangeError("more words were taken than there are");
    return bytes.subarray(at, (at += 8 * n));
  };
  return { words, rest: () => bytes.length - at };
}

/** The words of `SeededRandom(seed)`: AES-256 in counter mode. */
export async function seeded(seed, bytes) {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(`discreet simulation ${seed}`));
  const key = await crypto.subtle.importKey("raw", digest, "AES-CTR", false, ["encrypt"]);
  const stream = { name: "AES-CTR", counter: new Uint8Array(16), length: 128 };
  return new Uint8Array(await crypto.subtle.encrypt(stream, key, new Uint8Array(bytes)));
}

const SEEDED_BYTES = 1 << 21;

async function differs(sampler, line, drawn) {
  const given = line.words === undefined ? await seeded(line.seed, SEEDED_BYTES) : bytesOf(line.words);
  const source = replayed(given);
  const record = await drawn(sampler, line.code, source.words);
  if (line.sha256 !== undefined) return hex(new Uint8Array(await crypto.subtle.digest("SHA-256", record))) !== line.sha256;
  return hex(record) !== line.record || source.rest() > 0;
}

/** Of a file of samplers: how many vectors there are, and what is wrong. */
export async function checkSampler(lines, drawn = draw, promise = realised) {
  let sampler = null;
  let count = 0;
  const wrong = [];
  for (const [number, line] of lines.entries()) {
    try {
      if (line.sampler) {
        sampler = line.sampler;
        const epsilon = promise(sampler);
        if (!(Math.abs(epsilon - line.realised) <= 1e-14 * line.realised)) wrong.push(`line ${number + 1}: epsilon`);
        continue;
      }
      count++;
      if (await differs(sampler, line, drawn)) wrong.push(`line ${number + 1}: record`);
    } catch (error) {
      wrong.push(`line ${number + 1}: ${error.message}`);
    }
  }
  return { count, wrong };
}

/** Of the file of samplers that no device may use (without `why`: that it may). */
export function checkRefused(lines, promise = realised) {
  const isRefused = ({ sampler }) => {
    try {
      return !(promise(sampler) > 0);
    } catch (error) {
      // Anything else broke down.
      return ["promise", "law"].includes(error.code) ? true : null;
    }
  };
  return { count: lines.length, wrong: lines.filter((line) => isRefused(line) !== Boolean(line.why)) };
}

/** Of the file of frames: those of one record are made, as devices do. */
export function checkFrames(lines) {
  const single = lines.filter((line) => line.records?.length === 1);
  const made = ({ collection, epoch, ids, records }) =>
    hex(frame(bytesOf(collection), epoch, bytesOf(ids[0]), bytesOf(records[0])));
  return { count: single.length, wrong: single.filter((line) => made(line) !== line.frame) };
}

/** Of the file of readings, which have no other reading themselves. */
export function checkReadings(lines) {
  const wrong = lines.filter((line) => reading(line.text) !== line.reading || reading(line.reading) !== line.reading);
  return { count: lines.length, wrong };
}
