"""Pictures and pages are whole: in a notebook, on disk and in a browser without a network, nothing is loaded."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import discreet
from discreet.cli import main

STUDY = """
epsilon = 2.0
methods = ["linear"]
title = "</script><b>Three</b>"
[data]
path = "counts.csv"
label = "value"
count = "people"
sensitive = "secret"
[[run]]
protect = "sensitive"
mechanism = { name = "rr" }
"""


class _Loads(HTMLParser):
    """Collects what a page would load from elsewhere: whatever an attribute or a style names that is not in it."""

    LOADING = ("src", "srcset", "data", "poster", "background", "xlink:href")

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            loading = name in self.LOADING or (name == "href" and tag != "a")
            if loading and value and not value.startswith(("data:", "#")):
                self.found.append(f"{tag} {name}={value[:80]}")
            if name == "style":
                self._look_at_style(value or "")

    def handle_data(self, data: str) -> None:
        if self.cdata_elem == "style":
            self._look_at_style(data)

    def _look_at_style(self, text: str) -> None:
        self.found += re.findall(r"@import[^;]+|url\((?!['\"]?(?:data:|#))[^)]*\)", text)


def loads(text: str) -> list[str]:
    looking = _Loads()
    looking.feed(text)
    # What scripts would load is text within them.
    return looking.found + re.findall(
        r"https?://cdn[^\"' ]*|https?://[^\"' ]*(?:unpkg|googleapis|jsdelivr)[^\"' ]*", text
    )


def run(*arguments: object) -> None:
    done = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert done.exit_code == 0, done.output


@cache
def chart() -> Any:
    mechanism = discreet.RandomizedResponse(discreet.Domain(["<script>", "b", "c"], sensitive=["b"]), 1.0)
    reports = mechanism.obfuscate_codes(np.arange(3000) % 3, random=discreet.SeededRandom(1))
    return discreet.estimate(mechanism, reports).plot()


@pytest.mark.parametrize(
    "changed",
    [
        lambda chart: chart,
        lambda chart: chart.properties(width=200),
        lambda chart: chart.interactive(),
        lambda chart: chart + chart,
        lambda chart: chart | chart,
        lambda chart: chart & (chart | chart),
    ],
)
def test_a_notebook_shows_a_static_picture(changed: Any) -> None:
    shown = changed(chart())._repr_mimebundle_(include=None, exclude=None)
    assert list(shown) == ["image/svg+xml"]
    assert shown["image/svg+xml"].startswith("<svg ")
    assert "<script" not in shown["image/svg+xml"]
    assert "&lt;script&gt;" in shown["image/svg+xml"]
    assert loads(shown["image/svg+xml"]) == []


def test_html_is_whole_unless_asked_otherwise(tmp_path: Path) -> None:
    for name, options in {"a.html": {}, "b": {"format": "html"}}.items():
        chart().save(str(tmp_path / name), **options)
        assert loads((tmp_path / name).read_text(encoding="utf-8")) == []
    assert loads(chart().to_html()) == []
    assert loads(chart().to_html(inline=False))
    chart().save(str(tmp_path / "d.html"), inline=False)
    assert loads((tmp_path / "d.html").read_text(encoding="utf-8"))


def pages(folder: Path) -> dict[str, Path]:
    """Write pages and pictures as HTML with every verb that does; `reproduce` has tests of its own."""
    (folder / "counts.csv").write_text("value,people,secret\n<img src=x>,700,true\nb,300,false\nc,500,false\n")
    (folder / "study.toml").write_text(STUDY)
    (folder / "plan.toml").write_text('epsilon = 1.0\n[domain]\nlabels = ["a", "b", "c"]\n[mechanism]\nname = "rr"\n')
    (folder / "values.csv").write_text("value\n" + "a\nb\nc\n" * 50)
    rows = [f"u{user},p{(user * 7 + day) % 5},{day}" for user in range(12) for day in range(8)]
    (folder / "events.csv").write_text("user,place,day\n" + "\n".join(rows) + "\n")
    run("simulate", folder / "study.toml", "-o", folder / "study", "--seed", 1)
    run("obfuscate", folder / "plan.toml", folder / "values.csv", "-o", folder / "r.parquet", "--seed", 1)
    run("estimate", folder / "plan.toml", folder / "r.parquet", "--plot", folder / "estimate.html")
    run("plan", folder / "plan.toml", "--epsilon", 1, "--users", 1000, "--plot", folder / "plan.html")
    asked = ("--event", "place", "--time", "day", "--time-unit", "d", "--seed", 1)
    run("risk", folder / "events.csv", *asked, "-o", folder / "risk")
    return {path.name: path for path in sorted(folder.rglob("*.html"))}


@contextmanager
def browsed(browser: Any, page: Path) -> Iterator[tuple[Any, Any]]:
    """A page in a browser without a network, and what is drawn in it."""
    context = browser.new_context(offline=True)
    shown = context.new_page()
    shown.goto(page.as_uri())
    yield shown, shown.locator("canvas, svg")
    context.close()


@pytest.mark.slow
def test_pages_load_nothing_and_show_their_charts_without_a_network(tmp_path: Path, browser: Any) -> None:
    made = pages(tmp_path)
    assert made.keys() >= {"page.html", "estimate.html", "plan.html", "risk.html"}
    for page in made.values():
        assert loads(page.read_text(encoding="utf-8")) == []
    plain = tmp_path / "plain.html"
    chart().save(str(plain), inline=False)
    with browsed(browser, plain) as (shown, drawn):
        # Long after a chart that is whole is there.
        shown.wait_for_timeout(500)
        assert drawn.count() == 0
    for name in ("page.html", "estimate.html"):
        with browsed(browser, made[name]) as (shown, drawn):
            drawn.first.wait_for(state="attached")
            assert shown.locator("a", has_text="Open in Vega Editor").count() == 0, name
