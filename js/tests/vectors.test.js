import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";

import { checkFrames, checkReadings, checkRefused, checkSampler, linesOf } from "./vectors.js";

const FOLDER = new URL("../vectors/", import.meta.url);
const read = (name) => linesOf(readFileSync(new URL(name, FOLDER), "utf8"));

for (const name of readdirSync(FOLDER).filter((one) => one.startsWith("sampler-"))) {
  test(name, async () => {
    const { count, wrong } = await checkSampler(read(name));
    assert.deepEqual(wrong, []);
    assert.ok(count >= 200, `${count} vectors`);
  });
}

test("refused.jsonl", () => {
  const { count, wrong } = checkRefused(read("refused.jsonl"));
  assert.deepEqual(wrong, []);
  assert.ok(count >= 100, `${count} vectors`);
});

test("frames.jsonl", () => {
  const { count, wrong } = checkFrames(read("frames.jsonl"));
  assert.deepEqual(wrong, []);
  assert.ok(count >= 4);
});

test("reading.jsonl", () => {
  const { count, wrong } = checkReadings(read("reading.jsonl"));
  assert.deepEqual(wrong, []);
  assert.ok(count >= 80, `${count} vectors`);
});
