"""Readers of tables of events, which return traces.

Users, events and times have the same types in all files. Arrow's dictionaries replace names by numbers, one batch at a
time. So the memory has two numbers per row, its time, and each name once. Then the rows are sorted by user.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.arrays import AnyArray
from discreet.core.arrow import array_of, flags_of
from discreet.core.checks import checked_choice
from discreet.core.columns import OUTSIDE
from discreet.core.domain import Domain
from discreet.errors import DataError, DiscreetError, ParameterError
from discreet.files.paths import File, file_of
from discreet.files.reading import Progress, prefetched, readable
from discreet.risk.clock import DATES
from discreet.risk.identifiers import identifiers, missing_rows
from discreet.risk.kernels.events import KeyTable
from discreet.risk.traces import Split, Traces, instants
from discreet.tables.columns import check_once
from discreet.tables.scan import TableScan, is_text, scan, table_files
from discreet.tables.text import ANYTHING, NAMES, Cells, Kind, cells_of, columns_of
from discreet.tables.values import Defect


@dataclass(frozen=True, slots=True, eq=False)
class TraceColumn:
    """A column to read from every file.

    Attributes:
        name: the column's name in the files.
        wanted: a description of the contents, for messages.
        timed: whether the column has times; otherwise it has names.
        domain: the domain of the names, if any.
        argument: the argument that names the column.
        as_text: whether integers are read as text, because they are text in another table.
    """

    name: str
    wanted: str
    timed: bool = False
    domain: Domain | None = None
    argument: str = ""
    as_text: bool = False

    def read(self, column: Any) -> Any:
        """Return ``(m,)`` int64 or float64 times, int64 names, or text in Arrow; missing values are refused."""
        if self.timed:
            return instants(pa.chunked_array([column]))
        if self.as_text and pa.types.is_integer(column.type):
            column = pc.cast(column, pa.large_string())
        if pa.types.is_floating(column.type) and self.domain is None and self.argument.endswith("event"):
            # Measured numbers and coordinates; each different number is an event.
            column = pc.cast(pc.if_else(pc.is_nan(column), None, column), pa.large_string())
        return identifiers(column, self.wanted)

    def kind(self, dtype: Any) -> str | None:
        """Return the kind of values for an Arrow type; None if there are no values.

        Raises:
            DataError: if the type does not fit the column.
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
        """The rules for reading cells of text files: as names, unless a domain has labels."""
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
    # Times of day and durations are used without conversion, so their units must agree.
    return "floats" if pa.types.is_floating(dtype) else str(dtype)


@dataclass(frozen=True, slots=True, eq=False)
class EventTable:
    """All rows of several files, in the order of the files.

    Attributes:
        files: the files, in order.
        columns: the columns of users, events and perhaps times.
        alone: whether there is only one file; messages then need not name it.
        drop: whether to omit rows with a missing value in one of the columns; otherwise they are refused.
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
        """Return the table for files; all files are inspected before any is read.

        Raises:
            DataError: if a file is missing or broken, or if its columns are missing, of a wrong type, or of another
                type than in other files.
            ParameterError: if files have no format of tables.
        """
        named = [sources] if isinstance(sources, str | Path) else list(sources)
        paths = table_files(named)
        event_table = cls(_surveyed(paths, asked), asked, paths == [file_of(source) for source in named[:1]], drop)
        for file in event_table.files:
            with event_table._naming(file.source):
                for column in asked:
                    check_once(column.name, file.columns, column.argument)
        for column in asked:
            event_table._agree(column)
        return event_table

    def as_text(self, wanted: str) -> "EventTable":
        """Return the table with one kind of identifiers as text."""
        columns = [replace(column, as_text=column.wanted == wanted or column.as_text) for column in self.columns]
        return replace(self, columns=columns)

    @property
    def count(self) -> int:
        """The number of rows."""
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
                    "trace-files.different-types",
                    source=file.source,
                    wanted=column.wanted,
                    kind=kind,
                    known=known,
                    name=first.name,
                )

    def batches(self) -> Iterator[tuple[Any, ...]]:
        """Read all rows, one batch at a time: the columns as `TraceColumn.read` returns them.

        Raises:
            DataError: if a value is missing or of a wrong type, or a file is truncated or changes; the error names the
                file.
        """
        names = list(dict.fromkeys(column.name for column in self.columns))
        for file in self.files:
            with self._checking(file):
                done = 0
                for batch in file.batches(names):
                    done += batch.num_rows
                    if done > file.rows:
                        break
                    rows = _whole(batch) if self.drop else batch
                    if rows.num_rows or not self.drop:
                        yield tuple(column.read(rows[column.name]) for column in self.columns)
                if done != file.rows:
                    raise changed()

    def examine(self) -> None:
        """Read all columns once more, to find the error to report.

        Raises:
            DataError: if a value is missing, of a wrong type or not in the domain; the error counts the values of the
                first file with errors, and gives a position.
        """
        for file in self.files:
            with self._naming(file.source):
                for column in self.columns:
                    _examine(file, column, drop=self.drop)

    @contextmanager
    def _naming(self, path: File) -> Iterator[None]:
        """Add the file's name to an error, unless there is only one file."""
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
        """Convert an error in a batch into an error of its file."""
        with self._naming(file.source):
            try:
                yield
            except DataError:
                for column in self.columns:
                    _examine(file, column, drop=self.drop)
                raise


def _surveyed(paths: Sequence[File], asked: Sequence[TraceColumn]) -> list[TableScan]:
    """Return the inspected files; files with types come first, because they decide how text files are read."""
    cells = {column.name: column.cells for column in asked}
    typed = {path: _scanned(path, cells) for path in paths if not is_text(path)}
    for name in [column.name for column in asked if column.cells is NAMES]:
        if any(pa.types.is_integer(file.types.get(name, pa.null())) for file in typed.values()):
            cells[name] = Cells(Kind.INTEGER)
    return [typed[path] if path in typed else _scanned(path, cells) for path in paths]


def _scanned(path: File, cells: Mapping[str, Cells]) -> TableScan:
    """Return an inspected file; columns that are missing or repeated are refused later."""
    return scan(path, lambda names: {name: cell for name, cell in cells.items() if names.count(name) == 1}, list(cells))


def _whole(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return the rows of a batch without missing values."""
    is_whole = np.ones(batch.num_rows, dtype=np.bool_)
    for column in batch.columns:
        is_whole[missing_rows(column)] = False
    return batch if is_whole.all() else batch.filter(flags_of(is_whole))


def _examine(file: TableScan, column: TraceColumn, *, drop: bool) -> None:
    """Check a column batch by batch, and raise the first error."""
    missing, outside, refused, done = Defect(), Defect(), None, 0
    for batch in file.batches([column.name]):
        values = batch[column.name]
        gone = missing_rows(values)
        rows = np.delete(np.arange(len(values)), gone)
        missing.add(done + (gone if not drop else gone[:0]))
        if drop or not len(gone):
            try:
                whole = values.take(array_of(rows))
                column.read(whole)
                outside.add(done + rows[column.outside(whole)])
            except DataError as error:
                refused = refused or error
        done += batch.num_rows
    if missing.count:
        raise missing.as_missing(file, done, column.wanted) from None
    if refused is not None:
        raise refused from None
    if outside.count:
        raise outside.as_outside(file, done) from None


def changed() -> DataError:
    """Return the error for rows that changed between two readings of their files."""
    return DataError("trace-files.changed")


UNIFIED_NAMES = 1 << 20
"""The most names from several batches before they are merged into one dictionary."""


class _Names:
    """The names of all rows as numbers, in the order of first occurrence: 4 bytes per row, and each name once."""

    def __init__(self) -> None:
        self._batches: list[Any] = []
        self._waiting = self._unified = 0
        self._integers: Any = None

    def add(self, column: Any) -> None:
        """Add a column of a batch: ``(m,)`` int64, or text in Arrow."""
        if isinstance(column, np.ndarray):
            # Twice as fast as Arrow's dictionaries, which are faster for text.
            self._integers = self._integers or KeyTable()
            self._batches.append(self._integers.number(column))
            return
        batch = _encoded(column)
        self._batches.append(batch)
        self._waiting += len(batch.dictionary)
        if self._waiting > UNIFIED_NAMES + self._unified:
            self._batches = [self._whole()]
            self._waiting, self._unified = 0, len(self._batches[0].dictionary)

    def _whole(self) -> Any:
        return pa.chunked_array(self._batches).unify_dictionaries().combine_chunks()

    def numbers(self) -> tuple[AnyArray, Any]:
        """Return the ``(rows,)`` int32 numbers and the names in Arrow; this object is then empty."""
        if not self._batches:
            return np.empty(0, np.int32), pa.array([], pa.large_string())
        if self._integers is not None:
            numbers, self._batches = np.concatenate(self._batches), []
            return numbers, self._integers.column()
        whole, self._batches = self._whole(), []
        return np.asarray(whole.indices).astype(np.int32, copy=False), whole.dictionary


def _encoded(column: Any) -> Any:
    """Return a column with a dictionary of its distinct names, in the order of first occurrence."""
    if not pa.types.is_dictionary(column.type):
        return column.dictionary_encode()
    # A dictionary may have unused or repeated entries.
    rows = column.indices.dictionary_encode()
    entries = column.dictionary.take(rows.dictionary).cast(pa.large_string()).dictionary_encode()
    return pa.DictionaryArray.from_arrays(entries.indices.take(rows.indices), entries.dictionary)


def read_traces(
    sources: str | Path | Sequence[str | Path],
    *,
    user: str,
    event: str | Sequence[str],
    time: str | None = None,
    domain: Domain | None = None,
    keep_times: bool = False,
    keep_labels: bool = False,
    missing: str = "refuse",
    unit: str | None = None,
    progress: Progress | None = None,
) -> Traces:
    """Return the traces of tables in files, equal to `Traces.from_table` for all rows.

    Memory has the traces, the different users and events, and 12 to 16 bytes per event, 8 more with times.

    Args:
        sources: files of tables (.parquet, .arrow, .csv, .jsonl) and folders of such files, in the order of rows.
        user: the column of users: integers or text, the same in all files.
        event: the column of events: integers, text or floats; or two columns, whose pairs are events.
        time: the column of times that order each user's events, numbers or dates; None if the rows are in order.
        domain: as for `Traces.of`.
        keep_times: whether the traces keep the times; otherwise times only order the events.
        keep_labels: whether the traces keep the events' labels from the table, if there is no domain.
        missing: "refuse", or "drop" to omit rows with a missing or empty user, event or time; the traces have the
            number of these rows.
        unit: as for `Traces.of`, for times that are kept.
        progress: called repeatedly with the number of rows read and the number of all rows.

    Returns:
        The traces, equal to `Traces.of` for all rows, with the names of their users.

    Raises:
        DataError: if a file is missing or broken, a column is missing or of a wrong type, values are missing or not in
            the domain, or files differ in types; the error names the file, unless there is only one.
        ParameterError: if files have no format of tables, or ``missing`` is neither "refuse" nor "drop".

    Example:
        >>> from importlib.resources import files
        >>> checkins = files("discreet") / "examples" / "checkins.csv"
        >>> read_traces(checkins, user="user", event="place", time="day")
        Traces(200 users, 3200 events, 140 different)
    """
    checked_choice("missing", missing, ("refuse", "drop"))
    rows = EventTable.of(sources, asked_columns(user, event, time, domain), drop=missing == "drop")
    (traces,) = _traces_of([rows], domain, progress, keep_times=keep_times, keep_labels=keep_labels, unit=unit)
    return traces


def asked_columns(
    user: str, event: str | Sequence[str], time: str | None, domain: Domain | None = None, prefix: str = ""
) -> list[TraceColumn]:
    """Return the columns of a table of events.

    Args:
        user: the column of users.
        event: the column of events, or two columns.
        time: the column of times, if any.
        domain: the domain of the events, if any.
        prefix: of the arguments that name the columns.

    Raises:
        ParameterError: if there are more than two columns of events, or two columns and a domain.
    """
    names = [event] if isinstance(event, str) else list(event)
    if not 1 <= len(names) <= (2 if domain is None else 1):
        raise ParameterError("events.wrong-columns", argument=f"{prefix}event", count=len(names))
    timed = [] if time is None else [TraceColumn(time, "times", timed=True, argument=f"{prefix}time")]
    wanted = "events" if domain is None else "values"
    users = TraceColumn(user, "users", argument=f"{prefix}user")
    kinds = zip(names, (wanted, "events of the second column"), strict=False)
    return [users, *(TraceColumn(name, kind, domain=domain, argument=f"{prefix}event") for name, kind in kinds), *timed]


def read_linked(
    release: Sequence[str | Path],
    known: str | Path,
    *,
    asked: tuple[Sequence[TraceColumn], Sequence[TraceColumn]],
    missing: str = "refuse",
    unit: str | None = None,
    progress: Progress | None = None,
) -> Split:
    """Return the traces of a release as target and the known traces of another table as training, with common numbers.

    The times are kept. A user of only one of the tables has no event in the other.

    Args:
        release: files and folders of the release.
        known: a file or a folder with the known traces.
        asked: the columns of both, see `asked_columns`.
        missing: as for `read_traces`.
        unit: as for `Traces.of`, for the times of both tables that are numbers.
        progress: as for `read_traces`.

    Raises:
        DataError: as for `read_traces`, and if users or events have different types in the two tables; integers and
            text are compared as text.

    Example:
        >>> from importlib.resources import files
        >>> checkins = files("discreet") / "examples" / "checkins.csv"
        >>> columns = asked_columns("user", "place", "day")
        >>> read_linked([checkins], checkins, asked=(columns, columns)).target
        Traces(200 users, 3200 events, 140 different, timed)
    """
    checked_choice("missing", missing, ("refuse", "drop"))
    tables = [
        EventTable.of(sources, columns, drop=missing == "drop")
        for sources, columns in zip((release, known), asked, strict=True)
    ]
    for wanted in ("users", "events", "events of the second column", "values"):
        kinds = [table.kinds.get(wanted) for table in tables]
        if {*kinds} == {"integers", "text"} and wanted != "values":
            # The same numbers, written once with quotation marks.
            tables = [table.as_text(wanted) for table in tables]
        elif None not in kinds and kinds[0] != kinds[1]:
            raise DataError("linked-tables.different-types", wanted=wanted, kinds=kinds[0], kinds_2=kinds[1])
    target, training = _traces_of(tables, asked[0][1].domain, progress, keep_times=True, keep_labels=True, unit=unit)
    return Split(training, target, of_two_tables=True)


def _traces_of(
    tables: Sequence[EventTable],
    domain: Domain | None,
    progress: Progress | None,
    *,
    keep_times: bool = False,
    keep_labels: bool = False,
    unit: str | None = None,
) -> list[Traces]:
    """Return the traces of tables, with the same numbers of users and events in all tables."""
    count = sum(not column.timed for column in tables[0].columns) - 1
    owners, names, whens, ends = _Names(), [_Names() for _ in range(count)], [], [0]
    total, done = sum(rows.count for rows in tables), 0
    for rows in tables:
        times = []
        for users, *others in prefetched(rows.batches()):
            owners.add(users)
            for table, column in zip(names, others[:count], strict=True):
                table.add(column)
            times += others[count:]
            done += len(users)
            if progress is not None:
                progress(done, total)
        ends.append(done)
        kind = np.float64 if rows.kinds.get("times") == "floats" else np.int64
        timed_rows = any(column.timed for column in rows.columns)
        whens.append(np.concatenate([np.empty(0, kind), *times]) if timed_rows else None)
        # They exist once more, as one array.
        times.clear()
    (people, who), (codes, labels) = owners.numbers(), _paired([table.numbers() for table in names])
    count = len(labels)
    if domain is not None:
        codes, count = _codes(domain, labels, tables)[codes], domain.size
    # Otherwise Arrow would keep the memory of the readers while the traces are processed.
    pa.default_memory_pool().release_unused()
    return [
        Traces.of_numbers(
            (people[start:stop], len(who)),
            (codes[start:stop], count),
            when,
            keep_times=keep_times,
            left_out=rows.count - (stop - start),
            names=who,
            labels=pa.array(labels) if keep_labels and domain is None else None,
            unit=DATES if rows.kinds.get("times", "").startswith("dates") else unit,
        )
        for rows, when, start, stop in zip(tables, whens, ends, ends[1:], strict=False)
    ]


def _paired(columns: Sequence[tuple[AnyArray, Any]]) -> tuple[AnyArray, Any]:
    """Return the codes and labels of one column of events, or of the pairs of two; labels of pairs are structs."""
    codes, labels = columns[0]
    if len(columns) == 1:
        return codes, labels
    table, others = KeyTable(), columns[1]
    codes = table.number(codes.astype(np.int64) * len(others[1]) + others[0])
    rows = np.divmod(table.column(), max(len(others[1]), 1))
    parts = [pa.array(names).take(pa.array(row)) for names, row in zip((labels, others[1]), rows, strict=True)]
    return codes, pa.StructArray.from_arrays(parts, ["first", "second"])


def _codes(domain: Domain, names: Any, tables: Sequence[EventTable]) -> AnyArray:
    """Return the domain's codes of the numbered names."""
    if not len(names):
        return np.empty(0, np.int32)
    codes = domain.space.encode(names)
    if codes.min() < 0:
        for rows in tables:
            rows.examine()
        raise changed()
    return codes.astype(np.int32)
