// The sentences that people read before they answer, from what the sampler does and not from what the plan calls it.

import { recordWidth } from "../sampler.js";
import { counted } from "./elements.js";
import { date, length, waiting } from "./standing.js";

/** @param {number} share */
const percent = (share) => (share > 0.999 ? "more than 99.9%" : `${(100 * share).toFixed(share > 0.99 || share < 0.01 ? 1 : 0)}%`);
/** @param {number} epsilon */
const sureness = (epsilon) => percent(1 / (1 + Math.exp(-epsilon)));

/** The sentences on what is sent. @param {any} collection */
export function whatIsSent(collection) {
  const { sampler, collectors, retention, spread } = collection, clear = Number(BigInt(sampler.truth)) / 2 ** 64;
  const isAllProtected = collection.protected.count === collection.space.size;
  return [
    `One report of ${counted(recordWidth(sampler), "byte")}, drawn by chance on this device, with a random number that is used once. No name, no cookie, and the same length whatever you answer.`,
    isAllProtected ? null : `If your answer is not protected, it is sent as it is with a chance of ${percent(clear)}.`,
    `It goes to ${collectors.join(", ")} and is kept for ${counted(retention, "day")}.`,
    spread ? `It is sent at a random moment after you answer. ${waiting(spread)}` : null,
  ].filter((one) => one !== null);
}

/** The sentences on protection, and how good it is. @param {any} collection */
export function whatIsProtected({ protected: { count, names }, space, bots, epsilon }) {
  const more = count > names.length ? ` and ${(count - names.length).toLocaleString("en")} more` : "";
  const places = space.kind === "grid" && count ? `${counted(count, "place")} of the map, around ` : "";
  const which = count === space.size ? `All ${counted(count, "value")}` : `${places}${names.join("; ")}${more}`;
  const secret = bots ? `${count ? ", and" : ""} what you mark as secret` : "";
  return [
    `${which}${secret}.`,
    `Whoever held one of these for as likely as not (50%) before can be at most ${sureness(epsilon)} sure of it after your report; whoever held it for 1% likely, at most ${percent(1 / (1 + 99 * Math.exp(-epsilon)))} (epsilon = ${epsilon.toPrecision(3)}).`,
  ];
}

/** The sentences on what is not protected or hidden. @param {any} collection */
export function whatIsNot(collection) {
  const rest = collection.space.size - collection.protected.count;
  return [
    rest ? `${counted(rest, "other value")} of ${collection.space.size.toLocaleString("en")}: your answer may be sent as it is${collection.bots ? ", unless you mark it as secret" : ""}.` : null,
    "That you take part, and when, and the address of your connection while it lasts.",
    "A report that was sent cannot be taken back: it bears no name.",
    collection.answers === "permanent" ? "That and when your answer changes: the same answer gives the same report." : null,
    collection.linkable ? "Reports of this collection may be as good as names: whoever compares them can tell which come from one person." : null,
  ].filter((one) => one !== null);
}

/** The sentences on who else is asked: whoever asks each person under a document of their own learns who said what. @param {any} collection */
export function whoElse({ listed, id }) {
  return [
    listed ? "Whoever asks marks this survey as public: anybody finds it in the list of its collector."
      : "This survey is in no public list. It may ask few people, or you alone: then your report is told apart from all others.",
    `Its number is ${id.replace(/.{8}(?=.)/g, "$& ")}. Ask others which number they see: another number is another survey.`,
  ];
}

/** The sentences on frequency, end and cost. @param {any} collection */
export function howOften({ answers, epochs, epsilon, lifetime }) {
  const end = epochs.start + epochs.seconds * epochs.count, when = `from ${date(epochs.start)} to ${date(end)}`;
  const inAll = `at most ${lifetime.toPrecision(3)} in all, after which 50% may have become ${sureness(lifetime)}`;
  if (answers === "once") {
    return [`You answer once, ${when}.`, lifetime > epsilon ? `Later versions of this survey may ask again: the costs (epsilon) add up to ${inAll}.` : null].filter((one) => one !== null);
  }
  const often = `You may answer once every ${length(epochs.seconds).replace(/^1 /, "")}, ${when}.`;
  const cost = answers === "fresh"
    ? `Every answer is a new report, and the costs (epsilon) add up to ${inAll}; then nothing more is sent.`
    : `Only a new answer costs anything; the costs (epsilon) add up to ${inAll}. Then your last report is repeated.`;
  return [often, cost];
}
