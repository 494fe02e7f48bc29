"""Tables of pandas, polars and Arrow are sources of reports, checked as files are."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as dc
from discreet import write_reports
from discreet.engines import LocalEngine, gather, seal, tally
from discreet.errors import DataError, MismatchError, ParameterError
from discreet.formats.reports import read_public
from refusals import refused
from source_notes import notes

DOMAIN = dc.Domain(["flu", "hiv", "none", "cold"], sensitive=["hiv", "flu"])
MECHANISMS: dict[str, Any] = {
    "rr": dc.RandomizedResponse(DOMAIN, 1.0),
    "bits": dc.UnaryEncoding(DOMAIN, 1.0),
    "subsets": dc.SubsetSelection(dc.Domain(range(9)), 1.0, k=3),
    "channel": dc.Channel(np.full((3, 3), 0.2) + 0.4 * np.eye(3), dc.Domain(["a", "b", "c"])),
}
RR = MECHANISMS["rr"]


def polars_frame(table: pa.Table) -> Any:
    return pytest.importorskip("polars").from_arrow(table)


def pandas_frame(table: pa.Table) -> Any:
    return pytest.importorskip("pandas").DataFrame(table.to_pandas())


KINDS: dict[str, Callable[[pa.Table], Any]] = {
    "arrow": lambda table: table,
    "reader": pa.RecordBatchReader.from_stream,
    "polars": polars_frame,
    "pandas": pandas_frame,
}
every_kind = pytest.mark.parametrize("kind", KINDS)


def made(mechanism: Any, n: int = 600) -> dc.Reports:
    codes = np.arange(n) % mechanism.domain.size
    reports: dc.Reports = mechanism.obfuscate_codes(codes, random=dc.SeededRandom(1))
    return reports


def marked(mechanism: Any, table: pa.Table) -> pa.Table:
    """Return a table whose rows say their plan, and that they are simulated."""
    table = table.append_column("plan", pa.array([mechanism.fingerprint] * len(table)))
    return table.append_column("simulated", pa.array([True] * len(table)))


@every_kind
@pytest.mark.parametrize("name", MECHANISMS)
def test_rows_that_say_their_plan_are_reports(name: str, kind: str, tmp_path: Path) -> None:
    mechanism, reports = MECHANISMS[name], made(MECHANISMS[name])
    table = marked(mechanism, reports.to_arrow().replace_schema_metadata(None))

    # A reader of a stream is read once.
    def frame() -> Any:
        return KINDS[kind](table)

    wanted = mechanism.tally(reports)
    assert tally(mechanism, frame()).tally == wanted
    assert mechanism.tally(gather(mechanism, frame())[0]) == wanted
    again = dc.read_reports(frame(), mechanism)
    assert mechanism.tally(again) == wanted
    assert dc.estimate(mechanism, frame()).frequencies.tolist() == dc.estimate(mechanism, wanted).frequencies.tolist()
    write_reports(tmp_path / "r.parquet", mechanism, reports)
    seal(mechanism, frame(), tmp_path / "sealed.parquet")
    assert mechanism.tally(dc.read_reports(tmp_path / "sealed.parquet", mechanism)) == wanted
    if name != "channel":
        assert gather(mechanism, frame(), memory=0)[0].tally == wanted
        many = [dc.estimate(mechanism, data, method="mle").frequencies for data in (frame(), reports)]
        assert many[0].tolist() == many[1].tolist()


def test_a_stamp_says_it_too_and_tables_join_files(tmp_path: Path) -> None:
    reports = made(RR)
    assert tally(RR, reports.to_arrow()).tally == RR.tally(reports)
    assert tally(RR, pa.table(reports[:0])).tally == RR.tally(reports[:0])
    write_reports(tmp_path / "a.parquet", RR, reports[:200])
    both = [tmp_path / "a.parquet", reports[200:].to_arrow()]
    assert tally(RR, both).tally == RR.tally(reports)
    twice = refused(DataError, lambda: tally(RR, [tmp_path / "a.parquet", reports.to_arrow()]))
    assert f"and 800 were found in {tmp_path / 'a.parquet'} and table 1. " in twice
    own, other = pa.table(reports), dc.RandomizedResponse(DOMAIN, 2.0)
    for way in (lambda table: tally(other, table), lambda table: dc.estimate(other, table)):
        refused(MismatchError, lambda way=way: way(own))  # type: ignore[misc]


@every_kind
def test_a_table_that_does_not_say_its_plan_needs_the_word(kind: str) -> None:
    reports = made(RR)
    bare = reports.to_arrow().replace_schema_metadata(None)
    for way in (lambda table: tally(RR, table), lambda table: dc.estimate(RR, table)):
        message = refused(DataError, lambda way=way: way(KINDS[kind](bare)))  # type: ignore[misc]
        assert "report-table.no-plan" in message
        assert "report-table.no-plan" in message
    assert "trust_plan=True" in refused(DataError, lambda: dc.read_reports(KINDS[kind](bare), RR))
    with notes() as said:
        found = dc.read_reports(dc.Sources(KINDS[kind](bare), trust_plan=True), RR)
    assert found.n == 600
    assert not found.simulated
    assert [note[:24] for note in said] == ["1 of 1 tables do not say"] * 2


def test_other_plans_and_bad_rows_of_tables() -> None:
    table = marked(RR, made(RR).to_arrow().replace_schema_metadata(None))
    strange = table.set_column(table.column_names.index("plan"), "plan", pa.array(["x"] * 600))
    for read in (strange, dc.Sources(strange, trust_plan=True)):
        assert "600 of 600 rows" in refused(MismatchError, lambda read=read: tally(RR, read))
    wrong = pa.array([7] * 2 + table["symbol"].to_pylist()[2:])
    flawed = table.set_column(table.column_names.index("symbol"), "symbol", wrong)
    assert refused(DataError, lambda: tally(RR, flawed)).startswith("table 1: ")
    found = tally(RR, dc.Sources(flawed, bad_share=0.01))
    assert (found.tally.n, found.bad) == (598, 2)
    assert "bad_share must be 0 here" in refused(
        ParameterError, lambda: dc.read_reports(dc.Sources(flawed, bad_share=0.01), RR)
    )


def test_groups_beside_reports_in_a_table() -> None:
    reports, regions = made(RR), ["north", "south"] * 300
    table = marked(RR, reports.to_arrow().replace_schema_metadata(None)).append_column("region", pa.array(regions))
    engine = LocalEngine(threads=2)
    found = engine.tally_by(RR, table, "region")
    assert {label: one.n for label, one in found.items()} == {"north": 300, "south": 300}
    assert read_public(RR, table, ["region"])[1]["region"].to_pylist() == regions
    with notes() as said:
        grouped = dc.estimate_groups(RR, table, groups=table["region"])
    assert said == ["Columns that reports of this plan do not have are not read: 'region'."]
    for label in ("north", "south"):
        assert grouped[label].frequencies.tolist() == dc.estimate(RR, found[label]).frequencies.tolist()
    assert "public column 'age' once" in refused(DataError, lambda: engine.tally_by(RR, table, "age"))
    sifted = dc.Sources(table, bad_share=0.5)
    assert "bad-share.not-0" in refused(ParameterError, lambda: engine.tally_by(RR, sifted, "region"))


def test_sources_are_what_they_are() -> None:
    for wrong in (7, None, [b"reports.parquet"], [["a.parquet"]]):
        assert "sources.wrong-type" in refused(ParameterError, lambda wrong=wrong: dc.Sources(wrong))
    for share in (-0.1, 2, float("nan"), "0.1"):
        refused(ParameterError, lambda share=share: dc.Sources("a.parquet", bad_share=share))
    mixed = pytest.importorskip("pandas").DataFrame({"symbol": [1, "secret"], "plan": [RR.fingerprint] * 2})
    assert "report-table.unreadable" in refused(DataError, lambda: tally(RR, mixed), "secret")
    seen: list[tuple[int, int | None]] = []
    dc.read_reports(dc.Sources(made(RR).to_arrow(), progress=lambda *now: seen.append(now)), RR)
    assert seen == [(600, 600)]
