"""Tables of other tools are sources of reports: by what they say, or the caller's word, and checked the same."""

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

from discreet import (
    Domain,
    HadamardResponse,
    LocalHashing,
    RandomizedResponse,
    SeededRandom,
    Sources,
    SubsetSelection,
    UnaryEncoding,
    read_reports,
    write_reports,
)
from discreet.engines import gather, tally
from discreet.errors import DataError, MismatchError
from discreet.mechanisms import BlockMechanism
from discreet.mechanisms.report_tables import to_arrow
from discreet.mechanisms.row_checks import UNREADABLE
from laws import Case, cases, sampled
from packing import each
from refusals import refused
from source_notes import notes

DOMAIN = Domain(range(30), sensitive=list(range(20)))
RR, UNARY, SUBSET = RandomizedResponse(DOMAIN, 1.0), UnaryEncoding(DOMAIN, 1.0), SubsetSelection(DOMAIN, 1.0, k=3)
HASHING, HADAMARD = LocalHashing(DOMAIN, 1.0, g=3), HadamardResponse(DOMAIN, 1.0)
LDP = UnaryEncoding(Domain(range(9)), 1.0)
CODES = np.arange(300) % 30


def bare(mechanism: Any, codes: Any = CODES) -> pa.Table:
    """Return reports as a table without a stamp."""
    reports = mechanism.obfuscate_codes(np.asarray(codes) % mechanism.domain.size, random=SeededRandom(1))
    return to_arrow(mechanism, reports).replace_schema_metadata(None)


def trusted(mechanism: Any, path: Path, **options: Any) -> Any:
    with notes():
        return tally(mechanism, Sources(path, trust_plan=True, **options))


def saved(table: pa.Table, path: Path, **options: Any) -> Path:
    if path.suffix == ".parquet":
        pq.write_table(table, path, **options)
    else:
        with pa.ipc.new_file(str(path), table.schema) as file:
            file.write_table(table)
    return path


def cast(table: pa.Table, numbers: pa.DataType) -> pa.Table:
    """Cast all numbers, integers in lists too; bits become bytes of any length."""

    def kind(old: pa.DataType) -> pa.DataType:
        if pa.types.is_fixed_size_list(old):
            return pa.list_(numbers if pa.types.is_integer(numbers) else pa.int64())
        return pa.large_binary() if pa.types.is_fixed_size_binary(old) else numbers

    return pa.table({name: table[name].cast(kind(table[name].type)) for name in table.column_names})


def by_pandas(table: pa.Table, path: Path, **backend: Any) -> None:
    saved(table, path)
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
    "duckdb.parquet": lambda table, path: saved(
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
    "old.parquet": lambda table, path: saved(table, path, version="1.0", store_schema=False),
    "int64.parquet": lambda table, path: saved(cast(table, pa.int64()), path),
    "int32.arrow": lambda table, path: saved(cast(table, pa.int32()), path),
    "floats.parquet": lambda table, path: saved(cast(table, pa.float64()), path),
    "pieces.parquet": in_pieces,
    "swapped.parquet": lambda table, path: saved(table.select(table.column_names[::-1]), path),
    "more.PARQUET": lambda table, path: pq.write_table(
        table.append_column("region", pa.array(["x"] * len(table))), path
    ),
}


CASES = cases({"3of7": (7, [0, 4, 6]), "5of5": (5, None)}, (1.0,))
# What tools make of a file depends on its columns: laws whose columns are alike are rewritten in all ways once, and
# each of the others as most people will.
ALIKE = {tuple((one.name, one.width is None) for one in case.mechanism.columns): case for case in reversed(CASES)}
COMMON = ("pandas.parquet", "floats.parquet", "polars.arrow")
REWRITTEN = [(case, name) for case in CASES for name in REWRITERS if name in COMMON or case in ALIKE.values()]


@each("case, name", REWRITTEN)
def test_reports_survive_other_tools(case: Case, name: str, tmp_path: Path) -> None:
    mechanism, reports = case.mechanism, sampled(case, 120)
    expected = mechanism.tally(reports)
    path = tmp_path / name
    REWRITERS[name](to_arrow(mechanism, reports).replace_schema_metadata(None), path)
    for read in (tally, gather, read_reports):
        assert "report-table.no-plan" in refused(
            DataError, lambda read=read: read(mechanism, path) if read is not read_reports else read(path, mechanism)
        )
    found = trusted(mechanism, path)
    np.testing.assert_array_equal(found.tally.support, expected.support)
    np.testing.assert_array_equal(found.tally.clear, expected.clear)
    assert (found.rows, found.left_out, found.tally.simulated) == (120, {}, False)
    with notes():
        again, in_memory = (
            read_reports(Sources(path, trust_plan=True), mechanism),
            gather(mechanism, Sources(path, trust_plan=True))[0],
        )
    for one in (again, in_memory):
        assert one.n == 120
        np.testing.assert_array_equal(mechanism.tally(one).support, expected.support)


def test_metadata_say_the_plan_whatever_the_types_and_the_columns_beside(tmp_path: Path) -> None:
    """The first Parquet has no unsigned numbers; the metadata stay, and say the batch and the mark of simulation."""
    reports = reports_of(HASHING)
    table = reports.to_arrow().append_column("region", pa.array(["north"] * 300))
    path = saved(table, tmp_path / "r.parquet", version="1.0")
    assert pq.read_schema(path).field("alpha").type == pa.int64()
    with notes() as said:
        found = tally(HASHING, path)
    assert said == ["Columns that reports of this plan do not have are not read: 'region'."]
    assert found.tally == HASHING.tally(reports)
    assert found.tally.batches == reports.batches
    assert found.tally.simulated


def reports_of(mechanism: Any) -> Any:
    return mechanism.obfuscate_codes(CODES % mechanism.domain.size, random=SeededRandom(1))


# What rows and stamps say


PLANS: dict[str, Callable[[list[str | None]], Any]] = {
    "string": lambda plans: pa.array(plans, pa.string()),
    "large": lambda plans: pa.array(plans, pa.large_string()),
    "view": lambda plans: pa.array(plans, pa.string_view()),
    "dictionary": lambda plans: pa.array(plans, pa.string()).dictionary_encode(),
    "bytes": lambda plans: pa.array([None if plan is None else plan.encode() for plan in plans], pa.binary()),
}


@pytest.mark.parametrize("kind", PLANS)
def test_a_plan_in_every_row_needs_no_word(kind: str, tmp_path: Path) -> None:
    table = bare(UNARY)
    plans: list[str | None] = [UNARY.fingerprint] * 300
    path = saved(table.append_column("plan", PLANS[kind](plans)), tmp_path / "r.arrow")
    with notes() as said:
        found = tally(UNARY, path)
    assert found.tally.n == 300
    assert said == ["1 of 1 files do not say whether their reports are simulated; they count as real."]
    other = UnaryEncoding(DOMAIN, 2.0).fingerprint
    for stranger in (other, None, UNARY.fingerprint.upper(), UNARY.fingerprint[:-1], "", "secret"):
        strange = [*plans[:-1], stranger]
        saved(table.append_column("plan", PLANS[kind](strange)), path)
        for options in ({}, {"trust_plan": True}, {"bad_share": 1.0}, {"trust_plan": True, "bad_share": 1.0}):
            with notes():
                message = refused(
                    MismatchError, lambda options=options: tally(UNARY, Sources(path, **options)), other, "secret"
                )
            assert "report-table.rows-of-other-plans" in message


def test_the_word_does_not_overrule_a_stamp(tmp_path: Path) -> None:
    other = UnaryEncoding(DOMAIN, 2.0)
    path, made = tmp_path / "r.parquet", other.obfuscate_codes(CODES, random=SeededRandom(1))
    write_reports(path, other, made)
    refused(MismatchError, lambda: tally(UNARY, Sources(path, trust_plan=True)))
    widened = to_arrow(other, made)
    saved(widened.append_column("more", pa.array([1] * 300)), path)
    refused(MismatchError, lambda: tally(UNARY, Sources(path, trust_plan=True)))
    for stamp in (b"{", b"[1]", json.dumps({"format": 2, "kind": "reports", "plan": UNARY.fingerprint}).encode()):
        saved(bare(UNARY).replace_schema_metadata({b"discreet": stamp}), path)
        refused(DataError, lambda: tally(UNARY, Sources(path, trust_plan=True)))


def test_every_file_is_looked_at_before_any_is_counted(tmp_path: Path) -> None:
    saved(bare(UNARY, CODES[::-1]), tmp_path / "a.parquet")
    write_reports(tmp_path / "b.parquet", UNARY, reports_of(UNARY))
    saved(bare(RR), tmp_path / "c.parquet")
    with notes():
        assert "c.parquet" in refused(DataError, lambda: tally(UNARY, Sources(tmp_path, trust_plan=True)))
    (tmp_path / "c.parquet").unlink()
    assert "a.parquet" in refused(DataError, lambda: tally(UNARY, tmp_path))
    with notes() as said:
        found = tally(UNARY, Sources(tmp_path, trust_plan=True))
    assert found.tally.n == 600
    assert found.tally.simulated
    assert said == [
        "1 of 2 files do not say which plan their reports belong to; that it is "
        f"{UNARY.fingerprint[:12]} is the caller's word (trust_plan).",
        "1 of 2 files do not say whether their reports are simulated; they count as real.",
    ]


@pytest.mark.parametrize(
    ("marks", "simulated"),
    [([False] * 300, False), ([False] * 299 + [True], True), ([None] * 300, False), ([None] * 299 + [True], True)],
)
def test_a_column_says_whether_reports_are_simulated(marks: list[Any], simulated: bool, tmp_path: Path) -> None:
    path = saved(bare(UNARY).append_column("simulated", pa.array(marks)), tmp_path / "r.parquet")
    with notes() as said:
        found = tally(UNARY, Sources(path, trust_plan=True))
    assert found.tally.simulated == simulated
    assert len(said) == 1


def test_values_in_clear_are_of_another_plan(tmp_path: Path) -> None:
    """Under a plan where all is sensitive a column of values in clear would otherwise be left out in silence."""
    table = bare(LDP).append_column("clear", pa.nulls(300, pa.uint8()))
    path = saved(table, tmp_path / "r.parquet")
    message = refused(DataError, lambda: tally(LDP, Sources(path, trust_plan=True)))
    assert "have no column 'clear'" in message
    path.with_suffix(".jsonl").write_text(json.dumps({"clear": None, "bits": "AQA="}) + "\n")
    with notes():
        refused(DataError, lambda: tally(LDP, Sources(path.with_suffix(".jsonl"), trust_plan=True)))


# What no device can have sent

BAD: list[tuple[BlockMechanism, dict[str, Any], dict[str, pa.DataType], str]] = [
    (RR, {"symbol": 20}, {"symbol": pa.int64()}, "have a symbol outside 0..19"),
    (RR, {"symbol": -1}, {"symbol": pa.int8()}, "have a symbol outside 0..19"),
    (RR, {"symbol": 1 << 63}, {"symbol": pa.uint64()}, "have a symbol outside 0..19"),
    (RR, {"symbol": -1.0}, {"symbol": pa.float64()}, "have a symbol outside 0..19"),
    (RR, {"clear": 3.0, "symbol": None}, {"clear": pa.float64()}, "give a sensitive value in clear"),
    (RR, {"clear": 25.0, "symbol": 3.0}, {"clear": pa.float64()}, "hold both a block and a value in clear"),
    (RR, {"clear": -25, "symbol": None}, {"clear": pa.int16()}, "have a clear outside 0..29"),
    (UNARY, {"bits": b"\x01\x02"}, {"bits": pa.binary()}, UNREADABLE),
    (UNARY, {"bits": b""}, {"bits": pa.large_binary()}, UNREADABLE),
    (UNARY, {"bits": b"\x01\x02\x03\x00"}, {"bits": pa.binary_view()}, UNREADABLE),
    (UNARY, {"bits": b"\x01\x02\xff"}, {"bits": pa.binary_view()}, "hold a block that no device can send"),
    (SUBSET, {"members": [1, 2]}, {"members": pa.list_(pa.int64())}, UNREADABLE),
    (SUBSET, {"members": []}, {"members": pa.large_list(pa.int8())}, UNREADABLE),
    (SUBSET, {"members": [1, None, 3]}, {"members": pa.list_(pa.int64())}, "nothing in some place"),
    (SUBSET, {"members": [1, 2, 20]}, {"members": pa.list_(pa.int64(), 3)}, "have a members outside 0..19"),
    (SUBSET, {"members": [3, 2, 1]}, {"members": pa.list_(pa.int64())}, "hold a block that no device can send"),
    (SUBSET, {"members": [-1, 2, 3]}, {"members": pa.large_list(pa.int64())}, "have a members outside 0..19"),
    (HASHING, {"alpha": 0.0}, {"alpha": pa.float64()}, "hold a block that no device can send"),
    (HASHING, {"alpha": None}, {"alpha": pa.float64()}, "hold neither a whole block nor a value in clear"),
    (HASHING, {"bucket": 3}, {"bucket": pa.int64()}, "have a bucket outside 0..2"),
    (HADAMARD, {"column": 32}, {"column": pa.int64()}, "have a column outside 0..31"),
    (HADAMARD, {"column": 1 << 40}, {"column": pa.int64()}, "have a column outside 0..31"),
]
GOOD: dict[BlockMechanism, dict[str, Any]] = {
    RR: {"symbol": 7},
    UNARY: {"bits": b"\x01\x02\x03"},
    SUBSET: {"members": [4, 5, 6]},
    HASHING: {"alpha": 5, "beta": 7, "bucket": 1},
    HADAMARD: {"column": 9},
}


@each("mechanism, row, kinds, told", BAD)
def test_bad_rows_are_refused_or_counted(
    mechanism: BlockMechanism, row: dict[str, Any], kinds: dict[str, pa.DataType], told: str, tmp_path: Path
) -> None:
    good, clear = {"clear": None, **GOOD[mechanism]}, {"clear": 25}
    types = {name: pa.infer_type([each for each in (good.get(name), 25) if each is not None][:1]) for name in good}
    fields = pa.schema([pa.field(name, {**types, **kinds}[name]) for name in good])
    rows = [good, clear, {**good, **row}, good, clear, {**good, **row}]
    path = saved(pa.Table.from_pylist([{**dict.fromkeys(good), **each} for each in rows], fields), tmp_path / "r.arrow")
    with notes():
        message = refused(DataError, lambda: tally(mechanism, Sources(path, trust_plan=True)))
        assert message.startswith(f"{path}: 2 of 6 reports ")
        assert told in message
        assert "first in row 2" in message
        refused(DataError, lambda: read_reports(Sources(path, trust_plan=True), mechanism))
        refused(DataError, lambda: tally(mechanism, Sources(path, trust_plan=True, bad_share=0.3)))
        found = tally(mechanism, Sources(path, trust_plan=True, bad_share=0.4))
    assert (found.tally.n, sum(found.left_out.values()), found.tally.clear.sum()) == (4, 2, 2)
    assert told in next(iter(found.left_out))


# Lines


@each("mechanism", [RR, UNARY, SUBSET, HASHING, HADAMARD])
def test_lines_are_read_as_devices_write_them(mechanism: Any, tmp_path: Path) -> None:
    """Other tools write what is not there as null, and numbers as floats; the plan alone may be the caller's word."""
    path, other = tmp_path / "r.jsonl.gz", tmp_path / "s.jsonl"
    write_reports(path, mechanism, reports_of(mechanism))
    pl.read_ndjson(path).write_ndjson(other)
    assert "null" in other.read_text()
    with notes():
        refused(DataError, lambda: tally(mechanism, Sources(other, trust_plan=True)))
    with gzip.open(path, "rt") as text:
        lines = [json.loads(line) for line in text]
    other.write_text("".join(json.dumps({k: v for k, v in line.items() if k != "plan"}) + "\n" for line in lines))
    assert "report.without-plan" in refused(DataError, lambda: tally(mechanism, other))
    with notes() as said:
        found = tally(mechanism, Sources(other, trust_plan=True))
    assert found.tally == mechanism.tally(reports_of(mechanism))
    assert [note[:40] for note in said] == ["1 of 1 files do not say which plan their"]
    with notes():
        assert read_reports(Sources(other, trust_plan=True), mechanism).n == 300
