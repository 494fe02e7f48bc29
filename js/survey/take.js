// The survey page: what is sent and protected, consent, the answer, and what left the device. All of it is made from the
// collection that the device has checked, and not from what the page was sent with.

import { BrowserMemory, Device, DeviceError, RamMemory } from "../index.js";
import { sentence } from "../messages.js";
import { choice } from "./choosing.js";
import { beside, button, counted, make } from "./elements.js";
import { howOften, whatIsNot, whatIsProtected, whatIsSent } from "./notice.js";

const PAUSE = 5000;
const OUTCOMES = {
  recorded: "Your answer is drawn.",
  already: "You have answered already; nothing more is sent now.",
  exhausted: "Another report would cost more than your budget allows; nothing is sent.",
  closed: "This survey takes no answers now.",
  declined: "You have not agreed; nothing is sent.",
};
const ENDS = {
  sent: "Your report was sent. Thank you.",
  late: "Your report could not be sent in time, and is not sent any more.",
  refused: "Your report was refused by the collector, and is not sent again.",
};

const page = /** @type {HTMLElement} */ (document.querySelector("main"));
const status = /** @type {HTMLElement} */ (document.querySelector("#status"));
const { name = "", trust = "", limits = "", simulated } = page.dataset;
const isSimulated = simulated === "true";
const questions = make("div"), record = make("section", { hidden: true, "aria-labelledby": "left" });

/** @param {string} text */
const say = (text) => (status.textContent = text);
/** @param {string} heading @param {string[]} lines */
const told = (heading, lines) => make("section", {}, make("h3", {}, heading), ...lines.map((line) => make("p", {}, line)));

/** Do what a button asks for; what goes wrong is said. @param {() => Promise<any>} work */
function doing(work) {
  return async () => {
    try {
      await work();
    } catch (error) {
      say(sentence(error));
    }
  };
}

async function opened() {
  try {
    // Simulations begin anew, with a key of their own; they must not be taken for each other.
    return await BrowserMemory.open(isSimulated ? `discreet simulation ${trust}` : "discreet");
  } catch {
    return new RamMemory();
  }
}

async function envelope() {
  const answer = await fetch(`/v1/collections/${name}`, { credentials: "omit", cache: "no-cache" });
  if (!answer.ok) throw new Error("The survey cannot be read now; try again later.");
  return new Uint8Array(await answer.arrayBuffer());
}

/** True if the person agreed to this very document before. @param {Device} device @param {any} collection */
async function hasAgreed(device, { id }) {
  return (await device.export()).collections.some((one) => one.id === id && one.agreed && !one.declined);
}

async function start() {
  const memory = await opened();
  const keys = trust.split(" ").map((key) => Uint8Array.from(atob(key), (letter) => letter.charCodeAt(0)));
  const device = new Device(memory, { trust: keys, limits: JSON.parse(limits), simulated: isSimulated });
  const collection = await device.accept(await envelope());
  const hindrance = collection.state !== "open" ? "This survey was withdrawn; what this device kept for it is erased."
    : !memory.lasts && collection.answers !== "once" && !isSimulated ? "This browser lets the page remember nothing (a private window?), and this survey asks again: it cannot be taken here."
      : "";
  const hadAgreed = await hasAgreed(device, collection), terms = notice(collection);
  const agree = button("I agree", doing(async () => {
    await device.agree(collection);
    agree.hidden = true;
    fold(terms);
    await ask(device, collection);
    questions.querySelector("h2")?.focus();
  }), { class: "main", hidden: hindrance !== "" || hadAgreed });
  say(hindrance);
  if (hadAgreed) fold(terms);
  page.append(opening(collection, memory.lasts), terms, agree, questions, record);
  await show(device);
  if (hindrance) return;
  const loop = () => doing(() => send(device))().then(() => setTimeout(loop, PAUSE));
  document.addEventListener("visibilitychange", () => document.visibilityState === "hidden" && device.send().catch(() => {}));
  if (hadAgreed) await ask(device, collection);
  loop();
}

/** The sentences on who asks, and what for. @param {any} collection @param {boolean} lasts */
function opening(collection, lasts) {
  return make("section", {}, make("p", { class: "lead" }, collection.purpose), make("p", {}, `Questions: ${collection.contact}`),
    collection.simulated ? make("p", { class: "warning" }, "This is a simulation: it protects nobody. Answer with something made up.") : null,
    lasts ? null : make("p", { class: "warning" }, "This browser lets the page remember nothing (a private window?). You can answer once in this visit, and the page cannot tell later that you did."));
}

/** The terms that people agree to. @param {any} collection */
function notice(collection) {
  return make("section", {}, make("h2", {}, "Before you answer"), told("What is sent", whatIsSent(collection)), told("What is protected", whatIsProtected(collection)),
    told("What is not", whatIsNot(collection)), told("How often", howOften(collection)));
}

/** Fold the terms that were agreed to: they can be read again, and are no longer in the way. @param {HTMLElement} terms */
function fold(terms) {
  const [, ...rest] = terms.childNodes;
  terms.replaceChildren(make("details", {}, make("summary", {}, make("h2", {}, "What you agreed to")), ...rest));
}

/** The question itself, after secret places where the plan has some. @param {Device} device @param {any} collection */
async function ask(device, collection) {
  if (collection.bots && !(await device.isTagged(collection))) return questions.replaceChildren(secrets(device, collection));
  const says = make("p", { role: "status" });
  /** @type {any} */
  let value;
  const answer = button("Answer", doing(async () => {
    answer.disabled = true;
    const outcome = await device.answer(collection, value);
    questions.replaceChildren();
    say(OUTCOMES[outcome]);
    await send(device);
    status.focus();
  }), { class: "main", disabled: true });
  const field = choice(collection, collection.title, (one, code) => {
    value = one;
    answer.disabled = code < 0;
    const isHidden = code >= 0 && collection.isSensitive(code);
    says.textContent = code < 0 ? "" : isHidden ? "This answer is protected." : collection.bots
      ? "This answer may be sent as it is, unless you have marked it as secret." : "This answer is not protected: it may be sent as it is.";
  });
  questions.replaceChildren(make("section", {}, make("h2", { tabindex: -1 }, "Your answer"), field, says, answer));
}

/** Secret values of the person's own, with their tags. @param {Device} device @param {any} collection */
function secrets(device, collection) {
  const { bots, space } = collection, kept = /** @type {Map<number, [any, string]>} */ (new Map()), list = make("ul");
  const tag = bots.tags ? make("select", {}, ...bots.tags.map((/** @type {string} */ one) => make("option", {}, one))) : null;
  /** @type {any} */
  let value;
  const add = button("Mark as secret", () => {
    kept.set(space.code(value), [value, tag?.value ?? ""]);
    show();
  }, { disabled: true });
  function show() {
    list.replaceChildren(...[...kept].map(([code, [, name]]) => make("li", {}, `${space.name(code)}${name ? ` (${name})` : ""} `,
      button("Remove", () => (kept.delete(code), show()), { "aria-label": `Remove ${space.name(code)}` }))));
  }
  const done = button("Go on", doing(async () => {
    const pairs = [...kept.values()], byTag = (/** @type {string} */ one) => pairs.filter(([, name]) => name === one).map(([place]) => place);
    await device.tag(collection, bots.tags ? Object.fromEntries(bots.tags.map((/** @type {string} */ one) => [one, byTag(one)])) : byTag(""));
    await ask(device, collection);
    questions.querySelector("h2")?.focus();
  }), { class: "main" });
  const field = choice(collection, "Values that are secret for you", (one, code) => {
    value = one;
    add.disabled = code < 0;
  });
  return make("section", {}, make("h2", { tabindex: -1 }, "Your secrets"),
    make("p", {}, "Mark what is secret for you alone, such as your home: it is then as protected as the rest. The list stays on this device, and your first answer fixes it. Go on without any if you have none."),
    field, tag ? make("label", { class: "field" }, make("span", {}, "It is my"), tag) : null, make("p", {}, add), list, done);
}

/** @param {Device} device */
async function send(device) {
  await device.send();
  await show(device);
}

/** @type {Record<string, number> | undefined} */
let before;

/** Show the outcome of a report of this survey: one device sends those of every survey of this site. @param {any[]} entries */
function tell(entries) {
  const ended = /** @type {Record<string, number>} */ ({ sent: 0, late: 0, refused: 0, waiting: 0 });
  for (const { state, status } of entries.filter((one) => one.name === name)) {
    ended[state !== "dropped" ? state : status === "late" ? "late" : "refused"]++;
  }
  for (const [end, text] of Object.entries(ENDS)) if (before && ended[end] > before[end]) say(text);
  before = ended;
}

/** The reports that left the device. @param {Device} device */
async function show(device) {
  const entries = await device.log(), { spent, left } = await device.budget();
  tell(entries);
  record.hidden = !entries.length && !spent;
  const signature = JSON.stringify([entries, spent]);
  if (record.dataset.shown === signature) return;
  record.dataset.shown = signature;
  const states = { waiting: "waits to be sent", sent: "sent", dropped: "dropped" };
  const rows = entries.map((one) => make("tr", {}, make("th", { scope: "row" }, `${one.name}, epoch ${one.epoch}`),
    make("td", {}, make("code", {}, one.record.replace(/../g, "$& ").trim())), make("td", {}, states[one.state])));
  const table = make("div", { class: "wide", tabindex: 0, role: "region", "aria-label": "Reports" }, make("table", {},
    make("caption", {}, "The very bytes of every report that left this device, or waits to."),
    make("thead", {}, make("tr", {}, ...["Report", "Bytes", "State"].map((one) => make("th", { scope: "col" }, one)))), make("tbody", {}, ...rows)));
  record.replaceChildren(make("h2", { id: "left" }, "What left this device"), table,
    make("p", {}, `Spent so far on this site: ${spent.toPrecision(3)} of epsilon; left: ${left.toPrecision(3)}.`), ...endings(device, entries));
}

/** @param {Device} device @param {any[]} entries */
function endings(device, entries) {
  const waiting = entries.filter((one) => one.state === "waiting").length;
  const decline = button("Stop taking part", doing(async () => {
    await device.decline(name);
    await ended(device, "You take no part any more. What was not sent is erased.");
  }));
  const forget = button("Erase what this device keeps", doing(async () => {
    await device.forget();
    await ended(device, "Erased. What was spent stays counted, so that nobody can ask you anew from nothing.");
  }));
  return [
    waiting ? make("p", {}, `${counted(waiting, "report")} will be sent at a random time, while this page is open or when you come back.`) : make("p", {}, "Nothing waits to be sent."),
    make("details", {}, make("summary", {}, "Stop, or erase"),
      beside(decline, "Nothing more is asked or sent under this name; a report that was sent cannot be taken back."),
      beside(forget, "Consent, secrets, keys, this list, and whatever waits.")),
  ];
}

/** @param {Device} device @param {string} text */
async function ended(device, text) {
  questions.replaceChildren();
  await show(device);
  say(text);
  status.focus();
}

start().catch((error) => say(`${sentence(error)}${error instanceof DeviceError ? ` (${error.code}) Nothing can be answered here.` : ""}`));
