// What a tired programmer would have written: each fault, planted in sampler.js alone, must be seen by the vectors.

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";

import { checkRefused, checkSampler, linesOf } from "./vectors.js";

const read = (path) => readFileSync(new URL(path, import.meta.url), "utf8");
const files = readdirSync(new URL("../vectors/", import.meta.url)).filter((name) => name.startsWith("sampler-"));
const vectors = Object.fromEntries(files.map((name) => [name.slice(8, -6), linesOf(read(`../vectors/${name}`))]));

// [law, right, wrong]
const FAULTS = [
  ["singletons", "this.word() < BigInt(threshold)", "this.word() <= BigInt(threshold)"],
  ["singletons", "if (bound === 1) return 0;", ""],
  ["singletons", "if (drawn < bound) return Number(drawn);", "return Number(drawn) % bound;"],
  ["singletons", "bound <= 256 ? 1", "bound < 256 ? 1"],
  ["singletons", "bound <= 65536 ? 2", "bound < 65536 ? 2"],
  ["singletons", "law.size <= SMALL ?", "law.size < SMALL ?"],
  ["singletons", "const SMALL = 65536;", "const SMALL = 65537;"],
  ["singletons", "code >= start && code < stop", "code > start && code < stop"],
  ["singletons", "code >= start && code < stop", "code >= start && code <= stop"],
  ["singletons", "const inClear = truth && rank < 0;", "const inClear = rank < 0;"],
  ["singletons", "truth ? rank : -1, random", "rank, random"],
  ["singletons", "numbers[place] >>> (8 * byte)", "numbers[place] >>> (8 * (bytes - 1 - byte))"],
  ["singletons", "getBigUint64(0, true)", "getBigUint64(0, false)"],
  ["singletons", "return [member < 0 ? noise : member];", "return [noise];"],
  ["bits", "one ? bits | word : bits & word", "one ? bits & word : bits | word"],
  ["bits", "digit === 0 ? word", "digit === 0 ? ~word"],
  ["bits", "const PIECE_WORDS = 1 << 17;", "const PIECE_WORDS = 1 << 18;"],
  ["bits", "Math.floor(PIECE_WORDS / law.depth)", "Math.ceil(PIECE_WORDS / law.depth)"],
  ["bits", "if (law.size % 8) bytes", "if (false) bytes"],
  ["bits", "1 << (member & 7)", "128 >> (member & 7)"],
  ["bits", "words[8 * digit * lanes + at]", "words[digit * length + at]"],
  ["bits", "const at = 1 + (sampler.clear_blocks ? clear : 0);", "const at = 1;"],
  ["bits", "sampler.clear_blocks ? 3 : 2", "2"],
  ["subsets", "taken.has(drawn) ? last : drawn", "drawn"],
  ["subsets", "random.below(last + 1)", "random.below(last)"],
  ["subsets", "if (member >= 0 && !taken.has(member)) {", "if (member >= 0) {"],
  ["subsets", ".sort((left, right) => left - right)", ""],
  ["subsets", ".sort((left, right) => left - right)", ".sort()"],
  ["mixed-subsets", "while (!isLarger && kept === law.count);", "while (false);"],
  ["mixed-subsets", "while (!isLarger && kept === law.count);", "while (kept === law.count);"],
  ["mixed-subsets", "member < 0 ? noiseIsLarger : isLarger", "noiseIsLarger"],
  ["mixed-subsets", "others[beside]", "members[beside]"],
  ["mixed-subsets", "members[anywhere]", "members[beside]"],
  ["hashing", "const alpha = 1 + below(prime - 1);", "const alpha = below(prime);"],
  ["hashing", "prime <= SMALL ? random.below32", "prime <= 1 << 17 ? random.below32"],
  ["hashing", "Math.max(member, 0) - product", "member - product"],
  ["hashing", "member < 0 ? noise : z % buckets", "z % buckets"],
  ["hadamard", "odd & 1 ? drawn ^ (row & -row) : drawn", "odd & 1 ? drawn ^ row : drawn"],
  ["hadamard", "const row = member + 1;", "const row = member;"],
  ["hadamard", "(2 ** (32 - Math.clz32(law.size)))", "(law.size)"],
  ["translates", "law.base[random.below(law.base.length)]", "law.base[0]"],
  ["translates", "member - element", "element - member"],
  ["translates", "const noise = random.below(law.modulus);", "const noise = random.below(law.size);"],
  ["projective", "if (left >= q) left ^= POLYNOMIALS[q];", ""],
  ["projective", "128: 131", "128: 137"],
  ["projective", "let points = 0;", "let points = 1;"],
  ["projective", "digits.lastIndexOf(1)", "t - 1"],
  ["projective", "point >= power;", "point > power;"],
  ["projective", ".reverse()", ""],
  ["projective", "digits.splice(own, 0, 0);", "digits.push(0);"],
  ["projective", "(q - (sum % q)) % q", "sum % q"],
  ["projective", "(q - (sum % q)) % q", "q - (sum % q)"],
  ["projective", "random.below((points - 1) / law.q)", "random.below(points)"],
  ["projective", "* law.step", ""],
  ["projective", "digit) => number * q + digit, 0) + spacePoints", "digit) => number * q + digit, 0) - spacePoints"],
  ["windows", "const noise = random.below(windowPlaces(law));", "const noise = random.below(law.size);"],
  ["windows", "random.below(law.width)", "0"],
  ["windows", "(start) => start <= member", "(start) => start < member"],
  ["windows", "(law.width - 1) * range - beside", "(law.width - 1) * range + beside"],
  ["windows", "size + (width - 1) * starts.length", "size + width * starts.length"],
  ["translates", "((number % prime) + prime) % prime", "number % prime"],
];

test("every check of a promise is needed", async () => {
  const lines = linesOf(read("../vectors/refused.jsonl"));
  const whole = read("../promise.js").replaceAll('"./', `"${new URL("../", import.meta.url)}`).split("\n");
  const checks = [...whole.keys()].filter((place) => /^\s*must\(/.test(whole[place]));
  assert.ok(checks.length > 20);
  for (const check of checks) {
    const { realised } = await planted(whole.filter((_, place) => place !== check).join("\n"));
    assert.ok(checkRefused(lines, realised).wrong.length, `no vector saw that this is missing: ${whole[check]}`);
  }
});

const source = read("../sampler.js");
const planted = (text) => import(`data:text/javascript,${encodeURIComponent(text)}`);

test("every law has a fault", () => {
  assert.deepEqual([...new Set(FAULTS.map(([law]) => law))].sort(), Object.keys(vectors).sort());
});

for (const [law, right, wrong] of FAULTS) {
  test(`${law}: ${wrong || `without ${right}`}`, async () => {
    assert.equal(source.split(right).length, 2, "the text must be there exactly once");
    const { draw } = await planted(source.replace(right, () => wrong));
    const seen = await checkSampler(vectors[law], draw, () => NaN);
    assert.ok(seen.wrong.some((one) => !one.endsWith("epsilon")), "no vector saw it");
  });
}
