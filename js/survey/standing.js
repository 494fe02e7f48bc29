// What a survey waits for, in words: whether it can be answered, what was answered, where the report is, and what comes next.

import { within } from "../ledger.js";

const TAKEN = 202;

/** @param {number} seconds */
export const date = (seconds) => new Date(seconds * 1000).toLocaleString("en", { dateStyle: "medium", timeStyle: "short" });
/** @param {any} epochs @param {number} epoch */
const between = ({ start, seconds }, epoch) => `between ${date(start + epoch * seconds)} and ${date(start + (epoch + 1) * seconds)}`;

/** @typedef {{ collection: any, answered: number[], spent: Record<string, number>, left: number, isLasting: boolean, now: number }} Known */

/**
 * The standing of a survey for this device: `open` where it can be answered, and otherwise why it cannot, with the sentences.
 * @param {Known} known @returns {{ kind: "open" | "withdrawn" | "early" | "over" | "answered" | "full" | "forgetful", lines: string[] }}
 */
export function standing({ collection, answered, spent, left, isLasting, now }) {
  const { epochs, answers, epsilon, lifetime, name } = collection, end = epochs.start + epochs.count * epochs.seconds;
  const epoch = collection.epochAt(now), last = answered.at(-1);
  if (collection.state !== "open") {
    return { kind: "withdrawn", lines: ["This survey was withdrawn by whoever asked: it takes no more answers. What this device kept for it is erased, and there is nothing that you need to do. Reports that were sent before bear no name, and cannot be taken back."] };
  }
  if (last !== undefined && (answers === "once" || epoch === last || epoch === null)) {
    const said = `You answered this survey ${between(epochs, last)}. What you chose is kept nowhere, not on this device either.`;
    const next = answers === "once" ? "This survey asks only once." : now < end - epochs.seconds ? `This survey asks again from ${date(epochs.start + (last + 1) * epochs.seconds)} on; come back then, or leave this page open.`
      : "That was the last time.";
    return { kind: "answered", lines: [said, next] };
  }
  if (now < epochs.start) {
    return { kind: "early", lines: [`This survey is not open yet: it takes answers from ${date(epochs.start)} to ${date(end)}. You can read here what it asks for. Come back then, or leave this page open: it will ask you.`] };
  }
  if (epoch === null) return { kind: "over", lines: [`This survey is over: it took answers until ${date(end)}. There is nothing that you need to do.`] };
  if (!isLasting && answers !== "once" && !collection.simulated) {
    return { kind: "forgetful", lines: ["This browser lets the page remember nothing (a private window?), and this survey asks again: it cannot be taken here. Open it in a window that is not private."] };
  }
  const isUsedUp = !within(epsilon, left) || (answers !== "permanent" && !within((spent[name] ?? 0) + epsilon, lifetime));
  return isUsedUp && answers !== "permanent" ? { kind: "full", lines: [USED_UP] } : { kind: "open", lines: [] };
}

export const USED_UP = "Your budget is used up: another report would tell more of you than this survey, or this site, may learn. Nothing more is asked or sent, and it is not refilled; there is nothing that you need to do.";

/**
 * The sentences on the report of the last answer.
 * @param {any} collection @param {{ state: string, status: string | null, at: number | null } | undefined} entry of the log
 * @param {number} last epoch that was answered @param {number | undefined} status of the last try; 0 where nobody answered
 */
export function whereabouts({ epochs, late, spread }, entry, last, status) {
  if (!entry) return "Its report is erased from this device.";
  if (entry.state === "sent") return `Your report was sent${entry.at === null ? "" : ` on ${date(entry.at)}`}. Thank you.`;
  if (entry.status === "late") return "Your report could not be sent in time, and is not sent any more.";
  if (entry.state === "dropped") return "Your report was refused by the collector, and is not sent again.";
  const until = date(epochs.start + (last + 1) * epochs.seconds + late);
  const next = `Your report waits on this device. It is sent while this page is open, or when you come back, until ${until}; after that it is not sent any more.`;
  if (status === 0) return `The collector cannot be reached; you may be offline. ${next}`;
  if (status !== undefined && status !== TAKEN) return `The collector takes no reports at the moment: it is full or busy. ${next}`;
  return spread ? `Your report waits for a random moment, so that nobody learns when you answered. ${waiting(spread)} After ${until} it is not sent any more.` : next;
}

const UNITS = /** @type {const} */ ([[86400, "day"], [3600, "hour"], [60, "minute"], [1, "second"]]);

/** A length of time in its largest unit. @param {number} seconds */
export function length(seconds) {
  const [size, name] = UNITS.find(([size]) => seconds % size === 0) ?? [1, "second"], count = seconds / size;
  return `${count.toLocaleString("en")} ${name}${count === 1 ? "" : "s"}`;
}

/** The sentence on a random delay, for who answers on a page. @param {number} spread */
export const waiting = (spread) => `It leaves within ${length(spread)}, and a browser sends only while this page is open: leave it open, or come back.`;
