// The survey page: what is sent and protected, consent, the answer, and what left the device. What it says of the survey is
// made from the collection that the device has checked; on what is published, which the collector does, the collector's word stands.

import { BrowserMemory, Device, DeviceError, RamMemory } from "../index.js";
import { sentence } from "../messages.js";
import { post } from "../sending.js";
import { choice } from "./choosing.js";
import { beside, button, counted, make } from "./elements.js";
import { howOften, whatIsNot, whatIsProtected, whatIsSent, whoElse } from "./notice.js";
import { standing, USED_UP, whereabouts } from "./standing.js";

const PAUSE = 5000;
/** @type {Record<string, string>} */
const OUTCOMES = { already: "You have answered already; nothing more is sent now.", exhausted: USED_UP, closed: "This survey takes no answers now.", declined: "You have not agreed; nothing is sent." };

const page = /** @type {HTMLElement} */ (document.querySelector("main"));
const status = /** @type {HTMLElement} */ (document.querySelector("#status"));
const { name = "", trust = "", limits = "", simulated } = page.dataset;
const isSimulated = simulated === "true";
const terms = make("section"), questions = make("div"), record = make("section", { hidden: true, "aria-labelledby": "left" });

// What the collector says of its own work: it stands among the terms, before consent.
const published = document.querySelector("#published");
const publishedLines = [...(published?.querySelectorAll("p") ?? [])].map((one) => one.textContent ?? "");

/** @param {...string} lines */
const say = (...lines) => status.replaceChildren(...lines.filter(Boolean).map((line) => make("p", {}, line)));
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

/** A reason why the survey cannot be read now, and may be later. */
class LaterError extends Error {}

let wake = () => {};
addEventListener("online", () => wake());

/** Wait a little, or until the browser is online again. */
const pause = () => new Promise((resolve) => {
  wake = () => resolve(undefined);
  setTimeout(wake, PAUSE);
});

async function envelope() {
  const answer = await fetch(`/v1/collections/${name}`, { credentials: "omit", cache: "no-cache" }).catch(() => {
    throw new LaterError("This survey cannot be read: its collector cannot be reached, and you may be offline. Nothing was sent. The page tries again by itself; you can also come back later.");
  });
  if (answer.status === 404) throw new Error("This survey is not here any more; ask whoever gave you its address.");
  if (!answer.ok) throw new LaterError("This survey cannot be read: its collector is busy. Nothing was sent. The page tries again by itself; you can also come back later.");
  return new Uint8Array(await answer.arrayBuffer());
}

/** The survey, as soon as it can be read. */
async function accepted() {
  for (;;) {
    try {
      return await device.accept(await envelope());
    } catch (error) {
      if (!(error instanceof LaterError)) throw error;
      say(error.message);
      await pause();
    }
  }
}

/** @type {Device} */
let device;
/** @type {any} */
let collection;
/** @type {import("../memory.js").Memory} */
let memory;
/** Of the last try to send; 0 where nobody answered. @type {number | undefined} */
let lastStatus;
/** The standing that is shown, and the words on it. @type {string | undefined} */
let shown, stated;
let isErased = false;

async function start() {
  published?.remove();
  say("Checking who asks …");
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
  page.append(opening(), terms, agree, questions, record);
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

/** @type {Promise<any>} */
let turn = Promise.resolve();

/** Show where the survey stands, if that is something new, and what left the device; one look after the other. */
const look = () => (turn = turn.catch(() => {}).then(looked));

async function looked() {
  if (isErased) return;
  const entries = await device.log(), budget = await device.budget(), answered = await device.answered(collection), last = answered.at(-1) ?? -1;
  const isAgreed = (await device.export()).collections.some((one) => one.id === collection.id && one.agreed && !one.declined);
  const { kind, lines } = standing({ collection, answered, spent: budget.names, left: budget.left, isLasting: memory.lasts, now: Date.now() / 1000 });
  show(entries, budget);
  const now = `${kind} ${isAgreed} ${last}`;
  if (now !== shown) {
    shown = now;
    agree.hidden = kind !== "open" || isAgreed;
    showTerms(isAgreed ? "What you agreed to" : kind === "open" || kind === "early" ? "" : "What this survey said");
    questions.replaceChildren();
    if (kind === "open" && isAgreed) await ask();
  }
  const entry = entries.find((one) => one.name === name && one.version === collection.version && one.epoch === last);
  const [first = "", ...rest] = lines, all = [first, kind === "answered" ? whereabouts(collection, entry, last, lastStatus) : "", ...rest];
  // What was said since, of a button that was pressed, stands until there is something new to say.
  if (all.join(" ") === stated) return;
  stated = all.join(" ");
  say(...all);
}

const agree = button("I agree", doing(async () => {
  await device.agree(collection);
  await look();
  questions.querySelector("h2")?.focus();
}), { class: "main", hidden: true });

/** The sentences on who asks, and what for. */
function opening() {
  return make("section", {}, make("p", { class: "lead" }, collection.purpose), make("p", {}, `Questions: ${collection.contact}`),
    collection.simulated ? make("p", { class: "warning" }, "This is a simulation: it protects nobody. Answer with something made up.") : null,
    memory.lasts ? null : make("p", { class: "warning" }, "This browser lets the page remember nothing (a private window?). You can answer once in this visit, and the page cannot tell later that you did."));
}

/** Show the terms, or fold them under a title: they can be read again, and are not in the way. @param {string} title */
function showTerms(title) {
  const parts = [told("What is sent", whatIsSent(collection)), told("What is protected", whatIsProtected(collection)),
    told("What is not", whatIsNot(collection)), told("How often", howOften(collection)), told("Who else is asked", whoElse(collection)),
    publishedLines.length ? told("What is published", publishedLines) : ""];
  terms.replaceChildren(...(title ? [make("details", {}, make("summary", {}, make("h2", {}, title)), ...parts)] : [make("h2", {}, "Before you answer"), ...parts]));
}

/** The question itself, after secret places where the plan has some. */
async function ask() {
  if (collection.bots && !(await device.isTagged(collection))) return questions.replaceChildren(secrets());
  const says = make("p", { role: "status" });
  /** @type {any} */
  let value;
  const answer = button("Answer", doing(async () => {
    answer.disabled = true;
    const outcome = await device.answer(collection, value);
    if (outcome !== "recorded") {
      questions.replaceChildren();
      say(OUTCOMES[outcome]);
    }
    await look();
    await device.send();
    await look();
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

/** Secret values of the person's own, with their tags. */
function secrets() {
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
    await ask();
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

/** Show the reports that left the device. @param {any[]} entries @param {{spent: number, left: number}} budget */
function show(entries, { spent, left }) {
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
    make("p", {}, `Spent so far on this site: ${spent.toPrecision(3)} of epsilon; left: ${left.toPrecision(3)}.`), ...endings(entries));
}

/** @param {any[]} entries */
function endings(entries) {
  const waiting = entries.filter((one) => one.state === "waiting").length;
  const decline = button("Stop taking part", doing(async () => {
    await device.decline(name);
    await look();
    say("You take no part any more. What was not sent is erased.");
    status.focus();
  }));
  const forget = button("Erase what this device keeps", doing(async () => {
    await device.forget();
    isErased = true;
    for (const one of [agree, questions, terms]) one.remove();
    show(await device.log(), await device.budget());
    say("Erased. What was spent stays counted, so that nobody can ask you anew from nothing.");
    status.focus();
  }));
  return [
    waiting ? make("p", {}, `Waiting to be sent, while this page is open or when you come back: ${counted(waiting, "report")}.`) : make("p", {}, "Nothing waits to be sent."),
    make("details", {}, make("summary", {}, "Stop, or erase"),
      beside(decline, "Nothing more is asked or sent under this name; a report that was sent cannot be taken back."),
      beside(forget, "Consent, secrets, keys, this list, and whatever waits.")),
  ];
}

start().catch((error) => say(`${sentence(error)}${error instanceof DeviceError ? ` (${error.code}) Nothing can be answered here.` : ""}`));
