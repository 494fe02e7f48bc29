"""Confidence intervals of frequencies: the protocol, the level of each value, and intervals from standard errors."""

from dataclasses import dataclass
from math import expm1, log
from statistics import NormalDist
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np

from discreet.arrays import FloatArray

DEFAULT_LEVEL = 0.95
"""Confidence of intervals where none is asked for."""

Limits: TypeAlias = tuple[FloatArray, FloatArray]
"""Lower and upper limits, each ``(|X|,)``."""


class BorderDeviations(NamedTuple):
    """Standard deviations of estimates where nobody has the value, and where everybody has it, each ``(|X|,)``."""

    nobody: FloatArray
    everybody: FloatArray


class Intervals(Protocol):
    """Confidence intervals of a domain's values for any level; they belong to the data, not to a point estimate."""

    @property
    def remark(self) -> str:
        """A sentence on where they come from, if not from where the method says; empty otherwise."""
        ...

    def limits(self, level: float, *, simultaneous: bool = False) -> Limits:
        """Return the limits of the frequencies, each ``(|X|,)``, not clipped: they may lie outside [0, 1].

        Args:
            level: confidence, in (0, 1).
            simultaneous: whether all |X| intervals hold at once with this confidence; see `miss_probability`.
        """
        ...

    @property
    def centre(self) -> FloatArray:
        """The ``(|X|,)`` estimates that the limits lie around, nearly unbiased; they may be negative."""
        ...

    @property
    def border_deviations(self) -> BorderDeviations:
        """The standard deviations of these estimates at the ends of [0, 1]."""
        ...


def miss_probability(level: float, size: int, *, simultaneous: bool) -> float:
    """Return the probability with which the interval of one value may miss, so that ``size`` hold at once with `level`.

    Sidak's: 1 - level^(1/size), valid for every correlation of two-sided intervals of jointly normal estimates.
    """
    return -expm1(log(level) / size) if simultaneous else 1 - level


def sigmas(tail: float) -> float:
    """Return the standard score that a normal number exceeds with probability ``tail``."""
    return -NormalDist().inv_cdf(tail)


def within_borders(limits: Limits, borders: BorderDeviations, alpha: float) -> Limits:
    """Return limits clipped to [0, 1], where no interval is empty.

    An estimate far below 0 (above 1) leaves no plausible p; a one-sided interval of this level would still reach so far
    from the border.

    Args:
        limits: lower and upper, each ``(|X|,)``, not clipped.
        borders: the standard deviations at 0 and at 1.
        alpha: the probability with which each interval may miss.
    """
    room = sigmas(alpha / 2) - sigmas(min(alpha, 0.5))
    low, high = limits
    return (
        np.clip(np.minimum(low, 1 - room * borders.everybody), 0, 1),
        np.clip(np.maximum(high, room * borders.nobody), 0, 1),
    )


@dataclass(frozen=True, slots=True, eq=False)
class NormalIntervals:
    """Intervals of an estimate whose standard errors are all that is known of it: estimate -+ z standard errors.

    Attributes:
        centre: ``(|X|,)`` the estimate.
        standard_errors: ``(|X|,)`` its standard errors.
        remark: a sentence on where they come from.
    """

    centre: FloatArray
    standard_errors: FloatArray
    remark: str = ""

    def limits(self, level: float, *, simultaneous: bool = False) -> Limits:
        """Return the limits; see `Intervals.limits`."""
        alpha = miss_probability(level, len(self.centre), simultaneous=simultaneous)
        away = sigmas(alpha / 2) * self.standard_errors
        return self.centre - away, self.centre + away

    @property
    def border_deviations(self) -> BorderDeviations:
        """The standard errors, at both ends."""
        return BorderDeviations(self.standard_errors, self.standard_errors)


@dataclass(frozen=True, slots=True, eq=False)
class ScoreIntervals:
    """Wilson's intervals for any mechanism: the p whose own variance makes the linear estimate plausible.

    Attributes:
        centre: ``(|X|,)`` linear estimates.
        second_moments: ``(A, B)``, each ``(|X|,)``, with n Var = A + B p - p^2.
        n: number of reports; ``(|X|,)`` where weights leave as much as so many of one weight.
        remark: a sentence on where they come from.
    """

    centre: FloatArray
    second_moments: tuple[FloatArray, FloatArray]
    n: float | FloatArray
    remark: str = ""

    def limits(self, level: float, *, simultaneous: bool = False) -> Limits:
        """Return the limits; see `Intervals.limits`."""
        alpha = miss_probability(level, len(self.centre), simultaneous=simultaneous)
        return score_ends(self.centre, self.second_moments, self.n, sigmas(alpha / 2))

    @property
    def border_deviations(self) -> BorderDeviations:
        """The standard deviations of the estimates at the ends of [0, 1]."""
        constant, slope = self.second_moments
        nobody, everybody = (np.sqrt(np.maximum(end, 0) / self.n) for end in (constant, constant + slope - 1))
        return BorderDeviations(nobody, everybody)


def score_ends(
    frequencies: FloatArray, second_moments: tuple[FloatArray, FloatArray], n: float | FloatArray, z: float | FloatArray
) -> Limits:
    """Return the ends of score intervals: p with (p_hat - p)^2 = z^2 (A + B p - p^2) / n.

    Args:
        frequencies: ``(m,)`` p_hat.
        second_moments: A and B, each ``(m,)``; n times the variance is A + B p - p^2 where the truth is p.
        n: number of reports.
        z: in standard deviations; a number, or ``(m,)``.

    Returns:
        The lower and the upper solution, each ``(m,)``; they may lie outside [0, 1].
    """
    constant, slope = second_moments
    share = z * z / n
    centre = (2 * frequencies + share * slope) / (2 * (1 + share))
    product = (frequencies**2 - share * constant) / (1 + share)
    half = np.sqrt(np.maximum(centre**2 - product, 0))
    return centre - half, centre + half
