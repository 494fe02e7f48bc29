// The draw alone, for applications that keep, check and send for themselves; whoever calls it checks the sampler by promise.js.

/** A sampler, as a collection holds it: the integers that a report is drawn with. Large ones are decimal texts. */
export interface Sampler {
  readonly size: number;
  /** The ranges of sensitive codes, ascending: the first, and the one after the last. */
  readonly sensitive: readonly (readonly [number, number])[];
  /** The truth is told with probability truth / 2^64. */
  readonly truth: string;
  readonly clear_blocks: boolean;
  readonly law: { readonly law: string; readonly size: number; readonly [field: string]: unknown };
}

/** The bytes of every record of a sampler's. */
export function recordWidth(sampler: Sampler): number;

/** The polynomials by which fields of 4 to 128 elements multiply. */
export const POLYNOMIALS: { readonly [q: number]: number };

/** The number of points of a projective space whose points have t digits below q. */
export function spacePoints(law: { readonly q: number; readonly t: number }): number;

/** The places of windows modulo which their first one is drawn. */
export function windowPlaces(law: { readonly size: number; readonly width: number; readonly starts: readonly number[] }): number;

/** The record of a value, by its code; `words` returns the next n words, 8 bytes each, little-endian, from a secure source. */
export function draw(sampler: Sampler, code: number, words: (n: number) => Uint8Array): Promise<Uint8Array>;

/** The record of a round: the memo with probability threshold / 2^64 (a decimal text), and otherwise fresh noise. */
export function again(sampler: Sampler, memo: Uint8Array, threshold: string, words: (n: number) => Uint8Array): Promise<Uint8Array>;
