/** The type of a frame's content, for whoever sends one. */
export const MEDIA_TYPE: string;

/** The frame of one record: the collection's id (32 bytes), the epoch, and 16 random bytes that are this report's alone. */
export function frame(collection: Uint8Array, epoch: number, id: Uint8Array, record: Uint8Array): Uint8Array;
