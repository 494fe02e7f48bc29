"""The survey page by the rules of WCAG 2.2 AA that a program can check (axe-core), in the states that people meet.

tools/check_accessibility.py looks at more states, sizes and colours, in Firefox too.
"""

from importlib import resources
from typing import Any

import numpy as np
import pytest
from survey_site import SurveySite
from test_survey import press, survey, unfolded, visit  # noqa: F401

from discreet import Domain, RandomizedResponse, SeededRandom, estimate
from discreet.results.pages import estimate_page
from programs import packaged

RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"], "resultTypes": ["violations"]}


def keeps_the_rules(page: Any) -> None:
    """Check the page as it stands."""
    if not page.evaluate("'axe' in window"):
        packaged("axe_playwright_python")
        page.evaluate((resources.files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8"))
    result = page.evaluate("(rules) => axe.run(document, rules)", RULES)
    broken = [(rule["id"], node["html"]) for rule in result["violations"] for node in rule["nodes"]]
    assert broken == []


def test_from_consent_to_what_left(browser: Any, survey: SurveySite) -> None:  # noqa: F811
    with visit(browser, survey, "labels") as page:
        page.get_by_role("button", name="I agree").wait_for()
        unfolded(page)
        keeps_the_rules(page)
        press(page, "I agree")
        page.get_by_label("park").check()
        keeps_the_rules(page)
        press(page, "Answer")
        page.get_by_text("Your report was sent").wait_for()
        unfolded(page)
        keeps_the_rules(page)


@pytest.mark.parametrize(
    ("name", "colours"), [("grid", {"color_scheme": "dark"}), ("product", {"forced_colors": "active"})]
)
def test_in_other_colours_and_from_right_to_left(
    browser: Any,
    survey: SurveySite,  # noqa: F811
    name: str,
    colours: dict[str, str],
) -> None:
    with visit(browser, survey, name, locale="ar-EG", **colours) as page:
        press(page, "أوافق")
        page.locator("h2[tabindex]").wait_for()
        for width in (1280, 768, 360):
            page.set_viewport_size({"width": width, "height": 800})
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            keeps_the_rules(page)


def test_a_violation_is_found(browser: Any, survey: SurveySite) -> None:  # noqa: F811
    with visit(browser, survey, "over") as page:
        page.get_by_text("is over").wait_for()
        keeps_the_rules(page)
        page.evaluate("document.querySelector('select').previousElementSibling.remove()")
        with pytest.raises(AssertionError, match="select-name"):
            keeps_the_rules(page)


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_of_an_estimate(browser: Any, width: int, scheme: str) -> None:
    """A map and bars, in both colours: nothing is cut."""
    cells = Domain.grid(lat=(48, 49), lon=(2, 3), rows=6, cols=8, sensitive=[(48.1, 2.1), (48.9, 2.9)])
    mechanism = RandomizedResponse(cells, epsilon=2.0)
    reports = mechanism.obfuscate_codes(np.arange(400) % 48, random=SeededRandom(1))
    page = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
    page.set_content(estimate_page(estimate(mechanism, reports), ["A report changes the odds."], title="Where?"))
    keeps_the_rules(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator(".map rect").count() == 48
    page.close()
