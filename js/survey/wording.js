// The sentences of one language of the catalogue (js/languages); numbers and dates as the browser spells them in it.

/** Languages of the catalogue, by the names that they have in themselves. */
export const LANGUAGES = {
  en: "English", de: "Deutsch", fr: "Français", es: "Español", it: "Italiano", pt: "Português", nl: "Nederlands", pl: "Polski",
  tr: "Türkçe", ar: "العربية", hi: "हिन्दी", zh: "中文", ja: "日本語", ko: "한국어",
};
const UNITS = /** @type {const} */ ([[86400, "day"], [3600, "hour"], [60, "minute"], [1, "second"]]);
/** Parts of sentences that are percentages. */
const SHARES = ["share", "rare", "total"];
/** Digits are those of labels and of hexadecimal numbers, in every language. */
const DIGITS = { numberingSystem: "latn" };

/** The sentences of a language. */
export class Wording {
  /** @param {string} language @param {any} catalogue its file */
  constructor(language, catalogue) {
    this.language = language;
    this.catalogue = catalogue;
  }

  /** A sentence with its parts: texts as they are, numbers spelled, shares in percent. @param {string} key @param {Record<string, string | number>} [parts] */
  say(key, parts = {}) {
    const isLeftward = this.catalogue.dir === "rtl";
    return this.catalogue.sentences[key].replace(/\{(\w+)\}/g, (/** @type {string} */ _, /** @type {string} */ name) => {
      const part = parts[name], spelled = typeof part === "string" ? part : SHARES.includes(name) ? this.percent(part) : this.number(part);
      // From right to left, a part keeps the direction of its own letters.
      return isLeftward ? `\u2068${spelled}\u2069` : spelled;
    });
  }

  /** An integer as it is, any other number with four digits, rounded up as promises are. @param {number} number */
  number(number) {
    return this.spelled(number, Number.isInteger(number) ? {} : { maximumSignificantDigits: 4 });
  }

  /** A share in percent, rounded up; near 0 and 1 with digits behind the point, so that 100% is certainty. @param {number} share */
  percent(share) {
    const digits = share > 0.999 ? 2 : share < 0.01 || share > 0.99 ? 1 : 0, format = { style: "percent", maximumFractionDigits: digits };
    return share > 0.9999 ? this.spelled(0.9999, format).replace(/\d+\D\d+/, "$&…") : this.spelled(share, format);
  }

  /** @param {number} number @param {any} format */
  spelled(number, format) {
    return new Intl.NumberFormat(this.language, { ...DIGITS, ...format, roundingMode: "ceil" }).format(number);
  }

  /** So many things, in the form that the language has for this number. @param {string} unit @param {number} count */
  counted(unit, count) {
    const forms = this.catalogue.units[unit];
    return (forms[new Intl.PluralRules(this.language).select(count)] ?? forms.other).replace("{n}", this.number(count));
  }

  /** A length of time in its largest unit. @param {number} seconds */
  length(seconds) {
    const [size, unit] = UNITS.find(([size]) => seconds % size === 0) ?? [1, "second"];
    return this.counted(unit, seconds / size);
  }

  /** @param {number} seconds since 1970 */
  date(seconds) {
    return new Date(seconds * 1000).toLocaleString(this.language, { ...DIGITS, dateStyle: "medium", timeStyle: "short" });
  }
}
