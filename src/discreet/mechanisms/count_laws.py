"""Laws of the counts of a tally, from which limits follow: of values, and of their sums.

Where the count of a value is binomial its limits are exact: values in clear; values in blocks where nothing goes in
clear, or where a report in clear is worth as much as a block without the value. Elsewhere the estimate is a mean of the
worths of reports, whose second and third moments are known for every p.

Sets in clear have binomial counts, and so has every set where each block is one value; what holds all values that
blocks cover is what those in clear leave of 1. Sums of values that are alike in their blocks follow from the worths of
reports (`discreet.theory.binomial`), controlled by the known total. All others follow from their covariances.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import NamedTuple, TypeAlias

import numpy as np

from discreet.arrays import BoolArray, FloatArray, Floats, IntArray
from discreet.core.domain import Domain
from discreet.core.tally import Tally
from discreet.mechanisms.block_law import BlockLaw, joint_inclusion
from discreet.mechanisms.covariances import plausible
from discreet.theory.binomial import (
    AlikeBlocks,
    BinomialCounts,
    CountLaw,
    MeanWorths,
    ValueSets,
    WorthMoment,
    sum_moment,
)
from discreet.theory.linear_decoder import BlockNumbers

CodedLaw: TypeAlias = tuple[IntArray, CountLaw]
"""Codes, and what is known of the counts of these values."""

# Of the variance of the sum of all estimates, in units of that of a set: below it the sum is 1 whatever was reported.
_NO_TOTAL = 1e-9


class SetTotals(NamedTuple):
    """The totals of counts and estimates over sets of values, each ``(m,)``.

    Attributes:
        covered: the number of its values that blocks cover.
        in_clear: the number of its others.
        told: their reports.
        held: the reports whose block is one of its values; 0 where blocks have several.
        linear: the linear estimate.
        likely: an estimate of which no part is negative.
    """

    covered: FloatArray
    in_clear: FloatArray
    told: FloatArray
    held: FloatArray
    linear: FloatArray
    likely: FloatArray

    def mapped(self, change: Callable[[FloatArray], FloatArray]) -> "SetTotals":
        """Return those of other sets, of which each is a sum of these."""
        return SetTotals(*map(change, self))

    def plus(self, others: "SetTotals") -> "SetTotals":
        """Return those of the unions with other sets, which share no value with these."""
        return SetTotals(*(total + other for total, other in zip(self, others, strict=True)))


@dataclass(frozen=True, eq=False, repr=False)
class SumLaw:
    """The law of the counts behind sums over sets of values.

    Attributes:
        sets: the sets.
        whole: the set of all values.
        n: number of reports.
        truth: s.
        mass: the share of people whose value blocks cover, as far as reports in clear tell.
        parts: what reports are worth, where values are alike; empty where they are not.
        noise: where each report is one value, so that every set has a binomial count, the probability that it is a
            given covered value as noise; None elsewhere.
    """

    sets: SetTotals
    whole: SetTotals
    n: int
    truth: float
    mass: float
    parts: tuple[AlikeBlocks, ...]
    noise: float | None

    @classmethod
    def of(cls, domain: Domain, law: BlockLaw, numbers: BlockNumbers, tally: Tally, linear: FloatArray) -> "SumLaw":
        """Return the law of a tally of a block mechanism, each value a set, given its linear estimate."""
        v, n, s = domain.sensitive_count, tally.n, numbers.truth
        clear = tally.clear.astype(np.float64)
        clear_mass = float(clear.sum()) / (n * s) if domain.clear_count else 0.0
        # Shares of those in clear above 1 in all are scaled: they leave nothing for the others.
        likely = domain.arrange(plausible(domain, linear), clear / (n * s * max(clear_mass, 1.0)))
        noise = numbers.noisy_inclusion if v and law.counts.one_per_value else None
        held = np.zeros(v) if noise is None else law.counts.support_of(tally.support).astype(np.float64)
        values = SetTotals(
            domain.sensitive.astype(np.float64),
            (~domain.sensitive).astype(np.float64),
            domain.arrange(np.zeros(v), clear),
            domain.arrange(held, np.zeros(domain.clear_count)),
            linear,
            likely,
        )
        parts: tuple[AlikeBlocks, ...] = ()
        if v and noise is None and joint_inclusion(law, 1) is not None:
            stated, silent = partial(joint_inclusion, law), numbers.clear_worth[0] if domain.clear_count else 0.0
            parts = tuple(
                AlikeBlocks(kind, tuple(float((kind.joint or stated)(count) or 0) for count in range(1, 5)), silent)
                for kind in numbers.alike_kinds
            )
        whole = values.mapped(lambda each: each.sum(keepdims=True))
        return cls(values, whole, n, s, max(1 - clear_mass, 0.0) if v else 0.0, parts, noise)

    def over(self, change: Callable[[FloatArray], FloatArray]) -> "SumLaw":
        """Return the law of other sets, of which each is a sum of these."""
        return replace(self, sets=self.sets.mapped(change))

    @property
    def modelled(self) -> bool:
        """True if the variances of sums follow from the law, not from their covariances alone."""
        return self.noise is not None or bool(self.parts)

    @cached_property
    def known(self) -> BoolArray:
        """``(m,)`` booleans: true for the set of all values."""
        sets, whole = self.sets, self.whole
        known: BoolArray = (sets.covered == whole.covered) & (sets.in_clear == whole.in_clear)
        return known

    @cached_property
    def holds_all(self) -> BoolArray:
        """``(m,)`` booleans: true for sets that hold all values that blocks cover, where others go in clear."""
        is_whole: BoolArray = (self.sets.covered == self.whole.covered) & (self.whole.in_clear > 0)
        return is_whole

    @cached_property
    def binomial(self) -> BoolArray:
        """``(m,)`` booleans: true for sets with a binomial count."""
        binomial: BoolArray = ((self.sets.covered == 0) | self.holds_all | (self.noise is not None)) & ~self.known
        return binomial

    @cached_property
    def counted(self) -> BinomialCounts:
        """The counts of all sets, of which some are binomial; of what holds all covered values, the rest of n."""
        sets = self.sets
        rest = self.n - (self.whole.told - sets.told)
        # Where each report is one value its count says more than those in clear alone.
        by_rest = self.holds_all & (sets.covered > 0)
        counts = np.where(by_rest, rest, sets.told + sets.held)
        bases = np.where(by_rest, 1 - self.truth, sets.covered * (self.noise or 0.0))
        return BinomialCounts(np.rint(counts).astype(np.int64), self.n, bases, self.truth)

    @cached_property
    def worths(self) -> MeanWorths | None:
        """The controlled sums, with the moments of what reports are worth to them; None where these are not known."""
        if not self.parts:
            return None
        shape = self._shape(self.sets, self.control)
        moments = [sum_moment(self.parts, shape, power) for power in (2, 3)]
        estimates = self.sets.linear - self.control * (float(self.whole.linear[0]) - 1)
        return MeanWorths(estimates, self.n, moments[0], moments[1], shape.told + self.mass, told=shape.told)

    @cached_property
    def control(self) -> FloatArray:
        """``(m,)`` lambda; 0 for sets in clear, and 1 for what holds all values that blocks cover."""
        sets = self.sets
        none = np.zeros(len(sets.covered))
        if not self.parts:
            return none
        rest = sets.mapped(lambda each: -each).plus(self.whole)
        inner, others = self._variances(sets, none), self._variances(rest, none)
        total = float(self._variances(self.whole, none[:1])[0])
        share = (inner + total - others) / (2 * total) if total > _NO_TOTAL * float(inner.max()) else none
        return np.where(sets.covered == 0, 0.0, np.where(self.holds_all, 1.0, share))

    @cached_property
    def plausible(self) -> FloatArray:
        """The ``(m,)`` variances of the sums at an estimate of which no part is negative."""
        return self._variances(self.sets, self.control)

    def covariances(self, others: "SumLaw") -> FloatArray:
        """Return the ``(m,)`` covariances at that estimate, each with a sum that shares no value."""
        both = self._variances(self.sets.plus(others.sets), self.control + others.control)
        return (both - self.plausible - others.plausible) / 2

    def _variances(self, sets: SetTotals, control: FloatArray) -> FloatArray:
        """Return the ``(m,)`` variances of sums at the likely estimate, given lambda."""
        if self.noise is not None:
            bases = sets.covered * self.noise
            return BinomialCounts(np.zeros(0, np.int64), self.n, bases, self.truth).variances(sets.likely)
        shape = self._shape(sets, control)
        second = sum_moment(self.parts, shape, 2).at(sets.likely, (shape.told, shape.told + self.mass))
        return np.maximum(second - sets.likely**2, 0) / self.n

    def _shape(self, sets: SetTotals, control: FloatArray) -> ValueSets:
        whole_clear = float(self.whole.told[0]) / (self.n * self.truth)
        # At most what there are.
        clear_mass = sets.told / (self.n * self.truth * max(whole_clear, 1.0))
        return ValueSets(sets.covered, clear_mass, control, int(self.whole.covered[0]), self.mass)


def worth_moments(numbers: BlockNumbers, mass: Floats) -> tuple[WorthMoment, WorthMoment]:
    """Return the second and third moment of a report's worth to a sensitive value, where p(X_S) is about ``mass``."""
    moments = []
    for power in (2, 3):
        constant, slope = numbers.sensitive_moment(power, mass)
        nothing, everything = (numbers.sensitive_moment(power, end)[0] for end in (0.0, 1.0))
        moments.append(WorthMoment(constant, slope, everything - nothing))
    return moments[0], moments[1]
