"""Sums of long vectors over a cluster: tasks cut theirs into blocks, and each block is summed separately.

No machine ever holds more than a few blocks beside one whole vector, however many tasks there are. Whole numbers are
written in as few bytes as they need. A task that cannot go on yields why instead of its vector: raised, the reason
would only be tried again, and come back wrapped in the traces of two languages.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.arrays import AnyArray
from discreet.errors import DataError, DiscreetError, MismatchError

WIDTH = 1 << 16
"""Entries per block."""

SCHEMA = "block int, kind string, entries binary"
"""Of the rows that tasks yield: number of the block (-1: why the task gave up), type of its entries, entries."""

_ARROW = pa.schema({"block": pa.int32(), "kind": pa.string(), "entries": pa.binary()})
_FAILED = -1
REFUSALS: dict[str, type[DiscreetError]] = {kind.__name__: kind for kind in (DataError, MismatchError)}
"""Errors by name with which an executor refuses reports; all others are Spark's."""

# A result that is larger than this is fetched piece by piece.
_AT_ONCE = 1 << 26


def blocks_of(vector: AnyArray) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a vector of whole numbers >= 0, or of float64; blocks of zeros are left out."""
    for block, start in enumerate(range(0, len(vector), WIDTH)):
        part = vector[start : start + WIDTH]
        if part.any():
            if vector.dtype.kind != "f":
                part = part.astype(np.min_scalar_type(int(part.max())))
            part = part.astype(part.dtype.newbyteorder("<"), copy=False)
            yield _row(block, part.dtype.str, part.tobytes())


def refused(error: DiscreetError) -> pa.RecordBatch:
    """Return the row of a task that refuses its reports."""
    kind = type(error).__name__
    return _row(_FAILED, kind if kind in REFUSALS else DataError.__name__, str(error).encode())


def _row(block: int, kind: str, entries: bytes) -> pa.RecordBatch:
    arrays = [pa.array([entry], field.type) for entry, field in zip((block, kind, entries), _ARROW, strict=True)]
    return pa.record_batch(arrays, schema=_ARROW)


def sum_block(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Return the sum of the rows of one block."""
    total: Any = None
    for batch in batches:
        for row in batch.to_pylist():
            if row["block"] == _FAILED:
                yield _row(_FAILED, row["kind"], row["entries"])
                return
            entries = np.frombuffer(row["entries"], row["kind"])
            total = _Sum(entries.dtype, len(entries)) if total is None else total
            total.add(entries)
    yield from total.rows(row["block"])


class _Sum:
    """A sum of vectors in any order: exact for integers, to rounding for floats."""

    def __init__(self, kind: np.dtype[Any], length: int) -> None:
        self._exact = kind.kind != "f"
        self._total = np.zeros(length, np.int64 if self._exact else np.float64)
        self._lost = np.zeros(0 if self._exact else length)

    def add(self, entries: AnyArray) -> None:
        """Add a vector."""
        if self._exact:
            self._total += entries.astype(np.int64)
            return
        # What rounding takes from each sum is kept (Neumaier), so that the order of tasks leaves no trace.
        total = self._total + entries
        larger = np.abs(self._total) >= np.abs(entries)
        self._lost += np.where(larger, (self._total - total) + entries, (entries - total) + self._total)
        self._total = total

    def rows(self, block: int) -> Iterator[pa.RecordBatch]:
        """Yield the sum as a row."""
        entries = self._total if self._exact else self._total + self._lost
        entries = entries.astype(entries.dtype.newbyteorder("<"), copy=False)
        yield _row(block, entries.dtype.str, entries.tobytes())


def beside(vector: AnyArray, number: int, entries: AnyArray) -> pa.RecordBatch:
    """Return the row of some whole numbers beside a vector, which go with a number of their own."""
    return _row(_blocks_in(vector) + number, "<i8", entries.astype("<i8").tobytes())


def _blocks_in(vector: AnyArray) -> int:
    return -(-len(vector) // WIDTH)


def collected(parts: Any, vector: AnyArray, others: dict[int, AnyArray] | None = None) -> AnyArray:
    """Add the sum of all tasks' vectors to a vector, in place.

    Args:
        parts: a Spark frame of the rows that tasks yielded.
        vector: as long as theirs; int64 or float64.
        others: gets the sums of what tasks yielded `beside` their vectors, by number.

    Returns:
        The vector.

    Raises:
        DataError, MismatchError: what a task gave up for; if several did, the first in the alphabet.
    """
    sums = parts.groupBy("block").applyInArrow(sum_block, SCHEMA)
    failures = []
    for row in sums.collect() if vector.nbytes <= _AT_ONCE else sums.toLocalIterator(prefetchPartitions=True):
        if row.block == _FAILED:
            failures.append(REFUSALS[row.kind](bytes(row.entries).decode()))
        elif others is not None and row.block >= _blocks_in(vector):
            others[row.block - _blocks_in(vector)] = np.frombuffer(row.entries, row.kind)
        else:
            start = row.block * WIDTH
            vector[start : start + WIDTH] += np.frombuffer(row.entries, row.kind)
    if failures:
        raise failures[0]
    return vector
