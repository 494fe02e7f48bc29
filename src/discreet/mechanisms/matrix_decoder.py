"""The decoder of explicit channels: a right inverse of their matrix."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from discreet.accuracy.skewed_limits import MeanWorths, WorthMoment
from discreet.accuracy.worst import worst_distribution
from discreet.arrays import FloatArray
from discreet.core.checks import checked_n
from discreet.core.covariance import Covariance
from discreet.core.reports import Reports
from discreet.core.tally import Tally
from discreet.errors import ParameterError
from discreet.mechanisms.consistency import Maker, checked_tally_of
from discreet.mechanisms.covariances import output_covariance
from discreet.mechanisms.decoders import Decoder
from discreet.mechanisms.evidence import Evidence
from discreet.mechanisms.likelihood_ratios import OutputRatios
from discreet.mechanisms.tally_intervals import CountLaw


@dataclass(frozen=True, eq=False)
class MatrixDecoder(Decoder):
    """The decoder of an explicit channel.

    Attributes:
        maker: the channel, by which tallies and reports are checked.
        matrix: ``(|X|, |Y|)`` Q(y|x).
    """

    maker: Maker
    matrix: FloatArray

    @cached_property
    def inverse(self) -> FloatArray:
        """``(|Y|, |X|)`` right inverse of Q with the least variance for the uniform distribution.

        Raises:
            ParameterError: if the matrix does not determine the frequencies.
        """
        used = self.matrix.sum(axis=0) > 0
        q = self.matrix[:, used]
        if np.linalg.matrix_rank(q) < self.domain.size:
            raise ParameterError("matrix must have linearly independent rows, else no estimate is unbiased.")
        weighted = q / q.mean(axis=0)
        inverse = np.zeros((self.matrix.shape[1], self.domain.size))
        try:
            inverse[used] = np.linalg.solve(weighted @ q.T, weighted).T
        except np.linalg.LinAlgError:
            raise ParameterError("matrix must tell its inputs apart by more than rounding errors.") from None
        return inverse

    def decode(self, tally: Tally) -> FloatArray:
        """Return `estimate` of a tally that was checked before."""
        estimate: FloatArray = (tally.support / tally.n) @ self.inverse
        return estimate

    def second_moments(self, tally: Tally, linear: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return ``(A, B)`` such that n Var(p_hat_x) is about A + B p - p^2, the others' shares being as estimated."""
        return self._moment(2, tally, linear)

    def _moment(self, power: int, tally: Tally, linear: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return constant and slope of E w^k, affine in p_x, the others' shares being as estimated."""
        powers = self.matrix @ self.inverse**power
        likely = np.maximum(linear, 0)
        likely /= likely.sum()
        own = np.diagonal(powers)
        others = likely @ powers - likely * own
        constant = others / np.maximum(1 - likely, 1 / tally.n)
        return constant, own - constant

    def mean_squares(self, tally: Tally, linear: FloatArray) -> FloatArray:
        """Return the ``(|X|,)`` mean squared contributions of the reports to the estimates."""
        del linear
        squares: FloatArray = (tally.support / tally.n) @ self.inverse**2
        return squares

    def count_laws(self, tally: Tally, linear: FloatArray) -> list[CountLaw]:
        """Return the means of the worths of outputs, with their moments as far as the tally tells."""
        second, third = (WorthMoment(*self._moment(power, tally, linear)) for power in (2, 3))
        return [(np.arange(self.domain.size), MeanWorths(linear, tally.n, second, third))]

    def likelihood_ratios(self, evidence: Evidence, covered: FloatArray, rest: float) -> OutputRatios:
        """Return the likelihood ratios of outputs under a distribution of all values."""
        del evidence, rest
        return OutputRatios(self.matrix, covered)

    def covariance_with_sum(self, tally: Tally, frequencies: FloatArray, variances: FloatArray) -> FloatArray:
        """Return the ``(|X|,)`` covariances of the estimates with their sum, as seen in the reports."""
        del variances
        totals = self.inverse.sum(axis=1)
        share = tally.support / tally.n
        covariance: FloatArray = ((share * totals) @ self.inverse - frequencies * (share @ totals)) / tally.n
        return covariance

    def covariance(self, evidence: Evidence, linear: FloatArray) -> Covariance:
        """Return the covariance of the linear estimate."""
        return output_covariance(lambda: self.inverse, evidence.tally, linear)

    def covariances_at(self, p: FloatArray) -> FloatArray:
        """Return n times the ``(|X|, |X|)`` covariances of the estimate, exactly, for a true ``p``."""
        covariances: FloatArray = (self.inverse.T * (p @ self.matrix)) @ self.inverse - np.outer(p, p)
        return covariances

    def variances(self, n: int, p: Any) -> FloatArray:
        """Return the ``(|X|,)`` variances of the estimate, exactly, for a true ``p``."""
        p = self.domain.check_distribution(p)
        variance: FloatArray = np.maximum(p @ self.matrix @ self.inverse**2 - p * p, 0) / checked_n(n)
        return variance

    def mse(self, n: int, p: Any) -> float:
        """Return E ||p_hat - p||^2, exactly."""
        p = self.domain.check_distribution(p)
        return float((p @ self.matrix @ (self.inverse**2).sum(axis=1) - p @ p) / checked_n(n))

    def worst_case_mse(self, n: int) -> float:
        """Return the largest `mse` over all distributions: a concave maximum over the simplex."""
        loss = self.matrix @ (self.inverse**2).sum(axis=1)
        p = worst_distribution(loss)
        return float((loss @ p - p @ p) / checked_n(n))

    def worth(self, reports: Reports) -> FloatArray:
        """Return the ``(n, |X|)`` contributions of reports to the estimates: the row of the output of each."""
        checked_tally_of(self.maker, reports)
        worth: FloatArray = self.inverse[reports.blocks["output"].astype(np.int64)]
        return worth

    @cached_property
    def worth_range(self) -> tuple[FloatArray, FloatArray]:
        """Return the ``(|X|,)`` least and largest contribution of any one report to each estimate."""
        possible = self.inverse[self.matrix.max(axis=0) > 0]
        return possible.min(axis=0), possible.max(axis=0)
