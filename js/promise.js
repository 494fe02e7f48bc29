// The promise of a sampler, from its integers alone: whoever signed it, a device believes only what it has computed.

const RANGE = 1n << 64n;
const LARGEST_RECORD = (1 << 20) - 60;
const MOST_MARKS = 1 << 22;

import { refuse } from "./errors.js";
import { POLYNOMIALS, recordWidth, spacePoints, windowPlaces } from "./sampler.js";

function must(condition) {
  if (!condition) refuse("promise");
}

const isWhole = (number, least, most) => Number.isSafeInteger(number) && number >= least && number <= most;

/** An integer in least..most, from decimal text as it is written in a document. */
function decimal(text, least, most) {
  must(typeof text === "string" && /^(0|[1-9][0-9]{0,19})$/.test(text)); // Large integers must be decimal texts.
  const number = BigInt(text);
  must(number >= least && number <= most); // A large integer of the sampler is out of its range.
  return number;
}

function isPrime(number) {
  for (let divisor = 2; divisor * divisor <= number; divisor++) if (number % divisor === 0) return false;
  return number >= 2;
}

const commonDivisor = (left, right) => (right === 0 ? left : commonDivisor(right, left % right));

/** True if this is the least prime from `least` on. */
function isNextPrime(prime, least) {
  if (!isWhole(prime, least, 2 ** 32 - 1) || !isPrime(prime)) return false;
  for (let before = prime - 1; before >= least; before--) if (isPrime(before)) return false;
  return true;
}

const depthOf = (law) => {
  must(isWhole(law.depth, 1, 60)); // A depth must be an integer in 1..60.
  return 1n << BigInt(law.depth);
};

// Of each law: the fields of its description; and pi, the probability that noise contains a value, as [numerator,
// denominator], after the checks without which it would be another one.
const LAWS = {
  singletons: [["size"], (law) => [1n, BigInt(law.size)]],
  bits: [
    ["depth", "size", "threshold"],
    (law) => {
      const whole = depthOf(law);
      const threshold = decimal(law.threshold, 1n, whole - 1n);
      must(threshold & 1n); // A threshold must be odd.
      return [threshold, whole];
    },
  ],
  subsets: [
    ["count", "size"],
    (law) => {
      must(law.size <= MOST_MARKS); // Devices keep a mark for each value of a subset.
      must(isWhole(law.count, 1, Math.max(law.size - 1, 1))); // A subset must leave a value out.
      return [BigInt(law.count), BigInt(law.size)];
    },
  ],
  "mixed subsets": [
    ["count", "larger", "size"],
    (law) => {
      must(law.size <= MOST_MARKS); // Devices keep a mark for each value of a subset.
      must(isWhole(law.count, 1, law.size - 1)); // Two sizes of subsets must be at most that of all values.
      return [(BigInt(law.count) << 64n) + decimal(law.larger, 1n, RANGE - 1n), BigInt(law.size) << 64n];
    },
  ],
  hashing: [
    ["buckets", "prime", "size"],
    (law) => {
      must(isWhole(law.buckets, 2, 2 ** 32 - 5)); // There must be at least two buckets.
      must(isNextPrime(law.prime, Math.max(law.size, law.buckets))); // The prime must be the next one.
      return [1n, BigInt(law.buckets)];
    },
  ],
  hadamard: [["size"], () => [1n, 2n]],
  windows: [
    ["size", "starts", "width"],
    (law) => {
      const { starts, width } = law;
      must(isWhole(width, 1, Math.max(law.size - 1, 1))); // A window must be narrower than all values.
      must(Array.isArray(starts) && isWhole(starts.length, 1, 4096) && starts[0] === 0); // Starts must be such a list.
      let last = -1;
      for (const start of starts) {
        must(isWhole(start, last + 1, law.size - 1)); // Starts must ascend, within the values.
        last = start;
      }
      must(windowPlaces(law) <= 2 ** 24); // There must be at most 2^24 places.
      return [BigInt(width), BigInt(windowPlaces(law))];
    },
  ],
  translates: [
    ["base", "modulus", "size"],
    (law) => {
      const { base, modulus } = law;
      must(isWhole(modulus, Math.max(law.size, 2), 2 ** 24)); // A modulus must be at least the size, at most 2^24.
      must(Array.isArray(base) && isWhole(base.length, 1, Math.min(modulus - 1, 4096))); // A base must be such a list.
      let last = -1;
      for (const element of base) {
        must(isWhole(element, last + 1, modulus - 1)); // Elements must ascend, within the modulus.
        last = element;
      }
      return [BigInt(base.length), BigInt(modulus)];
    },
  ],
  projective: [
    ["q", "size", "step", "t"],
    (law) => {
      const { q, step, t } = law;
      must(isWhole(q, 2, 2 ** 16 - 1) && (q in POLYNOMIALS || isPrime(q))); // There must be a field of q elements.
      must(isWhole(t, 2, 26)); // A point must have at least two digits.
      const points = spacePoints(law);
      must(law.size <= points && points < 2 ** 26); // There must be a point for each value, and not too many.
      must(isWhole(step, 1, points - 1) && commonDivisor(step, points) === 1); // A step must give each value a point.
      return [BigInt((points - 1) / q), BigInt(points)];
    },
  ],
};

// Laws under which values are in a block independently: only they allow blocks beside values in clear.
const INDEPENDENT = ["bits", "hadamard"];

const isObjectOf = (object, fields) =>
  typeof object === "object" && object !== null && Object.keys(object).sort().join() === fields.join();

/** The number of sensitive codes; ranges ascend and have gaps, so that there is one way to write them. */
function sensitiveCount({ size, sensitive }) {
  must(Array.isArray(sensitive) && sensitive.length > 0); // A sampler must have sensitive codes.
  let last = -1;
  let count = 0;
  for (const range of sensitive) {
    must(Array.isArray(range) && range.length === 2); // Sensitive codes must be ranges.
    const [start, stop] = range;
    must(isWhole(start, last + 1, size) && isWhole(stop, start + 1, size)); // Ranges must ascend, with gaps.
    count += stop - start;
    last = stop;
  }
  return count;
}

/**
 * The epsilon that a sampler realises, in nats.
 *
 * @param {any} sampler as it stands in a collection.
 * @returns {number} right to 10^-14 of itself.
 * @throws {DeviceError} (promise) if it is no sampler, or one that a device must not use; (law) if its law is unknown.
 */
export function realised(sampler) {
  must(isObjectOf(sampler, ["clear_blocks", "law", "sensitive", "size", "truth"])); // A sampler has five fields.
  must(isWhole(sampler.size, 1, 2 ** 31 - 1)); // A sampler's size must be an integer in 1..2^31 - 1.
  must(typeof sampler.clear_blocks === "boolean"); // clear_blocks must be true or false.
  const truth = decimal(sampler.truth, 1n, RANGE - 1n);
  const law = sampler.law;
  must(typeof law === "object" && law !== null && typeof law.law === "string"); // The block law must have a name.
  const covered = sensitiveCount(sampler);
  // Of an unknown one nobody can say what it promises.
  if (!Object.hasOwn(LAWS, law.law)) refuse("law");
  const [fields, inclusion] = LAWS[law.law];
  must(isObjectOf(law, [...fields, "law"].sort())); // The block law must have its parts and no others.
  must(law.size === covered); // The block law must be over the sensitive codes.
  must(!sampler.clear_blocks || INDEPENDENT.includes(law.law)); // clear_blocks needs independent values.
  const [pi, whole] = inclusion(law);
  must(recordWidth(sampler) <= LARGEST_RECORD); // A record must fit into a frame.
  return Math.log1p(Number(truth * whole) / Number((RANGE - truth) * pi));
}
