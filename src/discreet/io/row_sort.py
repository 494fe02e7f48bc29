"""Sorting of rows of bytes, in memory or, where they are more, through sorted runs in temporary files.

Rows are compared as strings of bytes, the first byte first. Runs lie in files without names, readable by this user
only, so that nothing is left of them whatever ends the process.
"""

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Self

import numpy as np

from discreet.arrays import AnyArray
from discreet.kernels.row_order import sorted_rows

_LEAST_ROWS, _LEAST_BLOCK = 1 << 10, 1 << 6


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
            kept = np.empty((0, self.width), np.uint8) if self.kept is None else self.kept
            return kept[start:stop]
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
        self._run_rows = max(memory // (8 * width), _LEAST_ROWS)
        self._loose: list[AnyArray] = []
        self._loose_rows = self._kept_bytes = self.taken = 0
        self._runs: list[_Run] = []
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
            self._runs.append(_Run(len(rows), self._width, kept=rows))
            return
        # Held until the sorter is closed, not for the length of a block.
        file = self._files.enter_context(tempfile.TemporaryFile(dir=self._folder))  # noqa: SIM115
        file.write(rows.tobytes())
        file.flush()
        self._runs.append(_Run(len(rows), self._width, file=file))

    def batches(self) -> Iterator[AnyArray]:
        """Yield all rows in ascending order, ``(m, width)`` at a time; to be called once."""
        self._end_run()
        if len(self._runs) == 1:
            yield from _whole(self._runs[0], self._run_rows)
            return
        block = self._memory // (8 * self._width * max(len(self._runs), 1))
        yield from _merged(self._runs, max(block, _LEAST_BLOCK))


def _whole(run: _Run, size: int) -> Iterator[AnyArray]:
    for start in range(0, run.rows, size):
        yield run.read(start, start + size)


def _merged(runs: Sequence[_Run], size: int) -> Iterator[AnyArray]:
    """Yield the rows of sorted runs in order: each time all that precede the least end of what was read of them."""
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
