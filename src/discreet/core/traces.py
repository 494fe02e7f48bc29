"""Traces: the events of users in order of time, and splits into training and target.

Traces hold users and events as codes only; their names stay with the caller.
"""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from discreet.arrays import AnyArray, IntArray, frozen
from discreet.core.checks import checked_whole
from discreet.core.domain import Domain
from discreet.core.event_columns import instants, named, numbered
from discreet.errors import DataError

_MOST = (1 << 31) - 1


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Traces:
    """The events of each user, one user after the other.

    Attributes:
        offsets: ``(n + 1,)`` int64, ascending from 0; the events of user i are offsets[i] .. offsets[i + 1] - 1.
        events: ``(m,)`` codes 0..d - 1, int32 if they were not coded before.
        event_count: d, how many different events there may be.
        times: ``(m,)`` numbers that do not fall within a user, in any unit; None if only the order is known.
        left_out: number of rows of the source table left out for missing values.

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

    def __post_init__(self) -> None:
        """Refuse invalid columns, and make them read-only.

        Raises:
            DataError: if offsets, events and times do not fit together.
        """
        offsets, events = np.asarray(self.offsets), np.asarray(self.events)
        if offsets.ndim != 1 or not len(offsets) or offsets.dtype != np.int64 or events.ndim != 1:
            raise DataError("traces need (n + 1,) int64 offsets and (m,) events.")
        if offsets[0] != 0 or offsets[-1] != len(events) or (np.diff(offsets) < 0).any():
            raise DataError(f"offsets must rise from 0 to the number of events, {len(events)}.")
        if max(len(offsets) - 1, self.event_count) > _MOST:
            raise DataError(f"at most {_MOST} users and {_MOST} different events are taken.")
        if events.dtype.kind not in "iu" or (
            len(events) and not (events.min() >= 0 and events.max() < self.event_count)
        ):
            raise DataError(f"events must be integer codes in 0..{self.event_count - 1}.")
        object.__setattr__(self, "offsets", frozen(offsets))
        object.__setattr__(self, "events", frozen(events))
        if self.times is not None:
            times = np.asarray(self.times)
            if times.shape != events.shape:
                raise DataError(f"times must be one per event, {len(events)}, got shape {times.shape}.")
            object.__setattr__(self, "times", frozen(times))

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
        """``(n,)`` numbers of events of the users."""
        return np.diff(self.offsets)

    @classmethod
    def of(cls, users: Any, events: Any, times: Any = None, *, domain: Domain | None = None) -> Self:
        """Return the traces of columns of users, events and times.

        Args:
            users: ``(m,)`` integers or text, in any order: NumPy, pandas, polars, Arrow or a sequence. Users are
                numbered as they first come.
            events: ``(m,)`` the same.
            times: ``(m,)`` numbers or dates by which each user's events are ordered; equal ones stay in the order of
                the rows. Dates are kept in nanoseconds. None if the rows are in order.
            domain: what the events are values of, so that they get its codes; None to number them as they first come.

        Raises:
            DataError: if something is missing or not of its kind, or the columns differ in length.
        """
        from discreet.kernels.traces.events import group, order_rows

        owners, n = numbered(users, "users")
        codes, d = (
            numbered(events, "events") if domain is None else (domain.encode(events).astype(np.int32), domain.size)
        )
        whens = None if times is None else instants(times)
        lengths = {len(column) for column in (owners, codes, whens) if column is not None}
        if len(lengths) > 1:
            raise DataError(f"users, events and times must be of one length, got lengths {sorted(lengths)}.")
        offsets, places = group(owners, n)
        if whens is not None:
            order_rows(offsets, places, whens)
        return cls(offsets, codes[places], d, None if whens is None else whens[places])

    @classmethod
    def from_table(
        cls, table: Any, *, user: str, event: str, time: str | None = None, domain: Domain | None = None
    ) -> Self:
        """Return the traces of a table with a row per event.

        Args:
            table: a frame, an Arrow table or a mapping: what gives a column for its name.
            user: the column of users.
            event: the column of events.
            time: the column of times, if any.
            domain: as for `of`.

        Raises:
            DataError: if a column is not there, and as `of`.
        """
        found = [None if name is None else named(table, name) for name in (user, event, time)]
        return cls.of(*found, domain=domain)

    def select(self, users: Any) -> Self:
        """Return the traces of some users, ``(k,)`` codes or ``(n,)`` booleans, in that order.

        Raises:
            DataError: if a code is that of no user.
        """
        chosen = np.asarray(users)
        chosen = np.flatnonzero(chosen) if chosen.dtype == np.bool_ else chosen.astype(np.int64)
        if len(chosen) and not (chosen.min() >= 0 and chosen.max() < self.users):
            raise DataError(f"users must be codes in 0..{self.users - 1}.")
        return self._cut(self.offsets[chosen], self.offsets[chosen + 1])

    def with_least(self, events: int) -> Self:
        """Return the traces of users with at least this number of events."""
        return self.select(self.lengths >= events)

    def first(self, events: int) -> Self:
        """Return the first events of each user, up to a number."""
        starts = self.offsets[:-1]
        return self._cut(starts, np.minimum(starts + checked_whole("events", events, 0), self.offsets[1:]))

    def after(self, events: int) -> Self:
        """Return the events of each user after a number of first ones."""
        stops = self.offsets[1:]
        return self._cut(np.minimum(self.offsets[:-1] + checked_whole("events", events, 0), stops), stops)

    def _cut(self, starts: IntArray, stops: IntArray) -> Self:
        from discreet.kernels.traces.events import copy_rows

        if len(starts) == self.users and (starts == self.offsets[:-1]).all() and (stops == self.offsets[1:]).all():
            # All of it: nobody can write to it, so it need not be there twice.
            return self
        offsets = np.concatenate([[0], np.cumsum(stops - starts)])
        times = None if self.times is None else copy_rows(self.times, starts, offsets)
        return type(self)(offsets, copy_rows(self.events, starts, offsets), self.event_count, times)


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """A split of traces: training, which the attacker knows by name, and target, which it attributes.

    Attributes:
        training: the events that the attacker knows by name.
        target: the events of unknown origin; of the same users, in the same codes.

    Example:
        >>> traces = Traces.of(["u1"] * 4 + ["u2"] * 4, ["park", "cafe"] * 2 + ["mall"] * 4)
        >>> split = Split(traces.first(2), traces.after(2))
        >>> len(split.training), len(split.target)
        (4, 4)
    """

    training: Traces
    target: Traces

    def __post_init__(self) -> None:
        """Refuse traces of different users or events.

        Raises:
            DataError: if it is so.
        """
        same = self.training.users == self.target.users and self.training.event_count == self.target.event_count
        if not same:
            raise DataError("training and target must be about the same users and events, in the same codes.")


def by_half(traces: Traces) -> Split:
    """Return the split at the middle of each user's events, rounded down; training comes first [PIE, section 5].

    Example:
        >>> split = by_half(Traces.of(["u1"] * 5 + ["u2"] * 2, list("aabab") + list("cc")))
        >>> split.training.lengths.tolist(), split.target.lengths.tolist()
        ([2, 1], [3, 1])
    """
    starts, lengths = traces.offsets[:-1], traces.lengths
    middle = starts + lengths // 2
    return Split(traces._cut(starts, middle), traces._cut(middle, starts + lengths))


def by_count(traces: Traces, training: int) -> Split:
    """Return the split with a number of first events of each user as training.

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
        raise DataError("these traces have no times; give some to Traces.of.")
    when = instants(np.asarray([time]) if np.ndim(time) == 0 else time)[0]
    before = np.concatenate([[0], np.cumsum(traces.times < when)])
    middle = traces.offsets[:-1] + before[traces.offsets[1:]] - before[traces.offsets[:-1]]
    return Split(traces._cut(traces.offsets[:-1], middle), traces._cut(middle, traces.offsets[1:]))


def leave_out(traces: Traces, target: int) -> Split:
    """Return the split with a number of first events of each user as target, and the rest as training.

    Example:
        >>> split = leave_out(Traces.of(["u1"] * 5 + ["u2"] * 2, list("aabab") + list("cc")), target=1)
        >>> split.training.lengths.tolist(), split.target.lengths.tolist()
        ([4, 1], [1, 1])
    """
    return Split(traces.after(target), traces.first(target))


def maximum_knowledge(traces: Traces) -> Split:
    """Return the split whose training is the target: the attacker lacks only the names.

    Example:
        >>> split = maximum_knowledge(Traces.of(["u1", "u2"], ["park", "mall"]))
        >>> split.training is split.target
        True
    """
    return Split(traces, traces)
