// Survey pages as people with other eyes and hands meet them: node look.js KIND BROWSER ORIGIN AXE, with KIND chrome or firefox.
//
// Every state of the page is looked at in four sizes (the last one is 1,280 at 200%), and in dark and forced colours in one: the rules of
// WCAG 2.2 AA that axe-core checks, and no scrolling sideways; at the end of each journey all controls must be within reach of a keyboard,
// with a visible focus.

import { readFileSync } from "node:fs";
import { platform } from "node:process";
import puppeteer from "puppeteer-core";

const [kind, executablePath, origin, axe] = process.argv.slice(2), script = readFileSync(axe, "utf8");
const SIZES = [[360, 740], [768, 1024], [1280, 800], [640, 400]];
const RULES = { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"], resultTypes: ["violations"] };
/** Preferences of Firefox, which cannot be emulated there, and features of Chromium. */
const COLOURS = {
  light: [{ "layout.css.prefers-color-scheme.content-override": 1 }, "prefers-color-scheme", "light"],
  dark: [{ "layout.css.prefers-color-scheme.content-override": 0 }, "prefers-color-scheme", "dark"],
  forced: [{ "browser.display.document_color_use": 2 }, "forced-colors", "active"],
};
/** Of every wait, in milliseconds: machines may be busy. */
const SLOW = 180_000;
const counts = { states: 0, broken: 0 };

/** @param {string} text */
const press = (text) => async (page) => {
  const button = await page.waitForSelector(`::-p-xpath(//button[not(@hidden)][normalize-space()="${text}"])`);
  await button.evaluate((one) => one.click());
};
/** Choose the last of what is offered. */
const choose = async (page) => (await page.waitForSelector("fieldset input[type=radio], .field select, .field input")).evaluate((field) => {
  const radios = [...document.querySelectorAll("fieldset input[type=radio]")];
  if (radios.length) return radios.at(-1).click();
  field.value = field.tagName === "SELECT" ? "7" : "17";
  field.dispatchEvent(new Event(field.tagName === "SELECT" ? "change" : "input", { bubbles: true }));
});
const unfold = (page) => page.evaluate(() => { for (const one of document.querySelectorAll("details")) one.open = true; });
const text = (wanted) => (page) => page.waitForFunction((words) => document.body.innerText.includes(words), {}, wanted);

/** Pages, and what is done on each before it is looked at again. */
const JOURNEYS = {
  labels: [text("I agree"), unfold, press("I agree"), choose, async (page) => { await press("Answer")(page); await text("Your report was sent")(page); }, unfold],
  "languages#ar": [text("أوافق"), unfold, press("أوافق"), choose],
  "labels#hi": [text("मैं सहमत हूँ"), unfold],
  "long": [text("I agree"), press("I agree")],
  many: [text("I agree"), press("I agree"), choose],
  range: [text("I agree"), press("I agree"), choose],
  product: [text("I agree"), press("I agree"), async (page) => { await choose(page); await press("Next")(page); }],
  grid: [text("I agree"), press("I agree"), press("A1")],
  tags: [text("I agree"), press("I agree"), async (page) => { await choose(page); await press("Mark as secret")(page); }],
  listed: [text("I agree"), press("No, thank you")],
  over: [text("is over")],
  early: [text("not open yet")],
  dear: [text("Nothing can be answered here.")],
};

/**
 * The controls that Tab does not reach, or not visibly. It ends in the bars of the browser, so nothing is done on the page after it.
 * @param {any} page
 */
async function unreached(page) {
  await page.evaluate(() => {
    const top = document.createElement("span");
    top.tabIndex = -1;
    document.body.prepend(top);
    top.focus();
  });
  for (let step = 0; step < 90; step++) {
    await page.keyboard.press("Tab");
    const isOver = await page.evaluate(() => {
      const one = document.activeElement;
      if (!one || one === document.body || one.dataset.reached) return true;
      const { outlineStyle, outlineWidth } = getComputedStyle(one);
      one.dataset.reached = outlineStyle !== "none" && outlineWidth !== "0px" ? "seen" : "unseen";
      return false;
    });
    if (isOver) break;
  }
  return page.evaluate(() => {
    const controls = [...document.querySelectorAll("button, select, input, summary, [tabindex='0']")].filter((one) => one.checkVisibility() && !one.disabled && one.tabIndex >= 0);
    const group = (one) => [...document.getElementsByName(one.name)].some((other) => other.dataset.reached === "seen");
    return controls.filter((one) => one.dataset.reached !== "seen" && !(one.type === "radio" && group(one))).map((one) => one.outerHTML.slice(0, 120));
  });
}

/** Look at a page as it stands. @param {any} page @param {string} where @param {number} width */
async function look(page, where, width) {
  if (!(await page.evaluate(() => "axe" in window))) await page.evaluate(script);
  const { violations } = await page.evaluate((rules) => window.axe.run(document, rules), RULES);
  const broken = violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 160)}`));
  const wide = await page.evaluate(() => document.documentElement.scrollWidth);
  if (wide > width) broken.push(`it scrolls sideways: ${wide} of ${width}`);
  counts.states++;
  counts.broken += broken.length;
  for (const one of broken) console.log(`${where}: ${one}`);
}

for (const [colours, [preferences, feature, value]] of Object.entries(COLOURS)) {
  const browser = await puppeteer.launch({
    browser: /** @type {any} */ (kind), executablePath, headless: true, timeout: SLOW, protocolTimeout: SLOW, args: kind === "chrome" && platform === "linux" ? ["--no-sandbox"] : [],
    extraPrefsFirefox: { ...preferences, "intl.accept_languages": "en-US" },
  });
  console.log(`${await browser.version()}, ${colours}`);
  for (const [name, steps] of Object.entries(JOURNEYS)) {
    const context = await browser.createBrowserContext(), page = await context.newPage();
    page.setDefaultTimeout(SLOW);
    await page.setViewport({ width: SIZES[0][0], height: SIZES[0][1] });
    if (kind === "chrome") {
      const session = await page.createCDPSession();
      await session.send("Emulation.setEmulatedMedia", { features: [{ name: feature, value }] });
    }
    const matches = await page.evaluate((media) => matchMedia(media).matches, `(${feature}: ${value})`);
    if (!matches) throw new Error(`this browser does not show ${colours} colours`);
    await page.goto(`${origin}/take/${name}`);
    for (const [place, step] of steps.entries()) {
      await step(page);
      // Colours are those of every size; sizes are looked at in light ones.
      for (const [width, height] of colours === "light" ? SIZES : SIZES.slice(0, 1)) {
        await page.setViewport({ width, height });
        await look(page, `${colours}, ${width}, ${name}, step ${place + 1}`, width);
      }
    }
    const missing = await unreached(page);
    counts.broken += missing.length;
    for (const one of missing) console.log(`${colours}, ${name}: no keyboard comes to it, or nobody sees that: ${one}`);
    await context.close();
    console.log(`${colours}, ${name}: ${JSON.stringify(counts)}`);
  }
  await browser.close();
}
console.log(JSON.stringify({ browser: kind, ...counts }));
process.exitCode = counts.broken ? 1 : 0;
