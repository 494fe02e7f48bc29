// node killed_node.js FOLDER ENVELOPE KEY START MOST: see killed.js.

import { readFileSync } from "node:fs";

import { FileMemory } from "../file_memory.js";
import { goOn } from "./killed.js";

const [folder, envelope, trust, start, most] = process.argv.slice(2);
const given = { envelope: readFileSync(envelope), trust: Uint8Array.from(Buffer.from(trust, "hex")), start: Number(start), most: Number(most) };
await goOn(await FileMemory.open(folder), given, async (event) => process.stdout.write(`${JSON.stringify(event)}\n`));
