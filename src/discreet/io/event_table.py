"""EventTable of users, events and times in files of tables, of the same kinds in all files."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.arrays import AnyArray
from discreet.core import columns
from discreet.core.arrow_memory import array_of, flags_of
from discreet.core.columns import OUTSIDE
from discreet.core.domain import Domain
from discreet.core.event_columns import instants, missing_rows, spelled
from discreet.errors import DataError, DiscreetError
from discreet.io.cells import ANYTHING, NAMES, Cells, Kind, cells_of, columns_of
from discreet.io.coded_values import Defect
from discreet.io.piped import Source
from discreet.io.read_errors import readable
from discreet.io.remote import File, file_of
from discreet.io.table_scan import TableScan, is_text, scan, table_files
from discreet.io.tables import check_once


@dataclass(frozen=True, slots=True, eq=False)
class TraceColumn:
    """A column to be read from every file.

    Attributes:
        name: as the files call it.
        wanted: what it holds, for messages.
        timed: whether it holds times; otherwise names.
        domain: what the names are values of, if of anything.
    """

    name: str
    wanted: str
    timed: bool = False
    domain: Domain | None = None

    def read(self, column: Any) -> Any:
        """Return ``(m,)`` int64 or float64 times, int64 names, or text in Arrow; refuse what is missing."""
        return instants(pa.chunked_array([column])) if self.timed else spelled(column, self.wanted)

    def kind(self, dtype: Any) -> str | None:
        """Return the kind of values of an Arrow type; None if there is none.

        Raises:
            DataError: if they cannot be what is asked for.
        """
        none = pa.array([], dtype)
        if pa.types.is_null(dtype):
            return None
        read = self.read(none)
        if self.domain is not None:
            self.domain.encode(none)
        if self.timed:
            return _kind_of_times(dtype)
        return "integers" if isinstance(read, np.ndarray) else "text"

    @property
    def cells(self) -> Cells:
        """The reading of cells of text files: names, unless a domain gives labels."""
        if self.timed:
            return ANYTHING
        return NAMES if self.domain is None or columns_of(self.domain) else cells_of(self.domain.space)

    def outside(self, column: Any) -> AnyArray:
        """Return the rows with values outside the domain."""
        if self.domain is None:
            return np.empty(0, np.int64)
        return np.flatnonzero(self.domain.space.encode(column) == OUTSIDE)


def _kind_of_times(dtype: Any) -> str:
    if pa.types.is_timestamp(dtype) and dtype.tz is not None:
        return "dates with a time zone"
    if pa.types.is_date(dtype) or pa.types.is_timestamp(dtype):
        return "dates"
    if pa.types.is_integer(dtype):
        return "integers"
    # Times of day and durations are taken as they are, so their units must agree.
    return "floats" if pa.types.is_floating(dtype) else str(dtype)


@dataclass(frozen=True, slots=True, eq=False)
class EventTable:
    """The rows of all files, in the order of the files.

    Attributes:
        files: in order.
        columns: users, events and perhaps times.
        alone: whether one file was named; messages then need not say which.
        drop: whether rows are left out where something that is asked for is missing; otherwise they are refused.
    """

    files: Sequence[TableScan]
    columns: Sequence[TraceColumn]
    alone: bool
    drop: bool = False
    kinds: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(
        cls, sources: str | Path | Sequence[str | Path], asked: Sequence[TraceColumn], *, drop: bool = False
    ) -> "EventTable":
        """Return the rows of files; all files are inspected before any is read.

        Raises:
            DataError: if one is missing or broken, or its columns are not there, of another kind than is asked for, or
                of another kind than in other files.
            ParameterError: if tables are not read from such files.
        """
        named = [sources] if isinstance(sources, str | Path) else list(sources)
        paths = table_files(named)
        found = cls(_surveyed(paths, asked), asked, paths == [file_of(one) for one in named[:1]], drop)
        for file in found.files:
            with found._naming(file.source):
                for column in asked:
                    check_once(column.name, file.columns)
        for column in asked:
            found._agree(column)
        return found

    @property
    def count(self) -> int:
        """Number of rows."""
        return sum(file.rows for file in self.files)

    def _agree(self, column: TraceColumn) -> None:
        first = None
        for file in self.files:
            with self._checking(file):
                kind = column.kind(file.types[column.name])
            if kind is None:
                continue
            known, first = self.kinds.setdefault(column.wanted, kind), first or file.source
            if known != kind:
                raise DataError(
                    f"{file.source}: {column.wanted} are {kind} here and {known} in {first.name}; "
                    "write them alike in all files."
                )

    def batches(self, *chosen: TraceColumn) -> Iterator[tuple[Any, ...]]:
        """Read columns of all rows, a batch at a time, as `TraceColumn.read` returns them.

        Raises:
            DataError: if a value is missing or not of its kind, or a file breaks off or changes; it names the file.
        """
        # What is missing in any column decides which rows there are, whichever of them are chosen.
        names = list(dict.fromkeys(column.name for column in (self.columns if self.drop else chosen)))
        for file in self.files:
            with self._checking(file):
                done = 0
                for batch in file.batches(names):
                    done += batch.num_rows
                    if done > file.rows:
                        break
                    rows = _whole(batch) if self.drop else batch
                    if rows.num_rows or not self.drop:
                        yield tuple(column.read(rows[column.name]) for column in chosen)
                if done != file.rows:
                    raise changed()

    def examine(self) -> None:
        """Read all columns once more to find the error to report.

        Raises:
            DataError: if a value is missing, not of its kind or not in the domain; it says how many of the first such
                file, and where.
        """
        for file in self.files:
            with self._naming(file.source):
                for column in self.columns:
                    _examine(file, column, drop=self.drop)

    @contextmanager
    def _naming(self, path: Source) -> Iterator[None]:
        """Add the file's name to an error, unless only one file was named."""
        refused: DiscreetError | None = None
        with readable(path):
            try:
                yield
            except DiscreetError as error:
                if not self.alone:
                    raise
                refused = error
        if refused is not None:
            raise refused

    @contextmanager
    def _checking(self, file: TableScan) -> Iterator[None]:
        """Turn an error in a batch into an error of its file."""
        with self._naming(file.source):
            try:
                yield
            except DataError:
                for column in self.columns:
                    _examine(file, column, drop=self.drop)
                raise


def _surveyed(paths: Sequence[File], asked: Sequence[TraceColumn]) -> list[TableScan]:
    """Return the inspected files; typed ones come first, because they decide how text files are read."""
    cells = {column.name: column.cells for column in asked}
    typed = {path: _scanned(path, cells) for path in paths if not is_text(path)}
    for name in [column.name for column in asked if column.cells is NAMES]:
        if any(pa.types.is_integer(file.types.get(name, pa.null())) for file in typed.values()):
            cells[name] = Cells(Kind.INTEGER)
    return [typed[path] if path in typed else _scanned(path, cells) for path in paths]


def _scanned(path: File, cells: Mapping[str, Cells]) -> TableScan:
    """Return an inspected file; columns that are not there just once are refused later."""
    return scan(path, lambda names: {name: one for name, one in cells.items() if names.count(name) == 1}, list(cells))


def _whole(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return the rows of a batch without missing values."""
    kept = np.ones(batch.num_rows, dtype=np.bool_)
    for column in batch.columns:
        kept[missing_rows(column)] = False
    return batch if kept.all() else batch.filter(flags_of(kept))


def _examine(file: TableScan, column: TraceColumn, *, drop: bool) -> None:
    """Check a column batch by batch, and raise the error of reading it at once."""
    missing, outside, refused, done = Defect(), Defect(), None, 0
    for batch in file.batches([column.name]):
        values = batch[column.name]
        gone = missing_rows(values)
        rows = np.delete(np.arange(len(values)), gone)
        missing.add(gone if not drop else gone[:0], done)
        if drop or not len(gone):
            try:
                whole = values.take(array_of(rows))
                column.read(whole)
                outside.add(rows[column.outside(whole)], done)
            except DataError as error:
                refused = refused or error
        done += batch.num_rows
    if missing.count:
        raise DataError(missing.as_missing(done, column.wanted)) from None
    if refused is not None:
        raise refused from None
    if outside.count:
        raise DataError(columns.outside_message(outside.count, done, outside.first)) from None


def changed() -> DataError:
    """Return the error for rows that changed between two readings of their files."""
    return DataError("the rows changed while they were read; leave the files alone and start again.")
