// Prints what people read of collections, in every language: node tests/notices.js FILE, with lines of {envelope, trusted, facts}.
// Numbers and dates are spelled as discreet.protocol.wording spells them, so that the sentences can be compared byte for byte.

import { readFileSync } from "node:fs";
import { checkedPlan, readDocument } from "../collection.js";
import { unhex, utf8 } from "../bytes.js";
import { brief, notice, textsOf } from "../survey/notice.js";
import { LANGUAGES, Wording } from "../survey/wording.js";

class Plain extends Wording {
  /** @param {number} number @param {any} format */
  spelled(number, format) {
    const spelled = new Intl.NumberFormat("en", { ...format, roundingMode: "ceil" }).format(number), [group, decimal] = this.catalogue.separators;
    const plain = spelled.replace("%", "").replace(/[,.]/g, (mark) => (mark === "," ? group : decimal));
    return format.style ? this.catalogue.percent.replace("{n}", plain) : plain;
  }

  /** @param {number} seconds */
  date(seconds) {
    return `${new Date(seconds * 1000).toISOString().slice(0, 16).replace("T", " ")} UTC`;
  }
}

const words = Object.keys(LANGUAGES).map((language) => new Plain(language, JSON.parse(readFileSync(new URL(`../languages/${language}.json`, import.meta.url), "utf8"))));
const plurals = Object.fromEntries(words.map(({ language }) =>
  [language, Array.from({ length: 130 }, (_, count) => new Intl.PluralRules(language).select(count))]));
const collections = [];
for (const line of readFileSync(process.argv[2], "utf8").split("\n")) {
  const { envelope, trusted, facts } = JSON.parse(line), found = checkedPlan(await readDocument(utf8(envelope), trusted.map(unhex)));
  collections.push(Object.fromEntries(words.map((one) => {
    const published = facts.map((/** @type {[string, any]} */ [key, parts]) => one.say(key, parts)), { word, ...texts } = textsOf(found, one.language);
    return [one.language, { texts, sections: notice(found, one), brief: brief(found, one, [published[0]]), published: published.slice(1) }];
  })));
}
console.log(JSON.stringify({ plurals, collections }));
