"""What no device can have sent is refused or left out in every form, by count and place, and never quoted."""

import base64
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet import (
    Domain,
    HadamardResponse,
    LocalHashing,
    RandomizedResponse,
    Sources,
    SubsetSelection,
    UnaryEncoding,
    read_reports,
)
from discreet.engines import tally
from discreet.errors import DataError, MismatchError
from discreet.mechanisms import BlockMechanism, report_tables
from discreet.mechanisms.row_checks import UNREADABLE
from packing import each
from refusals import refused

pytestmark = pytest.mark.filterwarnings("ignore::discreet.errors.SourceWarning")
DOMAIN = Domain(range(100_000), sensitive=list(range(86_000, 86_300)))
CLEAR, SENSITIVE = 47_119, 86_217
BITS = bytes(37) + b"\x01"
SECRETS = [CLEAR, SENSITIVE, 65_001, 4_000_000_007]

MECHANISMS: dict[str, BlockMechanism] = {
    "rr": RandomizedResponse(DOMAIN, 1.0),
    "unary": UnaryEncoding(DOMAIN, 1.0),
    "clear-bits": UnaryEncoding(DOMAIN, 1.0, clear_bits=True),
    "subset": SubsetSelection(DOMAIN, 1.0, k=3),
    "hashing": LocalHashing(DOMAIN, 1.0, g=1009),
    "hadamard": HadamardResponse(DOMAIN, 1.0),
}
GOOD: dict[str, dict[str, Any]] = {
    "rr": {"symbol": 271},
    "unary": {"bits": BITS},
    "clear-bits": {"bits": BITS},
    "subset": {"members": [131, 207, 271]},
    "hashing": {"alpha": 911, "beta": 607, "bucket": 811},
    "hadamard": {"column": 389},
}
# P = 1009 is the least prime that is not below 300 and 1009.
BAD: list[tuple[str, dict[str, Any], str]] = [
    ("rr", {"symbol": 300}, "have a symbol outside 0..299"),
    ("rr", {"symbol": 65_001}, "have a symbol outside 0..299"),
    ("unary", {"bits": bytes(37) + b"\x10"}, "have a block that no device can send"),
    ("unary", {"bits": bytes(37) + b"\x80"}, "have a block that no device can send"),
    ("clear-bits", {"bits": bytes(37) + b"\x80"}, "have a block that no device can send"),
    ("clear-bits", {"clear": CLEAR, "bits": bytes(37) + b"\x80"}, "have a block that no device can send"),
    ("clear-bits", {"clear": CLEAR}, "have no block"),
    ("clear-bits", {}, "have no block"),
    ("subset", {"members": [131, 207, 300]}, "have a members outside 0..299"),
    ("subset", {"members": [131, 207, 65_001]}, "have a members outside 0..299"),
    ("subset", {"members": [207, 131, 271]}, "have a block that no device can send"),
    ("subset", {"members": [131, 207, 207]}, "have a block that no device can send"),
    ("hashing", {"alpha": 0, "beta": 607, "bucket": 811}, "have a block that no device can send"),
    ("hashing", {"alpha": 1009, "beta": 607, "bucket": 811}, "have a alpha outside 0..1008"),
    ("hashing", {"alpha": 911, "beta": 1009, "bucket": 811}, "have a beta outside 0..1008"),
    ("hashing", {"alpha": 911, "beta": 607, "bucket": 1009}, "have a bucket outside 0..1008"),
    ("hashing", {"alpha": 911, "beta": 4_000_000_007, "bucket": 811}, "have a beta outside 0..1008"),
    ("hashing", {"alpha": 911, "bucket": 811}, "have neither a whole block nor a value in clear"),
    ("hashing", {"beta": 607, "bucket": 811}, "have neither a whole block nor a value in clear"),
    ("hashing", {"clear": CLEAR, "beta": 607}, "have both a block and a value in clear"),
    ("hadamard", {"column": 512}, "have a column outside 0..511"),
    *[
        row
        for name in ("rr", "unary", "subset", "hashing", "hadamard")
        for row in (
            (name, {"clear": SENSITIVE}, "have a sensitive value in clear"),
            (name, {"clear": 100_000}, "have a clear outside 0..99999"),
            (name, {"clear": 4_000_000_007}, "have a clear outside 0..99999"),
            (name, {}, "have neither a whole block nor a value in clear"),
            (name, {"clear": CLEAR, **GOOD[name]}, "have both a block and a value in clear"),
        )
    ],
    ("clear-bits", {"clear": SENSITIVE, "bits": BITS}, "have a sensitive value in clear"),
]
NO_LIST = "have a list of members with a missing entry"
# Of tables without a stamp, in types of their writers.
UNTYPED: list[tuple[str, dict[str, Any], str]] = [
    ("rr", {"symbol": -1}, "have a symbol outside 0..299"),
    ("rr", {"symbol": 300.0}, "have a symbol outside 0..299"),
    ("rr", {"clear": float(SENSITIVE)}, "have a sensitive value in clear"),
    ("unary", {"bits": b""}, UNREADABLE),
    ("unary", {"bits": bytes(37)}, UNREADABLE),
    ("unary", {"bits": bytes(39)}, UNREADABLE),
    ("subset", {"members": []}, UNREADABLE),
    ("subset", {"members": [131, 207]}, UNREADABLE),
    ("subset", {"members": [-1, 131, 207]}, "have a members outside 0..299"),
    ("subset", {"members": [131, None, 271]}, NO_LIST),
    ("hadamard", {"column": 1 << 40}, "have a column outside 0..511"),
]
FORMS = ("parquet", "arrow", "jsonl", "bare.parquet", "bare.arrow")
TRIED = [(form, *one) for form in FORMS for one in BAD] + [(form, *one) for form in FORMS[3:] for one in UNTYPED]


def clear_row(name: str) -> dict[str, Any]:
    return {"clear": CLEAR, **(GOOD[name] if name == "clear-bits" else {})}


def save(path: Path, mechanism: BlockMechanism, rows: list[dict[str, Any]]) -> Sources:
    """Write rows as any other program would, with a stamp or on the caller's word."""
    schema, bare = report_tables.schema_of(mechanism), "bare" in path.name
    if path.suffix == ".jsonl":
        path.write_text("".join(line(mechanism, row) + "\n" for row in rows), encoding="utf-8")
        return Sources(path)
    if bare:
        rows = [dict.fromkeys(schema.names) | row for row in rows]
    table = pa.Table.from_pylist(rows, schema=None if bare else schema)
    if path.suffix == ".parquet":
        pq.write_table(table, path)
    else:
        with pa.ipc.new_file(str(path), table.schema) as file:
            file.write_table(table)
    return Sources(path, trust_plan=bare)


def line(mechanism: BlockMechanism, row: dict[str, Any]) -> str:
    spelled = {name: base64.b64encode(part).decode() if isinstance(part, bytes) else part for name, part in row.items()}
    return json.dumps({"plan": mechanism.fingerprint, **spelled})


@each("form", FORMS)
@each("name", MECHANISMS)
def test_what_the_bad_rows_are_made_of_is_good(name: str, form: str, tmp_path: Path) -> None:
    mechanism, rows = MECHANISMS[name], [GOOD[name], clear_row(name), GOOD[name]]
    found = read_reports(save(tmp_path / f"r.{form}", mechanism, rows), mechanism)
    assert found.n == 3
    assert found.clear.tolist() == [CLEAR]


@each("form, name, row, told", TRIED)
def test_bad_rows_are_refused_or_left_out(form: str, name: str, row: dict[str, Any], told: str, tmp_path: Path) -> None:
    mechanism, good, path = MECHANISMS[name], [GOOD[name], clear_row(name)], tmp_path / f"r.{form}"
    source = save(path, mechanism, [*good, row, *good, row, row])
    for read in (lambda: read_reports(source, mechanism), lambda: tally(mechanism, source)):
        message = refused(DataError, read, *SECRETS)
        assert (
            message == f"{path}: 3 of 7 reports {told} (first in row 2). Leave these reports out. [reports.flawed-rows]"
        )
    found = tally(mechanism, replace(source, bad_share=0.43))
    assert (found.tally.n, found.left_out, found.tally.clear.sum()) == (4, {told: 3}, 2)
    few = replace(source, bad_share=0.42)
    assert "bad-share.exceeded" in refused(DataError, lambda: tally(mechanism, few), *SECRETS)


@each("form", FORMS)
@each("name", MECHANISMS)
def test_bad_rows_among_good_ones_are_counted_by_reason(name: str, form: str, tmp_path: Path) -> None:
    """In any order, each row for its first flaw; the good rows stay as they are."""
    bad = [(row, told) for of, row, told in [*BAD, *(UNTYPED if "bare" in form else [])] if of == name]
    rows = [row for times, (row, _) in enumerate(bad, start=1) for row in [row] * times]
    order = np.random.default_rng(1).permutation(len(rows) + 60)
    mixed = [[*rows, *([GOOD[name], clear_row(name)] * 30)][place] for place in order]
    expected = Counter[str]()
    for times, (_, told) in enumerate(bad, start=1):
        expected[told] += times
    source = replace(save(tmp_path / f"r.{form}", MECHANISMS[name], mixed), bad_share=0.9)
    found = tally(MECHANISMS[name], source)
    assert (found.left_out, found.rows) == (dict(expected), len(mixed))
    kept = save(tmp_path / f"kept.{form}", MECHANISMS[name], [GOOD[name], clear_row(name)] * 30)
    assert found.tally == tally(MECHANISMS[name], kept).tally


@each("form", FORMS[:3])
@pytest.mark.parametrize("name", MECHANISMS)
def test_reports_of_another_plan(name: str, form: str, tmp_path: Path) -> None:
    """The same columns under another epsilon are strangers all the same."""
    mechanism = MECHANISMS[name]
    other = type(mechanism)(DOMAIN, 1.5, **({"k": 3} if name == "subset" else {"g": 1009} if name == "hashing" else {}))
    source = save(tmp_path / f"r.{form}", other, [{**clear_row(name), **GOOD[name]}])
    assert mechanism.fingerprint[:12] in refused(MismatchError, lambda: read_reports(source, mechanism), CLEAR)


# Tables that are not as they should be


def table_of(mechanism: BlockMechanism) -> pa.Table:
    name = next(name for name, each in MECHANISMS.items() if each is mechanism)
    return pa.Table.from_pylist([GOOD[name], clear_row(name)], schema=report_tables.schema_of(mechanism))


def retyped(table: pa.Table, name: str, kind: pa.DataType) -> pa.Table:
    fields = [pa.field(f.name, kind if f.name == name else f.type) for f in table.schema]
    columns = [table[f.name].cast(kind) if f.name == name else table[f.name] for f in table.schema]
    return pa.Table.from_arrays(columns, schema=pa.schema(fields, metadata=table.schema.metadata))


def changed(table: pa.Table, name: str, entries: list[Any], kind: pa.DataType) -> pa.Table:
    columns = {**{each: table[each] for each in table.column_names}, name: pa.array(entries, kind)}
    return pa.table(columns).replace_schema_metadata(table.schema.metadata)


def stamped(table: pa.Table, **facts: Any) -> pa.Table:
    old = json.loads(table.schema.metadata[b"discreet"])
    return table.replace_schema_metadata({b"discreet": json.dumps({**old, **facts}).encode()})


CHANGES: dict[str, tuple[str, Callable[[pa.Table], pa.Table]]] = {
    "missing block": ("rr", lambda table: table.drop_columns(["symbol"])),
    "missing clear": ("rr", lambda table: table.drop_columns(["clear"])),
    "missing one of three": ("hashing", lambda table: table.drop_columns(["beta"])),
    "twice": ("rr", lambda table: table.append_column("symbol", table["symbol"])),
    "renamed": ("rr", lambda table: table.rename_columns(["clear", "Symbol"])),
    "negative": ("rr", lambda table: changed(table, "symbol", [-1, None], pa.int16())),
    "too large": ("rr", lambda table: changed(table, "symbol", [1 << 40, None], pa.uint64())),
    "float": ("rr", lambda table: changed(table, "symbol", [131.5, None], pa.float64())),
    "short float": ("rr", lambda table: retyped(table, "symbol", pa.float32())),
    "text": ("rr", lambda table: retyped(table, "clear", pa.string())),
    "longer bits": ("unary", lambda table: table.set_column(1, "bits", pa.array([bytes(39), None], pa.binary(39)))),
    "short bits": ("unary", lambda table: changed(table, "bits", [bytes(37), None], pa.binary())),
    "longer list": (
        "subset",
        lambda table: table.set_column(1, "members", pa.array([[1, 2, 3, 4], None], pa.list_(pa.uint16(), 4))),
    ),
    "short list": ("subset", lambda table: changed(table, "members", [[131, 271], None], pa.list_(pa.int64()))),
    "list of floats": ("subset", lambda table: changed(table, "members", [[1.5, 2, 3], None], pa.list_(pa.float64()))),
    "list of short floats": (
        "subset",
        lambda table: changed(table, "members", [[1, 2, 3], None], pa.list_(pa.float32())),
    ),
    "no stamp": ("rr", lambda table: table.replace_schema_metadata({})),
    "no JSON": ("rr", lambda table: table.replace_schema_metadata({b"discreet": b"{"})),
    "no UTF-8": ("rr", lambda table: table.replace_schema_metadata({b"discreet": b"\xff\xfe"})),
    "no object": ("rr", lambda table: table.replace_schema_metadata({b"discreet": b"[1]"})),
    "deep": ("rr", lambda table: table.replace_schema_metadata({b"discreet": b"[" * 100_000})),
    "a tally": ("rr", lambda table: stamped(table, kind="tally")),
    "next format": ("rr", lambda table: stamped(table, format=2)),
    "no plan": ("rr", lambda table: stamped(table, plan=None)),
    "a plan that is none": ("rr", lambda table: stamped(table, plan=f"a\n{SENSITIVE}")),
}


@each("suffix", ["parquet", "arrow"])
@each("change", CHANGES)
def test_changed_tables(change: str, suffix: str, tmp_path: Path) -> None:
    name, alter = CHANGES[change]
    mechanism, path = MECHANISMS[name], tmp_path / f"r.{suffix}"
    table = alter(table_of(mechanism))
    if suffix == "parquet":
        pq.write_table(table, path)
    else:
        with pa.ipc.new_file(str(path), table.schema) as file:
            file.write_table(table)
    refused(DataError, lambda: read_reports(path, mechanism), CLEAR, SENSITIVE)


def test_holes_inside_a_list_of_members() -> None:
    mechanism = MECHANISMS["subset"]
    kind = report_tables.schema_of(mechanism).field("members").type
    holed = pa.FixedSizeListArray.from_arrays(pa.array([131, None, 271], pa.uint16()), type=kind)
    columns = [pa.array([None], pa.uint32()), holed]
    table = pa.Table.from_arrays(columns, schema=report_tables.schema_of(mechanism))
    refused(DataError, lambda: report_tables.reports_from_table(mechanism, table), 131, 271)


def test_sliced_and_chunked_tables_are_read_where_they_start() -> None:
    for name, mechanism in MECHANISMS.items():
        rows = [clear_row(name), GOOD[name], clear_row(name), GOOD[name], GOOD[name]]
        table = pa.Table.from_pylist(rows, schema=report_tables.schema_of(mechanism))
        whole, beside = (
            report_tables.reports_from_table(mechanism, table),
            report_tables.reports_from_table(mechanism, table.slice(1, 3)),
        )
        assert mechanism.tally(beside) == mechanism.tally(whole.part(1, 4))
        chunked = pa.concat_tables([table.slice(1, 2), table.slice(0, 0), table.slice(3, 2)])
        assert mechanism.tally(report_tables.reports_from_table(mechanism, chunked)) == mechanism.tally(
            whole.part(1, 5)
        )
