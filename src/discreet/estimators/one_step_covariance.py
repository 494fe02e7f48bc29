"""The covariance of the one-step estimate: J^-1 - f f', and the rest shared by counts in clear."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from discreet.arrays import FloatArray, IntArray
from discreet.core.covariance import Covariance, LowRankCovariance
from discreet.core.tally import Tally
from discreet.errors import ParameterError
from discreet.estimators.one_step import OneStep, OneStepIntervals


@dataclass(frozen=True, eq=False)
class OneStepCovariance(Covariance):
    """The covariance of one-step estimates, where the rest is shared in proportion to counts in clear.

    With r the frequency of the rest and h_y = F_y / F its shares, r h_y varies with r and with h, of which n Cov is
    (r / s) (diag(h) - h h'), F being about n s r.

    Attributes:
        centre: ``(|X|,)`` the estimates.
        codes: ``(v,)`` the values that blocks cover.
        core: ``(k, k)`` n Cov of these and of the rest, less the outer product of h.
        shares: ``(|X|,)`` h; 0 for covered values.
        apart: r / s, of the diagonal.
        scale: 1/n.
    """

    centre: FloatArray
    codes: IntArray
    core: FloatArray
    shares: FloatArray
    apart: float
    scale: float

    @classmethod
    def of(cls, step: OneStep, codes: IntArray, clear_codes: IntArray, tally: Tally) -> "OneStepCovariance":
        """Return the covariance of a one-step estimate.

        Args:
            step: the estimate.
            codes: ``(v,)`` the values that blocks cover.
            clear_codes: ``(N,)`` the others.
            tally: of the reports.
        """
        size = len(codes) + len(clear_codes)
        centre, shares, core, apart = np.zeros(size), np.zeros(size), step.covariance, 0.0
        centre[codes] = step.estimates[: len(codes)]
        if len(step.point) > len(codes):
            rest, told = float(step.estimates[-1]), max(tally.clear_total, 1)
            shares[clear_codes] = tally.clear / told
            centre += rest * shares
            apart = max(rest, 0.0) ** 2 * step.n / told
            core[-1, -1] -= apart
        return cls(centre, codes, core, shares, apart, 1 / step.n)

    def _reduced(self, weights: FloatArray) -> FloatArray:
        """Return the ``(k,)`` weights of covered values and of the rest."""
        inside = weights[self.codes]
        return np.append(inside, self.shares @ weights) if len(self.core) > len(inside) else inside

    def between(self, first: FloatArray, second: FloatArray) -> float:
        """Return the estimated covariance of two weighted sums; see `Covariance`."""
        apart = self.apart * float((self.shares * first) @ second)
        return self.scale * (apart + float(self._reduced(first) @ self.core @ self._reduced(second)))

    def matrix(self, codes: IntArray) -> FloatArray:
        """Return the ``(m, m)`` covariances of m estimates."""
        cells = np.full(len(self.centre), len(codes))
        cells[codes] = np.arange(len(codes))
        # Of the same value twice, the later place; the others copy it.
        places = cells[codes]
        return self.sums(cells, len(codes) + 1).matrix(places)

    def variances(self) -> FloatArray:
        """Return the ``(|X|,)`` variances."""
        whole = self.apart * self.shares
        if len(self.core) > len(self.codes):
            whole = whole + self.core[-1, -1] * self.shares**2
        whole[self.codes] = np.diagonal(self.core)[: len(self.codes)]
        found: FloatArray = np.maximum(self.scale * whole, 0)
        return found

    def prefixes(self) -> FloatArray:
        """Return the ``(|X|,)`` variances of the partial sums."""
        v = len(self.codes)
        covered = np.zeros(len(self.centre))
        covered[self.codes] = 1
        before = np.cumsum(covered).astype(np.int64)
        shared = np.cumsum(self.shares)
        block = np.cumsum(np.cumsum(self.core[:v, :v], axis=0), axis=1)
        whole = np.append(0.0, np.diagonal(block))[before] + self.apart * shared
        if len(self.core) > v:
            beside = np.append(0.0, np.cumsum(self.core[:v, -1]))[before]
            whole = whole + 2 * beside * shared + self.core[-1, -1] * shared**2
        found: FloatArray = np.maximum(self.scale * whole, 0)
        return found

    def sums(self, cells: IntArray, count: int) -> LowRankCovariance:
        """Return the covariance of the sums over cells."""

        def summed(each: FloatArray) -> FloatArray:
            return np.asarray(np.bincount(cells, each, count), np.float64)

        factors = np.zeros((len(self.core), count))
        factors[np.arange(len(self.codes)), cells[self.codes]] = 1
        shares = summed(self.shares)
        if len(self.core) > len(self.codes):
            factors[-1] = shares
        return LowRankCovariance(summed(self.centre), self.apart * shares, factors, self.core, self.scale)


@dataclass(frozen=True, eq=False)
class OneStepSpread(Covariance):
    """The covariance that goes with one-step intervals: worked out when it is asked for, as these are.

    Attributes:
        intervals: the intervals.
        clear_codes: ``(N,)`` the values in clear.
        linear: the covariance of the linear estimates, which it is where there is no one-step estimate.
    """

    intervals: OneStepIntervals
    clear_codes: IntArray
    linear: Covariance | None

    @cached_property
    def _made(self) -> Covariance:
        found = self.intervals
        if found.step is None:
            if self.linear is None:
                raise ParameterError("the errors of sums need estimates that the blocks tell apart.")
            return self.linear
        return OneStepCovariance.of(found.step, found.codes, self.clear_codes, found.tally.tally)

    @cached_property
    def centre(self) -> FloatArray:  # type: ignore[override]
        """The one-step estimates."""
        return self._made.centre

    def between(self, first: FloatArray, second: FloatArray) -> float:
        """Return the estimated covariance of two weighted sums; see `Covariance`."""
        return self._made.between(first, second)

    def matrix(self, codes: IntArray) -> FloatArray:
        """Return the ``(m, m)`` covariances of m estimates."""
        return self._made.matrix(codes)

    def variances(self) -> FloatArray:
        """Return the ``(|X|,)`` variances."""
        return self._made.variances()

    def prefixes(self) -> FloatArray:
        """Return the ``(|X|,)`` variances of the partial sums."""
        return self._made.prefixes()

    def sums(self, cells: IntArray, count: int) -> Covariance:
        """Return the covariance of the sums over cells."""
        return self._made.sums(cells, count)
