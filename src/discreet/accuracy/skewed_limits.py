"""Confidence limits from mean worths of reports, by Pearson's type III: the normal quantile, corrected for skewness.

Where a report's worth has the moments m_k(p) = E w^k, the estimate has variance (m_2 - p^2)/n and skewness
gamma = (m_3 - 3 p m_2 + 2 p^3) / ((m_2 - p^2)^(3/2) sqrt(n)). A shifted gamma distribution with the same three moments
has shape 4/gamma^2; a limit is the p at which one of its tails is alpha/2.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from discreet.accuracy.decoder import PerValue
from discreet.accuracy.expansion import expanded_limit
from discreet.arrays import FloatArray
from discreet.core.confidence_intervals import Ends, once_each, score_ends, sigmas

_ROUNDS = 4
# Below it the expansion is as good, and SciPy need not be imported: that takes as long as many verbs.
_NEARLY_SYMMETRIC = 0.02
_MOST_SKEWED = 40.0
# Its power 3/2 is still a number.
_TINY = 1e-60


class WorthMoment(NamedTuple):
    """A moment of a report's worth: constant + slope p + beyond max(p - a, 0) + before min(p - u, 0).

    Each is a number, or ``(m,)``. Where p exceeds the estimate a of the mass of all values like it, that mass is p;
    below u, which was counted in clear, it is those in clear who are fewer.
    """

    constant: PerValue
    slope: PerValue
    beyond: PerValue = 0.0
    before: PerValue = 0.0

    def at(self, p: FloatArray, kinks: tuple[PerValue, PerValue]) -> FloatArray:
        """Return the ``(m,)`` moments at frequencies p, given u and a."""
        told, mass = kinks
        lines = self.constant + self.slope * p
        moment: FloatArray = lines + self.beyond * np.maximum(p - mass, 0) + self.before * np.minimum(p - told, 0)
        return moment

    def line(self, p: FloatArray, kinks: tuple[PerValue, PerValue]) -> tuple[FloatArray, FloatArray]:
        """Return constant and slope of the line, of the three, on which p lies."""
        told, mass = kinks
        past, under = (p > mass) * self.beyond, (p < told) * self.before
        constant, slope = self.constant - past * mass - under * told, self.slope + past + under
        return np.broadcast_to(constant, p.shape), np.broadcast_to(slope, p.shape)


@dataclass(frozen=True, slots=True, eq=False)
class MeanWorths:
    """Estimates that are means of the worths of reports, with the moments of these.

    Attributes:
        estimates: ``(m,)`` p_hat; or ``(g, m)``, of groups of reports, of which any number below may be ``(g, 1)``.
        n: number of reports, or what is left of it where parameters were fitted.
        second: m_2.
        third: m_3.
        mass: a, from which on the moments have another slope; a number, or ``(m,)``.
        lasting: variance that more reports do not lessen; a number, or ``(m,)``.
        told: u, up to which they have another one; a number, or ``(m,)``.
    """

    estimates: FloatArray
    n: PerValue
    second: WorthMoment
    third: WorthMoment
    mass: PerValue = 1.0
    lasting: PerValue = 0.0
    told: PerValue = 0.0

    @property
    def _kinks(self) -> tuple[PerValue, PerValue]:
        return self.told, self.mass

    def limits(self, alpha: float) -> Ends:
        """Return the lower and upper limits of p as `estimates`, not clipped; each misses with about alpha/2."""
        shape = self.estimates.shape
        numbers = (self.n, *self.second, *self.third, self.mass, self.lasting, self.told)
        if any(np.ndim(number) and np.shape(number) != (*shape[:-1], 1) for number in numbers):
            return self._ends(alpha / 2)
        first, places = once_each(self.estimates, *numbers)
        n, *moments, mass, lasting, told = (
            np.broadcast_to(one, shape)[first] if np.ndim(one) else one for one in numbers
        )
        second, third = WorthMoment(*moments[:4]), WorthMoment(*moments[4:])
        low, high = MeanWorths(self.estimates[first], n, second, third, mass, lasting, told)._ends(alpha / 2)
        return low[places], high[places]

    def variances(self, p: FloatArray) -> FloatArray:
        """Return the ``(m,)`` variances of the estimates where the true frequencies are p."""
        variance: FloatArray = np.maximum(self.second.at(p, self._kinks) - p * p, 0) / self.n + self.lasting
        return variance

    def _ends(self, tail: float) -> Ends:
        estimates, middle = self.estimates, np.full(self.estimates.shape, sigmas(tail))
        low, high = self._end(estimates, estimates, middle, 0), self._end(estimates, estimates, middle, 1)
        for _ in range(_ROUNDS):
            above, below = standard_limit(self._skewness(low), tail), standard_limit(-self._skewness(high), tail)
            low, high = self._end(estimates, low, above, 0), self._end(estimates, high, below, 1)
        return low, high

    def _end(self, estimates: FloatArray, near: FloatArray, deviations: FloatArray, side: int) -> FloatArray:
        """Return the solution of (p_hat - p)^2 = deviations^2 Var(p) on one side, with the variance near ``near``."""
        constant, slope = self.second.line(near, self._kinks)
        ends = score_ends(estimates, (constant + self.n * self.lasting, slope), self.n, deviations)
        # Below the middle of a skewed distribution the quantile changes sides.
        return np.where(deviations >= 0, ends[side], ends[1 - side])

    def _skewness(self, p: FloatArray) -> FloatArray:
        p = np.clip(p, 0, 1)
        second, third = (moment.at(p, self._kinks) for moment in (self.second, self.third))
        variance = np.maximum(second - p * p, _TINY)
        whole = variance / self.n + self.lasting
        skewness: FloatArray = (third - 3 * p * second + 2 * p**3) / (self.n**2 * whole**1.5)
        return skewness


def standard_limit(skewness: FloatArray, tail: float) -> FloatArray:
    """Return the number that a standard variable of Pearson's type III exceeds with probability ``tail``.

    Args:
        skewness: ``(m,)`` gamma, of either sign.
        tail: in (0, 1).
    """
    limit, skewed = expanded_limit(skewness, 1.5 * skewness**2, tail), np.abs(skewness) >= _NEARLY_SYMMETRIC
    if not skewed.any():
        return limit
    from scipy.special import gammainccinv, gammaincinv

    skewness = skewness[skewed]
    size = np.minimum(np.abs(skewness), _MOST_SKEWED)
    shape = 4 / size**2
    ends = np.where(skewness > 0, gammainccinv(shape, tail), gammaincinv(shape, tail))
    limit[skewed] = (ends - shape) * size / 2 * np.sign(skewness)
    return limit
