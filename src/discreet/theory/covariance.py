"""Covariances of estimates: of any two weighted sums of them, without a matrix of |X| rows.

Two forms are enough, and their sums. Where values are alike, the covariances of all pairs are a diagonal and a few
outer products (`LowRankCovariance`), and so are those of the sums over the cells of any partition. Elsewhere they are
those of the contributions of the reports, as a sample (`SampleCovariance`), to which a diagonal and outer products may
be added.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple, TypeAlias

import numpy as np

from discreet.arrays import FloatArray, IntArray
from discreet.core.grouping import ValueCells
from discreet.errors import ParameterError


class _Operator:
    """Covariances of unbiased estimates of |X| frequencies, themselves unbiased, as an operator.

    Weights are ``(|X|,)`` numbers w, and stand for the sum w . p.
    """

    centre: FloatArray

    def __repr__(self) -> str:
        # Some hold reports, which nothing may print.
        return f"{type(self).__name__}({len(self.centre)} values)"

    def between(self, first: FloatArray, second: FloatArray) -> float:
        """Return the estimated covariance of two weighted sums of the estimates; its mean is the covariance."""
        raise NotImplementedError

    def variance(self, weights: FloatArray) -> float:
        """Return the estimated variance of a weighted sum, at least 0."""
        return max(self.between(weights, weights), 0.0)


@dataclass(frozen=True, eq=False, repr=False)
class LowRankCovariance(_Operator):
    """Covariances that are a diagonal, a few outer products and multiples of samples: diag(d) + F' M F + sum(a_i C_i).

    Attributes:
        centre: ``(|X|,)`` the estimates.
        diagonal: ``(|X|,)`` d.
        factors: ``(r, |X|)`` F.
        core: ``(r, r)`` M, symmetric.
        samples: a_i, at least 0, and C_i; none where values are alike.
    """

    centre: FloatArray
    diagonal: FloatArray
    factors: FloatArray
    core: FloatArray
    samples: tuple[tuple[float, "SampleCovariance"], ...] = ()

    def scaled(self, times: float) -> "LowRankCovariance":
        """Return a multiple of these covariances."""
        samples = tuple((times * share, sample) for share, sample in self.samples)
        return replace(self, diagonal=times * self.diagonal, core=times * self.core, samples=samples)

    def between(self, first: FloatArray, second: FloatArray) -> float:
        """Return the estimated covariance of two weighted sums of the estimates; its mean is the covariance."""
        apart = float((self.diagonal * first) @ second)
        outer = float((self.factors @ first) @ self.core @ (self.factors @ second))
        return apart + outer + sum(times * sample.between(first, second) for times, sample in self.samples)

    def matrix(self, codes: IntArray) -> FloatArray:
        """Return the ``(m, m)`` covariances of m estimates."""
        rows = self.factors[:, codes]
        same = codes[:, None] == codes[None, :]
        exact = np.where(same, self.diagonal[codes], 0.0) + rows.T @ self.core @ rows
        return self._and_samples(exact, lambda sample: sample.matrix(codes))

    def variances(self) -> FloatArray:
        """Return the ``(|X|,)`` variances."""
        return self._of_sums(self.diagonal, self.factors, SampleCovariance.variances)

    def with_sum(self) -> FloatArray:
        """Return the ``(|X|,)`` covariances of the estimates with their sum."""
        sums = self.diagonal + self.factors.T @ (self.core @ self.factors.sum(axis=1))
        return self._and_samples(sums, SampleCovariance.with_sum)

    def prefixes(self) -> FloatArray:
        """Return the ``(|X|,)`` variances of the sums of the estimates of the first value, the first two, and so on."""
        return self._of_sums(np.cumsum(self.diagonal), np.cumsum(self.factors, axis=1), SampleCovariance.prefixes)

    def _of_sums(
        self, diagonal: FloatArray, factors: FloatArray, asked: Callable[["SampleCovariance"], FloatArray]
    ) -> FloatArray:
        variances = diagonal + (factors * (self.core @ factors)).sum(axis=0)
        return np.maximum(self._and_samples(variances, asked), 0)

    def _and_samples(self, exact: FloatArray, asked: Callable[["SampleCovariance"], FloatArray]) -> FloatArray:
        for times, sample in self.samples:
            exact = exact + times * asked(sample)
        return exact

    def sums(self, cells: ValueCells) -> "LowRankCovariance":
        """Return the covariance of the sums over cells, of the same form."""
        factors = np.array([cells.total(factor) for factor in self.factors]).reshape(len(self.factors), cells.size)
        samples = tuple((times, sample.sums(cells)) for times, sample in self.samples)
        return LowRankCovariance(cells.total(self.centre), cells.total(self.diagonal), factors, self.core, samples)

    def conditional(self) -> "LowRankCovariance":
        """Return the covariance of the estimates divided by their sum t, which is above 0, to first order.

        That is the covariance of (p_x - r_x t)/t with the shares r_x as they are. With r the shares, t the sum and s
        the covariances with it, this is (C - r s' - s r' + r r' Var t) / t^2.
        """
        total, beside, rank = float(self.centre.sum()), self.with_sum(), len(self.core)
        shares = self.centre / total
        core = np.zeros((rank + 2, rank + 2))
        core[:rank, :rank] = self.core
        core[rank:, rank:] = [[beside.sum(), -1], [-1, 0]]
        whole = replace(self, centre=shares, factors=np.array([*self.factors, shares, beside]), core=core)
        return whole.scaled(1 / total**2)


# Contributions that are held together, of all reports to some estimates.
_MOST_NUMBERS = 1 << 28


class Contributions(NamedTuple):
    """The contributions of distinct reports to weighted sums of the estimates.

    Attributes:
        counts: ``(rows,)`` the number of reports of each kind; None if each came once.
        to: a function from ``(|X|,)`` weights w to the ``(rows,)`` contributions to w . p.
    """

    counts: FloatArray | None
    to: Callable[[FloatArray], FloatArray]


@dataclass(frozen=True, eq=False, repr=False)
class SampleCovariance(_Operator):
    """The sample covariance of the contributions of n reports, over n.

    Attributes:
        centre: ``(|X|,)`` the estimates: the means of the contributions.
        n: the number of reports, at least 2.
        reports: the contributions; all their counts add up to n.
        lifts: functions from weights of these estimates to those of the estimates that reports contribute to, the
            first one last.
    """

    centre: FloatArray
    n: int
    reports: Sequence[Contributions]
    lifts: tuple[Callable[[FloatArray], FloatArray], ...] = ()

    def between(self, first: FloatArray, second: FloatArray) -> float:
        """Return the estimated covariance of two weighted sums of the estimates; its mean is the covariance."""
        first_deviations = self._deviations(first)
        second_deviations = first_deviations if second is first else self._deviations(second)
        total = sum(
            float(((a if part.counts is None else part.counts * a) * b).sum())
            for part, a, b in zip(self.reports, first_deviations, second_deviations, strict=True)
        )
        return total / (self.n * (self.n - 1))

    def _deviations(self, weights: FloatArray) -> list[FloatArray]:
        """Return the contributions to a weighted sum less their mean."""
        for lift in reversed(self.lifts):
            weights = lift(weights)
        deviations = [part.to(weights) for part in self.reports]
        total = sum(
            float(each.sum() if part.counts is None else part.counts @ each)
            for part, each in zip(self.reports, deviations, strict=True)
        )
        return [each - total / self.n for each in deviations]

    def matrix(self, codes: IntArray) -> FloatArray:
        """Return the ``(m, m)`` covariances of m estimates.

        Raises:
            ParameterError: if the contributions to so many estimates do not fit into memory.
        """
        deviations = [self._deviations(self._unit(int(code))) for code in codes[:1]]
        numbers = len(codes) * sum(map(len, deviations[0])) if len(codes) else 0
        if numbers > _MOST_NUMBERS:
            raise ParameterError(
                "covariances.too-many", codes_count=len(codes), numbers=numbers, most_numbers=_MOST_NUMBERS
            )
        deviations += [self._deviations(self._unit(int(code))) for code in codes[1:]]
        covariances = np.zeros((len(codes), len(codes)))
        for at, part in enumerate(self.reports):
            rows = np.array([each[at] for each in deviations])
            covariances += (rows if part.counts is None else rows * part.counts) @ rows.T
        covariances /= self.n * (self.n - 1)
        return covariances

    def _unit(self, code: int) -> FloatArray:
        weights = np.zeros(len(self.centre))
        weights[code] = 1
        return weights

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
        return replace(self, centre=cells.total(self.centre), lifts=(*self.lifts, cells.lifted))

    def conditional(self) -> "SampleCovariance":
        """Return the covariance of the shares in the sum."""
        total = float(self.centre.sum())
        shares = self.centre / total
        return replace(self, centre=shares, lifts=(*self.lifts, partial(_weights_of_shares, shares, total)))


def _weights_of_shares(shares: FloatArray, total: float, weights: FloatArray) -> FloatArray:
    """Return weights of shares r = p/t in a sum t as weights of p: (w - w . r)/t."""
    return (weights - float(weights @ shares)) / total


Covariance: TypeAlias = LowRankCovariance | SampleCovariance
"""The covariance of unbiased estimates of |X| frequencies, itself unbiased, as an operator."""
