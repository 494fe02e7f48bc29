// A frame of one record, as a device sends it.

import { joined, little, utf8 } from "./bytes.js";

export const MEDIA_TYPE = "application/vnd.discreet.reports";

/**
 * @param {Uint8Array} collection the collection's id, 32 bytes.
 * @param {number} epoch from 0 on.
 * @param {Uint8Array} id 16 random bytes, of this report alone.
 * @param {Uint8Array} record as drawn.
 * @returns {Uint8Array}
 */
export function frame(collection, epoch, id, record) {
  const isWhole = collection.length === 32 && id.length === 16 && Number.isInteger(epoch) && epoch >= 0 && epoch < 2 ** 32;
  if (!isWhole) throw new RangeError("frame");
  return joined(utf8("DSC1"), collection, little(epoch, 4), little(1, 4), id, record);
}
