/** Sentences by code, or by code and what the refusal is about. */
export const SENTENCES: Record<string, string>;

/** The sentence for what a device threw. */
export function sentence(error: unknown): string;
