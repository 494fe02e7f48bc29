"""Covariances of estimates: of any two weighted sums of them, without a matrix of |X| rows.

Two forms are enough. Where values are alike, the covariances of all pairs are a diagonal and a few outer products
(`LowRankCovariance`), and so are those of the sums over the cells of any partition. Elsewhere they are those of the
contributions of the reports, as a sample (`SampleCovariance`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from discreet.arrays import AnyArray, FloatArray, IntArray
from discreet.errors import ParameterError

# Contributions that are held together, of all reports to some estimates.
_MOST_NUMBERS = 1 << 28


class Covariance(Protocol):
    """The covariance of unbiased estimates of |X| frequencies, itself unbiased, as an operator.

    Weights are ``(|X|,)`` numbers w, and stand for the sum w . p.

    Attributes:
        centre: ``(|X|,)`` the unbiased estimates that these are the covariances of.
    """

    centre: FloatArray

    def between(self, first: FloatArray, second: FloatArray) -> float:
        """Return the estimated covariance of two weighted sums of the estimates; its mean is the covariance."""
        ...

    def variance(self, weights: FloatArray) -> float:
        """Return the estimated variance of a weighted sum, at least 0."""
        return max(self.between(weights, weights), 0.0)

    def matrix(self, codes: IntArray) -> FloatArray:
        """Return the ``(m, m)`` covariances of m estimates, by their codes."""
        ...

    def variances(self) -> FloatArray:
        """Return the ``(|X|,)`` variances of the estimates, at least 0."""
        ...

    def prefixes(self) -> FloatArray:
        """Return the ``(|X|,)`` variances of the sums of the estimates of the first value, the first two, and so on."""
        ...

    def sums(self, cells: IntArray, count: int) -> "Covariance":
        """Return the covariance of the sums of the estimates over cells.

        Args:
            cells: ``(|X|,)`` the cell of each value, in 0..count - 1.
            count: the number of cells.
        """
        ...


@dataclass(frozen=True, eq=False)
class LowRankCovariance(Covariance):
    """Covariances that are a diagonal and a few outer products: scale (diag(d) + F' M F).

    Attributes:
        centre: ``(|X|,)`` the estimates.
        diagonal: ``(|X|,)`` d.
        factors: ``(r, |X|)`` F.
        core: ``(r, r)`` M, symmetric.
        scale: 1/(n - 1).
    """

    centre: FloatArray
    diagonal: FloatArray
    factors: FloatArray
    core: FloatArray
    scale: float

    def between(self, first: FloatArray, second: FloatArray) -> float:
        """Return the estimated covariance of two weighted sums; see `Covariance`."""
        apart = float((self.diagonal * first) @ second)
        return self.scale * (apart + float((self.factors @ first) @ self.core @ (self.factors @ second)))

    def matrix(self, codes: IntArray) -> FloatArray:
        """Return the ``(m, m)`` covariances of m estimates."""
        rows = self.factors[:, codes]
        same = codes[:, None] == codes[None, :]
        found: FloatArray = self.scale * (np.where(same, self.diagonal[codes], 0.0) + rows.T @ self.core @ rows)
        return found

    def variances(self) -> FloatArray:
        """Return the ``(|X|,)`` variances."""
        return self._of_sums(self.diagonal, self.factors)

    def prefixes(self) -> FloatArray:
        """Return the ``(|X|,)`` variances of the partial sums."""
        return self._of_sums(np.cumsum(self.diagonal), np.cumsum(self.factors, axis=1))

    def _of_sums(self, diagonal: FloatArray, factors: FloatArray) -> FloatArray:
        found: FloatArray = np.maximum(self.scale * (diagonal + (factors * (self.core @ factors)).sum(axis=0)), 0)
        return found

    def sums(self, cells: IntArray, count: int) -> "LowRankCovariance":
        """Return the covariance of the sums over cells, of the same form."""

        def summed(each: FloatArray) -> FloatArray:
            return np.asarray(np.bincount(cells, each, count), np.float64)

        factors = np.array([summed(factor) for factor in self.factors]).reshape(len(self.factors), count)
        return LowRankCovariance(summed(self.centre), summed(self.diagonal), factors, self.core, self.scale)


class Contributions(Protocol):
    """The contributions of distinct reports to weighted sums of the estimates.

    Attributes:
        counts: ``(rows,)`` the number of reports of each kind; None if each came once.
    """

    counts: FloatArray | None

    def to(self, weights: FloatArray) -> FloatArray:
        """Return ``(rows,)`` contributions to the sum w . p."""
        ...


@dataclass(frozen=True, eq=False)
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

    def prefixes(self) -> FloatArray:
        """Return the ``(|X|,)`` variances of the partial sums, each from all reports."""
        places = np.arange(len(self.centre))
        return np.array([self.variance((places <= last).astype(np.float64)) for last in places])

    def sums(self, cells: IntArray, count: int) -> "SampleCovariance":
        """Return the covariance of the sums over cells."""
        lasting = self.lasting
        lifted = None if lasting is None else lambda one, other: lasting(one[cells], other[cells])
        reports = [SummedContributions(part.counts, part, cells) for part in self.reports]
        centre = np.asarray(np.bincount(cells, self.centre, count), np.float64)
        return SampleCovariance(centre, self.n, reports, lifted)


@dataclass(frozen=True, eq=False)
class SummedContributions(Contributions):
    """The contributions to sums of estimates over cells.

    Attributes:
        counts: ``(rows,)`` the number of reports of each kind.
        each: the contributions to the estimates.
        cells: ``(|X|,)`` the cell of each value.
    """

    counts: FloatArray | None
    each: Contributions
    cells: IntArray

    def to(self, weights: FloatArray) -> FloatArray:
        """Return ``(rows,)`` contributions."""
        return self.each.to(weights[self.cells])


@dataclass(frozen=True, eq=False)
class DeferredCovariance(Covariance):
    """A covariance that is worked out when it is first asked for; pickled, it is what it was worked out to.

    Attributes:
        centre: ``(|X|,)`` the estimates.
        n: the number of reports.
        make: a function that works it out.
    """

    centre: FloatArray
    n: int
    make: Callable[[], Covariance]

    @cached_property
    def _made(self) -> Covariance:
        if self.n < 2:
            raise ParameterError(f"the error of a sum of estimates needs at least two reports, got {self.n}.")
        return self.make()

    def __reduce__(self) -> Any:
        """Return the parts of a pickle: the covariance worked out, or for one report these attributes."""
        return (_same, (self._made,)) if self.n > 1 else (DeferredCovariance, (self.centre, self.n, _same))

    def between(self, first: FloatArray, second: FloatArray) -> float:
        """Return the estimated covariance of two weighted sums.

        Raises:
            ParameterError: if there is one report only.
        """
        return self._made.between(first, second)

    def matrix(self, codes: IntArray) -> FloatArray:
        """Return the ``(m, m)`` covariances of m estimates; errors as for `between`."""
        return self._made.matrix(codes)

    def variances(self) -> FloatArray:
        """Return the ``(|X|,)`` variances; errors as for `between`."""
        return self._made.variances()

    def prefixes(self) -> FloatArray:
        """Return the ``(|X|,)`` variances of the partial sums; errors as for `between`."""
        return self._made.prefixes()

    def sums(self, cells: IntArray, count: int) -> Covariance:
        """Return the covariance of the sums over cells; errors as for `between`."""
        return self._made.sums(cells, count)


def _same(made: Any = None) -> Any:
    return made


def indicator(size: int, codes: AnyArray) -> FloatArray:
    """Return ``(|X|,)`` weights: 1 for some values, by their codes, and 0 for the others."""
    weights = np.zeros(size)
    weights[codes] = 1
    return weights
