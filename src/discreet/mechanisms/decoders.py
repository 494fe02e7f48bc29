"""Decoders of block mechanisms: unbiased estimates from a tally, with exact errors.

If some pairs of values share more blocks than others, the decoder is a right inverse of the channel's matrix.
"""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

import numpy as np

from discreet.arrays import FloatArray, Floats, IntArray
from discreet.core.checks import checked_n
from discreet.core.reports import Reports
from discreet.core.tally import Tally
from discreet.errors import ParameterError
from discreet.mechanisms.block_law import BlockLaw, Counting, IndexedLaw
from discreet.mechanisms.channel import MatrixDecoder
from discreet.mechanisms.contributions import Contributions, ReportLaw, block_contributions, plausible
from discreet.mechanisms.evidence import Evidence
from discreet.mechanisms.likelihood_ratios import BlockRatios, LikelihoodRatios
from discreet.mechanisms.mechanism import Decoder, Mechanism
from discreet.theory.binomial import BinomialCounts, CodedLaw, ContributionMeans, ContributionMoment
from discreet.theory.linear_decoder import DecoderCoefficients

_PATIENCE = 1 << 25


@dataclass(frozen=True, eq=False)
class BlockDecoder(Decoder):
    """The linear decoder of a block mechanism: unbiased estimates from counts of blocks and of values in clear.

    Attributes:
        maker: the mechanism; it checks tallies and reports.
        law: the block law.
        coefficients: the coefficients of the decoder, for truth or noise or for a design of two sizes.
    """

    maker: Mechanism
    law: BlockLaw
    coefficients: DecoderCoefficients

    @classmethod
    def checked(cls, mechanism: Mechanism) -> Self:
        """Return the decoder of a mechanism; raise an error if the decoder is of another class.

        Raises:
            ParameterError: if it is not; there is then no formula for worst cases over all distributions.
        """
        if not isinstance(mechanism.decoder, cls):
            raise ParameterError("mechanism.uneven-blocks", argument="mechanism", name=mechanism.name)
        return mechanism.decoder

    def decode(self, tally: Tally) -> FloatArray:
        """Return the unbiased ``(|X|,)`` estimate of the frequencies from a checked tally."""
        return self.domain.arrange(*self.coefficients.estimate(self._support(tally), tally.clear, tally.n))

    def _support(self, tally: Tally) -> IntArray:
        """Return the number of blocks that contain each value; in a design of two sizes, for each size of block."""
        if not tally.support.shape[-1]:
            return tally.support
        if tally.support.ndim > 1:
            return np.stack([self._support_of(row) for row in tally.support])
        return self._support_of(tally.support)

    def _support_of(self, counts: IntArray) -> IntArray:
        support = self._counts.support_of(counts)
        if self.coefficients.by_size or len(support) == self.domain.sensitive_count:
            return support
        together: IntArray = support.reshape(-1, self.domain.sensitive_count).sum(axis=0)
        return together

    @cached_property
    def _counts(self) -> Counting:
        return self.law.counts

    def variance_of(self, sensitive_mass: Floats) -> tuple[FloatArray, FloatArray]:
        """Return ``(|X|,)`` A and B such that n Var(p_hat_x) = A_x + B_x p_x - p_x^2, exactly, given a = p(X_S)."""
        sensitive, clear = self.coefficients.variances(sensitive_mass)
        sizes = (self.domain.sensitive_count, self.domain.clear_count)
        rows = np.shape(sensitive_mass)[:-1]

        def arranged(*pair: Floats) -> FloatArray:
            # A number that holds for all values is not repeated.
            each = zip(pair, sizes, strict=True)
            spread = [np.broadcast_to(np.asarray(part, float), (*rows, size)) for part, size in each if size]
            return spread[0] if len(spread) == 1 else self.domain.arrange(*spread)

        return arranged(sensitive[0], clear[0]), arranged(sensitive[1], clear[1])

    def second_moments(self, tally: Tally, linear: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return ``(A, B)`` as `variance_of` does, with the sensitive mass estimated from the reports in clear."""
        return self.variance_of(self._estimated_mass(tally))

    @property
    def is_binary(self) -> bool:
        """True if the domain has two values, so that one count determines the other."""
        return self.domain.size == 2 and self.domain.sensitive_count > 0 and self._counts.one_per_value

    @property
    def stacks(self) -> bool:
        """True if the decoder can decode a stack of several tallies at once, which takes a single size of blocks."""
        return not self.coefficients.by_size

    @property
    def truth(self) -> float:
        """s, the probability that a value that is not sensitive is reported in clear."""
        return float(self.coefficients.truth)

    def count_laws(self, tally: Tally, linear: FloatArray) -> list[CodedLaw]:
        """Return the sampling distributions of the counts of all values; see `discreet.theory.binomial`."""
        domain, laws = self.domain, list[CodedLaw]()
        if domain.clear_count:
            # The count is binomial with probability s p.
            laws.append((domain.clear_codes, BinomialCounts(tally.clear, tally.n, 0.0, self.coefficients.truth)))
        if not domain.sensitive_count:
            return laws
        binomial = self.coefficients.count_law
        if binomial is not None:
            sensitive: BinomialCounts | ContributionMeans = BinomialCounts(self._support(tally), tally.n, *binomial)
        else:
            mass, chosen = self._estimated_mass(tally), domain.sensitive
            sensitive = ContributionMeans(linear[..., chosen], tally.n, *self._moments(mass), mass)
        return [*laws, (domain.sensitive_codes, sensitive)]

    def _moments(self, mass: Floats) -> tuple[ContributionMoment, ContributionMoment]:
        """Return the second and third moment of a report's contribution to the estimate of a sensitive value.

        The sensitive mass p(X_S) is about ``mass``.
        """
        moments = []
        for power in (2, 3):
            constant, slope = self.coefficients.sensitive_moment(power, mass)
            nothing, everything = (self.coefficients.sensitive_moment(power, end)[0] for end in (0.0, 1.0))
            moments.append(ContributionMoment(constant, slope, everything - nothing))
        return moments[0], moments[1]

    @cached_property
    def sum_contributions(self) -> Contributions:
        """The contributions of reports to weighted sums of frequencies, with their moments."""
        return block_contributions(self.domain, self.law, self.coefficients)

    def report_law(self, tally: Tally, linear: FloatArray) -> ReportLaw:
        """Return the sampling distribution of the estimates from counts of blocks; see `Decoder`."""
        domain, numbers, n = self.domain, self.coefficients, tally.n
        binomial = numbers.count_law if domain.sensitive_count else None
        counts = np.zeros(domain.sensitive_count) if binomial is None else self._support(tally)
        p = plausible(domain, linear, tally.clear / (n * numbers.truth))
        single = binomial is not None and self._counts.one_per_value
        each = domain.arrange(counts.astype(np.float64), tally.clear.astype(np.float64))
        facts = each, binomial, float(numbers.truth), single
        return ReportLaw(self.sum_contributions, p, n, linear, domain.sensitive, *facts)

    def likelihood_ratios(self, evidence: Evidence, covered: FloatArray, rest: float) -> LikelihoodRatios:
        """Return the likelihood ratios of blocks and values in clear under a distribution."""
        return BlockRatios(self.law, evidence.truth, evidence.contrast, covered, rest)

    def _estimated_mass(self, tally: Tally) -> Any:
        """Return the estimate of p(X_S), from the number of reports in clear."""
        if self.domain.sensitive_count == 0:
            return 0.0
        clear_mass = tally.clear_total / (tally.n * self.coefficients.truth) if self.domain.clear_count else 0.0
        return np.clip(1 - clear_mass, 0.0, 1.0)

    def variances(self, n: int, p: Any) -> FloatArray:
        """Return the ``(|X|,)`` variances of the estimates, exactly, for a true ``p``."""
        p, chosen = self.domain.check_distribution(p), self.domain.sensitive
        constant, slope = self.variance_of(float(p[chosen].sum()))
        variance: FloatArray = np.maximum(constant + slope * p - p * p, 0) / checked_n(n)
        return variance

    def mse(self, n: int, p: Any) -> float:
        """Return the exact mean squared error E ||p_hat - p||^2 of the estimates from n reports."""
        p = self.domain.check_distribution(p)
        return self.coefficients.mse(checked_n(n), float(p[self.domain.sensitive].sum()), float(p @ p))

    def worst_case_mse(self, n: int) -> float:
        """Return the largest mean squared error of the estimates over all distributions."""
        return self.coefficients.worst_case_mse(checked_n(n))

    def contributions(self, reports: Reports) -> FloatArray:
        """Return the ``(n, |X|)`` contributions of reports to the estimates.

        Raises:
            DataError: if there is no report, or if the mechanism cannot have made one of them.
            MismatchError: if the reports belong to another plan.
            ParameterError: if there are more than about 30 million contributions; pass fewer reports at a time.
        """
        self.maker.tally_of(reports)
        if reports.n * self.domain.size > _PATIENCE:
            raise ParameterError("reports.too-many", n=reports.n)
        domain, whole = self.domain, np.zeros((reports.n, self.domain.size))
        in_clear = np.zeros(reports.n, dtype=np.bool_) if reports.in_clear is None else reports.in_clear
        with_block = np.flatnonzero(~in_clear) if reports.block_count < reports.n else np.arange(reports.n)
        if domain.sensitive_count:
            inside, beside = self.coefficients.block_contributions(self.law.contains(reports.blocks))
            whole[np.ix_(with_block, domain.sensitive_codes)] = inside
            whole[np.ix_(with_block, domain.clear_codes)] = beside
        clear_rows = np.flatnonzero(in_clear)
        if len(clear_rows):
            silent, other, reported = self.coefficients.clear_contributions
            if reports.block_count < reports.n:
                whole[np.ix_(clear_rows, domain.sensitive_codes)] = silent
            whole[np.ix_(clear_rows, domain.clear_codes)] = other
            whole[clear_rows, reports.clear] = reported
        return whole

    @cached_property
    def contribution_range(self) -> tuple[FloatArray, FloatArray]:
        """Return the ``(|X|,)`` smallest and largest contribution of any report to each estimate."""
        domain, ranges = self.domain, self.coefficients.contribution_ranges
        ones, rest = np.ones(domain.sensitive_count), np.ones(domain.clear_count)
        least, most = (domain.arrange(a * ones, b * rest) for a, b in zip(ranges.sensitive, ranges.clear, strict=True))
        return least, most


@dataclass(frozen=True, eq=False)
class PlaceDecoder(MatrixDecoder):
    """The decoder of a law that counts each block: a right inverse of the channel.

    Outputs are blocks, and then values in clear.

    Attributes:
        law: the block law.
    """

    law: IndexedLaw = field(kw_only=True)

    @property
    def truth(self) -> float:
        """s, the probability that a value that is not sensitive is reported in clear."""
        return float(self.matrix[self.domain.clear_codes, -self.domain.clear_count :].max(initial=0.0))

    @cached_property
    def inverse(self) -> FloatArray:
        """``(|Y|, |X|)`` right inverse of Q; the rows of values in clear are unit vectors divided by s."""
        inverse: FloatArray = MatrixDecoder.inverse.func(self)  # type: ignore[attr-defined]
        clear = self.domain.clear_codes
        inverse[:, clear] = 0
        inverse[self.law.alphabet_size + np.arange(len(clear)), clear] = 1 / (self.truth or 1.0)
        return inverse

    def count_laws(self, tally: Tally, linear: FloatArray) -> list[CodedLaw]:
        """Return the sampling distributions of the counts in clear, and of the estimates of the other values."""
        codes, clear = self.domain.sensitive_codes, self.domain.clear_codes
        laws: list[CodedLaw] = [(clear, BinomialCounts(tally.clear, tally.n, 0.0, self.truth))] if len(clear) else []
        if len(codes):
            moments = (self._moment(power, tally, linear) for power in (2, 3))
            second, third = (ContributionMoment(constant[codes], slope[codes]) for constant, slope in moments)
            laws.append((codes, ContributionMeans(linear[codes], tally.n, second, third)))
        return laws

    def report_law(self, tally: Tally, linear: FloatArray) -> ReportLaw:
        """Return the sampling distribution of the estimates from counts of each possible block; see `Decoder`."""
        domain, clear = self.domain, tally.clear.astype(np.float64)
        p, counts = plausible(domain, linear), domain.arrange(np.zeros(domain.sensitive_count), clear)
        return ReportLaw(self.sum_contributions, p, tally.n, linear, domain.sensitive, counts, truth=self.truth)

    def counted(self, tally: Tally) -> IntArray:
        """Return the counts of blocks, followed by the counts of values in clear."""
        return np.concatenate([tally.support, tally.clear])

    def outputs(self, reports: Reports) -> IntArray:
        """Return the ``(n,)`` index of each report's output: blocks come first, and then values in clear."""
        places, slots = np.empty(reports.n, dtype=np.int64), self.domain.signed_ranks
        in_clear = np.zeros(reports.n, dtype=np.bool_) if reports.in_clear is None else reports.in_clear
        places[~in_clear] = reports.blocks[self.law.index]
        if slots is not None:
            places[in_clear] = self.law.alphabet_size + ~slots[reports.clear]
        return places

    def likelihood_ratios(self, evidence: Evidence, covered: FloatArray, rest: float) -> LikelihoodRatios:
        """Return the likelihood ratios of blocks and values in clear under a distribution."""
        return BlockRatios(self.law, evidence.truth, evidence.contrast, covered, rest)
