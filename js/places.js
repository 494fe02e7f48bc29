// A person's secret places: which bot stands for which of her values. They are in one place of the memory, and in nothing else.

import { hex } from "./bytes.js";
import { must } from "./errors.js";

/** @typedef {import("./index.js").Collection} Collection */

/**
 * Which values secret places are places of. What is sensitive for everybody is among it: such a value is kept as no place,
 * and under a plan that protects it no longer it would go in clear.
 * @param {Collection} collection
 */
export async function valuesOf({ plan, bots, sampler }) {
  if (!bots) return "";
  const { sensitive: _, ...values } = plan.domain;
  const said = JSON.stringify([values, plan.tags, plan.others, plan.cells, sampler.sensitive]);
  return hex(new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(said))));
}

const OUTSIDE = "the value must be one of the collection's values, and it is not; offer people its labels.";

/** The bots of secret values; those that are sensitive for everybody stay themselves. @param {Collection} collection @param {any} tagged */
export function placesOf(collection, tagged) {
  const { bots, space } = collection;
  must(bots, "the plan of this collection has no tags and no cells; leave secret places out.");
  must(bots.tags ? typeof tagged === "object" && tagged && !Array.isArray(tagged) : Array.isArray(tagged),
    "secret values must be given by tag, {tag: values}; where bots stand for cells, as a list of values.");
  const pairs = bots.tags ? Object.entries(tagged) : [["", tagged]];
  must(!bots.tags || pairs.every(([tag]) => bots.tags?.includes(tag)), "secret values must be given by tags of the plan.");
  /** @type {[number, number][]} */
  const places = [];
  for (const [tag, values] of pairs) {
    for (const value of values) {
      const code = space.code(value);
      must(code >= 0, OUTSIDE, "value");
      const bot = space.size + bots.of(code, tag);
      must(places.every(([other, one]) => other !== code || one === bot), "every secret value must carry one tag, and some carry two.", "value");
      if (!collection.isSensitive(code)) places.push([code, bot]);
    }
  }
  return places;
}

/** A code, or its bot if it is a secret place. @param {import("./index.js").Secret | undefined} found @param {Collection} collection @param {number} code @param {string} values */
export function replaced(found, { bots }, code, values) {
  must(code >= 0, OUTSIDE, "value");
  if (!bots) return code;
  must(found?.places && found.values === values,
    "a personalized plan needs the person's secret places, for these values; call tag first, with none if there are none.");
  return found.places.find(([place]) => place === code)?.[1] ?? code;
}
