"""The intervals of an estimate: clipped, not clipped, and where its frequencies lie outside."""

from typing import TYPE_CHECKING

import numpy as np

from discreet.arrays import BoolArray, FloatArray
from discreet.core.checks import checked_level
from discreet.core.confidence_intervals import (
    DEFAULT_LEVEL,
    BorderDeviations,
    Intervals,
    Limits,
    NormalIntervals,
    miss_probability,
    within_borders,
)

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
        intervals: Intervals | None

        @property
        def standard_errors(self) -> FloatArray:
            """``(|X|,)`` standard errors."""
            ...

    def interval(self, level: float = DEFAULT_LEVEL, simultaneous: bool = False) -> tuple[FloatArray, FloatArray]:
        """Return confidence intervals for the true frequencies.

        An interval belongs to the reports and the value, not to the method: it holds every share under which the count
        of the value is not surprising, by exact binomial tails where the count is binomial, else corrected for
        skewness. ``mle`` and ``em`` have shorter ones from whole reports. A biased method's frequency may lie outside;
        see `contradicted`.

        Args:
            level: confidence, in (0, 1).
            simultaneous: whether all |X| intervals hold at once with this confidence (Sidak).

        Returns:
            Lower and upper ends, each ``(|X|,)``, within [0, 1]; never equal where anything is unknown.

        Raises:
            ParameterError: if the level is not in (0, 1).
        """
        limits = self.limits(level, simultaneous)
        alpha = miss_probability(level, self.domain.size, simultaneous=simultaneous)
        return within_borders(limits, self.border_deviations, alpha)

    def limits(self, level: float = DEFAULT_LEVEL, simultaneous: bool = False) -> Limits:
        """Return the ends of `interval` before they are clipped to [0, 1]; differences of estimates need these.

        Args:
            level: confidence, in (0, 1).
            simultaneous: as for `interval`.

        Raises:
            ParameterError: as for `interval`.
        """
        level = checked_level(level)
        return self._intervals.limits(level, simultaneous=simultaneous)

    @property
    def centre(self) -> FloatArray:
        """``(|X|,)`` nearly unbiased estimates that `limits` lie around, whatever the method is."""
        return self._intervals.centre

    @property
    def remark(self) -> str:
        """A sentence on where the intervals come from, if not from where the method says; empty otherwise."""
        return self._intervals.remark

    @property
    def border_deviations(self) -> BorderDeviations:
        """Standard deviations of `centre` where nobody, and where everybody, has the value, each ``(|X|,)``."""
        return self._intervals.border_deviations

    @property
    def _intervals(self) -> Intervals:
        return self.intervals or NormalIntervals(self.frequencies, self.standard_errors)

    def contradicted(self, level: float = DEFAULT_LEVEL, simultaneous: bool = False) -> BoolArray:
        """Return ``(|X|,)`` booleans: true where a frequency lies outside its interval.

        There the method contradicts the reports: it states a share under which they would be surprising.

        Args:
            level: confidence, in (0, 1).
            simultaneous: as for `interval`.

        Raises:
            ParameterError: as for `interval`.
        """
        low, high = self.interval(level, simultaneous)
        lowest, highest = self.limits(level, simultaneous)
        slack = _ROUNDING * (high - low)
        outside: BoolArray = (self.frequencies < np.minimum(low, lowest) - slack) | (
            self.frequencies > np.maximum(high, highest) + slack
        )
        return outside

    def contradiction(self, level: float | None = None, *, simultaneous: bool = False) -> str:
        """Return a sentence that names values where the method contradicts the reports; empty if there are none."""
        where = np.flatnonzero(self.contradicted(DEFAULT_LEVEL if level is None else level, simultaneous))
        if not len(where):
            return ""
        named = self.domain.names(where[:_NAMED])
        more = [f"{len(where) - _NAMED:,} more values"] if len(where) > _NAMED else []
        return (
            f"Method {self.method} contradicts the reports here, its frequencies lie outside their intervals: "
            f"{', '.join([*named, *more])}."
        )
