"""What traces consist of, counted some users at a time: the keys of all events are never there at once.

The probes come first, and their keys get numbers; of what is known of the users only that is kept which some probe has.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from discreet.arrays import AnyArray, FloatArray, IntArray
from discreet.errors import DataError
from discreet.risk.traces import Traces

if TYPE_CHECKING:
    from discreet.kernels.matching import Problem
    from discreet.kernels.numbering import KeyTable

UNIT = 2.0**-20
"""Of a weight: scores of the Markov model and of visits are multiples of it, in nats."""

_EVENTS_PER_PART = 1 << 21

Keys = Callable[[Traces], IntArray]
"""The ``(m,)`` keys of the events of traces."""


@dataclass(frozen=True, slots=True, eq=False)
class KeyCounts:
    """Different keys of each row, ascending, and how often each came."""

    offsets: IntArray
    keys: IntArray
    counts: AnyArray

    @classmethod
    def of(cls, traces: Traces, keys: Keys) -> "KeyCounts":
        """Count the keys of each user."""
        from discreet.kernels.traces import count_keys

        return cls(*count_keys(traces.offsets, keys(traces)))

    def normalised(self, weights: FloatArray) -> IntArray:
        """Return weights divided by the length of each row as a vector, in units."""
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
    """Return keys of the first event of each user and of her steps from one event to the next."""
    from discreet.kernels.traces import transitions

    return transitions(traces.offsets, traces.events, traces.event_count, start=True)


def steps(traces: Traces) -> IntArray:
    """Return keys of each user's steps; her first event does not count."""
    from discreet.kernels.traces import transitions

    return transitions(traces.offsets, traces.events, traces.event_count, start=False)


def parts(traces: Traces) -> Iterator[Traces]:
    """Cut traces into those of users one after the other, so that each part has few events, or one user."""
    start, offsets = 0, traces.offsets
    while start < traces.users:
        most = offsets[start] + _EVENTS_PER_PART
        stop = max(int(np.searchsorted(offsets, most, side="right")) - 1, start + 1)
        events = traces.events[offsets[start] : offsets[stop]]
        yield Traces(offsets[start : stop + 1] - offsets[start], events, traces.event_count)
        start = stop


Weigh = Callable[[KeyCounts], AnyArray]
"""The ``(k,)`` weights of the entries of some rows, as whole numbers; those below 1 do not count."""


@dataclass(frozen=True, slots=True, eq=False)
class Probes:
    """Traces of unknown origin: whose they are, and what they consist of.

    Attributes:
        users: ``(probes,)`` who has one.
        offsets: ``(probes + 1,)``.
        features: ``(m,)`` the numbers of the keys.
        counts: ``(m,)`` how much each counts.
        size: how many different keys there are.
    """

    users: IntArray
    offsets: IntArray
    features: AnyArray
    counts: AnyArray
    size: int

    @classmethod
    def of(cls, target: Traces, keys: Keys, weigh: Weigh) -> "tuple[Probes, KeyTable]":
        """Number the keys of every user who has an event.

        Returns:
            The probes, and the table of their keys, which is larger than they are.

        Raises:
            DataError: if nobody has one.
        """
        from discreet.kernels.numbering import KeyTable

        users, table = np.flatnonzero(target.lengths), KeyTable()
        if not len(users):
            raise DataError("no user has an event in the target; split the traces elsewhere.")
        rows = _Gathered()
        for part in parts(target):
            counted = KeyCounts.of(part, keys)
            rows.add(np.diff(counted.offsets), table.number(counted.keys), weigh(counted))
        offsets, features, counts = rows.joined()
        return cls(users, np.append(offsets[users], offsets[-1]), features, counts, table.size), table

    def problem(self, candidates: int, constants: IntArray, known: "list[Known]") -> "Problem":
        """Return what is to be scored, without what nobody has or does not count."""
        from discreet.kernels.features import invert
        from discreet.kernels.matching import Problem

        entries = [one.joined() for one in known]
        had = np.zeros(self.size, np.bool_)
        for _, features, _ in entries:
            had[features] = True
        # Fewer than 2^31, as the features are.
        ranks = np.cumsum(had, dtype=np.int32) - np.int32(1)
        index = invert(
            int(np.count_nonzero(had)), [(rows, ranks[features], weights) for rows, features, weights in entries]
        )
        kept = np.flatnonzero((self.counts > 0) & had[self.features])
        queries = np.searchsorted(kept, self.offsets), ranks[self.features[kept]], self.counts[kept]
        return Problem(self.users, candidates, constants, index, queries)


class Known:
    """What is known of users, of the keys that probes have."""

    def __init__(self, table: "KeyTable") -> None:
        self._table: KeyTable | None = table
        self._rows = _Gathered()

    def add(self, rows: KeyCounts, weights: AnyArray) -> None:
        """Add the users who come next."""
        assert self._table is not None
        features = self._table.find(rows.keys)
        kept = np.flatnonzero((features >= 0) & (weights > 0))
        self._rows.add(np.diff(np.searchsorted(kept, rows.offsets)), features[kept], weights[kept])

    def joined(self) -> tuple[IntArray, AnyArray, AnyArray]:
        """Return ``(users + 1,)`` offsets, features and weights of all of them; none can be added afterwards."""
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

    def joined(self) -> tuple[IntArray, AnyArray, AnyArray]:
        """Return ``(rows + 1,)`` offsets, features and weights, and forget them."""
        joined = []
        for pieces, dtype in ((self.lengths, np.int64), (self.features, np.int32), (self.weights, np.int32)):
            joined.append(np.concatenate([np.zeros(0, dtype), *pieces]))
            pieces.clear()
        return np.append(0, np.cumsum(joined[0])), joined[1], joined[2]
