"""Vectors cut into blocks and summed: the sum of the vectors, in whatever order they come."""

from collections.abc import Iterator
from math import fsum
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import DataError, MismatchError, ParameterError
from discreet.spark import running

LENGTH = 3 * running.WIDTH + 5


class Rows:
    """Stands for a frame: groups rows by block and applies a function to each group, in one process."""

    def __init__(self, batches: Any) -> None:
        self.batches = list(batches)

    def groupBy(self, name: str) -> "Rows":  # noqa: N802
        assert name == "block"
        return self

    def applyInArrow(self, function: Any, schema: str) -> "Rows":  # noqa: N802
        assert schema == running.SCHEMA
        blocks = sorted({batch["block"][0].as_py() for batch in self.batches})
        groups = ([one for one in self.batches if one["block"][0].as_py() == block] for block in blocks)
        return Rows(row for group in groups for row in function(iter(group)))

    def collect(self) -> list[Any]:
        return [_Row(**row) for batch in self.batches for row in batch.to_pylist()]

    def toLocalIterator(self, prefetchPartitions: bool) -> Iterator[Any]:  # noqa: N802
        assert prefetchPartitions
        return iter(self.collect())


class _Row:
    def __init__(self, block: int, kind: str, entries: bytes) -> None:
        self.block, self.kind, self.entries = block, kind, bytearray(entries)


@given(st.lists(st.tuples(st.integers(0, LENGTH - 1), st.integers(1, 1 << 60)), max_size=12), st.randoms())
def test_whole_numbers_add_up(entries: list[tuple[int, int]], order: Any) -> None:
    expected, batches = np.zeros(LENGTH, np.int64), []
    for place, count in entries:
        vector = np.zeros(LENGTH, np.int64)
        vector[place] = count >> len(entries).bit_length()
        expected += vector
        batches += list(running.blocks_of(vector))
    order.shuffle(batches)
    assert np.array_equal(running.collected(Rows(batches), np.zeros(LENGTH, np.int64)), expected)


def test_rows_are_as_narrow_as_their_largest_entry() -> None:
    vector = np.zeros(LENGTH, np.int64)
    vector[[0, running.WIDTH, 2 * running.WIDTH]] = 255, 256, 1 << 40
    rows = [row for batch in running.blocks_of(vector) for row in batch.to_pylist()]
    assert [row["block"] for row in rows] == [0, 1, 2]
    assert [len(row["entries"]) // running.WIDTH for row in rows] == [1, 2, 8]
    assert list(running.blocks_of(np.zeros(LENGTH, np.int64))) == []


@given(st.lists(st.floats(-1e12, 1e12), min_size=1, max_size=20), st.randoms())
def test_floats_add_up_in_any_order(numbers: list[float], order: Any) -> None:
    parts = [number * 10.0**place for place, number in enumerate(numbers)]
    batches = [batch for part in parts for batch in running.blocks_of(np.array([part, -part / 3]))]
    order.shuffle(batches)
    found = running.collected(Rows(batches), np.zeros(2))
    exact = fsum(parts), fsum(-part / 3 for part in parts)
    assert found == pytest.approx(exact, rel=1e-15, abs=1e-25 * max(map(abs, parts)))


def test_what_a_task_gave_up_for_is_raised() -> None:
    some = list(running.blocks_of(np.ones(5, np.int64)))
    for error in (DataError("no file."), MismatchError("strangers.")):
        with pytest.raises(type(error), match=str(error)):
            running.collected(Rows([*some, running.refused(error)]), np.zeros(5, np.int64))
    # Kinds that are not meant for data come back as what is wrong with the data.
    with pytest.raises(DataError, match="odd"):
        running.collected(Rows([running.refused(ParameterError("odd."))]), np.zeros(5, np.int64))


def test_long_vectors_come_piece_by_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "_AT_ONCE", 0)
    vector = np.arange(LENGTH)
    assert np.array_equal(running.collected(Rows(running.blocks_of(vector)), np.zeros(LENGTH, np.int64)), vector)
    assert isinstance(next(running.blocks_of(vector)), pa.RecordBatch)
