"""Combined estimates: sums over strata of different people, with errors from the reports' own squares.

With weights w_i, an estimate sum(w_i phi_i) of worths phi_i has the variance sum(w_i^2 E(phi_i - c_i)^2), c_i the part
of phi_i that does not vary: the estimate itself where all is one sample, the stratum's where its share is known,
the fitted value where weights are raked to margins [spec of surveys, E]. So have covariances, with products of worths.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from discreet.arrays import FloatArray
from discreet.core.combined_covariance import CombinedCovariance
from discreet.core.confidence_intervals import score_ends
from discreet.core.covariance import Covariance, DeferredCovariance
from discreet.core.estimate import Estimate
from discreet.core.limits import StatedLimits
from discreet.core.tally import Tally
from discreet.errors import ParameterError
from discreet.estimators.strata import Strata, Stratum
from discreet.mechanisms import Mechanism

Centre: TypeAlias = Callable[[int, Stratum], FloatArray]
"""A function that returns the ``(|X|,)`` part of a stratum's worths that does not vary, from its place and itself."""

# Numbers of all strata's covariances that are held together.
_MOST_NUMBERS = 1 << 28


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

    def estimate(self, mechanism: Mechanism, method: str, spread: Covariance | None, people: Strata) -> Estimate:
        """Return the estimate with standard errors and score intervals, made of the tallies of these people."""
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
            intervals=StatedLimits(self.frequencies, self.moments, np.maximum(alike, 1)),
            spread=spread,
            people=people,
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


def own_mean(place: int, stratum: Stratum) -> FloatArray:
    """Return the mean of a stratum: its centre where its share is known."""
    del place
    return stratum.mean


def combine(
    mechanism: Mechanism, strata: Strata, factors: FloatArray, method: str, centre: Centre = own_mean
) -> Estimate:
    """Return the sum over strata of factor times weighted sum.

    Args:
        mechanism: what made the reports.
        strata: k strata of different people.
        factors: ``(k,)`` such that the factors times their weights sum to 1.
        method: its name.
        centre: the centre of each stratum.
    """
    total = _Total()
    for place, (stratum, factor) in enumerate(zip(strata, factors, strict=True)):
        total.add(stratum, float(factor), centre(place, stratum))
    found = total.combined()
    return found.estimate(mechanism, method, _spread(mechanism, strata, factors, centre, found), strata)


def _spread(
    mechanism: Mechanism, strata: Strata, factors: FloatArray, centre: Centre, found: Combined
) -> Covariance | None:
    """Return the covariance of a sum over strata, worked out when asked for; None where one of a stratum is unknown."""
    first = next(iter(strata))
    if first.lasting.any() or _covariance(mechanism, first.squared_weights[0][1]) is None:
        return None

    def make() -> Covariance:
        numbers = 10 * len(strata.counts) * len(found.frequencies)
        if numbers > _MOST_NUMBERS:
            raise ParameterError(
                f"covariances over {len(strata.counts)} groups of {len(found.frequencies)} values take {numbers} "
                f"numbers, more than {_MOST_NUMBERS}; merge groups, or ask within each."
            )
        parts, rows, weights = [], [], [np.zeros((0, 0))]
        for place, (stratum, factor) in enumerate(zip(strata, factors, strict=True)):
            scale = float(factor) ** 2 * stratum.people / max(stratum.people - 1, 1)
            for times, tally in stratum.squared_weights:
                # The sum of squares about the mean is n - 1 times the covariance of the mean, n times.
                part, share = _covariance(mechanism, tally), scale * times * tally.n
                if part is not None and tally.n > 1:
                    parts.append((share * (tally.n - 1), part))
                rows.append(mechanism.decoder.decode(tally))
                weights.append(np.array([[share]]))
            rows += [centre(place, stratum), stratum.square_mean]
            weights.append(scale * stratum.squares * np.array([[1.0, -1.0], [-1.0, 0.0]]))
        return CombinedCovariance(found.frequencies, parts, np.array(rows), _diagonal(weights))

    return DeferredCovariance(found.frequencies, found.people, make)


def _covariance(mechanism: Mechanism, tally: Tally) -> Covariance | None:
    decoder = mechanism.decoder
    return decoder.covariance(mechanism.evidence(tally), decoder.decode(tally))


def _diagonal(blocks: list[FloatArray]) -> FloatArray:
    """Return the block diagonal matrix."""
    whole, at = np.zeros((sum(map(len, blocks)),) * 2), 0
    for block in blocks:
        whole[at : at + len(block), at : at + len(block)] = block
        at += len(block)
    return whole


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
