"""Pages are escaped, whole and readable: captions, texts for pictures, phones, and both colour schemes."""

from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import discreet as dc
from discreet.core.result_table import ResultTable
from discreet.pictures.pages import PageFigure, render
from discreet.risk.assessment import assess
from discreet.risk.pages import risk_page
from discreet.risk.traces import Traces, by_half
from discreet.simulation.pages import page as study_page
from discreet.simulation.study import Findings, Study, run_study
from papers.figure import Finding
from papers.registry import FIGURES
from papers.report import Section
from papers.report import page as papers_page

HOSTILE = '</style></script><img src=x onerror="alert(1)">\' & so on'
STUDY = """
epsilon = 2.0
title = "A study"
about = "What is asked of whom."
data = { path = "people.csv" }
run = [{ protect = "all", mechanism = { name = "rr" } }, { mechanism = { name = "rr" } }]
"""
SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="50"><rect width="{width}" height="50"/></svg>'


def study(folder: Path) -> str:
    (folder / "people.csv").write_text("label,count,sensitive\na,500,true\n<b>,300,false\nc,200,true\n")
    (folder / "study.toml").write_text(STUDY)
    read = Study.load(folder / "study.toml")
    return study_page(Findings(read, run_study(read, random=dc.SeededRandom(1))))


def risk(_: Path) -> str:
    events = ["home", "work", "home", "gym", "home", "work"]
    traces = Traces.of(
        [f"u{user}" for user in range(9) for _ in events], [f"{e}{u % 4}" for u in range(9) for e in events]
    )
    split = by_half(traces)
    mechanism = dc.RandomizedResponse(dc.Domain(range(split.target.event_count)), 2.0)
    found = assess(split, mechanism=mechanism, random=dc.SeededRandom(1))
    return risk_page(found, "the first half of each user's events")


def papers(_: Path) -> str:
    figure = FIGURES["uldp/fig5"]
    tables = [ResultTable.of("Losses", ("data", "loss"), [("census", "0.5"), ("city", "0.25")])]
    findings = [Finding("A is better than B", "census", "ratio of losses", 1.5, ">=", 1.0)]
    pictures = {"census": SVG.format(width=900), "city": SVG.format(width=300)}
    section = Section(figure, ["a single run"], {}, {"cities": ["c.csv"]}, pictures, tables, findings, ["a.csv"])
    return papers_page([section.html()])


PAGES = {"study": study, "risk": risk, "papers": papers}


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return {name: made(tmp_path_factory.mktemp(name)) for name, made in PAGES.items()}


class Elements(HTMLParser):
    """The elements of a page, with the attributes of each, and the elements directly in it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(text.split("<script>", maxsplit=1)[0])

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    def of(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.found if name == tag]


def test_every_text_is_escaped() -> None:
    table = ResultTable.of(HOSTILE, [HOSTILE, "n"], [[HOSTILE, "1"]])
    figure = PageFigure(HOSTILE, HOSTILE, SVG.format(width=10))
    template = Path(__file__).parent
    text = render("hostile.html", template, table=table, figure=figure, sentences=[HOSTILE])
    assert 'onerror="alert' not in text
    elements = Elements(text)
    assert [image["alt"] for image in elements.of("img")] == [HOSTILE]
    assert elements.texts.count(HOSTILE) == 5
    assert not elements.of("script")


@pytest.mark.parametrize("name", PAGES)
def test_tables_have_captions_and_pictures_have_texts(name: str, pages: dict[str, str]) -> None:
    elements = Elements(pages[name])
    assert len(elements.of("caption")) == len(elements.of("table")) > 0
    assert all(len(image["alt"] or "") > 40 for image in elements.of("img"))
    pictured = elements.of("img") + [one for one in elements.of("div") if one.get("role") == "img"]
    assert len(elements.of("figcaption")) == len(elements.of("figure")) == len(pictured) > 0
    assert all(one.get("aria-label") for one in elements.of("div") if one.get("role"))
    assert all(one.get("scope") == "col" for one in elements.of("th"))
    assert elements.of("html") == [{"lang": "en"}]
    assert len(elements.of("main")) == len(elements.of("h1")) == 1


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("width", [390, 1280])
def test_pages_fit_and_follow_the_colour_scheme(name: str, width: int, pages: dict[str, str], browser: Any) -> None:
    """Nothing is wider than the page but what is moved in a region of its own, and ink stands out from the paper."""
    colours = {}
    for scheme in ("light", "dark"):
        context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
        shown, problems = context.new_page(), []
        shown.on("pageerror", lambda error, problems=problems: problems.append(str(error)))
        shown.set_content(pages[name])
        assert shown.evaluate("document.documentElement.scrollWidth") <= width
        assert shown.evaluate("parseFloat(getComputedStyle(document.body).fontSize)") >= 15
        style = "getComputedStyle(document.body)"
        colours[scheme] = shown.evaluate(f"[{style}.color, {style}.backgroundColor]")
        large = shown.evaluate(
            "[...document.querySelectorAll('img')].map(image => image.getBoundingClientRect().width)"
        )
        assert all(size >= 250 for size in large)
        assert not problems
        context.close()
    assert [_luminance(colour) < 0.1 for colour in colours["light"]] == [True, False]
    assert [_luminance(colour) < 0.1 for colour in colours["dark"]] == [False, True]
    for ink, paper in colours.values():
        darker, lighter = sorted([_luminance(ink), _luminance(paper)])
        assert (lighter + 0.05) / (darker + 0.05) > 7


def _luminance(colour: str) -> float:
    parts = [int(part) / 255 for part in colour.removeprefix("rgb(").removesuffix(")").split(", ")]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
