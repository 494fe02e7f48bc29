/** Sentences by code, or by code and detail. */
export const SENTENCES: Record<string, string>;

/** Return the sentence for an error of a device. */
export function sentence(error: unknown): string;
