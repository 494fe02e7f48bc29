// The device for applications; README.md shows how it is used.

/** What became of an answer: only "recorded" has drawn and charged anything. */
export type Outcome = "recorded" | "unasked" | "already" | "exhausted" | "closed" | "declined";

/** The values of a collection. */
export type Space = {
  size: number;
  /** The code of a value; -1 if it has none. A text that is no label is looked up once more in Unicode's normal form C. */
  code(value: any): number;
  /** A readable name of a code; `word` spells its labels. */
  name(code: number, word?: (label: string | number) => string): string;
} & (
  | { kind: "labels"; labels: (string | number)[] }
  | { kind: "range"; start: number }
  | { kind: "product"; attributes: [string, Space][] }
  | { kind: "number"; low: number; high: number }
  | { kind: "grid"; rows: number; cols: number; lat: [number, number]; lon: [number, number] }
);

/** A collection that was checked; all of it is frozen. Times are in seconds since 1970, epsilon and lifetime in nats. */
export interface Collection {
  readonly id: string;
  readonly name: string;
  readonly version: number;
  readonly state: "open" | "withdrawn";
  readonly title: string;
  readonly purpose: string;
  readonly contact: string;
  readonly plan: any;
  readonly simulated: boolean;
  readonly linkable: boolean;
  readonly fingerprint: string;
  readonly sampler: any;
  readonly answers: "once" | "fresh" | "permanent";
  readonly epsilon: number;
  readonly lifetime: number;
  readonly epochs: { readonly start: number; readonly seconds: number; readonly count: number };
  readonly late: number;
  readonly spread: number;
  readonly least: number;
  readonly retention: number;
  readonly collectors: readonly string[];
  /** Of permanent answers with a second coin: epsilon of all reports on one answer, and S_1; or null. */
  readonly memo: { readonly epsilon: number; readonly truth: string } | null;
  /** What a new answer costs: epsilon of its report, or of all reports on it where a second coin decides what is sent. */
  readonly cost: number;
  /** Of a question of a survey: how many are drawn for each person, the most nats of all answers, and the questions with their shares over 2^64. */
  readonly survey: { readonly name: string; readonly answers: number; readonly epsilon: number; readonly questions: readonly (readonly [string, string])[] } | null;
  /** Whether its author marks it as public, so that collectors list it. */
  readonly listed: boolean;
  /** Of title, purpose, question and labels. */
  readonly language: string;
  /** Empty where the title is the question. */
  readonly question: string;
  /** What people read in other languages, by language; `labels` has a word for each label, attribute and tag of the plan. */
  readonly languages: { readonly [language: string]: { title: string; purpose: string; question?: string; labels: { readonly [label: string]: string } } };
  /** The values, without bots. */
  readonly space: Space;
  /** The bots of a personalized plan: their tags (null where they stand for cells), how many, and the rank of the one for a code. */
  readonly bots: { readonly tags: readonly string[] | null; readonly count: number; of(code: number, tag?: string): number } | null;
  /** What is protected for everybody: how many values, and codes and names of the first ones. */
  readonly protected: { readonly count: number; readonly codes: readonly number[]; readonly names: readonly string[] };
  isSensitive(code: number): boolean;
  /** The epoch that runs, or null. */
  epochAt(now: number): number | null;
}

/** The most that an application lets a person spend, in nats. */
export interface Limits {
  /** epsilon of one report. */
  report: number;
  /** Sum over all reports whose epochs overlap. */
  epoch: number;
  /** Sum over all reports ever, of all collections. */
  lifetime: number;
}

export interface Options {
  /** Public keys of whoever may ask, 32 bytes each, pinned by the application. */
  trust: Uint8Array[];
  limits: Limits;
  /** At least 16 unpredictable bytes, the same on all devices of one person, for the same permanent answers. */
  personSecret?: Uint8Array;
  /** Whether the device is for simulated collections, and for these alone. */
  simulated?: boolean;
  /** The next n words, 8 bytes each; for a simulation alone. */
  random?: (n: number) => Uint8Array;
  /** Seconds since 1970. */
  clock?: () => number;
  /** Delivers a frame to an origin; status 0 where there is no answer. */
  post?: (origin: string, frame: Uint8Array) => Promise<{ status: number; retryAfter?: number }>;
}

/** A report in the log: the bytes that left, or will; never a value. */
export interface LogEntry {
  name: string;
  version: number;
  epoch: number;
  /** In hexadecimal digits. */
  record: string;
  state: "waiting" | "sent" | "dropped";
  at: number | null;
  /** The collector's answer, such as "202", or "late". */
  status: string | null;
}

/** One person's device. */
export class Device {
  constructor(memory: Memory, options: Options);
  /** Check a collection, remember its version, and return what to show people. */
  accept(envelope: Uint8Array): Promise<Collection>;
  /** Remember that the person agrees to this very document; nothing is drawn without it. */
  agree(collection: Collection | string): Promise<void>;
  /** Remember the person's secret values under a personalized plan: by tag, or a list where bots stand for cells. */
  tag(collection: Collection | string, tagged: any): Promise<void>;
  /** Whether `tag` was called for these values, be it with none. */
  isTagged(collection: Collection | string): Promise<boolean>;
  /** Draw, charge and write one report, to be sent when it is due. */
  answer(collection: Collection | string, value: any): Promise<Outcome>;
  /** Whether the person answers it: always, or of a survey if this question was drawn for them; all its collections must be accepted. */
  asks(collection: Collection | string): Promise<boolean>;
  /** The epochs that were answered under this version, ascending; never what was answered. */
  answered(collection: Collection | string): Promise<number[]>;
  /** Send what is due; safe to call at any time, from anywhere. */
  send(): Promise<{ sent: number; dropped: number; waiting: number }>;
  /** Answer nothing under a name any more; what was not sent is erased. */
  decline(name: string): Promise<void>;
  /** Erase everything but the highest versions and what was spent. */
  forget(): Promise<void>;
  log(): Promise<LogEntry[]>;
  budget(): Promise<{ spent: number; left: number; names: Record<string, number> }>;
  /** What the device holds, ready for JSON; no key and no secret place is among it. */
  export(): Promise<{ collections: any[]; spent: Record<string, number>; reports: LogEntry[] }>;
}

/**
 * A refusal: nothing of what was refused is kept, and nothing is charged. Its code is, of a collection, size, envelope,
 * untrusted, signature, format, field, rollback, equivocation, promise, law, cap, lifetime, plan or simulated; otherwise argument
 * (an application's mistake), value (none of the collection's), randomness, store (the memory) or platform. Its message is
 * `code: about`; `sentence` of messages.js says it in words.
 */
export class DeviceError extends Error {
  constructor(code: string, about: string);
  readonly code: string;
  /** What it is about, such as the name of a field, or nothing; never a person's value. */
  readonly about: string;
}

// Memories

/** An answer, from when it is charged until what was sent is all that is left of it. */
export interface Answered {
  epoch: number;
  charge: number;
  record?: string;
  id?: string;
  due?: number;
  tries?: number;
  status?: string;
  at?: number;
}

export interface Secret {
  name: string;
  key?: CryptoKey | string;
  prints?: string[];
  last?: { fingerprint: string; record: string };
  places?: [number, number][];
  values?: string;
}

/** What a memory keeps. */
export interface Kept {
  format: number;
  revision: number;
  state: {
    latest: number;
    names: { name: string; version: number; id: string; declined: boolean }[];
    versions: {
      id: string;
      name: string;
      version: number;
      epochs: { readonly start: number; readonly seconds: number; readonly count: number };
      late: number;
      collectors: readonly string[];
      agreed: boolean;
      answers: Answered[];
    }[];
  };
  secret: Secret[];
}

/** What every memory does; a store of your own extends it with `read` and `write`. */
export class Memory {
  /** Whether what is kept survives this process. */
  lasts: boolean;
  /** Whether keys are kept that nobody can take out of it. */
  keepsKeys: boolean;
  read(): Promise<Kept | undefined>;
  /** Write all of it, if nobody else has since the revision was read; it is on disk afterwards. */
  write(kept: Kept, revision: number): Promise<boolean>;
  locked<T>(work: () => Promise<T>): Promise<T>;
  change<T>(work: (kept: Kept) => Promise<T>): Promise<T>;
  look(): Promise<Kept>;
  persist(): Promise<void>;
}

/** A memory that is gone with the page or the process. */
export class RamMemory extends Memory {}

/** A browser's memory: IndexedDB, written through to the disk, with a lock against other tabs. */
export class BrowserMemory extends Memory {
  private constructor();
  static open(name?: string): Promise<BrowserMemory>;
  close(): void;
}
