// <discreet-survey src="https://collector/collections/NAME" key="…">: a survey in somebody else's page.

import { make } from "./elements.js";
import { Survey } from "./survey.js";

const EVENTS = ["answered", "declined", "failed"];
const sheet = new CSSStyleSheet();
/** The style of the collector's own page, of which a page that forbids styles of its own may allow a script to make one. */
const styled = fetch(new URL("take.css", import.meta.url), { credentials: "omit" }).then((answer) => answer.text()).then((text) => sheet.replace(text));

/**
 * The element. It tells the page around it what happens, by events `discreet-answered`, `discreet-declined` and `discreet-failed` (whose
 * `detail.code` says why), and never what somebody chose.
 */
class DiscreetSurvey extends HTMLElement {
  #ended = new AbortController();

  async connectedCallback() {
    const { signal } = (this.#ended = new AbortController()), shadow = this.shadowRoot ?? this.attachShadow({ mode: "open" });
    const root = make("div", { class: "survey", role: "region", "aria-labelledby": "title" });
    shadow.replaceChildren(root);
    shadow.adoptedStyleSheets = [sheet];
    // A survey without it can be taken all the same.
    await styled.catch(() => {});
    if (signal.aborted) return;
    const src = this.getAttribute("src") ?? "", [, origin = "", name = ""] = /^(https?:\/\/[^/]+)\/collections\/([^/?#]+)$/.exec(src) ?? [];
    await new Survey(root, {
      origin, name, trust: this.getAttribute("key") ?? "", simulated: this.hasAttribute("simulated"), level: 2, title: "", language: this.lang,
      site: self.origin.replace(/^https?:../, ""), spoken: root, signal,
      heard: (event, detail) => !signal.aborted && EVENTS.includes(event) && this.dispatchEvent(new CustomEvent(`discreet-${event}`, { bubbles: true, detail })),
    }).show();
  }

  disconnectedCallback() {
    this.#ended.abort();
  }
}

customElements.define("discreet-survey", DiscreetSurvey);
