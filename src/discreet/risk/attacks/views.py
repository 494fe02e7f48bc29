"""Views: keys of events under which traces are compared, such as the event together with the time of day.

A view gives each event a key. Known counts are spread to similar keys, for example to neighbouring quarters of an hour;
the counts of the trace to attribute are not. The features of a view are, for the key x of both, with a known visits of
x of A, b visits of B in the trace, and the share p(x) of x in all known events:

- b ln(1 + (1 - lambda)/lambda (a/A) / p(x)), for two lambda: the likelihood of smoothed visits;
- sqrt(ab / AB), the affinity of visits.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from discreet.arrays import AnyArray, FloatArray, IntArray
from discreet.risk.clock import hours_of, seconds_of
from discreet.risk.kernels.events import invert
from discreet.risk.kernels.pairs import nearest
from discreet.risk.traces import Split, Traces

SHARES = (0.3, 0.03)
"""Lambda: the shares of visits to new places, in two likelihoods."""
FEATURES = len(SHARES) + 1
_QUARTER, _QUARTERS, _HALVES = 900, 96, 48
_BUDGET = 1 << 15

Spread = Sequence[tuple[int, float]]
"""Steps to neighbouring keys, each with its weight."""


def gaussian(deviation: float, steps: int) -> Spread:
    """Return the steps -k .. k with Gaussian weights that sum to 1.

    Example:
        >>> [(step, round(weight, 2)) for step, weight in gaussian(1.0, 1)]
        [(-1, 0.27), (0, 0.45), (1, 0.27)]
    """
    offsets = np.arange(-steps, steps + 1)
    weights = np.exp(-(offsets**2) / 2 / deviation**2)
    return list(zip(offsets.tolist(), (weights / weights.sum()).tolist(), strict=True))


@dataclass(frozen=True, eq=False)
class View:
    """One kind of keys for the events of both sides.

    Attributes:
        known: offsets, keys and ``(k, f)`` weights of the candidates' different keys, restricted to keys of probes.
        asked: offsets, keys and ``(k, f)`` weights of the probes' different keys.
        size: the number of different keys of all probes.
    """

    known: Any
    asked: Any
    size: int

    @classmethod
    def of(cls, sides: Sequence[Traces], keys: Sequence[AnyArray], spread: Spread, wraps: int) -> Self:
        """Return the view.

        Args:
            sides: the candidates' known events, and the probes' events.
            keys: ``(m,)`` keys of the known events, and of the probes' events.
            spread: the steps to neighbouring keys; keys wrap around within groups of consecutive keys.
            wraps: the number of keys in such a group.
        """
        known, asked = sides
        there, places = np.unique(keys[1], return_inverse=True)
        size, who = len(there), np.repeat(np.arange(known.users), known.lengths)
        codes, weights = [], []
        for step, weight in spread:
            near = keys[0] - keys[0] % wraps + (keys[0] + step) % wraps
            place = np.minimum(np.searchsorted(there, near), max(size - 1, 0))
            same = np.flatnonzero(there[place] == near) if size else np.empty(0, np.int64)
            codes.append(who[same] * np.int64(size) + place[same])
            weights.append(np.full(len(same), weight))
        offsets, columns, counts = _rows(np.concatenate(codes), np.concatenate(weights), known.users, size)
        popular = np.bincount(columns, counts, size) / max(len(known), 1)
        share = counts / np.repeat(np.maximum(known.lengths, 1), np.diff(offsets))
        odds = share / np.maximum(popular[columns], 1e-300)
        of_user = [*(np.log1p((1 - new) / new * odds) for new in SHARES), np.sqrt(share)]
        who = np.repeat(np.arange(asked.users), asked.lengths)
        starts, present, visits = _rows(who * np.int64(size) + places, np.ones(len(who)), asked.users, size)
        affinity = np.sqrt(visits / np.repeat(np.maximum(asked.lengths, 1), np.diff(starts)))
        of_trace = [*(visits for _ in SHARES), affinity]
        rows = ((offsets, columns, of_user), (starts, present, of_trace))
        first, second = ((at, key, np.stack(each, axis=1).astype(np.float32)) for at, key, each in rows)
        return cls(first, second, max(size, 1))

    def nearest(self, users: int, most: int) -> AnyArray:
        """Return ``(probes, most)`` candidates with the largest likelihood, in any order; see `pairs.nearest`."""
        offsets, keys, weights = self.known
        starts, asked, counts = self.asked
        index: Any = invert(self.size, [(offsets, keys, weights[:, 0])], np.float32)
        return nearest(index, (starts, asked, counts[:, 0].copy()), users, most, _BUDGET)

    @classmethod
    def of_rows(cls, sides: Sequence[Traces], keys: Sequence[AnyArray], weights: FloatArray) -> Self:
        """Return the view with one weight for each known event, above 0; no event of a user has the key of another."""
        there, places = np.unique(keys[1], return_inverse=True)
        place = np.minimum(np.searchsorted(there, keys[0]), max(len(there) - 1, 0))
        same = np.flatnonzero(there[place] == keys[0]) if len(there) else np.empty(0, np.int64)
        known = np.searchsorted(same, sides[0].offsets), place[same].astype(np.int32), weights[same, None]
        asked = sides[1].offsets, places.astype(np.int32), np.ones((len(places), 1))
        return cls(known, asked, max(len(there), 1))

    @cached_property
    def _matrices(self) -> tuple[Any, Any]:
        """Sparse matrices of the first weights: of the probes, and of the keys by user."""
        from scipy.sparse import csr_array

        asked, known = (
            csr_array((side[2][:, 0], side[1], side[0]), shape=(len(side[0]) - 1, self.size))
            for side in (self.asked, self.known)
        )
        return asked, known.T.tocsr()

    def scores(self, rows: Any) -> FloatArray:
        """Return the ``(m, n)`` likelihoods of some probes for all users, without the terms that all users share."""
        asked, known = self._matrices
        return np.asarray((asked[rows] @ known).toarray())


def _rows(codes: IntArray, weights: FloatArray, users: int, size: int) -> tuple[IntArray, AnyArray, FloatArray]:
    """Return the different keys of each user with the sums of their weights, from codes user * size + key."""
    distinct, places = np.unique(codes, return_inverse=True)
    offsets = np.searchsorted(distinct, np.arange(users + 1) * np.int64(size)).astype(np.int64)
    sums: FloatArray = np.bincount(places, weights, len(distinct)).astype(np.float64)
    return offsets, (distinct % max(size, 1)).astype(np.int32), sums


def clocks_of(split: Split) -> tuple[bool, bool]:
    """Return two flags of a split: both sides have hours, and both have absolute times."""
    sides = [(side.times, side.unit) for side in (split.training, split.target)]
    if any(times is None for times, _ in sides):
        return False, False
    hours, times = ([clock(*side) is not None for side in sides] for clock in (hours_of, seconds_of))
    return all(hours), all(times) and all(len(side) > 0 for side in (split.training, split.target))


def views_of(training: Traces, target: Traces, *, fine: bool) -> list[View]:
    """Return the views of events by the time of day; both sides have a clock.

    Args:
        training: the known events of each candidate.
        target: the events of each probe.
        fine: whether to compare quarters of an hour, spread to neighbouring ones; otherwise hours, for many users.
    """
    sides = training, target
    seconds = [seconds_of(side.times, side.unit) for side in sides]
    quarters = [(side // _QUARTER % _QUARTERS).astype(np.int64) for side in seconds if side is not None]
    events = [side.events.astype(np.int64) for side in sides]
    size, spread = (_QUARTERS, gaussian(1.5, 4)) if fine else (24, gaussian(1.0, 0))
    both = [code * size + quarter * size // _QUARTERS for code, quarter in zip(events, quarters, strict=True)]
    size = _HALVES if fine else 24
    alone = [quarter * size // _QUARTERS for quarter in quarters]
    return [View.of(sides, both, spread, _QUARTERS if fine else 24), View.of(sides, alone, spread, size)]
