// A survey within some element: what is sent and protected, consent, the answer, and what left the device, in the language of who
// reads it. What it says of the survey is made from the collection that the device has checked; on what is published, which the
// collector does, the collector's word stands.

import { expect } from "../errors.js";
import { BrowserMemory, Device, DeviceError, RamMemory } from "../index.js";
import { sentence } from "../messages.js";
import { post } from "../sending.js";
import { choice } from "./choosing.js";
import { beside, button, make } from "./elements.js";
import { asked, brief, notice, textsOf } from "./notice.js";
import { standing, whereabouts } from "./standing.js";
import { LANGUAGES, Wording } from "./wording.js";

const PAUSE = 5000;
/** The most that a person may spend on one site, in nats. */
const LIMITS = { report: 4, epoch: 8, lifetime: 20 };
/** Kinds of refusals, as people are told of them. @type {Record<string, string>} */
const REFUSALS = {
  survey: "size envelope untrusted signature format field promise law plan", version: "rollback equivocation", cost: "cap lifetime",
  browser: "platform randomness", memory: "store",
};

/** A reason why the survey cannot be read now, and may be later; and why it cannot be read at all. */
class LaterError extends Error {}
class GoneError extends Error {}

/** The sentences of each language that was asked for. @type {Map<string, any>} */
const catalogues = new Map();

/**
 * @typedef {object} Options
 * @property {string} origin of the collector
 * @property {string} name of the collection
 * @property {string} trust public keys in base64, with spaces between them
 * @property {boolean} simulated whether it is one, and no other
 * @property {number} level of its heading
 * @property {string} title in the heading until the collection is checked
 * @property {string} language that is asked for; empty for the browser's
 * @property {string} site whose page this is put into; empty on the collector's own page
 * @property {HTMLElement} spoken which has the language and its direction
 * @property {AbortSignal} signal that it is over
 * @property {(event: "answered" | "declined" | "failed" | "titled" | "chosen", detail?: Record<string, string>) => void} heard of what happens; never of values
 */

/** @typedef {{ collection: any, facts: { published: [string, any][] } }} Question */

/** A survey. */
export class Survey {
  #root;
  #options;
  #device = /** @type {Device} */ (/** @type {any} */ (undefined));
  /** The one that is shown. @type {any} */
  #collection;
  /** The collector's word: sentences on what is published, as keys and parts. */
  #facts = { published: /** @type {[string, any][]} */ ([]) };
  /** The questions of this page, one after the other: the collection alone, or those of a survey that are drawn. @type {Question[]} */
  #asked = [];
  #memory = /** @type {import("../index.js").Memory} */ (/** @type {any} */ (undefined));
  /** The sentences of its language. */
  #words = /** @type {Wording} */ (/** @type {any} */ (undefined));
  /** The survey's texts, in that language or its own. @type {ReturnType<typeof textsOf>} */
  #texts;
  /** Of the last try to send; 0 where nobody answered. @type {number | undefined} */
  #lastStatus;
  /** The standing that is shown, and the words on it. @type {string | undefined} */
  #shown;
  /** @type {string | undefined} */
  #stated;
  #isErased = false;
  #hasDeclined = false;
  #wake = () => {};
  /** @type {Promise<any>} */
  #turn = Promise.resolve();

  #heading;
  #status = make("div", { id: "status", role: "status", tabindex: -1 });
  #opening = make("section");
  #terms = make("section");
  #choices = make("p", { hidden: true });
  #questions = make("div");
  #record = make("section", { hidden: true });
  #agree = button("", this.#doing(async () => {
    await this.#device.agree(this.#collection);
    await this.#look();
    this.#focusQuestion();
  }), { class: "main" });
  #decline = button("", this.#doing(async () => {
    this.#hasDeclined = true;
    await this.#look();
    this.#status.focus();
    this.#options.heard("declined");
  }));
  #languages = make("select", { change: () => this.#choose(this.#languages.value) },
    ...Object.entries(LANGUAGES).map(([one, itself]) => make("option", { value: one, lang: one }, itself)));
  #languageName = make("span");
  #unreviewed = make("p", { class: "small" });

  /** @param {HTMLElement} root whose content it becomes @param {Options} options */
  constructor(root, options) {
    this.#root = root;
    this.#options = options;
    this.#heading = this.#head(0, { id: "title", hidden: !options.title }, options.title);
    this.#choices.append(this.#agree, " ", this.#decline);
    root.replaceChildren(this.#heading, this.#status);
    const { signal } = options, wake = () => this.#wake();
    addEventListener("online", wake, { signal });
    signal.addEventListener("abort", wake);
  }

  /** Show it until it is over, or cannot be shown. */
  async show() {
    try {
      await this.#start();
      while (!this.#isErased) {
        await this.#doing(async () => {
          await this.#look();
          await this.#device.send();
          await this.#look();
        })();
        await this.#pause();
      }
    } catch (error) {
      if (this.#options.signal.aborted) return;
      const [first, ...more] = this.#refused(error);
      this.#say(`${first}${error instanceof DeviceError ? ` ${this.#words.say("refused.here")}` : ""}`, ...more);
    }
  }

  async #start() {
    const { trust, simulated, signal } = this.#options;
    await this.#speak(this.#preferred());
    this.#say(this.#words.say("page.checking"));
    expect(this.#options.name, "src");
    this.#memory = await this.#opened();
    this.#device = new Device(this.#memory, {
      trust: trust.split(" ").map((key) => Uint8Array.from(atob(key), (letter) => letter.charCodeAt(0))), limits: LIMITS, simulated,
      post: async (origin, frame) => {
        const answer = await post(origin, frame);
        this.#lastStatus = answer.status;
        return answer;
      },
    });
    await this.#accept();
    await this.#speak(this.#preferred());
    this.#draw();
    this.#root.prepend(make("div", { class: "languages" }, make("label", {}, this.#languageName, " ", this.#languages), this.#unreviewed));
    this.#root.append(this.#opening, this.#terms, this.#choices, this.#questions, this.#record);
    document.addEventListener("visibilitychange", () => document.visibilityState === "hidden" && this.#device.send().catch(() => {}), { signal });
  }

  // Elements and sentences

  /** A heading, so many levels below that of the survey. @param {number} below @param {Record<string, any>} given @param {string} text */
  #head(below, given, text) {
    return make(`h${this.#options.level + below}`, { class: ["title", "part", "detail"][below], ...given }, text);
  }

  /** @param {...(string | Node)} lines */
  #say(...lines) {
    this.#status.replaceChildren(...lines.filter(Boolean).map((line) => make("p", {}, line)));
  }

  /** @param {string} part @param {string[]} lines */
  #told(part, lines) {
    return make("section", {}, this.#head(2, {}, this.#words.say(`heading.${part}`)), ...lines.map((line) => make("p", {}, line)));
  }

  /** Attributes of the survey's own words, of which not every language is the page's. */
  #itsLanguage() {
    return { lang: this.#texts.language, dir: "auto" };
  }

  #focusQuestion() {
    this.#questions.querySelector("[tabindex='-1']")?.focus();
  }

  /** Do what a button asks for; what goes wrong is said. @param {() => Promise<any>} work */
  #doing(work) {
    return async () => {
      try {
        await work();
      } catch (error) {
        this.#say(...this.#refused(error));
      }
    };
  }

  /** The lines on what went wrong: a sentence for people, and in English the one for whoever is asked. @param {unknown} error */
  #refused(error) {
    const isGone = error instanceof GoneError, { code, about } = error instanceof DeviceError ? error : { code: "", about: "" };
    this.#options.heard("failed", { code: isGone ? "gone" : code || "other" });
    if (isGone) return [this.#words.say("read.gone")];
    const kind = about.startsWith("alike: ") ? "alike" : Object.keys(REFUSALS).find((one) => REFUSALS[one].split(" ").includes(code)) ?? "other";
    return [this.#words.say(`refused.${kind}`) + (code && ` (${code})`), make("span", { class: "small", lang: "en", dir: "ltr" }, sentence(error))];
  }

  // Languages

  /** Take the sentences of a language; and its direction. @param {string} language */
  async #speak(language) {
    while (!catalogues.has(language)) {
      const answer = await fetch(new URL(`../languages/${language}.json`, import.meta.url), { credentials: "omit" }).catch(() => null);
      if (answer?.ok) catalogues.set(language, await answer.json());
      else await this.#pause();
    }
    this.#words = new Wording(language, catalogues.get(language));
    Object.assign(this.#options.spoken, { lang: language, dir: this.#words.catalogue.dir });
  }

  /** The language that is asked for, or the first of the browser's that page and survey have. */
  #preferred() {
    const has = (/** @type {string} */ one) => Object.hasOwn(LANGUAGES, one), [asked, ...browsers] = [this.#options.language, ...navigator.languages]
      .map((one) => one.split("-")[0].toLowerCase()), wanted = browsers.filter(has);
    const surveys = this.#collection ? [this.#collection.language, ...Object.keys(this.#collection.languages)] : [];
    return [asked, wanted.find((one) => surveys.includes(one)) ?? "", wanted[0] ?? "", ...surveys].find(has) ?? "en";
  }

  /** Show the survey in another language. @param {string} language */
  async #choose(language) {
    this.#options.heard("chosen", { language });
    await this.#speak(language);
    this.#draw();
    await this.#look();
  }

  /** Write what stands there whatever happens. */
  #draw() {
    const words = this.#words, { contact, simulated } = this.#collection, { site, heard } = this.#options;
    const texts = this.#texts = textsOf(this.#collection, words.language);
    this.#languages.value = words.language;
    this.#languageName.textContent = words.say("page.language");
    this.#unreviewed.textContent = words.catalogue.reviewed ? "" : words.say("page.unreviewed");
    this.#heading.textContent = texts.title;
    Object.assign(this.#heading, { hidden: false, ...this.#itsLanguage() });
    heard("titled", { title: texts.title });
    this.#agree.textContent = words.say("page.agree");
    this.#decline.textContent = words.say("page.decline");
    this.#opening.replaceChildren(...[
      make("p", { class: "lead", ...this.#itsLanguage() }, texts.purpose), make("p", {}, words.say("page.contact", { contact })),
      site && make("p", {}, words.say("page.embedded", { site })),
      simulated && make("p", { class: "warning" }, words.say("page.simulation")),
      !this.#memory.lasts && make("p", { class: "warning" }, words.say("page.forgetful")),
    ].filter(Boolean));
    // Nobody consents to what does not stand there yet.
    this.#choices.hidden = true;
    this.#shown = this.#stated = undefined;
    delete this.#record.dataset.shown;
  }

  // Reading the survey

  async #opened() {
    try {
      // Simulations begin anew, with a key of their own; they must not be taken for each other.
      return await BrowserMemory.open(this.#options.simulated ? `discreet simulation ${this.#options.trust}` : "discreet");
    } catch {
      return new RamMemory();
    }
  }

  /** Wait a little, or until the browser is online again. */
  async #pause() {
    await new Promise((resolve) => {
      this.#wake = () => resolve(undefined);
      setTimeout(resolve, PAUSE);
    });
    this.#options.signal.throwIfAborted();
  }

  /** An answer of the collector. @param {string} path */
  async #read(path) {
    const answer = await fetch(`${this.#options.origin}${path}`, { credentials: "omit", cache: "no-cache" }).catch(() => {
      throw new LaterError("read.offline");
    });
    if (answer.status === 404) throw new GoneError();
    if (!answer.ok) throw new LaterError("read.busy");
    return answer;
  }

  /** Take the survey, as soon as it can be read. */
  async #accept() {
    while (!this.#collection) {
      try {
        const first = await this.#question(this.#options.name), { survey } = first.collection;
        const asked = [];
        for (const [name] of survey?.questions ?? []) asked.push(await this.#question(name));
        for (const one of survey ? asked : [first]) if (await this.#device.asks(one.collection)) this.#asked.push(one);
        const open = await Promise.all(this.#asked.map(async ({ collection }) => !(await this.#device.answered(collection)).length));
        this.#turnTo(this.#asked[Math.max(open.indexOf(true), 0)]);
      } catch (error) {
        if (!(error instanceof LaterError)) throw error;
        this.#say(this.#words.say(error.message));
        await this.#pause();
      }
    }
  }

  /** A collection, with what the collector says of it. @param {string} name @returns {Promise<Question>} */
  async #question(name) {
    const [envelope, facts] = await Promise.all(["/v1/collections/", "/collections/"].map((path) => this.#read(`${path}${name}`)));
    const collection = await this.#device.accept(new Uint8Array(await envelope.arrayBuffer()));
    // Whoever signs asks other things under other names.
    if (collection.name !== name) throw new GoneError();
    return { collection, facts: await facts.json() };
  }

  /** @param {Question} question that is shown from now on */
  #turnTo({ collection, facts }) {
    this.#collection = collection;
    this.#facts = facts;
  }

  /** The number of the question that is shown, from 1 on. */
  #number() {
    return this.#asked.findIndex(({ collection }) => collection === this.#collection) + 1;
  }

  /** A button that leads to the next question, where there is one. @param {string} text @param {Record<string, any>} [given] */
  #next(text, given) {
    const next = this.#asked[this.#number()];
    return next ? button(text, this.#doing(async () => {
      this.#turnTo(next);
      this.#draw();
      await this.#look();
      this.#focusQuestion();
    }), given) : null;
  }

  // Showing where it stands

  /** Show where the survey stands, if that is something new, and what left the device; one look after the other. */
  #look() {
    return (this.#turn = this.#turn.catch(() => {}).then(() => this.#looked()));
  }

  async #looked() {
    const device = this.#device, collection = this.#collection, words = this.#words;
    const entries = await device.log(), budget = await device.budget();
    this.#show(entries, budget);
    if (this.#isErased) return this.#say(words.say("end.erased"));
    const answered = await device.answered(collection), last = answered.at(-1) ?? -1;
    const isAgreed = (await device.export()).collections.some((one) => one.id === collection.id && one.agreed && !one.declined);
    const known = { collection, answered, spent: budget.names, left: budget.left, isLasting: this.#memory.lasts, now: Date.now() / 1000 };
    const stands = standing(known, words), hasDeclined = this.#hasDeclined && stands.kind === "open";
    const { kind, lines } = hasDeclined ? { kind: "declined", lines: [words.say("page.declined")] } : stands;
    const now = `${kind} ${isAgreed} ${last}`;
    if (now !== this.#shown) {
      this.#shown = now;
      this.#choices.hidden = kind !== "open" || isAgreed;
      this.#showTerms(isAgreed ? "page.agreed" : kind === "open" || kind === "early" ? "" : "page.said", budget.names[collection.name] ?? 0);
      this.#questions.replaceChildren();
      if (kind === "open" && isAgreed) await this.#ask();
      else if (kind === "answered" && this.#number() < this.#asked.length) {
        this.#questions.replaceChildren(make("section", { tabindex: -1 }, this.#count(), make("p", {}, this.#next(words.say("ask.next"), { class: "main" }))));
      }
    }
    const entry = entries.find((one) => one.name === collection.name && one.version === collection.version && one.epoch === last);
    const [first = "", ...rest] = lines, where = kind === "answered" ? whereabouts(collection, entry, last, this.#lastStatus, words) : "";
    const all = [first, where, ...rest];
    // What was said since, of a button that was pressed, stands until there is something new to say.
    if (all.join(" ") === this.#stated) return;
    this.#stated = all.join(" ");
    this.#say(...all);
  }

  /** Show the terms in brief and folded; or fold all of them under a title, where they are not in the way. @param {string} title @param {number} spent */
  #showTerms(title, spent) {
    const words = this.#words, said = this.#facts.published, [short, ...published] = said.map(([key, parts]) => words.say(key, parts));
    const several = published[said.findIndex(([key]) => key === "published.several") - 1];
    const parts = [...notice(this.#collection, words), /** @type {[string, string[]]} */ (["published", published])];
    const summary = make("summary", {}, title ? this.#head(1, {}, words.say(title)) : words.say("page.more"));
    const inBrief = brief(this.#collection, words, [short, several], spent).map(([part, lines]) => this.#told(part, lines));
    this.#terms.replaceChildren(...(title ? [] : [this.#head(1, {}, words.say("page.before")), this.#answers(), ...inBrief]),
      make("details", {}, summary, ...parts.map(([part, lines]) => this.#told(part, lines))));
  }

  /** The question and its answers with their marks, before anybody agrees. */
  #answers() {
    const words = this.#words, { isSensitive, space } = this.#collection, { word, question } = this.#texts, { lists, lines } = asked(this.#collection, words);
    const isMarked = (/** @type {number} */ code) => space.kind !== "product" && isSensitive(code);
    const listed = lists.filter(([, labels]) => labels.length).map(([name, labels]) => make("div", {}, name && make("p", this.#itsLanguage(), word(name)),
      make("ul", { class: "answers" }, ...labels.map((label, code) => make("li", {}, make("span", this.#itsLanguage(), word(label)), " ",
        isMarked(code) ? make("span", { class: "mark" }, words.say("ask.mark")) : null)))));
    return make("section", {}, this.#head(2, {}, words.say("heading.asked")), make("p", this.#itsLanguage(), question), ...listed,
      ...lines.map((line) => make("p", {}, line)));
  }

  /** Which question this is, of several. */
  #count() {
    const parts = { number: this.#number(), count: this.#asked.length };
    return this.#asked.length > 1 ? make("p", { class: "small" }, this.#words.say("ask.question", parts)) : null;
  }

  /** Buttons for whoever does not want to answer: a value that says so, protected or not as its plan has it; or nothing is sent. @param {(value: any) => Promise<any>} send */
  #skips(send) {
    const words = this.#words, { plan, space } = this.#collection, { missing } = plan.domain, { word } = this.#texts;
    const value = space.kind === "product" ? space.attributes.map((/** @type {[string, any]} */ [name]) => missing?.[name]) : missing, code = space.code(value);
    if (code >= 0) {
      const name = space.name(code, word), marked = this.#collection.isSensitive(code) ? words.say("ask.marked", { name }) : name;
      return make("p", {}, button(words.say("ask.skip", { name: marked }), () => send(value)));
    }
    const leave = this.#next(words.say("ask.leave"));
    return leave && make("p", {}, leave);
  }

  /** The question itself, after secret places where the plan has some. */
  async #ask() {
    const device = this.#device, collection = this.#collection, words = this.#words;
    if (collection.bots && !(await device.isTagged(collection))) return this.#questions.replaceChildren(this.#secrets());
    const says = make("p", { role: "status" });
    /** @type {any} */
    let value;
    const send = (/** @type {any} */ chosen) => this.#doing(async () => {
      answer.disabled = true;
      const outcome = await device.answer(collection, chosen);
      if (outcome === "recorded") this.#options.heard("answered");
      else {
        this.#questions.replaceChildren();
        this.#say(words.say(`outcome.${outcome}`));
      }
      await this.#look();
      await device.send();
      await this.#look();
      this.#status.focus();
    })();
    const answer = button(words.say("ask.answer"), () => send(value), { class: "main", disabled: true });
    const field = choice(collection, this.#texts.question, (one, code) => {
      value = one;
      answer.disabled = code < 0;
      says.textContent = code < 0 ? "" : words.say(collection.isSensitive(code) ? "ask.protected" : collection.bots ? "ask.secret" : "ask.clear");
    }, { ...this.#texts, words });
    const skips = collection.survey ? this.#skips(send) : null;
    this.#questions.replaceChildren(make("section", {}, this.#head(1, { tabindex: -1 }, words.say("ask.heading")), this.#count(), field, says, answer, skips));
  }

  /** Secret values of the person's own, with their tags. */
  #secrets() {
    const words = this.#words, { bots, space } = this.#collection, { word } = this.#texts, list = make("ul");
    const kept = /** @type {Map<number, [any, string]>} */ (new Map());
    const tag = bots.tags ? make("select", this.#itsLanguage(), ...bots.tags.map((/** @type {string} */ one) => make("option", { value: one }, word(one)))) : null;
    /** @type {any} */
    let value;
    const add = button(words.say("secret.mark"), () => {
      kept.set(space.code(value), [value, tag?.value ?? ""]);
      show();
    }, { disabled: true });
    const show = () => {
      list.replaceChildren(...[...kept].map(([code, [, name]]) => make("li", {}, make("span", this.#itsLanguage(), `${space.name(code, word)}${name ? ` (${word(name)})` : ""}`), " ",
        button(words.say("secret.remove"), () => (kept.delete(code), show()), { "aria-label": words.say("secret.removes", { name: space.name(code, word) }) }))));
    };
    const done = button(words.say("secret.done"), this.#doing(async () => {
      const pairs = [...kept.values()], byTag = (/** @type {string} */ one) => pairs.filter(([, name]) => name === one).map(([place]) => place);
      await this.#device.tag(this.#collection, bots.tags ? Object.fromEntries(bots.tags.map((/** @type {string} */ one) => [one, byTag(one)])) : byTag(""));
      await this.#ask();
      this.#focusQuestion();
    }), { class: "main" });
    const field = choice(this.#collection, words.say("secret.values"), (one, code) => {
      value = one;
      add.disabled = code < 0;
    }, { ...this.#texts, words });
    return make("section", {}, this.#head(1, { tabindex: -1 }, words.say("secret.heading")), make("p", {}, words.say("secret.text")), field,
      tag ? make("label", { class: "field" }, make("span", {}, words.say("secret.tag")), tag) : null, make("p", {}, add), list, done);
  }

  /** Show the reports that left the device. @param {any[]} entries @param {{spent: number, left: number}} budget */
  #show(entries, { spent, left }) {
    const words = this.#words, record = this.#record, signature = JSON.stringify([entries, spent]);
    record.hidden = !entries.length && !spent;
    if (record.dataset.shown === signature) return;
    record.dataset.shown = signature;
    const rows = entries.map((one) => make("tr", {}, make("th", { scope: "row" }, words.say("left.epoch", { name: one.name, epoch: one.epoch })),
      make("td", {}, make("code", { dir: "ltr" }, one.record.replace(/../g, "$& ").trim())), make("td", {}, words.say(`left.${one.state}`))));
    const columns = ["report", "bytes", "state"].map((one) => make("th", { scope: "col" }, words.say(`left.${one}`)));
    const table = make("div", { class: "wide", tabindex: 0, role: "region", "aria-labelledby": "left" }, make("table", {},
      make("caption", {}, words.say("left.caption")), make("thead", {}, make("tr", {}, ...columns)), make("tbody", {}, ...rows)));
    record.replaceChildren(this.#head(1, { id: "left" }, words.say("left.heading")), table, make("p", {}, words.say("left.spent", { spent, left })), ...this.#endings(entries));
  }

  /** @param {any[]} entries */
  #endings(entries) {
    const words = this.#words, waiting = entries.filter((one) => one.state === "waiting").length;
    const stop = button(words.say("end.stop"), this.#doing(async () => {
      for (const { collection } of this.#asked) await this.#device.decline(collection.name);
      await this.#look();
      this.#say(words.say("end.stopped"));
      this.#status.focus();
      this.#options.heard("declined");
    }));
    const erase = button(words.say("end.erase"), this.#doing(async () => {
      await this.#device.forget();
      this.#isErased = true;
      for (const one of [this.#choices, this.#questions, this.#terms]) one.remove();
      await this.#look();
      this.#status.focus();
    }));
    return [
      make("p", {}, waiting ? words.say("left.some", { reports: words.counted("report", waiting) }) : words.say("left.nothing")),
      make("details", {}, make("summary", {}, words.say("end.heading")), beside(stop, words.say("end.stops")), beside(erase, words.say("end.erases"))),
    ];
  }
}
