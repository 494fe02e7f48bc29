// node readings.js FILE: prints the lines of texts whose reading is another one here, and the version of Unicode.

import { readFileSync } from "node:fs";

import { checkReadings, linesOf } from "./vectors.js";

// Characters that are newer than this version have no reading yet.
const { count, wrong } = checkReadings(linesOf(readFileSync(process.argv[2], "utf8")));
process.stdout.write(JSON.stringify({ count, wrong: wrong.map(({ text }) => text).filter((text) => !/\p{Cn}/u.test(text)), unicode: process.versions.unicode }));
