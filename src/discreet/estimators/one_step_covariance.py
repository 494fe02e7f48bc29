"""The covariance of the one-step estimate: J^-1 - f f', and the rest shared by counts in clear."""

from functools import cached_property

import numpy as np

from discreet.arrays import FloatArray, IntArray
from discreet.core.covariance import Covariance, DeferredCovariance, LowRankCovariance
from discreet.core.tally import Tally
from discreet.estimators.one_step import OneStep, OneStepIntervals

# Numbers of the rows that choose values: beyond, the linear estimate's covariance is as good as any.
_MOST_NUMBERS = 1 << 25


class OneStepSpread(DeferredCovariance):
    """The covariance that goes with one-step intervals: worked out when it is asked for, as these are.

    Args:
        intervals: the intervals.
        linear: the covariance of the linear estimates, which it is where there is no one-step estimate.
    """

    def __init__(self, intervals: OneStepIntervals, linear: Covariance) -> None:
        for name, attribute in (("n", intervals.n), ("make", self._worked_out)):
            object.__setattr__(self, name, attribute)
        object.__setattr__(self, "_intervals", intervals)
        object.__setattr__(self, "_linear", linear)

    _intervals: OneStepIntervals
    _linear: Covariance

    @cached_property
    def centre(self) -> FloatArray:  # type: ignore[override]
        """The one-step estimates."""
        return self._made.centre if self.n > 1 else self._intervals.centre

    def _worked_out(self) -> Covariance:
        found = self._intervals
        size = len(found.tally.centre)
        if found.step is None or size * len(found.step.point) > _MOST_NUMBERS:
            return self._linear
        return one_step_covariance(found.step, found.codes, size, found.tally.tally)


def one_step_covariance(step: OneStep, codes: IntArray, size: int, tally: Tally) -> LowRankCovariance:
    """Return the covariance of a one-step estimate over all values.

    With r the frequency of the rest and h_y = F_y / F its shares, r h_y varies with r and with h, of which the
    covariance is r^2 (diag(h) - h h') / F.

    Args:
        step: the estimate.
        codes: ``(v,)`` the values that blocks cover.
        size: |X|.
        tally: of the reports.
    """
    core, factors, apart = step.covariance, np.zeros((len(step.point), size)), np.zeros(size)
    factors[np.arange(len(codes)), codes] = 1
    if len(step.point) > len(codes):
        rest, told = max(float(step.estimates[-1]), 0.0), max(tally.clear_total, 1)
        others = np.ones(size, dtype=np.bool_)
        others[codes] = False
        factors[-1, others] = tally.clear / told
        spread = rest**2 * step.n / told
        apart = spread * factors[-1]
        core[-1, -1] -= spread
    return LowRankCovariance(step.estimates @ factors, apart, factors, core, 1 / step.n)
