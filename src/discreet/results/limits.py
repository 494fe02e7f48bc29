"""Limits of estimates: of values from what is known of their counts, of sums, and of shares of sums.

They belong to the reports, not to a method: for every value the shares under which its count is not surprising
(`discreet.mechanisms.count_laws`), for sums and what two of them make together one law (`discreet.theory.limits`).
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Self

import numpy as np

from discreet.arrays import FloatArray, frozen
from discreet.core.grouping import ValueCells
from discreet.core.tally import Tally
from discreet.mechanisms.count_laws import CodedLaw, SumLaw
from discreet.mechanisms.mechanism import Decoder
from discreet.results.one_step import OneStepWorths
from discreet.theory.binomial import CountLaw, Ends, MeanWorths, miss_probability, share_limits, sigmas
from discreet.theory.covariance import Covariance
from discreet.theory.limits import (
    ONE_SIGMA,
    Estimated,
    all_agree,
    by_half_width,
    by_one_report,
    correlation,
    correlations,
    first_less_second,
    share_ends,
)

_CLOSE = 1e-9
# In standard deviations at the ends of [0, 1]: the room that every interval has there, the same at every level, so that
# a higher one never shortens. It is how much farther a two-sided interval reaches than a one-sided one, both at 95%.
_ROOM = 0.315


class ConfidenceLimits(ABC):
    """The limits of m numbers that follow from reports, for any level; they belong to the reports, not to a method."""

    @property
    def remark(self) -> str:
        """A sentence on where they come from, if not from where the method says; empty otherwise."""
        return ""

    @property
    def no_sums(self) -> str:
        """The reason why sums of the estimates may have no error."""
        return CountLaw.no_sums

    @property
    @abstractmethod
    def centre(self) -> FloatArray:
        """The ``(m,)`` estimates that the limits lie around, nearly unbiased; they may be negative."""

    @abstractmethod
    def ends(self, alpha: float) -> Ends:
        """Return lower and upper limits, each ``(m,)`` and not clipped; both together miss with probability alpha."""

    @abstractmethod
    def variances(self, at: float) -> FloatArray:
        """Return the ``(m,)`` variances of `centre` where all of the true frequencies are ``at``, 0 or 1."""

    @abstractmethod
    def sums(self, cells: ValueCells, base: Covariance, n: int) -> "SumLimits | ShareLimits":
        """Return the limits of the sums over cells.

        Args:
            cells: of the values; for shares they must leave out none.
            base: the covariance of the estimates of the values.
            n: number of reports.
        """

    def tails(self, level: float, *, simultaneous: bool = False, shown: int | None = None) -> float:
        """Return the probability with which each interval may miss; see `miss_probability`."""
        return miss_probability(level, self.centre.shape[-1], simultaneous=simultaneous, shown=shown)

    def limits(self, level: float, *, simultaneous: bool = False, shown: int | None = None) -> Ends:
        """Return the limits with room at the ends of [0, 1], each ``(m,)``, not clipped.

        Args:
            level: confidence, in (0, 1).
            simultaneous: whether all m intervals hold at once.
            shown: how many of them are chosen by the estimates themselves; see `miss_probability`.
        """
        low, high = self.ends(self.tails(level, simultaneous=simultaneous, shown=shown))
        nobody, everybody = (_ROOM * np.sqrt(self.variances(at)) for at in (0.0, 1.0))
        return np.minimum(low, 1 - everybody), np.maximum(high, nobody)

    def stated(self, variances: FloatArray) -> FloatArray:
        """Return ``(m,)`` these variances, or in their place those of what the limits are of, where that knows more."""
        return variances

    def floored_errors(self, variances: FloatArray, n: int) -> FloatArray:
        """Return ``(m,)`` standard errors, `stated`; half of the interval of one where all reports agree."""
        errors: FloatArray = np.sqrt(np.maximum(self.stated(variances), 0))
        if not all_agree(errors, n).any():
            return errors
        low, high = (np.clip(end, 0, 1) for end in self.limits(1 - ONE_SIGMA))
        return by_half_width(errors, (low, high), n)


@dataclass(frozen=True, eq=False)
class CountLimits(ConfidenceLimits):
    """The limits of values from what is known of their counts; worked out when they are asked for.

    Attributes:
        estimates: ``(|X|,)`` linear estimates; ``(g, |X|)`` of a `TallyStack`, which gives limits of each group.
        laws: of the counts; none where the decoder states them.
        decoder: of the tally; None where there is none.
        tally: the counts.
        step: what whole reports tell of the values that blocks cover, by a likelihood; None where the tally is all.
            Values in clear keep the limits of their counts.
    """

    estimates: FloatArray
    laws: Sequence[CodedLaw] = ()
    decoder: Decoder | None = None
    tally: Tally | None = None
    step: OneStepWorths | None = None

    @classmethod
    def of(cls, law: MeanWorths) -> "CountLimits":
        """Return the limits of estimates of which one law is known."""
        return cls(law.estimates, ((np.arange(len(law.estimates)), law),))

    @property
    def remark(self) -> str:
        """A sentence on where the limits come from, if not from where the method says."""
        if self.step is not None and self._worths is None:
            return "The blocks do not tell all values apart; intervals are those of the tally."
        return " ".join(law.remark for _, law in self.laws)

    @property
    def no_sums(self) -> str:
        """The reason why sums of the estimates may have no error."""
        return self.laws[0][1].no_sums if self.laws else super().no_sums

    @property
    def _worths(self) -> MeanWorths | None:
        return None if self.step is None else self.step.worths

    @cached_property
    def centre(self) -> FloatArray:
        """The linear estimates; of one step those that it makes, beside those of values in clear."""
        if self.step is None or self._worths is None:
            return self.estimates
        centre = self.estimates.copy()
        centre[self.step.codes] = self._worths.estimates
        return centre

    @cached_property
    def counts(self) -> Sequence[CodedLaw]:
        """The counts of all values, or the worths of reports to them, with their laws."""
        if self.decoder is None or self.tally is None:
            return self.laws
        laws = self.decoder.count_laws(self.tally, self.estimates)
        if self.step is None or self._worths is None:
            return laws
        in_clear = [law for law in laws if not np.isin(law[0][:1], self.step.codes).any()]
        return [*in_clear, (self.step.codes, self._worths)]

    def tails(self, level: float, *, simultaneous: bool = False, shown: int | None = None) -> float:
        """Return the probability with which each interval may miss; see `ConfidenceLimits.tails`."""
        if self.decoder is not None and self.decoder.is_binary and self.step is None and (simultaneous or shown):
            low, high = self.ends(1 - level)
            # Whoever holds p_x holds 1 - p_x: both miss together.
            if np.allclose(low, 1 - high[..., ::-1], rtol=0, atol=_CLOSE):
                return 1 - level
        return super().tails(level, simultaneous=simultaneous, shown=shown)

    def ends(self, alpha: float) -> Ends:
        """Return the limits of the frequencies, not clipped; see `ConfidenceLimits.ends`."""
        if alpha not in self._known_ends:
            # A table, its notes and a picture ask for the same ones.
            self._known_ends.clear()
            whole = np.empty((2, *self.estimates.shape))
            for codes, law in self.counts:
                whole[..., codes] = law.limits(alpha)
            self._known_ends[alpha] = frozen(whole[0]), frozen(whole[1])
        return self._known_ends[alpha]

    @cached_property
    def _known_ends(self) -> dict[float, Ends]:
        """The limits that were asked for last, by the probability with which each may miss."""
        return {}

    def variances(self, at: float) -> FloatArray:
        """Return the variances of the estimates at the ends of [0, 1]."""
        of_values = np.empty(self.estimates.shape)
        for codes, law in self.counts:
            of_values[..., codes] = law.variances(at)
        return of_values

    def sums(self, cells: ValueCells, base: Covariance, n: int) -> "SumLimits":
        """Return the limits of sums; where there is a step, those in clear are the tally's."""
        law = None
        if self.decoder is not None and self.tally is not None:
            law = self.decoder.sum_law(self.tally, self.estimates)
        if law is None:
            return SumLimits(base.sums(cells), n)
        if self._worths is not None:
            law = replace(law, parts=(), noise=None)
        return SumLimits(base.sums(cells), n, law.over(cells.total))


@dataclass(frozen=True, eq=False, repr=False)
class SumLimits(ConfidenceLimits):
    """The limits of sums over sets of values of one estimate, and of what two such sums make together.

    Each by what is known of its set: its count, the worths of reports, or no more than covariances.

    Attributes:
        base: the covariance of the sums over m disjoint sets.
        n: number of reports.
        law: of the counts behind the sums; None where no more than covariances are known.
        members: ``(k, m)`` of which of the disjoint sets each sum consists; each of one where None.
        inverse: whether each sum is that over all others of the disjoint sets.
    """

    base: Covariance
    n: int
    law: SumLaw | None = None
    members: FloatArray | None = None
    inverse: bool = False

    def unions(self, members: FloatArray) -> "SumLimits":
        """Return the sums over unions of disjoint sets: ``(k, m)`` ones where a set is a part of the union, else 0."""
        combined = members if self.members is None else members @ self.members
        return replace(self, members=combined, law=self.law and self.law.over(lambda each: members @ each))

    def rest(self) -> "SumLimits":
        """Return for each of m disjoint sets the sum over the others."""
        others = None if self.members is None else self.members.sum(axis=0) - self.members
        law = self.law and self.law.over(lambda each: each.sum() - each)
        return replace(self, law=law, members=others, inverse=others is None)

    def sums(self, cells: ValueCells, base: Covariance, n: int) -> "SumLimits":
        """Return the limits of sums of these; see `ConfidenceLimits.sums`."""
        return SumLimits(base.sums(cells), n, self.law and self.law.over(cells.total))

    @property
    def parts(self) -> "SumLimits":
        """The sums that shares are made of: these."""
        return self

    @cached_property
    def centre(self) -> FloatArray:
        """The ``(m,)`` sums."""
        centre = self.base.centre
        if self.members is not None:
            centre = np.asarray(self.members @ centre, np.float64)
        if self.inverse:
            centre = float(centre.sum()) - centre
        law = self.law
        if law is None:
            return centre
        others = centre if law.worths is None else law.worths.estimates
        return np.where(law.known, 1.0, np.where(law.binomial, law.counted.estimates, others))

    @cached_property
    def plausible(self) -> FloatArray:
        """The ``(m,)`` variances of `centre` at an estimate of which no part is negative."""
        return self.law.plausible if self.law is not None and self.law.modelled else self._base_variances

    @cached_property
    def _base_variances(self) -> FloatArray:
        """The ``(m,)`` variances by the covariances alone."""
        if self.members is not None:
            return np.maximum(self._base_covariances(self), 0)
        variances = self.base.variances()
        if self.inverse:
            beside = self.base.with_sum()
            variances = np.maximum(variances - 2 * beside + float(beside.sum()), 0)
        return variances

    def _base_covariances(self, others: Self) -> FloatArray:
        if self.members is None or others.members is None:
            return self.base.with_sum() - self.base.variances()
        matrix = self.base.matrix(np.arange(self.members.shape[1]))
        covariances: FloatArray = ((self.members @ matrix) * others.members).sum(axis=1)
        return covariances

    def covariances(self, others: Self) -> FloatArray:
        """Return the ``(m,)`` covariances at a plausible estimate, each with a sum that shares no value."""
        if self.law is None or others.law is None or not self.law.modelled:
            return self._base_covariances(others)
        return self.law.covariances(others.law)

    @property
    def controlled(self) -> bool:
        """True if any sum is controlled by the known total, so that its error is not that of the plain one."""
        return self.law is not None and bool(self.law.control.any())

    def stated(self, variances: FloatArray) -> FloatArray:
        """Return the variances of the controlled sums, others as they are; see `ConfidenceLimits.stated`."""
        if self.law is None or not self.controlled:
            return variances
        return np.where(self.law.control == 0, variances, self.plausible)

    def ends(self, alpha: float) -> Ends:
        """Return the limits, each by what is known of its set."""
        law = self.law
        if law is None:
            return self._base_ends(alpha)
        pair = np.ones((2, len(law.known)))
        others = ~law.binomial & ~law.known
        if others.any():
            known = self._base_ends(alpha) if law.worths is None else law.worths.limits(alpha)
            pair[:, others] = np.array(known)[:, others]
        if law.binomial.any():
            pair[:, law.binomial] = np.array(law.counted.limits(alpha))[:, law.binomial]
        return pair[0], pair[1]

    def _base_ends(self, alpha: float) -> Ends:
        """Return the sums -+ z standard errors."""
        away = sigmas(alpha / 2) * self._base_errors
        return self.centre - away, self.centre + away

    @property
    def _base_errors(self) -> FloatArray:
        return by_one_report(np.sqrt(self._base_variances), self.n)

    def variances(self, at: float) -> FloatArray:
        """Return the ``(m,)`` variances of the sums at the ends of [0, 1]; as they are where no more is known."""
        law = self.law
        others = self._base_errors**2 if law is None or law.worths is None else law.worths.variances(at)
        if law is None:
            return others
        return np.where(law.known, 0.0, np.where(law.binomial, law.counted.variances(at), others))

    def shares_told(self, alpha: float) -> Ends | None:
        """Return the limits of the shares of the sets in all of them; None unless all of them are told in clear."""
        if self.law is None or self.law.sets.covered.any():
            return None
        counts = np.rint(self.law.sets.told).astype(np.int64)
        return share_limits(counts, np.full(len(counts), counts.sum()), alpha)

    @property
    def matrix(self) -> FloatArray:
        """``(m, m)`` covariances of a few disjoint sums at a plausible estimate."""
        covariances = np.diag(self.plausible)
        each = [self.unions(row[None]) for row in np.eye(len(covariances))]
        for i, j in combinations(range(len(covariances)), 2):
            covariances[i, j] = covariances[j, i] = each[i].covariances(each[j])[0]
        return covariances

    def variance(self, weights: FloatArray, plain: float) -> float:
        """Return the variance of a weighted sum of a few of these; that of the plain ones if none is controlled."""
        return max(float(weights @ self.matrix @ weights), 0.0) if self.controlled else plain

    def estimated(self, alpha: float) -> Estimated:
        """Return the sums with their limits at this probability of a miss."""
        return Estimated(self.centre, *self.limits(1 - alpha))

    def difference(self, alpha: float) -> tuple[float, float]:
        """Return the limits of the first sum less the second one, not clipped."""
        return first_less_second(self.estimated(alpha), self.matrix)

    def ratio(self, alpha: float) -> tuple[float, float]:
        """Return the limits within [0, 1] of the share of the first sum in that of the first two."""
        pair = self.unions(np.eye(2, len(self.centre)))
        low, high = ShareLimits(pair).ends(alpha)
        return float(low[0]), float(high[0])

    def overlapping(self, alpha: float) -> tuple[float, float]:
        """Return the share of A in A and B, from the sums over A without B, B without A, both, and neither.

        What both share counts twice in the whole: of a ratio r = A / B this is r / (1 + r).
        """
        chosen = np.array([[1.0, 0, 1, 0], [0, 1, 1, 0]])
        r = correlations(chosen @ self.matrix @ chosen.T)
        both = self.unions(chosen).estimated(alpha)
        first, second = (Estimated(*(part[[at]] for part in both)) for at in (0, 1))
        low, high = share_ends(first, second, r[[0], [1]])
        return float(low[0]), float(high[0])


@dataclass(frozen=True, eq=False, repr=False)
class ShareLimits(ConfidenceLimits):
    """The limits of the shares of sums in all of them together.

    Attributes:
        parts: the sums, over sets that share no value.
    """

    parts: "SumLimits"

    @property
    def no_sums(self) -> str:
        """The reason why shares may have no covariance."""
        return (
            "nobody is estimated to have these labels, so that shares among them have no error; their intervals hold."
        )

    @cached_property
    def _beside(self) -> tuple["SumLimits", FloatArray]:
        """For each sum that of the others, and the correlation of both."""
        rest = self.parts.rest()
        own_variance, others = self.parts.plausible, rest.plausible
        return rest, correlation(self.parts.covariances(rest), np.sqrt(own_variance * others))

    @property
    def centre(self) -> FloatArray:
        """The ``(m,)`` shares; no numbers where the whole is not above 0."""
        whole = float(self.parts.centre.sum())
        return self.parts.centre / whole if whole > 0 else np.full(len(self.parts.centre), np.nan)

    def ends(self, alpha: float) -> Ends:
        """Return the limits of the shares, within [0, 1]: exact where all are told in clear."""
        in_clear_ends = self.parts.shares_told(alpha)
        if in_clear_ends is not None:
            return in_clear_ends
        rest, r = self._beside
        return share_ends(self.parts.estimated(alpha), rest.estimated(alpha), r)

    def variances(self, at: float) -> FloatArray:
        """Return zeros: the room is in the limits of the sums."""
        del at
        return np.zeros(len(self.parts.centre))

    def stated(self, variances: FloatArray) -> FloatArray:
        """Return the variances of shares of controlled sums, to first order; see `ConfidenceLimits.stated`."""
        if not self.parts.controlled:
            return variances
        rest, r = self._beside
        part, others, q = self.parts.plausible, rest.plausible, self.centre
        apart: FloatArray = (1 - q) ** 2 * part - 2 * q * (1 - q) * r * np.sqrt(part * others) + q**2 * others
        return apart / float(self.parts.centre.sum()) ** 2

    @property
    def matrix(self) -> FloatArray:
        """``(m, m)`` covariances of a few shares, to first order."""
        lift = (np.eye(len(self.centre)) - self.centre[:, None]) / float(self.parts.centre.sum())
        return lift @ self.parts.matrix @ lift.T

    def variance(self, weights: FloatArray, plain: float) -> float:
        """Return the variance of a weighted sum of a few shares; see `SumLimits.variance`."""
        return max(float(weights @ self.matrix @ weights), 0.0) if self.parts.controlled else plain

    def difference(self, alpha: float) -> tuple[float, float]:
        """Return the limits of the first share less the second one, not clipped; their correlation to first order."""
        return first_less_second(Estimated(self.centre, *self.ends(alpha)), self.matrix)

    def sums(self, cells: ValueCells, base: Covariance, n: int) -> "ShareLimits":
        """Return the limits of the sums of the shares over cells, which leave out none."""
        del base, n
        members = np.array([cells.lifted(row) for row in np.eye(cells.size)])
        return ShareLimits(self.parts.unions(members))
