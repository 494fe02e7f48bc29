"""The attack that learns from the known events: which of the known users does a trace belong to?

The known events of each user are cut in two. The later part is attributed with the earlier one, and a conditional logit
[McFadden 1974] learns a weight for each *feature* of a pair of a trace and a user. So the scores of a trace are a
posterior over all users, P(u | y) = exp(w x(y, u)) / sum. The mean of ln(n P(u | y)) is InfoNCE: a certified lower
bound on the PIE [spec of exact risk, section 4].

Only users on a *list* are compared: the users who share most with the trace, above all rare events. With at
most `DENSE_USERS` users, the list also has the users with the most similar profile who share no event. All other users
are one alternative of the logit, and share its probability according to their activity A.

Features are sums over the events x of both, unless stated otherwise. The user has a visits of x, A visits in all, at D
places; the trace has b of B visits, at C places. r(x) is the rarity ln(n / users with x), p(x) the share of x in all
events:

- b ln(1 + (1 - lambda)/lambda (a/A) / p(x)) for two lambda: the likelihood of smoothed visits;
- r(x), and r(x) weighted by how late the user and how early the trace had x;
- 1 / sqrt(DC), the cosine of sets;
- ln A;
- the cosine of profiles: sets of events, weighted by r and projected on their largest singular vectors;
- the features of all views that the columns allow (`columns`): steps, the event at its time of day, numbers, places;
- where there are absolute times, the gap between the trace and the time that the user's known events cover (`when`).

The length of a trace is not a feature, because after a cut in halves everybody would have two traces of equal length.

Joint attack: every user has at most one trace. Powers of the posteriors are scaled until each user has the probability
of one trace (Sinkhorn). The result attributes the traces.
"""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from discreet.arrays import AnyArray, BoolArray, FloatArray, IntArray
from discreet.core.random import RandomSource
from discreet.risk.attacks.columns import clocks_of, views_of
from discreet.risk.attacks.views import FEATURES, SHARES
from discreet.risk.attacks.when import GAPS, Spans
from discreet.risk.kernels.events import invert
from discreet.risk.kernels.pairs import balanced, nearest, shared_sums
from discreet.risk.scores.pse import generator_of
from discreet.risk.scores.scores import Ranks, Scores, folded
from discreet.risk.traces import Split, Traces, by_lengths

UNIT = 2.0**-20
"""The unit of a weight: scores of the Markov model are multiples of it, in nats."""
DENSE_USERS = 20_000
"""The most users for which the profiles of all pairs are compared."""

_EVENTS, _SET, _ACTIVITY, _PROFILE, _OTHERS = 5, 3, 5, 6, 7
"""Numbers of features: sums over shared events, the one for sets, and the others. Views and gaps come last."""
LISTED, ALIKE, _LISTED_OF_MANY = 140, 60, 64
_BUDGET = 1 << 15
_TAUGHT = 1_000
_RANK, _ITERATIONS = 96, 4
_PROBES_PER_BLOCK = 1 << 11
_PRECISION = 0.1
_STEPS, _LEAST_STEP = 60, 1e-6
_ROUNDS, EVEN, _SHARPER, _FLOOR, _TINY = 200, 5e-3, 1.5, 25.0, 1e-300
_MOST = 1000.0


@dataclass(frozen=True, slots=True, eq=False)
class _Visits:
    """The different events of each user: counts, the time of the first one and of the last one."""

    offsets: IntArray
    keys: AnyArray
    counts: FloatArray
    early: FloatArray
    late: FloatArray

    @classmethod
    def of(cls, traces: Traces) -> Self:
        users, lengths = np.arange(traces.users), traces.lengths
        who = np.repeat(users, lengths)
        order = np.argsort(who * np.int64(max(traces.event_count, 1)) + traces.events, kind="stable")
        keys = traces.events[order]
        new = np.append(True, (keys[1:] != keys[:-1]) | (who[1:] != who[:-1]))[: len(keys)]
        starts = np.flatnonzero(new)
        place = (np.arange(len(who)) - traces.offsets[who])[order]
        late = np.add.reduceat(np.append(1 / (lengths[who] - place + 1.0), 0), starts)
        early = np.add.reduceat(np.append(1 / (place + 2.0), 0), starts)
        return cls(
            np.searchsorted(starts, traces.offsets).astype(np.int64),
            keys[starts].astype(np.int32),
            np.diff(starts, append=len(keys)).astype(np.float64),
            early[: len(starts)],
            late[: len(starts)],
        )

    @property
    def sizes(self) -> IntArray:
        return np.diff(self.offsets)

    def each(self, of_user: AnyArray) -> AnyArray:
        return np.repeat(of_user, self.sizes)

    def unit(self, weights: FloatArray) -> FloatArray:
        """Return weights divided by the Euclidean norm of their user's weights."""
        who = self.each(np.arange(len(self.sizes)))
        norms = np.sqrt(np.bincount(who, weights**2, len(self.sizes)))
        return weights / np.maximum(norms[who], 1e-300)


class Pairs:
    """Probes and candidates with the features of their pairs."""

    def __init__(
        self, split: Split, probes: IntArray, random: RandomSource, clocks: tuple[bool, bool] | None = None
    ) -> None:
        hours, times = clocks or clocks_of(split)
        self.training, self.users, n = split.training, probes, split.training.users
        self.target = split.target.select(probes)
        self.known, self.asked = _Visits.of(self.training), _Visits.of(self.target)
        having = np.bincount(self.known.keys, minlength=self.training.event_count)
        self.rarity = np.where(having > 0, np.log(n / np.maximum(having, 1)), 0.0)
        lengths = np.log(np.maximum(self.training.lengths, 1))
        self.activity = (lengths - lengths.mean()).astype(np.float32)
        self._rows = self._event_rows()
        self._views = views_of(self.training, self.target, hours=hours, fine=n <= DENSE_USERS)
        self._spans = Spans.of(self.training, self.target) if times else None
        self.count = _OTHERS + FEATURES * len(self._views) + GAPS * (self._spans is not None)
        self._profiles = _profiles(self, random) if n <= DENSE_USERS else None

    def _event_rows(self) -> tuple[Any, Any]:
        known, asked, rarity = self.known, self.asked, self.rarity
        popular = np.bincount(self.training.events, minlength=len(rarity)) / max(len(self.training), 1)
        ratio = known.counts / known.each(self.training.lengths) / popular[known.keys]
        of_user = [
            *(np.log1p((1 - share) / share * ratio) for share in SHARES),
            rarity[known.keys],
            1 / np.sqrt(known.each(known.sizes)),
            rarity[known.keys] * known.late,
        ]
        of_trace = [
            *(asked.counts for _ in SHARES),
            np.ones(len(asked.keys)),
            1 / np.sqrt(asked.each(asked.sizes)),
            asked.early,
        ]
        sides = (asked, of_trace), (known, of_user)
        rows = [(side.offsets, side.keys, np.stack(weights, axis=1).astype(np.float32)) for side, weights in sides]
        return rows[0], rows[1]

    @property
    def strangers(self) -> BoolArray:
        """``(probes,)`` booleans: true for a trace that shares no known event with its own user."""
        size = self.training.event_count
        shared = shared_sums(*self._rows, self.users[:, None].astype(np.int32), size)[:, 0, _SET]
        return np.asarray(shared == 0)

    def lists(self) -> AnyArray:
        """Return the ``(probes, l)`` candidates to compare, ascending, with `NOBODY` first."""
        n, (offsets, keys, weights) = self.training.users, self._rows[1]
        most = min(LISTED if n <= DENSE_USERS else _LISTED_OF_MANY, n)
        index: Any = invert(self.training.event_count, [(offsets, keys, weights[:, 0])], np.float32)
        starts, asked, counts = self._rows[0]
        candidates = nearest(index, (starts, asked, counts[:, 0].copy()), n, most, _BUDGET)
        if self._profiles is not None:
            candidates = np.concatenate([candidates, _most_alike(self, self._profiles, min(ALIKE, n))], axis=1)
        more = [view.nearest(n, most) for view in self._views]
        more += [] if self._spans is None else [self._spans.nearest()]
        candidates = np.concatenate([candidates, *more], axis=1)
        candidates.sort(axis=1)
        candidates[:, :-1][candidates[:, 1:] == candidates[:, :-1]] = -1
        candidates.sort(axis=1)
        return candidates

    def alternatives(self, lists: AnyArray, start: int = 0) -> tuple[FloatArray, FloatArray]:
        """Return the features of all alternatives of some probes, and the logarithm of the number of users in each.

        Args:
            lists: ``(m, l)`` candidates of some probes.
            start: the number of the first probe.

        Returns:
            ``(m, l + 1, f + 1)`` and ``(m, l + 1)``; the last alternative is all users outside the list, with its own
            feature.
        """
        there = lists >= 0
        features = np.zeros((len(lists), lists.shape[1] + 1, self.count + 1), np.float32)
        features[:, :-1, :-1], features[:, -1, -1] = self.features(lists, start), 1
        stands = np.column_stack([there, self.training.users - there.sum(axis=1)])
        return features, np.log(stands, out=np.full(stands.shape, -np.inf), where=stands > 0)

    def features(self, lists: AnyArray, start: int = 0) -> FloatArray:
        """Return the ``(m, l, f)`` features of probes start .. start + m - 1 with the candidates on their lists."""
        rows, there = slice(start, start + len(lists)), lists >= 0
        features = np.zeros((*lists.shape, self.count), np.float32)
        events, size = features[:, :, :_EVENTS], self.training.event_count
        events[:] = shared_sums(_cut(self._rows[0], rows), self._rows[1], lists, size)
        features[:, :, _ACTIVITY] = self.activity[lists]
        if self._profiles is not None:
            features[:, :, _PROFILE] = np.einsum("mr,mlr->ml", self._profiles[0][rows], self._profiles[1][lists])
        start = _OTHERS
        for view in self._views:
            features[:, :, start : start + FEATURES], start = view.features(rows, lists), start + FEATURES
        if self._spans is not None:
            features[:, :, start:] = self._spans.features(rows, lists)
        features[~there] = 0
        return features


def _cut(rows: Any, part: slice) -> Any:
    offsets, keys, weights = rows
    offsets = offsets[part.start : part.stop + 1]
    inside = slice(offsets[0], offsets[-1])
    return offsets - offsets[0], keys[inside], weights[inside]


def _sets(pairs: Pairs) -> tuple[Any, Any]:
    """Return matrices of the probes' and candidates' sets of events, weighted by rarity, with rows of length 1."""
    from scipy.sparse import csr_array

    sides = []
    for visits in (pairs.asked, pairs.known):
        weights = visits.unit(pairs.rarity[visits.keys]).astype(np.float32)
        sides.append(csr_array((weights, visits.keys, visits.offsets), shape=(len(visits.sizes), len(pairs.rarity))))
    return sides[0], sides[1]


def _profiles(pairs: Pairs, random: RandomSource) -> tuple[FloatArray, FloatArray]:
    """Return unit vectors for probes and candidates: sets of events, projected on the largest singular vectors."""
    from scipy.sparse import vstack

    both = vstack(_sets(pairs)).tocsr()
    basis: AnyArray = generator_of(random).standard_normal((both.shape[1], min(_RANK, *both.shape)), dtype=np.float32)
    for _ in range(_ITERATIONS):
        # Subspace iteration [Halko, Martinsson and Tropp 2011].
        basis = _orthonormal(both.T @ (both @ basis))
    vectors = np.asarray(both @ basis)
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    return vectors[: len(pairs.users)], vectors[len(pairs.users) :]


def _orthonormal(columns: FloatArray) -> FloatArray:
    """Return an orthonormal basis of columns, by the small matrix of their products: faster than Householder's."""
    values, vectors = np.linalg.eigh(columns.T.astype(np.float64) @ columns)
    return np.asarray(columns @ (vectors / np.sqrt(np.maximum(values, 1e-9 * values[-1] + 1e-300))), np.float32)


def _most_alike(pairs: Pairs, profiles: tuple[FloatArray, FloatArray], most: int) -> AnyArray:
    """Return the ``(probes, most)`` candidates with the most similar profiles; users with common events come last."""
    (asked, known), sets = profiles, _sets(pairs)
    lists = np.empty((len(asked), most), np.int32)
    for start in range(0, len(asked), _PROBES_PER_BLOCK):
        block = slice(start, start + _PROBES_PER_BLOCK)
        alike = asked[block] @ known.T
        shared = (sets[0][block] @ sets[1].T).tocoo()
        alike[shared.coords] -= 4
        lists[block] = np.argpartition(-alike, most - 1, axis=1)[:, :most]
    return lists


@dataclass(frozen=True, slots=True, eq=False)
class Logit:
    """A conditional logit: the weight of each feature of a pair.

    Attributes:
        weights: ``(f + 1,)``, the last one for all users outside the list.
    """

    weights: FloatArray

    @classmethod
    def taught(cls, split: Split, random: RandomSource) -> Self:
        """Return the logit fitted to attribute the later parts of the known events.

        With little data it stays close to the likelihood of smoothed visits.

        Args:
            split: the known events for learning; the target only for its usual length.
            random: the random words that select up to 1,000 users to learn from.
        """
        known, lengths = split.training, split.target.lengths
        later = np.minimum(known.lengths // 2, int(np.median(lengths[lengths > 0])))
        chosen = np.sort(generator_of(random).permutation(np.flatnonzero(later))[:_TAUGHT])
        pairs = Pairs(by_lengths(known, known.lengths - later), chosen, random, clocks_of(split))
        before = np.eye(pairs.count + 1)[0]
        if not len(chosen):
            return cls(before)
        lists = pairs.lists()
        features, offsets = pairs.alternatives(lists)
        listed = lists == chosen[:, None]
        places = np.where(listed.any(axis=1), listed.argmax(axis=1), lists.shape[1])
        return cls(_scaled_fit(features, offsets, places, before))

    def told(self, pairs: Pairs, random: RandomSource) -> "Posterior":
        """Return the probabilities if the true answers of half of the traces are known, for the other half each time.

        It is no attack. If it identifies clearly more than `posterior`, the known events teach too little.
        """
        lists, half = pairs.lists(), np.zeros(len(pairs.users), np.bool_)
        half[generator_of(random).permutation(len(half))[::2]] = True
        features, offsets = pairs.alternatives(lists)
        listed = lists == pairs.users[:, None]
        places = np.where(listed.any(axis=1), listed.argmax(axis=1), lists.shape[1])
        known, logs, weights = np.isfinite(offsets[np.arange(len(places)), places]), np.empty(offsets.shape), []
        for other in (half, ~half):
            taught = ~other & known
            weights.append(_scaled_fit(features[taught], offsets[taught], places[taught], self.weights))
            logs[other] = _log_shares(features[other] @ weights[-1] + offsets[other])
        return _posterior(pairs, lists, logs, np.mean(weights, axis=0))

    def posterior(self, pairs: Pairs) -> "Posterior":
        """Return the probability of each user for each trace."""
        lists = pairs.lists()
        logs = np.empty((len(lists), lists.shape[1] + 1))
        for start in range(0, len(lists), _PROBES_PER_BLOCK):
            block = slice(start, start + _PROBES_PER_BLOCK)
            features, offsets = pairs.alternatives(lists[block], start)
            logs[block] = _log_shares(features @ self.weights + offsets)
        return _posterior(pairs, lists, logs, self.weights)


def _posterior(pairs: Pairs, lists: AnyArray, logs: FloatArray, weights: FloatArray) -> "Posterior":
    """Return the posterior from ``(m, l + 1)`` logarithms of the alternatives' probabilities."""
    others = pairs.training.users - np.count_nonzero(lists >= 0, axis=1)
    rest = np.where(others > 0, logs[:, -1] - np.log(np.maximum(others, 1)), -np.inf)
    common = weights[_ACTIVITY] * pairs.activity
    common = common - np.log(np.mean(np.exp(common)))
    return Posterior(pairs.users, lists, logs[:, :-1], rest, common, pairs.strangers)


def _scaled_fit(features: FloatArray, offsets: FloatArray, places: IntArray, before: FloatArray) -> FloatArray:
    """Return the weights fitted to features that are divided by their standard deviations meanwhile."""
    scale = np.maximum(features[np.isfinite(offsets)].std(axis=0, dtype=np.float64), 1e-3)
    return np.asarray(_fitted((features / scale).astype(np.float32), offsets, places, before * scale) / scale)


def _log_shares(worth: FloatArray) -> FloatArray:
    """Return the logarithms of the ``(m, l)`` shares of exp(worth) in the sum of each row."""
    worth = worth - worth.max(axis=1, keepdims=True)
    return np.asarray(worth - np.log(np.exp(worth).sum(axis=1, keepdims=True)))


def _fitted(features: FloatArray, offsets: FloatArray, places: IntArray, before: FloatArray) -> FloatArray:
    """Return the maximum likelihood weights, with a small ridge around earlier weights, by Newton's method."""
    weights, rows, size = before, np.arange(len(places)), len(before)
    flat, chosen = features.reshape(-1, size), features[rows, places]

    def value(weights: FloatArray) -> tuple[float, FloatArray]:
        logs = _log_shares(features @ weights + offsets)
        return float(logs[rows, places].sum()) - _PRECISION / 2 * float((weights - before) @ (weights - before)), logs

    best, logs = value(weights)
    for _ in range(_STEPS):
        shares = np.exp(logs)[:, :, None].astype(np.float32)
        means = np.einsum("mlf,ml->mf", features, shares[:, :, 0])
        slope = (chosen - means).sum(axis=0) - _PRECISION * (weights - before)
        curve = (flat * shares.reshape(-1, 1)).T @ flat - means.T @ means + _PRECISION * np.eye(size)
        step, length = np.linalg.solve(curve.astype(np.float64), slope.astype(np.float64)), 1.0
        after, others = value(weights + step)
        while after < best and length > _LEAST_STEP:
            length /= 2
            after, others = value(weights + length * step)
        if after <= best + _LEAST_STEP * len(places):
            break
        weights, best, logs = weights + length * step, after, others
    return weights


@dataclass(frozen=True, slots=True, eq=False)
class Posterior:
    """The probabilities of users for each trace.

    Attributes:
        users: ``(m,)`` users of the traces.
        lists: ``(m, l)`` candidates, -1 for nobody.
        logs: ``(m, l)`` logarithms of the candidates' probabilities.
        rest: ``(m,)`` logarithms of the total probability of users outside the list.
        common: ``(n,)`` logarithms of each user's factor where the user is not on the list, for all traces.
        strangers: ``(m,)`` booleans: true for a trace that shares no known event with its own user.
    """

    users: IntArray
    lists: AnyArray
    logs: FloatArray
    rest: FloatArray
    common: FloatArray
    strangers: BoolArray

    @property
    def _listed(self) -> Any:
        """``(m, l)`` booleans: true for the right user."""
        return self.lists == self.users[:, None]

    @property
    def own(self) -> FloatArray:
        """``(m,)`` logarithms of the probabilities of the right users."""
        logs = self.logs[np.arange(len(self.users)), self._listed.argmax(axis=1)]
        return np.where(self._listed.any(axis=1), logs, self.rest + self.common[self.users])

    @property
    def margins(self) -> FloatArray:
        """``(m,)`` logarithms of the ratio of the right user's probability to the largest other one, in nats."""
        n, listed = len(self.common), self._listed.any(axis=1)
        order = np.argsort(-self.common, kind="stable")
        place = np.empty(n, np.int64)
        place[order] = np.arange(n)
        # The best user outside the list, other than the right one, has the first position that none of these has.
        nobody = n + self.lists.shape[1] + 1
        occupied = np.where(self.lists >= 0, place[self.lists], nobody)
        right = np.where(listed, nobody, place[self.users])
        occupied = np.sort(np.column_stack([occupied, right, np.full(len(right), nobody)]), axis=1)
        first = (occupied != np.arange(occupied.shape[1])).argmax(axis=1)
        unlisted = self.rest + np.append(self.common[order], -np.inf)[first]
        others = np.where((self.lists >= 0) & ~self._listed, self.logs, -np.inf).max(axis=1)
        return np.asarray(self.own - np.maximum(others, unlisted))

    def ranks(self) -> Ranks:
        """Return the ranks of the right users."""
        units, rest, common = (_in_units(logs) for logs in (self.logs, self.rest, self.common))
        listed, others = self._listed, (self.lists >= 0) & ~self._listed
        right = np.where(listed.any(axis=1), _in_units(self.own), rest + common[self.users])
        ascending, gap = np.sort(common), right - rest
        # All users outside the list, other than the right user.
        above, upto = (len(common) - np.searchsorted(ascending, gap, side) for side in ("right", "left"))
        above -= np.where(self.lists >= 0, common[self.lists] > gap[:, None], False).sum(axis=1)
        same = upto - (len(common) - np.searchsorted(ascending, gap, "right"))
        same -= np.where(self.lists >= 0, common[self.lists] == gap[:, None], False).sum(axis=1)
        above += ((units > right[:, None]) & others).sum(axis=1)
        same += ((units == right[:, None]) & others).sum(axis=1) + listed.any(axis=1)
        return Ranks(above, same, self.users, len(common))

    def scores(self) -> Scores:
        """Return the logarithms as scores, in units; users outside the list tie."""
        even = replace(self, common=np.zeros(len(self.common)))
        units, rest, right = (_in_units(logs) for logs in (self.logs, self.rest, even.own))
        others = (self.lists >= 0) & ~self._listed
        unlisted = len(self.common) - 1 - others.sum(axis=1)
        thresholds = np.unique(right)
        counts = np.zeros(2 * len(thresholds) + 1, np.int64)
        for scores, weights in ((units[others], None), (rest, unlisted)):
            places = np.searchsorted(thresholds, scores, "left") + np.searchsorted(thresholds, scores, "right")
            counts += np.bincount(places, weights, len(counts)).astype(np.int64)
        return Scores(right, thresholds, *folded(counts), places=even.ranks(), unit=UNIT)

    def jointly(self) -> Self:
        """Return the joint probabilities if every user has at most one trace: rows and columns are scaled (Sinkhorn).

        Powers are scaled. For two users and two traces, scaled squares are exactly the shares of both permutations; for
        many users with little known about each, scaled probabilities nearly are. Missing traces form one row that may
        belong to anybody.
        """
        m, n, there = len(self.users), len(self.common), self.lists >= 0
        # Factors of rows do not matter here: the largest weight of a row is made about 1, for single precision. Without
        # a least weight, users whom only one trace can have would get factors beyond all numbers.
        largest, factors = np.maximum(self.logs.max(axis=1), self.rest), _SHARPER * self.common
        listed = np.maximum(self.logs, largest[:, None] - _FLOOR)
        unlisted = np.where(np.isfinite(self.rest), np.maximum(self.rest, largest - _FLOOR), -np.inf)
        common, columns = np.exp(factors), np.ones(n)
        rest = np.exp(_SHARPER * (unlisted - largest)).astype(np.float32)
        above = np.exp(_SHARPER * (listed - largest[:, None]).astype(np.float32))
        above -= rest[:, None] * common.astype(np.float32)[self.lists]
        for _ in range(_ROUNDS):
            rows, sums = balanced(self.lists, above, columns, (rest, float(common @ columns)))
            missing = (n - m) / columns.sum()
            filled = columns * (sums + common * (rest @ rows) + missing)
            if np.abs(filled - 1).mean() < EVEN:
                break
            columns = columns / np.maximum(filled, _TINY)
        columns, rows = np.log(columns), np.log(rows) - _SHARPER * largest
        logs = np.where(there, _SHARPER * listed + rows[:, None] + columns[self.lists], -np.inf)
        return replace(self, logs=logs, rest=_SHARPER * unlisted + rows, common=factors + columns)


def _in_units(logs: FloatArray) -> IntArray:
    return np.rint(np.clip(logs, -_MOST, _MOST) / UNIT).astype(np.int64)
