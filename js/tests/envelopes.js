// node envelopes.js FILE: checks lines of envelopes, and prints how many there are, and what is wrong.

import { readFileSync } from "node:fs";

import { checkEnvelopes } from "./scripts.js";
import { linesOf } from "./vectors.js";

process.stdout.write(JSON.stringify(await checkEnvelopes(linesOf(readFileSync(process.argv[2], "utf8")))));
