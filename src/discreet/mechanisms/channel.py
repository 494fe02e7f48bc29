"""Explicit channels: mechanisms given by a matrix Q(y|x) of probabilities.

Any mechanism over a small domain can be written as a channel. The decoder is a right inverse of the matrix.
"""

import hashlib
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import inf
from operator import itemgetter
from typing import Any, ClassVar

import numpy as np

from discreet.arrays import AnyArray, BoolArray, FloatArray, IntArray, WordArray, read_only
from discreet.core import columns
from discreet.core.batches import new_batches
from discreet.core.checks import checked_n
from discreet.core.domain import Domain, checked_domain
from discreet.core.guarantee import Guarantee, logarithm
from discreet.core.random import WORD_BITS, WORD_RANGE, RandomSource, checked_source, fresh_words
from discreet.core.reports import Blocks, Column, Reports, smallest_unsigned
from discreet.core.tally import Tally, total
from discreet.errors import ParameterError
from discreet.mechanisms.block_law import PlaceCounts
from discreet.mechanisms.contributions import MatrixContributions, ReportLaw
from discreet.mechanisms.evidence import Data, Evidence, MatrixRows
from discreet.mechanisms.likelihood_ratios import LikelihoodRatios, OutputRatios
from discreet.mechanisms.mechanism import Decoder, Mechanism
from discreet.theory.binomial import CodedLaw, ContributionMeans, ContributionMoment


@dataclass(frozen=True, eq=False)
class MatrixDecoder(Decoder):
    """The linear decoder of an explicit channel: unbiased estimates from the counts of outputs.

    Attributes:
        maker: the channel; it checks tallies and reports.
        matrix: ``(|X|, |Y|)`` Q(y|x).
        is_regular: whether the rows are known to be linearly independent, so that a slow check is skipped.
    """

    maker: Mechanism
    matrix: FloatArray

    is_regular: bool = False

    def counted(self, tally: Tally) -> IntArray:
        """Return the ``(|Y|,)`` counts of a channel's outputs in a tally."""
        return tally.support

    def listed_outputs(self, tally: Tally) -> tuple[FloatArray, IntArray]:
        """Return the ``(|Y|, |X|)`` probabilities Q(y|x) of all outputs, and the counts of the outputs."""
        return np.ascontiguousarray(self.matrix.T), self.counted(tally)

    def outputs(self, reports: Reports) -> IntArray:
        """Return the ``(n,)`` index of the channel's output in each report."""
        return reports.blocks["output"].astype(np.int64)

    @cached_property
    def inverse(self) -> FloatArray:
        """``(|Y|, |X|)`` right inverse of Q with the least variance for the uniform distribution.

        Raises:
            ParameterError: if the matrix does not determine the frequencies.
        """
        used = self.matrix.sum(axis=0) > 0
        q = self.matrix[:, used]
        if not self.is_regular and np.linalg.matrix_rank(q) < self.domain.size:
            raise ParameterError("matrix.dependent-rows", argument="matrix")
        weighted = q / q.mean(axis=0)
        inverse = np.zeros((self.matrix.shape[1], self.domain.size))
        try:
            inverse[used] = np.linalg.solve(weighted @ q.T, weighted).T
        except np.linalg.LinAlgError:
            raise ParameterError("matrix.nearly-dependent-rows", argument="matrix") from None
        return inverse

    def decode(self, tally: Tally) -> FloatArray:
        """Return the unbiased ``(|X|,)`` estimate of the frequencies from a checked tally."""
        return (self.counted(tally) / tally.n) @ self.inverse

    def second_moments(self, tally: Tally, linear: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return ``(|X|,)`` A and B such that n Var(p_hat_x) is about A_x + B_x p_x - p_x^2.

        The shares of the other values are taken from the estimate.
        """
        return self._moment(2, tally, linear)

    def _moment(self, power: int, tally: Tally, linear: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return ``(|X|,)`` a and b such that E w^power = a_x + b_x p_x, where w is a report's contribution.

        A report's contribution to the estimate of x is w. The shares of the other values are taken from the
        estimate.
        """
        powers = self.matrix @ self.inverse**power
        likely = np.maximum(linear, 0)
        likely /= likely.sum()
        diagonal = np.diagonal(powers)
        others = likely @ powers - likely * diagonal
        constant = others / np.maximum(1 - likely, 1 / tally.n)
        return constant, diagonal - constant

    def count_laws(self, tally: Tally, linear: FloatArray) -> list[CodedLaw]:
        """Return the sampling distributions of the estimates: means of contributions with estimated moments."""
        second, third = (ContributionMoment(*self._moment(power, tally, linear)) for power in (2, 3))
        return [(np.arange(self.domain.size), ContributionMeans(linear, tally.n, second, third))]

    def likelihood_ratios(self, evidence: Evidence, covered: FloatArray, rest: float) -> LikelihoodRatios:
        """Return the likelihood ratios of the outputs under a distribution of all values."""
        del evidence, rest
        return OutputRatios(self.matrix, covered)

    @cached_property
    def sum_contributions(self) -> MatrixContributions:
        """The contributions of outputs to weighted sums of frequencies, with their moments."""
        return MatrixContributions(self.matrix, self.inverse)

    def report_law(self, tally: Tally, linear: FloatArray) -> ReportLaw:
        """Return the sampling distribution of the estimates from a channel's outputs; see `Decoder`."""
        p = np.maximum(linear, 0)
        return ReportLaw(self.sum_contributions, p / p.sum(), tally.n, linear, np.ones(len(p), np.bool_))

    def variances(self, n: int, p: Any) -> FloatArray:
        """Return the ``(|X|,)`` variances of the estimates, exactly, for a true ``p``."""
        p = self.domain.check_distribution(p)
        variance: FloatArray = np.maximum(p @ self.matrix @ self.inverse**2 - p * p, 0) / checked_n(n)
        return variance

    def mse(self, n: int, p: Any) -> float:
        """Return the exact mean squared error E ||p_hat - p||^2 of the estimates from n reports."""
        p = self.domain.check_distribution(p)
        return float((p @ self.matrix @ (self.inverse**2).sum(axis=1) - p @ p) / checked_n(n))

    def worst_case_mse(self, n: int) -> float:
        """Return the largest `mse` over all distributions, the maximum of a concave function on the simplex."""
        loss = self.matrix @ (self.inverse**2).sum(axis=1)
        p = _worst_distribution(loss)
        return float((loss @ p - p @ p) / checked_n(n))

    def contributions(self, reports: Reports) -> FloatArray:
        """Return the ``(n, |X|)`` contributions of reports: for each report, the decoder's row for the output."""
        self.maker.tally_of(reports)
        return self.inverse[self.outputs(reports)]

    @cached_property
    def contribution_range(self) -> tuple[FloatArray, FloatArray]:
        """Return the ``(|X|,)`` smallest and largest contribution of any report to each estimate."""
        possible = self.inverse[self.matrix.max(axis=0) > 0]
        return possible.min(axis=0), possible.max(axis=0)


_ROW_TOLERANCE = 1e-9
_RATIO_TOLERANCE = 1e-12


def _worst_distribution(loss: FloatArray) -> FloatArray:
    """Return the ``(|X|,)`` distribution p that maximizes loss.p - ||p||^2.

    It is the projection of loss/2 onto the simplex.

    Args:
        loss: ``(|X|,)`` summed mean square contributions of a report on each value.
    """
    ordered = np.sort(loss / 2)[::-1]
    excess = (np.cumsum(ordered) - 1) / np.arange(1, len(ordered) + 1)
    shift = excess[np.flatnonzero(ordered > excess)[-1]]
    worst: FloatArray = np.maximum(loss / 2 - shift, 0)
    # With large losses, few digits are left for a sum of 1.
    worst /= worst.sum()
    return worst


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Channel(Mechanism):
    """A mechanism that a matrix of conditional probabilities defines.

    The sampler uses integers over 2^64, one per entry, and every row adds up to 2^64. Outputs with probability 0 are
    never drawn.

    Args:
        matrix: ``(|X|, |Y|)`` probabilities Q(y|x), rows in the domain's order, each summing to 1.
        domain: the inputs; None for 0..|X| - 1, all sensitive.

    Attributes:
        matrix: the matrix, read-only.
        domain: the inputs.

    Raises:
        ParameterError: if the matrix is not stochastic, or has another number of rows than the domain has values.

    Example:
        >>> import discreet as dc
        >>> domain = dc.Domain(["clinic", "park"], sensitive=["clinic"])
        >>> channel = dc.Channel([[1.0, 0.0], [0.4, 0.6]], domain)
        >>> round(channel.guarantee.realised, 4)
        0.9163
        >>> reports = channel.obfuscate(["clinic"] * 300 + ["park"] * 700, random=dc.SeededRandom(1))
        >>> dc.estimate(channel, reports).frequencies.round(2).tolist()
        [0.29, 0.7]
    """

    name: ClassVar[str] = "channel"

    is_explicit: ClassVar[bool] = True

    matrix: FloatArray
    domain: Domain

    def __init__(self, matrix: Any, domain: Domain | None = None) -> None:
        object.__setattr__(self, "matrix", read_only(columns.reals(matrix, "matrix")))
        if self.matrix.ndim != 2 or 0 in self.matrix.shape:
            raise ParameterError("matrix.not-two-dimensional", argument="matrix", shape=self.matrix.shape)
        object.__setattr__(
            self, "domain", Domain(range(len(self.matrix))) if domain is None else checked_domain(domain)
        )
        if len(self.matrix) != self.domain.size:
            raise ParameterError(
                "matrix.wrong-row-count", argument="matrix", size=self.domain.size, matrix_count=len(self.matrix)
            )
        rows = self.matrix.sum(axis=1)
        if not (np.isfinite(self.matrix).all() and self.matrix.min() >= 0 and abs(rows - 1).max() <= _ROW_TOLERANCE):
            raise ParameterError("matrix.rows-not-summing-to-1", argument="matrix")

    @classmethod
    def of(cls, channel: Any) -> "Channel":
        """Return a channel unchanged; for a matrix, return the channel with this matrix."""
        return channel if isinstance(channel, cls) else cls(channel)

    def __repr__(self) -> str:
        return f"Channel({self.domain!r}, {self.outputs} outputs)"

    @property
    def outputs(self) -> int:
        """|Y|, the number of outputs of a channel."""
        return int(self.matrix.shape[1])

    @property
    def block_columns(self) -> tuple[Column, ...]:
        """The only column of a channel's reports: the index of the output."""
        return (Column("output", smallest_unsigned(self.outputs), bound=self.outputs),)

    @cached_property
    def weights(self) -> AnyArray:
        """``(|X|, |Y|)`` Python integers: the probabilities that the sampler uses, as multiples of 2^-64."""
        # Scaling by a power of two and flooring are exact; positive entries stay positive.
        scaled = np.maximum(np.floor(np.ldexp(self.matrix, WORD_BITS)), self.matrix > 0)
        exact = np.asarray(np.frompyfunc(int, 1, 1)(scaled))
        exact[np.arange(len(exact)), self.matrix.argmax(axis=1)] += WORD_RANGE - exact.sum(axis=1)
        return exact

    @cached_property
    def word_shares(self) -> tuple[AnyArray, WordArray]:
        """The possible outputs of each input, and the largest random word for each of these outputs but the last.

        Returns:
            ``(|X|, 2^k)`` outputs and ``(|X|, 2^k - 1)`` words. Rows that need fewer words are padded with the largest
                word.
        """
        width = 1 << (int(np.count_nonzero(self.weights, axis=1).max()) - 1).bit_length()
        outputs = np.zeros((self.domain.size, width), dtype=smallest_unsigned(self.outputs))
        lasts = np.full((self.domain.size, width - 1), WORD_RANGE - 1, dtype=np.uint64)
        for row, places, ends in zip(self.weights, outputs, lasts, strict=True):
            possible = np.flatnonzero(row)
            places[: len(possible)] = possible
            ends[: len(possible) - 1] = np.cumsum(row[possible])[:-1] - 1
        return outputs, lasts

    @cached_property
    def fingerprint(self) -> str:
        """A digest that identifies the domain and the matrix of a channel."""
        facts = self.domain.fingerprint.encode() + self.matrix.astype("<f8").tobytes() + str(self.matrix.shape).encode()
        return hashlib.sha256(facts).hexdigest()[:32]

    @cached_property
    def guarantee(self) -> Guarantee:
        """The smallest epsilon for which every output is either protected or invertible [ULDP, Def. 1]."""
        domain = self.domain
        if domain.sensitive_count == 0:
            return Guarantee("none", domain, None, inf)
        notion = "LDP" if domain.clear_count == 0 else "ULDP"
        return Guarantee(notion, domain, None, self._smallest_epsilon())

    def _smallest_epsilon(self) -> float:
        possible = self.weights > 0
        invertible = (possible.sum(axis=0) == 1) & ~possible[self.domain.sensitive_codes].any(axis=0)
        bounded = ~invertible & possible.any(axis=0)
        if not bounded.any():
            return 0.0
        if not possible[:, bounded].all():
            return inf
        largest, least = self.weights[:, bounded].max(axis=0), self.weights[:, bounded].min(axis=0)
        ratios = largest.astype(np.float64) / least.astype(np.float64)
        # Floating point finds the columns that may be the largest; integers decide.
        near = np.flatnonzero(ratios >= ratios.max() * (1 - _RATIO_TOLERANCE))
        return logarithm(max(Fraction(largest[column], least[column]) for column in near))

    def channel(self) -> "Channel":
        """Return this channel itself."""
        return self

    def obfuscate_codes(self, codes: Any, *, random: RandomSource | None = None) -> Reports:
        """Return one report for each value; the values are given by their codes.

        The number of steps is the same for every value and every word. Their time may still depend on the entries of
        the matrix in the processor's caches.
        """
        codes, random = self.domain.check_codes(codes), checked_source(random)
        words = fresh_words(random, len(codes))
        shares, lasts = self.word_shares
        width = shares.shape[1]
        places, step = np.zeros(len(codes), dtype=np.int64), width // 2
        # The same number of steps for every value, each without a branch.
        starts = codes.astype(np.int64) * (width - 1) - 1
        while step:
            places += step * (lasts.reshape(-1)[starts + places + step] < words)
            step //= 2
        output = shares.reshape(-1)[codes.astype(np.int64) * width + places]
        nothing = np.empty(0, dtype=smallest_unsigned(self.domain.size))
        simulated, blocks = not random.secure, {"output": output}
        batches = new_batches(len(codes))
        return Reports(self.fingerprint, len(codes), None, nothing, blocks, simulated, self.columns, batches)

    @property
    def counts(self) -> PlaceCounts:
        """The counts that a tally of a channel stores: one count for each output."""
        return PlaceCounts(self.outputs, itemgetter("output"))

    def is_consistent(self, n: int, support: IntArray, clear: IntArray) -> bool:
        """Return true if n reports of a channel can have these nonnegative counts of outputs."""
        return len(clear) == 0 and total(support) == n and not support[self.matrix.max(axis=0) == 0].any()

    @property
    def tally_sizes(self) -> tuple[int, int]:
        """The numbers of counts in a tally: of outputs, and of values in clear."""
        return self.outputs, 0

    @cached_property
    def decoder(self) -> MatrixDecoder:
        """The linear decoder of tallies; it needs linearly independent rows."""
        return MatrixDecoder(self, self.matrix)

    def evidence(self, data: Data) -> Evidence:
        """Return the evidence for a likelihood in reports of a channel, or in a tally; see `Mechanism.evidence`."""
        tally = self.tally_of(data)
        used = np.flatnonzero(tally.support)
        rows = MatrixRows(
            tally.support[used].astype(np.float64), self.domain.size, np.ascontiguousarray(self.matrix[:, used].T)
        )
        everything = np.ones(self.domain.size, dtype=np.bool_)
        # The likelihood's curvature differs from blocks, so no variance is read off its diagonal.
        return Evidence(tally, inf, everything, information_left=0.0, blocks=lambda: rows)

    def likelihoods(self, reports: Reports) -> FloatArray:
        """Return the ``(n, |X|)`` probabilities of the reports given each value."""
        rows: FloatArray = self.matrix[:, reports.blocks["output"].astype(np.int64)].T
        return np.ascontiguousarray(rows)

    def flaws(self, blocks: Blocks) -> BoolArray:
        """Return ``(m,)`` booleans: true for an output that no value can cause."""
        largest = self.matrix.max(axis=0)
        flawed: BoolArray = largest[blocks["output"].astype(np.int64)] == 0
        return flawed
