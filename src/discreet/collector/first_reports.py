"""Reports by their ids: of each id the report that came first, however many there are.

Ids are random, so that nearly every one is there once. A table of cells, by a hash of the id, tells which can be there
twice: those alone are sorted and compared, the others pass. Whoever chooses ids to meet in a cell makes work for
their own reports.
"""

import os
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np

from discreet.arrays import AnyArray, BoolArray, WordArray
from discreet.io.frames import ID_BYTES
from discreet.io.row_sort import RowSort

_ARRIVAL = 8
_WORD = 8
_ROWS = 1 << 16
_ODD = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F], dtype=np.uint64)


class FirstReports:
    """Reports that are taken as they came and handed out each id once, in no order.

    Args:
        width: bytes of a report without its id.
        memory: how many bytes may be held at once, roughly.
        folder: where the rest goes, in files without names.

    Attributes:
        duplicates: reports that came more than once, counted when all are handed out.
        conflicts: reports under an id that another one had before.
    """

    def __init__(self, width: int, *, memory: int, folder: Path) -> None:
        self._width, self._memory, self._folder = ID_BYTES + width, memory, folder
        self._bits = max(memory, 2).bit_length() - 1
        # 0: no report has its id here, 1: one has, above: more. Pages that nobody touches take no memory.
        self._cells = np.zeros(1 << self._bits, dtype=np.uint8)
        self._files = ExitStack()
        # As they came, until it is known which ids are there twice.
        self._file = self._files.enter_context(tempfile.TemporaryFile(dir=folder))  # noqa: SIM115
        self.duplicates = self.conflicts = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._files.close()

    def add(self, rows: AnyArray) -> None:
        """Take ``(n, width)`` rows, each an id and what is reported under it, in order of their arrival."""
        for start in range(0, len(rows), _ROWS):
            part = rows[start : start + _ROWS]
            cells = np.sort(self._cells_of(part))
            within = cells[1:][cells[1:] == cells[:-1]]
            self._cells[cells] = (self._cells[cells] << 1) | 1
            self._cells[within] |= 2
            self._file.write(part.tobytes())

    def _cells_of(self, rows: AnyArray) -> WordArray:
        # Halves of ids, where they lie: to copy ids together first took five times as long.
        low, high = (rows[:, at : at + _WORD].view("<u8")[:, 0] for at in (0, _WORD))
        hashes: WordArray = (low * _ODD[0] + high * _ODD[1]) >> np.uint64(64 - self._bits)
        return hashes

    def batches(self) -> Iterator[AnyArray]:
        """Yield the first report of each id, ``(m, width)`` at a time; to be called once."""
        with RowSort(self._width + _ARRIVAL, memory=self._memory, folder=self._folder) as doubtful:
            for arrived, rows in self._again():
                shared = self._cells[self._cells_of(rows)] > 1
                yield rows[~shared][:, ID_BYTES:]
                numbers = (arrived + np.flatnonzero(shared)).astype(">u8").view(np.uint8).reshape(-1, _ARRIVAL)
                some = rows[shared]
                doubtful.add(np.hstack([some[:, :ID_BYTES], numbers, some[:, ID_BYTES:]]))
            yield from self._firsts(doubtful)

    def _again(self) -> Iterator[tuple[int, AnyArray]]:
        """Yield all rows as they came, with the number of those before."""
        self._file.flush()
        arrived = 0
        while data := os.pread(self._file.fileno(), _ROWS * self._width, arrived * self._width):
            rows = np.frombuffer(data, dtype=np.uint8).reshape(-1, self._width)
            yield arrived, rows
            arrived += len(rows)

    def _firsts(self, doubtful: RowSort) -> Iterator[AnyArray]:
        last = np.empty((0, self._width + _ARRIVAL), dtype=np.uint8)
        for batch in doubtful.batches():
            joined = np.concatenate([last, batch])
            first, same = _compared(joined)
            fresh = first.copy()
            fresh[: len(last)] = False
            self.duplicates += int(np.count_nonzero(~first & same))
            self.conflicts += int(np.count_nonzero(~first & ~same))
            yield joined[fresh][:, ID_BYTES + _ARRIVAL :]
            # The first report of the last id: more of that id may follow.
            last = joined[np.flatnonzero(first)[-1:]]


def _compared(rows: AnyArray) -> tuple[BoolArray, BoolArray]:
    """Return the masks of ``(n, width)`` sorted rows: the first of its id, and those equal to that first one."""
    halves = np.ascontiguousarray(rows[:, :ID_BYTES]).view(np.uint64)
    first = np.ones(len(rows), dtype=np.bool_)
    first[1:] = (halves[1:] != halves[:-1]).any(axis=1)
    same = np.ones(len(rows), dtype=np.bool_)
    again = np.flatnonzero(~first)
    if len(again):
        leader = np.maximum.accumulate(np.where(first, np.arange(len(rows)), 0))[again]
        said = rows[:, ID_BYTES + _ARRIVAL :]
        same[again] = (said[again] == said[leader]).all(axis=1)
    return first, same
