// Checks files of sampler vectors: node check.js FILES...; prints counts, exits with 1 if one differs.

import { readFileSync } from "node:fs";

import { checkSampler, linesOf } from "./vectors.js";

for (const path of process.argv.slice(2)) {
  const { count, wrong } = await checkSampler(linesOf(readFileSync(path, "utf8")));
  console.log(JSON.stringify({ path, count, wrong: wrong.length, first: wrong[0] }));
  if (wrong.length) process.exitCode = 1;
}
