"""The sealed folder as it is, read by `discreet estimate` and by Arrow: every report once, and nothing else."""

import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from sealed_folders import EPOCHS, N, Sealed, sealed_of

from discreet import estimate
from discreet.engines import LocalEngine, tally
from discreet.errors import DataError
from discreet.mechanisms.report_tables import to_arrow
from discreet.results.estimate import estimate_facts
from json_rows import columns

plans = pytest.mark.parametrize("plan", ["rr", "hashing", "unary-clear-bits"])


@plans
def test_discreet_estimate_reads_it(tmp_path: Path, plan: str) -> None:
    sealed = sealed_of(tmp_path, plan)
    expected = estimate_facts(estimate(sealed.mechanism, sealed.tally, method="linear"))
    said = sealed.estimated()
    assert said["n"] == EPOCHS * N
    assert {name: said[name] for name in expected} == expected
    reports, left_out = LocalEngine().evidence(sealed.mechanism, sealed.place)
    assert left_out == {}
    found = estimate(sealed.mechanism, reports, method="mle")
    assert columns(sealed.estimated("mle"))["frequency"] == found.frequencies.tolist()


def test_names_with_an_underscore_are_passed_over(tmp_path: Path) -> None:
    """The tallies beside the reports would count them twice, which is refused."""
    sealed = sealed_of(tmp_path, "rr")
    assert sealed.estimated()["n"] == EPOCHS * N
    shutil.copytree(sealed.place / "_tallies", sealed.place / "tallies")
    with pytest.raises(DataError, match=r"batch.read-twice"):
        tally(sealed.mechanism, sealed.place)
    # A tally of every epoch, and nothing else: the batches are those of the files.
    counted = tally(sealed.mechanism, sealed.place / "tallies").tally
    assert (len(counted.batches), counted.unnamed) == (EPOCHS, 0)
    (sealed.place / "tallies").rename(tmp_path / "tallies")
    assert tally(sealed.mechanism, sealed.place).tally.batches == counted.batches


@plans
def test_a_plain_reader_reads_it(tmp_path: Path, plan: str) -> None:
    """Each report as often as it was sent: to read all files of the folder by Arrow alone finds nothing else."""
    sealed = sealed_of(tmp_path, plan)
    files = [pq.read_table(path) for path in sorted(sealed.place.glob("*.parquet"))]
    assert len(files) == EPOCHS
    assert Counter(plainly(row.values()) for file in files for row in file.to_pylist()) == sent(sealed)


def sent(sealed: Sealed) -> Counter[Any]:
    """Return how often each report was sent."""
    columns = to_arrow(sealed.mechanism, sealed.sent).to_pydict().values()
    return Counter(plainly(row) for row in zip(*columns, strict=True))


def plainly(row: Any) -> tuple[Any, ...]:
    """Return a row that can be compared and counted: lists of one length come as tuples."""
    return tuple(tuple(entry) if isinstance(entry, list | tuple) else entry for entry in row)
