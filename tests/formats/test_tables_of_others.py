"""Tables of other tools are sources of reports, in files and in memory: by their plan or on the caller's word."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dc
from discreet import Sources, read_reports, write_reports
from discreet.engines import LocalEngine, obfuscate, tally
from discreet.errors import DataError, MismatchError, ParameterError, SourceWarning
from discreet.formats.reports import read_public
from discreet.mechanisms.report_tables import to_arrow
from discreet.tables.values import ValueColumns
from laws import Case, cases, sampled
from packing import each
from refusals import refused
from source_notes import notes
from table_files import save_table

DOMAIN = dc.Domain(range(30), sensitive=list(range(20)))
RR, UNARY, SUBSET = (
    dc.RandomizedResponse(DOMAIN, 1.0),
    dc.UnaryEncoding(DOMAIN, 1.0),
    dc.SubsetSelection(DOMAIN, 1.0, k=3),
)
HASHING, HADAMARD = dc.LocalHashing(DOMAIN, 1.0, g=3), dc.HadamardResponse(DOMAIN, 1.0)
CHANNEL = dc.Channel(np.full((3, 3), 0.2) + 0.4 * np.eye(3), dc.Domain(["a", "b", "c"]))
LDP, YES_NO = dc.UnaryEncoding(dc.Domain(range(9)), 1.0), dc.RandomizedResponse(dc.Domain(["no", "yes"]), 1.0)
N = 300


def reports_of(mechanism: Any) -> Any:
    return mechanism.obfuscate_codes(np.arange(N) % mechanism.domain.size, random=dc.SeededRandom(1))


def bare(mechanism: Any) -> pa.Table:
    """Return reports as a table without a stamp."""
    return to_arrow(mechanism, reports_of(mechanism)).replace_schema_metadata(None)


def marked(mechanism: Any, table: pa.Table) -> pa.Table:
    """Return a table whose rows say their plan, and that they are simulated."""
    table = table.append_column("plan", pa.array([mechanism.fingerprint] * len(table)))
    return table.append_column("simulated", pa.array([True] * len(table)))


def cast(table: pa.Table, numbers: pa.DataType) -> pa.Table:
    """Cast all numbers, integers in lists too; bits become bytes of any length."""

    def kind(old: pa.DataType) -> pa.DataType:
        if pa.types.is_fixed_size_list(old):
            return pa.list_(numbers if pa.types.is_integer(numbers) else pa.int64())
        return pa.large_binary() if pa.types.is_fixed_size_binary(old) else numbers

    return pa.table({name: table[name].cast(kind(table[name].type)) for name in table.column_names})


def by_pandas(table: pa.Table, path: Path, **backend: Any) -> None:
    save_table(path, table)
    pd.read_parquet(path, **backend).to_parquet(path)


def by_polars(table: pa.Table, path: Path) -> None:
    read: Any = pl.from_arrow(table)
    read.write_ipc(path) if path.suffix == ".arrow" else read.write_parquet(path)


def in_pieces(table: pa.Table, path: Path) -> None:
    """Write row groups of a few rows, some of them empty."""
    with pq.ParquetWriter(path, table.schema) as file:
        for start in range(0, table.num_rows, 50):
            file.write_table(table.slice(start, 50))
            file.write_table(table.slice(start, 0))


REWRITERS: dict[str, Callable[[pa.Table, Path], Any]] = {
    "pandas.parquet": by_pandas,
    "pandas-arrow.parquet": lambda table, path: by_pandas(table, path, dtype_backend="pyarrow"),
    "pandas-nullable.parquet": lambda table, path: by_pandas(table, path, dtype_backend="numpy_nullable"),
    "polars.parquet": by_polars,
    "polars.arrow": by_polars,
    # DuckDB keeps numbers, turns bits into bytes of any length and lists of one length into lists of any.
    "duckdb.parquet": lambda table, path: pq.write_table(
        pa.table(
            {
                name: table[name].cast(pa.list_(table[name].type.value_type))
                if pa.types.is_fixed_size_list(table[name].type)
                else table[name].cast(pa.binary())
                if pa.types.is_fixed_size_binary(table[name].type)
                else table[name]
                for name in table.column_names
            }
        ),
        path,
        store_schema=False,
    ),
    "old.parquet": lambda table, path: pq.write_table(table, path, version="1.0", store_schema=False),
    "int64.parquet": lambda table, path: save_table(path, cast(table, pa.int64())),
    "int32.arrow": lambda table, path: save_table(path, cast(table, pa.int32())),
    "floats.parquet": lambda table, path: save_table(path, cast(table, pa.float64())),
    "pieces.parquet": in_pieces,
    "swapped.parquet": lambda table, path: save_table(path, table.select(table.column_names[::-1])),
    "more.PARQUET": lambda table, path: pq.write_table(
        table.append_column("region", pa.array(["x"] * len(table))), path
    ),
}


HOLDERS: dict[str, Callable[[pa.Table, Path], Any]] = {
    "Arrow": lambda table, _: table,
    "a stream": lambda table, _: pa.RecordBatchReader.from_stream(table),
    "polars": lambda table, _: pl.from_arrow(table),
    "pandas": lambda table, _: table.to_pandas(),
    "Parquet": lambda table, folder: save_table(folder / "held.parquet", table),
    "Feather": lambda table, folder: save_table(folder / "held.arrow", table),
}
FILES = ("Parquet", "Feather")
every_holder = each("holder", HOLDERS)
CASES = cases({"3of7": (7, [0, 4, 6]), "5of5": (5, None)}, (1.0,))
# What tools make of a file depends on its columns: laws whose columns are alike are rewritten in all ways once, and
# each of the others as most people will.
ALIKE = {tuple((one.name, one.width is None) for one in case.mechanism.columns): case for case in reversed(CASES)}
COMMON = ("pandas.parquet", "floats.parquet", "polars.arrow")
REWRITTEN = [(case, name) for case in CASES for name in REWRITERS if name in COMMON or case in ALIKE.values()]


@each("case, name", REWRITTEN)
def test_reports_survive_other_tools(case: Case, name: str, tmp_path: Path) -> None:
    mechanism, reports = case.mechanism, sampled(case, 120)
    expected, path = mechanism.tally(reports), tmp_path / name
    REWRITERS[name](to_arrow(mechanism, reports).replace_schema_metadata(None), path)
    assert "report-table.no-plan" in refused(DataError, lambda: tally(mechanism, path))
    trusted = Sources(path, trust_plan=True)
    with notes():
        found = tally(mechanism, trusted)
        again, in_memory = (
            mechanism.tally(one)
            for one in (read_reports(trusted, mechanism), LocalEngine().evidence(mechanism, trusted)[0])
        )
    assert (found.rows, found.left_out, found.tally.simulated) == (120, {}, False)
    for one in (found.tally, again, in_memory):
        np.testing.assert_array_equal(one.support, expected.support)
        np.testing.assert_array_equal(one.clear, expected.clear)


def test_metadata_say_the_plan_whatever_the_types_and_the_columns_beside(tmp_path: Path) -> None:
    """The first Parquet has no unsigned numbers; the metadata stay, and say the batch and the mark of simulation."""
    reports = reports_of(HASHING)
    path = tmp_path / "r.parquet"
    pq.write_table(reports.to_arrow().append_column("region", pa.array(["x"] * N)), path, version="1.0")
    assert pq.read_schema(path).field("alpha").type == pa.int64()
    with notes() as said:
        found = tally(HASHING, path)
    assert said == ["These columns are not read, because reports of this plan do not have them: 'region'."]
    assert (found.tally, found.tally.batches) == (HASHING.tally(reports), reports.batches)
    assert found.tally.simulated


# What says the plan: each row, or the caller


@every_holder
@each("mechanism", [RR, UNARY, SUBSET, CHANNEL])
def test_rows_that_say_their_plan_are_reports(mechanism: Any, holder: str, tmp_path: Path) -> None:
    reports, wanted = reports_of(mechanism), mechanism.tally(reports_of(mechanism))

    # A reader of a stream is read once.
    def held() -> Any:
        return HOLDERS[holder](marked(mechanism, bare(mechanism)), tmp_path)

    assert tally(mechanism, held()).tally == wanted
    assert mechanism.tally(read_reports(held(), mechanism)) == wanted
    LocalEngine().seal(mechanism, held(), tmp_path / "sealed.parquet")
    assert mechanism.tally(read_reports(tmp_path / "sealed.parquet", mechanism)) == wanted
    if mechanism is not CHANNEL:
        assert LocalEngine(memory=0).evidence(mechanism, held())[0].tally == wanted
    if mechanism is not CHANNEL and holder not in FILES:
        many = [dc.estimate(mechanism, data, method="mle").frequencies for data in (held(), reports)]
        assert many[0].tolist() == many[1].tolist()


@every_holder
def test_a_table_that_does_not_say_its_plan_needs_the_word(holder: str, tmp_path: Path) -> None:
    reads = [tally, LocalEngine().evidence, lambda mechanism, data: read_reports(data, mechanism)]
    for read in [*reads, *([] if holder in FILES else [dc.estimate])]:
        assert "report-table.no-plan" in refused(
            DataError, lambda read=read: read(RR, HOLDERS[holder](bare(RR), tmp_path))
        )
    with notes() as said:
        found = read_reports(Sources(HOLDERS[holder](bare(RR), tmp_path), trust_plan=True), RR)
    assert (found.n, found.simulated) == (N, False)
    assert [note.split()[4:7] for note in said] == [["do", "not", "name"], ["do", "not", "say"]]


PLANS: dict[str, Callable[[list[str | None]], Any]] = {
    "string": lambda plans: pa.array(plans, pa.string()),
    "large": lambda plans: pa.array(plans, pa.large_string()),
    "view": lambda plans: pa.array(plans, pa.string_view()),
    "dictionary": lambda plans: pa.array(plans, pa.string()).dictionary_encode(),
    "bytes": lambda plans: pa.array([None if plan is None else plan.encode() for plan in plans], pa.binary()),
}


@each("kind", PLANS)
def test_one_row_of_another_plan_is_refused_whatever_the_caller_says(kind: str, tmp_path: Path) -> None:
    plans: list[str | None] = [UNARY.fingerprint] * N
    path = save_table(tmp_path / "r.arrow", bare(UNARY).append_column("plan", PLANS[kind](plans)))
    with notes() as said:
        assert tally(UNARY, path).tally.n == N
    assert said == ["1 of 1 files do not say whether their reports are simulated. They count as real."]
    other = dc.UnaryEncoding(DOMAIN, 2.0).fingerprint
    for stranger in (other, None, UNARY.fingerprint.upper(), UNARY.fingerprint[:-1], "", "secret"):
        save_table(path, bare(UNARY).append_column("plan", PLANS[kind]([*plans[:-1], stranger])))
        for options in ({}, {"trust_plan": True}, {"trust_plan": True, "bad_share": 1.0}):
            with notes():
                assert "report-table.rows-of-other-plans" in refused(
                    MismatchError, lambda options=options: tally(UNARY, Sources(path, **options)), other, "secret"
                )


def test_the_word_does_not_overrule_a_stamp(tmp_path: Path) -> None:
    other, path = dc.UnaryEncoding(DOMAIN, 2.0), tmp_path / "r.parquet"
    stamped = to_arrow(other, other.obfuscate_codes([1] * N, random=dc.SeededRandom(1)))
    for table in (stamped, stamped.append_column("more", pa.array([1] * N))):
        refused(MismatchError, lambda table=table: tally(UNARY, Sources(save_table(path, table), trust_plan=True)))
    for stamp in (b"{", b"[1]", json.dumps({"format": 2, "kind": "reports", "plan": UNARY.fingerprint}).encode()):
        table = bare(UNARY).replace_schema_metadata({b"discreet": stamp})
        refused(DataError, lambda table=table: tally(UNARY, Sources(save_table(path, table), trust_plan=True)))


def test_every_file_is_looked_at_before_any_is_counted(tmp_path: Path) -> None:
    save_table(tmp_path / "a.parquet", bare(UNARY))
    write_reports(tmp_path / "b.parquet", UNARY, reports_of(UNARY))
    save_table(tmp_path / "c.parquet", bare(RR))
    trusted = Sources(tmp_path, trust_plan=True)
    with notes():
        assert "c.parquet" in refused(DataError, lambda: tally(UNARY, trusted))
    (tmp_path / "c.parquet").unlink()
    assert "a.parquet" in refused(DataError, lambda: tally(UNARY, tmp_path))
    with notes() as said:
        found = tally(UNARY, trusted)
    assert (found.tally.n, found.tally.simulated) == (2 * N, True)
    assert [note[:15] for note in said] == ["1 of 2 files do"] * 2


@each("marks, simulated", [([False] * N, False), ([False] * (N - 1) + [True], True), ([None] * (N - 1) + [True], True)])
def test_a_column_says_whether_reports_are_simulated(marks: list[Any], simulated: bool, tmp_path: Path) -> None:
    path = save_table(tmp_path / "r.parquet", bare(UNARY).append_column("simulated", pa.array(marks)))
    with notes() as said:
        assert tally(UNARY, Sources(path, trust_plan=True)).tally.simulated == simulated
    assert len(said) == 1


def test_values_in_clear_are_of_another_plan(tmp_path: Path) -> None:
    """Under a plan where all is sensitive a column of values in clear would otherwise be left out in silence."""
    path = save_table(tmp_path / "r.parquet", bare(LDP).append_column("clear", pa.nulls(N, pa.uint8())))
    assert "have no column 'clear'" in refused(DataError, lambda: tally(LDP, Sources(path, trust_plan=True)))
    lines = tmp_path / "r.jsonl"
    lines.write_text(json.dumps({"clear": None, "bits": "AQA="}) + "\n")
    with notes():
        refused(DataError, lambda: tally(LDP, Sources(lines, trust_plan=True)))


@each("mechanism", [RR, UNARY, SUBSET, HASHING, HADAMARD])
def test_lines_are_read_as_devices_write_them(mechanism: Any, tmp_path: Path) -> None:
    """Other tools write what is not there as null, and numbers as floats; the plan alone may be the caller's word."""
    path, other = tmp_path / "r.jsonl.gz", tmp_path / "s.jsonl"
    write_reports(path, mechanism, reports_of(mechanism))
    pl.read_ndjson(path).write_ndjson(other)
    trusted = Sources(other, trust_plan=True)
    with notes():
        refused(DataError, lambda: tally(mechanism, trusted))
    lines = [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]
    other.write_text("".join(json.dumps({k: v for k, v in line.items() if k != "plan"}) + "\n" for line in lines))
    assert "report.without-plan" in refused(DataError, lambda: tally(mechanism, other))
    with notes() as said:
        assert tally(mechanism, trusted).tally == mechanism.tally(reports_of(mechanism))
    assert [note[:40] for note in said] == ["1 of 1 files do not name the plan of the"]


# Tables in memory


def test_a_stamp_says_it_too_and_tables_join_files(tmp_path: Path) -> None:
    reports = reports_of(RR)
    assert tally(RR, reports.to_arrow()).tally == RR.tally(reports)
    assert tally(RR, pa.table(reports[:0])).tally == RR.tally(reports[:0])
    write_reports(tmp_path / "a.parquet", RR, reports[:100])
    assert tally(RR, [tmp_path / "a.parquet", reports[100:].to_arrow()]).tally == RR.tally(reports)
    twice = refused(DataError, lambda: tally(RR, [tmp_path / "a.parquet", reports.to_arrow()]))
    assert f"but 400 were found in {tmp_path / 'a.parquet'} and table 1. " in twice
    own, other = pa.table(reports), dc.RandomizedResponse(DOMAIN, 2.0)
    for way in (tally, dc.estimate):
        refused(MismatchError, lambda way=way: way(other, own))


def test_groups_beside_reports_in_a_table() -> None:
    regions, engine = ["north", "south"] * (N // 2), LocalEngine(threads=2)
    table = marked(RR, bare(RR)).append_column("region", pa.array(regions))
    found = engine.tally_by(RR, table, "region")
    assert {label: one.n for label, one in found.items()} == {"north": N // 2, "south": N // 2}
    assert read_public(RR, table, ["region"])[1]["region"].to_pylist() == regions
    with notes():
        grouped = dc.estimate_groups(RR, table, groups=table["region"])
    for label in ("north", "south"):
        assert grouped[label].frequencies.tolist() == dc.estimate(RR, found[label]).frequencies.tolist()
    assert "public column 'age'" in refused(DataError, lambda: engine.tally_by(RR, table, "age"))
    sifted = Sources(table, bad_share=0.5)
    for way in (lambda: engine.tally_by(RR, sifted, "region"), lambda: read_reports(sifted, RR)):
        assert "bad-share.not-0" in refused(ParameterError, way)


def test_sources_are_what_they_are() -> None:
    for wrong in (7, None, [b"reports.parquet"], [["a.parquet"]]):
        assert "sources.wrong-type" in refused(ParameterError, lambda wrong=wrong: Sources(wrong))
    for share in (-0.1, 2, float("nan"), "0.1"):
        refused(ParameterError, lambda share=share: Sources("a.parquet", bad_share=share))
    mixed = pd.DataFrame({"symbol": [1, "secret"], "plan": [RR.fingerprint] * 2})
    assert "report-table.unreadable" in refused(DataError, lambda: tally(RR, mixed), "secret")
    seen: list[tuple[int, int | None]] = []
    read_reports(Sources(reports_of(RR).to_arrow(), progress=lambda *now: seen.append(now)), RR)
    assert seen == [(N, N)]


# A column of counts, of which tests/formats/test_multiples.py has more


def test_no_column_of_counts_is_kept_beside_reports(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("answer,count\nyes,1\nno,2\n")
    columns = ValueColumns(YES_NO.domain, "answer", keep=("count",))
    refused(ParameterError, lambda: obfuscate(YES_NO, tmp_path / "people.csv", tmp_path / "r.parquet", columns))
    assert {path.name for path in tmp_path.iterdir()} == {"people.csv"}


def test_a_file_with_a_plan_may_have_a_public_column_count(tmp_path: Path) -> None:
    """As versions before wrote it: a report per row, whatever the column says."""
    table = pa.table(reports_of(YES_NO))
    beside = table.append_column("count", pa.array(np.arange(N) % 3))
    stamp = table.schema.metadata[b"discreet"].replace(b"{", b'{"public": ["count"], ', 1)
    path = save_table(tmp_path / "kept.parquet", beside.replace_schema_metadata({b"discreet": stamp}))
    with pytest.warns(SourceWarning, match="Column 'count' is read as a public column"):
        assert tally(YES_NO, path).tally.n == N
    with notes():
        assert sum(one.n for one in LocalEngine().tally_by(YES_NO, path, ["count"]).values()) == N
