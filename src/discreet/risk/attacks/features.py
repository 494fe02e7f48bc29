"""Features of traces: keys of events and steps with their counts, a part of the users at a time.

Keys of probes are numbered first; keys of candidates that no probe has are dropped.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from discreet.arrays import AnyArray, FloatArray, IntArray
from discreet.core.traces import Traces
from discreet.errors import DataError

if TYPE_CHECKING:
    from discreet.kernels.events import KeyTable
    from discreet.kernels.matching import Problem

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
        from discreet.kernels.events import count_keys

        return cls(*count_keys(traces.offsets, keys(traces)))

    def normalised(self, weights: FloatArray) -> IntArray:
        """Return weights divided by the Euclidean norm of their row, in units."""
        # The row of no entries is never asked for its length.
        lengths = np.sqrt(np.add.reduceat(np.append(weights**2, 0.0), self.offsets[:-1]))
        spread = np.repeat(lengths, np.diff(self.offsets))
        shares = np.divide(weights, spread, out=np.zeros_like(weights), where=spread > 0)
        rounded: IntArray = np.rint(shares / UNIT).astype(np.int64)
        return rounded


def events_of(traces: Traces) -> IntArray:
    """Return the events themselves as keys."""
    return traces.events.astype(np.int64)


def first_and_steps(traces: Traces) -> IntArray:
    """Return keys of the first event of each user and of their steps from one event to the next."""
    from discreet.kernels.events import transitions

    return transitions(traces.offsets, traces.events, traces.event_count, start=True)


def steps(traces: Traces) -> IntArray:
    """Return keys of each user's steps; the first event does not count."""
    from discreet.kernels.events import transitions

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


class Visited:
    """The visit counts of users, a part of the users at a time.

    Traces of one part are counted once; more are counted anew whenever they are gone through, and never there at once.
    """

    def __init__(self, traces: Traces) -> None:
        self.traces = traces
        self._only: tuple[Traces, KeyCounts] | None = None

    def __iter__(self) -> Iterator[tuple[Traces, KeyCounts]]:
        """Yield each part, and the counts of its users' events."""
        if self._only is not None:
            yield self._only
            return
        for part in parts(self.traces):
            rows = KeyCounts.of(part, events_of)
            if part.users == self.traces.users:
                self._only = part, rows
            yield part, rows


Weigh = Callable[[KeyCounts], Sequence[AnyArray]]
"""The weights of the entries of some rows, as whole numbers: ``(k,)`` by each matching algorithm that is to count the
same keys; those below 1 do not count."""

Entries = tuple[IntArray, AnyArray, AnyArray]
"""Offsets, features and ``(algorithms, m)`` weights of rows."""


@dataclass(frozen=True, slots=True, eq=False)
class Probes:
    """The probes of a split: their users and their features.

    Attributes:
        users: ``(probes,)`` users with a probe.
        offsets: ``(probes + 1,)``; the features of probe i are offsets[i] .. offsets[i + 1] - 1.
        features: ``(m,)`` numbers of the keys.
        counts: ``(algorithms, m)`` weights.
        size: number of different keys.
    """

    users: IntArray
    offsets: IntArray
    features: AnyArray
    counts: AnyArray
    size: int

    @classmethod
    def of(cls, target: Traces, keys: Keys, weigh: Weigh) -> "tuple[Probes, KeyTable]":
        """Return the probes: one for every user with an event, features numbered.

        Returns:
            The probes, and the table of their keys, which is larger than they are.

        Raises:
            DataError: if nobody has one.
        """
        from discreet.kernels.events import KeyTable

        users, table = np.flatnonzero(target.lengths), KeyTable()
        if not len(users):
            raise DataError("no user has an event in the target; split the traces elsewhere.")
        rows = _Gathered()
        for part in parts(target):
            counted = KeyCounts.of(part, keys)
            rows.add(np.diff(counted.offsets), table.number(counted.keys), weigh(counted))
        offsets, features, counts = rows.joined()
        return cls(users, np.append(offsets[users], offsets[-1]), features, counts, table.size), table

    def problem(self, candidates: int, constants: IntArray, known: Sequence[Entries], which: int = 0) -> "Problem":
        """Return the integer problem of one algorithm, without features that no candidate has."""
        from discreet.kernels.events import invert
        from discreet.kernels.matching import Problem

        had, counts = np.zeros(self.size, np.bool_), self.counts[which]
        for _, features, weights in known:
            had[features[weights[which] > 0]] = True
        # Fewer than 2^31, as the features are; what nobody has by this algorithm has a weight of 0.
        ranks = np.cumsum(had, dtype=np.int32) - np.int32(1)
        entries = [(rows, ranks[features], weights[which]) for rows, features, weights in known]
        index = invert(int(np.count_nonzero(had)), entries)
        places = np.flatnonzero((counts > 0) & had[self.features])
        queries = np.searchsorted(places, self.offsets), ranks[self.features[places]], counts[places]
        return Problem(self.users, candidates, constants, index, queries)


class Known:
    """The features of candidates, restricted to those of probes."""

    def __init__(self, table: "KeyTable") -> None:
        self._table: KeyTable | None = table
        self._rows = _Gathered()

    def add(self, rows: KeyCounts, weights: Sequence[AnyArray]) -> None:
        """Add the users who come next."""
        assert self._table is not None
        features, counting = self._table.find(rows.keys), weights[0] > 0
        for others in weights[1:]:
            counting |= others > 0
        places = np.flatnonzero((features >= 0) & counting)
        chosen = [column[places] for column in weights]
        self._rows.add(np.diff(np.searchsorted(places, rows.offsets)), features[places], chosen)

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

    def add(self, lengths: IntArray, features: AnyArray, weights: Sequence[AnyArray]) -> None:
        self.lengths.append(lengths)
        self.features.append(features)
        self.weights.append(np.stack([column.astype(np.int32) for column in weights]))

    def joined(self) -> Entries:
        """Return ``(rows + 1,)`` offsets, features and ``(algorithms, m)`` weights, and forget them."""
        lengths, features = np.concatenate(self.lengths), np.concatenate(self.features)
        self.features.clear()
        weights = np.concatenate(self.weights, axis=1)
        self.weights.clear()
        return np.append(0, np.cumsum(lengths)), features, weights
