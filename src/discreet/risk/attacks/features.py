"""Features of traces: keys of events and steps with their counts, a part of the users at a time.

Keys of probes are numbered first; keys of candidates that no probe has are dropped.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from discreet.arrays import AnyArray, IntArray
from discreet.errors import DataError
from discreet.risk.traces import Traces

if TYPE_CHECKING:
    from discreet.risk.kernels.events import KeyTable
    from discreet.risk.kernels.matching import Problem

UNIT = 2.0**-20
"""Of a weight: scores of the Markov model and of visits are multiples of it, in nats."""

_EVENTS_PER_PART = 1 << 21

Keys = Callable[[Traces], IntArray]
"""The ``(m,)`` keys of the events of traces."""


@dataclass(frozen=True, slots=True, eq=False)
class KeyCounts:
    """The different keys of each row, ascending, with their counts."""

    offsets: IntArray
    keys: IntArray
    counts: AnyArray

    @classmethod
    def of(cls, traces: Traces, keys: Keys) -> "KeyCounts":
        """Return the keys of each user's trace with their counts."""
        from discreet.risk.kernels.events import count_keys

        return cls(*count_keys(traces.offsets, keys(traces)))


def events_of(traces: Traces) -> IntArray:
    """Return the events themselves as keys."""
    return traces.events.astype(np.int64)


def first_and_steps(traces: Traces) -> IntArray:
    """Return keys of the first event of each user and of their steps from one event to the next."""
    from discreet.risk.kernels.events import transitions

    return transitions(traces.offsets, traces.events, traces.event_count, start=True)


def steps(traces: Traces) -> IntArray:
    """Return keys of each user's steps; the first event does not count."""
    from discreet.risk.kernels.events import transitions

    return transitions(traces.offsets, traces.events, traces.event_count, start=False)


def parts(traces: Traces) -> Iterator[Traces]:
    """Yield the traces of consecutive users, with few events in each part, or one user."""
    start, offsets = 0, traces.offsets
    while start < traces.users:
        most = offsets[start] + _EVENTS_PER_PART
        stop = max(int(np.searchsorted(offsets, most, side="right")) - 1, start + 1)
        events = traces.events[offsets[start] : offsets[stop]]
        yield Traces(offsets[start : stop + 1] - offsets[start], events, traces.event_count)
        start = stop


Entries = tuple[IntArray, AnyArray, AnyArray]
"""Offsets, features and ``(m,)`` weights of rows."""


@dataclass(frozen=True, slots=True, eq=False)
class Probes:
    """The probes of a split: their users and their features.

    Attributes:
        users: ``(probes,)`` users with a probe.
        offsets: ``(probes + 1,)``; the features of probe i are offsets[i] .. offsets[i + 1] - 1.
        features: ``(m,)`` numbers of the keys.
        counts: ``(m,)`` weights.
        size: number of different keys.
    """

    users: IntArray
    offsets: IntArray
    features: AnyArray
    counts: AnyArray
    size: int

    @classmethod
    def of(cls, target: Traces, keys: Keys) -> "tuple[Probes, KeyTable]":
        """Return the probes: one for every user with an event, features numbered.

        Returns:
            The probes, and the table of their keys, which is larger than they are.

        Raises:
            DataError: if nobody has one.
        """
        from discreet.risk.kernels.events import KeyTable

        users, table = np.flatnonzero(target.lengths), KeyTable()
        if not len(users):
            raise DataError("no user has an event in the target; split the traces elsewhere.")
        rows = _Gathered()
        for part in parts(target):
            counted = KeyCounts.of(part, keys)
            rows.add(np.diff(counted.offsets), table.number(counted.keys), counted.counts)
        offsets, features, counts = rows.joined()
        return cls(users, np.append(offsets[users], offsets[-1]), features, counts, table.size), table

    def problem(self, candidates: int, constants: IntArray, known: Sequence[Entries]) -> "Problem":
        """Return the integer problem, without features that no candidate has."""
        from discreet.risk.kernels.events import invert
        from discreet.risk.kernels.matching import Problem

        had = np.zeros(self.size, np.bool_)
        for _, features, _ in known:
            had[features] = True
        # Fewer than 2^31, as the features are.
        ranks = np.cumsum(had, dtype=np.int32) - np.int32(1)
        index = invert(int(np.count_nonzero(had)), [(rows, ranks[features], each) for rows, features, each in known])
        places = np.flatnonzero(had[self.features])
        queries = np.searchsorted(places, self.offsets), ranks[self.features[places]], self.counts[places]
        return Problem(self.users, candidates, constants, index, queries)


class Known:
    """The features of candidates, restricted to those of probes."""

    def __init__(self, table: "KeyTable") -> None:
        self._table: KeyTable | None = table
        self._rows = _Gathered()

    def add(self, rows: KeyCounts, weights: AnyArray) -> None:
        """Add the users who come next, with whole weights, of which those below 1 do not count."""
        assert self._table is not None
        features = self._table.find(rows.keys)
        places = np.flatnonzero((features >= 0) & (weights > 0))
        self._rows.add(np.diff(np.searchsorted(places, rows.offsets)), features[places], weights[places])

    def joined(self) -> Entries:
        """Return ``(users + 1,)`` offsets, features and weights of all candidates; this ends the adding."""
        self._table = None
        return self._rows.joined()


@dataclass(slots=True, eq=False)
class _Gathered:
    """Rows that come some at a time."""

    lengths: list[IntArray] = field(default_factory=list)
    features: list[AnyArray] = field(default_factory=list)
    weights: list[AnyArray] = field(default_factory=list)

    def add(self, lengths: IntArray, features: AnyArray, weights: AnyArray) -> None:
        self.lengths.append(lengths)
        self.features.append(features)
        self.weights.append(weights.astype(np.int32))

    def joined(self) -> Entries:
        """Return ``(rows + 1,)`` offsets, features and weights, and forget them."""
        lengths, features = np.concatenate(self.lengths), np.concatenate(self.features)
        self.features.clear()
        weights = np.concatenate(self.weights)
        self.weights.clear()
        return np.append(0, np.cumsum(lengths)), features, weights
