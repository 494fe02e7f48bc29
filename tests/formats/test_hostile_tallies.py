"""Tallies that were edited by hand or damaged on the way."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet import Domain, HadamardResponse, RandomizedResponse, SeededRandom, UnaryEncoding
from discreet.errors import DataError, MismatchError
from discreet.formats.tallies import read_tally, write_tally
from packing import each
from refusals import refused

DOMAIN = Domain(range(6), sensitive=[0, 3, 4])
RR, UNARY = RandomizedResponse(DOMAIN, 1.0), UnaryEncoding(DOMAIN, 1.0)
CODES = np.repeat(np.arange(6), 15_000)
REPORTS = RR.obfuscate_codes(CODES, random=SeededRandom(4))
TALLY = RR.tally(REPORTS)
COUNTS = [*TALLY.support.tolist(), *TALLY.clear.tolist()]
N = len(CODES)


def edited(path: Path, counts: Any = COUNTS, type_: pa.DataType | None = None, **facts: Any) -> Path:
    write_tally(path, TALLY, force=True)
    old = pq.read_table(path)
    stamp = json.loads(old.schema.metadata[b"discreet"]) | facts
    column = pa.array(counts, type=type_ or pa.int64())
    table = pa.table({"count": column}).replace_schema_metadata({b"discreet": json.dumps(stamp).encode()})
    pq.write_table(table, path)
    return path


def test_nothing_edited_is_read(tmp_path: Path) -> None:
    assert read_tally(edited(tmp_path / "t.parquet"), RR) == TALLY


@each("place", range(6))
@each("count", [-1, N + 1, 1 << 62, -(1 << 63)])
def test_counts_that_cannot_be(place: int, count: int, tmp_path: Path) -> None:
    counts = [*COUNTS[:place], count, *COUNTS[place + 1 :]]
    path = edited(tmp_path / "t.parquet", counts)
    message = refused(DataError, lambda: read_tally(path, RR), *COUNTS)
    assert "[tally." in message
    assert str(count) not in message.removeprefix(str(path))


@pytest.mark.parametrize("name", ["Count", "note"])
def test_other_columns(name: str, tmp_path: Path) -> None:
    path = edited(tmp_path / "t.parquet")
    table = pq.read_table(path)
    pq.write_table(table.rename_columns([name]), path)
    refused(DataError, lambda: read_tally(path, RR))
    pq.write_table(table.append_column(name, table["count"]), path)
    refused(DataError, lambda: read_tally(path, RR))


@pytest.mark.parametrize("n", [TALLY.clear_total + int(TALLY.support.max()) - 1, N - 1, N + 1, 10**400], ids=range(4))
def test_numbers_of_reports_that_do_not_add_up(n: int, tmp_path: Path) -> None:
    path = edited(tmp_path / "t.parquet", n=n)
    refused(DataError, lambda: read_tally(path, RR))


def test_counts_in_clear_that_wrap_around(tmp_path: Path) -> None:
    huge = (1 << 62) + (1 << 61)
    path = edited(tmp_path / "t.parquet", [0, 0, 0, huge, huge, 0], n=huge)
    refused(DataError, lambda: read_tally(path, RR))


@pytest.mark.parametrize(
    "facts",
    [{"support": 2}, {"support": 6}, {"support": None}, {"kind": "reports"}, {"format": 2}, {"plan": None}, {"n": {}}],
    ids=str,
)
def test_other_facts(facts: dict[str, Any], tmp_path: Path) -> None:
    path = edited(tmp_path / "t.parquet", **facts)
    refused(DataError, lambda: read_tally(path, RR))


def test_other_plans_with_as_many_counts(tmp_path: Path) -> None:
    path = edited(tmp_path / "t.parquet")
    for other in (UNARY, HadamardResponse(DOMAIN, 1.0), RandomizedResponse(DOMAIN, 1.5)):
        refused(MismatchError, lambda other=other: read_tally(path, other))
    refused(MismatchError, lambda: read_tally(edited(path, plan="0" * 32), RR))


MONDAY = ["monday", N]
BATCHES = [None, 7, [7], [[]], [MONDAY, MONDAY], [["monday"]], [["monday", "9"]], [["monday", 0]], [["monday", N + 1]]]


@each("batches", [*BATCHES, [["monday", N, N - 1]], [["alice in wonderland ", N]]])
def test_batches_that_cannot_be(batches: Any, tmp_path: Path) -> None:
    path = edited(tmp_path / "t.parquet", batches=batches)
    said = refused(DataError, lambda: read_tally(path, RR), "alice")
    assert "tally.wrong-batches" in said or "batches.too-many-reports" in said
