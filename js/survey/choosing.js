// Choosing a value: radio buttons, a list or a number; the steps of a product; the map of a grid.

import { button, make } from "./elements.js";
import { map } from "./map.js";

const MOST_BUTTONS = 30;
let made = 0;

/** @typedef {{ words: import("./wording.js").Wording, language: string, word: (label: any) => string }} Read the sentences, and the survey's own words */
/** @typedef {(place: number) => boolean} Sensitive */

/** @param {string} legend @param {any[]} labels @param {(place: number) => void} chosen @param {Sensitive} isSensitive @param {Read} read */
function radios(legend, labels, chosen, isSensitive, { words, language, word }) {
  const group = `choice-${made++}`;
  const lines = labels.map((label, place) => make("label", { class: "choice" },
    make("input", { type: "radio", name: group, change: () => chosen(place) }), make("span", { lang: language, dir: "auto" }, word(label)), " ",
    isSensitive(place) ? make("span", { class: "mark" }, words.say("ask.mark")) : null));
  return make("fieldset", {}, make("legend", { lang: language, dir: "auto" }, legend), ...lines);
}

/** @param {string} legend @param {any[]} labels @param {(place: number) => void} chosen @param {Sensitive} isSensitive @param {Read} read */
function list(legend, labels, chosen, isSensitive, { words, language, word }) {
  const options = labels.map((label, place) => make("option", { value: place },
    isSensitive(place) ? words.say("ask.marked", { name: word(label) }) : word(label)));
  const select = make("select", { change: () => chosen(select.value === "" ? -1 : Number(select.value)) }, make("option", { value: "" }, words.say("ask.choose")), ...options);
  return make("label", { class: "field" }, make("span", { lang: language, dir: "auto" }, legend), select);
}

/** @param {string} legend @param {any} space of numbers in bins @param {(value: any) => void} chosen */
function measure(legend, { low, high }, chosen) {
  const input = make("input", { type: "number", inputmode: "decimal", min: low, max: high, step: "any", change: () => input.reportValidity(), input: () => chosen(input.value === "" ? undefined : Number(input.value)) });
  return make("label", { class: "field" }, make("span", { dir: "auto" }, `${legend} (${low} – ${high})`), input);
}

/** @param {string} legend @param {any} space of a range @param {(value: any) => void} chosen @param {Read} read */
function number(legend, space, chosen, { words }) {
  const first = space.start, last = first + space.size - 1;
  const input = make("input", { type: "number", inputmode: "numeric", min: first, max: last, step: 1, change: () => input.reportValidity(), input: () => chosen(input.value === "" ? undefined : Number(input.value)) });
  return make("label", { class: "field" }, make("span", {}, words.say("ask.whole", { question: legend, first: String(first), last: String(last) })), input);
}

/** @param {string} legend @param {any} space @param {(value: any) => void} chosen @param {Sensitive} isSensitive @param {Read} read @returns {HTMLElement} */
function flat(legend, space, chosen, isSensitive, read) {
  if (space.kind === "number") return measure(legend, space, chosen);
  if (space.kind === "range" && space.size > MOST_BUTTONS) return number(legend, space, chosen, read);
  const values = space.labels ?? Array.from({ length: space.size }, (_, code) => space.start + code);
  const picked = (/** @type {number} */ place) => chosen(values[place]);
  return (values.length > MOST_BUTTONS ? list : radios)(legend, values, picked, isSensitive, read);
}

/** The attributes of a product, one at a time. @param {any} space @param {(value: any) => void} chosen @param {Read} read */
function steps(space, chosen, read) {
  const { attributes } = space, value = new Array(attributes.length).fill(undefined), place = make("div"), { words } = read;
  const says = make("p", { role: "status", class: "small" });
  /** @type {HTMLElement[]} */
  const pages = attributes.map(([name, part], /** @type {number} */ step) => flat(read.word(name), part, (one) => {
    value[step] = one;
    next.disabled = one === undefined;
    chosen([...value]);
  }, () => false, read));
  let at = 0;
  const back = button(words.say("ask.back"), () => show(at - 1)), next = button(words.say("ask.next"), () => show(at + 1));
  /** @param {number} step */
  function show(step, focus = true) {
    at = step;
    place.replaceChildren(pages[at]);
    says.textContent = words.say("ask.step", { step: at + 1, steps: pages.length });
    back.hidden = at === 0;
    next.hidden = at === pages.length - 1;
    next.disabled = value[at] === undefined;
    if (focus) /** @type {HTMLElement | null} */ (pages[at].querySelector("input:checked, input, select"))?.focus();
  }
  show(0, false);
  return make("div", {}, says, place, make("p", {}, back, " ", next));
}

/**
 * An element in which a person chooses a value; `chosen` hears of every change, with -1 for what is no value.
 * @param {any} collection @param {string} legend @param {(value: any, code: number) => void} chosen @param {Read} read @returns {HTMLElement}
 */
export function choice({ space, isSensitive }, legend, chosen, read) {
  const heard = (/** @type {any} */ value) => chosen(value, space.code(value));
  if (space.kind === "grid") return map(space, isSensitive, heard, read.words);
  return space.kind === "product" ? steps(space, heard, read) : flat(legend, space, heard, isSensitive, read);
}
