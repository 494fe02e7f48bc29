// Draws reports for another process: a line with a sampler and a seed (null for secure words), then lines with a code
// and a number of records, which are the answer. A line with a seed alone begins new words.

import { createCipheriv, createHash } from "node:crypto";
import { createInterface } from "node:readline";

import { draw } from "../sampler.js";

/** Words from `fill(bytes)`, which are asked for 64 kB at a time. */
export function buffered(fill) {
  let buffer = new Uint8Array(0);
  return (n) => {
    if (buffer.length < 8 * n) {
      const more = new Uint8Array(Math.ceil((8 * n - buffer.length) / 65536) * 65536);
      for (let at = 0; at < more.length; at += 65536) fill(more.subarray(at, at + 65536));
      const all = new Uint8Array(buffer.length + more.length);
      all.set(buffer);
      all.set(more, buffer.length);
      buffer = all;
    }
    const words = buffer.subarray(0, 8 * n);
    buffer = buffer.subarray(8 * n);
    return words;
  };
}

function seededFill(seed) {
  const key = createHash("sha256").update(`discreet simulation ${seed}`).digest();
  const stream = createCipheriv("aes-256-ctr", key, Buffer.alloc(16));
  return (bytes) => bytes.set(stream.update(new Uint8Array(bytes.length)));
}

let sampler = null;
let words = null;
for await (const line of createInterface({ input: process.stdin })) {
  const asked = JSON.parse(line);
  if (asked.sampler || asked.seed) {
    sampler = asked.sampler ?? sampler;
    words = buffered(asked.seed === null ? (bytes) => crypto.getRandomValues(bytes) : seededFill(asked.seed));
    continue;
  }
  const records = [];
  for (let row = 0; row < asked.n; row++) records.push(await draw(sampler, asked.code, words));
  process.stdout.write(Buffer.concat(records));
}
