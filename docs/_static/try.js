// The page on which reports are drawn: discreet's sampler, a made-up crowd, and the linear estimate.
"use strict";

const RANGE = 2n ** 64n;
const ANSWERS = [
  { name: "on foot", share: 0.28 },
  { name: "bicycle", share: 0.32 },
  { name: "bus", share: 0.18 },
  { name: "car", share: 0.14 },
  { name: "in a police car", share: 0.05, isSensitive: true },
  { name: "in an ambulance", share: 0.03, isSensitive: true },
];
const SENSITIVE = ANSWERS.filter((answer) => answer.isSensitive).length;
const FIRST = ANSWERS.length - SENSITIVE;
const MOST_PEOPLE = 200000;

const at = (id) => document.getElementById(id);
const percent = (share) => `${(100 * share).toFixed(1)}%`;
const words = (count) => crypto.getRandomValues(new Uint8Array(8 * count));

/** The sampler of randomized response at an epsilon: the truth as an integer over 2^64, rounded down. */
function samplerOf(epsilon) {
  const odds = Math.expm1(epsilon) / SENSITIVE;
  // 53 bits of it, less what a double may be too large by.
  const truth = BigInt(Math.floor((odds / (1 + odds)) * 2 ** 53) - 8) << 11n;
  return {
    size: ANSWERS.length,
    sensitive: [[FIRST, ANSWERS.length]],
    truth: String(truth),
    clear_blocks: false,
    law: { law: "singletons", size: SENSITIVE },
  };
}

const truthOf = (sampler) => Number(BigInt(sampler.truth) >> 11n) / 2 ** 53;

/** As a device computes it, from the sampler alone. */
function epsilonOf(sampler) {
  const truth = BigInt(sampler.truth);
  return Math.log1p((Number(truth) / Number(RANGE - truth)) * SENSITIVE);
}

/** The code that a record names: of an answer in clear, or of the protected one in its block. */
const reported = (record) => (record[0] === 2 ? record[1] : FIRST + record[1]);

let people = [];
let counts = [];
let sampler = samplerOf(1);
let turn = 0;

async function tell(codes) {
  for (const code of codes) counts[reported(await discreetSampler.draw(sampler, code, words))] += 1;
}

function somebody() {
  let left = Math.random();
  return Math.max(ANSWERS.findIndex(({ share }) => (left -= share) < 0), 0);
}

function show() {
  const n = people.length;
  const truth = truthOf(sampler);
  const rows = ANSWERS.map(({ name, isSensitive }, code) => {
    const seen = counts[code] / n;
    const noise = isSensitive ? (1 - truth) / SENSITIVE : 0;
    const estimate = (seen - noise) / truth;
    const deviation = Math.sqrt((seen * (1 - seen)) / n) / truth;
    const real = people.filter((one) => one === code).length / n;
    const [lower, upper] = [-1.96, 1.96].map((z) => Math.min(Math.max(estimate + z * deviation, 0), 1));
    const x = (share) => `${Math.min(Math.max(200 * share, 0), 100)}%`;
    const picture = `<svg aria-hidden="true" width="110" height="16"><line class="interval" x1="${x(lower)}" x2="${x(upper)}" y1="8" y2="8"/>
      <circle cx="${x(estimate)}" cy="8" r="4"/><line class="people" x1="${x(real)}" x2="${x(real)}" y1="1" y2="15"/></svg>`;
    return `<tr class="${isSensitive ? "sensitive" : "clear"}"><th scope="row">${name}${isSensitive ? " (protected)" : ""}</th><td>${picture}</td>
      <td>${percent(real)}</td><td>${percent(estimate)}</td><td>${percent(lower)} to ${percent(upper)}</td></tr>`;
  });
  at("try-rows").innerHTML = n ? rows.join("") : "";
  at("try-caption").textContent = n ? `${n.toLocaleString("en")} people, one report each` : "Nobody yet: add people.";
  const epsilon = epsilonOf(sampler);
  const sure = (prior) => percent((prior * Math.exp(epsilon)) / (1 - prior + prior * Math.exp(epsilon)));
  at("try-said").textContent = Number(at("try-epsilon").value).toFixed(1);
  at("try-odds").textContent =
    `Whoever was 10% sure that you came ${ANSWERS[FIRST].name} can get to ${sure(0.1)} by your report, whatever it is, and from 50% to ${sure(0.5)}. `
    + `The truth is told with probability ${truth.toFixed(3)}.`;
}

/** Everybody reports once more, by the epsilon that stands there now. */
async function anew() {
  const mine = ++turn;
  sampler = samplerOf(Number(at("try-epsilon").value));
  counts = ANSWERS.map(() => 0);
  for (let start = 0; start < people.length; start += 5000) {
    await tell(people.slice(start, start + 5000));
    if (mine !== turn) return;
  }
  show();
}

async function report(event) {
  event.preventDefault();
  const chosen = document.querySelector("[name=try-answer]:checked");
  if (!chosen) {
    at("try-report").textContent = "Choose an answer first.";
    return;
  }
  const code = Number(chosen.value);
  const record = await discreetSampler.draw(sampler, code, words);
  const bytes = [...record].map((byte) => byte.toString(16).padStart(2, "0")).join(" ");
  const name = ANSWERS[reported(record)].name;
  at("try-report").textContent =
    record[0] === 2
      ? `The report, as bytes: ${bytes}. It says, in clear, “${name}”: a reader knows that it is true, and that it is no protected answer.`
      : `The report, as bytes: ${bytes}. It says “${name}”, which may be the truth or noise: anybody can have sent it.`;
  people.push(code);
  counts[reported(record)] += 1;
  show();
}

async function add(count) {
  if (count === 0) people = [];
  const others = Array.from({ length: Math.min(count, MOST_PEOPLE - people.length) }, somebody);
  people = people.concat(others);
  if (count === 0) await anew();
  else await tell(others);
  at("try-report").textContent = "";
  show();
}

at("try-answers").innerHTML = ANSWERS.map(
  ({ name, isSensitive }, code) =>
    `<label><input type="radio" name="try-answer" value="${code}"> ${name}${isSensitive ? " (protected)" : ""}</label>`,
).join(" ");
at("try").addEventListener("submit", report);
at("try-epsilon").addEventListener("input", () => {
  at("try-said").textContent = Number(at("try-epsilon").value).toFixed(1);
});
at("try-epsilon").addEventListener("change", anew);
for (const button of document.querySelectorAll("[data-people]")) {
  button.addEventListener("click", () => add(Number(button.dataset.people)));
}
counts = ANSWERS.map(() => 0);
at("try").hidden = false;
add(1000);
