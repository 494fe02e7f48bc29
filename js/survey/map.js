// A grid of places as a map of buttons: one step for each ten rows and columns, so that every button is large enough.

import { beside, button, make } from "./elements.js";

const MOST = 10;
const ARROWS = { ArrowUp: [1, 0], ArrowDown: [-1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

/** A stretch of rows or columns in at most ten parts. @param {number} start @param {number} stop @returns {[number, number][]} */
function parts(start, stop) {
  const count = Math.min(stop - start, MOST), cut = (/** @type {number} */ part) => start + Math.floor(((stop - start) * part) / count);
  return Array.from({ length: count }, (_, part) => [cut(part), cut(part + 1)]);
}

/** A border in degrees. @param {number[]} ends @param {number} count @param {number} part */
const degrees = ([low, high], count, part) => (low + ((high - low) * part) / count).toFixed(3);

/**
 * @param {any} space of a grid @param {(code: number) => boolean} isSensitive @param {(value: any) => void} chosen
 * @param {import("./wording.js").Wording} words @returns {HTMLElement}
 */
export function map(space, isSensitive, chosen, words) {
  const { rows, cols, lat, lon } = space, place = make("div", { class: "map" }), says = make("p", { role: "status" });
  const out = button(words.say("map.whole"), () => draw([0, rows], [0, cols], true));

  /** The borders of some rows and columns, in words. @param {[number, number]} high @param {[number, number]} wide */
  const between = (high, wide) => words.say("map.at", {
    south: degrees(lat, rows, high[0]), north: degrees(lat, rows, high[1]), west: degrees(lon, cols, wide[0]), east: degrees(lon, cols, wide[1]),
  });

  /** @param {[number, number]} high @param {[number, number]} wide */
  function sensitive(high, wide) {
    let count = 0;
    for (let row = high[0]; row < high[1]; row++) for (let col = wide[0]; col < wide[1]; col++) count += Number(isSensitive(row * cols + col));
    return count;
  }

  /** @param {[number, number]} high rows, from below @param {[number, number]} wide columns @param {boolean} focus */
  function draw(high, wide, focus) {
    const across = parts(...wide), upward = parts(...high).reverse(), cells = new Map();
    place.replaceChildren();
    place.style.setProperty("--columns", String(across.length));
    upward.forEach((some, line) => across.forEach((more, column) => {
      const cell = one(some, more, `${String.fromCharCode(65 + column)}${line + 1}`);
      cell.tabIndex = cells.size ? -1 : 0;
      cell.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => move(event, cells, line, column));
      cells.set(`${line} ${column}`, cell);
      place.append(cell);
    }));
    out.hidden = high[0] === 0 && high[1] === rows && wide[0] === 0 && wide[1] === cols;
    if (focus) place.firstElementChild?.focus();
  }

  /** @param {[number, number]} some @param {[number, number]} more @param {string} name */
  function one(some, more, name) {
    const places = (some[1] - some[0]) * (more[1] - more[0]), hidden = sensitive(some, more);
    const counted = (/** @type {number} */ count) => words.counted("place", count);
    const guard = hidden === places ? words.say("map.protected") : hidden ? words.say("map.some", { places: counted(hidden) }) : words.say("map.clear");
    const where = between(some, more);
    // On the button itself the title would be read after the same words of the label.
    return button(make("span", { title: where }, name), (/** @type {any} */ event) => {
      if (places > 1) return draw(some, more, true);
      for (const other of place.children) other.setAttribute("aria-pressed", String(other === event.currentTarget));
      choose(some[0] * cols + more[0]);
    }, {
      class: hidden === places ? "protected" : hidden ? "partly" : "", "aria-pressed": places > 1 ? null : "false",
      "aria-label": words.say("map.label", { name, where, places: counted(places), guard }),
    });
  }

  /** @param {KeyboardEvent} event @param {Map<string, any>} cells @param {number} line @param {number} column */
  function move(event, cells, line, column) {
    const [up, right] = ARROWS[/** @type {keyof typeof ARROWS} */ (event.key)] ?? [], to = cells.get(`${line - (up ?? 0)} ${column + (right ?? 0)}`);
    if (up === undefined || !to) return;
    event.preventDefault();
    for (const cell of cells.values()) cell.tabIndex = cell === to ? 0 : -1;
    to.focus();
  }

  /** @param {number} code */
  function choose(code) {
    const row = Math.floor(code / cols), col = code % cols;
    says.textContent = words.say("map.chosen", { where: between([row, row + 1], [col, col + 1]) });
    chosen([lat[0] + ((lat[1] - lat[0]) * (row + 0.5)) / rows, lon[0] + ((lon[1] - lon[0]) * (col + 0.5)) / cols]);
  }

  function locate() {
    says.textContent = words.say("map.looking");
    navigator.geolocation.getCurrentPosition(({ coords }) => {
      const code = space.code([coords.latitude, coords.longitude]);
      if (code < 0) says.textContent = words.say("map.outside");
      else {
        draw([0, rows], [0, cols], false);
        choose(code);
      }
    }, () => (says.textContent = words.say("map.unknown")));
  }

  draw([0, rows], [0, cols], false);
  const here = "geolocation" in navigator ? beside(button(words.say("map.locate"), locate), words.say("map.located")) : null;
  return make("fieldset", {}, make("legend", {}, words.say("map.heading")), make("p", { class: "small" }, `${words.say("map.help")} `,
    make("span", { class: "key protected" }, words.say("map.protected")), " ", make("span", { class: "key partly" }, words.say("map.partly")), " ",
    make("span", { class: "key" }, words.say("map.clear"))), place, make("p", {}, out), here, says);
}
