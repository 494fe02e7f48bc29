// Checks of the vectors of collections and devices, for Node and for a browser: each returns how many there are, and what
// differs. The forms are told in tools/vectors/.

import { hex, unhex } from "../bytes.js";
import { checkPromise, checkedPlan, readDocument } from "../collection.js";
import { botsOf, spaceOf } from "../domain.js";
import { Device, DeviceError } from "../index.js";
import { keyOfPerson, printOf, samplerOf, sentOf, withWords } from "../permanent.js";
import { draw } from "../sampler.js";
import { replayed, seeded } from "./vectors.js";

const utf8 = (text) => new TextEncoder().encode(text);
const unbase64 = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
const base64 = (bytes) => btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));

/** The outcome of each check of some lines. */
async function checked(lines, differs) {
  const wrong = [];
  for (const [number, line] of lines.entries()) {
    try {
      const what = await differs(line);
      if (what) wrong.push(`line ${number + 1}: ${what}`);
    } catch (error) {
      wrong.push(`line ${number + 1}: ${error.stack}`);
    }
  }
  return { count: lines.length, wrong };
}

function envelopeOf(line, first) {
  if (line.envelope !== undefined) return utf8(line.envelope);
  if (line.base64 !== undefined) return unbase64(line.base64);
  const [start, stop, text] = line.edit, whole = JSON.parse(first.envelope), document = unbase64(whole.document);
  const edited = [...document.subarray(0, start), ...utf8(text), ...document.subarray(stop)];
  const { key } = whole.signatures[0];
  return utf8(JSON.stringify({ document: base64(edited), signatures: [{ key, signature: line.signature }] }));
}

/** Open an envelope without a memory. */
export async function open(envelope, trust) {
  const document = await readDocument(envelope, trust);
  checkPromise(document);
  return checkedPlan(document);
}

export const checkEnvelopes = (lines) =>
  checked(lines, async (line) => {
    const trust = (line.trusted ?? lines[0].trusted).map(unhex);
    try {
      const { id } = await open(envelopeOf(line, lines[0]), trust);
      return id !== line.id && `taken, ${line.error} was expected`;
    } catch (error) {
      return error.code !== line.error && `${error.code}, ${line.error} was expected`;
    }
  });

export const checkEncoders = (lines) =>
  checked(lines, async ({ plan, values, sensitive = [], bots, cells }) => {
    const space = spaceOf(plan.domain, plan.domain);
    const isSensitive = (code) => sensitive.some(([start, stop]) => code >= start && code < stop);
    const wrong = values.findIndex(([value, code]) => space.code(value) !== (code ?? -1));
    if (wrong >= 0) return `value ${wrong}`;
    const found = botsOf(plan, space, isSensitive);
    if ((found?.count ?? undefined) !== bots) return "number of bots";
    return cells && cells.some((bot, code) => found.of(code) !== bot) && "bots of cells";
  });

export const checkPermanent = (lines) =>
  checked(lines, async ({ memo, sent = [], ...line }) => {
    const collection = { ...line, memo: memo && { truth: memo } };
    const key = await keyOfPerson(unhex(line.person_secret), line.name);
    if (hex(await printOf(key, collection, line.code)) !== line.print) return "print";
    const words = await withWords(key, collection, line.code, async (words) => hex(words(4)));
    if (words !== line.words) return "words";
    const record = await withWords(key, collection, line.code, (words) => draw(samplerOf(collection), line.code, words));
    if (hex(record) !== line.record) return "record";
    for (const [seed, expected] of sent.entries()) {
      const source = replayed(await seeded(seed, 1 << 12));
      if (hex(await sentOf(collection, record, () => source.words)) !== expected) return `round ${seed}`;
    }
    return false;
  });

/** One device under a script. */
class Scripted {
  constructor(memory, script, trust, envelopes) {
    Object.assign(this, { memory, script, trust, envelopes, accepted: new Map(), answers: [], now: 0 });
    this.sent = [];
    this.start();
  }

  start() {
    this.device = new Device(this.memory, {
      trust: this.trust,
      limits: this.script.limits,
      personSecret: unhex(this.script.person_secret),
      clock: () => this.now,
      post: async (origin, frame) => {
        const said = this.answers.shift();
        if (said === undefined) throw new Error("more was sent than was answered");
        this.sent.push([origin, hex(frame)]);
        return Array.isArray(said) ? { status: said[0], retryAfter: said[1] } : { status: said };
      },
    });
  }

  bytes = (label) => utf8(JSON.stringify(this.envelopes[label]));
  collection = (label) => this.accepted.get(label) ?? { id: "", name: "" };

  async accept({ envelope }) {
    this.accepted.set(envelope, await this.device.accept(this.bytes(envelope)));
    return "done";
  }
  async restart() {
    this.start();
    // An application accepts again what it shows.
    for (const label of this.accepted.keys()) await this.device.accept(this.bytes(label)).catch(() => {});
    return "done";
  }
  async forget() {
    this.accepted.clear();
    await this.device.forget();
    return "done";
  }
  agree = async ({ envelope }) => (await this.device.agree(this.collection(envelope)), "done");
  tag = async ({ envelope, tagged }) => (await this.device.tag(this.collection(envelope), tagged), "done");
  decline = async ({ name }) => (await this.device.decline(name), "done");
  answer = ({ envelope, value }) => this.device.answer(this.collection(envelope), value);
  spent = async () => (await this.device.budget()).spent;
  states = async () => (await this.device.log()).map((one) => one.state);
  records = async () => (await this.device.log()).map((one) => one.record);
  async send({ answers }) {
    this.answers = [...answers];
    const done = await this.device.send();
    if (this.answers.length) throw new Error("less was sent than was answered");
    return done;
  }

  async outcome(event) {
    this.now = event.at;
    try {
      return await this[event.do](event);
    } catch (error) {
      if (!(error instanceof DeviceError)) return `${error.stack}`;
      return ["argument", "value"].includes(error.code) ? "refused" : error.code;
    }
  }
}

const spelled = (said) => JSON.stringify(said, (_, one) => (one && !Array.isArray(one) && typeof one === "object" ? Object.entries(one).sort() : one));
const same = (left, right) => spelled(left) === spelled(right) || (typeof left === "number" && Math.abs(left - right) < 1e-9);

/** @param {any[]} lines @param {() => Promise<any>} memory a new and empty one */
export async function checkEvents([{ trust, envelopes }, ...scripts], memory) {
  return checked(scripts, async (script) => {
    const device = new Scripted(await memory(), script, trust.map(unhex), envelopes);
    for (const [number, event] of script.events.entries()) {
      const found = await device.outcome(event);
      if (!same(found, event.expect)) return `${script.name}: event ${number + 1}, ${event.do}: ${JSON.stringify(found)} and not ${JSON.stringify(event.expect)}`;
    }
    // Whatever was sent for one epoch was one report, under one id.
    const heads = new Set(device.sent.map(([, frame]) => frame.slice(0, 88)));
    return heads.size !== new Set(device.sent.map(([, frame]) => frame)).size && `${script.name}: two reports for one epoch`;
  });
}
