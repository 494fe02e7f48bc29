"""Tables that are shown: a column that is added in one place is in every output of an estimate."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as dc
from discreet import Estimate
from discreet.core.result_table import ResultColumn, ResultTable, text_column
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
    columns: Callable[..., list[ResultColumn]] = Estimate.value_columns

    def more(found: Estimate, *asked: Any, **named: Any) -> list[ResultColumn]:
        column = ResultColumn("odds_of_it", found.frequencies / (1 - found.frequencies), heading="odds")
        return [*columns(found, *asked, **named), column]

    monkeypatch.setattr(Estimate, "value_columns", more)


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
    assert "odds_of_it" in dc.estimate_groups(mechanism, reports, groups=regions).columns()
    dc.write_reports(tmp_path / "reports.parquet", mechanism, reports)
    asked = ["estimate", str(tmp_path / "plan.toml"), str(tmp_path / "reports.parquet")]
    page = run(*asked, "-o", tmp_path / "estimate.csv").stdout
    assert "odds" in page.split()
    assert all(one in page for one in spelled)
    written = np.genfromtxt(tmp_path / "estimate.csv", delimiter=",", names=True, dtype=None, encoding="utf-8")
    assert written["odds_of_it"] == pytest.approx(wanted)
    rows = json.loads(run(*asked, "--json").stdout)["values"]
    assert [one["odds_of_it"] for one in rows] == pytest.approx(wanted)


TABLE = ResultTable(
    "Two <values>",
    [
        text_column("value", ["a", "<b>"]),
        ResultColumn("p_value", np.array([1e-20, 0.04]), "p-value", "p"),
        ResultColumn("sensitive", np.array([True, False]), "mark"),
        ResultColumn("large_share", np.array([0.25, 0.5]), "share", "share <=", ".1%"),
        ResultColumn("users", [None, 1200], "count"),
        ResultColumn("hidden", np.array([1, 2]), shown=False),
        ResultColumn("", ["x", "y"], "figure", "only for readers"),
    ],
    ["One <note>."],
)


def test_readers_see_headings_and_percentages_and_python_shows_names_and_fractions() -> None:
    assert TABLE.text_columns == 2
    assert TABLE.cells() == [
        ["value", "sensitive", "share <=", "users", "only for readers", "p"],
        ["a", "yes", "25.0%", "-", "x", "<1e-14"],
        ["<b>", "no", "50.0%", "1,200", "y", "0.04"],
    ]
    assert repr(TABLE.without("")).splitlines() == [
        "Two <values>",
        "  value             large share  users  p value",
        "  a      sensitive       0.2500      -   <1e-14",
        "  <b>                    0.5000  1,200     0.04",
        "  One <note>.",
    ]


def test_percentages_have_the_digits_that_their_errors_deserve() -> None:
    def table(error: float) -> ResultTable:
        errors = [error, 3 * error]
        columns = [
            ("frequency", [0.123456, 0.5]),
            ("standard_error", errors),
            ("lower", [0.1, 0.4]),
            ("upper", [0.2, 0.6]),
        ]
        return ResultTable("", [ResultColumn(name, np.array(values), "share") for name, values in columns])

    first = {error: table(error).cells()[1][:2] for error in (0.12, 0.034, 0.0034, 0.00034, 1e-9)}
    assert first == {
        0.12: ["12%", "12%"],
        0.034: ["12.3%", "3.4%"],
        0.0034: ["12.35%", "0.34%"],
        0.00034: ["12.346%", "0.034%"],
        1e-9: ["12.3456%", "0.0000%"],
    }
    assert table(0.0).cells()[1][0] == table(np.inf).cells()[1][0] == "12.35%"
    assert table(0.034).without("standard_error").cells()[1][0] == "12.3%"
    assert table(0.034).cells(plain=True)[1][:2] == ["0.123", "0.034"]
    assert table(0.00034).cells(plain=True)[1][:2] == ["0.12346", "0.00034"]


def test_html_has_headers_and_a_caption_and_is_escaped() -> None:
    for html, number in ((TABLE._repr_html_(), ' style="text-align:right"'), (TABLE.__html__(), ' class="number"')):
        assert "<caption><span>Two &lt;values&gt;</span></caption>" in html
        assert html.count('<th scope="col"') == 6
        assert f"<td{number}>1,200</td>" in html
        assert "<b>" not in html
    assert "<p>One &lt;note&gt;.</p>" in TABLE._repr_html_()
    assert 'aria-label="Two &lt;values&gt;"' in TABLE.__html__()


def test_programs_get_every_column_that_has_a_name(tmp_path: Path) -> None:
    record = {"value": "a", "p_value": 1e-20, "sensitive": True, "large_share": 0.25, "users": None, "hidden": 1}
    assert TABLE.records()[0] == TABLE.to_arrow().to_pylist()[0] == record
    assert TABLE.to_pandas()["hidden"].tolist() == [1, 2]
    TABLE.to_csv(tmp_path / "table.csv")
    assert (tmp_path / "table.csv").read_text().splitlines()[0] == ",".join(f'"{name}"' for name in record)


def test_tables_with_the_same_columns_are_joined() -> None:
    assert repr(ResultTable.joined("None", [])).split() == ["None"]
    assert ResultTable.joined("Four", [TABLE, TABLE]).cells() == [*TABLE.cells(), *TABLE.cells()[1:]]
