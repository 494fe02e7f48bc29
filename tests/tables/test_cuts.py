"""Ranges of numbers and dates: what a table holds stands for the label of its range, in every kind of file."""

from datetime import date, datetime
from pathlib import Path
from typing import Any

import pytest

from discreet import Domain, Plan
from discreet.collector.documents.signing import spelled_out
from discreet.errors import DataError, ParameterError
from discreet.tables.cuts import Cut, check_cuts, labels_of_cuts
from discreet.tables.values import ValueColumns
from refusals import refused
from table_files import save_table

NUMBERS: list[Any] = [-1, 17.5, 18, None, 39.9, 40, 1e9]
DATES: list[Any] = ["2024-12-31", "2025-01-01", None, "2026-06-30 23:59:59", "2026-07-01", "2027-01-01T00:00:00Z"]
PLAN = """
epsilon = 1.0
[domain]
product = { age = ["under 18", "18-39", "40+"], sex = ["f", "m"] }
cuts = { age = [18, 40] }
[mechanism]
name = "rr"
"""


def codes(path: Path, cuts: list[Cut], **options: Any) -> list[int]:
    columns = ValueColumns(Domain(labels_of_cuts(cuts)), "x", cuts=cuts, **options)
    return [code for batch, _, _ in columns.of(path).batches() for code in batch.tolist()]


def written(folder: Path, column: list[Any], suffix: str) -> Path:
    return save_table(folder / f"table.{suffix}", {"x": column})


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_value_at_a_cut_is_in_the_range_that_begins_there(tmp_path: Path, suffix: str) -> None:
    assert codes(written(tmp_path, NUMBERS, suffix), [18, 40], missing="drop") == [0, 0, 1, 1, 2, 2]
    dates: list[Cut] = ["2025", "2026-07"]
    assert codes(written(tmp_path, DATES, suffix), dates, missing="drop") == [0, 1, 1, 2, 2]
    assert "1 of 6 values are missing" in refused(DataError, lambda: codes(tmp_path / f"table.{suffix}", dates))


def test_dates_that_a_file_types_itself(tmp_path: Path) -> None:
    days = written(tmp_path, [date(2024, 12, 31), date(2025, 1, 1), date(2026, 8, 1)], "parquet")
    assert codes(days, ["2025", "2026-07"]) == [0, 1, 2]
    times = written(tmp_path, [datetime(2025, 3, 1, 12), datetime(2026, 8, 1)], "parquet")
    assert codes(times, ["2025-03-01T12:00", "2026-07"]) == [1, 2]


def test_what_cannot_be_cut_is_refused(tmp_path: Path) -> None:
    text = written(tmp_path, ["a", "31.12.2025"], "parquet")
    assert "cuts.needs-numbers" in refused(DataError, lambda: codes(text, [1]), "31.12")
    assert "1 of 2 cells of the column are not dates" in refused(DataError, lambda: codes(text, ["2025"]), "31.12")
    domain = Domain(["low", "high"])
    wrong: list[Any] = [[], [1, 2], [float("nan")], ["soon"], {"age": [1]}]
    for cuts in wrong:
        assert "[cuts." in refused(ParameterError, lambda cuts=cuts: check_cuts(domain, cuts))
    for cuts in [[2, 1], [1, "2025"]]:
        three = Domain(["a", "b", "c"])
        assert "ascending" in refused(ParameterError, lambda cuts=cuts, three=three: check_cuts(three, cuts))
    assert "texts" in refused(ParameterError, lambda: check_cuts(Domain([1, 2]), [1]))


def test_rows_with_values_that_are_not_in_the_plan_are_left_out_and_counted(tmp_path: Path) -> None:
    path = written(tmp_path, ["a", None, "hermit", "b"], "csv")
    found = ValueColumns(Domain(["a", "b"]), "x", missing="drop", unknown="drop").of(path)
    assert [batch.tolist() for batch, _, _ in found.batches()] == [[0, 1]]
    assert dict(found.left_out) == {"have no value": 1, "have a value that is not in the plan": 1}
    refused(DataError, lambda: list(ValueColumns(Domain(["a", "b"]), "x", unknown="drop").of(path).batches()), "hermit")


def test_a_plan_with_cuts_is_another_file_of_the_same_plan(tmp_path: Path) -> None:
    (tmp_path / "cut.toml").write_text(PLAN)
    (tmp_path / "plain.toml").write_text(PLAN.replace("cuts", "# cuts"))
    cut, plain = Plan.load(tmp_path / "cut.toml"), Plan.load(tmp_path / "plain.toml")
    assert cut.fingerprint == plain.fingerprint
    assert cut.save(tmp_path / "again.toml").document == cut.document
    assert "cuts" in spelled_out(cut)["domain"]
    (tmp_path / "people.csv").write_text("sex,age\nf,17\nm,40\n")
    columns = ValueColumns(cut.domain, cuts=cut.document.domain.cuts)
    assert [batch.tolist() for batch, _, _ in columns.of(tmp_path / "people.csv").batches()] == [[0, 5]]
