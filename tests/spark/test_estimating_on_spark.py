"""``estimate --engine spark``: the answers of one machine, of the session for the master that is named."""

from typing import Any

import pytest

from discreet.spark import engine
from json_rows import columns
from running import Files, told

pytestmark = [pytest.mark.spark, pytest.mark.slow]


def test_the_same_answer_from_a_cluster(spark: Any, files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(engine, "session", lambda master, **_: asked.append(master) or spark)
    stopped: list[bool] = []
    monkeypatch.setattr(spark, "stop", lambda: stopped.append(True))
    files.obfuscated()
    options = ("--engine", "spark", "--master", "local[2]")
    found, expected = told("estimate", files.plan, files.reports, *options), told("estimate", files.plan, files.reports)
    assert (asked, stopped) == (["local[2]"], [True])
    assert columns(found)["frequency"] == pytest.approx(columns(expected)["frequency"], abs=1e-12)
    for name in ("n", "plan", "simulated"):
        assert found[name] == expected[name]
