// The reading of a name: names that read alike are one name to a person. It is never stored, shown or sent.

// Fixed lists, the same in every language: those of a runtime (\s, categories of Unicode) differ from one to the next.
const INVISIBLE = /[\0-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\xad\u034f\u061c\u0640\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\u{e0000}-\u{e0fff}]/gu;
const DASHES = /[\u2010-\u2015\u2212\ufe58\ufe63\uff0d]/g, SINGLE = /[\u2018-\u201b\u2032\xb4`\u02bc]/g, DOUBLE = /[\u201c-\u201f\xab\xbb\u2033]/g;
const SPACES = /[\t-\r\x1c- \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/g;

/** @param {string} text */
const plain = (text) => text.replace(INVISIBLE, "").replace(DASHES, "-").replace(SINGLE, "'").replace(DOUBLE, '"').normalize("NFKC");

/** Lower case before upper case: upper case alone leaves letters apart. @param {string} text */
export const reading = (text) =>
  plain(plain(text).toLowerCase().toUpperCase().replaceAll("I\u0307", "I").replaceAll("\u2044", "/")).replace(SPACES, " ").replace(/^ | $/g, "");

/** @param {string} run */
const coded = (run) => Array.from(run, (one) => (one === " " ? one : `<U+${one.codePointAt(0)?.toString(16).toUpperCase().padStart(4, "0")}>`)).join("");

/** A name in quotation marks, with the numbers of characters that look like none, or like others. @param {string} name */
export const quoted = (name) => `'${name.replace(INVISIBLE, coded).replace(DASHES, coded).replace(SPACES, coded)}'`;

/** Places of names that read like one before them, each after the place of that one. @param {string[]} names @returns {[number, number][]} */
function alike(names) {
  /** @type {Map<string, number>} */
  const first = new Map();
  return names.flatMap((name, place) => {
    const text = reading(name), found = first.get(text) ?? place;
    first.set(text, found);
    return found === place ? [] : [[found, place]];
  });
}

/**
 * The first two names that read alike though a value with one name is protected and the value with the other is not;
 * where people protect values of their own, though not both are protected for everybody.
 * @param {string[][]} lists names of the values, or of the labels of each attribute @param {readonly (readonly number[])[]} ranges of sensitive codes
 * @param {(code: number) => boolean} isSensitive @param {boolean} canDiffer whether people protect values of their own
 * @returns {string[] | undefined}
 */
export function unequal(lists, ranges, isSensitive, canDiffer) {
  const size = lists.reduce((size, names) => size * names.length, 1);
  let step = size;
  for (const names of lists) {
    const whole = step, twins = alike(names), named = (/** @type {number[]} */ pair) => pair.map((place) => names[place]);
    step /= names.length;
    // Where no range begins or ends, values are of one kind: only the other blocks are looked at.
    /** @type {Map<number, Set<number>>} */
    const places = new Map();
    for (let block = 0; canDiffer && twins.length && block * whole < size; block++) places.set(block, new Set([0]));
    for (const edge of twins.length ? ranges.flat() : []) {
      const block = Math.floor(edge / whole);
      if (edge < size) places.set(block, (places.get(block) ?? new Set([0])).add(edge % step));
    }
    for (const [block, offsets] of places) {
      for (const offset of offsets) {
        const marked = (/** @type {number} */ place) => isSensitive(block * whole + place * step + offset);
        const pair = twins.find(([one, other]) => marked(one) !== marked(other) || (canDiffer && !marked(one)));
        if (pair) return named(pair);
      }
    }
  }
}
