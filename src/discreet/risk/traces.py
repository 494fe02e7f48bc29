"""Traces: the events of users as codes, in order of time, and splits into known (training) and target events.

Traces read from files have the names of their users, but never print them. Splits are also available by text: half,
all, first:N and rest:N.
"""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import pyarrow as pa

from discreet.arrays import AnyArray, IntArray, read_only
from discreet.core import columns
from discreet.core.checks import checked_whole
from discreet.core.domain import Domain
from discreet.errors import DataError, ParameterError
from discreet.risk.clock import DATES, unit_of
from discreet.risk.identifiers import identifier_codes
from discreet.risk.kernels.events import copy_rows, group, order_rows

_MOST = (1 << 31) - 1


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Traces:
    """The events of each user, one user after the other.

    Attributes:
        offsets: ``(n + 1,)`` int64, ascending from 0; the events of user i are offsets[i] .. offsets[i + 1] - 1.
        events: ``(m,)`` codes 0..d - 1, int32 unless they were coded before.
        event_count: d, the number of possible events.
        times: ``(m,)`` numbers in ascending order within a user; None if only the order is known.
        left_out: number of rows of the source table omitted for missing values.
        names: ``(n,)`` names of the users in Arrow, which are never printed; None if only the caller has them.
        labels: ``(d,)`` labels of the events in the table, in Arrow; None if only the caller has them.
        unit: the unit of the times, one of `discreet.risk.clock.UNITS`; "unknown" if the times do not settle it.

    Example:
        >>> users = ["u1", "u2", "u1", "u2", "u1"]
        >>> places = ["park", "mall", "cafe", "mall", "park"]
        >>> traces = Traces.of(users, places, times=[3, 1, 2, 4, 5])
        >>> traces, traces.events.tolist()
        (Traces(2 users, 5 events, 3 different, timed), [2, 0, 0, 1, 1])
        >>> traces.with_least(3).users
        1
    """

    offsets: IntArray
    events: AnyArray
    event_count: int
    times: AnyArray | None = None
    left_out: int = 0
    names: Any = None
    labels: Any = None
    unit: str | None = None

    def __post_init__(self) -> None:
        """Check the columns, and make them read-only.

        Raises:
            DataError: if offsets, events and times have inconsistent sizes.
            ParameterError: if the unit is unknown.
        """
        offsets, events = np.asarray(self.offsets), np.asarray(self.events)
        if offsets.ndim != 1 or not len(offsets) or offsets.dtype != np.int64 or events.ndim != 1:
            raise DataError("traces.wrong-arrays")
        if offsets[0] != 0 or offsets[-1] != len(events) or (np.diff(offsets) < 0).any():
            raise DataError("traces.wrong-offsets", events_count=len(events))
        if max(len(offsets) - 1, self.event_count) > _MOST:
            raise DataError("traces.too-large", most=_MOST)
        if events.dtype.kind not in "iu" or (
            len(events) and not (events.min() >= 0 and events.max() < self.event_count)
        ):
            raise DataError("traces.wrong-codes", value=self.event_count - 1)
        object.__setattr__(self, "offsets", read_only(offsets))
        object.__setattr__(self, "events", read_only(events))
        if self.times is not None:
            times = np.asarray(self.times)
            if times.shape != events.shape:
                raise DataError("traces.wrong-times", events_count=len(events), shape=times.shape)
            object.__setattr__(self, "times", read_only(times))
            object.__setattr__(self, "unit", unit_of(times, self.unit))
        if self.names is not None and len(self.names) != self.users:
            raise DataError("traces.wrong-names", users=self.users, names_count=len(self.names))
        if self.labels is not None and len(self.labels) != self.event_count:
            raise DataError("traces.wrong-labels", event_count=self.event_count, labels_count=len(self.labels))

    def __repr__(self) -> str:
        more = "" if self.times is None else ", timed"
        more += f", {self.left_out} rows left out" if self.left_out else ""
        return f"Traces({self.users} users, {len(self)} events, {self.event_count} different{more})"

    def __len__(self) -> int:
        return len(self.events)

    @property
    def users(self) -> int:
        """n, the number of users; some may have no event."""
        return len(self.offsets) - 1

    @property
    def lengths(self) -> IntArray:
        """``(n,)`` numbers of events per user."""
        return np.diff(self.offsets)

    @classmethod
    def of(
        cls, users: Any, events: Any, times: Any = None, *, domain: Domain | None = None, unit: str | None = None
    ) -> Self:
        """Return the traces for columns of users, events and times.

        Args:
            users: ``(m,)`` integers or text, in any order: NumPy, pandas, polars, Arrow or a sequence. Users are
                numbered in order of first occurrence.
            events: ``(m,)`` integers or text, likewise.
            times: ``(m,)`` numbers or dates that order each user's events; equal times keep the order of the rows.
                Dates are stored in nanoseconds. None if the rows are in order.
            domain: the domain of the events, which gives the codes; None to number events in order of first occurrence.
            unit: the unit of times that are numbers: s, ms, us, ns, min, h, d, excel (days since 1900) or order; None
                if all times lie between 1990 and 2100 in one of the first four.

        Raises:
            DataError: if a value is missing or of a wrong type, or the columns differ in length.
            ParameterError: if the unit is unknown.
        """
        owners, n = identifier_codes(users, "users")
        codes, d = (
            identifier_codes(events, "events")
            if domain is None
            else (domain.encode(events).astype(np.int32), domain.size)
        )
        whens, dated = (None, False) if times is None else _instants(times)
        return cls.of_numbers((owners, n), (codes, d), whens, unit=DATES if dated else unit)

    @classmethod
    def of_numbers(
        cls,
        users: tuple[AnyArray, int],
        events: tuple[AnyArray, int],
        times: AnyArray | None = None,
        *,
        keep_times: bool = True,
        left_out: int = 0,
        names: Any = None,
        labels: Any = None,
        unit: str | None = None,
    ) -> Self:
        """Return the traces for numbered users and events.

        Args:
            users: ``(m,)`` numbers 0..n - 1, and n.
            events: ``(m,)`` codes 0..d - 1, and d.
            times: ``(m,)`` comparable times that order each user's events; None if the rows are in order.
            keep_times: whether the traces keep the times.
            left_out: number of omitted rows of the source table.
            names: ``(n,)`` names of the users by number, in Arrow; None for no names.
            labels: ``(d,)`` labels of the events by code, in Arrow; None for no labels.
            unit: as for `of`.

        Raises:
            DataError: if the columns differ in length.

        Example:
            >>> Traces.of_numbers(([0, 1, 0], 2), ([2, 0, 1], 3)).events.tolist()
            [2, 1, 0]
        """
        (owners, n), (codes, d) = users, events
        lengths = {len(column) for column in (owners, codes, times) if column is not None}
        if len(lengths) > 1:
            raise DataError("traces.different-lengths", sorted=sorted(lengths))
        offsets, places = group(np.asarray(owners), n)
        if times is not None:
            order_rows(offsets, places, times)
        whens = times[places] if times is not None and keep_times else None
        return cls(offsets, np.asarray(codes)[places], d, whens, left_out, names, labels, unit)

    @classmethod
    def from_table(
        cls,
        table: Any,
        *,
        user: str,
        event: str,
        time: str | None = None,
        domain: Domain | None = None,
        unit: str | None = None,
    ) -> Self:
        """Return the traces for a table with a row per event.

        Args:
            table: a frame, an Arrow table or a mapping from names to columns.
            user: the column of users.
            event: the column of events.
            time: the column of times, if any.
            domain: as for `of`.
            unit: as for `of`.

        Raises:
            DataError: if a column is missing, and as for `of`.
        """
        named = {"user": user, "event": event, "time": time}
        arrays = [None if name is None else columns.named(table, name, which) for which, name in named.items()]
        return cls.of(*arrays, domain=domain, unit=unit)

    def select(self, users: Any) -> Self:
        """Return the traces of some users, given as ``(k,)`` codes or ``(n,)`` booleans, in that order.

        Raises:
            DataError: if there is no user with one of the codes.
        """
        chosen = np.asarray(users)
        chosen = np.flatnonzero(chosen) if chosen.dtype == np.bool_ else chosen.astype(np.int64)
        if len(chosen) and not (chosen.min() >= 0 and chosen.max() < self.users):
            raise DataError("traces.unknown-users", value=self.users - 1)
        cut = self._cut(self.offsets[chosen], self.offsets[chosen + 1])
        return cut if self.names is None else replace(cut, names=self.names.take(pa.array(chosen)))

    def with_least(self, events: int) -> Self:
        """Return the traces of users with at least this number of events."""
        return self.select(self.lengths >= events)

    def first(self, events: int) -> Self:
        """Return at most this number of first events of each user."""
        starts = self.offsets[:-1]
        return self._cut(starts, np.minimum(starts + checked_whole("events", events, 0), self.offsets[1:]))

    def after(self, events: int) -> Self:
        """Return each user's events after this number of first events."""
        stops = self.offsets[1:]
        return self._cut(np.minimum(self.offsets[:-1] + checked_whole("events", events, 0), stops), stops)

    def only(self, rows: Any) -> Self:
        """Return the events in rows selected by ``(m,)`` booleans; users may have no event left.

        Example:
            >>> Traces.of(["u1", "u1", "u2"], ["park", "cafe", "mall"]).only(np.array([True, False, False]))
            Traces(2 users, 1 events, 3 different)
        """
        before = np.append(np.int64(0), np.cumsum(rows, dtype=np.int64))
        times = None if self.times is None else self.times[rows]
        return replace(self, offsets=before[self.offsets], events=self.events[rows], times=times)

    def _cut(self, starts: IntArray, stops: IntArray) -> Self:
        if len(starts) == self.users and (starts == self.offsets[:-1]).all() and (stops == self.offsets[1:]).all():
            # The whole array: it is read-only, so no copy is needed.
            return self
        offsets = np.concatenate([[0], np.cumsum(stops - starts)])
        times = None if self.times is None else copy_rows(self.times, starts, offsets)
        # The caller who selects users selects their names.
        names = self.names if len(starts) == self.users else None
        events = copy_rows(self.events, starts, offsets)
        return type(self)(offsets, events, self.event_count, times, names=names, labels=self.labels, unit=self.unit)


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """A split of traces: training, known to the attacker by user, and target, which the attacker attributes to users.

    Attributes:
        training: the events that the attacker knows by user.
        target: the events to attribute, with the same users and codes.
        of_two_tables: whether the two are separate tables, which may hold the same events.

    Example:
        >>> traces = Traces.of(["u1"] * 4 + ["u2"] * 4, ["park", "cafe"] * 2 + ["mall"] * 4)
        >>> split = Split(traces.first(2), traces.after(2))
        >>> len(split.training), len(split.target)
        (4, 4)
    """

    training: Traces
    target: Traces
    of_two_tables: bool = False

    def __post_init__(self) -> None:
        """Check that both traces have the same users and events.

        Raises:
            DataError: if they have not.
        """
        same = self.training.users == self.target.users and self.training.event_count == self.target.event_count
        if not same:
            raise DataError("split.different-users")


def by_lengths(traces: Traces, known: Any) -> Split:
    """Return the split with the first ``known[i]`` events of user i as training, and the others as target.

    Args:
        traces: events of each user.
        known: ``(n,)`` numbers of events, at most as many as each user has.

    Example:
        >>> split = by_lengths(Traces.of(["u1"] * 5 + ["u2"] * 2, list("aabab") + list("cc")), [3, 0])
        >>> split.training.lengths.tolist(), split.target.lengths.tolist()
        ([3, 0], [2, 2])
    """
    starts, stops = traces.offsets[:-1], traces.offsets[1:]
    middle = np.minimum(starts + np.asarray(known, dtype=np.int64), stops)
    return Split(traces._cut(starts, middle), traces._cut(middle, stops))


def by_half(traces: Traces) -> Split:
    """Return the split at the middle of each user's events, rounded down; training comes first [PIE, section 5].

    Example:
        >>> split = by_half(Traces.of(["u1"] * 5 + ["u2"] * 2, list("aabab") + list("cc")))
        >>> split.training.lengths.tolist(), split.target.lengths.tolist()
        ([2, 1], [3, 1])
    """
    return by_lengths(traces, traces.lengths // 2)


def by_count(traces: Traces, training: int) -> Split:
    """Return the split with a number of first events of each user as training, and the rest as target.

    Example:
        >>> split = by_count(Traces.of(["u1"] * 5 + ["u2"] * 2, list("aabab") + list("cc")), training=1)
        >>> split.training.lengths.tolist(), split.target.lengths.tolist()
        ([1, 1], [4, 1])
    """
    return Split(traces.first(training), traces.after(training))


def by_time(traces: Traces, time: Any) -> Split:
    """Return the split at a time, in the unit of the traces; an event at that time is in the target.

    Raises:
        DataError: if the traces have no times.

    Example:
        >>> traces = Traces.of(["u1", "u1", "u2", "u2"], list("abcc"), times=[1, 9, 2, 8])
        >>> split = by_time(traces, 5)
        >>> split.training.lengths.tolist(), split.target.lengths.tolist()
        ([1, 1], [1, 1])
    """
    if traces.times is None:
        raise DataError("split.without-times", argument="split")
    when = instants(np.asarray([time]) if np.ndim(time) == 0 else time)[0]
    before = np.concatenate([[0], np.cumsum(traces.times < when)])
    return by_lengths(traces, before[traces.offsets[1:]] - before[traces.offsets[:-1]])


def leave_out(traces: Traces, target: int) -> Split:
    """Return the split with a number of first events of each user as target, and the rest as training.

    Example:
        >>> split = leave_out(Traces.of(["u1"] * 5 + ["u2"] * 2, list("aabab") + list("cc")), target=1)
        >>> split.training.lengths.tolist(), split.target.lengths.tolist()
        ([4, 1], [1, 1])
    """
    return Split(traces.after(target), traces.first(target))


def maximum_knowledge(traces: Traces) -> Split:
    """Return the split with equal training and target: the attacker lacks only the names.

    Example:
        >>> split = maximum_knowledge(Traces.of(["u1", "u2"], ["park", "mall"]))
        >>> split.training is split.target
        True
    """
    return Split(traces, traces)


_MOST_DIGITS = 18


def split_of(traces: Traces, kind: str = "half", *, least: int = 2) -> tuple[Split, str]:
    """Return the split of traces into known events and target events.

    Args:
        traces: events of each user.
        kind: ``"half"`` (the first half of each user's events is known), ``"all"`` (all events are known and target),
            ``"first:N"`` (the first N are known), ``"rest:N"`` (all but the first N) or ``"time:WHEN"`` (events before
            a
            time: a number, or a date such as 2024-01-01 if times are dates).
        least: users with fewer events are omitted, and users with too few for N or none before the time.

    Returns:
        The split, and a description of the attacker's knowledge.

    Raises:
        ParameterError: if the kind is unknown, or fewer than two users are left.

    Example:
        >>> traces = Traces.of(["u1"] * 5 + ["u2"] * 3 + ["u3"], list("aabab") + list("ccb") + ["a"])
        >>> split, knowledge = split_of(traces, "first:2")
        >>> split.training.lengths.tolist(), split.target.lengths.tolist()
        ([2, 2], [3, 1])
        >>> knowledge
        'the first 2 events of each user; the others are attributed'
    """
    how, _, number = kind.partition(":")
    if how == "time" and number:
        split = by_time(traces.with_least(least), _instant(number))
        known = np.flatnonzero(split.training.lengths)
        if len(known) < 2:
            raise ParameterError("split.too-early", argument="split", number=number, known_count=len(known))
        words = f"each user's events before {number}; those from then on are attributed"
        return Split(split.training.select(known), split.target.select(known)), words
    # Not isdigit, which also accepts characters that int does not, such as a superscript.
    count = int(number) if number.isascii() and number.isdecimal() and len(number) <= _MOST_DIGITS else 0
    needed = max(least, count + 1)
    eligible = traces.with_least(needed)
    if eligible.users < 2:
        # A table with one row per person cannot be split.
        advice = "choose a smaller N" if count else "use `split='all'` with `least=1`"
        advice = "use a smaller `least`" if how == "all" or least > max(count + 1, 2) else advice
        raise ParameterError(
            "split.too-few-events", argument="split", needed=needed, users=eligible.users, advice=advice
        )
    if how == "half" and not number:
        return by_half(eligible), "the first half of each user's events; the second half is attributed"
    if how == "all" and not number:
        return maximum_knowledge(eligible), "each user's events themselves; only the names are unknown"
    if how == "first" and count:
        return by_count(eligible, count), f"the first {count} events of each user; the others are attributed"
    if how == "rest" and count:
        return leave_out(eligible, count), f"all but the first {count} events of each user, which are attributed"
    raise ParameterError("split.unknown", argument="split", kind=kind)


def _instant(text: str) -> int | float:
    """Return a time from a number or a date as text; dates are converted to nanoseconds."""
    try:
        return float(text) if "." in text else int(text)
    except ValueError:
        pass
    try:
        return int(np.datetime64(text, "ns").astype(np.int64))
    except ValueError:
        raise ParameterError("split.no-time", argument="split", text=text) from None


def instants(values: Any) -> AnyArray:
    """Return ``(m,)`` int64 or float64 times for comparison; dates are in nanoseconds.

    Raises:
        DataError: if they are neither numbers nor dates, or some are missing.
    """
    return _instants(values)[0]


def _instants(values: Any) -> tuple[AnyArray, bool]:
    """Return times as `instants` does, and whether they are dates."""
    plain = values if hasattr(values, "dtype") or hasattr(values, "__arrow_c_stream__") else np.asarray(values)
    kind = getattr(getattr(plain, "dtype", None), "kind", "")
    try:
        if kind in "iu" and isinstance(plain, np.ndarray):
            return columns.integers(plain, "times"), False
        array = pa.chunked_array(plain) if hasattr(plain, "__arrow_c_stream__") else pa.array(plain, from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, ValueError, TypeError, OverflowError):
        raise DataError("times.mixed") from None
    columns.refuse_missing(np.asarray(array.is_null(nan_is_null=True)), "times")
    if pa.types.is_null(array.type):
        array = array.cast(pa.int64())
    dated = pa.types.is_date(array.type) or pa.types.is_timestamp(array.type)
    if dated:
        # One unit, so that dates of any type can be compared.
        zone = array.type.tz if pa.types.is_timestamp(array.type) else None
        try:
            array = array.cast(pa.timestamp("ns", tz=zone))
        except pa.ArrowInvalid:
            raise DataError("times.out-of-range") from None
    elif pa.types.is_time32(array.type):
        array = array.cast(pa.int32())
    if pa.types.is_temporal(array.type) and not pa.types.is_interval(array.type):
        array = array.cast(pa.int64())
    if array.type == pa.uint64():
        return columns.integers(array, "times"), False
    if not (pa.types.is_integer(array.type) or pa.types.is_floating(array.type)):
        raise DataError("times.wrong-type", type=array.type)
    kind = np.int64 if pa.types.is_integer(array.type) else np.float64
    return np.asarray(array).astype(kind, copy=False), dated
