"""What an estimator is given: a mechanism, the tally of its reports, and the reports themselves if at hand."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from discreet.arrays import BoolArray, FloatArray
from discreet.core.estimate import score_ends
from discreet.core.reports import Reports
from discreet.core.tally import Tally
from discreet.errors import DataError, ParameterError
from discreet.estimators.likelihood import LocalRows, MakeRows
from discreet.mechanisms import Mechanism
from discreet.mechanisms.block_law import CountedBlocks, Extent, block_size
from discreet.mechanisms.channel import Channel
from discreet.mechanisms.consistency import refuse_flaws, refuse_unfit_reports, refuse_unfit_tally
from discreet.mechanisms.law import BlockMechanism
from discreet.mechanisms.personalized import Personalized
from discreet.mechanisms.singletons import DistinctSymbols


@dataclass(frozen=True, slots=True, eq=False)
class Observed:
    """All that a likelihood reads of a batch of reports, without the reports.

    Attributes:
        tally: their counts.
        membership: the matrix of their blocks, wherever it is kept.
        rows_of: makes what sums over the blocks, wherever they are.
    """

    tally: Tally
    membership: Extent
    rows_of: MakeRows = LocalRows


@dataclass(frozen=True, eq=False)
class Evidence:
    """Reports of one mechanism, and the linear estimate that every other one starts from.

    Attributes:
        mechanism: what made the reports.
        tally: their counts.
        reports: the reports; None if they are not at hand.
        blocks: the matrix of their blocks; None if it is to be made of the reports.
        rows_of: as for `Observed`.
    """

    mechanism: Mechanism
    tally: Tally
    reports: Reports | None
    blocks: Extent | None = None
    rows_of: MakeRows = LocalRows

    @classmethod
    def of(cls, mechanism: Mechanism, data: Reports | Tally | Observed) -> "Evidence":
        """Tally the reports, refusing strangers and empty batches.

        Raises:
            DataError: if there is no report.
            MismatchError: if they belong to another plan.
        """
        if not isinstance(mechanism, BlockMechanism | Channel | Personalized):
            raise ParameterError(f"mechanism must be what made the reports, got {type(mechanism).__name__}.")
        if isinstance(mechanism, Personalized):
            raise ParameterError("estimate_personalized takes what a personalized mechanism made; use it, or `common`.")
        if isinstance(data, Observed):
            if isinstance(mechanism, BlockMechanism) and mechanism.tally_suffices:
                return cls.of(mechanism, data.tally)
            return replace(cls.of(mechanism, data.tally), blocks=data.membership, rows_of=data.rows_of)
        if not isinstance(data, Reports | Tally):
            raise DataError(f"reports or a tally of them are needed, got {type(data).__name__}.")
        if isinstance(data, Tally):
            return cls(mechanism, refuse_unfit_tally(mechanism, data), None)
        refuse_flaws(mechanism, refuse_unfit_reports(mechanism, data))
        return cls(mechanism, refuse_unfit_tally(mechanism, mechanism.tally(data)), data)

    @property
    def n(self) -> int:
        """How many reports."""
        return self.tally.n

    @cached_property
    def linear(self) -> FloatArray:
        """``(|X|,)`` unbiased estimates."""
        return self.mechanism.linear(self.tally)

    @cached_property
    def second_moments(self) -> tuple[FloatArray, FloatArray]:
        """``(A, B)`` such that n Var(p_hat_x) = A + B p - p^2."""
        return self.mechanism.second_moments(self.tally, self.linear)

    def variance(self, at: FloatArray) -> FloatArray:
        """Return the ``(|X|,)`` variances of the linear estimates where the true frequencies are ``at``."""
        constant, slope = self.second_moments
        found: FloatArray = np.maximum(constant + slope * at - at * at, 0) / self.n
        return found

    @cached_property
    def linear_errors(self) -> FloatArray:
        """``(|X|,)`` standard errors of the linear estimates; 0 only where there is one value, so that it is known.

        Where nothing of a value was seen, or nothing else, the variance at the estimate is 0 because all reports agree,
        not because the truth is known. There it is the largest at the ends of the score interval of one standard
        deviation: what one report more or less would mean, or the noise where that is more.
        """
        # n - 1: with the data's own mean in it, this is unbiased.
        variance = self.variance(self.linear) * (self.n / max(self.n - 1, 1))
        if self.unseen.any():
            ends = (np.clip(end, 0, 1) for end in score_ends(self.linear, self.second_moments, self.n, 1.0))
            plausible = np.maximum(*(self.variance(end) for end in ends))
            variance = np.where(self.unseen, np.maximum(plausible, variance), variance)
        found: FloatArray = np.sqrt(variance)
        return found

    @cached_property
    def unseen(self) -> BoolArray:
        """``(|X|,)`` booleans: which linear estimates vary by less than half a report, by their own variance."""
        if self.mechanism.domain.size == 1:
            return np.zeros(1, dtype=np.bool_)
        found: BoolArray = self.variance(self.linear) < (0.5 / self.n) ** 2
        return found

    @cached_property
    def safe_variance(self) -> FloatArray:
        """``(|X|,)`` variances, above 0: as if each value had been seen once at least."""
        return np.maximum(self.variance(np.clip(self.linear, 1 / self.n, 1)), 1 / float(self.n) ** 2)

    def sum_covariance(self, frequencies: FloatArray, variance: FloatArray) -> FloatArray:
        """Return the ``(|X|,)`` covariances of estimates of these variances with their sum."""
        return self.mechanism.sum_covariance(self.tally, frequencies, variance)

    @property
    def has_one_block_per_value(self) -> bool:
        """Whether blocks are single values, so that the tally says all there is to know."""
        law = self.mechanism.law if isinstance(self.mechanism, BlockMechanism) else None
        return law is not None and block_size(law) == 1

    def membership(self, method: str) -> Extent:
        """Return the blocks as an operator.

        Raises:
            ParameterError: if they cannot be told from the tally alone.
        """
        mechanism = self.mechanism
        if self.has_one_block_per_value:
            return DistinctSymbols(self.tally.support.astype(np.float64))
        if isinstance(mechanism, BlockMechanism) and not mechanism.clear_blocks:
            law = mechanism.law
            if isinstance(law, CountedBlocks):
                return law.membership_of_counts(self.tally.support)
        if self.blocks is not None:
            return self.blocks
        if self.reports is None or isinstance(mechanism, Channel):
            raise ParameterError(
                f"method {method!r} needs the reports of this mechanism, not only their tally; "
                "pass the reports, or choose linear, threshold, norm-sub or projected."
            )
        return mechanism.law.membership(mechanism.blocks_of_unknown(self.reports))
