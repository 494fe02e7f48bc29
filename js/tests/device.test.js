// What no script says: failing randomness, memories that fail, two devices over one memory, platforms without what is needed.

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";

import { FileMemory } from "../file_memory.js";
import { Device, RamMemory } from "../index.js";
import { sentence } from "../messages.js";
import { unequal } from "../reading.js";
import { pause, post } from "../sending.js";
import { linesOf } from "./vectors.js";

const [{ trust, envelopes }] = linesOf(readFileSync(new URL("../vectors/events.jsonl", import.meta.url), "utf8"));
const NOW = 1_800_000_010;
const LIMITS = { report: 2, epoch: 4, lifetime: 20 };
const KEYS = trust.map((key) => Uint8Array.from(Buffer.from(key, "hex")));
const envelope = (label) => new TextEncoder().encode(JSON.stringify(envelopes[label]));
const folder = mkdtempSync(join(tmpdir(), "discreet-"));
after(() => rmSync(folder, { recursive: true }));

const kept = () => Object.assign(new RamMemory(), { lasts: true });
const device = (memory, more = {}) => new Device(memory, { trust: KEYS, limits: LIMITS, clock: () => NOW, post: async () => ({ status: 202 }), ...more });

async function joined(memory, label = "fresh", more = {}) {
  const made = device(memory, more), collection = await made.accept(envelope(label));
  await made.agree(collection);
  return [made, collection];
}

/** Run with another source of the system's. */
async function withRandomness(getRandomValues, work) {
  const own = crypto.getRandomValues;
  Object.defineProperty(crypto, "getRandomValues", { value: getRandomValues, configurable: true, writable: true });
  try {
    return await work();
  } finally {
    Object.defineProperty(crypto, "getRandomValues", { value: own, configurable: true, writable: true });
  }
}

const SOURCES = {
  "is missing": undefined,
  throws: () => {
    throw new Error("no entropy");
  },
  "gives zeros": (bytes) => bytes.fill(0),
  "gives the same": (bytes) => bytes.fill(7),
  "fills another array": (bytes) => new Uint8Array(bytes.length).fill(3),
  "repeats a byte": (bytes) => bytes.fill(9),
};
for (const [what, source] of Object.entries(SOURCES)) {
  for (const label of ["fresh", "permanent"]) {
    test(`no report, and no charge, when the system's source ${what} (${label})`, async () => {
      const [one, collection] = await joined(kept(), label);
      await withRandomness(source, () => assert.rejects(one.answer(collection, "daily"), { code: "randomness" }));
      assert.equal((await one.budget()).spent, 0);
      assert.deepEqual(await one.log(), []);
      assert.equal(await one.answer(collection, "daily"), "recorded");
    });
  }
}

test("a source that fails later in the draw gives no report either", async () => {
  const [one, collection] = await joined(kept());
  let left = 2;
  const own = crypto.getRandomValues.bind(crypto);
  const failing = (bytes) => {
    if (left-- <= 0) throw new Error("gone");
    return own(bytes);
  };
  await withRandomness(failing, () => assert.rejects(one.answer(collection, "daily"), { code: "randomness" }));
  assert.equal((await one.budget()).spent, 0);
});

test("large draws take at most 65,536 bytes at once", async () => {
  const own = crypto.getRandomValues.bind(crypto), sizes = [];
  const { freshWords } = await import("../randomness.js");
  await withRandomness((bytes) => (sizes.push(bytes.length), own(bytes)), async () => {
    const words = freshWords()(20_000);
    assert.equal(words.length, 160_000);
    assert.ok(words.subarray(-32).some(Boolean));
  });
  assert.ok(Math.max(...sizes) <= 65_536);
});

test("a memory that cannot write: nothing is charged, nothing is said of what was to be written", async () => {
  const memory = kept(), [one, collection] = await joined(memory), write = memory.write;
  memory.write = async () => {
    throw new Error("daily");
  };
  await assert.rejects(one.answer(collection, "daily"), (error) => error.code === "store" && !error.message.includes("daily"));
  memory.write = write;
  assert.equal((await one.budget()).spent, 0);
  assert.equal(await one.answer(collection, "daily"), "recorded");
});

test("an answer is on disk before it is sent, and is charged once however many devices share the memory", async () => {
  const place = join(folder, "shared"), posted = [];
  const seen = async (_, frame) => {
    const [name] = readdirSync(place).filter((one) => statSync(join(place, one)).size > 0);
    const record = Buffer.from(frame).subarray(60).toString("hex");
    assert.ok(readFileSync(join(place, name), "utf8").includes(`"record":"${record}"`));
    posted.push(Buffer.from(frame).toString("hex"));
    return { status: 202 };
  };
  const several = await Promise.all([1, 2, 3, 4].map(async () => joined(await FileMemory.open(place), "fresh", { post: seen })));
  const outcomes = await Promise.all(several.map(([one, collection]) => one.answer(collection, "daily")));
  await Promise.all(several.map(([one]) => one.send()));
  assert.ok(outcomes.every((one) => ["recorded", "already"].includes(one)));
  assert.equal(posted.length, 1);
  assert.equal((await several[0][0].budget()).spent, 1);
  assert.equal(statSync(place).mode & 0o777, 0o700);
  assert.ok(readdirSync(place).every((one) => (statSync(join(place, one)).mode & 0o777) === 0o600));
});

test("a folder that others may look into is refused", async () => {
  const place = join(folder, "open");
  await FileMemory.open(place);
  const { chmodSync } = await import("node:fs");
  chmodSync(place, 0o755);
  await assert.rejects(FileMemory.open(place), { code: "store" });
});

test("what is erased is in no file any more", async () => {
  const place = join(folder, "erased"), memory = await FileMemory.open(place);
  const [one, collection] = await joined(memory, "permanent");
  await one.answer(collection, "daily");
  const { secret: [{ key }] } = await memory.look();
  assert.match(key, /^[0-9a-f]{64}$/);
  await one.decline("habits");
  const files = readdirSync(place).map((name) => readFileSync(join(place, name), "utf8"));
  assert.ok(!files.some((text) => text.includes(key)));
});

test("a memory that is gone with the process answers once alone", async () => {
  const [fresh, asked] = await joined(new RamMemory(), "fresh");
  await assert.rejects(fresh.answer(asked, "daily"), { code: "store" });
  const [once, collection] = await joined(new RamMemory(), "once");
  assert.equal(await once.answer(collection, "daily"), "recorded");
});

test("secret places are in no log, export or message", async () => {
  const one = device(kept()), collection = await one.accept(envelope("tagged"));
  await one.agree(collection);
  assert.equal(await one.isTagged(collection), false);
  await one.tag(collection, { home: ["never"] });
  assert.equal(await one.isTagged(collection), true);
  await one.answer(collection, "never");
  const said = JSON.stringify([await one.export(), await one.log(), await one.budget(), one]);
  assert.ok(!/never|places|home|prints|key/.test(said), said);
  for (const tagged of [{ home: ["quagga"] }, { quagga: ["never"] }]) {
    await assert.rejects(one.tag(collection, tagged), (error) => !error.message.includes("quagga"));
  }
});

test("what a caller changes of a collection changes no report", async () => {
  const [one, collection] = await joined(kept());
  assert.throws(() => { collection.sampler.truth = "18446744073709551615"; }, TypeError);
  assert.equal(await one.answer({ ...collection, answers: "once", sampler: {} }, "daily"), "recorded");
});

/** An envelope of a changed document, under a key of the test's own. */
async function resigned(label, change) {
  const pair = await crypto.subtle.generateKey("Ed25519", true, ["sign", "verify"]);
  const said = JSON.parse(Buffer.from(envelopes[label].document, "base64")), made = Buffer.from(JSON.stringify({ ...said, ...change(said) }));
  const signed = Buffer.concat([Buffer.from("discreet collection 1\n"), made]);
  const signature = Buffer.from(await crypto.subtle.sign("Ed25519", pair.privateKey, signed)).toString("base64");
  const key = new Uint8Array(await crypto.subtle.exportKey("raw", pair.publicKey));
  const document = made.toString("base64"), signatures = [{ key: Buffer.from(key).toString("base64"), signature }];
  return [new TextEncoder().encode(JSON.stringify({ document, signatures })), key];
}

/** A change of the labels of a collection. */
const labelled = (labels, more = {}) => ({ plan }) => ({ plan: { ...plan, domain: { ...plan.domain, labels, ...more } } });

test("labels that read alike are refused by their names, unless the plan is exact", async () => {
  const labels = ["never", "krank", "Krank\u00a0", "daily"];
  const [alike, key] = await resigned("fresh", labelled(labels)), memory = kept();
  await assert.rejects(device(memory, { trust: [key] }).accept(alike), (error) =>
    error.code === "plan" && sentence(error).endsWith("or set exact = true: 'krank', 'Krank<U+00A0>'."));
  assert.deepEqual((await memory.look()).state.names, []);
  const [exact, other] = await resigned("fresh", labelled(labels, { exact: true }));
  const one = device(kept(), { trust: [other] }), collection = await one.accept(exact);
  assert.deepEqual(labels.map((label) => collection.isSensitive(collection.space.code(label))), [false, false, true, true]);
  const [withdrawn, third] = await resigned("fresh", (said) => ({ ...labelled(labels)(said), state: "withdrawn" }));
  assert.equal((await device(kept(), { trust: [third] }).accept(withdrawn)).state, "withdrawn");
});

test("combinations are refused as if each pair of values were compared", () => {
  const words = ["a", "A", " a", "b", "B", "c", "\u00e9", "\u00c9", "x"], text = (word) => word.trim().toUpperCase();
  let seed = 1, refused = 0;
  const below = (n) => Math.floor(((seed = (seed * 1103515245 + 12345) % 2 ** 31) / 2 ** 31) * n);
  for (let round = 0; round < 3000; round++) {
    const lists = Array.from({ length: 1 + below(3) }, () => {
      const left = [...words];
      return Array.from({ length: 1 + below(4) }, () => left.splice(below(left.length), 1)[0]);
    });
    const values = lists.reduce((all, names) => all.flatMap((value) => names.map((name) => `${value}, ${text(name)}`)), [""]);
    const kept = new Map(values.map((value) => [value, below(4) < 2])), marks = values.map((value) => kept.get(value));
    if (round % 2) marks[below(marks.length)] = true;
    const ranges = [];
    marks.forEach((mark, code) => mark && (ranges.at(-1)?.[1] === code ? ranges.at(-1)[1]++ : ranges.push([code, code + 1])));
    const twins = values.flatMap((value, code) => values.slice(0, code).flatMap((other, before) => (other === value ? [[before, code]] : [])));
    for (const canDiffer of [false, true]) {
      const expected = twins.some(([one, other]) => marks[one] !== marks[other] || (canDiffer && !marks[one]));
      assert.equal(Boolean(unequal(lists, ranges, (code) => marks[code], canDiffer)), expected, JSON.stringify([lists, marks]));
      refused += expected;
    }
  }
  assert.ok(refused > 1000 && refused < 5000, `${refused} refused`);
});

test("a value is looked up as it is, and composed once more", async () => {
  const [written, key] = await resigned("fresh", labelled(["never", "rarely", "\u00e9t\u00e9", "daily"]));
  const one = device(kept(), { trust: [key] }), { space } = await one.accept(written);
  assert.deepEqual(["\u00e9t\u00e9", "e\u0301te\u0301", "ete", "\u00c9T\u00c9", 2].map(space.code), [2, 2, -1, -1, -1]);
  await one.agree("fresh");
  await assert.rejects(one.answer("fresh", "ete"), { code: "value" });
  assert.equal(await one.answer("fresh", "e\u0301te\u0301"), "recorded");
});

test("a border of numbers is the number that people write", async () => {
  const { spaceOf } = await import("../domain.js"), numbers = (number) => spaceOf({ number }, { number });
  const tenths = numbers({ low: 0, high: 1, bins: 10 });
  assert.deepEqual([0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1].map(tenths.code), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 9]);
  assert.deepEqual([tenths.name(2), tenths.name(9)], ["0.2 – <0.3", "0.9 – 1"]);
  assert.throws(() => numbers({ low: 1, high: 1 + 1e-15, bins: 256 }), RangeError);
});

test("a bot that the coin does not look at is refused", async () => {
  const [bad, key] = await resigned("tagged", ({ sampler }) => ({ sampler: { ...sampler, sensitive: [[0, 3], [4, 5]] } }));
  await assert.rejects(device(kept(), { trust: [key] }).accept(bad), { code: "plan" });
});

test("secret places of other values are none", async () => {
  const memory = kept(), [one, before] = await joined(memory, "tagged");
  await one.tag(before, { home: ["never"] });
  const [other, key] = await resigned("tagged", ({ plan, version }) => ({
    version: version + 1, plan: { ...plan, domain: { ...plan.domain, labels: [...plan.domain.labels].reverse() } },
  }));
  const two = device(memory, { trust: [key] }), after = await two.accept(other);
  await two.agree(after);
  assert.equal(await two.isTagged(after), false);
  await assert.rejects(two.answer(after, "never"), { code: "argument" });
  await two.tag(after, { home: ["never"] });
  assert.equal(await two.answer(after, "never"), "recorded");
});

test("secret places are refused under a plan that protects other values", async () => {
  const memory = kept(), [one, before] = await joined(memory, "tagged");
  // Sensitive for everybody, so no place of hers; the next plan protects another value in its stead.
  await one.tag(before, { home: ["daily"] });
  const [other, key] = await resigned("tagged", ({ sampler, version }) => ({ version: version + 1, sampler: { ...sampler, sensitive: [[0, 1], [2, 3], [4, 6]] } }));
  const two = device(memory, { trust: [key] }), after = await two.accept(other);
  await two.agree(after);
  await assert.rejects(two.answer(after, "daily"), { code: "argument" });
});

test("a report of another mechanism is not repeated", async () => {
  let now = NOW;
  const [one, before] = await joined(kept(), "permanent", { clock: () => now });
  assert.equal(await one.answer(before, "daily"), "recorded");
  now += 3600;
  assert.equal(await one.answer(before, "never"), "recorded");
  const after = await one.accept(envelope("permanent, mechanism"));
  await one.agree(after);
  now += 3600;
  assert.equal(await one.answer(after, "often"), "exhausted");
});

test("a name stands for the highest version that was accepted", async () => {
  const one = device(kept()), before = await one.accept(envelope("permanent")), after = await one.accept(envelope("permanent, mechanism"));
  await assert.rejects(one.agree(before), { code: "argument", about: "older version" });
  await one.agree(after.name);
  assert.equal(await one.answer(after.name, "daily"), "recorded");
  assert.equal((await one.log())[0].version, after.version);
  await assert.rejects(one.agree("other"), { code: "argument", about: "accept first" });
});

test("who declines while a report is on its way has no log of it", async () => {
  const [one, collection] = await joined(kept(), "fresh", { post: async () => (await one.decline("fresh"), { status: 503 }) });
  assert.equal(await one.answer(collection, "daily"), "recorded");
  assert.deepEqual(await one.send(), { sent: 0, dropped: 0, waiting: 0 });
  assert.deepEqual(await one.log(), []);
});

test("words of a permanent answer go on as long as it takes", async () => {
  const { keyOf, withWords } = await import("../permanent.js");
  const key = await keyOf(new Uint8Array(32)), collection = { name: "x", fingerprint: "00".repeat(16) };
  const long = await withWords(key, collection, 1, async (words) => Buffer.concat([words(3), words(10_000)]));
  const short = await withWords(key, collection, 1, async (words) => Buffer.from(words(4)));
  assert.equal(long.length, 80_024);
  assert.ok(long.subarray(0, 32).equals(short));
  await assert.rejects(withWords(key, collection, 1, async () => { throw new RangeError("other"); }), { message: "other" });
});

test("cells have ranks in their own order, wherever the first region in clear lies", async () => {
  const { botsOf, spaceOf } = await import("../domain.js"), grid = { lat: [0, 1], lon: [0, 1], rows: 7, cols: 9 };
  const space = spaceOf({ grid }, { grid }), bots = botsOf({ cells: { rows: 3, cols: 2 } }, space, (code) => code < 5);
  assert.deepEqual([bots.count, bots.of(0), bots.of(5), bots.of(9), bots.of(62)], [6, -1, 1, 0, 5]);
});

test("options that no device may have are refused", () => {
  for (const wrong of [{ trust: [] }, { trust: ["x"] }, { limits: {} }, { limits: { ...LIMITS, epoch: 0 } }, { random: () => {} }, { personSecret: new Uint8Array(3) }, { log: new Uint8Array(32) }]) {
    assert.throws(() => device(kept(), wrong), { code: "argument" });
  }
});

test("a store of ten years of daily answers is small", async () => {
  const memory = kept(), [one] = await joined(memory), state = await memory.look();
  const before = JSON.stringify(state).length, answer = { epoch: 3650, charge: 1, record: "010203", status: "202", at: NOW };
  assert.ok(before <= 1000, `${before} bytes`);
  assert.ok(JSON.stringify(answer).length <= 200);
  assert.equal((await one.budget()).spent, 0);
});

test("pauses grow to an hour, with jitter, and never below what a collector asks for", () => {
  assert.deepEqual([1, 2, 5, 40].map((tries) => pause(tries, 0, 1)), [2, 4, 32, 3600]);
  assert.equal(pause(40, 0, 0), 1);
  assert.equal(pause(1, 1800, 0.5), 1800);
});

test("posts bear no cookie and no referrer, follow nothing, and read Retry-After", async () => {
  const own = globalThis.fetch, asked = [], headers = { "Retry-After": "7" };
  globalThis.fetch = async (url, options) => (asked.push([url, options]), new Response(null, { status: 429, headers }));
  assert.deepEqual(await post("https://collect.example.org", new Uint8Array(63)), { status: 429, retryAfter: 7 });
  Object.assign(headers, { "Retry-After": "Fri, 15 Jan 2027 08:00:30 GMT", Date: "Fri, 15 Jan 2027 08:00:00 GMT" });
  assert.equal((await post("https://collect.example.org", new Uint8Array(63))).retryAfter, 30);
  globalThis.fetch = async () => { throw new TypeError("no network"); };
  assert.deepEqual(await post("https://collect.example.org", new Uint8Array(63)), { status: 0 });
  globalThis.fetch = own;
  const [url, { credentials, redirect, referrerPolicy, keepalive, headers: sent }] = asked[0];
  assert.equal(url, "https://collect.example.org/v1/reports");
  assert.deepEqual([credentials, redirect, referrerPolicy, keepalive, Object.keys(sent)], ["omit", "error", "no-referrer", true, ["Content-Type"]]);
});
