"""Reports in canonical order: sorted by their content, so that their order of arrival is lost.

The order compares the columns of a file of reports, nulls first, as ``ORDER BY clear NULLS FIRST, symbol`` in SQL.
Sorting needs no randomness, and every reader of the file can check it (`sealed_files.py`). Rows are compared as strings
of bytes, the first byte first. Rows that do not fit into memory go through sorted runs in temporary files without
names, which vanish when the process ends.
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
    """A sorted run: in memory, or in a file from some byte on."""

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
    """Rows that are taken in any order and handed out in ascending order.

    Args:
        width: bytes of a row, at least 1.
        memory: how many bytes may be held at once, roughly.
        folder: where runs go that exceed it; None for the system's place for temporary files.

    Attributes:
        taken: number of rows taken.

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
        """Take ``(n, width)`` rows."""
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
        # Held until the sorter is closed, not for the length of a block.
        file = self._files.enter_context(tempfile.TemporaryFile(dir=self._folder))  # noqa: SIM115
        file.write(rows.tobytes())
        file.flush()
        self.runs.append(_Run(len(rows), self._width, file=file))

    def batches(self) -> Iterator[AnyArray]:
        """Yield all rows in ascending order, ``(m, width)`` at a time; to be called once."""
        self._end_run()
        if len(self.runs) == 1:
            for start in range(0, self.runs[0].rows, self._run_rows):
                yield self.runs[0].read(start, start + self._run_rows)
            return
        block = self._memory // (8 * self._width * max(len(self.runs), 1))
        yield from _merged(self.runs, max(block, LEAST_BLOCK))


def _merged(runs: Sequence[_Run], size: int) -> Iterator[AnyArray]:
    """Merge sorted runs: yield all rows up to the smallest last row of the blocks in memory, again and again."""
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
    """Return the number of rows of a sorted block that do not exceed this one."""
    if not len(block):
        return 0
    texts = np.ascontiguousarray(block).view(f"S{block.shape[1]}").ravel()
    return int(np.searchsorted(texts, np.array([row], dtype=texts.dtype), side="right")[0])


MEMORY = 1 << 27
"""How many bytes sorting holds at once, roughly."""

MIXED = "reports.sealed-mixed"
"""The code of the error if simulated and real reports are sealed together."""

# Rows and bytes of the batches that are handed out: a file must not show in which order its reports came.
BATCH_ROWS, _BATCH_BYTES = 1 << 18, 1 << 25


class CanonicalOrder:
    """Reports that are taken in any order and handed out in canonical order.

    Args:
        mechanism: what made them.
        simulated: whether they are simulated; None for what the first of them say.
        memory: how many bytes may be held at once, roughly.
        folder: where the rest goes; None for the system's place for temporary files.

    Attributes:
        mechanism: what made the reports.
    """

    def __init__(
        self, mechanism: Mechanism, *, simulated: bool | None = None, memory: int = MEMORY, folder: Path | None = None
    ) -> None:
        self.mechanism, self._simulated = mechanism, simulated
        # The highest byte first, so that rows of bytes compare as their numbers do.
        self._wire = RecordCodec.of(mechanism)
        self._codec = RecordCodec(mechanism.columns, mechanism.clear_blocks, order=">")
        self._rows = RowSort(self.width, memory=memory, folder=folder)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._rows.__exit__(kind, error, at)

    @property
    def width(self) -> int:
        """Bytes of a key."""
        return self._codec.width

    @property
    def n(self) -> int:
        """Number of reports taken."""
        return self._rows.taken

    def keys(self, reports: Reports) -> AnyArray:
        """Return ``(n, width)`` bytes that say what the reports say, and compare as they do.

        Raises:
            MismatchError: if they are of another plan.
        """
        check_same_plan({self.mechanism.fingerprint, reports.fingerprint})
        return self._codec.encode(reports)

    def add(self, reports: Reports) -> None:
        """Take reports.

        Raises:
            DataError: if they are simulated and others are not.
            MismatchError: if they are of another plan.
        """
        if reports.n and self._simulated is None:
            self._simulated = reports.simulated
        if reports.n and reports.simulated != self._simulated:
            raise DataError(MIXED)
        self._rows.add(self.keys(reports))

    def add_records(self, records: AnyArray) -> None:
        """Take reports by their records, as devices send them; they are checked when they are handed out."""
        self._rows.add(self._wire.swap_byte_order(records))

    def batches(self) -> Iterator[Reports]:
        """Yield all reports in canonical order, checked; to be called once.

        Raises:
            FlawedRowsError: if no device can have sent one of them.
        """
        yield from in_batches(self.mechanism, self._rows.batches(), simulated=bool(self._simulated))


def in_batches(mechanism: Mechanism, keys: Iterable[AnyArray], *, simulated: bool) -> Iterator[Reports]:
    """Yield the reports of sorted keys, checked, in batches that depend on nothing but their number.

    Args:
        mechanism: what made the reports.
        keys: ``(m, width)`` `CanonicalOrder.keys` at a time, in ascending order.
        simulated: whether the reports are.

    Raises:
        FlawedRowsError: if no device can have sent one of them.
    """
    codec = RecordCodec(mechanism.columns, mechanism.clear_blocks, order=">")
    for rows in _even(keys, batch_rows(mechanism)):
        yield codec.reports(mechanism, rows, simulated=simulated)


def _even(batches: Iterable[AnyArray], size: int) -> Iterator[AnyArray]:
    """Yield rows in batches of one size, but for the last."""
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
    """Yield reports in canonical order, in batches that depend on nothing but their number.

    Args:
        mechanism: what made them.
        batches: the reports, in any order.
        memory: how many bytes may be held at once, roughly; what exceeds it goes through temporary files.
        folder: where these are; None for the system's place for them.

    Raises:
        MismatchError: if reports are of another plan.
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
    """Return the rows of each batch in canonical order, and of each row group of a sealed file, but for the last."""
    return min(max(_BATCH_BYTES // RecordCodec.of(mechanism).width, 1), BATCH_ROWS)


class OrderCheck:
    """A check of reports, batch by batch, that they are in canonical order.

    Args:
        mechanism: what made them.

    Attributes:
        misplaced: the first row that belongs before an earlier one; None if all are in order so far.
    """

    def __init__(self, mechanism: Mechanism) -> None:
        self._order = CanonicalOrder(mechanism)
        self._last = np.empty((0, self._order.width), dtype=np.uint8)
        self._rows = 0
        self.misplaced: int | None = None

    def add(self, reports: Reports) -> None:
        """Look at the next reports."""
        keys = np.concatenate([self._last, self._order.keys(reports)])
        # As texts of one length, which compare as their bytes do.
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
