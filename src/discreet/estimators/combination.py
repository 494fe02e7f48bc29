"""Combined estimates: sums over strata of different people, with errors from the reports' own squares.

With weights w_i, an estimate sum(w_i phi_i) of worths phi_i has the variance sum(w_i^2 E(phi_i - c_i)^2), c_i the part
of phi_i that does not vary: the estimate itself where all is one sample, the stratum's where its share is known,
the fitted value where weights are raked to margins [spec of surveys, E].
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from discreet.arrays import FloatArray
from discreet.core.confidence_intervals import ScoreIntervals, score_ends
from discreet.core.estimate import Estimate
from discreet.estimators.strata import Strata, Stratum
from discreet.mechanisms import Mechanism


@dataclass(frozen=True, slots=True, eq=False)
class Combined:
    """A sum over strata, with its variance.

    Attributes:
        people: number of reports.
        frequencies: ``(|X|,)`` sums.
        variances: ``(|X|,)`` their variances, unbiased, as far as the reports show any.
        moments: ``(A, B)``; the variance of n reports of one weight would be (A + B p - p^2) / n.
        effective: the number of reports of one weight that tell as much, as far as weights are concerned [Kish].
        simulated: whether any report was simulated.
    """

    people: int
    frequencies: FloatArray
    variances: FloatArray
    moments: tuple[FloatArray, FloatArray]
    effective: float
    simulated: bool

    def estimate(self, mechanism: Mechanism, method: str) -> Estimate:
        """Return the estimate with standard errors and score intervals."""
        errors = np.sqrt(np.maximum(self._floored(), 0))
        constant, slope = self.moments
        model = constant + slope * self.frequencies - self.frequencies**2
        least = np.finfo(float).tiny
        # The number of reports of one weight that would have this very variance.
        alike = np.where((model > least) & (errors > 0), model / np.maximum(errors**2, least), self.effective)
        return Estimate(
            mechanism.domain,
            self.frequencies,
            errors,
            self.people,
            method,
            mechanism.fingerprint,
            simulated=self.simulated,
            intervals=ScoreIntervals(self.frequencies, self.moments, np.maximum(alike, 1)),
        )

    def _floored(self) -> FloatArray:
        """Return the variances; where all reports agree, the larger one at the ends of a score interval."""
        rows = np.flatnonzero(self.variances < (0.5 / self.effective) ** 2)
        if not len(rows) or len(self.frequencies) == 1:
            return self.variances
        constant, slope = (one[rows] for one in self.moments)
        ends = score_ends(self.frequencies[rows], (constant, slope), self.effective, 1.0)
        plausible = [(constant + slope * end - end**2) / self.effective for end in (np.clip(one, 0, 1) for one in ends)]
        found = self.variances.copy()
        found[rows] = np.maximum.reduce([*plausible, found[rows]])
        return found


def combine(
    strata: Strata,
    factors: FloatArray,
    centres: Iterable[FloatArray] | None = None,
    *,
    centred: FloatArray | None = None,
) -> Combined:
    """Return the sum over strata of factor times weighted sum.

    Args:
        strata: k strata of different people.
        factors: ``(k,)`` such that the factors times their weights sum to 1.
        centres: of each stratum, ``(|X|,)``; None for its own mean: that is right where shares are known.
        centred: ``(|X|,)`` the centre of all strata, in the place of ``centres``.
    """
    total = _Total()
    own = iter(centres) if centres is not None else None
    for stratum, factor in zip(strata, factors, strict=True):
        centre = centred if centred is not None else stratum.mean if own is None else next(own)
        total.add(stratum, float(factor), centre)
    return total.combined()


class _Total:
    """Sums over the strata so far."""

    def __init__(self) -> None:
        self.people, self.squares, self.simulated = 0, 0.0, False
        self.mean, self.variance, self.lasting = (np.zeros(1) for _ in range(3))
        self.moments = (np.zeros(1), np.zeros(1))

    def add(self, stratum: Stratum, factor: float, centre: FloatArray) -> None:
        """Add a stratum."""
        share, free = factor * stratum.weight, stratum.people / max(stratum.people - 1, 1)
        self.people += stratum.people
        self.squares += factor**2 * stratum.squares
        self.simulated |= stratum.simulated
        self.mean = self.mean + share * stratum.mean
        self.variance = self.variance + factor**2 * free * stratum.squares_about(centre)
        # The bias of a pool is the same for all who use it.
        self.lasting = self.lasting + abs(share) * np.sqrt(np.maximum(stratum.lasting, 0))
        constant, slope = (one + share * more for one, more in zip(self.moments, stratum.moments, strict=True))
        self.moments = constant, slope

    def combined(self) -> Combined:
        variance, effective = np.maximum(self.variance, 0) + self.lasting**2, 1 / self.squares
        constant, slope = self.moments
        moments = constant + effective * self.lasting**2, slope
        return Combined(self.people, self.mean, variance, moments, effective, self.simulated)
