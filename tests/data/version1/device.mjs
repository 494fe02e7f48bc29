// The device of JavaScript in Node over a folder: it writes what this version keeps, or says what it finds in a copy.
//
//   node device.mjs write FOLDER ENVELOPES      node device.mjs read FOLDER ENVELOPES

import { readFileSync } from "node:fs";

import { FileMemory } from "../../../js/file_memory.js";
import { Device } from "../../../js/index.js";

const [what, folder, file] = process.argv.slice(2);
const { trust, ...envelopes } = JSON.parse(readFileSync(file, "utf8"));
const START = 1_800_000_000, HOUR = 3600;
let now = START + 10, status = 202;
const posted = [];
const device = new Device(await FileMemory.open(folder), {
  trust: [Uint8Array.from(Buffer.from(trust, "hex"))],
  limits: { report: 2, epoch: 8, lifetime: 50 },
  clock: () => now,
  post: async (_, frame) => (posted.push(Buffer.from(frame).toString("hex")), { status }),
});
const accepted = {};
const accept = async (name) => (accepted[name] = await device.accept(new TextEncoder().encode(JSON.stringify(envelopes[name]))));
const recorded = async (name, value) => {
  if ((await device.answer(accepted[name], value)) !== "recorded") throw new Error(`${name} was not recorded`);
};

if (what === "write") {
  for (const name of ["fresh", "permanent", "tagged", "left", "gone"]) {
    await accept(name);
    if (name !== "gone") await device.agree(accepted[name]);
  }
  await device.tag(accepted.tagged, { home: ["elsewhere"] });
  for (const [name, value] of [["fresh", "daily"], ["permanent", "often"], ["tagged", "elsewhere"], ["left", "never"]]) await recorded(name, value);
  await device.send();
  for (const [hour, answer] of [[1, 422], [2, 503]]) {
    [now, status] = [START + 10 + hour * HOUR, answer];
    await recorded("fresh", "rarely");
    if (hour === 2) await recorded("permanent", "daily");
    await device.send();
  }
  await device.decline("left");
} else {
  now = START + 20 + 2 * HOUR;
  for (const name of ["fresh", "permanent", "tagged", "left"]) await accept(name);
  const found = { budget: await device.budget(), log: await device.log(), tagged: await device.isTagged(accepted.tagged), outcomes: {} };
  for (const name of ["fresh", "permanent", "tagged", "left"]) found.outcomes[name] = await device.answer(accepted[name], "never");
  now = START + 10 + 3 * HOUR;
  // The value of hour 0 again: what was drawn for it is what stays.
  found.again = await device.answer(accepted.permanent, "often");
  found.last = (await device.log()).filter((one) => one.name === "permanent" && one.epoch === 3).map((one) => one.record);
  await device.send();
  process.stdout.write(JSON.stringify({ ...found, posted }));
}
