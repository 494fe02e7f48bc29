// A device that answers epoch after epoch and sends, until somebody ends it; for the tests that end it at any time.

import { Device } from "../index.js";

const MINUTE = 60;

/**
 * Go on where the memory ends: the last epoch again, with another value, and then the next ones.
 * @param {any} memory @param {{envelope: Uint8Array, trust: Uint8Array, start: number, most: number}} given
 * @param {(event: object) => Promise<any>} tell what the memory holds, before anything is answered
 */
export async function goOn(memory, { envelope, trust, start, most }, tell) {
  let epoch = 0;
  const clock = () => start + epoch * MINUTE + 1, limits = { report: 2, epoch: 2, lifetime: 1e6 };
  const device = new Device(memory, { trust: [trust], limits, clock });
  const collection = await device.accept(envelope);
  await device.agree(collection);
  const { state } = await memory.look(), { spent } = await device.budget();
  const answers = state.versions.flatMap((one) => one.answers);
  epoch = Math.max(0, ...answers.map((one) => one.epoch));
  await tell({ spent, answers: answers.map(({ epoch, charge, record }) => ({ epoch, charge, record })) });
  for (const last = epoch + most; epoch < last; epoch++) {
    await device.answer(collection, Math.floor(Math.random() * collection.space.size));
    await device.send();
  }
}
