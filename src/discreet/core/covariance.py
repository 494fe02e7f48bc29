"""Covariances of estimates: of any two weighted sums of them, without a matrix of |X| rows.

Two forms are enough. Where values are alike, the covariances of all pairs are a diagonal and a few outer products
(`LowRankCovariance`), and so are those of the sums over the cells of any partition. Elsewhere they are those of the
contributions of the reports, as a sample (`discreet.core.sample_covariance`).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from discreet.arrays import FloatArray, IntArray
from discreet.core.partitions import ValueCells
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
