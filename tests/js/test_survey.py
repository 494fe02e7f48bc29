"""The survey page in Chromium, from consent to what left: every kind of domain, without sideways scroll on a phone."""

import base64
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
import numpy as np
import pytest
from survey_site import PLANS, SurveySite, served_site

from discreet import Plan
from discreet.collector.documents.signing import renew
from discreet.device.protocol.collection import rebuild
from discreet.device.protocol.envelope import signed
from discreet.device.protocol.frames import Frame
from discreet.device.protocol.wording import wording
from discreet.formats.plan import PlanDocument
from discreet.formats.records import RecordCodec
from planted import TAGGED, VALUE, clean

PHONE = {"width": 360, "height": 740}

# Names of controls, and the order of headings, as a screen reader meets them.
CHECKED = """() => {
  const seen = (one) => one.checkVisibility();
  const levels = [...document.querySelectorAll("h1, h2, h3")].filter(seen).map((one) => Number(one.tagName[1]));
  const named = (one) => one.ariaLabel || one.textContent.trim() || one.labels?.[0]?.textContent.trim();
  return {
    width: document.documentElement.scrollWidth,
    levels,
    nameless: [...document.querySelectorAll("button, input, select")].filter((one) => seen(one) && !named(one)).length,
    small: [...document.querySelectorAll("button, select")].filter((one) => {
      const { width, height } = one.getBoundingClientRect();
      return seen(one) && (width < 24 || height < 24);
    }).length,
    lang: document.documentElement.lang,
    inline: document.querySelectorAll("[style]:not(.map), style, script:not([src])").length,
    cookie: document.cookie,
  };
}"""


@pytest.fixture(scope="module")
def survey() -> Iterator[SurveySite]:
    with served_site() as site:
        yield site


@contextmanager
def visit(browser: Any, survey: SurveySite, name: str, script: str = "", **more: Any) -> Iterator[Any]:
    """A page of a new profile, on which nothing may be said to the console but that an answer was lost."""
    context = browser.new_context(**{"viewport": PHONE, **more})
    problems: list[str] = []
    context.add_init_script(
        "addEventListener('securitypolicyviolation', (event) => console.error(event.violatedDirective));" + script
    )
    page = context.new_page()
    page.set_default_timeout(20_000)
    page.on("console", lambda message: problems.append(message.text))
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.goto(f"{survey.origin}/take/{name}")
    yield page
    context.close()
    clean("\n".join(problems))
    assert [one for one in problems if not one.startswith("Failed to load resource")] == []


def is_usable(page: Any) -> None:
    found = page.evaluate(CHECKED)
    assert found["width"] <= PHONE["width"]
    assert found["levels"][0] == 1
    assert all(after <= before + 1 for before, after in zip(found["levels"], found["levels"][1:], strict=False))
    assert (found["nameless"], found["small"], found["inline"]) == (0, 0, 0)
    assert (found["lang"], found["cookie"]) == ("en", "")


def unfolded(page: Any) -> str:
    """Return all words of a page, with those that are folded."""
    page.evaluate("() => { for (const one of document.querySelectorAll('details')) one.open = true; }")
    return str(page.inner_text("main"))


def press(page: Any, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).click()


def choose(page: Any, name: str) -> int | list[int]:
    """Answer on a page; return the code, or for secret places the codes that may be meant."""
    if name in {"labels", "tags"}:
        page.get_by_label(VALUE).check()
        return 1
    if name == "many":
        page.get_by_label("Where were you?").select_option(label="place 7 (protected)")
        return 7
    if name == "range":
        page.get_by_label("a whole number").fill("17")
        return 17
    if name == "number":
        page.get_by_label("(0 – 1)").fill("0.4")
        page.get_by_text("This answer is not protected").wait_for()
        # A range includes its upper end, and so all of the bin that holds it.
        page.get_by_label("(0 – 1)").fill("0.3")
        page.get_by_text("This answer is protected.").wait_for()
        return 3
    if name == "product":
        page.get_by_label("divorced").check()
        press(page, "Next")
        page.get_by_label("30s").check()
        return 4
    page.get_by_label("A10: ").click()
    page.get_by_label("A1: ").click()
    return 25


def mark_secret(page: Any, name: str) -> None:
    page.get_by_role("heading", name="Your secrets").wait_for()
    if name == "tags":
        page.get_by_label(VALUE).check()
    else:
        press(page, "Where am I?")
    press(page, "Mark as secret")
    is_usable(page)
    press(page, "Go on")


def test_consent_says_how_many_reports_and_what_all_of_them_reveal(browser: Any, survey: SurveySite) -> None:
    """Above the button, not folded: the answers with their marks, and the sum with what was spent before a renewal."""
    first = survey.envelopes["daily"]
    with visit(browser, survey, "daily") as page:
        page.get_by_role("button", name="I agree").wait_for()
        is_usable(page)
        read = page.inner_text("main")
        marked = page.locator(".answers li").all_inner_texts()
        press(page, "I agree")
        page.get_by_label("clinic").check()
        press(page, "Answer")
        page.get_by_text("Your report was sent").wait_for()
        dearer = Plan(msgspec.convert({**PLANS["daily"][1], "epsilon": 2.0, "mechanism": {"name": "rr"}}, PlanDocument))
        survey.envelopes["daily"] = renew(first, [survey.key], plan=dearer, lifetime=4.0)
        page.reload()
        page.get_by_role("button", name="I agree").wait_for()
        renewed = page.inner_text("main")
    survey.envelopes["daily"] = first
    assert [one.endswith("protected") for one in marked] == [True, True, False, False]
    assert "sends at most 10 short reports, one in each period of 1 hour, from" in read
    assert "at most 74% sure after your report" in read
    assert "After all your reports under this name, somebody can be at most 99.99…% sure" in read
    assert "all your answers together, at most 10." in read
    assert "earlier version" not in read
    # 1 is spent already, and one report of epsilon 2 can be added.
    assert "After it, somebody could be at most 74% sure." in renewed
    assert "Together with this version, somebody can be at most 96% sure" in renewed


def test_the_questions_of_a_survey_are_asked_one_after_the_other(browser: Any, survey: SurveySite) -> None:
    survey.posted.clear()
    with visit(browser, survey, "survey-2") as page:
        press(page, "I agree")
        page.get_by_text("Question 1 of 2").wait_for()
        is_usable(page)
        assert "Your device draws 2 for you at random" in unfolded(page)
        # Whoever skips sends a report like all others.
        press(page, "Skip this question: it counts as “no answer (protected)”")
        page.get_by_text("Your report was sent").wait_for()
        is_usable(page)
        press(page, "Next")
        press(page, "I agree")
        page.get_by_text("Question 2 of 2").wait_for()
        assert page.get_by_role("button", name="Leave this question out").count() == 0
        page.get_by_label("by bus").check()
        press(page, "Answer")
        page.get_by_text("left: 18").wait_for()
        page.get_by_text("Your report was sent").wait_for()
        is_usable(page)
        assert page.get_by_role("button", name="Next").count() == 0
    asked = [survey.collection(name) for name in ("survey-1", "survey-2")]
    for collection, (_, body) in zip(asked, survey.posted, strict=True):
        assert Frame.parse(body, collection.sampler.codec.width).collection == collection.id


@pytest.mark.parametrize("name", ["labels", "many", "range", "number", "product", "grid", "tags"])
def test_a_survey_is_taken(browser: Any, survey: SurveySite, name: str) -> None:
    survey.posted.clear()
    survey.asked.clear()
    here = {"geolocation": {"latitude": 40.8, "longitude": -73.95}, "permissions": ["geolocation"]}
    with visit(browser, survey, name, **here) as page:
        page.get_by_role("button", name="I agree").wait_for()
        assert page.get_by_role("radio").count() == page.get_by_role("button", name="Answer").count() == 0
        press(page, "I agree")
        if name in {"grid", "tags"}:
            mark_secret(page, name)
        page.get_by_role("heading", name="Your answer").wait_for()
        assert page.get_by_role("button", name="Answer").is_disabled()
        code = choose(page, name)
        is_usable(page)
        press(page, "Answer")
        page.get_by_text("Your report was sent").wait_for()
        is_usable(page)
        shown = page.get_by_role("cell").first.inner_text()
        assert "left: 19." in page.get_by_text("Spent so far").inner_text()
        assert page.context.cookies() == []
        page.reload()
        page.get_by_role("heading", name="What this device sent").wait_for()
        assert page.get_by_role("button", name="I agree").is_hidden()
    [(headers, body)] = survey.posted
    record = _checked(survey, name, body, code)
    assert shown.replace(" ", "") == record.tobytes().hex()
    assert not {"Cookie", "Referer", "Authorization"} & set(headers)
    assert {path.split("/")[1] for path in survey.asked} <= {"take", "static", "v1", "collections"}
    assert not any("?" in path or "40.8" in path for path in survey.asked)


def _checked(survey: SurveySite, name: str, body: bytes, code: Any) -> Any:
    """Return the record of a frame that the collector would take."""
    collection = survey.collection(name)
    mechanism = rebuild(collection)
    codec = RecordCodec.of(mechanism)
    frame = Frame.parse(body, codec.width)
    assert (frame.collection, frame.epoch, len(frame.ids)) == (collection.id, 0, 1)
    reports = codec.reports(mechanism, np.array(frame.records), simulated=False)
    if reports.in_clear is not None and reports.in_clear[0]:
        assert not collection.sensitive[code]
        assert reports.clear.tolist() == [code]
    return frame.records[0]


def test_who_declines_is_not_asked_and_sends_nothing(browser: Any, survey: SurveySite) -> None:
    survey.posted.clear()
    with visit(browser, survey, "labels") as page:
        press(page, "No, thank you")
        page.get_by_text("You take no part. Nothing was sent.").wait_for()
        assert page.evaluate("document.activeElement.id") == "status"
        assert page.get_by_role("button", name="I agree").is_hidden()
        assert page.get_by_role("heading", name="What is published").is_hidden()
        is_usable(page)
        page.reload()
        page.get_by_role("button", name="I agree").wait_for()
    assert survey.posted == []


def test_a_survey_is_taken_in_a_language_of_its_own(browser: Any, survey: SurveySite) -> None:
    """The browser's language, where page and survey have it; and any other by choice, from right to left too."""
    survey.posted.clear()
    with visit(browser, survey, "languages", locale="de-CH") as page:
        page.get_by_role("heading", name="Wo waren Sie?").wait_for()
        assert page.evaluate("[document.title, document.documentElement.lang]") == ["Wo waren Sie?", "de"]
        assert "noch niemand geprüft" in page.inner_text("main")
        assert "Praxis; Wache." in unfolded(page)
        page.get_by_label("Sprache").select_option("ar")
        press(page, "أوافق")
        page.get_by_label("حديقة").check()
        shown = page.evaluate("[document.documentElement.lang, document.documentElement.dir, location.hash]")
        assert shown == ["ar", "rtl", "#ar"]
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
        page.get_by_label("اللغة").select_option("ko")
        page.get_by_label("언어").wait_for()
        # The survey has no Korean: its own words are shown, and said to be English.
        assert page.locator("h1").get_attribute("lang") == "en"
        page.get_by_label("park").check()
        press(page, "답하기")
        page.get_by_text("보냈습니다").wait_for()
    assert len(survey.posted) == 1
    with visit(browser, survey, "labels", locale="sv-SE") as page:
        page.get_by_role("button", name="I agree").wait_for()
        assert "Nobody has reviewed" not in page.inner_text("main")


def go_to(page: Any, name: str) -> None:
    """Press Tab until a control has the focus, and Enter."""
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.textContent") == name:
            page.keyboard.press("Enter")
            return
    raise AssertionError(f"nobody comes to {name} by keyboard")


KEYS = {
    "labels": ("Tab", "Space", "ArrowDown"),
    "many": ("Tab", "ArrowDown", "ArrowDown"),
    "range": ("Tab", "1", "7"),
    "product": ("Tab", "Space", "Tab", "Enter", "ArrowDown"),
    "grid": ("Tab", "ArrowRight", "ArrowDown", "Enter", "Enter"),
    "tags": ("Tab", "Space"),
}


@pytest.mark.parametrize("name", KEYS)
def test_a_keyboard_suffices(browser: Any, survey: SurveySite, name: str) -> None:
    survey.posted.clear()
    with visit(browser, survey, name) as page:
        page.get_by_role("button", name="I agree").wait_for()
        go_to(page, "I agree")
        if name in {"grid", "tags"}:
            page.get_by_role("heading", name="Your secrets").wait_for()
            go_to(page, "Go on")
        page.get_by_role("heading", name="Your answer").wait_for()
        assert page.evaluate("document.activeElement.textContent") == "Your answer"
        for key in KEYS[name]:
            page.keyboard.press(key)
        go_to(page, "Answer")
        page.get_by_text("Your report was sent").wait_for()
        assert page.evaluate("document.activeElement.id") == "status"
        is_usable(page)
    assert len(survey.posted) == 1


def test_a_window_that_remembers_nothing(browser: Any, survey: SurveySite) -> None:
    private = (
        "Object.defineProperty(window, 'indexedDB', { get() { throw new DOMException('no', 'SecurityError'); } });"
    )
    survey.posted.clear()
    with visit(browser, survey, "labels", private) as page:
        page.get_by_text("does not let the page store anything").wait_for()
        press(page, "I agree")
        page.get_by_label("park").check()
        press(page, "Answer")
        page.get_by_text("Your report was sent").wait_for()
    assert len(survey.posted) == 1
    with visit(browser, survey, "range", private) as page:
        page.get_by_text("it cannot be taken here").wait_for()
        assert page.get_by_role("button", name="I agree").is_hidden()
        assert page.get_by_role("button", name="Answer").count() == 0


def test_what_is_altered_or_too_dear_is_not_asked(browser: Any, survey: SurveySite) -> None:
    survey.altered.add("labels")
    with visit(browser, survey, "labels") as page:
        page.get_by_text("(signature) Nothing can be answered here.").wait_for()
        assert page.get_by_role("button").count() == 0
    survey.altered.clear()
    with visit(browser, survey, "dear") as page:
        page.get_by_text("(cap) Nothing can be answered here.").wait_for()
    # Two labels read alike: such a collection is of an earlier version, or of another program.
    said = json.loads(base64.b64decode(json.loads(survey.envelopes["labels"])["document"]))
    said["plan"]["domain"] |= {"labels": ["krank", "gesund", "Krank ", "wei\u00df nicht"]}
    survey.instead["labels"] = signed(json.dumps(said).encode(), [survey.key])
    with visit(browser, survey, "labels#ar") as page:
        page.get_by_text(f"{wording('ar').say('refused.alike')} (plan)").wait_for()
        assert page.get_by_text("set exact = true: 'krank', 'Krank '.").is_visible()
        assert page.get_by_role("button").count() == page.get_by_role("radio").count() == 0
        assert page.evaluate(CHECKED)["width"] <= PHONE["width"]
    survey.instead.clear()


@contextmanager
def answered_for_later(browser: Any, survey: SurveySite) -> Iterator[Any]:
    """Visit a survey whose reports are sent later, and answer it."""
    survey.posted.clear()
    with visit(browser, survey, "later") as page:
        press(page, "I agree")
        page.get_by_role("radio").first.check()
        press(page, "Answer")
        page.get_by_text("come back: 1 report.").wait_for()
        yield page


def test_a_report_of_another_survey_is_not_said_to_be_this_one(browser: Any, survey: SurveySite) -> None:
    """A device sends whatever waits on a site; a page speaks of its own survey."""
    with answered_for_later(browser, survey) as page:
        # An hour later another survey of the site is looked at, and nothing of it is answered.
        page.context.add_init_script("const now = Date.now; Date.now = () => now() + 3_605_000;")
        page.goto(f"{survey.origin}/take/labels")
        page.get_by_text("Nothing waits to be sent").wait_for()
        assert page.get_by_role("row").nth(1).inner_text().split("\t")[::2] == ["later, epoch 0", "sent"]
        assert "sent" not in page.get_by_role("status").first.inner_text()
        press(page, "I agree")
        page.get_by_label("park").check()
        press(page, "Answer")
        page.get_by_text("Your report was sent").wait_for()
    assert len(survey.posted) == 2


def test_stopping_and_erasing(browser: Any, survey: SurveySite) -> None:
    with answered_for_later(browser, survey) as page:
        page.get_by_text("Stop, or erase").click()
        is_usable(page)
        press(page, "Stop taking part")
        page.get_by_text("You take no part any more.").wait_for()
        page.reload()
        page.get_by_text("You answered this survey between").wait_for()
        assert "Its report is erased from this device." in page.get_by_role("status").first.inner_text()
        assert page.get_by_role("button", name="I agree").is_hidden()
        page.get_by_text("Stop, or erase").click()
        press(page, "Erase what this device keeps")
        page.get_by_text("Erased. The budget that you spent stays counted").wait_for()
        assert "1 of epsilon" in page.get_by_text("Spent so far").inner_text()
    assert survey.posted == []


# Where a survey stands


HOUR = "const now = Date.now; Date.now = () => now() + 3_600_000;"


def offline(page: Any, survey: SurveySite) -> None:
    press(page, "I agree")
    page.context.set_offline(True)
    page.get_by_role("radio").last.check()
    press(page, "Answer")
    page.get_by_text("cannot be reached").wait_for()


def unread(page: Any, survey: SurveySite) -> None:
    page.context.route("**/v1/collections/*", lambda route: route.abort())
    page.reload()
    page.get_by_text("you may be offline").wait_for()


def test_what_waits_offline_is_sent_when_the_browser_is_online(browser: Any, survey: SurveySite) -> None:
    survey.posted.clear()
    with visit(browser, survey, "labels") as page:
        offline(page, survey)
        page.context.set_offline(False)
        page.evaluate(f"{HOUR[:-10]}60_000; dispatchEvent(new Event('online'))")
        page.get_by_text("Your report was sent on").wait_for()
    assert len(survey.posted) == 1
    with visit(browser, survey, "labels") as page:
        unread(page, survey)
        page.context.unroute("**/v1/collections/*")
        page.evaluate("dispatchEvent(new Event('online'))")
        page.get_by_role("button", name="I agree").wait_for()


def test_what_is_published_stands_before_consent(browser: Any, survey: SurveySite) -> None:
    with visit(browser, survey, "labels") as page:
        page.get_by_role("button", name="I agree").wait_for()
        heading = page.get_by_role("heading", name="What is published")
        assert heading.is_visible()
        order = page.evaluate("""() => {
          const found = (name, text) => [...document.querySelectorAll(name)].find((one) => one.textContent === text);
          const agree = found("button", "I agree"), published = found("h3", "What is published");
          return Boolean(published.compareDocumentPosition(agree) & Node.DOCUMENT_POSITION_FOLLOWING);
        }""")
        assert order
        press(page, "I agree")
        page.get_by_role("heading", name="Your answer").wait_for()
        assert not heading.is_visible()
        page.get_by_text("What you agreed to").click()
        assert heading.is_visible()


def test_without_javascript_it_says_what_is_needed(browser: Any, survey: SurveySite) -> None:
    context = browser.new_context(viewport=PHONE, java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{survey.origin}/take/labels")
    said = page.inner_text("main")
    context.close()
    assert "This page needs JavaScript" in said
    assert "Nothing is sent without it" in said
    assert "What is published" in said
    assert "Checking" not in said


def test_long_labels_wrap(browser: Any, survey: SurveySite) -> None:
    with visit(browser, survey, "long") as page:
        press(page, "I agree")
        page.get_by_role("heading", name="Your answer").wait_for()
        is_usable(page)
        lines = page.evaluate("""() => [...document.querySelectorAll(".choice")].map((one) => {
          const box = (part) => part?.getBoundingClientRect();
          const [mark, text, input] = [".mark", "span", "input"].map((name) => box(one.querySelector(name)));
          return { right: Math.max(...[mark, text].map((part) => part?.right ?? 0)), text: text.width,
            mark: mark?.height ?? 0, input: input.width, height: one.scrollHeight - one.clientHeight };
        })""")
    assert len(lines) == 4
    for line in lines:
        assert line["right"] <= PHONE["width"]
        assert line["mark"] < 30
        assert line["input"] >= 20
        assert line["height"] == 0
    # Beside a mark half of the line is left for words.
    assert min(line["text"] for line in lines[:2]) > 140


def test_keys_cannot_be_taken_out_of_the_browser(browser: Any, survey: SurveySite) -> None:
    with visit(browser, survey, "tags") as page:
        press(page, "I agree")
        press(page, "Go on")
        page.get_by_label(TAGGED).check()
        press(page, "Answer")
        page.get_by_text("Your report was sent").wait_for()
        found = page.evaluate("""async () => {
          const done = (request) => new Promise((resolve) => { request.onsuccess = () => resolve(request.result); });
          const database = await done(indexedDB.open("discreet"));
          const kept = await done(database.transaction("kept").objectStore("kept").get(0));
          database.close();
          const { key } = kept.secret[0];
          const taken = await crypto.subtle.exportKey("raw", key).catch((error) => error.name);
          return [key.constructor.name, key.extractable, taken, JSON.stringify(kept)];
        }""")
    assert found[:3] == ["CryptoKey", False, "InvalidAccessError"]
    clean(found[3])
    assert json.loads(found[3])["state"]["versions"][0]["answers"][0]["status"] == "202"
