// The sentences that people read before they answer, from what the sampler does and not from what the plan calls it; in the order
// and, dates and numbers apart, in the very bytes of discreet.protocol.notice.

import { recordWidth } from "../sampler.js";

/** @typedef {import("./wording.js").Wording} Wording */

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

/**
 * The same in a few words, on one screen.
 * @param {any} collection @param {Wording} words @param {string} [published] the sentence on what is published
 * @returns {[string, string[]][]}
 */
export function brief({ protected: { count }, space, bots, cost }, words, published) {
  const isAll = count === space.size, size = space.size;
  /** @type {[string, (string | false | null | undefined | 0)[]][]} */
  const parts = [
    ["sent", [words.say("brief.sent")]],
    ["protected", [isAll ? words.say("brief.all") : count && words.say("brief.some", { count, size }), bots && words.say("brief.secret"),
      words.say("brief.sure", { share: sureness(cost) })]],
    ["not", [!isAll && words.say("brief.clear"), words.say("brief.seen")]],
    ["published", [published]],
  ];
  return parts.map(([part, sentences]) => [part, /** @type {string[]} */ (sentences.filter(Boolean))]);
}
