"""Tables of events, and the traces they hold.

Numbers for names of users and events, in the order of first occurrence, a batch at a time.

EventTable of users, events and times in files of tables, of the same kinds in all files.

Traces from files of tables, in little more memory than the traces take.

Files with the rows of each user together, in order, are read once. Others are read twice: first for the number of
events of each user, then to put every event in its place.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from discreet.arrays import AnyArray, IntArray
from discreet.core import columns
from discreet.core.arrow import array_of, flags_of
from discreet.core.checks import checked_choice
from discreet.core.columns import OUTSIDE
from discreet.core.domain import Domain
from discreet.core.traces import Traces, instants, missing_rows, spelled
from discreet.errors import DataError, DiscreetError
from discreet.files.paths import File, file_of
from discreet.files.reading import Progress, Source, prefetched, readable
from discreet.kernels import events
from discreet.tables.columns import check_once
from discreet.tables.scan import TableScan, is_text, scan, table_files
from discreet.tables.text import ANYTHING, NAMES, Cells, Kind, cells_of, columns_of
from discreet.tables.values import Defect


class Vocabulary(Protocol):
    """A table of names and their numbers, 0.. in the order of first occurrence."""

    @property
    def size(self) -> int:
        """Number of different names."""
        ...

    def number(self, column: Any) -> AnyArray:
        """Return the ``(m,)`` int32 numbers of a column, after adding its new names."""
        ...

    def column(self) -> Any:
        """Return the names in the order of their numbers."""
        ...


class TextVocabulary:
    """A table of texts and their numbers: 8 bytes per text for its offset, and about 11 for the search."""

    def __init__(self) -> None:
        self.size = 0
        self._slots = np.full(events.SMALLEST, events.ABSENT, np.int64)
        self._starts = np.zeros(events.FIRST_ROOM + 1, np.int64)
        self._letters = np.empty(events.SMALLEST, np.uint8)

    def number(self, column: Any) -> AnyArray:
        """Return the ``(m,)`` int32 numbers of an Arrow column of large strings, or of a dictionary of strings."""
        if not pa.types.is_dictionary(column.type):
            return self._number(column)
        entries, numbers = events.number_entries(np.asarray(column.indices), len(column.dictionary))
        return self._number(column.dictionary.take(pa.array(entries)).cast(pa.large_string()))[numbers]

    def _number(self, column: Any) -> AnyArray:
        offsets, letters = _spelled(column)
        numbers, done = np.empty(len(column), np.int32), 0
        while done < len(column):
            known = self._starts, self._letters
            more, self.size = events.number_texts(
                (offsets[done:], letters), self._slots, known, self.size, numbers[done:]
            )
            done += more
            if done < len(column):
                self._grow(int(offsets[done + 1] - offsets[done]))
        return numbers

    def _grow(self, text: int) -> None:
        used = int(self._starts[self.size])
        if used + text > len(self._letters):
            self._letters = events.widened(self._letters, used, 2 * used + text)
        if self.size == len(self._starts) - 1:
            old, slots = self._slots, 2 * len(self._slots)
            self._starts = events.widened(self._starts, self.size + 1, events.room(slots) + 1)
            self._slots = np.full(slots, events.ABSENT, np.int64)
            events.refill_texts(self._slots, old)

    def column(self) -> Any:
        """Return the ``(size,)`` names, in Arrow."""
        offsets = self._starts[: self.size + 1]
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(self._letters[: offsets[-1]])]
        return pa.Array.from_buffers(pa.large_string(), self.size, buffers)


def _spelled(column: Any) -> tuple[IntArray, AnyArray]:
    """Return the ``(m + 1,)`` offsets and the bytes of large strings, without a copy."""
    _, offsets, letters = column.buffers()
    if not len(column):
        return np.zeros(1, np.int64), np.empty(0, np.uint8)
    starts = np.frombuffer(offsets, np.int64, len(column) + 1, column.offset * 8)
    return starts, np.empty(0, np.uint8) if letters is None else np.frombuffer(letters, np.uint8)


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


_SMALLEST = 1 << 10
_RECODED = 1 << 20


def read_traces(
    sources: str | Path | Sequence[str | Path],
    *,
    user: str,
    event: str,
    time: str | None = None,
    domain: Domain | None = None,
    keep_times: bool = False,
    missing: str = "refuse",
    progress: Progress | None = None,
) -> Traces:
    """Return the traces of tables in files, equal to `Traces.from_table` of all rows.

    Memory holds the traces, the different users and events, and, where rows are not in order, 4 or 8 bytes per event
    for the times.

    Args:
        sources: files of tables (.parquet, .arrow, .csv, .jsonl) and folders of such files; the rows of one follow
            those of the one before.
        user: the column of users: integers or text, the same in all files.
        event: the column of events, likewise.
        time: the column of times by which each user's events are ordered, numbers or dates; None if the rows are in
            order.
        domain: as for `Traces.of`.
        keep_times: whether the traces keep the times; otherwise they only order the events.
        missing: what becomes of rows where a user, an event or a time is missing or empty text: "refuse", or "drop" to
            leave them out; the traces say how many these were.
        progress: called now and then with the rows read and the rows to be read; rows that are read twice count twice.

    Returns:
        The traces that `Traces.of` makes of all rows.

    Raises:
        DataError: if a file is missing or broken, a column is not there or not of its kind, values are missing or not
            in the domain, or files differ in their kinds; it names the file, unless only one was named.
        ParameterError: if tables are not read from such files, or ``missing`` is neither of the two.

    Example:
        >>> from importlib.resources import files
        >>> checkins = files("discreet") / "examples" / "checkins.csv"
        >>> read_traces(checkins, user="user", event="place", time="day")
        Traces(200 users, 3200 events, 140 different)
    """
    checked_choice("missing", missing, ("refuse", "drop"))
    asked = [TraceColumn(user, "users"), TraceColumn(event, "events" if domain is None else "values", domain=domain)]
    asked += [] if time is None else [TraceColumn(time, "times", timed=True)]
    rows = EventTable.of(sources, asked, drop=missing == "drop")
    building = _Building(rows, keep_times and time is not None, progress)
    found = building.in_one_pass()
    if found is None:
        found = building.in_two_passes()
    offsets, events, times = found
    count, left_out = building.events.size, rows.count - len(events)
    if domain is not None:
        _recode(events, _codes(domain, building.events, rows))
        count = domain.size
    del building
    # What reading took would otherwise stay with Arrow while the traces are worked on.
    pa.default_memory_pool().release_unused()
    return Traces(offsets, events, count, times, left_out)


def _codes(domain: Domain, names: "Vocabulary", rows: EventTable) -> AnyArray:
    """Return the domain's codes of names, by number."""
    codes = domain.space.encode(names.column())
    if len(codes) and codes.min() < 0:
        rows.examine()
        raise changed()
    return codes.astype(np.int32)


def _recode(events: AnyArray, codes: AnyArray) -> None:
    for start in range(0, len(events), _RECODED):
        events[start : start + _RECODED] = codes[events[start : start + _RECODED]]


_Found = tuple[IntArray, AnyArray, AnyArray | None]


@dataclass(eq=False)
class _Building:
    """Traces under construction.

    Attributes:
        rows: of the files.
        keep_times: whether they are kept.
        progress: called after each batch.
    """

    rows: EventTable
    keep_times: bool
    progress: Progress | None

    def __post_init__(self) -> None:
        self.users, self.events = self._names("users"), self._names(self.rows.columns[1].wanted)
        self._done, self._total = 0, self.rows.count

    def _names(self, wanted: str) -> "Vocabulary":
        from discreet.kernels.events import KeyTable

        return KeyTable() if self.rows.kinds.get(wanted) == "integers" else TextVocabulary()

    def _read(self, *chosen: TraceColumn) -> Any:
        for batch in prefetched(self.rows.batches(*chosen)):
            yield batch
            self._done += len(batch[0])
            if self.progress is not None:
                self.progress(self._done, self._total)

    def in_one_pass(self) -> _Found | None:
        """Return offsets, events and times of ordered rows; None if rows are not in order."""
        tracked, events = _Tracked(), np.empty(self.rows.count, np.int32)
        times: AnyArray | None = None
        place, last = 0, 0
        for users, names, *timed in self._read(*self.rows.columns):
            owners = self.users.number(users)
            # Users are numbered as they come: if each one's rows lie together, the numbers never fall.
            if owners[0] < last or (np.diff(owners) < 0).any():
                return None
            tracked.add(owners, self.users.size, *timed)
            if not tracked.rising:
                return None
            last, stop = owners[-1], place + len(owners)
            events[place:stop] = self.events.number(names)
            if self.keep_times:
                times = np.empty(len(events), timed[0].dtype) if times is None else times
                times[place:stop] = timed[0]
            place = stop
        # Shorter where rows were left out.
        events, times = (
            events[:place].copy() if place < len(events) else events,
            None if times is None else times[:place],
        )
        return tracked.offsets(self.users.size), events, self._kept(times)

    def _kept(self, times: AnyArray | None) -> AnyArray | None:
        kind = np.float64 if self.rows.kinds.get("times") == "floats" else np.int64
        return np.empty(0, kind) if times is None and self.keep_times else times

    def in_two_passes(self) -> _Found:
        """Return offsets, events and times in two passes: first counts of events, then their places."""
        from discreet.kernels.events import order_events

        user, event, *time = self.rows.columns
        self._total, tracked, clock = self._done + 2 * self.rows.count, _Tracked(), _Clock()
        for users, *timed in self._read(user, *time):
            tracked.add(self.users.number(users), self.users.size, *timed)
            if timed:
                clock.add(timed[0])
        offsets = tracked.offsets(self.users.size)
        used = time if self.keep_times or not tracked.rising else []
        events, times = self._placed(offsets, clock, user, event, *used)
        if times is not None and not tracked.rising:
            order_events(offsets, events, times)
        return offsets, events, times if self.keep_times else None

    def _placed(self, offsets: IntArray, clock: "_Clock", *chosen: TraceColumn) -> tuple[AnyArray, AnyArray | None]:
        from discreet.kernels.events import take_places

        events = np.empty(offsets[-1], np.int32)
        times: AnyArray | None = None
        next_place, stops = offsets[:-1].copy(), offsets[1:]
        for users, names, *timed in self._read(*chosen):
            whens = [one if self.keep_times else clock.narrowed(one) for one in timed]
            owners = self.users.number(users)
            places = np.empty(len(owners), np.int64)
            if self.users.size > len(stops) or not take_places(owners, next_place, stops, places):
                raise changed()
            events[places] = self.events.number(names)
            for when in whens:
                times = np.empty(len(events), when.dtype) if times is None else times
                times[places] = when
        return events, times


class _Tracked:
    """Running numbers of events by user, and whether times rise."""

    def __init__(self) -> None:
        self.rising = True
        self._counts = np.zeros(_SMALLEST, np.int64)
        self._latest: AnyArray | None = None

    def add(self, owners: AnyArray, users: int, times: AnyArray | None = None) -> None:
        """Add rows: whose they are, how many users there are so far, and perhaps when."""
        from discreet.kernels.events import rises_in_rows

        self._counts = _roomy(self._counts, users, 0)
        np.add.at(self._counts, owners, 1)
        if times is None or not self.rising:
            return
        lowest = -np.inf if times.dtype.kind == "f" else np.iinfo(times.dtype).min
        latest = np.full(_SMALLEST, lowest, times.dtype) if self._latest is None else self._latest
        self._latest = _roomy(latest, users, lowest)
        self.rising = rises_in_rows(owners, times, self._latest)

    def offsets(self, users: int) -> IntArray:
        """Return the ``(users + 1,)`` offsets of the users' events."""
        offsets = np.zeros(users + 1, np.int64)
        np.cumsum(self._counts[:users], out=offsets[1:])
        return offsets


class _Clock:
    """Times in 4 bytes where their range in whole steps fits; they are only compared.

    Dates come in nanoseconds, and most of them are whole seconds or days.
    """

    def __init__(self) -> None:
        self._some: int | None = None
        self._low, self._high, self._step, self._narrow = 0, 0, 0, True

    def add(self, times: AnyArray) -> None:
        """Extend the range and the step by a batch of times."""
        if times.dtype.kind == "f" or not self._narrow:
            self._narrow = False
            return
        if self._some is None:
            self._some = self._low = self._high = int(times[0])
        self._low, self._high = min(self._low, int(times.min())), max(self._high, int(times.max()))
        # Differences of 64-bit integers may wrap.
        self._narrow = self._high - self._low < 1 << 63
        if self._narrow:
            steps = times - self._some
            if self._step == 0 or (steps % self._step).any():
                self._step = int(np.gcd.reduce(steps, initial=self._step))
            self._narrow = (self._high - self._low) // max(self._step, 1) < 1 << 32

    def narrowed(self, times: AnyArray) -> AnyArray:
        """Return narrow numbers in the order of times that were added before."""
        return ((times - self._low) // max(self._step, 1)).astype(np.uint32) if self._narrow else times


def _roomy(array: AnyArray, size: int, fill: float) -> AnyArray:
    if size <= len(array):
        return array
    roomy: AnyArray = np.full(2 * size, fill, array.dtype)
    roomy[: len(array)] = array
    return roomy
