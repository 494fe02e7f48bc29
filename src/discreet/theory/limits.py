"""Limits: one law of uncertainty for values, sums, differences, shares of sums and ratios, of one estimate.

Two things are enough: base limits l, u of the sum over a set of values, and for c_1 theta_A - c_2 theta_B of two sets
that share no value the limits that follow from these (MOVER) [Zou 2008, Statistics in Medicine 27]. A share
q = theta_A / (theta_A + theta_B) is plausible where the limits of (1 - q) theta_A - q theta_B hold 0, and a ratio is
q / (1 - q). Floors stand here and nowhere else: no interval has the width 0 unless the quantity is known.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import NamedTuple, Self

import numpy as np

from discreet.arrays import BoolArray, FloatArray
from discreet.core.grouping import ValueCells
from discreet.theory.binomial import Ends, miss_probability, score_ends, sigmas
from discreet.theory.covariance import Covariance

# In standard deviations at the ends of [0, 1]: the room that every interval has there, the same at every level, so that
# a higher one never shortens. It is how much farther a two-sided interval reaches than a one-sided one, both at 95%.
_ROOM = 0.315
ONE_SIGMA = 0.31731050786291415
"""The probability with which an interval of one standard deviation to either side misses."""


class ConfidenceLimits(ABC):
    """The limits of m numbers that follow from reports, for any level; they belong to the reports, not to a method."""

    @property
    def remark(self) -> str:
        """A sentence on where they come from, if not from where the method says; empty otherwise."""
        return ""

    @property
    @abstractmethod
    def centre(self) -> FloatArray:
        """The ``(m,)`` estimates that the limits lie around, nearly unbiased; they may be negative."""

    @abstractmethod
    def ends(self, alpha: float) -> Ends:
        """Return lower and upper limits, each ``(m,)`` and not clipped; both together miss with probability alpha."""

    @abstractmethod
    def variances(self, at: float) -> FloatArray:
        """Return the ``(m,)`` variances of `centre` where all of the true frequencies are ``at``, 0 or 1."""

    def tails(self, level: float, *, simultaneous: bool = False, shown: int | None = None) -> float:
        """Return the probability with which each interval may miss; see `miss_probability`."""
        return miss_probability(level, self.centre.shape[-1], simultaneous=simultaneous, shown=shown)

    def limits(self, level: float, *, simultaneous: bool = False, shown: int | None = None) -> Ends:
        """Return the limits with room at the ends of [0, 1], each ``(m,)``, not clipped.

        Args:
            level: confidence, in (0, 1).
            simultaneous: whether all m intervals hold at once.
            shown: how many of them are chosen by the estimates themselves; see `miss_probability`.
        """
        low, high = self.ends(self.tails(level, simultaneous=simultaneous, shown=shown))
        nobody, everybody = (np.sqrt(self.variances(end)) for end in (0.0, 1.0))
        return np.minimum(low, 1 - _ROOM * everybody), np.maximum(high, _ROOM * nobody)

    def stated(self, variances: FloatArray) -> FloatArray:
        """Return ``(m,)`` these variances, or in their place those of what the limits are of, where that knows more."""
        return variances

    def floored_errors(self, variances: FloatArray, n: int) -> FloatArray:
        """Return ``(m,)`` standard errors, `stated`; half of the interval of one where all reports agree."""
        errors: FloatArray = np.sqrt(np.maximum(self.stated(variances), 0))
        few = errors < 0.5 / n
        if few.any():
            low, high = (np.clip(end, 0, 1) for end in self.limits(1 - ONE_SIGMA))
            errors[few] = np.maximum(errors, (high - low) / 2)[few]
        return errors

    def sums(self, cells: ValueCells, spread: Covariance, n: int) -> "Sums | ShareLimits":
        """Return the limits of the sums over cells.

        Args:
            cells: of the values; for shares they must leave out none.
            spread: the covariance of the estimates of the values.
            n: number of reports.
        """
        return SpreadSums(spread.sums(cells), n)


class Estimated(NamedTuple):
    """Estimates with their limits, each ``(m,)``."""

    centre: FloatArray
    low: FloatArray
    high: FloatArray

    @property
    def below(self) -> FloatArray:
        """The distances of the lower limits, at least 0."""
        return np.maximum(self.centre - self.low, 0)

    @property
    def above(self) -> FloatArray:
        """The distances of the upper limits, at least 0."""
        return np.maximum(self.high - self.centre, 0)


def difference_ends(first: Estimated, second: Estimated, r: FloatArray) -> Ends:
    """Return the limits of differences, from those of both and the correlation r of both estimates (MOVER)."""
    difference = first.centre - second.centre
    low, high = (
        np.sqrt(np.maximum(one**2 - 2 * r * one * other + other**2, 0))
        for one, other in ((first.below, second.above), (first.above, second.below))
    )
    return difference - low, difference + high


def share_ends(first: Estimated, second: Estimated, r: FloatArray) -> Ends:
    """Return the limits within [0, 1] of q = first / (first + second): where MOVER's of (1-q) first - q second hold 0.

    The ends are roots of two quadratics in q / (1 - q), one for each limit: [0, 1] is cut at all of them, and each
    stretch tried at its middle. What holds in two pieces, at 0 and at 1, is not determined: the limits are 0 and 1.
    """
    cuts = [np.zeros_like(r), np.ones_like(r)]
    for a, low, b, high in (
        (first.centre, first.below, second.centre, second.above),
        (first.centre, first.above, second.centre, second.below),
    ):
        for root in _roots(b**2 - high**2, a * b - r * low * high, a**2 - low**2):
            odds = np.where(np.isfinite(root) & (root > 0), root, 0.0)
            cuts.append(odds / (1 + odds))
    ordered = np.sort(np.array(cuts), axis=0)
    middle = (ordered[1:] + ordered[:-1]) / 2
    scaled = [Estimated(*(part * times for part in one)) for one, times in ((first, 1 - middle), (second, middle))]
    low, high = difference_ends(scaled[0], scaled[1], r)
    held = (low <= 0) & (high >= 0) & (ordered[1:] > ordered[:-1])
    return _hull(ordered, held)


def _hull(ordered: FloatArray, held: BoolArray) -> Ends:
    """Return the least interval that holds all stretches that are held; from 0 to 1 where none is."""
    columns, last = np.arange(held.shape[1]), len(held) - 1
    some = held.any(axis=0)
    from_, to = held.argmax(axis=0), last - held[::-1].argmax(axis=0)
    return np.where(some, ordered[from_, columns], 0.0), np.where(some, ordered[to + 1, columns], 1.0)


def _roots(a: FloatArray, b: FloatArray, c: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the solutions of a x^2 - 2 b x + c = 0, without cancellation; no numbers where there are none."""
    with np.errstate(divide="ignore", invalid="ignore"):
        q = b + np.copysign(np.sqrt(b * b - a * c), b)
        return q / a, c / q


class Sums(ConfidenceLimits):
    """The limits of sums over sets of values of one estimate, and of what two such sums make together."""

    @property
    @abstractmethod
    def plausible(self) -> FloatArray:
        """The ``(m,)`` variances of `centre` at an estimate of which no part is negative."""

    @property
    def controlled(self) -> bool:
        """True if any sum is controlled by the known total, so that its error is not that of the plain one."""
        return False

    @abstractmethod
    def unions(self, members: FloatArray) -> "Sums":
        """Return the sums over unions of disjoint sets: ``(k, m)`` ones where a set is a part of the union, else 0."""

    @abstractmethod
    def rest(self) -> "Sums":
        """Return for each of m disjoint sets the sum over the others."""

    def shares_told(self, alpha: float) -> Ends | None:
        """Return the limits of the shares of the sets in all of them; None unless all of them are told in clear."""
        del alpha
        return None

    @property
    def parts(self) -> "Sums":
        """The sums that shares are made of: these."""
        return self

    @abstractmethod
    def covariances(self, others: Self) -> FloatArray:
        """Return the ``(m,)`` covariances at a plausible estimate, each with a sum that shares no value."""

    @property
    def matrix(self) -> FloatArray:
        """``(m, m)`` covariances of a few disjoint sums at a plausible estimate."""
        found = np.diag(self.plausible)
        each = [self.unions(row[None]) for row in np.eye(len(found))]
        for i, j in combinations(range(len(found)), 2):
            found[i, j] = found[j, i] = each[i].covariances(each[j])[0]
        return found

    def variance(self, weights: FloatArray, plain: float) -> float:
        """Return the variance of a weighted sum of a few of these; that of the plain ones if none is controlled."""
        return max(float(weights @ self.matrix @ weights), 0.0) if self.controlled else plain

    def estimated(self, alpha: float) -> Estimated:
        """Return the sums with their limits at this probability of a miss."""
        return Estimated(self.centre, *self.limits(1 - alpha))

    def difference(self, alpha: float) -> tuple[float, float]:
        """Return the limits of the first sum less the second one, not clipped."""
        return _first_two(self.estimated(alpha), self.matrix)

    def ratio(self, alpha: float) -> tuple[float, float]:
        """Return the limits within [0, 1] of the share of the first sum in that of the first two."""
        pair = self.unions(np.eye(2, len(self.centre)))
        low, high = ShareLimits(pair).ends(alpha)
        return float(low[0]), float(high[0])

    def overlapping(self, alpha: float) -> tuple[float, float]:
        """Return the share of A in A and B, from the sums over A without B, B without A, both, and neither.

        What both share counts twice in the whole: of a ratio r = A / B this is r / (1 + r).
        """
        chosen = np.array([[1.0, 0, 1, 0], [0, 1, 1, 0]])
        r = correlations(chosen @ self.matrix @ chosen.T)
        both = self.unions(chosen).estimated(alpha)
        one, other = (Estimated(*(part[[at]] for part in both)) for at in (0, 1))
        low, high = share_ends(one, other, r[[0], [1]])
        return float(low[0]), float(high[0])


def _first_two(both: Estimated, matrix: FloatArray) -> tuple[float, float]:
    one, other = (Estimated(*(part[[at]] for part in both)) for at in (0, 1))
    low, high = difference_ends(one, other, correlations(matrix)[[0], [1]])
    return float(low[0]), float(high[0])


def correlations(matrix: FloatArray) -> FloatArray:
    """Return the correlations of covariances; 0 where a variance is 0."""
    scale = np.sqrt(np.maximum(np.diag(matrix), 0))
    return _correlation(matrix, np.outer(scale, scale))


def _correlation(covariance: FloatArray, scale: FloatArray) -> FloatArray:
    found: FloatArray = np.divide(covariance, scale, out=np.zeros_like(covariance), where=scale > 0)
    return np.clip(found, -1, 1)


@dataclass(frozen=True, eq=False, repr=False)
class ShareLimits(ConfidenceLimits):
    """The limits of the shares of sums in all of them together.

    Attributes:
        parts: the sums, over sets that share no value.
    """

    parts: Sums

    no_sums = "nobody is estimated to have these labels, so that shares among them have no error; their intervals hold."

    @cached_property
    def _beside(self) -> tuple[Sums, FloatArray]:
        """For each sum that of the others, and the correlation of both."""
        rest = self.parts.rest()
        own, others = self.parts.plausible, rest.plausible
        return rest, _correlation(self.parts.covariances(rest), np.sqrt(own * others))

    @property
    def centre(self) -> FloatArray:
        """The ``(m,)`` shares; no numbers where the whole is not above 0."""
        whole = float(self.parts.centre.sum())
        return self.parts.centre / whole if whole > 0 else np.full(len(self.parts.centre), np.nan)

    def ends(self, alpha: float) -> Ends:
        """Return the limits of the shares, within [0, 1]: exact where all are told in clear."""
        told = self.parts.shares_told(alpha)
        if told is not None:
            return told
        rest, r = self._beside
        return share_ends(self.parts.estimated(alpha), rest.estimated(alpha), r)

    def variances(self, at: float) -> FloatArray:
        """Return zeros: the room is in the limits of the sums."""
        del at
        return np.zeros(len(self.parts.centre))

    def stated(self, variances: FloatArray) -> FloatArray:
        """Return the variances of shares of controlled sums, to first order; see `ConfidenceLimits.stated`."""
        if not self.parts.controlled:
            return variances
        rest, r = self._beside
        own, others, q = self.parts.plausible, rest.plausible, self.centre
        apart: FloatArray = (1 - q) ** 2 * own - 2 * q * (1 - q) * r * np.sqrt(own * others) + q**2 * others
        return apart / float(self.parts.centre.sum()) ** 2

    @property
    def matrix(self) -> FloatArray:
        """``(m, m)`` covariances of a few shares, to first order."""
        lift = (np.eye(len(self.centre)) - self.centre[:, None]) / float(self.parts.centre.sum())
        found: FloatArray = lift @ self.parts.matrix @ lift.T
        return found

    def variance(self, weights: FloatArray, plain: float) -> float:
        """Return the variance of a weighted sum of a few shares; see `Sums.variance`."""
        return max(float(weights @ self.matrix @ weights), 0.0) if self.parts.controlled else plain

    def difference(self, alpha: float) -> tuple[float, float]:
        """Return the limits of the first share less the second one, not clipped; their correlation to first order."""
        return _first_two(Estimated(self.centre, *self.ends(alpha)), self.matrix)

    def sums(self, cells: ValueCells, spread: Covariance, n: int) -> "ShareLimits":
        """Return the limits of the sums of the shares over cells, which leave out none."""
        del spread, n
        members = np.array([cells.lifted(row) for row in np.eye(cells.size)])
        return ShareLimits(self.parts.unions(members))


@dataclass(frozen=True, eq=False, repr=False)
class SpreadSums(Sums):
    """The normal limits of sums of which no more than covariances are known.

    Attributes:
        spread: of disjoint sums.
        n: number of reports.
        members: ``(k, m)`` of which of these each sum consists; each of one where None.
        inverse: whether each sum is that over all others.
    """

    spread: Covariance
    n: int
    members: FloatArray | None = None
    inverse: bool = False

    @cached_property
    def centre(self) -> FloatArray:
        """The ``(m,)`` sums."""
        centre = self.spread.centre
        if self.members is not None:
            centre = np.asarray(self.members @ centre, np.float64)
        return float(centre.sum()) - centre if self.inverse else centre

    @cached_property
    def plausible(self) -> FloatArray:
        """The ``(m,)`` variances at the estimates."""
        if self.members is not None:
            return np.maximum(self.covariances(self), 0)
        found = self.spread.variances()
        if self.inverse:
            beside = self.spread.with_sum()
            found = np.maximum(found - 2 * beside + float(beside.sum()), 0)
        return found

    def covariances(self, others: Self) -> FloatArray:
        """Return the ``(m,)`` covariances with other sums; see `Sums.covariances`."""
        if self.members is None or others.members is None:
            return self.spread.with_sum() - self.spread.variances()
        matrix = self.spread.matrix(np.arange(self.members.shape[1]))
        found: FloatArray = ((self.members @ matrix) * others.members).sum(axis=1)
        return found

    def unions(self, members: FloatArray) -> "SpreadSums":
        """Return the sums over unions; see `Sums.unions`."""
        own = np.eye(len(self.spread.centre)) if self.members is None else self.members
        return SpreadSums(self.spread, self.n, members @ own)

    def rest(self) -> "SpreadSums":
        """Return the sums over the others; see `Sums.rest`."""
        if self.members is None:
            return SpreadSums(self.spread, self.n, inverse=True)
        return SpreadSums(self.spread, self.n, self.members.sum(axis=0) - self.members)

    @property
    def _deviations(self) -> FloatArray:
        """Standard errors; where all reports agree, what one report more or less is worth."""
        errors: FloatArray = np.sqrt(self.plausible)
        errors[errors < 0.5 / self.n] = 1 / self.n
        return errors

    def ends(self, alpha: float) -> Ends:
        """Return the sums -+ z standard errors."""
        away: FloatArray = sigmas(alpha / 2) * self._deviations
        return self.centre - away, self.centre + away

    def variances(self, at: float) -> FloatArray:
        """Return the variances as they are: they do not tell what they would be elsewhere."""
        del at
        return self._deviations**2


@dataclass(frozen=True, slots=True, eq=False)
class StatedLimits(ConfidenceLimits):
    """Wilson's limits for estimates of which only moments are known: the p whose variance makes them plausible.

    Attributes:
        estimates: ``(m,)``.
        second_moments: ``(A, B)``, each ``(m,)``, with n Var = A + B p - p^2; or n Var itself, the same for every p.
        n: number of reports; ``(m,)`` where weights leave as much as so many of one weight.
    """

    estimates: FloatArray
    second_moments: tuple[FloatArray, FloatArray] | FloatArray
    n: float | FloatArray = 1.0

    @property
    def centre(self) -> FloatArray:
        """The estimates."""
        return self.estimates

    def ends(self, alpha: float) -> Ends:
        """Return the limits."""
        z = sigmas(alpha / 2)
        if isinstance(self.second_moments, tuple):
            return score_ends(self.estimates, self.second_moments, self.n, z)
        away = z * np.sqrt(self.second_moments / self.n)
        return self.estimates - away, self.estimates + away

    def variances(self, at: float) -> FloatArray:
        """Return the variances of the estimates at the ends of [0, 1]."""
        if not isinstance(self.second_moments, tuple):
            return self.second_moments / self.n
        constant, slope = self.second_moments
        variance: FloatArray = np.maximum(constant + slope * at - at * at, 0) / self.n
        return variance
