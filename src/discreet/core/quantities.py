"""Numbers that follow from an estimate, each with its error and its interval: sums, ratios and quantiles."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, isnan, nan, sqrt
from typing import Any, NamedTuple

import numpy as np

from discreet.arrays import FloatArray
from discreet.core.checks import checked_level
from discreet.core.confidence_intervals import (
    BorderDeviations,
    Intervals,
    Limits,
    NormalIntervals,
    sigmas,
    within_borders,
)
from discreet.core.ratios import Moments, Pieces, ratio_pieces

_LEVEL = 0.95
# A sum that is known, such as that of all values, is 1 up to this.
_ROUNDING = 1e-9


class IntervalEnds(NamedTuple):
    """The ends of an interval.

    Attributes:
        lower: the lower end.
        upper: the upper end.
    """

    lower: Any
    upper: Any


@dataclass(frozen=True, slots=True, repr=False)
class Quantity:
    """A weighted sum of frequencies: a share of people, a mean, a difference.

    Attributes:
        name: of the quantity.
        estimate: its value under the method of the estimate that it is of.
        standard_error: of the unbiased estimate of it, from the covariances of the frequencies.
        intervals: that of this quantity is the only one.
        borders: the least and the largest value that it can have.
        facts: method and number of reports, in words.
    """

    name: str
    estimate: float
    standard_error: float
    intervals: Intervals
    borders: tuple[float, float]
    facts: str

    def interval(self, level: float = _LEVEL) -> IntervalEnds:
        """Return a confidence interval, within the borders.

        It belongs to the reports, whatever the method is: the estimate of a biased method may lie outside.

        Raises:
            ParameterError: if the level is not in (0, 1).
        """
        level = checked_level(level)
        low, high = self.intervals.limits(level)
        if self.borders == (0, 1):
            low, high = within_borders((low, high), self.intervals.border_deviations, 1 - level)
        least, most = self.borders
        return IntervalEnds(min(max(float(low[0]), least), most), min(max(float(high[0]), least), most))

    @property
    def fits(self) -> bool:
        """True if the estimate lies in its own interval at 95%; else the method contradicts the reports here."""
        low, high = self.interval()
        return float(low) - _ROUNDING <= self.estimate <= float(high) + _ROUNDING

    def __float__(self) -> float:
        return self.estimate

    def __repr__(self) -> str:
        low, high = self.interval()
        away = "" if self.fits else "; the estimate of this method lies outside, so that it contradicts the reports"
        error = f"standard error {self.standard_error:.4f}, 95% interval {low:.4f} to {high:.4f}"
        return f"{self.name}: {self.estimate:.4f}, {error}{away} ({self.facts})"


@dataclass(frozen=True, slots=True, repr=False)
class Ratio:
    """The ratio of two weighted sums of frequencies, with Fieller's intervals.

    Attributes:
        name: of the ratio.
        estimate: its value under the method of the estimate that it is of; nan where that divides by 0 or less.
        moments: the unbiased estimates of both sums, with their variances and covariance.
        borders: the least and the largest value that it can have.
        facts: method and number of reports, in words.
    """

    name: str
    estimate: float
    moments: Moments
    borders: tuple[float, float]
    facts: str

    @property
    def standard_error(self) -> float:
        """The standard error to first order (the delta method); intervals do not follow from it."""
        top, bottom, first, across, second = self.moments
        ratio = top / bottom if bottom else nan
        return sqrt(max(first - 2 * ratio * across + ratio**2 * second, 0)) / abs(bottom) if bottom else nan

    def pieces(self, level: float = _LEVEL) -> Pieces:
        """Return the intervals of all ratios that the reports do not contradict [Fieller 1954].

        Where the divisor is not known to differ from 0 these are two pieces, or all within the borders: the reports do
        not determine the ratio.

        Raises:
            ParameterError: if the level is not in (0, 1).
        """
        z = sigmas((1 - checked_level(level)) / 2)
        return ratio_pieces(self.moments, z, self.borders)

    def interval(self, level: float = _LEVEL) -> IntervalEnds:
        """Return the least interval that holds all `pieces`; errors as for these."""
        pieces = self.pieces(level)
        return IntervalEnds(pieces[0][0], pieces[-1][1])

    @property
    def determined(self) -> bool:
        """True if the reports bound the ratio at 95%: one piece, with an end inside the borders."""
        pieces = self.pieces()
        return len(pieces) == 1 and pieces[0] != self.borders

    def __float__(self) -> float:
        return self.estimate

    def __repr__(self) -> str:
        ends = " or ".join(f"{low:.4f} to {high:.4f}" for low, high in self.pieces())
        doubt = "" if self.determined else "; these reports do not determine it"
        value = "no estimate" if isnan(self.estimate) else f"{self.estimate:.4f}"
        return (
            f"{self.name}: {value}, standard error {self.standard_error:.4f}, 95% interval {ends}{doubt} ({self.facts})"
        )


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Quantile:
    """A quantile of labels that have an order, with an interval by inversion.

    Attributes:
        name: of the quantile.
        share: tau, the share of people at or below it.
        labels: all labels in ascending order.
        cumulative: the shares at or below each label, under the method of the estimate.
        unbiased: the unbiased estimates of them.
        deviations: the standard errors of these.
        facts: method and number of reports, in words.
    """

    name: str
    share: float
    labels: Sequence[Any]
    cumulative: FloatArray
    unbiased: FloatArray
    deviations: FloatArray
    facts: str

    @property
    def estimate(self) -> Any:
        """The first label at or below which at least this share is estimated to lie."""
        reached = np.flatnonzero(self.cumulative >= self.share)
        return self.labels[int(reached[0]) if len(reached) else -1]

    def interval(self, level: float = _LEVEL) -> IntervalEnds:
        """Return the first and the last label that may be the quantile.

        The label j may be it if F_j + z sd(F_j) >= tau and F_(j-1) - z sd(F_(j-1)) < tau.

        Raises:
            ParameterError: if the level is not in (0, 1).
        """
        z = sigmas((1 - checked_level(level)) / 2)
        above = self.unbiased + z * self.deviations >= self.share
        below = self.unbiased - z * self.deviations < self.share
        # All people are at or below the last label.
        above[-1] = True
        last = np.flatnonzero(below[:-1])
        return IntervalEnds(self.labels[int(np.argmax(above))], self.labels[int(last[-1]) + 1 if len(last) else 0])

    def __repr__(self) -> str:
        low, high = self.interval()
        return f"{self.name}: {self.estimate}, 95% interval {low} to {high} ({self.facts})"


def single(centre: float, deviation: float) -> Intervals:
    """Return the normal interval of one number."""
    return NormalIntervals(np.array([centre]), np.array([deviation]))


@dataclass(frozen=True, slots=True, eq=False)
class OneInterval:
    """The interval of one value of a domain.

    Attributes:
        intervals: of all values.
        code: of this one.
    """

    intervals: Intervals
    code: int

    @property
    def centre(self) -> FloatArray:
        """The ``(1,)`` estimate that the limits lie around."""
        return self.intervals.centre[[self.code]]

    @property
    def remark(self) -> str:
        """A sentence on where all of them come from."""
        return self.intervals.remark

    def limits(self, level: float, *, simultaneous: bool = False) -> Limits:
        """Return the limits, each ``(1,)``; see `Intervals.limits`."""
        low, high = self.intervals.limits(level, simultaneous=simultaneous)
        return low[[self.code]], high[[self.code]]

    @property
    def border_deviations(self) -> BorderDeviations:
        """The standard deviations of the estimate at the ends of [0, 1]."""
        nobody, everybody = self.intervals.border_deviations
        return BorderDeviations(nobody[[self.code]], everybody[[self.code]])


ANY = (-inf, inf)
"""The borders of what may be any number."""
