// The device: consent, one answer per epoch within every budget, a memory, and sending.
//
// What is charged, remembered and to be sent is on disk before anything may leave, and what is sent is what was written,
// however often it takes. So a crash costs at most a charge, and never draws a second report.

import { hex, unhex } from "./bytes.js";
import { checkPromise, checkedPlan, readDocument } from "./collection.js";
import { expect, must } from "./errors.js";
import { frame } from "./frames.js";
import { answersOf, logOf, named, settle, spentByName, startOf, total, versionsOf, within } from "./ledger.js";
import { drawingOf, drawnOf, keyOf, keyOfPerson, printOf, samplerOf, sentOf, withWords } from "./permanent.js";
import { placesOf, replaced, valuesOf } from "./places.js";
import { freshWords, randomBytes, share } from "./randomness.js";
import { draw } from "./sampler.js";
import { pause, post } from "./sending.js";

/** @typedef {import("./index.js").Collection} Collection */
/** @typedef {import("./index.js").Kept} Kept */
/** @typedef {import("./index.js").Answered} Answered */
/** @typedef {Kept["state"]["versions"][0]} Version */

// In which no other process sends the same report, in seconds.
const LEASE = 90;
// The base point of the curve: a key that every implementation of Ed25519 knows.
const POINT = new Uint8Array(32).fill(0x66).fill(0x58, 0, 1);

/** @type {Promise<boolean> | undefined} */
let known;

/** Refuse a platform without what a device needs. */
async function checkPlatform() {
  known ??= globalThis.crypto?.subtle?.importKey("raw", POINT, "Ed25519", false, ["verify"]).then(() => true, () => false);
  must(await known, "platform");
}

/** One person's device. */
export class Device {
  #memory;
  #trust;
  #limits;
  #options;
  /** @type {Map<string, Collection>} */
  #collections = new Map();

  /** @param {import("./memory.js").Memory} memory @param {import("./index.js").Options} options */
  constructor(memory, { trust, limits, log, personSecret, simulated = false, random, clock = () => Date.now() / 1000, post: given = post }) {
    expect(Array.isArray(trust) && trust.length && trust.every((key) => key instanceof Uint8Array && key.length === 32), "trust");
    expect([limits?.report, limits?.epoch, limits?.lifetime].every((limit) => Number.isFinite(limit) && limit > 0), "limits");
    // Removed: who passes the key of a log believes that it is checked.
    expect(log === undefined, "log");
    expect(!random || simulated, "random");
    expect(!personSecret || personSecret.length >= 16, "personSecret");
    this.#memory = memory;
    this.#trust = trust;
    this.#limits = limits;
    this.#options = { personSecret, simulated, random, clock, post: given };
  }

  // Collections

  /**
   * Check a collection, remember its version, and return what to show people.
   * @param {Uint8Array} envelope as it came
   * @returns {Promise<Collection>}
   */
  async accept(envelope) {
    await checkPlatform();
    const document = await readDocument(envelope, this.#trust), { id, loose } = document;
    const collection = await this.#memory.change(async (kept) => {
      const { state } = kept;
      refuseOld(state, loose, id);
      checkPromise(document);
      if (loose.state === "open") this.#refuseUnaffordable(loose);
      const collection = checkedPlan(document), { name, version, epochs, late, collectors } = collection;
      state.names = [...state.names.filter((one) => one.name !== name), { declined: false, ...named(state.names, name), name, version, id }];
      if (!state.versions.some((one) => one.id === id)) {
        state.versions.push({ id, name, version, epochs, late, collectors, agreed: false, answers: [] });
      }
      if (collection.state !== "open") erase(kept, name);
      this.#noteTime(state);
      return collection;
    });
    // Of a name the last one is the highest version: a lower one was refused.
    this.#collections.set(id, collection).set(`name ${loose.name}`, collection);
    return collection;
  }

  /** @param {any} said */
  #refuseUnaffordable({ simulated, epsilon, lifetime, memo }) {
    const { report, epoch, lifetime: inAll } = this.#limits, cost = memo?.epsilon ?? epsilon;
    must(simulated === this.#options.simulated, "simulated");
    must(within(cost, report), "cap", `${cost} > ${report}`);
    must(within(lifetime, inAll), "lifetime", `${lifetime} > ${inAll}`);
    must(within(cost, epoch), "lifetime", `${cost} > ${epoch}`);
  }

  /** The highest time seen before. @param {Kept["state"]} state */
  #noteTime(state) {
    const { latest } = state;
    state.latest = Math.max(latest, Math.floor(this.#options.clock()));
    return latest;
  }

  /** The collection as it was checked here, not as the caller's object has it. @param {Collection | string} collection */
  #known(collection) {
    const found = this.#collections.get(typeof collection === "string" ? `name ${collection}` : collection?.id);
    expect(found, "accept first");
    return found;
  }

  /** The version of a collection in the memory, if it is the highest. @param {Kept["state"]} state @param {Collection} collection */
  #current(state, { id, name }) {
    expect(named(state.names, name)?.id === id, "older version");
    return /** @type {Version} */ (state.versions.find((one) => one.id === id));
  }

  // Consent

  /** Remember that the person agrees to this very document; nothing is drawn without it. @param {Collection | string} collection */
  async agree(collection) {
    const found = this.#known(collection);
    expect(found.state === "open", "withdrawn");
    await this.#memory.change(async ({ state }) => {
      this.#current(state, found).agreed = true;
      Object.assign(named(state.names, found.name) ?? {}, { declined: false });
    });
    await this.#memory.persist();
  }

  /** Answer nothing under a name any more; what was not sent is erased, with the key and secret places. @param {string} name */
  async decline(name) {
    await this.#memory.change(async (kept) => {
      const found = named(kept.state.names, name);
      expect(found, "accept first");
      found.declined = true;
      for (const one of versionsOf(kept.state.versions, name)) one.agreed = false;
      erase(kept, name);
    });
  }

  /**
   * Remember the person's secret values under a personalized plan; until the first answer they may be changed.
   * @param {Collection | string} collection @param {any} tagged values by tag; where bots stand for cells, a list of values
   */
  async tag(collection, tagged) {
    const found = this.#known(collection), places = placesOf(found, tagged), values = await valuesOf(found);
    await this.#memory.change(async ({ state, secret }) => {
      this.#current(state, found);
      expect(!answersOf(versionsOf(state.versions, found.name)).length, "answered");
      Object.assign(ownSecret(secret, found.name), { places, values });
    });
  }

  /** True if the person's secret values were given, be it none. @param {Collection | string} collection */
  async isTagged(collection) {
    const found = this.#known(collection), kept = named((await this.#memory.look()).secret, found.name);
    return Boolean(kept?.places) && kept?.values === (await valuesOf(found));
  }

  // Answers

  /** The epochs that were answered under a version, also where nothing else is left of it. @param {Collection | string} collection */
  async answered(collection) {
    const { id } = this.#known(collection), { state } = await this.#memory.look(), found = state.versions.find((one) => one.id === id);
    return (found?.answers ?? []).map((one) => one.epoch).sort((left, right) => left - right);
  }

  /**
   * Draw, charge and write one report, to be sent when it is due.
   * @param {Collection | string} collection @param {any} value of its values @returns {Promise<import("./index.js").Outcome>}
   */
  async answer(collection, value) {
    const found = this.#known(collection), values = await valuesOf(found);
    must(this.#memory.lasts || this.#options.simulated || found.answers === "once", "store", "once alone");
    return this.#memory.change(async (kept) => {
      const { state } = kept, now = this.#options.clock(), latest = this.#noteTime(state);
      eraseEnded(kept, now);
      const version = state.versions.find((one) => one.id === found.id), own = named(state.names, found.name);
      if (own?.id !== found.id || found.state !== "open") return "closed";
      if (own.declined || !version?.agreed) return "declined";
      const epoch = now < latest - found.epochs.seconds ? null : found.epochAt(now);
      if (epoch === null) return "closed";
      if (!(await this.#asks(kept, found))) return "unasked";
      if (version.answers.some((one) => found.answers === "once" || one.epoch === epoch)) return "already";
      const code = replaced(named(kept.secret, found.name), found, found.space.code(value), values);
      const drawn = await this.#drawn(kept, found, code, epoch);
      if (!drawn) return "exhausted";
      const due = now + share() * Math.min(found.spread, startOf(found.epochs, epoch + 1) - now);
      version.answers.push({ epoch, charge: drawn.charge, record: hex(drawn.record), id: hex(randomBytes(16)), due, tries: 0 });
      return "recorded";
    });
  }

  /**
   * True if the person answers a collection: always, or of a survey if this question was drawn for them.
   * @param {Collection | string} collection
   */
  async asks(collection) {
    const found = this.#known(collection);
    return this.#memory.change((kept) => this.#asks(kept, found));
  }

  /** @param {Kept} kept @param {Collection} collection */
  async #asks(kept, { survey, name }) {
    if (!survey) return true;
    const [[first]] = survey.questions;
    expect(this.#collections.has(`name ${first}`), "survey");
    return (await drawnOf(await this.#key(ownSecret(kept.secret, first), first), survey)).includes(name);
  }

  /** @param {Kept} kept @param {Collection} collection @param {number} code @param {number} epoch */
  async #drawn({ state, secret }, collection, code, epoch) {
    const { sampler, cost: charge, name } = collection, isAffordable = this.#isAffordable(state.versions, collection, epoch);
    const fresh = () => this.#options.random ?? freshWords(), fingerprint = drawingOf(collection);
    if (collection.answers !== "permanent") return isAffordable ? { charge, record: await draw(sampler, code, fresh()) } : null;
    const kept = ownSecret(secret, name), key = await this.#key(kept, name), print = hex(await printOf(key, collection, code));
    kept.prints ??= [];
    const isKnown = kept.prints.includes(print);
    if (!isKnown && !isAffordable) {
      // Silence would tell that the value changed often.
      return kept.last?.fingerprint === fingerprint ? { charge: 0, record: await sentOf(collection, unhex(kept.last.record), fresh) } : null;
    }
    const record = await withWords(key, collection, code, (derived) => draw(samplerOf(collection), code, derived));
    if (!isKnown) kept.prints.push(print);
    kept.last = { fingerprint, record: hex(record) };
    return { charge: isKnown ? 0 : charge, record: await sentOf(collection, record, fresh) };
  }

  /** K of a name; a new one is kept. @param {import("./index.js").Secret} kept @param {string} name @returns {Promise<CryptoKey>} */
  async #key(kept, name) {
    const { personSecret, random } = this.#options;
    if (personSecret) return keyOfPerson(personSecret, name);
    if (!kept.key) {
      const raw = random ? random(4) : randomBytes(32);
      kept.key = this.#memory.keepsKeys ? await keyOf(raw) : hex(raw);
    }
    return typeof kept.key === "string" ? keyOf(unhex(kept.key)) : kept.key;
  }

  /** @param {Version[]} versions @param {Collection} collection @param {number} epoch */
  #isAffordable(versions, { name, cost, lifetime, epochs, answers: often, survey }, epoch) {
    const { report, epoch: atOnce, lifetime: inAll } = this.#limits, start = startOf(epochs, epoch), stop = startOf(epochs, epoch + 1);
    /** Answers whose epochs overlap a time. @param {Version[]} some @param {number} from @param {number} to */
    const overlapping = (some, from, to) => some.flatMap(({ epochs: other, answers }) =>
      answers.filter((one) => startOf(other, one.epoch) < to && startOf(other, one.epoch + 1) > from));
    /** @param {Answered[]} answers @param {number} limit */
    const fits = (answers, limit) => within(total(answers) + cost, limit);
    const questions = survey ? versions.filter((one) => survey.questions.some(([other]) => other === one.name)) : [];
    const asked = often === "once" ? overlapping(questions, epochs.start, startOf(epochs, epochs.count)) : overlapping(questions, start, stop);
    return fits([], report) && fits(overlapping(versions, start, stop), atOnce) && fits(answersOf(versions), inAll)
      && fits(answersOf(versionsOf(versions, name)), lifetime) && (!survey || fits(asked, survey.epsilon));
  }

  // Sending

  /** Send what is due; safe to call at any time, from anywhere. @returns {Promise<{sent: number, dropped: number, waiting: number}>} */
  async send() {
    const { clock } = this.#options, done = { sent: 0, dropped: 0, waiting: 0 };
    for (;;) {
      const leased = await this.#memory.change(async (kept) => {
        const now = clock(), waiting = kept.state.versions.flatMap((of) =>
          /** @type {Required<Answered>[]} */ (of.answers.filter((one) => one.id)).map((one) => ({ one, of })));
        eraseEnded(kept, now);
        done.waiting = waiting.length;
        const [due] = waiting.filter(({ one }) => one.due <= now).sort((left, right) => left.one.due - right.one.due);
        if (!due) return null;
        const leased = { ...due.one, of: due.of };
        due.one.due = now + LEASE;
        due.one.tries++;
        return leased;
      });
      if (!leased) return done;
      const status = await this.#delivered(leased);
      if (status) done[status === "202" ? "sent" : "dropped"]++;
    }
  }

  /** The final outcome of a report, if there is one. @param {Required<Answered> & {of: Version}} leased */
  async #delivered({ of, epoch, id, record, tries }) {
    const { clock, post: deliver } = this.#options;
    let status = "late", wait = 0;
    if (clock() < startOf(of.epochs, epoch + 1) + of.late) {
      const origin = of.collectors[tries % of.collectors.length];
      const answer = await deliver(origin, frame(unhex(of.id), epoch, unhex(id), unhex(record)));
      status = String(answer.status);
      const isFinal = status === "202" || (/^4/.test(status) && !["408", "425", "429"].includes(status));
      if (!isFinal) wait = pause(tries + 1, answer.retryAfter ?? 0, share());
    }
    await this.#memory.change(async ({ state }) => {
      const found = answersOf(state.versions).find((one) => one.id === id);
      if (!found) return;
      if (wait) found.due = clock() + wait;
      // Without its id, nothing ties the device to a row of the collector any more.
      else settle(found, { record, status, at: Math.floor(clock()) });
    });
    return wait ? null : status;
  }

  // What the person may see and erase

  /** The reports that wait, were sent or were dropped, oldest first: the very bytes, never a value. */
  async log() {
    const { state } = await this.#memory.look();
    return logOf(state.versions);
  }

  /** The budget in nats: spent in all and by name, and left. */
  async budget() {
    const { state: { versions } } = await this.#memory.look(), spent = total(answersOf(versions));
    return { spent, left: Math.max(this.#limits.lifetime - spent, 0), names: spentByName(versions) };
  }

  /** The content of the device, ready for JSON. Keys, prints and secret places are elsewhere, and not read. */
  async export() {
    const { state } = await this.#memory.look();
    const collections = state.versions.map(({ name, version, id, agreed }) => ({
      name, version, id, agreed, declined: Boolean(named(state.names, name)?.declined),
    }));
    return { collections, spent: spentByName(state.versions), reports: logOf(state.versions) };
  }

  /** Erase everything but the highest versions and what was spent, so that no budget begins anew. */
  async forget() {
    await this.#memory.change(async (kept) => {
      const { state } = kept;
      kept.secret = [];
      state.latest = 0;
      for (const one of state.names) one.declined = false;
      for (const one of state.versions) Object.assign(one, { agreed: false, collectors: [] });
      for (const one of answersOf(state.versions)) settle(one);
    });
    this.#collections.clear();
  }
}

/** @param {Kept["state"]} state @param {{name: string, version: number}} said @param {string} id */
function refuseOld(state, { name, version }, id) {
  const seen = named(state.names, name) ?? { version: 0, id };
  must(version >= seen.version, "rollback", `${version} < ${seen.version}`);
  must(version > seen.version || id === seen.id, "equivocation");
}

// Secrets: keys, prints, places

/** @param {Kept["secret"]} secret @param {string} name */
function ownSecret(secret, name) {
  const found = named(secret, name) ?? { name };
  if (!secret.includes(found)) secret.push(found);
  return found;
}

/** Erase a name's secrets, and its reports that were not sent. @param {Kept} kept @param {string} name */
function erase(kept, name) {
  kept.secret = kept.secret.filter((one) => one.name !== name);
  for (const one of answersOf(versionsOf(kept.state.versions, name))) if (one.id) settle(one);
}

/** Erase keys and prints of names whose last epoch is over; secret places stay, for a version that goes on. @param {Kept} kept @param {number} now */
function eraseEnded({ state, secret }, now) {
  for (const one of secret) {
    const ends = versionsOf(state.versions, one.name).map(({ epochs }) => startOf(epochs, epochs.count));
    if (now >= Math.max(...ends)) for (const name of /** @type {const} */ (["key", "prints", "last"])) delete one[name];
  }
}
