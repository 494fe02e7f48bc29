"""DET curves: the trade-off of false acceptance and false rejection, exact over all thresholds.

A claim is accepted if its score is at least t. The *false acceptance rate* is the share of impostor scores >= t, the
*false rejection rate* that of genuine scores < t. Between two neighbouring genuine scores only the first changes, and
is least at the upper one, so thresholds at the distinct genuine scores are all that matter, and impostor scores
counted between them are all that is needed.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.arrays import FloatArray, IntArray, frozen
from discreet.core.checks import checked_level, checked_share
from discreet.plots.det import DetLine, det_chart
from discreet.risk.scores.rates import Rate, rate
from discreet.risk.scores.scores import Scores, checked


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DET:
    """A DET curve: one point per threshold, from the least genuine score up to one above all scores.

    Attributes:
        false_accepts: ``(b + 1,)`` numbers of impostor scores accepted, falling to 0.
        false_rejects: ``(b + 1,)`` numbers of genuine scores rejected, rising from 0 to n.
        n: number of genuine scores.
        m: number of impostor scores.

    Example:
        >>> curve = det(Scores.of_pairs([5, 6, 7, 9], [1, 2, 3, 6]))
        >>> curve.far.tolist(), curve.frr.tolist()
        ([0.25, 0.25, 0.0, 0.0, 0.0], [0.0, 0.25, 0.5, 0.75, 1.0])
        >>> curve.rejection_at(0.25).value
        0.0
    """

    false_accepts: IntArray
    false_rejects: IntArray
    n: int
    m: int

    def __post_init__(self) -> None:
        """Make the numbers read-only."""
        object.__setattr__(self, "false_accepts", frozen(self.false_accepts))
        object.__setattr__(self, "false_rejects", frozen(self.false_rejects))

    def __repr__(self) -> str:
        return f"DET({len(self.false_accepts)} thresholds, n={self.n}, m={self.m})"

    def __str__(self) -> str:
        return (
            f"At one threshold {self.equal_error_rate:.2%} of genuine pairs are rejected and as many of the impostor "
            f"pairs are accepted ({self.n} genuine and {self.m} impostor scores)."
        )

    @property
    def far(self) -> FloatArray:
        """``(b + 1,)`` false acceptance rates, falling."""
        return self.false_accepts / self.m

    @property
    def frr(self) -> FloatArray:
        """``(b + 1,)`` false rejection rates, rising."""
        return self.false_rejects / self.n

    @property
    def equal_error_rate(self) -> float:
        """The rate at which both errors are equal, by linear interpolation between neighbouring thresholds.

        The first threshold rejects nobody and the last accepts nobody, so the curves always cross.
        """
        far, frr = self.far, self.frr
        after = int(np.argmax(frr >= far))
        if after == 0:
            return float(far[0])
        fall, rise = far[after - 1] - far[after], frr[after] - frr[after - 1]
        share = (far[after - 1] - frr[after - 1]) / (fall + rise)
        return float(frr[after - 1] + share * rise)

    def rejection_at(self, far: float, *, level: float = 0.95) -> Rate:
        """Return the least false rejection rate of a threshold that accepts at most this share of impostors.

        Args:
            far: in 0..1.
            level: confidence of the interval, for the threshold as given.

        Raises:
            ParameterError: if it is no share.
        """
        limit = checked_share("far", far)
        # The product may be a rounding off the count that it stands for.
        place = int(np.argmax(self.false_accepts <= limit * self.m * (1 + 1e-12)))
        return rate(float(self.false_rejects[place]), self.n, level=level)

    def acceptance_at(self, frr: float, *, level: float = 0.95) -> Rate:
        """Return the least false acceptance rate of a threshold that rejects at most this share of genuine scores.

        The interval takes impostor scores as independent; those of one probe are not, and it is then too short.

        Args:
            frr: in 0..1.
            level: confidence of the interval.

        Raises:
            ParameterError: if it is no share.
        """
        limit = checked_share("frr", frr)
        place = int(np.flatnonzero(self.false_rejects <= limit * self.n * (1 + 1e-12))[-1])
        return rate(float(self.false_accepts[place]), self.m, level=checked_level(level))

    def line(self, name: str) -> DetLine:
        """Return the curve's line in a chart of several."""
        return DetLine(name, self.far, self.frr, self.equal_error_rate)

    def plot(self, name: str = "attack") -> Any:
        """Return an Altair chart on normal-deviate axes."""
        return det_chart([self.line(name)])


def det(scores: Scores) -> DET:
    """Return the DET curve of genuine and impostor scores.

    Raises:
        DataError: if there are fewer than 2 genuine scores or no impostor scores, or they are not finite.

    Example:
        >>> det(Scores.of_pairs([5, 6, 7, 9], [1, 2, 3, 6])).equal_error_rate
        0.25
    """
    bins = checked(scores).bins()
    genuine, impostors = np.add.reduceat(bins, np.flatnonzero(bins[0]), axis=1)
    accepts = np.append(np.cumsum(impostors[::-1])[::-1], 0)
    rejects = np.concatenate([[0], np.cumsum(genuine)])
    return DET(accepts, rejects, scores.n, scores.m)
