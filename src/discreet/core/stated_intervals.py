"""The intervals of an estimate: clipped, not clipped, and where its frequencies lie outside."""

from typing import TYPE_CHECKING

import numpy as np

from discreet.arrays import BoolArray, FloatArray
from discreet.core.checks import checked_level, checked_whole
from discreet.core.confidence_intervals import DEFAULT_LEVEL, Ends
from discreet.core.limits import ConfidenceLimits, StatedLimits

if TYPE_CHECKING:
    from discreet.core.domain import Domain

# Values that are named where a method contradicts the reports.
_NAMED = 5
# Of an interval's width: a frequency at its end is not outside.
_ROUNDING = 1e-9


class StatedIntervals:
    """The confidence intervals of an estimate, whatever its method."""

    __slots__ = ()

    if TYPE_CHECKING:
        domain: Domain
        frequencies: FloatArray
        method: str
        intervals: ConfidenceLimits | None

        @property
        def standard_errors(self) -> FloatArray:
            """``(|X|,)`` standard errors."""
            ...

    def interval(
        self, level: float = DEFAULT_LEVEL, simultaneous: bool = False, *, shown: int | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Return confidence intervals for the true frequencies.

        An interval belongs to the reports and the value, not to the method: it holds every share under which the count
        of the value is not surprising, by exact binomial tails where the count is binomial, else corrected for
        skewness. ``mle`` and ``em`` have shorter ones from whole reports. A biased method's frequency may lie outside;
        see `contradicted`.

        Args:
            level: confidence, in (0, 1).
            simultaneous: whether all |X| intervals hold at once with this confidence (Sidak).
            shown: how many values are chosen by their estimates, as the most frequent ones are: on average at most
                1 - level of the chosen intervals miss [Benjamini and Yekutieli 2005]. None for values that were chosen
                without a look at the estimates, of which pointwise intervals hold.

        Returns:
            Lower and upper ends, each ``(|X|,)``, within [0, 1]; never equal where anything is unknown.

        Raises:
            ParameterError: if the level is not in (0, 1), or shown is no whole number from 1.
        """
        low, high = self.limits(level, simultaneous, shown=shown)
        return np.clip(low, 0, 1), np.clip(high, 0, 1)

    def limits(self, level: float = DEFAULT_LEVEL, simultaneous: bool = False, *, shown: int | None = None) -> Ends:
        """Return the ends of `interval` before they are clipped to [0, 1]; differences of estimates need these.

        Args:
            level: confidence, in (0, 1).
            simultaneous: as for `interval`.
            shown: as for `interval`.

        Raises:
            ParameterError: as for `interval`.
        """
        level = checked_level(level)
        chosen = None if shown is None else checked_whole("shown", shown, 1)
        return self._limits.limits(level, simultaneous=simultaneous, shown=chosen)

    @property
    def centre(self) -> FloatArray:
        """``(|X|,)`` nearly unbiased estimates that `limits` lie around, whatever the method is."""
        return self._limits.centre

    @property
    def remark(self) -> str:
        """A sentence on where the intervals come from, if not from where the method says; empty otherwise."""
        return self._limits.remark

    def variances(self, at: float) -> FloatArray:
        """Return the ``(|X|,)`` variances of `centre` where all of the true frequencies are ``at``, 0 or 1."""
        return self._limits.variances(at)

    @property
    def _limits(self) -> ConfidenceLimits:
        return self.intervals or StatedLimits(self.frequencies, self.standard_errors**2)

    def contradicted(
        self, level: float = DEFAULT_LEVEL, simultaneous: bool = False, *, shown: int | None = None
    ) -> BoolArray:
        """Return ``(|X|,)`` booleans: true where a frequency lies outside its interval.

        There the method contradicts the reports: it states a share under which they would be surprising.

        Args:
            level: confidence, in (0, 1).
            simultaneous: as for `interval`.
            shown: as for `interval`.

        Raises:
            ParameterError: as for `interval`.
        """
        low, high = self.interval(level, simultaneous, shown=shown)
        lowest, highest = self.limits(level, simultaneous, shown=shown)
        slack = _ROUNDING * (high - low)
        outside: BoolArray = (self.frequencies < np.minimum(low, lowest) - slack) | (
            self.frequencies > np.maximum(high, highest) + slack
        )
        return outside

    def contradiction(self, level: float | None = None, *, simultaneous: bool = False, shown: int | None = None) -> str:
        """Return a sentence that names values where the method contradicts the reports; empty if there are none."""
        outside = self.contradicted(DEFAULT_LEVEL if level is None else level, simultaneous, shown=shown)
        where = np.flatnonzero(outside)
        if not len(where):
            return ""
        named = self.domain.names(where[:_NAMED])
        more = [f"{len(where) - _NAMED:,} more values"] if len(where) > _NAMED else []
        reason = f"Method {self.method} contradicts the reports here, its frequencies lie outside their intervals"
        if self.method.startswith("linear"):
            reason = "Unbiased estimates need not be shares, which sum to 1; these lie outside their intervals"
        return f"{reason}: {', '.join([*named, *more])}."
