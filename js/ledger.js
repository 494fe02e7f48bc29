// The ledger: answers, from when they are charged until the charge and what was sent are all that is left of them.

/** @typedef {import("./index.js").Kept["state"]["versions"]} Versions */
/** @typedef {import("./index.js").Answered} Answered */

// What sums of doubles may add.
const MARGIN = 1 + 1e-9;

/** @param {number} sum @param {number} limit */
export const within = (sum, limit) => sum <= limit * MARGIN;
/** @template {{ name: string, [key: string]: any }} T @param {T[]} list @param {string} name @returns {T | undefined} */
export function named(list, name) {
  return list.find((one) => one.name === name);
}
/** @param {Versions} versions @param {string} name */
export const versionsOf = (versions, name) => versions.filter((one) => one.name === name);
/** @param {Versions} versions */
export const answersOf = (versions) => versions.flatMap((one) => one.answers);
/** @param {Answered[]} answers */
export const total = (answers) => answers.reduce((sum, one) => sum + one.charge, 0);
/** When an epoch begins. @param {import("./index.js").Collection["epochs"]} epochs @param {number} epoch */
export const startOf = ({ start, seconds }, epoch) => start + epoch * seconds;

/** Keep of an answer its charge, and what is said of its report. @param {Answered} answer @param {Partial<Answered>} [rest] */
export function settle(answer, rest) {
  const { epoch, charge } = answer;
  for (const name of Object.keys(answer)) delete (/** @type {any} */ (answer)[name]);
  Object.assign(answer, { epoch, charge }, rest);
}

/** @param {Versions} versions @returns {import("./index.js").LogEntry[]} */
export const logOf = (versions) =>
  versions.flatMap(({ name, version, answers }) => {
    const shown = answers.filter((one) => one.record).sort((left, right) => left.epoch - right.epoch);
    return shown.map(({ epoch, record = "", status = null, at = null }) => {
      const outcome = status === "202" ? "sent" : "dropped";
      return { name, version, epoch, record, state: status ? outcome : "waiting", at, status };
    });
  });

/** @param {Versions} versions @returns {Record<string, number>} */
export function spentByName(versions) {
  const spent = new Map();
  for (const { name, answers } of versions) {
    if (answers.length) spent.set(name, (spent.get(name) ?? 0) + total(answers));
  }
  return Object.fromEntries(spent);
}
