"""Reports in canonical order: sorted by their content, so that nothing shows the order of their arrival.

The order compares the columns of a file of reports, nulls first, as ``ORDER BY clear NULLS FIRST, symbol`` in SQL.
Sorting needs no randomness, and every reader of the file can check it (`sealed_files.py`). Rows are compared as strings
of bytes, starting with the first byte. Rows that do not fit into memory are written as sorted runs to temporary files
without names, which the system deletes when the process ends.
"""

import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Self

import numpy as np

from discreet.arrays import AnyArray
from discreet.core.reports import Reports, check_same_plan
from discreet.errors import DataError
from discreet.formats.records import RecordCodec
from discreet.kernels.row_order import sorted_rows
from discreet.mechanisms import Mechanism

LEAST_ROWS, LEAST_BLOCK = 1 << 10, 1 << 6


@dataclass(frozen=True, slots=True, eq=False)
class _Run:
    """A sorted run of rows, in memory or in a temporary file."""

    rows: int
    width: int
    kept: AnyArray | None = None
    file: IO[bytes] | None = None

    def read(self, start: int, stop: int) -> AnyArray:
        stop = min(stop, self.rows)
        if self.file is None:
            records = np.empty((0, self.width), np.uint8) if self.kept is None else self.kept
            return records[start:stop]
        data = os.pread(self.file.fileno(), (stop - start) * self.width, start * self.width)
        return np.frombuffer(data, dtype=np.uint8).reshape(-1, self.width)


class RowSort:
    """Sorts rows of bytes: `add` takes them in any order, `batches` yields them in ascending order.

    Args:
        width: the bytes of a row, at least 1.
        memory: the approximate largest number of bytes in memory.
        folder: the folder for runs that do not fit into memory; None for the system's folder for temporary files.

    Attributes:
        taken: the number of rows added.

    Example:
        >>> import numpy as np
        >>> with RowSort(2) as rows:
        ...     rows.add(np.array([[2, 0], [1, 9], [1, 3]], dtype=np.uint8))
        ...     [batch.tolist() for batch in rows.batches()]
        [[[1, 3], [1, 9], [2, 0]]]
    """

    def __init__(self, width: int, *, memory: int = 1 << 28, folder: Path | None = None) -> None:
        self._width, self._folder = width, folder
        self._memory = memory
        self._run_rows = max(memory // (8 * width), LEAST_ROWS)
        self._loose: list[AnyArray] = []
        self._loose_rows = self._kept_bytes = self.taken = 0
        self.runs: list[_Run] = []
        self._files = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._files.close()

    def add(self, rows: AnyArray) -> None:
        """Add ``(n, width)`` rows."""
        self.taken += len(rows)
        for start in range(0, len(rows), self._run_rows):
            part = rows[start : start + self._run_rows]
            self._loose.append(part.copy())
            self._loose_rows += len(part)
            if self._loose_rows >= self._run_rows:
                self._end_run()

    def _end_run(self) -> None:
        if not self._loose_rows:
            return
        rows = sorted_rows(np.concatenate(self._loose))
        self._loose, self._loose_rows = [], 0
        if self._kept_bytes + rows.nbytes <= self._memory // 2:
            self._kept_bytes += rows.nbytes
            self.runs.append(_Run(len(rows), self._width, kept=rows))
            return
        # The file stays open until the sorter is closed.
        file = self._files.enter_context(tempfile.TemporaryFile(dir=self._folder))  # noqa: SIM115
        file.write(rows.tobytes())
        file.flush()
        self.runs.append(_Run(len(rows), self._width, file=file))

    def batches(self) -> Iterator[AnyArray]:
        """Yield all rows in ascending order, in batches of ``(m, width)``. It can be called once."""
        self._end_run()
        if len(self.runs) == 1:
            for start in range(0, self.runs[0].rows, self._run_rows):
                yield self.runs[0].read(start, start + self._run_rows)
            return
        block = self._memory // (8 * self._width * max(len(self.runs), 1))
        yield from _merged(self.runs, max(block, LEAST_BLOCK))


def _merged(runs: Sequence[_Run], size: int) -> Iterator[AnyArray]:
    """Merge sorted runs, and yield their rows in ascending order, block by block."""
    blocks, places = [run.read(0, 0) for run in runs], [0] * len(runs)
    while True:
        for at, run in enumerate(runs):
            if not len(blocks[at]):
                blocks[at] = run.read(places[at], places[at] + size)
                places[at] += len(blocks[at])
        ends = [block[-1].tobytes() for block in blocks if len(block)]
        if not ends:
            return
        counts = [_up_to(block, min(ends)) for block in blocks]
        yield sorted_rows(np.concatenate([block[:count] for block, count in zip(blocks, counts, strict=True)]))
        blocks = [block[count:] for block, count in zip(blocks, counts, strict=True)]


def _up_to(block: AnyArray, row: bytes) -> int:
    """Return the number of rows in a sorted block that are not greater than `row`."""
    if not len(block):
        return 0
    texts = np.ascontiguousarray(block).view(f"S{block.shape[1]}").ravel()
    return int(np.searchsorted(texts, np.array([row], dtype=texts.dtype), side="right")[0])


MEMORY = 1 << 27
"""The approximate number of bytes in memory while reports are sorted."""

MIXED = "reports.sealed-mixed"
"""The code of the error if simulated and real reports are sealed together."""

# The most rows and bytes of a batch. They are fixed, so that a file does not show the order of arrival.
BATCH_ROWS, _BATCH_BYTES = 1 << 18, 1 << 25


class CanonicalOrder:
    """Sorts reports: `add` takes them in any order, `batches` yields them in canonical order.

    Args:
        mechanism: the mechanism that made the reports.
        simulated: whether the reports are simulated; None to take it from the first reports.
        memory: the approximate largest number of bytes in memory.
        folder: the folder for reports that do not fit into memory; None for the system's folder for temporary files.

    Attributes:
        mechanism: the mechanism that made the reports.
    """

    def __init__(
        self, mechanism: Mechanism, *, simulated: bool | None = None, memory: int = MEMORY, folder: Path | None = None
    ) -> None:
        self.mechanism, self._simulated = mechanism, simulated
        # In big-endian order rows of bytes sort like the numbers in them.
        self._wire = RecordCodec.of(mechanism)
        self._codec = RecordCodec(mechanism.columns, mechanism.clear_blocks, order=">")
        self._rows = RowSort(self.width, memory=memory, folder=folder)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._rows.__exit__(kind, error, at)

    @property
    def width(self) -> int:
        """The number of bytes of a key."""
        return self._codec.width

    @property
    def n(self) -> int:
        """The number of reports added."""
        return self._rows.taken

    def keys(self, reports: Reports) -> AnyArray:
        """Return ``(n, width)`` bytes that contain the reports, and that sort in canonical order.

        Raises:
            MismatchError: if the reports belong to another plan.
        """
        check_same_plan({self.mechanism.fingerprint, reports.fingerprint})
        return self._codec.encode(reports)

    def add(self, reports: Reports) -> None:
        """Add reports.

        Raises:
            DataError: if some reports are simulated and others are not.
            MismatchError: if the reports belong to another plan.
        """
        if reports.n and self._simulated is None:
            self._simulated = reports.simulated
        if reports.n and reports.simulated != self._simulated:
            raise DataError(MIXED)
        self._rows.add(self.keys(reports))

    def add_records(self, records: AnyArray) -> None:
        """Add reports as records, in the form that devices send. `batches` checks them."""
        self._rows.add(self._wire.swap_byte_order(records))

    def batches(self) -> Iterator[Reports]:
        """Check all reports, and yield them in canonical order. It can be called once.

        Raises:
            FlawedRowsError: if no device can have sent a record.
        """
        yield from in_batches(self.mechanism, self._rows.batches(), simulated=bool(self._simulated))


def in_batches(mechanism: Mechanism, keys: Iterable[AnyArray], *, simulated: bool) -> Iterator[Reports]:
    """Check sorted reports, and yield them in batches. The sizes of the batches depend only on the number of reports.

    Args:
        mechanism: the mechanism that made the reports.
        keys: batches of ``(m, width)`` keys of `CanonicalOrder.keys`, in ascending order.
        simulated: whether the reports are simulated.

    Raises:
        FlawedRowsError: if no device can have sent a report.
    """
    codec = RecordCodec(mechanism.columns, mechanism.clear_blocks, order=">")
    for rows in _even(keys, batch_rows(mechanism)):
        yield codec.reports(mechanism, rows, simulated=simulated)


def _even(batches: Iterable[AnyArray], size: int) -> Iterator[AnyArray]:
    """Yield rows in batches of one size; the last batch may be smaller."""
    held: list[AnyArray] = []
    rows = 0
    for batch in batches:
        held.append(batch)
        rows += len(batch)
        while rows >= size:
            whole = np.concatenate(held)
            yield whole[:size]
            held, rows = [whole[size:]], rows - size
    if rows:
        yield np.concatenate(held)


def canonical(
    mechanism: Mechanism, batches: Iterable[Reports], *, memory: int = MEMORY, folder: Path | None = None
) -> Iterator[Reports]:
    """Yield reports in canonical order, in batches. The sizes of the batches depend only on the number of reports.

    Args:
        mechanism: the mechanism that made the reports.
        batches: the reports, in any order.
        memory: the approximate largest number of bytes in memory. Other reports are written to temporary files.
        folder: the folder for temporary files; None for the system's folder.

    Raises:
        MismatchError: if reports belong to another plan.
        DataError: if some are simulated and others are not.

    Example:
        >>> import discreet as dc
        >>> mechanism = dc.RandomizedResponse(dc.Domain(["bus", "car", "walk"]), epsilon=1.0)
        >>> reports = mechanism.obfuscate(["bus", "walk", "car"] * 2, random=dc.SeededRandom(1))
        >>> [batch.blocks["symbol"].tolist() for batch in canonical(mechanism, [reports])]
        [[0, 2, 2, 2, 2, 2]]
    """
    with CanonicalOrder(mechanism, memory=memory, folder=folder) as order:
        for batch in batches:
            order.add(batch)
        yield from order.batches()


def batch_rows(mechanism: Mechanism) -> int:
    """Return the number of rows in each batch in canonical order, and in each row group of a sealed file."""
    return min(max(_BATCH_BYTES // RecordCodec.of(mechanism).width, 1), BATCH_ROWS)


class OrderCheck:
    """Checks batch by batch that reports are in canonical order.

    Args:
        mechanism: the mechanism that made the reports.

    Attributes:
        misplaced: the number of the first row that is less than the row before it; None if all rows are in order.
    """

    def __init__(self, mechanism: Mechanism) -> None:
        self._order = CanonicalOrder(mechanism)
        self._last = np.empty((0, self._order.width), dtype=np.uint8)
        self._rows = 0
        self.misplaced: int | None = None

    def add(self, reports: Reports) -> None:
        """Check the next reports."""
        keys = np.concatenate([self._last, self._order.keys(reports)])
        # The keys are viewed as texts of one length, which sort like their bytes.
        texts = keys.view(f"S{self._order.width}").ravel()
        falls = texts[1:] < texts[:-1]
        if self.misplaced is None and falls.any():
            self.misplaced = self._rows - len(self._last) + 1 + int(np.argmax(falls))
        self._last, self._rows = keys[-1:], self._rows + reports.n


def is_canonical(mechanism: Mechanism, batches: Iterable[Reports]) -> bool:
    """Return true if reports are in canonical order.

    Example:
        >>> import discreet as dc
        >>> mechanism = dc.RandomizedResponse(dc.Domain(["bus", "car"]), epsilon=1.0)
        >>> reports = mechanism.obfuscate(["bus", "car"] * 50, random=dc.SeededRandom(1))
        >>> is_canonical(mechanism, [reports]), is_canonical(mechanism, canonical(mechanism, [reports]))
        (False, True)
    """
    check = OrderCheck(mechanism)
    for batch in batches:
        check.add(batch)
        if check.misplaced is not None:
            return False
    return True
