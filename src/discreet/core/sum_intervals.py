"""Intervals of sums of frequencies: from the law of the count behind a sum where it is known, else from its variance.

It is known where the count is binomial, and of sensitive values that are alike (`discreet.accuracy.sum_worths`).
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from discreet.arrays import FloatArray, IntArray
from discreet.core.confidence_intervals import BorderDeviations, Limits, NormalIntervals, miss_probability
from discreet.core.covariance import CountedLimits, Covariance


@dataclass(frozen=True, eq=False, repr=False)
class SumIntervals:
    """The intervals of sums over cells.

    Attributes:
        covariance: of the sums.
        n: number of reports.
    """

    covariance: Covariance
    n: int

    remark = ""

    @property
    def centre(self) -> FloatArray:
        """The ``(m,)`` estimated sums."""
        return self.covariance.centre

    @cached_property
    def standard_errors(self) -> FloatArray:
        """``(m,)`` standard errors of the sums; where all reports agree, what one report more or less is worth.

        The sum of all frequencies is 1 and has none.
        """
        errors: FloatArray = np.sqrt(self.covariance.variances())
        if len(errors) > 1:
            errors[errors < 0.5 / self.n] = 1 / self.n
        return errors

    @cached_property
    def _counted(self) -> list[tuple[IntArray, CountedLimits]]:
        """The cells whose counts are of a known law, with these laws."""
        found = []
        for counted in self.covariance.counted:
            rows = np.flatnonzero(counted.known)
            if len(rows):
                found.append((rows, counted.law(counted.counts[rows], counted.bases[rows])))
        return found

    @property
    def _normal(self) -> NormalIntervals:
        return NormalIntervals(self.covariance.centre, self.standard_errors)

    def limits(self, level: float, *, simultaneous: bool = False) -> Limits:
        """Return the limits of the sums, not clipped; see `Intervals.limits`."""
        low, high = self._normal.limits(level, simultaneous=simultaneous)
        for rows, law in self._counted:
            low[rows], high[rows] = law.limits(miss_probability(level, len(low), simultaneous=simultaneous))
        return low, high

    @property
    def border_deviations(self) -> BorderDeviations:
        """The standard deviations of the sums at the ends of [0, 1]: as they are, where the counts do not tell."""
        nobody, everybody = self.standard_errors.copy(), self.standard_errors.copy()
        for rows, law in self._counted:
            nobody[rows], everybody[rows] = law.border_deviations
        return BorderDeviations(nobody, everybody)
