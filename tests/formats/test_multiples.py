"""A column with the number of reports of each row: in tables without metadata by its name, elsewhere on request."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dc
from discreet import Domain, Plan, Sources
from discreet.engines import LocalEngine, tally
from discreet.errors import DataError, SourceWarning
from refusals import refused
from running import run

DOMAIN = Domain(range(7), sensitive=[0, 3, 4, 6])
RR = dc.RandomizedResponse(DOMAIN, 1.0)
BITS = dc.UnaryEncoding(DOMAIN, 1.0)
N = 400

pytestmark = pytest.mark.filterwarnings("ignore:.*(do not name|do not say|not read):discreet.errors.SourceWarning")


def rows_of(mechanism: Any) -> list[dict[str, Any]]:
    codes = np.random.default_rng(1).integers(0, 7, N)
    return mechanism.obfuscate_codes(codes, random=dc.SeededRandom(2)).to_arrow().to_pylist()


ROWS = {"rr": rows_of(RR), "unary": rows_of(BITS)}
TIMES = [[0, 1, 2, 3, 17][row % 5] for row in range(N)]
REGIONS = [["north", "south"][row % 7 % 2] for row in range(N)]
IN_ALL = sum(TIMES)


def table_of(mechanism: Any, name: str = "count", times: Any = TIMES) -> pa.Table:
    """Return a table as a warehouse makes it: a row for several reports, and no metadata."""
    table = pa.Table.from_pylist(ROWS[mechanism.name])
    marks = [mechanism.fingerprint] * N, [False] * N
    for column, entries in {"plan": marks[0], "simulated": marks[1], "region": REGIONS, name: times}.items():
        table = table.append_column(column, pa.array(entries))
    return table


def expected(mechanism: Any, region: str | None = None) -> dc.Tally:
    """Return the tally of the rows, each written as often as it counts."""
    kept = [row for row, place in zip(ROWS[mechanism.name], REGIONS, strict=True) if region in {None, place}]
    times = [often for often, place in zip(TIMES, REGIONS, strict=True) if region in {None, place}]
    each = pa.Table.from_pylist([row for row, often in zip(kept, times, strict=True) for _ in range(often)])
    return tally(mechanism, Sources(each, trust_plan=True)).tally


def saved(path: Path, table: pa.Table) -> Path:
    if path.suffix == ".parquet":
        pq.write_table(table, path, row_group_size=150)
    elif path.suffix == ".arrow":
        with pa.ipc.new_file(str(path), table.schema) as file:
            file.write_table(table, max_chunksize=150)
    else:
        table.to_pandas().to_csv(path, index=False)
    return path


@pytest.mark.parametrize("mechanism", [RR, BITS], ids=lambda mechanism: mechanism.name)
@pytest.mark.parametrize("form", ["frame", "arrow", "parquet", "threads"])
def test_rows_count_as_often_as_they_say(mechanism: Any, form: str, tmp_path: Path) -> None:
    table = table_of(mechanism)
    source: Any = (
        table if form == "frame" else saved(tmp_path / f"rows.{'arrow' if form == 'arrow' else 'parquet'}", table)
    )
    with pytest.warns(SourceWarning, match=f"^{IN_ALL:,} reports in {N} rows, by column 'count'.$"):
        counted = tally(mechanism, source, threads=3 if form == "threads" else 1)
    assert (counted.tally, counted.rows) == (expected(mechanism), IN_ALL)
    with pytest.warns(SourceWarning, match="by column 'count'"):
        groups = LocalEngine().tally_by(mechanism, source, "region")
    assert dict(groups) == {region: expected(mechanism, region) for region in ("north", "south")}


@pytest.mark.filterwarnings("ignore:.* reports in .* rows:discreet.errors.SourceWarning")
def test_every_way_through_reports_sees_each_of_them(tmp_path: Path) -> None:
    path = saved(tmp_path / "rows.parquet", table_of(BITS))
    reports = dc.read_reports(path, BITS)
    assert BITS.tally(reports) == expected(BITS)
    gathered, _ = LocalEngine().evidence(BITS, path)
    assert BITS.tally(gathered) == expected(BITS)
    stored, _ = LocalEngine(memory=0).evidence(BITS, path)
    assert stored.tally == expected(BITS)
    sealed = LocalEngine().seal(BITS, path, tmp_path / "sealed.parquet")
    assert sealed.n == IN_ALL
    assert tally(BITS, tmp_path / "sealed.parquet").tally == expected(BITS)


@pytest.mark.filterwarnings("ignore:.* reports in .* rows:discreet.errors.SourceWarning")
def test_estimates_of_frames_and_of_files_are_the_same(tmp_path: Path) -> None:
    wanted = dc.estimate(RR, expected(RR))
    for frame in (table_of(RR), table_of(RR).to_pandas()):
        assert np.array_equal(dc.estimate(RR, frame).frequencies, wanted.frequencies)
        assert dc.estimate(RR, frame).n == IN_ALL
    plan, path = tmp_path / "plan.toml", saved(tmp_path / "rows.csv", table_of(RR))
    Plan.of(RR).save(plan)
    for arguments in ((), ("--by", "region"), ("--count", "count")):
        result = run("estimate", plan, path, *arguments)
        assert result.exit_code == 0, result.output
        assert f"{IN_ALL:,} reports in {N} rows, by column 'count'." in result.output


def test_another_column_counts_on_request() -> None:
    table = table_of(RR, "people")
    assert tally(RR, table).tally.n == N
    with pytest.warns(SourceWarning, match="by column 'people'"):
        assert tally(RR, Sources(table, count="people")).tally == expected(RR)
    assert "public-column.missing" in refused(DataError, lambda: tally(RR, Sources(table, count="persons")))


def test_a_public_column_of_a_stamped_file_counts_on_request_alone(tmp_path: Path) -> None:
    reports = RR.obfuscate_codes(np.arange(7), random=dc.SeededRandom(1)).to_arrow()
    facts = json.loads(reports.schema.metadata[b"discreet"])
    stamp = {b"discreet": json.dumps({**facts, "public": ["count"]}).encode()}
    table = reports.append_column("count", pa.array([2] * 7)).replace_schema_metadata(stamp)
    with pytest.warns(SourceWarning, match="Column 'count' is read as a public column"):
        assert tally(RR, table).tally.n == 7
    with pytest.warns(SourceWarning, match="14 reports in 7 rows"):
        counted = tally(RR, Sources(table, count="count")).tally
    # The batch has 7 reports; what was counted is not this batch.
    assert (counted.n, counted.batches) == (14, ())


WRONG: dict[str, Callable[[], Any]] = {
    "negative": lambda: [*TIMES[:-1], -1],
    "missing": lambda: [*TIMES[:-1], None],
    "with decimals": lambda: [*map(float, TIMES[:-1]), 1.5],
    "no number": lambda: [*map(float, TIMES[:-1]), float("nan")],
    "infinite": lambda: [*map(float, TIMES[:-1]), float("inf")],
    "above 2^62": lambda: [*TIMES[:-1], 1 << 62],
}


@pytest.mark.parametrize("name", WRONG)
def test_numbers_of_reports_that_are_none_are_refused_by_row(name: str, tmp_path: Path) -> None:
    table = table_of(RR, times=WRONG[name]())
    for source in (table, saved(tmp_path / "rows.parquet", table)):
        message = refused(DataError, lambda source=source: tally(RR, source))
        assert "multiples.not-whole" in message
        assert f"first in row {N - 1}" in message
    assert "multiples.not-whole" in refused(DataError, lambda: dc.estimate(RR, table))
    assert "multiples.not-whole" in refused(DataError, lambda: tally(RR, table_of(RR, times=["1"] * N)))


@pytest.mark.filterwarnings("ignore:.* reports in .* rows:discreet.errors.SourceWarning")
def test_whole_floats_and_decimals_are_numbers() -> None:
    assert tally(RR, table_of(RR, times=[float(often) for often in TIMES])).tally == expected(RR)
    decimals = pa.array(TIMES).cast(pa.decimal128(38, 0))
    assert tally(RR, table_of(RR, times=decimals)).tally == expected(RR)


@pytest.mark.filterwarnings("ignore:.* reports in .* rows:discreet.errors.SourceWarning")
def test_large_numbers_take_no_longer() -> None:
    table = pa.table({"symbol": [0, 1, None], "clear": [None, None, 2], "count": [1 << 61, (1 << 61) - 9, 8]})
    counted = tally(RR, Sources(table, trust_plan=True)).tally
    assert (counted.n, counted.support.tolist()) == ((1 << 62) - 1, [1 << 61, (1 << 61) - 9, 0, 0])
    assert counted.clear_total == 8
    more = pa.table({"symbol": [0, 1], "clear": pa.nulls(2), "count": [1 << 61, 1 << 61]})
    assert "multiples.too-many" in refused(DataError, lambda: tally(RR, Sources(more, trust_plan=True)))
    assert "multiples.too-many-here" in refused(DataError, lambda: dc.read_reports(Sources(table, trust_plan=True), RR))


@pytest.mark.filterwarnings("ignore:.* reports in .* rows:discreet.errors.SourceWarning")
def test_bad_rows_count_as_often_as_they_say() -> None:
    rows = {"symbol": [0, 9, 1, None], "clear": [None, None, None, 0], "count": [90, 3, 5, 2]}
    source = Sources(pa.table(rows), trust_plan=True)
    assert "(first in row 1)" in refused(DataError, lambda: tally(RR, source))
    found = tally(RR, Sources(pa.table(rows), trust_plan=True, bad_share=0.05))
    assert (found.tally.n, found.bad, found.rows) == (95, 5, 100)
    strict = Sources(pa.table(rows), trust_plan=True, bad_share=0.049)
    assert "5 of 100 rows" in refused(DataError, lambda: tally(RR, strict))


def test_a_frame_of_rows_that_all_count_0() -> None:
    nobody = pd.DataFrame({"symbol": [0, 1], "clear": [None, None], "count": [0, 0]})
    with pytest.warns(SourceWarning, match="^0 reports in 2 rows"):
        assert tally(RR, Sources(nobody, trust_plan=True)).tally == RR.empty_tally()
