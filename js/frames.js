// A frame of one record, as a device sends it.

export const MEDIA_TYPE = "application/vnd.discreet.reports";

const HEAD = 44;
const ID = 16;

/**
 * @param {Uint8Array} collection the collection's id, 32 bytes.
 * @param {number} epoch from 0 on.
 * @param {Uint8Array} id 16 random bytes, of this report alone.
 * @param {Uint8Array} record as drawn.
 * @returns {Uint8Array}
 */
export function frame(collection, epoch, id, record) {
  if (collection.length !== 32 || id.length !== ID || !(Number.isInteger(epoch) && epoch >= 0 && epoch < 2 ** 32)) {
    throw new RangeError("A frame needs a collection's id of 32 bytes, an epoch below 2^32 and an id of 16 bytes.");
  }
  const bytes = new Uint8Array(HEAD + ID + record.length);
  bytes.set(new TextEncoder().encode("DSC1"));
  bytes.set(collection, 4);
  const head = new DataView(bytes.buffer);
  head.setUint32(36, epoch, true);
  head.setUint32(40, 1, true);
  bytes.set(id, HEAD);
  bytes.set(record, HEAD + ID);
  return bytes;
}
