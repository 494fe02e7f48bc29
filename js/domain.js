// The values of a collection: labels, ranges, products and grids to codes, and secret places to bots.

/** @typedef {import("./index.js").Space} Space */

const LARGEST = 2 ** 31, LARGEST_WITH_BOTS = 2 ** 18;
/** @param {any} said @returns {said is number} */
const isInteger = (said) => Number.isSafeInteger(said);
/** @param {any} said */
const isCount = (said) => isInteger(said) && said > 0;
/** Two ascending numbers. @param {any} said @param {(one: any) => boolean} isNumber */
const isPair = (said, isNumber) => Array.isArray(said) && said.length === 2 && said.every(isNumber) && said[0] < said[1];

/** @param {any} condition @returns {asserts condition} */
function must(condition) {
  if (!condition) throw new RangeError("plan");
}

/** @param {any} labels a list of different integers, or of different texts @returns {Space} */
function flat(labels) {
  must(Array.isArray(labels) && (labels.every(isInteger) || labels.every((label) => typeof label === "string")));
  /** @type {Map<any, number>} */
  const codes = new Map(labels.map((label, code) => /** @type {const} */ ([label, code]))), size = labels.length;
  must(size && codes.size === size);
  return {
    kind: "labels", size, labels,
    // All labels are composed, so that a value as it is stands for no other one.
    code: (value) => codes.get(value) ?? (typeof value === "string" ? codes.get(value.normalize()) : undefined) ?? -1,
    name: (code, word = String) => word(labels[code]),
  };
}

/** @param {any} range @returns {Space} */
function range(range) {
  must(isPair(range, isInteger));
  const [start, stop] = range;
  return {
    kind: "range", size: stop - start, start,
    code: (value) => (isInteger(value) && value >= start && value < stop ? value - start : -1),
    name: (code) => String(start + code),
  };
}

/** The last attribute varies fastest. @param {any} pairs names and their labels, in order @returns {Space} */
function product(pairs) {
  must(Array.isArray(pairs) && pairs.length && pairs.every((pair) => pair.length === 2 && typeof pair[0] === "string"));
  /** @type {[string, Space][]} */
  const attributes = pairs.map(([name, labels]) => [name, flat(labels)]), names = pairs.map(([name]) => name);
  must(new Set(names).size === names.length);
  return {
    kind: "product", size: attributes.reduce((size, [, space]) => size * space.size, 1), attributes,
    code(value) {
      const parts = inOrder(value, names);
      return attributes.reduce((code, [, space], place) => {
        const part = space.code(parts[place]);
        return code < 0 || part < 0 ? -1 : code * space.size + part;
      }, parts.length === names.length ? 0 : -1);
    },
    name(code, word) {
      /** @type {string[]} */
      const parts = [];
      attributes.reduceRight((rest, [, space]) => {
        parts.unshift(space.name(rest % space.size, word));
        return Math.floor(rest / space.size);
      }, code);
      return parts.join(", ");
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
  must(Object.keys(strict).length === 4 && isCount(rows) && isCount(cols) && [lat, lon].every((pair) => isPair(pair, Number.isFinite)));
  const row = cells(lat, rows), column = cells(lon, cols);
  /** @param {number} part @param {number[]} border @param {number} count */
  const middle = (part, [low, high], count) => (low + ((part + 0.5) * (high - low)) / count).toFixed(4);
  return {
    kind: "grid", size: rows * cols, rows, cols, lat, lon,
    code(value) {
      const [north, east, ...more] = inOrder(value, ["lat", "lon"]), code = row(north) * cols + column(east);
      return more.length || isNaN(code) ? -1 : code;
    },
    name: (code) => `${middle(Math.floor(code / cols), lat, rows)}, ${middle(code % cols, lon, cols)}`,
  };
}

/** The rows, or the columns, of a map: a place at a border is in the cell above. @param {[number, number]} ends @param {number} count */
function cells([low, high], count) {
  const border = linear(low, high, count);
  return (/** @type {any} */ at) => {
    if (typeof at !== "number" || !(at >= low && at <= high)) return NaN;
    const cell = Math.min(Math.floor(((at - low) / (high - low)) * count), count - 1);
    // The quotient is rounded, and the borders are not.
    if (cell + 1 < count && border(cell + 1) <= at) return cell + 1;
    return border(cell) > at ? cell - 1 : cell;
  };
}

/** @param {any} strict integers, as written @param {any} loose borders @returns {Space} */
function number(strict, loose) {
  const { bins = 256, scale = "linear", clip = false } = strict, { low, high } = loose;
  must(isPair([low, high], Number.isFinite) && isInteger(bins) && bins >= 2 && bins <= 4096 && typeof clip === "boolean");
  must(scale === "linear" || (scale === "log1p" && low > -1));
  must(Object.keys(strict).every((name) => ["low", "high", "bins", "scale", "clip"].includes(name)));
  const border = scale === "linear" ? linear(low, high, bins) : logarithmic(low, high, bins);
  const borders = [low, ...Array.from({ length: bins - 1 }, (_, place) => border(place + 1)), high];
  must(borders.every((one, place) => !place || borders[place - 1] < one));
  return {
    kind: "number", size: bins, low, high,
    code(value) {
      if (typeof value !== "number" || isNaN(value) || (!clip && (value < low || value > high))) return -1;
      let [below, above] = [0, bins];
      // A border belongs to the bin above it, the last one to the last bin.
      while (above - below > 1) {
        const middle = (below + above) >> 1;
        if (borders[middle] <= value) below = middle;
        else above = middle;
      }
      return below;
    },
    name: (code) => `${Number(borders[code].toPrecision(6))} – ${code < bins - 1 ? "<" : ""}${Number(borders[code + 1].toPrecision(6))}`,
  };
}

// So many decimal places leave no double between a quotient and what is written of it.
const PLACES = 800;

/** A number as it is written, 0.3 as three tenths, in the last of the decimal places. @param {number} number */
function written(number) {
  const [digits, exponent] = number.toExponential().split("e"), [whole, rest = ""] = digits.split(".");
  return BigInt(whole + rest) * 10n ** BigInt(PLACES + Number(exponent) - rest.length);
}

/** The border below a bin: 0.3 must not lie below the border 0.1 + 0.1 + 0.1. @param {number} low @param {number} high @param {number} bins */
function linear(low, high, bins) {
  const first = written(low), last = written(high), count = BigInt(bins);
  return (/** @type {number} */ code) => Number(`${first + ((last - first) * BigInt(code)) / count}e-${PLACES}`);
}

/** @param {number} low @param {number} high @param {number} bins */
function logarithmic(low, high, bins) {
  const first = Math.log1p(low), step = (Math.log1p(high) - first) / bins;
  return (/** @type {number} */ code) => Number(Math.expm1(first + code * step).toPrecision(15));
}

/** @type {Record<string, (strict: any, loose: any) => Space>} */
const KINDS = { labels: flat, range, product, grid, number };

/**
 * The values of a plan, without bots.
 * @param {any} strict the plan's table, integers as written @param {any} loose the same, numbers as they are @returns {Space}
 */
export function spaceOf(strict, loose) {
  const { sensitive, allow_unprotected, missing, cuts, attribute = "", exact = false, ...kinds } = strict;
  const [kind, ...more] = Object.keys(kinds).filter((kind) => kinds[kind] !== null);
  must(!more.length && typeof attribute === "string" && typeof exact === "boolean" && Object.keys(kinds).every((kind) => Object.hasOwn(KINDS, kind)));
  const space = KINDS[kind](strict[kind], loose[kind]);
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
  must((tags === null || cells === null) && typeof others === "boolean" && space.size <= LARGEST_WITH_BOTS);
  if (cells === null) {
    must(Array.isArray(tags) && tags.every((tag) => typeof tag === "string" && tag));
    const all = others && !tags.includes("others") ? [...tags, "others"] : tags, count = all.length;
    must(count && new Set(all).size === count);
    return { tags: all, count, of: (_, tag) => all.indexOf(tag) };
  }
  const { rows, cols } = cells;
  must(Object.keys(cells).length === 2 && space.kind === "grid" && isCount(rows) && isCount(cols) && rows <= space.rows && cols <= space.cols);
  /** @param {number} code */
  const cell = (code) => Math.floor((Math.floor(code / space.cols) * rows) / space.rows) * cols + Math.floor(((code % space.cols) * cols) / space.cols);
  const used = new Uint8Array(rows * cols);
  for (let code = 0; code < space.size; code++) if (!isSensitive(code)) used[cell(code)] = 1;
  /** @param {number} [stop] */
  const count = (stop) => used.subarray(0, stop).reduce((sum, one) => sum + one, 0);
  return { tags: null, count: count(), of: (code) => (isSensitive(code) ? -1 : count(cell(code))) };
}
