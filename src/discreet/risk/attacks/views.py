"""Views: keys of events under which traces are compared, such as the event together with the time of day.

A view gives each event a key. Known counts are spread to similar keys, for example to neighbouring quarters of an hour;
the counts of the trace to attribute are not. The features of a view are, for the key x of both, with a known visits of
x of A, b visits of B in the trace, and the share p(x) of x in all known events:

    b ln(1 + (1 - lambda)/lambda (a/A) / p(x)), for two lambda: the likelihood of smoothed visits.

A grid compares numbers given the hour: how likely is this number for the user at this hour? Known counts a(x, h) are
spread over neighbouring numbers x and hours h, and become shares of the hour, with a few average events added.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from discreet.arrays import AnyArray, FloatArray, IntArray
from discreet.risk.kernels.events import invert
from discreet.risk.kernels.pairs import nearest, shared_sums
from discreet.risk.traces import Traces

SHARES = (0.3, 0.03)
"""Lambda: the shares of visits to new places, in two likelihoods."""
FEATURES = len(SHARES)
"""The number of features of a view."""
_BUDGET = 1 << 15
_BINS, _HOURS, _ADDED = 48, 24, 0.2
_USERS_PER_BLOCK = 512

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
        of_user = [np.log1p((1 - new) / new * odds) for new in SHARES]
        who = np.repeat(np.arange(asked.users), asked.lengths)
        starts, present, visits = _rows(who * np.int64(size) + places, np.ones(len(who)), asked.users, size)
        rows = ((offsets, columns, of_user), (starts, present, [visits] * FEATURES))
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

    def features(self, rows: slice, lists: AnyArray) -> AnyArray:
        """Return the ``(m, l, f)`` features of some probes with the candidates on their lists."""
        offsets, keys, weights = self.asked
        inside = slice(offsets[rows.start], offsets[rows.start + len(lists)])
        starts = offsets[rows.start : rows.start + len(lists) + 1] - inside.start
        return shared_sums((starts, keys[inside], weights[inside]), self.known, lists, self.size)

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


@dataclass(frozen=True, slots=True, eq=False)
class NumberGrid:
    """A table of numbers and hours for every user, for up to some 20,000 users.

    Attributes:
        known: ``(n, k, 2)`` weights of the cells; the cell of a number and an hour is number * hours + hour.
        asked: sparse ``(m, k)`` counts of the probes' events in the cells.
    """

    known: AnyArray
    asked: Any

    @classmethod
    def of(cls, sides: Sequence[Traces], ranks: AnyArray, hours: Sequence[AnyArray] | None) -> Self:
        """Return the grid.

        Args:
            sides: the candidates' known events, and the probes' events.
            ranks: ``(d,)`` ranks of the events' numbers in the known events, in (0, 1).
            hours: ``(m,)`` hours of the day, of the known events and of the probes' events; None without times.
        """
        from scipy.sparse import csr_array
        from scipy.special import ndtri

        scores = (ndtri(np.clip(ranks, 1e-4, 1 - 1e-4)) + 3) * (_BINS / 6)
        bins, width = np.clip(scores.astype(np.int64), 0, _BINS - 1), 1 if hours is None else _HOURS
        cells = [bins[side.events] * width + (0 if hours is None else hours[place]) for place, side in enumerate(sides)]
        known, asked = (
            csr_array((np.ones(len(side)), cell, side.offsets.copy()), shape=(side.users, _BINS * width))
            for side, cell in zip(sides, cells, strict=True)
        )
        known.sum_duplicates()
        asked.sum_duplicates()
        smoothing = _smoothing(_BINS, 2.0), _smoothing(width, 1.2, wraps=True)
        everybody = _smoothed(np.asarray(known.sum(axis=0))[None], smoothing)
        usual = everybody / np.maximum(everybody.sum(axis=1, keepdims=True), 1e-300)
        table = np.empty((sides[0].users, _BINS * width, FEATURES), np.float32)
        for start in range(0, len(table), _USERS_PER_BLOCK):
            counts = _smoothed(known[start : start + _USERS_PER_BLOCK].toarray(), smoothing)
            odds = (counts + _ADDED * usual) / (counts.sum(axis=1, keepdims=True) + _ADDED)
            odds = (odds / np.maximum(usual, 1e-300)).reshape(len(counts), -1)
            for place, new in enumerate(SHARES):
                table[start : start + len(counts), :, place] = np.log1p((1 - new) / new * odds)
        return cls(table, asked)

    def features(self, rows: slice, lists: AnyArray) -> FloatArray:
        """Return the ``(m, l, 2)`` features of some probes with the candidates on their lists."""
        features = np.empty((*lists.shape, FEATURES), np.float32)
        for place, candidates in enumerate(lists):
            inside = slice(*self.asked.indptr[rows.start + place : rows.start + place + 2])
            weights = self.known[candidates[:, None], self.asked.indices[inside]]
            features[place] = np.einsum("lkf,k->lf", weights, self.asked.data[inside])
        return features

    def nearest(self, users: int, most: int) -> AnyArray:
        """Return ``(probes, most)`` candidates with the largest likelihood, in any order."""
        lists = np.empty((self.asked.shape[0], min(most, users)), np.int32)
        for start in range(0, len(lists), _USERS_PER_BLOCK):
            block = slice(start, start + _USERS_PER_BLOCK)
            lists[block] = np.argpartition(-self.scores(block), lists.shape[1] - 1, axis=1)[:, : lists.shape[1]]
        return lists

    def scores(self, rows: Any) -> FloatArray:
        """Return the ``(m, n)`` likelihoods of some probes for all users, without the terms that all users share."""
        return np.asarray(self.asked[rows] @ self.known[:, :, 0].T)


def _smoothing(size: int, deviation: float, *, wraps: bool = False) -> FloatArray:
    """Return the ``(size, size)`` matrix that spreads counts to neighbours; at the ends they stay inside."""
    matrix = np.zeros((size, size))
    for step, weight in gaussian(deviation, round(3 * deviation)):
        places = np.arange(size) + step
        np.add.at(matrix, (np.arange(size), places % size if wraps else np.clip(places, 0, size - 1)), weight)
    return matrix


def _smoothed(counts: FloatArray, smoothing: tuple[FloatArray, FloatArray]) -> FloatArray:
    """Return ``(n, bins, hours)`` smoothed counts for ``(n, bins * hours)`` counts."""
    table = counts.reshape(len(counts), len(smoothing[0]), len(smoothing[1]))
    smoothed: FloatArray = smoothing[0].T @ table @ smoothing[1]
    return smoothed


def _rows(codes: IntArray, weights: FloatArray, users: int, size: int) -> tuple[IntArray, AnyArray, FloatArray]:
    """Return the different keys of each user with the sums of their weights, from codes user * size + key."""
    distinct, places = np.unique(codes, return_inverse=True)
    offsets = np.searchsorted(distinct, np.arange(users + 1) * np.int64(size)).astype(np.int64)
    sums: FloatArray = np.bincount(places, weights, len(distinct)).astype(np.float64)
    return offsets, (distinct % max(size, 1)).astype(np.int32), sums
