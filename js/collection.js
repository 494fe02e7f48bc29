// Collections: a plan with its terms, signed; what a device checks before it believes one.
//
// The checks come in the order of docs/reference/device.md, and every refusal has the code that it has in Python. The signature is
// checked over the bytes as they came, before they are parsed.

import { hex, joined, sha256, utf8 } from "./bytes.js";
import { botsOf, spaceOf } from "./domain.js";
import { DeviceError, must, refuse } from "./errors.js";
import { realised } from "./promise.js";
import { quoted, unequal } from "./reading.js";

const FORMAT = "discreet collection 1";
const MOST_BYTES = 1 << 20, MOST_ENVELOPE_BYTES = 3 << 19, MOST_SIGNATURES = 16;
// What doubles and their printing may add to epsilon.
const MARGIN = 1 + 1e-9;

// Strict JSON

const TOKENS = /"[^"\\]*(?:\\.[^"\\]*)*"(\s*:)?|-?\d[^\s,\]}]*/g;

// Controls of direction, joiners where nothing joins, fillers, tags, and controls beside tab and line feed: whatever makes
// a text another one than people see.
const INVISIBLE = /[\0-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e007f}]|(?<![\u0600-\u1fff\u2070-\u{10ffff}])[\u200c\u200d]/u;

/**
 * Read strict JSON in UTF-8: no key twice, no half of a character.
 * In `strict` a number that is written as a fraction, such as 1.0, is one, so that it passes for no integer.
 * @param {Uint8Array} bytes
 */
export function parsed(bytes) {
  const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes), loose = JSON.parse(text);
  // Keys that are written, less those that are read, of which one holds the whole: what is left was there twice.
  let keys = 1, hasInvisible = false;
  const marked = text.replace(TOKENS, (token, colon) => {
    if (colon) keys++;
    return token[0] !== '"' && /[.eE]/.test(token) ? "0.5" : token;
  });
  const strict = JSON.parse(marked, function (key, value) {
    if (!Array.isArray(this)) keys--;
    const written = typeof value === "string" ? `${key} ${value}` : key;
    if (/\p{Cs}/u.test(written)) throw SyntaxError();
    hasInvisible ||= INVISIBLE.test(written);
    return value;
  });
  if (keys) throw SyntaxError();
  return { loose, strict, hasInvisible };
}

/** @param {any} said @returns {said is Record<string, any>} */
const isTable = (said) => typeof said === "object" && said !== null && !Array.isArray(said);

/** @param {any} said @param {string[]} names */
const hasExactly = (said, names) =>
  isTable(said) && Object.keys(said).length === names.length && names.every((name) => Object.hasOwn(said, name));

// Envelopes

/** @param {string} text @param {number} [length] */
function unspelled(text, length) {
  const raw = atob(text);
  // One document has one envelope: other spellings of the same bytes are none.
  if (btoa(raw) !== text || (length && raw.length !== length)) throw SyntaxError();
  return Uint8Array.from(raw, (letter) => letter.charCodeAt(0));
}

/** @param {Uint8Array} envelope */
function contents(envelope) {
  try {
    const { strict } = parsed(envelope), { signatures } = strict;
    if (!hasExactly(strict, ["document", "signatures"]) || !(signatures.length > 0 && signatures.length <= MOST_SIGNATURES)) {
      throw SyntaxError();
    }
    const pairs = signatures.map((/** @type {any} */ one) => {
      if (!hasExactly(one, ["key", "signature"])) throw SyntaxError();
      return [unspelled(one.key, 32), unspelled(one.signature, 64)];
    });
    return { document: unspelled(strict.document), pairs };
  } catch {
    refuse("envelope");
  }
}

/**
 * Return the bytes of a document that a trusted key has signed.
 * @param {Uint8Array} envelope @param {Uint8Array[]} trust
 */
export async function opened(envelope, trust) {
  must(envelope.length <= MOST_ENVELOPE_BYTES, "size");
  const { document, pairs } = contents(envelope), pinned = trust.map(hex);
  must(document.length <= MOST_BYTES, "size");
  const trusted = pairs.filter((/** @type {Uint8Array[]} */ [key]) => pinned.includes(hex(key)));
  must(trusted.length, "untrusted");
  const signed = joined(utf8(`${FORMAT}\n`), document);
  for (const [raw, signature] of trusted) {
    // A key that is no point of the curve signs nothing.
    const key = crypto.subtle.importKey("raw", raw, "Ed25519", false, ["verify"]);
    must(await key.then((key) => crypto.subtle.verify("Ed25519", key, signature, signed)).catch(() => false), "signature");
  }
  return document;
}

// Fields

/** @typedef {(said: any) => boolean} Check */

/** @param {number} least @param {number} [most] @returns {Check} */
const whole = (least, most = Number.MAX_SAFE_INTEGER) => (said) => Number.isSafeInteger(said) && said >= least && said <= most;
/** @param {RegExp} pattern @returns {Check} */
const fitting = (pattern) => (said) => typeof said === "string" && pattern.test(said);
/** @type {Check} */
const flag = (said) => typeof said === "boolean";
/** @type {Check} */
const nats = (said) => typeof said === "number" && said > 0 && said <= Number.MAX_SAFE_INTEGER;
// What no language takes for a space.
const text = fitting(/[^\s\x1c-\x1f\x85]|\ufeff/), count = whole(1), delay = whole(0);

/** @type {Check} */
function isEpochs(said) {
  return hasExactly(said, ["start", "seconds", "count"]) && delay(said.start) && whole(60)(said.seconds)
    && whole(1, 2 ** 32 - 1)(said.count) && Number.isSafeInteger(said.start + said.seconds * said.count);
}

/** True if devices may send to an origin: https, or http on this machine. @type {Check} */
function isOrigin(said) {
  try {
    const { origin, protocol, hostname } = new URL(said);
    return origin === said && /^([a-z0-9.-]+|\[(?!::ffff:[0-9a-f]+:)[0-9a-f:]+\])$/.test(hostname)
      && (protocol === "https:" || (protocol === "http:" && ["localhost", "127.0.0.1", "[::1]"].includes(hostname)));
  } catch {
    return false;
  }
}

const tag = fitting(/^[a-z]{2,3}$/);

/** True if other languages are well-formed: each with a question where the document has one. @param {any} strict */
function areLanguages({ language = "en", question, languages }) {
  const names = ["title", "purpose", ...(question === undefined ? [] : ["question"])];
  return tag(language) && (question === undefined || text(question)) && (languages === undefined || (
    isTable(languages) && Object.keys(languages).length > 0 && !Object.hasOwn(languages, language)
    && Object.entries(languages).every(([other, said]) => tag(other) && hasExactly(said, [...names, "labels"])
      && isTable(said.labels) && [...names.map((name) => said[name]), ...Object.values(said.labels)].every(text))));
}

/** True if permanent answers have well-formed terms of a second coin. @param {any} strict @param {any} loose */
const isMemo = ({ memo, answers }, loose) => hasExactly(memo, ["epsilon", "truth"]) && fitting(/^[1-9][0-9]{0,19}$/)(memo.truth)
  && nats(loose.memo.epsilon) && answers === "permanent" && loose.memo.epsilon > loose.epsilon;

const NAME = /^[a-z0-9-]{1,64}$/, WORDS = 1n << 64n, MOST_QUESTIONS = 256;

/** True if a draw of questions is one of which the collection is a question. @param {any} strict @param {any} loose @param {number} cost of an answer */
function isSurvey({ survey, name }, loose, cost) {
  if (!hasExactly(survey, ["name", "answers", "epsilon", "questions"]) || !Array.isArray(survey.questions)) return false;
  const pairs = survey.questions, named = fitting(NAME);
  const isPair = (/** @type {any} */ one) => Array.isArray(one) && one.length === 2 && named(one[0]) && fitting(/^[1-9][0-9]{0,19}$/)(one[1]) && BigInt(one[1]) <= WORDS;
  return named(survey.name) && count(survey.answers) && nats(loose.survey.epsilon) && loose.survey.epsilon >= cost
    && pairs.length <= MOST_QUESTIONS && pairs.every(isPair) && new Set(pairs.map(([one]) => one)).size === pairs.length
    && pairs.some(([one]) => one === name) && pairs.reduce((sum, [, share]) => sum + BigInt(share), 0n) === BigInt(survey.answers) * WORDS;
}

/** @type {Record<string, Check>} */
const FIELDS = {
  format: (said) => said === FORMAT,
  name: fitting(NAME),
  version: count,
  state: fitting(/^(open|withdrawn)$/),
  title: text,
  purpose: text,
  contact: text,
  plan: isTable,
  simulated: flag,
  linkable: flag,
  fingerprint: fitting(/^[0-9a-f]{32}$/),
  sampler: isTable,
  answers: fitting(/^(once|fresh|permanent)$/),
  epsilon: nats,
  lifetime: nats,
  epochs: isEpochs,
  late: delay,
  spread: delay,
  least: count,
  retention: count,
  collectors: (said) => Array.isArray(said) && said.length > 0 && said.every((one) => typeof one === "string" && isOrigin(one)),
};

/**
 * Return the content of a document that a trusted key has signed; its promise is not yet checked.
 * @param {Uint8Array} envelope @param {Uint8Array[]} trust
 */
export async function readDocument(envelope, trust) {
  const document = await opened(envelope, trust);
  /** @type {{strict?: any, loose?: any, hasInvisible?: boolean}} */
  let said = {};
  try {
    said = parsed(document);
  } catch { /* Then it is of no format. */ }
  const { strict, loose, hasInvisible } = said, checks = Object.entries(FIELDS);
  must(isTable(strict) && strict.format === FORMAT, "format");
  // What may be left out: a mark, which is nothing but true, terms of a second coin, and what people read in other languages.
  const { listed = true, memo, survey, language, question, languages, ...rest } = strict;
  must(hasExactly(rest, Object.keys(FIELDS)), "field");
  for (const [name, isRight] of checks) must(isRight((isRight === nats ? loose : strict)[name]), "field", name);
  must(listed === true, "field", "listed");
  must(memo === undefined || isMemo(strict, loose), "field", "memo");
  must(areLanguages(strict), "field", "languages");
  const cost = memo ? loose.memo.epsilon : loose.epsilon;
  must(loose.lifetime >= cost, "field", "lifetime");
  must(survey === undefined || isSurvey(strict, loose, cost), "field", "survey");
  // A notice of withdrawal asks nobody, and must reach whoever accepted an earlier version.
  must(loose.state !== "open" || !hasInvisible, "field", "invisible");
  return { id: hex(await sha256(document)), strict, loose };
}

const MOST_NAMES = 6;

/** @param {any} said */
function frozen(said) {
  // What is no object is frozen.
  if (!Object.isFrozen(said)) Object.values(Object.freeze(said)).forEach(frozen);
  return said;
}

/**
 * A collection whose fields were checked.
 * @param {{id: string, strict: any, loose: any}} document @returns {import("./index.js").Collection}
 */
function collectionOf({ id, strict, loose }) {
  const said = frozen({ ...loose, sampler: strict.sampler }), { start, seconds, count } = said.epochs;
  /** @type {[number, number][]} */
  const ranges = said.sampler.sensitive;
  const space = spaceOf(strict.plan.domain, said.plan.domain);
  /** @param {number} code */
  function isSensitive(code) {
    let low = 0, high = ranges.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (ranges[middle][1] <= code) low = middle + 1;
      else high = middle;
    }
    return low < ranges.length && ranges[low][0] <= code;
  }
  // The sampler says what is protected, not the plan: its ranges are what the coin looks at.
  const /** @type {number[]} */ codes = [];
  let inside = 0;
  for (const [start, end] of ranges) {
    const stop = Math.min(end, space.size);
    inside += Math.max(stop - start, 0);
    for (let code = start; code < stop && codes.length < MOST_NAMES; code++) codes.push(code);
  }
  return Object.freeze({
    languages: {}, language: "en", question: "", memo: null, survey: null, ...said, cost: said.memo?.epsilon ?? said.epsilon, listed: said.listed === true, id, space, bots: botsOf(strict.plan, space, isSensitive), isSensitive,
    protected: frozen({ count: inside, codes, names: codes.map((code) => space.name(code)) }),
    epochAt(/** @type {number} */ now) {
      const epoch = Math.floor((now - start) / seconds);
      return epoch >= 0 && epoch < count ? epoch : null;
    },
  });
}

/** True if each language has a word for each label, attribute and tag, and different ones. @param {import("./index.js").Collection} collection */
function haveWords({ languages, space, bots }) {
  const parts = space.kind === "product" ? space.attributes : [];
  const lists = [bots?.tags ?? [], space.kind === "labels" ? space.labels : [], parts.map(([name]) => name),
    ...parts.map(([, part]) => /** @type {any} */ (part).labels)];
  const names = [...new Set(lists.flat())].filter((one) => typeof one === "string");
  return Object.values(languages).every(({ labels }) => hasExactly(labels, names)
    && lists.every((list) => new Set(list.map((/** @type {any} */ one) => (typeof one === "string" ? labels[one] : one))).size === list.length));
}

/** Refuse names that are written in two ways, and names that read alike of which one alone is protected. @param {import("./index.js").Collection} collection */
function checkNames({ plan: { domain, tags }, space, languages, sampler, isSensitive, protected: { count } }) {
  const written = JSON.stringify([domain, tags]), parts = space.kind === "product" ? space.attributes.map(([, part]) => part) : [space];
  must(written === written.normalize(), "plan", "composed");
  if (domain.exact || count === space.size) return;
  const lists = parts.map((part) => (part.kind === "labels" ? part.labels : []));
  for (const words of [null, ...Object.values(languages).map(({ labels }) => labels)]) {
    const names = lists.map((labels) => labels.map((label) => (words && typeof label === "string" ? words[label] : String(label))));
    const pair = unequal(names, sampler.sensitive, isSensitive, Boolean(tags));
    if (pair) refuse("plan", `alike: ${pair.map(quoted).join(", ")}`);
  }
}

/**
 * Refuse a sampler whose integers do not keep the epsilon that is stated.
 * @param {{strict: any, loose: any}} document
 */
export function checkPromise({ strict, loose }) {
  const { sampler, memo } = strict;
  let epsilon = NaN, ofAll = NaN;
  try {
    epsilon = realised(sampler);
    if (memo) ofAll = BigInt(memo.truth) > BigInt(sampler.truth) ? realised({ ...sampler, truth: memo.truth }) : NaN;
  } catch (error) {
    if (error instanceof DeviceError && error.code === "law") throw error;
    // Any other makes no law.
  }
  must(epsilon <= loose.epsilon * MARGIN && (!memo || ofAll <= loose.memo.epsilon * MARGIN), "promise");
}

/**
 * Return a collection whose plan is of the sampler's size, with bots that the coin looks at.
 * @param {{id: string, strict: any, loose: any}} document
 */
export function checkedPlan(document) {
  const collection = planned(document);
  // A notice of withdrawal asks nobody, and must reach whoever accepted an earlier version.
  if (collection.state === "open") checkNames(collection);
  return collection;
}

/** @param {{id: string, strict: any, loose: any}} document */
function planned(document) {
  const { plan, sampler, epsilon: stated } = document.loose;
  try {
    const collection = collectionOf(document), { space, bots, protected: { count } } = collection, added = bots?.count ?? 0;
    const { domain, epsilon, mechanism, version, title, tags, others, cells, ...unknown } = plan;
    if (
      domain && epsilon === stated && isTable(mechanism) && (others === undefined || flag(others)) && !Object.keys(unknown).length
      && space.size + added === sampler.size && sampler.law.size - count === added && (!bots || count < space.size)
      && haveWords(collection)
    ) return collection;
  } catch { /* Then it is none. */ }
  refuse("plan");
}
