// The public log of collections: a Merkle tree of their ids, whose head a collector signs. Leaves, nodes and both proofs are
// those of RFC 9162, section 2.1.

import { hex, joined, sha256, unhex, utf8 } from "./bytes.js";
import { opened, parsed } from "./collection.js";
import { must, refuse } from "./errors.js";

/** @typedef {{ size: number, root: string }} Head */

const FORMAT = "discreet log 1";
const MOST_BYTES = 1 << 16, MOST_STEPS = 64;

/** @param {string} id */
const leaf = async (id) => hex(await sha256(joined(Uint8Array.of(0), unhex(id))));
/** @param {string} left @param {string} right */
const node = async (left, right) => hex(await sha256(joined(Uint8Array.of(1), unhex(left), unhex(right))));

/**
 * Walk up from a place to the root: every step is to the left of what `nodes` have become, or to the right of the first.
 * Returns null where the steps are too many, or too few.
 * @param {number} place @param {number} last @param {string[]} nodes @param {string[]} steps
 */
async function climbed(place, last, nodes, steps) {
  for (const step of steps) {
    if (!last) return null;
    if (place & 1 || place === last) {
      nodes = await Promise.all(nodes.map((one) => node(step, one)));
      while (place && !(place & 1)) [place, last] = [place >> 1, last >> 1];
    } else nodes[0] = await node(nodes[0], step);
    [place, last] = [place >> 1, last >> 1];
  }
  return last ? null : nodes;
}

/** True if a path leads from an id at a place to the root. @param {Head} head @param {string} id @param {number} index @param {string[]} path */
async function includes({ size, root }, id, index, path) {
  return index < size && (await climbed(index, size - 1, [await leaf(id)], path))?.[0] === root;
}

/** True if by a path a log is an earlier one with ids added, or none. @param {Head} head @param {Head} before @param {string[]} path */
async function continues({ size, root }, before, path) {
  if (!before.size || before.size === size) return !path.length && (!before.size || before.root === root);
  // What is a whole tree in this one is its own first step.
  const [first, ...steps] = before.size & (before.size - 1) ? path : [before.root, ...path];
  if (before.size > size || !first) return false;
  let place = before.size - 1, last = size - 1;
  while (place & 1) [place, last] = [place >> 1, last >> 1];
  const nodes = await climbed(place, last, [first, first], steps);
  return nodes?.[0] === root && nodes[1] === before.root;
}

/** @param {any} said */
const isWhole = (said) => Number.isInteger(said) && said >= 0 && said < 2 ** 31;
/** @param {any} said */
const isHash = (said) => typeof said === "string" && /^[0-9a-f]{64}$/.test(said);
/** @param {any} said */
const isPath = (said) => Array.isArray(said) && said.length <= MOST_STEPS && said.every(isHash);

/**
 * The head of a log that has an id and continues what was seen before.
 * @param {Uint8Array} answer of a collector, as it came @param {Uint8Array} key of the log @param {string} id
 * @param {Head} before of size 0 for none @returns {Promise<Head>}
 */
export async function checkedLog(answer, key, id, before) {
  const { head, index, inclusion, consistency } = await content(answer, key);
  must(await includes(head, id, index, inclusion), "log", "inclusion");
  must(await continues(head, before, consistency), "log", "consistency");
  return head;
}

/** @param {Uint8Array} answer @param {Uint8Array} key */
async function content(answer, key) {
  try {
    must(answer.length <= MOST_BYTES, "log", "proof");
    const { head, index, inclusion, consistency, ...more } = parsed(answer).strict;
    const { format, size, root, ...rest } = parsed(await opened(utf8(head), [key])).strict;
    must(!Object.keys({ ...more, ...rest }).length && format === FORMAT && isWhole(size) && isHash(root), "log", "proof");
    must(isWhole(index) && isPath(inclusion) && isPath(consistency), "log", "proof");
    return { head: { size, root }, index, inclusion, consistency };
  } catch {
    refuse("log", "proof");
  }
}
