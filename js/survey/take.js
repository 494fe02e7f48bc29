// The survey page of a collector: the survey is the page, its title the page's, and its language in the address.

import { Survey } from "./survey.js";

const page = /** @type {HTMLElement} */ (document.querySelector("main")), { name = "", trust = "", simulated } = page.dataset;

new Survey(page, {
  origin: location.origin, name, trust, simulated: simulated === "true", level: 1, title: document.title, language: location.hash.slice(1), site: "",
  spoken: document.documentElement, signal: new AbortController().signal,
  heard: (event, { title = "", language = "" } = {}) => {
    if (event === "titled") document.title = title;
    if (event === "chosen") history.replaceState(null, "", `#${language}`);
  },
}).show();
