"""Limits of what two estimates make together, and the floors of errors: one law of uncertainty, from numbers alone.

Two things are enough: base limits l, u of the sum over a set of values, and for c_1 theta_A - c_2 theta_B of two sets
that share no value the limits that follow from these (MOVER) [Zou 2008, Statistics in Medicine 27]. A share
q = theta_A / (theta_A + theta_B) is plausible where the limits of (1 - q) theta_A - q theta_B hold 0, and a ratio is
q / (1 - q). Floors stand here and nowhere else: no interval has the width 0 unless the quantity is known.
"""

from math import nan
from typing import NamedTuple

import numpy as np

from discreet.arrays import AnyArray, BoolArray, FloatArray, Floats
from discreet.theory.binomial import Ends, score_ends

# In reports: an error below it says that all reports agree, not that the truth is known.
_AGREE = 0.5
ONE_SIGMA = 0.31731050786291415
"""The probability with which an interval of one standard deviation to either side misses."""


def all_agree(errors: FloatArray, n: Floats) -> BoolArray:
    """Return ``(m,)`` booleans: true for a standard error below half a report, so that all of n reports agree."""
    return errors < _AGREE / n


def half_a_report(variances: FloatArray, n: Floats) -> FloatArray:
    """Return ``(m,)`` variances, at least those of half a report, below which all of n reports agree."""
    return np.maximum(variances, (_AGREE / n) ** 2)


def by_one_report(errors: FloatArray, n: float) -> FloatArray:
    """Return standard errors of normal limits; where all reports agree, the worth of one report more or less."""
    return np.where(all_agree(errors, n), 1 / n, errors)


def by_half_width(errors: FloatArray, ends: Ends, n: float) -> FloatArray:
    """Return standard errors; where all reports agree, half of the interval of one.

    Args:
        errors: ``(m,)``.
        ends: of the intervals of one standard deviation (`ONE_SIGMA`); no number where one has no end.
        n: number of reports.
    """
    low, high = ends
    wide = np.where(np.isinf(high), nan, (high - low) / 2)
    return np.where(all_agree(errors, n), np.maximum(errors, wide), errors)


def plausible_variances(
    estimates: FloatArray, second_moments: tuple[FloatArray, FloatArray], n: float | AnyArray
) -> FloatArray:
    """Return the ``(m,)`` variances where all reports agree: the larger one at the ends of a score interval.

    There the variance at the estimate is 0 because all reports agree, not because the truth is known. At the ends of
    the score interval of one standard deviation it is about that of one report more or less, or the noise where that is
    more.

    Args:
        estimates: ``(m,)``.
        second_moments: A and B, each ``(m,)``; n times the variance is A + B p - p^2 where the truth is p.
        n: number of reports; one for all, or ``(m,)``.
    """
    constant, slope = second_moments
    ends = (np.clip(end, 0, 1) for end in score_ends(estimates, second_moments, n, 1.0))
    low, high = ((constant + slope * end - end**2) / n for end in ends)
    return np.maximum(np.maximum(low, high), 0)


def larger_of_few(errors: FloatArray, others: FloatArray, few: BoolArray) -> FloatArray:
    """Return ``(m,)`` standard errors; of few of them, where all reports agree, no less than others."""
    bare = np.flatnonzero(few)
    if len(bare):
        errors = errors.copy()
        errors[bare] = np.maximum(errors[bare], others[bare])
    return errors


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
        np.sqrt(np.maximum(near**2 - 2 * r * near * far + far**2, 0))
        for near, far in ((first.below, second.above), (first.above, second.below))
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
    scaled = [Estimated(*(part * times for part in side)) for side, times in ((first, 1 - middle), (second, middle))]
    low, high = difference_ends(scaled[0], scaled[1], r)
    held = (low <= 0) & (high >= 0) & (ordered[1:] > ordered[:-1])
    # The least interval that holds all stretches that are held; from 0 to 1 where none is.
    columns, last = np.arange(held.shape[1]), len(held) - 1
    some = held.any(axis=0)
    from_, to = held.argmax(axis=0), last - held[::-1].argmax(axis=0)
    return np.where(some, ordered[from_, columns], 0.0), np.where(some, ordered[to + 1, columns], 1.0)


def _roots(a: FloatArray, b: FloatArray, c: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the solutions of a x^2 - 2 b x + c = 0, without cancellation; no numbers where there are none."""
    with np.errstate(divide="ignore", invalid="ignore"):
        q = b + np.copysign(np.sqrt(b * b - a * c), b)
        return q / a, c / q


def correlations(matrix: FloatArray) -> FloatArray:
    """Return the correlations of covariances; 0 where a variance is 0."""
    scale = np.sqrt(np.maximum(np.diag(matrix), 0))
    return correlation(matrix, np.outer(scale, scale))


def correlation(covariance: FloatArray, scale: FloatArray) -> FloatArray:
    """Return covariances divided by a scale, within -1 and 1; 0 where the scale is 0."""
    ratio: FloatArray = np.divide(covariance, scale, out=np.zeros_like(covariance), where=scale > 0)
    return np.clip(ratio, -1, 1)


def first_less_second(both: Estimated, matrix: FloatArray) -> tuple[float, float]:
    """Return the limits of the first estimate less the second one, from the covariances of all."""
    first, second = (Estimated(*(part[[at]] for part in both)) for at in (0, 1))
    low, high = difference_ends(first, second, correlations(matrix)[[0], [1]])
    return float(low[0]), float(high[0])
