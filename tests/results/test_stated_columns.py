"""Columns of results are stated once: one that is added there is in every output of an estimate."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as dc
from discreet.core.result_table import ResultColumn
from discreet.results.estimate import Estimate
from running import run

PLAN = """
epsilon = 2.0
[domain]
labels = ["bus", "car", "walk"]
[mechanism]
name = "rr"
"""


@pytest.fixture
def odds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Add a column to what an estimate states, in the one place."""
    stated: Callable[..., list[ResultColumn]] = Estimate.stated

    def more(found: Estimate, *asked: Any, **named: Any) -> list[ResultColumn]:
        column = ResultColumn("odds_of_it", found.frequencies / (1 - found.frequencies), page_heading="odds")
        return [*stated(found, *asked, **named), column]

    monkeypatch.setattr(Estimate, "stated", more)


@pytest.mark.usefixtures("odds")
def test_a_column_that_is_stated_is_in_every_output(tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text(PLAN)
    mechanism = dc.Plan.load(tmp_path / "plan.toml").mechanism()
    reports = mechanism.obfuscate(["bus"] * 600 + ["car"] * 400, random=dc.SeededRandom(1))
    found, regions = dc.estimate(mechanism, reports), ["north", "south"] * 500
    wanted = found.frequencies / (1 - found.frequencies)
    spelled = [f"{one:.4f}" for one in wanted]
    assert "odds of it" in repr(found)
    assert all(one in repr(found) and f">{one}<" in found._repr_html_() for one in spelled)
    assert pa.table(found)["odds_of_it"].to_pylist() == wanted.tolist()
    assert found.to_pandas()["odds_of_it"].tolist() == wanted.tolist()
    assert "odds_of_it" in dc.estimate(mechanism, reports, groups=regions).columns()
    dc.write_reports(tmp_path / "reports.parquet", mechanism, reports)
    asked = ["estimate", str(tmp_path / "plan.toml"), str(tmp_path / "reports.parquet")]
    page = run(*asked, "-o", tmp_path / "estimate.csv").stdout
    assert "odds" in page.split()
    assert all(one in page for one in spelled)
    written = np.genfromtxt(tmp_path / "estimate.csv", delimiter=",", names=True, dtype=None, encoding="utf-8")
    assert written["odds_of_it"] == pytest.approx(wanted)
    rows = json.loads(run(*asked, "--json").stdout)["values"]
    assert [one["odds_of_it"] for one in rows] == pytest.approx(wanted)
