"""The sample covariance of the contributions of reports, for mechanisms whose values are not alike."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from discreet.arrays import FloatArray, IntArray
from discreet.core.covariance import Covariance
from discreet.core.partitions import ValueCells
from discreet.errors import ParameterError

# Contributions that are held together, of all reports to some estimates.
_MOST_NUMBERS = 1 << 28


class Contributions(Protocol):
    """The contributions of distinct reports to weighted sums of the estimates.

    Attributes:
        counts: ``(rows,)`` the number of reports of each kind; None if each came once.
    """

    counts: FloatArray | None

    def to(self, weights: FloatArray) -> FloatArray:
        """Return ``(rows,)`` contributions to the sum w . p."""
        ...


@dataclass(frozen=True, eq=False, repr=False)
class SampleCovariance(Covariance):
    """The sample covariance of the contributions of n reports, over n.

    Attributes:
        centre: ``(|X|,)`` the estimates: the means of the contributions.
        n: the number of reports, at least 2.
        reports: the contributions; all their counts add up to n.
        lasting: the covariance of two weighted sums from what all reports share; None if they share nothing.
    """

    centre: FloatArray
    n: int
    reports: Sequence[Contributions]
    lasting: Callable[[FloatArray, FloatArray], float] | None = None

    def between(self, first: FloatArray, second: FloatArray) -> float:
        """Return the estimated covariance of two weighted sums; see `Covariance`."""
        one = self._deviations(first)
        other = one if second is first else self._deviations(second)
        found = sum(
            float(((a if part.counts is None else part.counts * a) * b).sum())
            for part, a, b in zip(self.reports, one, other, strict=True)
        )
        return found / (self.n * (self.n - 1)) + (self.lasting(first, second) if self.lasting else 0.0)

    def _deviations(self, weights: FloatArray) -> list[FloatArray]:
        """Return the contributions to a weighted sum less their mean."""
        found = [part.to(weights) for part in self.reports]
        total = sum(
            float(each.sum() if part.counts is None else part.counts @ each)
            for part, each in zip(self.reports, found, strict=True)
        )
        return [each - total / self.n for each in found]

    def matrix(self, codes: IntArray) -> FloatArray:
        """Return the ``(m, m)`` covariances of m estimates.

        Raises:
            ParameterError: if the contributions to so many estimates do not fit into memory.
        """
        return self._covariances([self._unit(int(code)) for code in codes])

    def _unit(self, code: int) -> FloatArray:
        weights = np.zeros(len(self.centre))
        weights[code] = 1
        return weights

    def _covariances(self, weights: Sequence[FloatArray]) -> FloatArray:
        deviations = [self._deviations(each) for each in weights[:1]]
        numbers = len(weights) * sum(map(len, deviations[0])) if weights else 0
        if numbers > _MOST_NUMBERS:
            raise ParameterError(
                f"the covariances of {len(weights)} estimates take {numbers} contributions of reports, more than "
                f"{_MOST_NUMBERS}; ask for fewer at a time."
            )
        deviations += [self._deviations(each) for each in weights[1:]]
        found = np.zeros((len(weights), len(weights)))
        for at, part in enumerate(self.reports):
            rows = np.array([each[at] for each in deviations])
            found += (rows if part.counts is None else rows * part.counts) @ rows.T
        found /= self.n * (self.n - 1)
        if self.lasting:
            found += [[self.lasting(one, other) for other in weights] for one in weights]
        return found

    def variances(self) -> FloatArray:
        """Return the ``(|X|,)`` variances, each from all reports."""
        return np.array([self.variance(self._unit(code)) for code in range(len(self.centre))])

    def with_sum(self) -> FloatArray:
        """Return the ``(|X|,)`` covariances of the estimates with their sum, each from all reports."""
        ones = np.ones(len(self.centre))
        return np.array([self.between(self._unit(code), ones) for code in range(len(ones))])

    def prefixes(self) -> FloatArray:
        """Return the ``(|X|,)`` variances of the partial sums, each from all reports."""
        places = np.arange(len(self.centre))
        return np.array([self.variance((places <= last).astype(np.float64)) for last in places])

    def sums(self, cells: ValueCells) -> "SampleCovariance":
        """Return the covariance of the sums over cells."""
        return self._under(cells.lifted, cells.total(self.centre))

    def conditional(self) -> "SampleCovariance":
        """Return the covariance of the shares in the sum."""
        total = float(self.centre.sum())
        return self._under(Shares(self.centre / total, total).lifted, self.centre / total)

    def _under(self, lift: Callable[[FloatArray], FloatArray], centre: FloatArray) -> "SampleCovariance":
        """Return the covariance of other sums, whose weights are lifted to weights of these estimates."""
        reports = [LiftedContributions(part.counts, part, lift) for part in self.reports]
        lasting = None if self.lasting is None else LiftedCovariance(self.lasting, lift)
        return SampleCovariance(centre, self.n, reports, lasting)


@dataclass(frozen=True, eq=False, repr=False)
class Shares:
    """Weights of shares r = p/t in a sum t as weights of p: (w - w . r)/t.

    Attributes:
        shares: ``(|X|,)`` r.
        total: t.
    """

    shares: FloatArray
    total: float

    def lifted(self, weights: FloatArray) -> FloatArray:
        """Return the ``(|X|,)`` weights of the estimates."""
        return (weights - float(weights @ self.shares)) / self.total


@dataclass(frozen=True, eq=False, repr=False)
class LiftedContributions(Contributions):
    """The contributions to sums whose weights are lifted to weights of other estimates.

    Attributes:
        counts: ``(rows,)`` the number of reports of each kind.
        each: the contributions to those estimates.
        lift: from the weights of the sums to those of the estimates.
    """

    counts: FloatArray | None
    each: Contributions
    lift: Callable[[FloatArray], FloatArray]

    def to(self, weights: FloatArray) -> FloatArray:
        """Return ``(rows,)`` contributions."""
        return self.each.to(self.lift(weights))


@dataclass(frozen=True, eq=False, repr=False)
class LiftedCovariance:
    """A covariance of weighted sums under lifted weights.

    Attributes:
        each: the covariance of two weighted sums of the estimates.
        lift: as for `LiftedContributions`.
    """

    each: Callable[[FloatArray, FloatArray], float]
    lift: Callable[[FloatArray], FloatArray]

    def __call__(self, first: FloatArray, second: FloatArray) -> float:
        """Return the covariance of two weighted sums."""
        return self.each(self.lift(first), self.lift(second))
