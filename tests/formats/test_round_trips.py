"""Reports and tallies survive every format, whatever is in a batch."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet import (
    Channel,
    Domain,
    HadamardResponse,
    LocalHashing,
    RandomizedResponse,
    Reports,
    SeededRandom,
    SubsetSelection,
    UnaryEncoding,
    read_reports,
    write_reports,
)
from discreet.errors import DataError
from discreet.formats import json_reports
from discreet.formats.tallies import read_tally, write_tally
from discreet.mechanisms import Mechanism, report_tables
from laws import cases
from packing import each

SHAPES = {"3of7": (7, [0, 4, 6]), "5of5": (5, None)}
formats = each("suffix", ["parquet", "arrow", "jsonl"])


def assert_same(found: Reports, wanted: Reports) -> None:
    assert (found.fingerprint, found.n, found.simulated) == (wanted.fingerprint, wanted.n, wanted.simulated)
    assert (found.in_clear is None) == (wanted.in_clear is None)
    if wanted.in_clear is not None:
        np.testing.assert_array_equal(found.in_clear, wanted.in_clear, strict=True)
    np.testing.assert_array_equal(found.clear, wanted.clear, strict=True)
    assert list(found.blocks) == list(wanted.blocks)
    for name, column in wanted.blocks.items():
        np.testing.assert_array_equal(found.blocks[name], column, strict=True)


def made(mechanism: Mechanism, n: int, *, seed: int | None = 3) -> Reports:
    random = None if seed is None else SeededRandom(seed)
    return mechanism.obfuscate_codes(np.arange(n) % mechanism.domain.size, random=random)


def only(reports: Reports, in_clear: bool) -> Reports:
    told = np.zeros(reports.n, dtype=np.bool_) if reports.in_clear is None else reports.in_clear
    rows = np.flatnonzero(told == in_clear)
    return Reports.concatenate([reports.part(0, 0), *(reports.part(row, row + 1) for row in rows)])


OPEN = Domain(range(300), sensitive=[], allow_unprotected=True)
BUILDS = (RandomizedResponse, UnaryEncoding, SubsetSelection, LocalHashing, HadamardResponse)
CHANNEL = Channel([[0.5, 0.25, 0.25, 0], [0.125, 0.5, 0.375, 0]])
EVERY: list[Any] = [CHANNEL, *(build(OPEN, 1.0) for build in BUILDS)]
EVERY += [case.mechanism for case in cases(SHAPES, (1.0,))]


@formats
@each("mechanism", EVERY)
def test_batches_of_every_kind_come_back_alone_and_as_one(mechanism: Any, suffix: str, tmp_path: Path) -> None:
    """Full, empty, only in clear, only blocks."""
    path, whole = tmp_path / f"reports.{suffix}", replace(made(mechanism, 120), batches=())
    parts = [whole.part(0, 50), only(whole, in_clear=True), whole.part(9, 9), only(whole, in_clear=False)]
    assert write_reports(path, mechanism, iter(parts)) == sum(part.n for part in parts)
    assert_same(read_reports(path, mechanism), Reports.concatenate(parts))
    for part in parts:
        write_reports(path, mechanism, part, force=True)
        found = read_reports(path, mechanism)
        assert found.n == part.n
        if part.n:
            assert_same(found, replace(part, batches=found.batches))


def test_the_same_reports_are_the_same_compressed_file(tmp_path: Path) -> None:
    mechanism = RandomizedResponse(Domain(range(9)), 1.0)
    for name in ("a.jsonl.gz", "b.jsonl.gz"):
        write_reports(tmp_path / name, mechanism, made(mechanism, 50))
    assert (tmp_path / "a.jsonl.gz").read_bytes() == (tmp_path / "b.jsonl.gz").read_bytes()


@formats
@pytest.mark.parametrize("seed", [None, 5])
def test_the_mark_of_simulation_survives(suffix: str, seed: int | None, tmp_path: Path) -> None:
    mechanism, path = UnaryEncoding(Domain(range(5), sensitive=[2]), 1.0), tmp_path / f"reports.{suffix}"
    write_reports(path, mechanism, made(mechanism, 10, seed=seed))
    found = read_reports(path, mechanism)
    assert found.simulated == (seed is not None)
    write_tally(tmp_path / "t.parquet", mechanism.tally(found))
    assert read_tally(tmp_path / "t.parquet", mechanism).simulated == (seed is not None)


def mixed(mechanism: Mechanism) -> Iterator[Reports]:
    yield made(mechanism, 10, seed=None)
    yield made(mechanism, 10, seed=5)


@pytest.mark.parametrize("suffix", ["parquet", "arrow", "jsonl"])
def test_real_and_simulated_batches_do_not_share_a_file(suffix: str, tmp_path: Path) -> None:
    """Seeded reports protect nobody: one mark stands for a whole file."""
    mechanism, path = UnaryEncoding(Domain(range(5), sensitive=[2]), 1.0), tmp_path / f"reports.{suffix}"
    with pytest.raises(DataError, match=r"reports.mixed"):
        write_reports(path, mechanism, mixed(mechanism))
    assert not path.exists()


# Tallies


@each("mechanism", EVERY)
@each("n", [0, 500])
def test_tallies_come_back(mechanism: Any, n: int, tmp_path: Path) -> None:
    path, tally = tmp_path / "some.tally.parquet", mechanism.tally(made(mechanism, n))
    write_tally(path, tally)
    found = read_tally(path, mechanism)
    assert found == tally
    assert found.support.dtype == found.clear.dtype == np.int64


# What is on the wire


def test_a_report_is_never_as_long_as_the_domain(tmp_path: Path) -> None:
    """uRAP: ceil(v / 8) bytes and one nullable code, whatever |X| is."""
    domain = Domain(range(70_000), sensitive=list(range(500, 513)))
    mechanism, path = UnaryEncoding(domain, 1.0), tmp_path / "reports.parquet"
    wanted = pa.schema([("clear", pa.uint32()), ("bits", pa.binary(2))])
    assert report_tables.schema_of(mechanism) == wanted
    write_reports(path, mechanism, made(mechanism, 5000))
    assert pq.read_schema(path) == wanted
    # Four bytes or two, and a bit for each of the two columns, in buffers that are rounded up.
    assert report_tables.to_arrow(mechanism, made(mechanism, 5000)).nbytes <= 5000 * (4 + 2 + 0.25) + 64
    assert path.stat().st_size < 5000 * 6 + 4096


def test_a_clear_value_may_come_with_noise_bits_where_the_plan_says_so() -> None:
    mechanism = UnaryEncoding(Domain(range(4), sensitive=[0, 1]), 1.0, clear_bits=True)
    line = json.dumps({"plan": mechanism.fingerprint, "clear": 3, "bits": "Aw=="})
    tally = mechanism.tally(json_reports.from_json(mechanism, [line]))
    assert (tally.support.tolist(), tally.clear.tolist()) == ([1, 1], [0, 1])
