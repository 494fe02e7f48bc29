"""The device in JavaScript: the scripts and vectors of the device in Python, in Node and in Chromium."""

import re
from typing import Any

from planted import clean
from programs import node

FILES = {"envelopes": 190, "encoders": 19, "permanent": 15, "events": 30}
"""Vectors that each file has at least."""


def test_node_agrees_with_every_script() -> None:
    said = node("--test", "--test-reporter=tap", "tests/scripts.test.js", "tests/device.test.js")
    clean(said)
    passed = re.search(r"^# pass (\d+)$", said, re.MULTILINE)
    assert passed is not None
    assert int(passed[1]) >= len(FILES) + 1
    assert re.search(r"^# (fail|skipped|todo) [1-9]", said, re.MULTILINE) is None


def test_chromium_agrees_with_every_script(site: str, browser: Any) -> None:
    context = browser.new_context()
    page, problems = context.new_page(), []
    page.on("console", lambda message: problems.append(message.text))
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.goto(f"{site}/tests/scripts.html")
    page.wait_for_function("window.check !== undefined")
    found = page.evaluate("window.check()")
    context.close()
    assert {name: one["wrong"] for name, one in found.items()} == {name: [] for name in FILES}
    assert all(found[name]["count"] >= least for name, least in FILES.items())
    assert problems == []
