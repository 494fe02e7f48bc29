"""Covariances of combined estimates: sums over different people, with weights."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from discreet.arrays import FloatArray, IntArray
from discreet.core.covariance import Covariance
from discreet.core.partitions import ValueCells


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
