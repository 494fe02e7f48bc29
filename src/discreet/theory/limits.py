"""Confidence limits of weighted sums from moments, and of differences and shares of two sums.

The estimate of a weighted sum w . p is the mean of the contributions W of n reports. If the true sum is t, a
plausible distribution p_t has the moments m_k(t) = E W^k. Then the estimate has the variance (m_2 - t^2)/n and the
skewness (m_3 - 3 t m_2 + 2 t^3) / ((m_2 - t^2)^(3/2) sqrt(n)). A shifted gamma distribution (Pearson's type III) has
the same three moments. A limit is the outermost t at which one of its tails is alpha/2. Beyond the possible values of
the sum, variance and skewness are constant, so that there are always two limits.

Limits of c_1 theta_A - c_2 theta_B follow from the limits of the two sums (MOVER) [Zou 2008, Statistics in Medicine
27]. A share q = theta_A / (theta_A + theta_B) is plausible if the limits of (1 - q) theta_A - q theta_B contain 0, and
a ratio is q / (1 - q).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from discreet.arrays import AnyArray, BoolArray, FloatArray, Floats
from discreet.theory.binomial import Ends, score_limits, standard_limit

# In standard deviations: the least length of an interval at the least or the largest possible value of a sum. It is the
# same at every level, so that a higher level never shortens an interval. It is the difference between the limits of a
# two-sided and of a one-sided interval, both at 95%.
ROOM = 0.315
# In reports: a smaller standard error means that all reports agree, and not that the truth is known.
_AGREE = 0.5
# Numbers of points at which tails are computed: over the whole range, and between the two points around the limit.
_GRIDS = (33, 17, 17)
_LEAST_TAIL = 1e-16
# A variance below this share of the largest second moment counts as 0; so does a smaller difference of estimate and t.
_NOTHING, _EQUAL = 1e-12, 1e-9
_STRAIGHT, _MOST_SKEWED = 1e-3, 40.0


def tail_above(z: FloatArray, skewness: FloatArray) -> FloatArray:
    """Return the probability that a standardized variable of Pearson's type III exceeds z."""
    from scipy.special import gammainc, gammaincc

    size = np.clip(np.abs(skewness), _STRAIGHT, _MOST_SKEWED)
    shape, right = 4 / size**2, skewness >= 0
    reached = np.maximum(shape + 2 * np.where(right, z, -z) / size, 0)
    return np.asarray(np.where(right, gammaincc(shape, reached), gammainc(shape, reached)))


def crossing(tail_at: Callable[[FloatArray], FloatArray], low: FloatArray, high: FloatArray, tail: float) -> FloatArray:
    """Return the first numbers from low to high at which a tail probability is at least ``tail``; nan without one.

    Args:
        tail_at: a function from ``(m,)`` or ``(grid, m)`` numbers to tail probabilities.
        low: ``(m,)``.
        high: ``(m,)``.
        tail: the tail probability, in (0, 1/2).
    """
    from scipy.special import ndtri

    columns = np.arange(len(low))
    for zoom, points in enumerate(_GRIDS):
        grid = low + (high - low) * np.linspace(0, 1, points)[:, None]
        tails = tail_at(grid)
        first = (tails >= tail).argmax(axis=0)
        if not zoom:
            exists, inside = (tails >= tail).any(axis=0), first > 0
        low, high = grid[np.maximum(first - 1, 0), columns], grid[first, columns]
    # In standard scores tails are nearly straight, so that the last step is a secant.
    under, over = (
        ndtri(np.clip(tails[at, columns], _LEAST_TAIL, 1 - _LEAST_TAIL)) - ndtri(tail)
        for at in (np.maximum(first - 1, 0), first)
    )
    part = np.divide(under, under - over, out=np.ones_like(under), where=over > under)
    return np.where(exists, np.where(inside, low + part * (high - low), low), np.nan)


@dataclass(frozen=True, slots=True, eq=False)
class Moments:
    """Moments of a report's contributions to m sums, as functions of the true sum.

    Attributes:
        at: ``(2, m)`` or ``(3, m)`` the sums under the distributions, ascending: the least possible sum, a sum between,
            and the largest possible sum.
        second: E W^2 under the distributions, in the same shape.
        third: E W^3, in the same shape.
        n: number of reports.
        lasting: variance that more reports do not reduce; a number, or ``(m,)``.
    """

    at: FloatArray
    second: FloatArray
    third: FloatArray
    n: float
    lasting: Floats = 0.0

    def shape(self, t: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the variances and the skewness of the estimates if the true sums are t; ``(..., m)`` each."""
        low, middle, high = self.at[[0, 1, -1]]
        t = np.clip(t, low, high)
        start, stop = np.where(t < middle, low, middle), np.where(t < middle, middle, high)
        along = (t - start) / np.where(stop > start, stop - start, 1)
        second, third = (
            np.where(t < middle, part[0], part[1]) * (1 - along) + np.where(t < middle, part[1], part[-1]) * along
            for part in (self.second, self.third)
        )
        spread = second - t * t
        spread = np.where(spread <= _NOTHING * self.second.max(axis=0), 0.0, spread)
        variance = np.maximum(spread / self.n + self.lasting, 0)
        power = np.maximum(variance, np.finfo(float).tiny ** 0.6) ** 1.5
        skewness = (third - 3 * t * second + 2 * t**3) / (self.n**2 * power)
        return variance, np.clip(skewness, -_MOST_SKEWED, _MOST_SKEWED)

    def tail(self, estimate: FloatArray, t: FloatArray) -> FloatArray:
        """Return ``(..., m)`` probabilities that an estimate is at least ``estimate`` if the true sum is t."""
        variance, skewness = self.shape(t)
        away = np.where(np.abs(estimate - t) <= _EQUAL, 0.0, estimate - t)
        with np.errstate(divide="ignore", invalid="ignore"):
            z = np.where(away == 0, 0.0, away / np.sqrt(variance))
        return tail_above(z, np.where(variance > 0, skewness, 0.0))

    def ends(self, estimate: FloatArray, alpha: float) -> Ends:
        """Return the ``(m,)`` lower and upper limits, not clipped; each misses with about probability alpha/2."""
        mirrored = Moments(-self.at[::-1], self.second[::-1], -self.third[::-1], self.n, self.lasting)
        return self._lower_limits(estimate, alpha / 2), -mirrored._lower_limits(-estimate, alpha / 2)

    def room(self) -> tuple[FloatArray, FloatArray]:
        """Return the ``(m,)`` smallest lengths of intervals at the least sum, and at the largest possible sum."""
        low, high = (ROOM * np.sqrt(self.shape(end)[0]) for end in (self.at[0], self.at[-1]))
        return low, high

    def _lower_limits(self, estimate: FloatArray, tail: float) -> FloatArray:
        """Return the ``(m,)`` lower limits: the least t at which the tail probability is ``tail``."""
        low, high = self.at[0], self.at[-1]
        outside = []
        for end in (low, high):
            variance, skewness = self.shape(end)
            outside.append(estimate - standard_limit(skewness, tail) * np.sqrt(variance))
        root = crossing(lambda t: self.tail(estimate, t), low, high, tail)
        within = np.where(root > low, root, np.minimum(outside[0], low))
        return np.asarray(np.where(np.isnan(root), np.maximum(outside[1], high), within))


def all_agree(errors: FloatArray, n: Floats) -> BoolArray:
    """Return ``(m,)`` booleans: true for a standard error below 0.5/n, which means that all n reports agree."""
    return errors < _AGREE / n


def plausible_variances(
    estimates: FloatArray, second_moments: tuple[FloatArray, FloatArray], n: float | AnyArray
) -> FloatArray:
    """Return ``(m,)`` variances of estimates that are above 0 even if all reports agree on a value.

    Each is the larger variance at the two limits of a score interval.

    If all reports agree, the variance at the estimate is 0, although the truth is not known. At the limits of the score
    interval of one standard deviation, the variance is about the variance of one report more or less. If the noise has
    a larger variance, it is the noise's variance.

    Args:
        estimates: ``(m,)``.
        second_moments: A and B, each ``(m,)``; n times the variance is A + B p - p^2 if the true frequency is p.
        n: number of reports; one number for all, or ``(m,)``.
    """
    constant, slope = second_moments
    ends = (np.clip(end, 0, 1) for end in score_limits(estimates, second_moments, n, 1.0))
    low, high = ((constant + slope * end - end**2) / n for end in ends)
    return np.maximum(np.maximum(low, high), 0)


def larger_of_few(errors: FloatArray, others: FloatArray, few: BoolArray) -> FloatArray:
    """Return the larger of two ``(m,)`` standard errors where ``few`` is true, and ``errors`` elsewhere."""
    return np.where(few, np.maximum(errors, others), errors)


class Estimated(NamedTuple):
    """Estimates with lower and upper confidence limits, each ``(m,)``."""

    centre: FloatArray
    low: FloatArray
    high: FloatArray

    @property
    def below(self) -> FloatArray:
        """The ``(m,)`` distances from the lower limits to the estimates, at least 0."""
        return np.maximum(self.centre - self.low, 0)

    @property
    def above(self) -> FloatArray:
        """The ``(m,)`` distances from the estimates to the upper limits, at least 0."""
        return np.maximum(self.high - self.centre, 0)


def difference_limits(first: Estimated, second: Estimated, r: FloatArray) -> Ends:
    """Return limits of differences from the limits of both estimates and the estimates' correlation r (MOVER)."""
    difference = first.centre - second.centre
    low, high = (
        np.sqrt(np.maximum(near**2 - 2 * r * near * far + far**2, 0))
        for near, far in ((first.below, second.above), (first.above, second.below))
    )
    return difference - low, difference + high


def share_ends(first: Estimated, second: Estimated, r: FloatArray) -> Ends:
    """Return confidence limits within [0, 1] of the share q = first / (first + second).

    A share q is plausible if MOVER's limits of (1 - q) first - q second contain 0.

    The limits are roots of two quadratics in q / (1 - q), one for each limit: [0, 1] is cut at all roots, and each
    piece is tested at its middle. If the pieces at 0 and at 1 both pass, the share is not determined, and the limits
    are 0 and 1.
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
    scaled = [Estimated(*(part * times for part in side)) for side, times in ((first, 1 - middle), (second, middle))]
    low, high = difference_limits(scaled[0], scaled[1], r)
    held = (low <= 0) & (high >= 0) & (ordered[1:] > ordered[:-1])
    # The smallest interval that contains all pieces that pass; from 0 to 1 if no piece passes.
    columns, last = np.arange(held.shape[1]), len(held) - 1
    some = held.any(axis=0)
    from_, to = held.argmax(axis=0), last - held[::-1].argmax(axis=0)
    return np.where(some, ordered[from_, columns], 0.0), np.where(some, ordered[to + 1, columns], 1.0)


def _roots(a: FloatArray, b: FloatArray, c: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the solutions of a x^2 - 2 b x + c = 0, without cancellation; nan if there are no real solutions."""
    with np.errstate(divide="ignore", invalid="ignore"):
        q = b + np.copysign(np.sqrt(b * b - a * c), b)
        return q / a, c / q


def correlation(covariance: FloatArray, scale: FloatArray) -> FloatArray:
    """Return covariances divided by a scale, clipped to -1..1; 0 if the scale is 0."""
    ratio: FloatArray = np.divide(covariance, scale, out=np.zeros_like(covariance), where=scale > 0)
    return np.clip(ratio, -1, 1)
