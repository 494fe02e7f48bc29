"""The share of people whose value is sensitive, from what all others say in clear."""

from dataclasses import dataclass

from discreet.arrays import FloatArray
from discreet.core.confidence_intervals import BorderDeviations, Intervals, Limits


@dataclass(frozen=True, slots=True, eq=False)
class ComplementIntervals:
    """The intervals of what is left of 1.

    Attributes:
        intervals: of what is taken away.
    """

    intervals: Intervals

    @property
    def centre(self) -> FloatArray:
        """The estimates that the limits lie around."""
        return 1 - self.intervals.centre

    @property
    def remark(self) -> str:
        """A sentence on where they come from."""
        return self.intervals.remark

    def limits(self, level: float, *, simultaneous: bool = False) -> Limits:
        """Return the limits; see `Intervals.limits`."""
        low, high = self.intervals.limits(level, simultaneous=simultaneous)
        return 1 - high, 1 - low

    @property
    def border_deviations(self) -> BorderDeviations:
        """The standard deviations of the estimates at the ends of [0, 1]."""
        nobody, everybody = self.intervals.border_deviations
        return BorderDeviations(everybody, nobody)
