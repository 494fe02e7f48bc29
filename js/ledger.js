// The ledger: answers, from when they are charged until the charge and what was sent are all that is left of them.

/** @typedef {import("./index.js").Kept} Kept */
/** @typedef {import("./index.js").Answered} Answered */

// What sums of doubles may add.
const MARGIN = 1 + 1e-9;

/** @param {number} sum @param {number} limit */
export const within = (sum, limit) => sum <= limit * MARGIN;
/** @template {{name: string}} T @param {T[]} list @param {string} name */
export const named = (list, name) => list.find((one) => one.name === name);
/** @param {number[]} numbers */
export const total = (numbers) => numbers.reduce((sum, number) => sum + number, 0);

/** Keep of an answer its charge, and what is said of its report. @param {Answered} answer @param {Partial<Answered>} rest */
export function settle(answer, rest) {
  for (const name of /** @type {const} */ (["record", "id", "due", "tries", "status", "at"])) delete answer[name];
  Object.assign(answer, rest);
}

/** @param {Kept["state"]} state */
export function logOf({ versions, answers }) {
  const shown = answers.filter((one) => one.record).sort((left, right) => left.version - right.version || left.epoch - right.epoch);
  return shown.map(({ version: place, epoch, record = "", status = null, at = null }) => {
    const { name, version } = versions[place], outcome = status === "202" ? "sent" : "dropped";
    return { name, version, epoch, record, state: status === null ? "waiting" : outcome, at, status };
  });
}

/** @param {Kept["state"]} state @returns {Record<string, number>} */
export function spentByName({ versions, answers }) {
  const names = [...new Set(answers.map((one) => versions[one.version].name))];
  return Object.fromEntries(names.map((name) => [
    name, total(answers.filter((one) => versions[one.version].name === name).map((one) => one.charge)),
  ]));
}
