"""Blocks of reports in temporary files, for reports that are too large for the memory.

The blocks are written in the columns of their `BlockLayout`, and are mapped from the files. So the same kernels read
the same arrays in the same order as in memory. The files have no names: they disappear with the last array that reads
them, or with the process, however it ends.
"""

import errno
import tempfile
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

import numpy as np
import pyarrow as pa

from discreet.arrays import AnyArray
from discreet.core.reports import Blocks, Reports, block_count
from discreet.engines.folds import TallyFold
from discreet.errors import DataError, ParameterError
from discreet.estimators.likelihood import LocalRows
from discreet.formats.scanned import CheckedBatch
from discreet.formats.sources import ScannedSources, SourceReader
from discreet.mechanisms import Mechanism
from discreet.mechanisms.block_law import BlockLayout
from discreet.mechanisms.evidence import Membership, StoredBlocks
from discreet.mechanisms.law import BlockMechanism

# The number of zeros that are written at a time to reserve space.
_CHUNK = 1 << 15
# Limits for the size of files, or for the space of a user, have the same effect as a full disk.
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class StoredArray:
    """An array in a nameless file; rows can be appended.

    Args:
        folder: the folder of the file; None for the system's folder for temporary files.

    Raises:
        DataError: if nothing can be written there.
    """

    def __init__(self, folder: str | Path | None) -> None:
        self._folder = Path(tempfile.gettempdir() if folder is None else folder)
        self._rows, self._shape, self._dtype = 0, (), np.dtype(np.uint8)
        try:
            self._file: IO[bytes] = tempfile.TemporaryFile(dir=self._folder, buffering=0)  # noqa: SIM115
        except OSError as error:
            raise self._refused(error) from None

    def append(self, rows: AnyArray) -> None:
        """Append rows; all rows must have the same type and width.

        Raises:
            DataError: if the rows do not fit onto the disk.
        """
        self._shape, self._dtype = rows.shape[1:], rows.dtype
        self._rows += len(rows)
        flat: Any = np.ascontiguousarray(rows).reshape(-1).view(np.uint8)
        left = memoryview(flat)
        try:
            while left:
                left = left[self._file.write(left) :]
        except OSError as error:
            raise self._refused(error) from None

    def mapped(self) -> AnyArray:
        """Return all rows as an array that reads from the file."""
        shape = (self._rows, *self._shape)
        if 0 in shape:
            return np.empty(shape, self._dtype)
        # A private copy on write instead of a read-only array: kernels are compiled only once, and nothing is written.
        return np.memmap(self._file, dtype=self._dtype, mode="c", shape=shape)

    def mapped_to_write(self) -> AnyArray:
        """Return all rows as an array that reads from the file and writes to it."""
        shape = (self._rows, *self._shape)
        if 0 in shape:
            return np.empty(shape, self._dtype)
        return np.asarray(np.memmap(self._file, dtype=self._dtype, mode="r+", shape=shape))

    def close(self) -> None:
        """Close the file; arrays that are mapped from it stay valid."""
        self._file.close()

    def _refused(self, error: OSError) -> DataError:
        if error.errno in _NO_ROOM:
            return DataError("temporary.no-room", folder=self._folder)
        return DataError("temporary.not-writable", folder=self._folder, kind=type(error).__name__)


def rows_on_disk(folder: str | Path | None) -> Callable[[int, Any], AnyArray]:
    """Return a function that creates ``(rows,)`` arrays in files instead of memory; see `StoredArray`."""

    def new_rows(rows: int, dtype: Any) -> AnyArray:
        file = StoredArray(folder)
        try:
            # Zeros instead of a sparse file: if the disk is full, a write to a mapped hole would end the process.
            for start in range(0, rows, _CHUNK):
                file.append(np.zeros(min(_CHUNK, rows - start), dtype))
            return file.mapped_to_write() if rows else np.empty(0, dtype)
        finally:
            file.close()

    return new_rows


def with_blocks(mechanism: Mechanism) -> BlockMechanism:
    """Return the mechanism, or raise an error if it is a channel, whose reports have no blocks.

    Raises:
        ParameterError: if the reports are not blocks.
    """
    if mechanism.is_explicit:
        raise ParameterError("mechanism.without-blocks")
    return BlockMechanism.checked(mechanism)


class BlockWriter:
    """A context manager that writes the blocks of a mechanism's reports into temporary files.

    Args:
        mechanism: the mechanism that made the reports.
        folder: as for `StoredArray`.

    Raises:
        ParameterError: if the mechanism has no blocks.
        DataError: if nothing can be written there.
    """

    def __init__(self, mechanism: Mechanism, folder: str | Path | None = None) -> None:
        mechanism = with_blocks(mechanism)
        self._mechanism, self._rows = mechanism, 0
        self._layout = BlockLayout.for_law(mechanism.law)
        self._pending: Blocks = {c.name: np.empty(c.shape(0), dtype=c.dtype) for c in mechanism.block_columns}
        self._files = {name: StoredArray(folder) for name in self._layout.columns_of(self._pending)}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for file in self._files.values():
            file.close()

    def add(self, reports: Reports) -> None:
        """Add the blocks of a batch.

        Raises:
            DataError: if the blocks do not fit onto the disk.
        """
        blocks = self._mechanism.blocks_of_unknown(reports)
        self._rows += block_count(blocks)
        blocks = {name: np.concatenate([self._pending[name], column]) for name, column in blocks.items()}
        whole = block_count(blocks) // self._layout.piece_size * self._layout.piece_size
        # Blocks that do not fill a row of the layout are written with the next batch.
        self._pending = {name: column[whole:].copy() for name, column in blocks.items()}
        self._keep({name: column[:whole] for name, column in blocks.items()})

    def _keep(self, blocks: Blocks) -> None:
        for name, column in self._layout.columns_of(blocks).items():
            self._files[name].append(column)

    def membership(self) -> Membership:
        """Return the matrix of all blocks, read from the files; no blocks can be added afterwards.

        Raises:
            DataError: if the last blocks do not fit onto the disk.
        """
        self._keep(self._pending)
        return self._layout.membership({name: file.mapped() for name, file in self._files.items()}, self._rows)


def onto_disk(
    scan: ScannedSources, reader: SourceReader, batches: Iterator[CheckedBatch], folder: str | Path | None
) -> tuple[StoredBlocks, Mapping[str, int]]:
    """Return the blocks of reports in temporary files, and the number of rows left out by reason.

    Args:
        scan: the sources.
        reader: the reader of the sources.
        batches: the batches from the reader.
        folder: as for `StoredArray`.
    """
    fold = TallyFold(scan.mechanism)
    state = fold.zero()
    with BlockWriter(scan.mechanism, folder) as stored:
        for batch in batches:
            fold.add(state, batch)
            stored.add(batch.reports)
        counted = fold.finish(state, reader.account)
        # Arrow would otherwise keep the memory of the reading during the estimate.
        pa.default_memory_pool().release_unused()
        rows_of = partial(LocalRows, new_rows=rows_on_disk(folder))
        return StoredBlocks(scan.whole(counted.tally), stored.membership(), rows_of), counted.left_out
