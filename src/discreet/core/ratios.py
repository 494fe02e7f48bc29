"""Ratios of two estimates: Fieller's sets, and Fieller's intervals of all shares in a sum.

A ratio r is plausible where (t_1 - r t_2)^2 <= z^2 (V_11 - 2 r V_12 + r^2 V_22): between two numbers where the divisor
differs from 0 by more than z standard errors, outside two numbers or everywhere where it does not [Fieller 1954].
"""

from dataclasses import dataclass
from math import inf, sqrt
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from discreet.arrays import FloatArray
from discreet.core.confidence_intervals import BorderDeviations, Limits, miss_probability, sigmas
from discreet.core.covariance import Covariance
from discreet.core.partitions import ValueCells

Pieces: TypeAlias = list[tuple[float, float]]
"""Intervals that do not meet, ascending."""


class Moments(NamedTuple):
    """Estimates and their divisor, with their variances and covariances; numbers, or ``(m,)`` but for the divisor's.

    Attributes:
        top: t_1.
        bottom: t_2.
        top_variance: V_11.
        covariance: V_12.
        bottom_variance: V_22.
    """

    top: Any
    bottom: float
    top_variance: Any
    covariance: Any
    bottom_variance: float

    def parabola(self, z: float) -> tuple[float, Any, Any]:
        """Return a, b and c: a ratio r is plausible where a r^2 - 2 b r + c <= 0."""
        top, bottom, first, across, second = self
        return bottom**2 - z * z * second, top * bottom - z * z * across, top**2 - z * z * first


def ratio_pieces(moments: Moments, z: float, borders: tuple[float, float]) -> Pieces:
    """Return the plausible ratios within borders, of numbers at most z standard errors away.

    Where none is left within the borders, it is the border next to the plausible ones.
    """
    a, b, c = moments.parabola(z)
    root = sqrt(max(b * b - a * c, 0))
    if a > 0:
        found = [((b - root) / a, (b + root) / a)]
    elif a == 0 or b * b <= a * c:
        found = [(-inf, inf)]
    else:
        found = [(-inf, (b + root) / a), ((b - root) / a, inf)]
    least, most = borders
    inside = [(max(low, least), min(high, most)) for low, high in found if high >= least and low <= most]
    return inside or [(least, least) if found[0][1] < least else (most, most)]


@dataclass(frozen=True, eq=False, repr=False)
class ConditionalIntervals:
    """Fieller's intervals of the shares of values in their sum.

    Attributes:
        covariance: of the estimates whose shares in their sum these are.
    """

    covariance: Covariance

    remark = ""

    @property
    def centre(self) -> FloatArray:
        """The ``(|X|,)`` shares."""
        centre: FloatArray = self._moments.top / self._moments.bottom
        return centre

    def limits(self, level: float, *, simultaneous: bool = False) -> Limits:
        """Return the limits of the shares, infinite where the reports do not bound them; see `Intervals.limits`."""
        size = len(self.covariance.centre)
        a, b, c = self._moments.parabola(sigmas(miss_probability(level, size, simultaneous=simultaneous) / 2))
        if a <= 0:
            return np.full(size, -inf), np.full(size, inf)
        root = np.sqrt(np.maximum(b * b - a * c, 0))
        return (b - root) / a, (b + root) / a

    @property
    def _moments(self) -> Moments:
        across = self.covariance.with_sum()
        centre = self.covariance.centre
        sums = float(centre.sum()), max(float(across.sum()), 0.0)
        return Moments(centre, sums[0], self.covariance.variances(), across, sums[1])

    @property
    def border_deviations(self) -> BorderDeviations:
        """The standard deviations of the shares where nobody, and where everybody, has the value."""
        _, bottom, first, across, second = self._moments
        return BorderDeviations(np.sqrt(first) / bottom, np.sqrt(np.maximum(first - 2 * across + second, 0)) / bottom)

    def sums(self, cells: ValueCells) -> "ConditionalIntervals":
        """Return the intervals of the sums of the shares over cells, which must leave out no value."""
        return ConditionalIntervals(self.covariance.sums(cells))
