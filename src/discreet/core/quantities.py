"""Numbers that follow from an estimate, each with its error and its interval: sums, ratios and quantiles."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isnan
from typing import Any, NamedTuple

import numpy as np

from discreet.arrays import FloatArray
from discreet.core.checks import checked_level
from discreet.core.confidence_intervals import sigmas

_LEVEL = 0.95
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
        bounds: a function that returns its limits, not clipped, for the probability with which both together may miss.
        borders: the least and the largest value that it can have.
        facts: method and number of reports, in words.
    """

    name: str
    estimate: float
    standard_error: float
    bounds: Callable[[float], tuple[float, float]]
    borders: tuple[float, float]
    facts: str

    def interval(self, level: float = _LEVEL) -> IntervalEnds:
        """Return a confidence interval, within the borders.

        It belongs to the reports, whatever the method is: the estimate of a biased method may lie outside.

        Raises:
            ParameterError: if the level is not in (0, 1).
        """
        low, high = self.bounds(1 - checked_level(level))
        least, most = self.borders
        return IntervalEnds(min(max(low, least), most), min(max(high, least), most))

    @property
    def fits(self) -> bool:
        """True if the estimate lies in its own interval at 95%, before that is cut off at the borders."""
        low, high = self.bounds(1 - _LEVEL)
        ends = self.interval()
        least, most = min(low, float(ends.lower)), max(high, float(ends.upper))
        return least - _ROUNDING <= self.estimate <= most + _ROUNDING

    @property
    def _away(self) -> str:
        if self.fits:
            return ""
        if self.facts.startswith("linear"):
            return "; the estimate lies outside, as unbiased estimates need not sum to 1 and shares do"
        return "; the estimate of this method lies outside, so that it contradicts the reports"

    def __float__(self) -> float:
        return self.estimate

    def __repr__(self) -> str:
        low, high = self.interval()
        error = f"standard error {self.standard_error:.4f}, 95% interval {low:.4f} to {high:.4f}"
        return f"{self.name}: {self.estimate:.4f}, {error}{self._away} ({self.facts})"


@dataclass(frozen=True, slots=True, repr=False)
class Ratio:
    """The ratio of the shares of two sets of values.

    Attributes:
        name: of the ratio.
        estimate: its value under the method of the estimate that it is of; nan where that divides by 0 or less.
        standard_error: to first order (the delta method), which intervals do not follow from; nan likewise.
        bounds: a function that returns its limits, for the probability with which both together may miss.
        borders: the least and the largest value that it can have.
        facts: method and number of reports, in words.
    """

    name: str
    estimate: float
    standard_error: float
    bounds: Callable[[float], tuple[float, float]]
    borders: tuple[float, float]
    facts: str

    def interval(self, level: float = _LEVEL) -> IntervalEnds:
        """Return the ratios that the reports do not contradict; infinite where the divisor may be 0.

        Raises:
            ParameterError: if the level is not in (0, 1).
        """
        return IntervalEnds(*self.bounds(1 - checked_level(level)))

    @property
    def determined(self) -> bool:
        """True if the reports bound the ratio at 95%: an end lies inside the borders."""
        return tuple(self.interval()) != self.borders

    def __float__(self) -> float:
        return self.estimate

    def __repr__(self) -> str:
        low, high = self.interval()
        doubt = "" if self.determined else "; not determined by these data"
        value = "no estimate" if isnan(self.estimate) else f"{self.estimate:.4f}"
        error = f"standard error {self.standard_error:.4f}, 95% interval {low:.4f} to {high:.4f}"
        return f"{self.name}: {value}, {error}{doubt} ({self.facts})"


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
