// From random words to a record: one report, byte for byte as the Python library draws it.
//
// draw() trusts its sampler; promise.js checks one. Words are taken in the order of docs/reference/protocol.md: an order that
// changes is another format. Words are thrown away for what they are, never for what the value is.

const RANGE = 1n << 64n;
const PIECE_WORDS = 1 << 17;
const SMALL = 65536;

/** Bytes of the smallest unsigned integer that holds 0..bound - 1. */
const bytesFor = (bound) => (bound <= 256 ? 1 : bound <= 65536 ? 2 : 4);

/** A stream of 64-bit words, from a function that returns the bytes of n of them. */
class Words {
  constructor(words) {
    this.words = words;
  }

  bytes(n) {
    const bytes = this.words(n);
    if (!(bytes instanceof Uint8Array) || bytes.length !== 8 * n) {
      throw new TypeError("words");
    }
    return bytes;
  }

  word() {
    const bytes = this.bytes(1);
    return new DataView(bytes.buffer, bytes.byteOffset, 8).getBigUint64(0, true);
  }

  /** True with probability threshold / 2^64. */
  coin(threshold) {
    return this.word() < BigInt(threshold);
  }

  /** Uniform on 0..bound - 1, from the low bits of a word: what is beyond the last multiple of the bound is thrown away. */
  below(bound, bits = 64n) {
    if (bound === 1) return 0;
    const width = (1n << bits) / BigInt(bound);
    for (;;) {
      const drawn = BigInt.asUintN(Number(bits), this.word()) / width;
      if (drawn < bound) return Number(drawn);
    }
  }

  /** From the low half of a word. */
  below32(bound) {
    return this.below(bound, 32n);
  }
}

/** A uniform subset of 0..size - 1, ascending, that contains the member (none if it is -1), by Floyd's method. */
function subset(size, count, member, random) {
  const taken = new Set();
  for (let last = size - count; last < size; last++) {
    const drawn = random.below(last + 1);
    taken.add(taken.has(drawn) ? last : drawn);
  }
  const victim = [...taken][random.below(count)];
  if (member >= 0 && !taken.has(member)) {
    taken.delete(victim);
    taken.add(member);
  }
  return Array.from(taken).sort((left, right) => left - right);
}

/** Bytes of independent bits. At each digit of the threshold, a byte is made from itself and a byte of words. */
function noiseBits(law, member, random) {
  const threshold = BigInt(law.threshold);
  const bytes = new Uint8Array(Math.ceil(law.size / 8));
  const lanesAtOnce = Math.max(Math.floor(PIECE_WORDS / law.depth), 1);
  for (let start = 0; start < bytes.length; start += 8 * lanesAtOnce) {
    const length = Math.min(8 * lanesAtOnce, bytes.length - start);
    const lanes = Math.ceil(length / 8);
    const words = random.bytes(law.depth * lanes);
    for (let digit = 0; digit < law.depth; digit++) {
      const one = (threshold >> BigInt(digit)) & 1n;
      for (let at = 0; at < length; at++) {
        const word = words[8 * digit * lanes + at];
        const bits = bytes[start + at];
        bytes[start + at] = digit === 0 ? word : one ? bits | word : bits & word;
      }
    }
  }
  if (law.size % 8) bytes[bytes.length - 1] &= (1 << (law.size % 8)) - 1;
  if (member >= 0) bytes[member >> 3] |= 1 << (member & 7);
  return bytes;
}

const modulo = (number, prime) => ((number % prime) + prime) % prime;

/** The number of places of a window; none reaches from one range into the next. */
export const windowPlaces = ({ size, width, starts }) => size + (width - 1) * starts.length;

/** The polynomials of the fields GF(2^m), m > 1, as bits. The other fields have a prime number of elements. */
export const POLYNOMIALS = { 4: 7, 8: 11, 16: 19, 32: 37, 64: 67, 128: 131 };

/** The number of points of a projective space whose points have t digits below q. */
export function spacePoints({ q, t }) {
  let points = 0;
  for (let digit = 0; digit < t; digit++) points = points * q + 1;
  return points;
}

/** A product in GF(2^m). */
function fieldProduct(left, right, q) {
  let product = 0;
  for (; right; right >>= 1) {
    if (right & 1) product ^= left;
    left <<= 1;
    if (left >= q) left ^= POLYNOMIALS[q];
  }
  return product;
}

/** The digits of a point, from the lowest on: the highest that is not 0 is 1. */
function pointDigits(point, q, t) {
  let place = 0;
  for (let power = 1; point >= power; power *= q, place++) point -= power;
  const digits = new Array(t).fill(0);
  for (let below = 0; below < place; below++, point = Math.floor(point / q)) digits[below] = point % q;
  digits[place] = 1;
  return digits;
}

/** The hyperplane through a point that a number below k chooses (docs/reference/protocol.md). */
function hyperplaneThrough(point, chosen, { q, t }) {
  const value = pointDigits(point, q, t).reverse();
  const digits = pointDigits(chosen, q, t - 1);
  const own = value.findIndex((digit) => digit !== 0);
  digits.splice(own, 0, 0);
  let sum = 0;
  for (let place = own + 1; place < t; place++) {
    if (q in POLYNOMIALS) sum ^= fieldProduct(value[place], digits[place], q);
    else sum += value[place] * digits[place];
  }
  digits[own] = q in POLYNOMIALS ? sum : (q - (sum % q)) % q;
  // The highest digit that is not 0 is 1.
  const top = digits.lastIndexOf(1);
  return digits.slice(0, top).reduceRight((number, digit) => number * q + digit, 0) + spacePoints({ q, t: top });
}

// Of each law: the form of a block, as [bytes, how many] of its numbers; and the numbers, drawn (-1: no member).
const LAWS = {
  singletons: {
    form: (law) => [[bytesFor(law.size), 1]],
    draw(law, member, random) {
      const noise = law.size <= SMALL ? random.below32(law.size) : random.below(law.size);
      return [member < 0 ? noise : member];
    },
  },
  bits: {
    form: (law) => [[1, Math.ceil(law.size / 8)]],
    draw: noiseBits,
  },
  subsets: {
    form: (law) => [[bytesFor(law.size), law.count]],
    draw: (law, member, random) => subset(law.size, law.count, member, random),
  },
  "mixed subsets": {
    form: (law) => [[bytesFor(law.size + 1), law.count + 1]],
    draw(law, member, random) {
      const members = subset(law.size, law.count + 1, member, random);
      const noiseIsLarger = random.coin(law.larger);
      let isLarger, kept;
      do {
        isLarger = random.coin(law.larger);
        kept = random.below(law.count + 1);
      } while (!isLarger && kept === law.count);
      const beside = random.below(law.count);
      const anywhere = random.below(law.count + 1);
      if (member < 0 ? noiseIsLarger : isLarger) return members;
      const others = members.filter((one) => one !== member);
      const loser = member < 0 ? members[anywhere] : others[beside];
      return [...members.filter((one) => one !== loser), law.size];
    },
  },
  hashing: {
    form: () => [[4, 3]],
    draw(law, member, random) {
      const { prime, buckets } = law;
      const below = (bound) => (prime <= SMALL ? random.below32(bound) : random.below(bound));
      const alpha = 1 + below(prime - 1);
      const z = below(prime);
      const noise = below(buckets);
      const product = Number((BigInt(alpha) * BigInt(z)) % BigInt(prime));
      return [alpha, modulo(Math.max(member, 0) - product, prime), member < 0 ? noise : z % buckets];
    },
  },
  hadamard: {
    form: (law) => [[bytesFor(2 ** (32 - Math.clz32(law.size))), 1]],
    draw(law, member, random) {
      const drawn = Number(random.word() & ((1n << BigInt(32 - Math.clz32(law.size))) - 1n));
      const row = member + 1;
      let odd = row & drawn;
      for (let shift = 16; shift; shift >>= 1) odd ^= odd >>> shift;
      return [odd & 1 ? drawn ^ (row & -row) : drawn];
    },
  },
  windows: {
    form: (law) => [[bytesFor(windowPlaces(law)), 1]],
    draw(law, member, random) {
      const noise = random.below(windowPlaces(law));
      const beside = random.below(law.width);
      const range = law.starts.filter((start) => start <= member).length - 1;
      return [member < 0 ? noise : modulo(member + (law.width - 1) * range - beside, windowPlaces(law))];
    },
  },
  translates: {
    form: (law) => [[bytesFor(law.modulus), 1]],
    draw(law, member, random) {
      const noise = random.below(law.modulus);
      const element = law.base[random.below(law.base.length)];
      return [member < 0 ? noise : modulo(member - element, law.modulus)];
    },
  },
  projective: {
    form: (law) => [[bytesFor(spacePoints(law)), 1]],
    draw(law, member, random) {
      const points = spacePoints(law);
      const noise = random.below(points);
      const chosen = random.below((points - 1) / law.q);
      const truth = hyperplaneThrough((Math.max(member, 0) * law.step) % points, chosen, law);
      return [member < 0 ? noise : truth];
    },
  },
};

/** The number of codes that are not sensitive. */
const clearCount = ({ size, sensitive }) => sensitive.reduce((left, [start, stop]) => left - (stop - start), size);

/** The places in a record: of the value in clear and of the block, with the form of both; and its width. */
function layout(sampler) {
  const clear = clearCount(sampler) ? bytesFor(sampler.size) : 0;
  const form = LAWS[sampler.law.law].form(sampler.law);
  const at = 1 + (sampler.clear_blocks ? clear : 0);
  const end = form.reduce((sum, [bytes, count]) => sum + bytes * count, at);
  return { clear, form, at, width: Math.max(end, 1 + clear) };
}

/** Writes numbers, little-endian, from a place on. */
function put(record, at, form, numbers) {
  let place = 0;
  for (const [bytes, count] of form) {
    for (const last = place + count; place < last; place++) {
      for (let byte = 0; byte < bytes; byte++) record[at++] = numbers[place] >>> (8 * byte);
    }
  }
}

/** The bytes of every record of a sampler's. */
export const recordWidth = (sampler) => layout(sampler).width;

/**
 * The record of one value.
 *
 * @param {any} sampler as in a collection, checked by promise.js.
 * @param {number} code of the value, 0..size - 1.
 * @param {(n: number) => Uint8Array} words the next n words, 8 bytes each, little-endian, from a secure source.
 * @returns {Promise<Uint8Array>}
 */
export async function draw(sampler, code, words) {
  if (!Number.isInteger(code) || code < 0 || code >= sampler.size) {
    throw new RangeError("code");
  }
  const random = new Words(words);
  let rank = -1;
  let before = 0;
  for (const [start, stop] of sampler.sensitive) {
    if (code >= start && code < stop) rank = before + code - start;
    before += stop - start;
  }
  return recordOf(sampler, code, rank, random.coin(sampler.truth), random);
}

async function recordOf(sampler, code, rank, truth, random) {
  const inClear = truth && rank < 0;
  const { clear, form, at, width } = layout(sampler);
  const record = new Uint8Array(width);
  record[0] = !inClear ? 1 : sampler.clear_blocks ? 3 : 2;
  if (inClear) put(record, 1, [[clear, 1]], [code]);
  if (!inClear || sampler.clear_blocks) {
    put(record, at, form, await LAWS[sampler.law.law].draw(sampler.law, truth ? rank : -1, random));
  }
  return record;
}

/**
 * The report of a round: the memo with probability threshold / 2^64, and otherwise fresh noise, which is drawn whatever the
 * coin says.
 *
 * @param {any} sampler as it stands in a collection, checked.
 * @param {Uint8Array} memo the permanent report.
 * @param {string} threshold S_2, as decimal text.
 * @param {(n: number) => Uint8Array} words the next n words: of the coin, then of the noise.
 */
export async function again(sampler, memo, threshold, words) {
  const random = new Words(words);
  const coin = random.coin(threshold);
  const noise = await recordOf(sampler, 0, -1, false, random);
  return coin ? memo : noise;
}
