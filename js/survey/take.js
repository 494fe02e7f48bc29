// The survey page: what is sent and protected, consent, the answer, and what left the device, in the language of who reads it. What
// it says of the survey is made from the collection that the device has checked; on what is published, which the collector does, the
// collector's word stands.

import { BrowserMemory, Device, DeviceError, RamMemory } from "../index.js";
import { sentence } from "../messages.js";
import { post } from "../sending.js";
import { choice } from "./choosing.js";
import { beside, button, make } from "./elements.js";
import { brief, notice, textsOf } from "./notice.js";
import { standing, whereabouts } from "./standing.js";
import { LANGUAGES, Wording } from "./wording.js";

const PAUSE = 5000;
/** Kinds of refusals, as people are told of them. @type {Record<string, string>} */
const REFUSALS = {
  survey: "size envelope untrusted signature format field promise law plan", version: "rollback equivocation", cost: "cap lifetime",
  browser: "platform randomness", memory: "store",
};

const page = /** @type {HTMLElement} */ (document.querySelector("main"));
const heading = /** @type {HTMLElement} */ (document.querySelector("h1"));
const status = /** @type {HTMLElement} */ (document.querySelector("#status"));
const { name = "", trust = "", limits = "", simulated, facts = "[]" } = page.dataset;
const isSimulated = simulated === "true";
const opening = make("section"), terms = make("section"), choices = make("p", { hidden: true }), questions = make("div");
const record = make("section", { hidden: true, "aria-labelledby": "left" });

/** @type {Device} */
let device;
/** @type {any} */
let collection;
/** @type {import("../memory.js").Memory} */
let memory;
/** The sentences of the page's language. @type {Wording} */
let words;
/** The survey's texts, in that language or its own. @type {ReturnType<typeof textsOf>} */
let texts;
/** Of the last try to send; 0 where nobody answered. @type {number | undefined} */
let lastStatus;
/** The standing that is shown, and the words on it. @type {string | undefined} */
let shown, stated;
let isErased = false, hasDeclined = false;

/** @param {...(string | Node)} lines */
const say = (...lines) => status.replaceChildren(...lines.filter(Boolean).map((line) => make("p", {}, line)));
/** @param {string} part @param {string[]} lines */
const told = (part, lines) => make("section", {}, make("h3", {}, words.say(`heading.${part}`)), ...lines.map((line) => make("p", {}, line)));
/** Attributes of the survey's own words, of which not every language is the page's. */
const itsLanguage = () => ({ lang: texts.language, dir: "auto" });

/** Do what a button asks for; what goes wrong is said. @param {() => Promise<any>} work */
function doing(work) {
  return async () => {
    try {
      await work();
    } catch (error) {
      say(...refused(error));
    }
  };
}

/** The lines on what went wrong: a sentence for people, and in English the one for whoever is asked. @param {unknown} error */
function refused(error) {
  if (error instanceof GoneError) return [words.say("read.gone")];
  const { code } = error instanceof DeviceError ? error : { code: "" };
  const kind = Object.keys(REFUSALS).find((one) => REFUSALS[one].split(" ").includes(code)) ?? "other";
  return [words.say(`refused.${kind}`) + (code && ` (${code})`), make("span", { class: "small", lang: "en", dir: "ltr" }, sentence(error))];
}

// Languages

/** @type {Map<string, any>} */
const catalogues = new Map();

/** Take the sentences of a language; and its direction. @param {string} language */
async function speak(language) {
  while (!catalogues.has(language)) {
    const answer = await fetch(new URL(`../languages/${language}.json`, import.meta.url), { credentials: "omit" }).catch(() => null);
    if (answer?.ok) catalogues.set(language, await answer.json());
    else await pause();
  }
  words = new Wording(language, catalogues.get(language));
  Object.assign(document.documentElement, { lang: language, dir: words.catalogue.dir });
}

/** The language that the address names after #, or the first of the browser's that page and survey have. */
function preferred() {
  const has = (/** @type {string} */ one) => Object.hasOwn(LANGUAGES, one), asked = location.hash.slice(1);
  const wanted = navigator.languages.map((one) => one.split("-")[0].toLowerCase()).filter(has);
  const surveys = collection ? [collection.language, ...Object.keys(collection.languages)] : [];
  return [asked, wanted.find((one) => surveys.includes(one)) ?? "", wanted[0] ?? "", ...surveys].find(has) ?? "en";
}

const languages = make("select", { change: () => choose(languages.value) },
  ...Object.entries(LANGUAGES).map(([one, itself]) => make("option", { value: one, lang: one }, itself)));
const languageName = make("span"), unreviewed = make("p", { class: "small" });
const bar = make("div", { class: "languages" }, make("label", {}, languageName, " ", languages), unreviewed);

/** Show the page in another language. @param {string} language */
async function choose(language) {
  history.replaceState(null, "", `#${language}`);
  await speak(language);
  draw();
  await look();
}

/** Write what stands on the page whatever happens. */
function draw() {
  const { reviewed } = words.catalogue;
  texts = textsOf(collection, words.language);
  languages.value = words.language;
  languageName.textContent = words.say("page.language");
  unreviewed.textContent = reviewed ? "" : words.say("page.unreviewed");
  document.title = heading.textContent = texts.title;
  Object.assign(heading, itsLanguage());
  agree.textContent = words.say("page.agree");
  decline.textContent = words.say("page.decline");
  opening.replaceChildren(make("p", { class: "lead", ...itsLanguage() }, texts.purpose), make("p", {}, words.say("page.contact", { contact: collection.contact })),
    collection.simulated ? make("p", { class: "warning" }, words.say("page.simulation")) : "",
    memory.lasts ? "" : make("p", { class: "warning" }, words.say("page.forgetful")));
  // Nobody consents to what does not stand there yet.
  choices.hidden = true;
  shown = stated = undefined;
  delete record.dataset.shown;
}

// Reading the survey

async function opened() {
  try {
    // Simulations begin anew, with a key of their own; they must not be taken for each other.
    return await BrowserMemory.open(isSimulated ? `discreet simulation ${trust}` : "discreet");
  } catch {
    return new RamMemory();
  }
}

/** A reason why the survey cannot be read now, and may be later; and why it cannot be read at all. */
class LaterError extends Error {}
class GoneError extends Error {}

let wake = () => {};
addEventListener("online", () => wake());

/** Wait a little, or until the browser is online again. */
const pause = () => new Promise((resolve) => {
  wake = () => resolve(undefined);
  setTimeout(wake, PAUSE);
});

async function envelope() {
  const answer = await fetch(`/v1/collections/${name}`, { credentials: "omit", cache: "no-cache" }).catch(() => {
    throw new LaterError("read.offline");
  });
  if (answer.status === 404) throw new GoneError();
  if (!answer.ok) throw new LaterError("read.busy");
  return new Uint8Array(await answer.arrayBuffer());
}

/** The survey, as soon as it can be read. */
async function accepted() {
  for (;;) {
    try {
      return await device.accept(await envelope());
    } catch (error) {
      if (!(error instanceof LaterError)) throw error;
      say(words.say(error.message));
      await pause();
    }
  }
}

async function start() {
  await speak(preferred());
  say(words.say("page.checking"));
  memory = await opened();
  const keys = trust.split(" ").map((key) => Uint8Array.from(atob(key), (letter) => letter.charCodeAt(0)));
  device = new Device(memory, {
    trust: keys, limits: JSON.parse(limits), simulated: isSimulated,
    post: async (origin, frame) => {
      const answer = await post(origin, frame);
      lastStatus = answer.status;
      return answer;
    },
  });
  collection = await accepted();
  await speak(preferred());
  draw();
  page.prepend(bar);
  page.append(opening, terms, choices, questions, record);
  document.addEventListener("visibilitychange", () => document.visibilityState === "hidden" && device.send().catch(() => {}));
  while (!isErased) {
    await doing(async () => {
      await look();
      await device.send();
      await look();
    })();
    await pause();
  }
}

// Showing where it stands

/** @type {Promise<any>} */
let turn = Promise.resolve();

/** Show where the survey stands, if that is something new, and what left the device; one look after the other. */
const look = () => (turn = turn.catch(() => {}).then(looked));

async function looked() {
  const entries = await device.log(), budget = await device.budget();
  show(entries, budget);
  if (isErased) return say(words.say("end.erased"));
  const answered = await device.answered(collection), last = answered.at(-1) ?? -1;
  const isAgreed = (await device.export()).collections.some((one) => one.id === collection.id && one.agreed && !one.declined);
  const stands = standing({ collection, answered, spent: budget.names, left: budget.left, isLasting: memory.lasts, now: Date.now() / 1000 }, words);
  const { kind, lines } = hasDeclined && stands.kind === "open" ? { kind: "declined", lines: [words.say("page.declined")] } : stands;
  const now = `${kind} ${isAgreed} ${last}`;
  if (now !== shown) {
    shown = now;
    choices.hidden = kind !== "open" || isAgreed;
    showTerms(isAgreed ? "page.agreed" : kind === "open" || kind === "early" ? "" : "page.said");
    questions.replaceChildren();
    if (kind === "open" && isAgreed) await ask();
  }
  const entry = entries.find((one) => one.name === name && one.version === collection.version && one.epoch === last);
  const [first = "", ...rest] = lines, all = [first, kind === "answered" ? whereabouts(collection, entry, last, lastStatus, words) : "", ...rest];
  // What was said since, of a button that was pressed, stands until there is something new to say.
  if (all.join(" ") === stated) return;
  stated = all.join(" ");
  say(...all);
}

const agree = button("", doing(async () => {
  await device.agree(collection);
  await look();
  questions.querySelector("h2")?.focus();
}), { class: "main" });
const decline = button("", doing(async () => {
  hasDeclined = true;
  await look();
  status.focus();
}));
choices.append(agree, " ", decline);

/** Show the terms in brief and folded; or fold all of them under a title, where they are not in the way. @param {string} title */
function showTerms(title) {
  const [short, ...published] = JSON.parse(facts).map((/** @type {[string, any]} */ [key, parts]) => words.say(key, parts));
  const parts = [...notice(collection, words), ...(published.length ? [/** @type {[string, string[]]} */ (["published", published])] : [])];
  const whole = parts.map(([part, lines]) => told(part, lines));
  const folded = make("details", {}, make("summary", {}, title ? make("h2", {}, words.say(title)) : words.say("page.more")), ...whole);
  terms.replaceChildren(...(title ? [] : [make("h2", {}, words.say("page.before")), ...brief(collection, words, short).map(([part, lines]) => told(part, lines))]), folded);
}

/** The question itself, after secret places where the plan has some. */
async function ask() {
  if (collection.bots && !(await device.isTagged(collection))) return questions.replaceChildren(secrets());
  const says = make("p", { role: "status" });
  /** @type {any} */
  let value;
  const answer = button(words.say("ask.answer"), doing(async () => {
    answer.disabled = true;
    const outcome = await device.answer(collection, value);
    if (outcome !== "recorded") {
      questions.replaceChildren();
      say(words.say(`outcome.${outcome}`));
    }
    await look();
    await device.send();
    await look();
    status.focus();
  }), { class: "main", disabled: true });
  const field = choice(collection, texts.question, (one, code) => {
    value = one;
    answer.disabled = code < 0;
    says.textContent = code < 0 ? "" : words.say(collection.isSensitive(code) ? "ask.protected" : collection.bots ? "ask.secret" : "ask.clear");
  }, { ...texts, words });
  questions.replaceChildren(make("section", {}, make("h2", { tabindex: -1 }, words.say("ask.heading")), field, says, answer));
}

/** Secret values of the person's own, with their tags. */
function secrets() {
  const { bots, space } = collection, { word } = texts, kept = /** @type {Map<number, [any, string]>} */ (new Map()), list = make("ul");
  const tag = bots.tags ? make("select", itsLanguage(), ...bots.tags.map((/** @type {string} */ one) => make("option", { value: one }, word(one)))) : null;
  /** @type {any} */
  let value;
  const add = button(words.say("secret.mark"), () => {
    kept.set(space.code(value), [value, tag?.value ?? ""]);
    show();
  }, { disabled: true });
  function show() {
    list.replaceChildren(...[...kept].map(([code, [, name]]) => make("li", {}, make("span", itsLanguage(), `${space.name(code, word)}${name ? ` (${word(name)})` : ""}`), " ",
      button(words.say("secret.remove"), () => (kept.delete(code), show()), { "aria-label": words.say("secret.removes", { name: space.name(code, word) }) }))));
  }
  const done = button(words.say("secret.done"), doing(async () => {
    const pairs = [...kept.values()], byTag = (/** @type {string} */ one) => pairs.filter(([, name]) => name === one).map(([place]) => place);
    await device.tag(collection, bots.tags ? Object.fromEntries(bots.tags.map((/** @type {string} */ one) => [one, byTag(one)])) : byTag(""));
    await ask();
    questions.querySelector("h2")?.focus();
  }), { class: "main" });
  const field = choice(collection, words.say("secret.values"), (one, code) => {
    value = one;
    add.disabled = code < 0;
  }, { ...texts, words });
  return make("section", {}, make("h2", { tabindex: -1 }, words.say("secret.heading")), make("p", {}, words.say("secret.text")), field,
    tag ? make("label", { class: "field" }, make("span", {}, words.say("secret.tag")), tag) : null, make("p", {}, add), list, done);
}

/** Show the reports that left the device. @param {any[]} entries @param {{spent: number, left: number}} budget */
function show(entries, { spent, left }) {
  record.hidden = !entries.length && !spent;
  const signature = JSON.stringify([entries, spent]);
  if (record.dataset.shown === signature) return;
  record.dataset.shown = signature;
  const rows = entries.map((one) => make("tr", {}, make("th", { scope: "row" }, words.say("left.epoch", { name: one.name, epoch: one.epoch })),
    make("td", { dir: "ltr" }, make("code", {}, one.record.replace(/../g, "$& ").trim())), make("td", {}, words.say(`left.${one.state}`))));
  const columns = ["report", "bytes", "state"].map((one) => make("th", { scope: "col" }, words.say(`left.${one}`)));
  const table = make("div", { class: "wide", tabindex: 0, role: "region", "aria-labelledby": "left" }, make("table", {},
    make("caption", {}, words.say("left.caption")), make("thead", {}, make("tr", {}, ...columns)), make("tbody", {}, ...rows)));
  record.replaceChildren(make("h2", { id: "left" }, words.say("left.heading")), table, make("p", {}, words.say("left.spent", { spent, left })), ...endings(entries));
}

/** @param {any[]} entries */
function endings(entries) {
  const waiting = entries.filter((one) => one.state === "waiting").length;
  const stop = button(words.say("end.stop"), doing(async () => {
    await device.decline(name);
    await look();
    say(words.say("end.stopped"));
    status.focus();
  }));
  const erase = button(words.say("end.erase"), doing(async () => {
    await device.forget();
    isErased = true;
    for (const one of [choices, questions, terms]) one.remove();
    await look();
    status.focus();
  }));
  return [
    make("p", {}, waiting ? words.say("left.some", { reports: words.counted("report", waiting) }) : words.say("left.nothing")),
    make("details", {}, make("summary", {}, words.say("end.heading")), beside(stop, words.say("end.stops")), beside(erase, words.say("end.erases"))),
  ];
}

start().catch((error) => {
  const [first, ...more] = refused(error);
  say(`${first}${error instanceof DeviceError ? ` ${words.say("refused.here")}` : ""}`, ...more);
});
