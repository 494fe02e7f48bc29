"""Decoders: unbiased estimates from tallies, with exact errors; for truth or noise, designs and explicit channels."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from discreet.accuracy.decoder import PerValue
from discreet.accuracy.design import Design
from discreet.accuracy.linear_decoder import LinearDecoder
from discreet.accuracy.worst import worst_distribution
from discreet.arrays import FloatArray
from discreet.core.checks import checked_n
from discreet.core.covariance import Covariance
from discreet.core.domain import Domain
from discreet.core.reports import Reports
from discreet.core.tally import Tally
from discreet.errors import ParameterError
from discreet.mechanisms.block_law import BlockLaw
from discreet.mechanisms.consistency import Maker, checked_tally_of, refuse_unfit_tally
from discreet.mechanisms.covariances import block_covariance, output_covariance
from discreet.mechanisms.evidence import Evidence

_PATIENCE = 1 << 25


class Decoder(Protocol):
    """The linear decoder of a mechanism's tallies; arrays are in the domain's order.

    Attributes:
        maker: the mechanism, by which tallies and reports are checked.
    """

    maker: Maker

    @property
    def domain(self) -> Domain:
        """The values."""
        return self.maker.domain

    def estimate(self, tally: Tally) -> FloatArray:
        """Return the unbiased ``(|X|,)`` estimate of the frequencies; may be negative, need not sum to 1.

        Raises:
            DataError: if the tally is of no report, or none that the mechanism can have made.
            MismatchError: if it belongs to another plan.
        """
        return self.decode(refuse_unfit_tally(self.maker, tally))

    def decode(self, tally: Tally) -> FloatArray:
        """Return `estimate` of a tally that was checked before."""
        ...

    def second_moments(self, tally: Tally, linear: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return ``(|X|,)`` A and B such that n Var(p_hat_x) = A + B p_x - p_x^2, as far as the tally tells."""
        ...

    def mean_squares(self, tally: Tally, linear: FloatArray) -> FloatArray:
        """Return the ``(|X|,)`` mean squared contributions of reports to the estimates, unbiased, from their tally."""
        ...

    def pool_bias_variance(self, tally: Tally, linear: FloatArray) -> FloatArray:
        """Return ``(|X|,)`` variances of a pool bias, which more reports do not lessen; 0 where nothing is pooled."""
        del tally, linear
        return np.zeros(self.domain.size)

    def covariance_with_sum(self, tally: Tally, frequencies: FloatArray, variances: FloatArray) -> FloatArray:
        """Return the ``(|X|,)`` covariances of estimates of these variances with their sum."""
        ...

    def covariance(self, evidence: Evidence, linear: FloatArray) -> Covariance | None:
        """Return the covariance of the linear estimate, unbiased; None where it needs reports that are not at hand."""
        ...

    def variances(self, n: int, p: Any) -> FloatArray:
        """Return the ``(|X|,)`` variances of the estimate of n reports for a true distribution p."""
        ...

    def standard_errors(self, n: int, p: Any) -> FloatArray:
        """Return the ``(|X|,)`` standard deviations of the estimate of n reports for a true distribution p."""
        errors: FloatArray = np.sqrt(self.variances(n, p))
        return errors

    def mse(self, n: int, p: Any) -> float:
        """Return E ||p_hat - p||^2 of the estimate of n reports for a true distribution p."""
        ...

    def worst_case_mse(self, n: int) -> float:
        """Return the largest `mse` over all distributions."""
        ...

    def worth(self, reports: Reports) -> FloatArray:
        """Return the ``(n, |X|)`` contributions of reports to the estimates; their mean is the estimate.

        Raises:
            DataError: if there is no report, or none that the mechanism can have made.
            MismatchError: if they belong to another plan.
        """
        ...

    @property
    def worth_range(self) -> tuple[FloatArray, FloatArray]:
        """Return the ``(|X|,)`` least and largest contribution of any one report to each estimate.

        Whoever sends a share f of all reports raises an estimate that is p without them by at most f (largest - p),
        and lowers it by at most f (p - least).
        """
        ...


@dataclass(frozen=True, eq=False)
class BlockDecoder(Decoder):
    """The decoder of a block mechanism; its numbers are those of truth or noise, or of a design.

    Attributes:
        maker: the mechanism, by which tallies and reports are checked.
        law: the block law.
        numbers: the coefficients of the decoder, for truth or noise or for a design of two sizes.
    """

    maker: Maker
    law: BlockLaw
    numbers: LinearDecoder | Design

    def decode(self, tally: Tally) -> FloatArray:
        """Return `estimate` of a tally that was checked before [DESIGN section 1; spec of the optimum, section 3]."""
        support = self._counts.support_of(tally.support) if len(tally.support) else tally.support
        return self.domain.arrange(*self.numbers.estimate(support, tally.clear, tally.n))

    @cached_property
    def _counts(self) -> Any:
        return self.law.counts

    def variance_of(self, sensitive_mass: float) -> tuple[FloatArray, FloatArray]:
        """Return ``(|X|,)`` A and B such that n Var(p_hat_x) = A_x + B_x p_x - p_x^2, exactly, given a = p(X_S).

        The variance of a pool bias is not included.
        """
        sensitive, clear = self.numbers.variances(sensitive_mass)
        sizes, pairs = (self.domain.sensitive_count, self.domain.clear_count), zip(sensitive, clear, strict=True)

        def arranged(pair: tuple[PerValue, PerValue]) -> FloatArray:
            # One number for all values is not spelled out.
            each = (np.broadcast_to(np.asarray(one, float), size) for one, size in zip(pair, sizes, strict=True))
            return self.domain.arrange(*each)

        constant, slope = map(arranged, pairs)
        return constant, slope

    def second_moments(self, tally: Tally, linear: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return ``(A, B)`` as `variance_of`, with the estimate of the sensitive mass from the reports in clear.

        A includes n times `pool_bias_variance`, so it holds for this n only.
        """
        constant, slope = self.variance_of(self._mass_seen(tally))
        if not self.numbers.pool_bias:
            return constant, slope
        return constant + tally.n * self.pool_bias_variance(tally, linear), slope

    def mean_squares(self, tally: Tally, linear: FloatArray) -> FloatArray:
        """Return the ``(|X|,)`` mean squared contributions of reports to the estimates, unbiased, from their tally."""
        # Not clipped: it is affine in p and in p(X_S), so that it has no bias.
        clear = self.domain.clear_count
        mass = 1 - tally.clear_total / (tally.n * self.numbers.truth) if clear else 1.0
        constant, slope = self.variance_of(mass if self.domain.sensitive_count else 0.0)
        squares: FloatArray = constant + slope * linear
        return squares

    def pool_bias_variance(self, tally: Tally, linear: FloatArray) -> FloatArray:
        """Return ``(|X|,)`` variances of the pool bias, which more reports do not lessen, from the linear estimates."""
        found, chosen, n = np.zeros(self.domain.size), self.domain.sensitive, tally.n
        if self.numbers.pool_bias and n > 1:
            mass, values = self._mass_seen(tally), linear[chosen]
            constant, slope = (numbers[chosen] for numbers in self.variance_of(mass))
            noise = np.maximum(constant + slope * values - values**2, 0) / (n - 1)
            found[chosen] = (1 - 1 / n) * self.numbers.pool_bias.estimated(values, noise, mass)
        return found

    def _mass_seen(self, tally: Tally) -> float:
        """Return the estimate of p(X_S) from the number of reports in clear."""
        if self.domain.sensitive_count == 0:
            return 0.0
        told = tally.clear_total / (tally.n * self.numbers.truth) if self.domain.clear_count else 0.0
        return min(max(1 - told, 0.0), 1.0)

    def covariance_with_sum(self, tally: Tally, frequencies: FloatArray, variances: FloatArray) -> FloatArray:
        """Return the ``(|X|,)`` covariances of estimates of these variances with their sum; see `LinearDecoder`."""
        chosen = self.domain.sensitive
        sensitive = frequencies[chosen], variances[chosen]
        return self.domain.arrange(*self.numbers.sum_covariance(sensitive, frequencies[~chosen], tally.n))

    def covariance(self, evidence: Evidence, linear: FloatArray) -> Covariance | None:
        """Return the covariance of the linear estimate; see `discreet.mechanisms.covariances`."""
        return block_covariance(self.domain, self.law, self.numbers, evidence, linear)

    def variances(self, n: int, p: Any) -> FloatArray:
        """Return the ``(|X|,)`` variances of the estimate, exactly, for a true ``p``."""
        p, chosen = self.domain.check_distribution(p), self.domain.sensitive
        constant, slope = self.variance_of(float(p[chosen].sum()))
        variance: FloatArray = np.maximum(constant + slope * p - p * p, 0) / checked_n(n)
        if self.numbers.pool_bias:
            variance[chosen] += (1 - 1 / n) * self.numbers.pool_bias.each(p[chosen])
        return variance

    def mse(self, n: int, p: Any) -> float:
        """Return E ||p_hat - p||^2, exactly."""
        p = self.domain.check_distribution(p)
        return self.numbers.mse(checked_n(n), p[self.domain.sensitive], float(p @ p))

    def worst_case_mse(self, n: int) -> float:
        """Return the largest `mse` over all distributions."""
        return self.numbers.worst_case_mse(checked_n(n))

    def worth(self, reports: Reports) -> FloatArray:
        """Return the ``(n, |X|)`` contributions of reports to the estimates.

        Raises:
            DataError: if there is no report, or none that the mechanism can have made.
            MismatchError: if they belong to another plan.
            ParameterError: if there are more than about 30 million numbers; pass fewer reports at a time.
        """
        checked_tally_of(self.maker, reports)
        if reports.n * self.domain.size > _PATIENCE:
            raise ParameterError(f"{reports.n} reports are worth too many numbers; pass fewer at a time.")
        domain, whole = self.domain, np.zeros((reports.n, self.domain.size))
        in_clear = np.zeros(reports.n, dtype=np.bool_) if reports.in_clear is None else reports.in_clear
        with_block = np.flatnonzero(~in_clear) if reports.block_count < reports.n else np.arange(reports.n)
        if domain.sensitive_count:
            inside, beside = self.numbers.block_worths(self.law.contains(reports.blocks))
            whole[np.ix_(with_block, domain.sensitive_codes)] = inside
            whole[np.ix_(with_block, domain.clear_codes)] = beside
        told = np.flatnonzero(in_clear)
        if len(told):
            silent, other, own = self.numbers.clear_worth
            if reports.block_count < reports.n:
                whole[np.ix_(told, domain.sensitive_codes)] = silent
            whole[np.ix_(told, domain.clear_codes)] = other
            whole[told, reports.clear] = own
        return whole

    @cached_property
    def worth_range(self) -> tuple[FloatArray, FloatArray]:
        """Return the ``(|X|,)`` least and largest contribution of any one report to each estimate."""
        domain, ranges = self.domain, self.numbers.worth_ranges
        ones, rest = np.ones(domain.sensitive_count), np.ones(domain.clear_count)
        least, most = (domain.arrange(a * ones, b * rest) for a, b in zip(ranges.sensitive, ranges.clear, strict=True))
        return least, most


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
        squares = self.matrix @ self.inverse**2
        likely = np.maximum(linear, 0)
        likely /= likely.sum()
        own = np.diagonal(squares)
        others = likely @ squares - likely * own
        constant = others / np.maximum(1 - likely, 1 / tally.n)
        return constant, own - constant

    def mean_squares(self, tally: Tally, linear: FloatArray) -> FloatArray:
        """Return the ``(|X|,)`` mean squared contributions of the reports to the estimates."""
        del linear
        squares: FloatArray = (tally.support / tally.n) @ self.inverse**2
        return squares

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
