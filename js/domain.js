// The values of a collection: labels, ranges, products and grids to codes, and secret places to bots.

/** @typedef {import("./index.js").Space} Space */

const LARGEST = 2 ** 31;
/** @type {(said: any) => said is number} */
const isInteger = (said) => Number.isSafeInteger(said);

/** @param {any} condition @returns {asserts condition} */
function must(condition) {
  if (!condition) throw new RangeError("The plan is none that is known.");
}

/** @param {any} labels a list of different integers, or of different texts @returns {Space} */
function flat(labels) {
  must(Array.isArray(labels) && labels.length);
  must(labels.every(isInteger) || labels.every((label) => typeof label === "string"));
  /** @type {Map<any, number>} */
  const codes = new Map();
  labels.forEach((label, code) => codes.set(label, code));
  must(codes.size === labels.length);
  return { kind: "labels", size: labels.length, labels, code: (value) => codes.get(value) ?? -1, name: (code) => String(labels[code]) };
}

/** @param {any} range @returns {Space} */
function range(range) {
  must(Array.isArray(range) && range.length === 2 && range.every(isInteger) && range[0] < range[1]);
  const [start, stop] = range, size = stop - start;
  return {
    kind: "range", size, start,
    code: (value) => (isInteger(value) && value >= start && value < stop ? value - start : -1),
    name: (code) => String(start + code),
  };
}

/** The last attribute varies fastest. @param {any} pairs names and their labels, in order @returns {Space} */
function product(pairs) {
  must(Array.isArray(pairs) && pairs.length && pairs.every((pair) => pair.length === 2 && typeof pair[0] === "string"));
  /** @type {[string, Space][]} */
  const attributes = pairs.map(([name, labels]) => [name, flat(labels)]);
  must(new Set(attributes.map(([name]) => name)).size === pairs.length);
  return {
    kind: "product", size: attributes.reduce((size, [, space]) => size * space.size, 1), attributes,
    code(value) {
      const parts = inOrder(value, attributes.map(([name]) => name));
      return attributes.reduce((code, [, space], place) => {
        const part = space.code(parts[place]);
        return code < 0 || part < 0 ? -1 : code * space.size + part;
      }, parts.length === attributes.length ? 0 : -1);
    },
    name(code) {
      const names = [];
      for (const [, space] of [...attributes].reverse()) {
        names.unshift(space.name(code % space.size));
        code = Math.floor(code / space.size);
      }
      return names.join(", ");
    },
  };
}

/** The parts of a value: a list as it is, of an object those of exactly these names. @param {any} value @param {string[]} names @returns {any[]} */
function inOrder(value, names) {
  if (Array.isArray(value)) return value;
  const fits = typeof value === "object" && value !== null && Object.keys(value).length === names.length;
  return fits ? names.map((name) => (Object.hasOwn(value, name) ? value[name] : undefined)) : [];
}

/** @param {any} strict integers, as written @param {any} loose borders @returns {Space} */
function grid(strict, loose) {
  const { rows, cols } = strict, { lat, lon } = loose;
  must([lat, lon].every((pair) => Array.isArray(pair) && pair.length === 2 && pair.every(Number.isFinite) && pair[0] < pair[1]));
  must(Object.keys(strict).length === 4 && isInteger(rows) && isInteger(cols) && rows > 0 && cols > 0);
  /** @param {any} at @param {number[]} border @param {number} count */
  const cell = (at, [low, high], count) => at >= low && at <= high ? Math.min(Math.floor(((at - low) / (high - low)) * count), count - 1) : -1;
  /** @param {number} part @param {number[]} border @param {number} count */
  const middle = (part, [low, high], count) => (low + ((part + 0.5) * (high - low)) / count).toFixed(4);
  return {
    kind: "grid", size: rows * cols, rows, cols, lat, lon,
    code(value) {
      const parts = inOrder(value, ["lat", "lon"]);
      if (parts.length !== 2 || !parts.every((part) => typeof part === "number")) return -1;
      const row = cell(parts[0], lat, rows), col = cell(parts[1], lon, cols);
      return row < 0 || col < 0 ? -1 : row * cols + col;
    },
    name: (code) => `${middle(Math.floor(code / cols), lat, rows)}, ${middle(code % cols, lon, cols)}`,
  };
}

/**
 * The values of a plan, without bots.
 * @param {any} strict the plan's table, integers as written @param {any} loose the same, numbers as they are @returns {Space}
 */
export function spaceOf(strict, loose) {
  const kinds = ["labels", "range", "product", "grid"].filter((kind) => (strict[kind] ?? null) !== null);
  must(kinds.length === 1);
  const [kind] = kinds;
  const space = kind === "grid" ? grid(strict.grid, loose.grid) : { labels: flat, range, product }[kind](strict[kind]);
  must(space.size < LARGEST);
  return space;
}

/**
 * The bots of a personalized plan, or null: their tags, and for cells the rank of the bot that stands for a code (-1: none).
 * @param {any} plan @param {Space} space @param {(code: number) => boolean} isSensitive for everybody
 * @returns {{tags: string[] | null, count: number, of: (code: number, tag?: string) => number} | null}
 */
export function botsOf(plan, space, isSensitive) {
  const { tags = null, cells = null, others = true } = plan;
  if (tags === null && cells === null) return null;
  must((tags === null || cells === null) && typeof others === "boolean");
  if (cells === null) {
    must(Array.isArray(tags));
    const all = others && !tags.includes("others") ? [...tags, "others"] : tags;
    must(all.length && all.every((tag) => typeof tag === "string" && tag) && new Set(all).size === all.length);
    return { tags: all, count: all.length, of: (_, tag) => all.indexOf(tag) };
  }
  const { rows, cols } = cells;
  must(Object.keys(cells).length === 2);
  must(space.kind === "grid" && isInteger(rows) && isInteger(cols) && rows > 0 && cols > 0 && rows <= space.rows && cols <= space.cols);
  /** @param {number} code */
  const cell = (code) => Math.floor((Math.floor(code / space.cols) * rows) / space.rows) * cols + Math.floor(((code % space.cols) * cols) / space.cols);
  const used = new Set();
  for (let code = 0; code < space.size; code++) if (!isSensitive(code)) used.add(cell(code));
  const ranks = [...used].sort((left, right) => left - right);
  return { tags: null, count: ranks.length, of: (code) => (isSensitive(code) ? -1 : ranks.indexOf(cell(code))) };
}
