// Choosing a value: radio buttons, a list or a number; the steps of a product; the map of a grid.

import { button, make } from "./elements.js";
import { map } from "./map.js";

const MOST_BUTTONS = 30;
let made = 0;

/** @param {string} legend @param {string[]} names @param {(place: number) => void} chosen @param {(place: number) => boolean} isSensitive */
function radios(legend, names, chosen, isSensitive) {
  const group = `choice-${made++}`;
  const lines = names.map((name, place) => make("label", { class: "choice" },
    make("input", { type: "radio", name: group, change: () => chosen(place) }), make("span", {}, name), " ",
    isSensitive(place) ? make("span", { class: "mark" }, "protected") : null));
  return make("fieldset", {}, make("legend", {}, legend), ...lines);
}

/** @param {string} legend @param {string[]} names @param {(place: number) => void} chosen @param {(place: number) => boolean} isSensitive */
function list(legend, names, chosen, isSensitive) {
  const options = names.map((name, place) => make("option", { value: place }, isSensitive(place) ? `${name} (protected)` : name));
  const select = make("select", { change: () => chosen(select.value === "" ? -1 : Number(select.value)) }, make("option", { value: "" }, "Choose …"), ...options);
  return make("label", { class: "field" }, make("span", {}, legend), select);
}

/** @param {string} legend @param {any} space of a range @param {(value: any) => void} chosen */
function number(legend, space, chosen) {
  const last = space.start + space.size - 1;
  const input = make("input", { type: "number", inputmode: "numeric", min: space.start, max: last, step: 1, input: () => chosen(input.value === "" ? undefined : Number(input.value)) });
  return make("label", { class: "field" }, make("span", {}, `${legend} (a whole number from ${space.start} to ${last})`), input);
}

/** @param {string} legend @param {any} space @param {(value: any) => void} chosen @param {(code: number) => boolean} isSensitive @returns {HTMLElement} */
function flat(legend, space, chosen, isSensitive) {
  if (space.kind === "range" && space.size > MOST_BUTTONS) return number(legend, space, chosen);
  const values = space.labels ?? Array.from({ length: space.size }, (_, code) => space.start + code);
  const picked = (/** @type {number} */ place) => chosen(values[place]);
  return (values.length > MOST_BUTTONS ? list : radios)(legend, values.map(String), picked, isSensitive);
}

/** The attributes of a product, one at a time. @param {any} space @param {(value: any) => void} chosen */
function steps(space, chosen) {
  const { attributes } = space, value = new Array(attributes.length).fill(undefined), place = make("div");
  const says = make("p", { role: "status", class: "small" });
  /** @type {HTMLElement[]} */
  const pages = attributes.map(([name, part], /** @type {number} */ step) => flat(name, part, (one) => {
    value[step] = one;
    next.disabled = one === undefined;
    chosen([...value]);
  }, () => false));
  let at = 0;
  const back = button("Back", () => show(at - 1)), next = button("Next", () => show(at + 1));
  /** @param {number} step */
  function show(step, focus = true) {
    at = step;
    place.replaceChildren(pages[at]);
    says.textContent = `Step ${at + 1} of ${pages.length}`;
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
 * @param {any} collection @param {string} legend @param {(value: any, code: number) => void} chosen @returns {HTMLElement}
 */
export function choice({ space, isSensitive }, legend, chosen) {
  const heard = (/** @type {any} */ value) => chosen(value, space.code(value));
  if (space.kind === "grid") return map(space, isSensitive, heard);
  return space.kind === "product" ? steps(space, heard) : flat(legend, space, heard, isSensitive);
}
