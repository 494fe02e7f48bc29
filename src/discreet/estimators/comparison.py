"""Comparisons of two estimates of different people, and of an estimate with given shares."""

from collections.abc import Mapping
from math import inf
from typing import Any

import numpy as np

from discreet.arrays import FloatArray
from discreet.core.checks import checked_level
from discreet.core.comparison import ChiSquare, Comparison
from discreet.core.confidence_intervals import DEFAULT_LEVEL, miss_probability
from discreet.core.covariance import Covariance
from discreet.core.domain import Domain
from discreet.core.estimate import Estimate
from discreet.errors import MismatchError, ParameterError

# Values of which the covariances are spelled out for the test over all of them.
_MOST_VALUES = 2000
_PAIR = 2
# Standard scores at which intervals are looked at for p-values, and the largest.
_SCORES = np.concatenate([np.linspace(0.02, 4, 18), np.linspace(4.5, 8, 6)])


def compare(
    first: Estimate,
    second: Any,
    *,
    level: float = DEFAULT_LEVEL,
    simultaneous: bool = False,
    titles: tuple[str, str] | None = None,
) -> Comparison:
    """Compare two estimates of different people, or an estimate with given shares.

    Args:
        first: an estimate.
        second: another one over the same domain, of other people: another group, another time. Or the shares that are
            given: ``(|X|,)`` of the values, or by value; the test is then one of fit.
        level: confidence of the intervals of the differences.
        simultaneous: whether all intervals hold at once.
        titles: of both, for tables and pictures.

    Returns:
        The differences, first less second, with intervals and tests.

    Raises:
        MismatchError: if the domains differ.
        ParameterError: if the shares are no distribution over the domain.

    Example:
        >>> import discreet as dc
        >>> mechanism = dc.RandomizedResponse(dc.Domain(["yes", "no"]), epsilon=2.0)
        >>> reports = mechanism.obfuscate(["yes"] * 700 + ["no"] * 300, random=dc.SeededRandom(1))
        >>> comparison = dc.compare(dc.estimate(mechanism, reports), {"yes": 0.5, "no": 0.5})
        >>> [one.value for one in comparison.significant()], comparison.overall.p_value < 0.001
        (['yes', 'no'], True)
    """
    if not isinstance(first, Estimate):
        raise ParameterError(f"the first to be compared must be an Estimate, got {type(first).__name__}.")
    checked_level(level)
    if isinstance(second, Estimate):
        _check_domains(first.domain, second.domain)
        sides = [_Side.of(first), _Side.of(second)]
    else:
        sides = [_Side.of(first), _Side.given(first.domain, second)]
    alpha = miss_probability(level, first.domain.size, simultaneous=simultaneous)
    lower, upper = _mover(sides, 1 - alpha)
    other = second if isinstance(second, Estimate) else None
    return Comparison(
        first.domain,
        first.frequencies,
        sides[1].frequencies,
        lower,
        upper,
        level,
        _p_values(sides),
        _chi_square(sides),
        (first.n, 0 if other is None else other.n),
        titles or ("first", "given shares" if other is None else "second"),
        simultaneous,
        first.simulated or (other is not None and other.simulated),
    )


def _check_domains(first: Domain, second: Domain) -> None:
    if first.fingerprint != second.fingerprint:
        same = first.size == second.size and first.names() == second.names()
        what = "which values are sensitive" if same else "their values"
        raise MismatchError(f"estimates that are compared must have one domain; they differ in {what}.")


class _Side:
    """One side of a comparison: an estimate, or given shares, which have no error."""

    def __init__(self, frequencies: FloatArray, estimate: Estimate | None) -> None:
        self.frequencies, self._estimate = frequencies, estimate
        # What limits lie around: a difference about a biased frequency, which may lie outside, would not cover.
        self.centre = frequencies if estimate is None else estimate.centre

    @classmethod
    def of(cls, estimate: Estimate) -> "_Side":
        return cls(estimate.frequencies, estimate)

    @classmethod
    def given(cls, domain: Domain, shares: Any) -> "_Side":
        if isinstance(shares, Mapping):
            return cls(domain.distribution(list(shares), list(shares.values())), None)
        return cls(domain.check_distribution(shares), None)

    def away(self, level: float) -> tuple[FloatArray, FloatArray]:
        """Return the distances of the limits below and above the centre, each ``(|X|,)`` and at least 0."""
        if self._estimate is None:
            return np.zeros(1), np.zeros(1)
        low, high = self._estimate.limits(level)
        return np.maximum(self.centre - low, 0), np.maximum(high - self.centre, 0)

    @property
    def spread(self) -> Covariance | None:
        """The covariance of the frequencies; None where it is not known, or there is none."""
        return None if self._estimate is None else self._estimate.spread

    @property
    def people(self) -> float:
        """Number of reports; infinite for given shares."""
        return inf if self._estimate is None else self._estimate.n

    @property
    def is_given(self) -> bool:
        """True if these are given shares."""
        return self._estimate is None


def _mover(sides: list[_Side], level: float) -> tuple[FloatArray, FloatArray]:
    """Return the limits of the differences, from the limits of both sides at this level."""
    (below, above), (below_other, above_other) = (side.away(level) for side in sides)
    difference = sides[0].centre - sides[1].centre
    return difference - np.hypot(below, above_other), difference + np.hypot(above, below_other)


def _p_values(sides: list[_Side]) -> FloatArray:
    """Return ``(|X|,)`` p-values: 1 less the level of the widest interval that excludes 0."""
    from scipy.special import ndtr

    difference = sides[0].centre - sides[1].centre
    # The distance from 0 that is left at each score; it falls as intervals grow.
    left = []
    for score in _SCORES:
        low, high = _mover(sides, 1 - 2 * float(ndtr(-score)))
        left.append(np.where(difference >= 0, low, -high))
    rows = np.array(left)
    excluded = np.count_nonzero(np.logical_and.accumulate(rows > 0, axis=0), axis=0)
    before, after = np.maximum(excluded - 1, 0), np.minimum(excluded, len(_SCORES) - 1)
    places = np.arange(len(difference))
    near, far = np.where(excluded > 0, rows[before, places], np.abs(difference)), rows[after, places]
    start = np.where(excluded > 0, _SCORES[before], 0.0)
    gone = np.divide(near, near - far, out=np.zeros_like(near), where=near > far)
    scores = np.where(excluded == len(_SCORES), _SCORES[-1], start + gone * (_SCORES[after] - start))
    found: FloatArray = np.minimum(2 * ndtr(-scores), 1.0)
    return found


def _chi_square(sides: list[_Side]) -> ChiSquare | None:
    """Return the test over all values, from the covariances of both sides; None where they are not known."""
    from scipy.special import chdtrc

    spreads = [side.spread for side in sides if not side.is_given]
    size = len(sides[0].frequencies)
    if size > _MOST_VALUES or any(spread is None for spread in spreads) or any(side.people < _PAIR for side in sides):
        return None
    codes = np.arange(size)
    matrices = [spread.matrix(codes) for spread in spreads if spread is not None]
    centres = [spread.centre for spread in spreads if spread is not None]
    difference = centres[0] - (centres[1] if len(centres) > 1 else sides[1].frequencies)
    values, vectors = np.linalg.eigh(sum(matrices[1:], start=matrices[0]))
    # Sums that have no error, such as that of all estimates, are left out.
    used = values > 1e-9 * max(values.max(), 0)
    degrees = int(np.count_nonzero(used))
    if not degrees:
        return None
    statistic = float(((vectors[:, used].T @ difference) ** 2 / values[used]).sum())
    return ChiSquare(statistic, degrees, float(chdtrc(degrees, statistic)))
