"""Traces from files of tables, in little more memory than the traces take.

Files with the rows of each user together, in order, are read once. Others are read twice: first for the number of
events of each user, then to put every event in its place.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from discreet.arrays import AnyArray, IntArray
from discreet.core.checks import checked_choice
from discreet.core.domain import Domain
from discreet.core.traces import Traces
from discreet.io.event_table import EventTable, TraceColumn, changed
from discreet.io.prefetch import prefetched
from discreet.io.progress import Progress

if TYPE_CHECKING:
    from discreet.io.vocabulary import Vocabulary

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
        from discreet.io.vocabulary import TextVocabulary
        from discreet.kernels.traces.numbering import KeyTable

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
        from discreet.kernels.traces.events import order_events

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
        from discreet.kernels.traces.events import take_places

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
        from discreet.kernels.traces.events import rises_in_rows

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
