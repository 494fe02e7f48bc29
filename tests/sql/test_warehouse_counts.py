"""Counts from a warehouse are read by every way, and refused if they were cut, doubled, mixed up or made by hand."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from warehouses import SQLite

import discreet as dc
from discreet import Domain, Plan, Sources, tally_sql
from discreet.engines import LocalEngine, tally
from discreet.errors import DataError, MismatchError, ParameterError, SourceWarning
from discreet.formats.reports import read_public
from refusals import refused
from running import refusal, run

pytestmark = pytest.mark.filterwarnings("ignore::discreet.errors.SourceWarning")

DOMAIN = Domain(["bus", "car", "walk", "bike"], sensitive=["bus", "bike"])
MECHANISM = dc.RandomizedResponse(DOMAIN, 1.0)
N = 900


def reports() -> dc.Reports:
    values = DOMAIN.names(np.random.default_rng(2).integers(0, 4, N))
    return MECHANISM.obfuscate(list(values), random=dc.SeededRandom(4))


REPORTS = reports()
# A warehouse does not know that these reports are simulated.
TALLY = replace(MECHANISM.tally(REPORTS), simulated=False, batches=())
REGIONS = ["north" if row % 3 else "01" for row in range(N)]
SEXES = ["f" if row % 2 else "m" for row in range(N)]


def counts_of(*by: str, bad: int = 0) -> pa.Table:
    """Return the result of a query in SQLite, with some rows that are no reports."""
    warehouse, rows = SQLite(), REPORTS.to_arrow().to_pylist()
    beside = [{"region": region, "sex": sex} for region, sex in zip(REGIONS, SEXES, strict=True)]
    all_rows = [{**row, **more} for row, more in zip(rows, beside, strict=True)]
    all_rows += [{"clear": 0, "region": "north", "sex": "f"}] * bad
    warehouse.load("reports", {"clear": "int", "symbol": "int", "region": "text", "sex": "text"}, all_rows)
    return warehouse.answer(tally_sql(MECHANISM, "sqlite", by=by))


COUNTS = counts_of()
GROUPED = counts_of("region")


def test_counts_are_read_from_every_kind_of_frame() -> None:
    for frame in (COUNTS, COUNTS.to_pandas(), polars.from_arrow(COUNTS), COUNTS.to_pandas().astype({"count": float})):
        assert tally(MECHANISM, frame).tally == TALLY
        found = dc.estimate(MECHANISM, frame)
        assert np.array_equal(found.frequencies, dc.estimate(MECHANISM, TALLY).frequencies)
        assert np.array_equal(found.standard_errors, dc.estimate(MECHANISM, TALLY).standard_errors)


def test_counts_of_groups_are_estimated_by_group_and_as_a_whole() -> None:
    expected = dc.estimate_groups(MECHANISM, REPORTS, REGIONS)
    found = dc.estimate_groups(MECHANISM, GROUPED)
    assert list(found) == list(expected) == ["01", "north"]
    for label, group in found.items():
        assert np.array_equal(group.frequencies, expected[label].frequencies)
    whole = dc.estimate(MECHANISM, GROUPED)
    assert np.array_equal(whole.frequencies, dc.estimate(MECHANISM, REPORTS).frequencies)


def test_some_of_several_columns_of_groups() -> None:
    both = counts_of("region", "sex")
    assert [*LocalEngine().tally_by(MECHANISM, both, "sex")] == ["f", "m"]
    named = LocalEngine().tally_by(MECHANISM, both, ["sex", "region"])
    assert [*named] == [("f", "01"), ("f", "north"), ("m", "01"), ("m", "north")]
    assert named.whole == TALLY
    refused(DataError, lambda: LocalEngine().tally_by(MECHANISM, GROUPED, "sex"))


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet", "arrow"])
def test_files_of_counts(ending: str, tmp_path: Path) -> None:
    plan, path = tmp_path / "plan.toml", tmp_path / f"counts.{ending}"
    Plan.of(MECHANISM).save(plan)
    if ending == "parquet":
        pq.write_table(GROUPED, path)
    elif ending == "arrow":
        with pa.ipc.new_file(str(path), GROUPED.schema) as file:
            file.write_table(GROUPED)
    else:
        GROUPED.to_pandas().to_csv(path, index=False)
    assert tally(MECHANISM, path).tally == TALLY
    by_region = LocalEngine().tally_by(MECHANISM, path, "region")
    # A group in a text file is text: 01 is not 1.
    assert [*by_region] == ["01", "north"]
    result = run("estimate", plan, path, "--by", "region")
    assert result.exit_code == 0
    assert "It is not known whether reports are simulated, counted twice" in " ".join(result.output.split())
    assert run("estimate", plan, path).exit_code == 0


def test_rows_that_are_no_reports_are_said_or_refused(tmp_path: Path) -> None:
    plan, path = tmp_path / "plan.toml", tmp_path / "warehouse.csv"
    Plan.of(MECHANISM).save(plan)
    counts_of(bad=9).to_pandas().to_csv(path, index=False)
    assert "9 of 909 rows" in refused(DataError, lambda: tally(MECHANISM, path))
    assert "warehouse.flawed" in refusal("estimate", plan, path, "--bad-rows", 0.0098)
    result = run("estimate", plan, path, "--bad-rows", 0.01)
    assert result.exit_code == 0
    assert "9 of 909 rows in the warehouse are not reports of this plan, and are left out." in result.output
    with pytest.warns(SourceWarning, match="9 of 909 rows"):
        assert tally(MECHANISM, Sources(path, bad_share=0.01)).tally == TALLY


def changed(table: pa.Table, row: int, **entries: Any) -> pa.Table:
    rows = table.to_pylist()
    rows[row] |= entries
    return pa.Table.from_pylist(rows)


OTHER = dc.RandomizedResponse(DOMAIN, 1.5)
WRONG: dict[str, tuple[Callable[[], pa.Table], str]] = {
    "cut at the end": (lambda: GROUPED.slice(0, GROUPED.num_rows - 1), "warehouse.other-rows"),
    "cut in the middle": (lambda: pa.concat_tables([GROUPED.slice(0, 3), GROUPED.slice(5)]), "warehouse.other-rows"),
    "doubled": (lambda: pa.concat_tables([GROUPED, GROUPED]), "warehouse.other-rows"),
    "of two results": (lambda: pa.concat_tables([counts_of("sex").rename_columns(GROUPED.column_names), GROUPED]), ""),
    "a place twice": (lambda: changed(COUNTS, 0, place=1), "warehouse.twice"),
    "of another plan": (lambda: changed(COUNTS, 2, plan=OTHER.fingerprint), "warehouse.other-plan"),
    "without a plan": (lambda: changed(COUNTS, 2, plan=None), "warehouse.other-plan"),
    "negative": (lambda: changed(COUNTS, 0, count=-1), "warehouse.not-whole"),
    "with decimals": (lambda: changed(COUNTS, 0, count=1.5), "warehouse.not-whole"),
    "without a count": (lambda: changed(COUNTS, 0, count=None), "warehouse.not-whole"),
    "a boolean": (lambda: COUNTS.set_column(2, "count", COUNTS["count"].cast(pa.bool_())), "warehouse.not-whole"),
    "without a place": (lambda: changed(COUNTS, 0, place=None), "warehouse.not-whole"),
    "an unknown part": (lambda: changed(COUNTS, 0, part="blocks"), "warehouse.unknown-part"),
    "beyond the blocks": (lambda: changed(COUNTS, 0, place=2), "warehouse.unknown-place"),
    "a sensitive code in clear": (lambda: changed(COUNTS, 2, place=0), "warehouse.unknown-place"),
    "beyond the domain": (lambda: changed(COUNTS, 3, place=4), "warehouse.unknown-place"),
    "a number of reports elsewhere": (lambda: changed(COUNTS, -1, place=1), "warehouse.unknown-place"),
    "counts that do not fit": (lambda: changed(COUNTS, 0, count=1), "warehouse.inconsistent"),
    "another number of reports": (lambda: changed(COUNTS, -1, count=N + 1), "warehouse.inconsistent"),
    "too many reports": (lambda: changed(COUNTS, -1, count=1 << 62), "warehouse.too-many"),
    "a group without its number": (lambda: changed(GROUPED, -1, part="flawed", region="south"), "warehouse.without-n"),
    "a group without a label": (lambda: changed(GROUPED, 0, region=None), ""),
    "without rows": (lambda: COUNTS.slice(0, 0), "warehouse.other-plan"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_counts_are_refused(name: str) -> None:
    make, code = WRONG[name]
    table = make()
    assert code in refused(DataError, lambda: tally(MECHANISM, table))
    assert code in refused(DataError, lambda: dc.estimate(MECHANISM, table))


def test_the_counts_that_faults_are_made_of_are_good() -> None:
    for table in (COUNTS, GROUPED):
        assert tally(MECHANISM, table).tally.n == N
        assert [table["part"][row].as_py() for row in (0, 2, -1)] == ["block", "clear", "n"] or table is GROUPED


def test_counts_of_another_plan_are_a_mismatch() -> None:
    refused(MismatchError, lambda: tally(OTHER, COUNTS))


def test_counts_are_no_reports() -> None:
    assert "sources.with-tallies" in refused(ParameterError, lambda: dc.read_reports(COUNTS, MECHANISM))
    assert "sources.with-tallies" in refused(
        ParameterError, lambda: LocalEngine().seal(MECHANISM, COUNTS, "sealed.parquet")
    )
    assert "sources.with-tallies" in refused(ParameterError, lambda: read_public(MECHANISM, GROUPED, ["region"]))


def test_counts_and_files_of_reports_are_added(tmp_path: Path) -> None:
    dc.write_reports(tmp_path / "more.parquet", MECHANISM, REPORTS)
    counted = tally(MECHANISM, Sources([tmp_path / "more.parquet", COUNTS])).tally
    assert (counted.n, counted) == (2 * N, MECHANISM.tally(REPORTS) + TALLY)


def test_a_table_without_reports() -> None:
    warehouse = SQLite()
    warehouse.load("reports", {"clear": "int", "symbol": "int"}, [])
    counts = warehouse.answer(tally_sql(MECHANISM, "sqlite"))
    assert tally(MECHANISM, counts).tally == MECHANISM.empty_tally()
    assert "tally.empty" in refused(DataError, lambda: dc.estimate(MECHANISM, counts))
