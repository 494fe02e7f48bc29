import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";

import { FileMemory } from "../file_memory.js";
import { RamMemory } from "../index.js";
import { checkEncoders, checkEnvelopes, checkEvents, checkPermanent } from "./scripts.js";
import { linesOf } from "./vectors.js";

const read = (name) => linesOf(readFileSync(new URL(`../vectors/${name}.jsonl`, import.meta.url), "utf8"));
const folder = mkdtempSync(join(tmpdir(), "discreet-"));
let made = 0;
after(() => rmSync(folder, { recursive: true }));

const FILES = {
  envelopes: [checkEnvelopes, 190],
  encoders: [checkEncoders, 19],
  permanent: [checkPermanent, 15],
};
for (const [name, [check, least]] of Object.entries(FILES)) {
  test(name, async () => {
    const { count, wrong } = await check(read(name));
    assert.deepEqual(wrong, []);
    assert.ok(count >= least, `${count} vectors`);
  });
}

const MEMORIES = {
  "memory of the process": async () => Object.assign(new RamMemory(), { lasts: true }),
  "memory in files": () => FileMemory.open(join(folder, String(made++))),
};
for (const [name, memory] of Object.entries(MEMORIES)) {
  test(`events, ${name}`, async () => {
    const { count, wrong } = await checkEvents(read("events"), memory);
    assert.deepEqual(wrong, []);
    assert.ok(count >= 30, `${count} scripts`);
  });
}
