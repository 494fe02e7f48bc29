"""Covariances of estimates as operators: nobody spells out the matrix.

Covariances of estimates: of any two weighted sums of them, without a matrix of |X| rows.

Two forms are enough. Where values are alike, the covariances of all pairs are a diagonal and a few outer products
(`LowRankCovariance`), and so are those of the sums over the cells of any partition. Elsewhere they are those of the
contributions of the reports, as a sample (`discreet.theory.covariance`).

The sample covariance of the contributions of reports, for mechanisms whose values are not alike.

Covariances of combined estimates: sums over different people, with weights.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from discreet.arrays import FloatArray, IntArray
from discreet.core.grouping import ValueCells
from discreet.errors import ParameterError


class Covariance(Protocol):
    """The covariance of unbiased estimates of |X| frequencies, itself unbiased, as an operator.

    Weights are ``(|X|,)`` numbers w, and stand for the sum w . p.

    Attributes:
        centre: ``(|X|,)`` the unbiased estimates that these are the covariances of.
    """

    centre: FloatArray

    def __repr__(self) -> str:
        # Some hold reports, which nothing may print.
        return f"{type(self).__name__}({len(self.centre)} values)"

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

    def with_sum(self) -> FloatArray:
        """Return the ``(|X|,)`` covariances of the estimates with their sum."""
        ...

    def prefixes(self) -> FloatArray:
        """Return the ``(|X|,)`` variances of the sums of the estimates of the first value, the first two, and so on."""
        ...

    def sums(self, cells: ValueCells) -> "Covariance":
        """Return the covariance of the sums of the estimates over cells."""
        ...

    def conditional(self) -> "Covariance":
        """Return the covariance of the estimates divided by their sum t, which is above 0, to first order.

        That is the covariance of (p_x - r_x t)/t with the shares r_x as they are.
        """
        ...


@dataclass(frozen=True, eq=False, repr=False)
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

    def with_sum(self) -> FloatArray:
        """Return the ``(|X|,)`` covariances of the estimates with their sum."""
        found: FloatArray = self.scale * (self.diagonal + self.factors.T @ (self.core @ self.factors.sum(axis=1)))
        return found

    def prefixes(self) -> FloatArray:
        """Return the ``(|X|,)`` variances of the partial sums."""
        return self._of_sums(np.cumsum(self.diagonal), np.cumsum(self.factors, axis=1))

    def _of_sums(self, diagonal: FloatArray, factors: FloatArray) -> FloatArray:
        found: FloatArray = np.maximum(self.scale * (diagonal + (factors * (self.core @ factors)).sum(axis=0)), 0)
        return found

    def sums(self, cells: ValueCells) -> "LowRankCovariance":
        """Return the covariance of the sums over cells, of the same form."""
        factors = np.array([cells.total(factor) for factor in self.factors]).reshape(len(self.factors), cells.size)
        return replace(self, centre=cells.total(self.centre), diagonal=cells.total(self.diagonal), factors=factors)

    def conditional(self) -> "LowRankCovariance":
        """Return the covariance of the shares in the sum, of the same form."""
        total = float(self.centre.sum())
        shares, rank = self.centre / total, len(self.core)
        factors = [*(self.factors - np.outer(self.factors.sum(axis=1), shares)), self.diagonal, shares]
        core = np.zeros((rank + 2, rank + 2))
        core[:rank, :rank] = self.core
        core[rank:, rank:] = [[0, -1], [-1, self.diagonal.sum()]]
        scale = self.scale / total**2
        return LowRankCovariance(shares, self.diagonal, np.array(factors), core, scale)


@dataclass(frozen=True, eq=False, repr=False)
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

    def with_sum(self) -> FloatArray:
        """Return the ``(|X|,)`` covariances of the estimates with their sum; errors as for `between`."""
        return self._made.with_sum()

    def prefixes(self) -> FloatArray:
        """Return the ``(|X|,)`` variances of the partial sums; errors as for `between`."""
        return self._made.prefixes()

    def sums(self, cells: ValueCells) -> Covariance:
        """Return the covariance of the sums over cells; errors as for `between`."""
        return self._made.sums(cells)

    def conditional(self) -> Covariance:
        """Return the covariance of the shares in the sum; errors as for `between`."""
        return self._made.conditional()


def _same(made: Any = None) -> Any:
    return made


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


@dataclass(frozen=True, eq=False)
class CombinedCovariance(Covariance):
    """Multiples of covariances and a few outer products: sum(a_i C_i) + F' M F.

    Attributes:
        centre: ``(|X|,)`` the estimates.
        parts: a_i, at least 0, and C_i.
        factors: ``(r, |X|)`` F.
        core: ``(r, r)`` M, symmetric.
    """

    centre: FloatArray
    parts: Sequence[tuple[float, Covariance]]
    factors: FloatArray
    core: FloatArray

    def between(self, first: FloatArray, second: FloatArray) -> float:
        """Return the estimated covariance of two weighted sums; see `Covariance`."""
        found = sum(times * part.between(first, second) for times, part in self.parts)
        return found + float((self.factors @ first) @ self.core @ (self.factors @ second))

    def matrix(self, codes: IntArray) -> FloatArray:
        """Return the ``(m, m)`` covariances of m estimates."""
        rows = self.factors[:, codes]
        found: FloatArray = rows.T @ self.core @ rows
        return self._added(found, lambda part: part.matrix(codes))

    def variances(self) -> FloatArray:
        """Return the ``(|X|,)`` variances."""
        return np.maximum(self._added(self._products(self.factors), lambda part: part.variances()), 0)

    def with_sum(self) -> FloatArray:
        """Return the ``(|X|,)`` covariances of the estimates with their sum."""
        found: FloatArray = self.factors.T @ (self.core @ self.factors.sum(axis=1))
        return self._added(found, lambda part: part.with_sum())

    def prefixes(self) -> FloatArray:
        """Return the ``(|X|,)`` variances of the partial sums."""
        outer = self._products(np.cumsum(self.factors, axis=1))
        return np.maximum(self._added(outer, lambda part: part.prefixes()), 0)

    def _products(self, factors: FloatArray) -> FloatArray:
        found: FloatArray = (factors * (self.core @ factors)).sum(axis=0)
        return found

    def _added(self, found: FloatArray, asked: Callable[[Covariance], FloatArray]) -> FloatArray:
        for times, part in self.parts:
            found = found + times * asked(part)
        return found

    def sums(self, cells: ValueCells) -> "CombinedCovariance":
        """Return the covariance of the sums over cells, of the same form."""
        factors = np.array([cells.total(factor) for factor in self.factors]).reshape(len(self.factors), cells.size)
        parts = [(times, part.sums(cells)) for times, part in self.parts]
        return replace(self, centre=cells.total(self.centre), parts=parts, factors=factors)

    def conditional(self) -> "CombinedCovariance":
        """Return the covariance of the shares in the sum.

        With r the shares, t the sum and s the covariances with it, that is (C - r s' - s r' + r r' Var t) / t^2.
        """
        total, beside = float(self.centre.sum()), self.with_sum()
        shares = self.centre / total
        core = np.array([[beside.sum(), -1.0], [-1.0, 0.0]]) / total**2
        return CombinedCovariance(shares, [(1 / total**2, self)], np.array([shares, beside]), core)
