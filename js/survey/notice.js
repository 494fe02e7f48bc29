// The sentences that people read before they answer, from what the sampler does and not from what the plan calls it; in the order
// and, dates and numbers apart, in the very bytes of discreet.protocol.notice.

import { recordWidth } from "../sampler.js";

/** @typedef {import("./wording.js").Wording} Wording */

const MOST_LISTED = 100;

/** The certainty that 50%, or one against some odds, becomes at most. @param {number} epsilon @param {number} [odds] against it */
const sureness = (epsilon, odds = 1) => 1 / (1 + odds * Math.exp(-epsilon));

/** The texts of a collection: in a language if it has that, and otherwise in its own. @param {any} collection @param {string} wanted */
export function textsOf({ title, purpose, question, language, languages }, wanted) {
  const has = Object.hasOwn(languages, wanted), said = has ? languages[wanted] : { title, purpose, question, labels: {} };
  const { labels } = said;
  return {
    ...said, language: has ? wanted : language, question: said.question || said.title,
    /** A label, attribute or tag. @param {any} label */
    word: (label) => (typeof label === "string" && Object.hasOwn(labels, label) ? labels[label] : String(label)),
  };
}

/** @param {any} collection @param {Wording} words */
function sent({ sampler, memo, collectors, retention, spread, protected: { count }, space }, words) {
  return [
    words.say("sent.report", { size: words.counted("byte", recordWidth(sampler)) }),
    count < space.size && words.say("sent.clear", { share: Number(BigInt(memo?.truth ?? sampler.truth)) / 2 ** 64 }),
    words.say("sent.goes", { collectors: collectors.join(", "), days: words.counted("day", retention) }),
    spread && words.say("sent.delay"),
    spread && words.say("sent.open", { length: words.length(spread) }),
  ];
}

/** @param {any} collection @param {Wording} words */
function guarded(collection, words) {
  const { protected: { count, codes }, space, bots, cost } = collection, more = count - codes.length;
  const { word } = textsOf(collection, words.language), names = codes.map((/** @type {number} */ code) => space.name(code, word)).join("; ");
  const which = space.kind === "grid" ? words.say("protected.places", { places: words.counted("place", count), names: names + (more ? "; …" : "") })
    : words.say(more ? "protected.more" : "protected.names", { names, count: more });
  return [
    count === space.size ? words.say("protected.all", { values: words.counted("value", count) }) : count && which,
    bots && words.say("protected.secret"),
    words.say("protected.sure", { share: sureness(cost), rare: sureness(cost, 99), epsilon: cost }),
  ];
}

/** @param {any} collection @param {Wording} words */
function unguarded({ space, protected: { count }, bots, answers, memo, linkable }, words) {
  const rest = space.size - count;
  return [
    rest && words.say(bots ? "not.marked" : "not.clear", { values: words.counted("other value", rest), size: space.size }),
    words.say("not.seen"),
    words.say("not.back"),
    answers === "permanent" && words.say(memo ? "not.memo" : "not.changes"),
    linkable && words.say("not.linkable"),
  ];
}

/** @param {any} collection @param {Wording} words */
function often({ answers, epochs, epsilon, cost, memo, survey, lifetime }, words) {
  const start = words.date(epochs.start), end = words.date(epochs.start + epochs.seconds * epochs.count), isOnce = answers === "once";
  const hasMore = !isOnce || lifetime > cost;
  return [
    survey && words.say("often.drawn", { count: survey.questions.length, answers: survey.answers, epsilon: survey.epsilon }),
    isOnce ? words.say("often.once", { start, end }) : words.say("often.epochs", { length: words.length(epochs.seconds), start, end }),
    memo && words.say("often.memo", { share: sureness(epsilon), epsilon }),
    hasMore && words.say(isOnce ? "often.again" : answers === "fresh" ? "often.fresh" : "often.permanent"),
    hasMore && words.say("often.cost", { lifetime, share: sureness(lifetime) }),
  ];
}

/** The sentences on others: whoever asks each person under a document of their own learns who said what. @param {any} collection @param {Wording} words */
function others({ listed, id }, words) {
  return [words.say(listed ? "others.listed" : "others.unlisted"), words.say("others.number", { number: id.replace(/.{8}(?=.)/g, "$& ") })];
}

const SECTIONS = { sent, protected: guarded, not: unguarded, often, others };

/** The sentences of each part. @param {any} collection @param {Wording} words @returns {[string, string[]][]} */
export const notice = (collection, words) =>
  Object.entries(SECTIONS).map(([part, sentences]) => [part, /** @type {string[]} */ (sentences(collection, words).filter(Boolean))]);

/** The most answers that a person may still pay for under a name. @param {any} collection @param {number} spent */
const mostAnswers = ({ answers, epochs, lifetime, cost }, spent) =>
  Math.max(Math.min(Math.floor(((lifetime - spent) / cost) * (1 + 1e-8)), answers === "once" ? 1 : epochs.count), 0);

/** The number of reports, and their time. @param {any} collection @param {Wording} words @param {number} spent */
function reports(collection, words, spent) {
  const { answers, epochs, lifetime, cost } = collection, start = words.date(epochs.start), end = words.date(epochs.start + epochs.seconds * epochs.count);
  if (answers === "once") return [words.say("brief.sent"), lifetime > cost && words.say("often.again")];
  // A permanent answer is sent again without cost.
  const count = answers === "permanent" ? epochs.count : mostAnswers(collection, spent);
  return [words.say("brief.reports", { count, length: words.length(epochs.seconds), start, end })];
}

/** The certainty of others after one report, after all of them, and with earlier versions. @param {any} collection @param {Wording} words @param {number} spent */
function certainty(collection, words, spent) {
  const { cost, lifetime } = collection, sum = spent + cost * mostAnswers(collection, spent);
  return [
    words.say("brief.sure", { share: sureness(cost) }),
    spent ? words.say("brief.renewed", { share: sureness(spent), total: sureness(sum) }) : lifetime > cost && words.say("brief.total", { total: sureness(lifetime) }),
  ];
}

/**
 * The same in a few words, on one screen.
 * @param {any} collection @param {Wording} words @param {(string | undefined)[]} [published] the sentences on what is published
 * @param {number} [spent] under earlier versions of this name
 * @returns {[string, string[]][]}
 */
export function brief(collection, words, published = [], spent = 0) {
  const { protected: { count }, space, bots } = collection, isAll = count === space.size, size = space.size;
  /** @type {[string, (string | false | null | undefined | 0)[]][]} */
  const parts = [
    ["sent", reports(collection, words, spent)],
    ["protected", [isAll ? words.say("brief.all") : count && words.say("brief.some", { count, size }), bots && words.say("brief.secret"),
      ...certainty(collection, words, spent)]],
    ["not", [!isAll && words.say("brief.clear"), words.say("brief.seen")]],
    ["published", published],
  ];
  return parts.map(([part, sentences]) => [part, /** @type {string[]} */ (sentences.filter(Boolean))]);
}

/**
 * The answers of each list, for the page to mark; a sentence on the protected ones, where they are not listed.
 * @param {any} collection @param {Wording} words @returns {{ lists: [string, any[]][], lines: string[] }}
 */
export function asked(collection, words) {
  const { space, protected: { count } } = collection, [which] = guarded(collection, words).filter(Boolean), lines = count ? [which] : [];
  if (space.kind === "product") return { lists: space.attributes.map(([name, part]) => [name, labelsOf(part)]), lines };
  return { lists: [["", labelsOf(space)]], lines: labelsOf(space).length ? [] : lines };
}

/** The labels of a list, or the numbers of a short range. @param {any} space @returns {any[]} */
const labelsOf = ({ kind, labels, start, size }) => labels ?? (kind === "range" && size <= MOST_LISTED ? Array.from({ length: size }, (_, code) => start + code) : []);
