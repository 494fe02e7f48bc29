// Elements of a page, made without markup: nothing that a collection says becomes anything but text.

/**
 * Make an element.
 * @param {string} name @param {Record<string, any>} [given] attributes; functions are listeners
 * @param {...(Node | string | null)} inside
 * @returns {any}
 */
export function make(name, given = {}, ...inside) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(given)) {
    if (typeof value === "function") element.addEventListener(key, value);
    else if (value === true) element.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(key, String(value));
  }
  element.append(...inside.filter((one) => one !== null));
  return element;
}

/** @param {string | Node} text @param {(event?: any) => any} click @param {Record<string, any>} [given] */
export const button = (text, click, given = {}) => make("button", { type: "button", click, ...given }, text);

let described = 0;

/** A button, and what it does. @param {HTMLElement} control @param {string} text */
export function beside(control, text) {
  const id = `does-${++described}`;
  control.setAttribute("aria-describedby", id);
  return make("p", { class: "beside" }, control, make("span", { class: "small", id }, text));
}
