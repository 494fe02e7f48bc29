// A person's secret places: which bot stands for which of her values. They are in one place of the memory, and in nothing else.

import { hex, sha256, utf8 } from "./bytes.js";
import { expect, must } from "./errors.js";

/** @typedef {import("./index.js").Collection} Collection */

/**
 * Which values secret places are places of. What is sensitive for everybody is among it: such a value is kept as no place,
 * and under a plan that protects it no longer it would go in clear.
 * @param {Collection} collection
 */
export async function valuesOf({ plan, bots, sampler }) {
  if (!bots) return "";
  const { sensitive: _, ...values } = plan.domain;
  return hex(await sha256(utf8(JSON.stringify([values, plan.tags, plan.others, plan.cells, sampler.sensitive]))));
}

/** The bots of secret values; those that are sensitive for everybody stay themselves. @param {Collection} collection @param {any} tagged */
export function placesOf(collection, tagged) {
  const { bots, space } = collection;
  expect(bots, "no tags");
  const { tags } = bots;
  expect(typeof tagged === "object" && tagged && Array.isArray(tagged) === !tags, "tagged");
  const pairs = tags ? Object.entries(tagged) : [["", tagged]];
  expect(pairs.every(([tag]) => !tags || tags.includes(tag)), "tagged");
  /** @type {[number, number][]} */
  const places = [];
  for (const [tag, values] of pairs) {
    for (const value of values) {
      const code = space.code(value);
      must(code >= 0, "value");
      const bot = space.size + bots.of(code, tag);
      must(places.every(([other, one]) => other !== code || one === bot), "value", "two tags");
      if (!collection.isSensitive(code)) places.push([code, bot]);
    }
  }
  return places;
}

/** A code, or its bot if it is a secret place. @param {import("./index.js").Secret | undefined} found @param {Collection} collection @param {number} code @param {string} values */
export function replaced(found, { bots }, code, values) {
  must(code >= 0, "value");
  if (!bots) return code;
  expect(found?.places && found.values === values, "tag first");
  return found.places.find(([place]) => place === code)?.[1] ?? code;
}
