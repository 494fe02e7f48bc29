// What a survey waits for, in words: whether it can be answered, what was answered, where the report is, and what comes next.

import { within } from "../ledger.js";

const TAKEN = 202;

/** @typedef {import("./wording.js").Wording} Wording */
/** @typedef {{ collection: any, answered: number[], spent: Record<string, number>, left: number, isLasting: boolean, now: number }} Known */

/**
 * The standing of a survey for this device: `open` where it can be answered, and otherwise why it cannot, with the sentences.
 * @param {Known} known @param {Wording} words
 * @returns {{ kind: "open" | "withdrawn" | "early" | "over" | "answered" | "full" | "forgetful", lines: string[] }}
 */
export function standing({ collection, answered, spent, left, isLasting, now }, words) {
  const { epochs, answers, cost, lifetime, name } = collection, stop = epochs.start + epochs.count * epochs.seconds;
  const epoch = collection.epochAt(now), last = answered.at(-1), starts = (/** @type {number} */ one) => words.date(epochs.start + one * epochs.seconds);
  const start = starts(0), end = words.date(stop);
  if (collection.state !== "open") return { kind: "withdrawn", lines: [words.say("standing.withdrawn")] };
  if (last !== undefined && (answers === "once" || epoch === last || epoch === null)) {
    const said = words.say("standing.answered", { start: starts(last), end: starts(last + 1) });
    const next = answers === "once" ? words.say("standing.once") : now < stop - epochs.seconds ? words.say("standing.next", { start: starts(last + 1) })
      : words.say("standing.last");
    return { kind: "answered", lines: [said, next] };
  }
  if (now < epochs.start) return { kind: "early", lines: [words.say("standing.early", { start, end })] };
  if (epoch === null) return { kind: "over", lines: [words.say("standing.over", { end })] };
  if (!isLasting && answers !== "once" && !collection.simulated) return { kind: "forgetful", lines: [words.say("standing.forgetful")] };
  const isUsedUp = !within(cost, left) || (answers !== "permanent" && !within((spent[name] ?? 0) + cost, lifetime));
  return isUsedUp && answers !== "permanent" ? { kind: "full", lines: [words.say("outcome.exhausted")] } : { kind: "open", lines: [] };
}

/**
 * The sentences on the report of the last answer.
 * @param {any} collection @param {{ state: string, status: string | null, at: number | null } | undefined} entry of the log
 * @param {number} last epoch that was answered @param {number | undefined} status of the last try; 0 where nobody answered
 * @param {Wording} words
 */
export function whereabouts({ epochs, late, spread }, entry, last, status, words) {
  if (!entry) return words.say("report.erased");
  if (entry.state === "sent") return words.say("report.sent", { time: words.date(entry.at ?? epochs.start + last * epochs.seconds) });
  if (entry.status === "late") return words.say("report.late");
  if (entry.state === "dropped") return words.say("report.refused");
  const end = words.date(epochs.start + (last + 1) * epochs.seconds + late), waits = words.say("report.waits", { end });
  if (status === 0) return `${words.say("report.offline")} ${waits}`;
  if (status !== undefined && status !== TAKEN) return `${words.say("report.busy")} ${waits}`;
  return spread ? words.say("report.delayed", { length: words.length(spread), end }) : waits;
}
