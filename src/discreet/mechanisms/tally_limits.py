"""Confidence limits that a tally gives: of values, and of their sums.

Limits of sums over sets of values, from what a tally says of them.

Sets in clear have binomial counts, and so has every set where each block is one value; what holds all values that
blocks cover is what those in clear leave of 1. Sums of values that are alike in their blocks follow from the worths of
reports (`discreet.theory.binomial`), controlled by the known total. All others follow from their covariances.

The intervals that a tally gives: for every value the shares under which its count is not surprising.

They follow from the counts alone, whatever point estimate is made of these. Where the count of a value is binomial they
are exact: values in clear; values in blocks where nothing goes in clear, or where a report in clear is worth as much as
a block without the value. Elsewhere the estimate is a mean of the worths of reports, whose second and third moments are
known for every p.
"""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from typing import NamedTuple, Protocol, Self, TypeAlias

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray, frozen
from discreet.core.domain import Domain
from discreet.core.grouping import ValueCells
from discreet.core.tally import Tally
from discreet.mechanisms.block_law import BlockLaw
from discreet.mechanisms.covariances import plausible
from discreet.theory.binomial import (
    AlikeBlocks,
    BinomialCounts,
    Ends,
    MeanWorths,
    ValueSets,
    WorthMoment,
    joint_share,
    share_limits,
    sum_moment,
)
from discreet.theory.covariance import Covariance
from discreet.theory.design import Design
from discreet.theory.limits import ConfidenceLimits, ShareLimits, SpreadSums, Sums
from discreet.theory.linear_decoder import LinearDecoder, PerValue

# Of the variance of the sum of all estimates, in units of that of a set: below it the sum is 1 whatever was reported.
_NO_TOTAL = 1e-9


class SetTotals(NamedTuple):
    """The totals of counts and estimates over sets of values, each ``(m,)``.

    Attributes:
        covered: the number of its values that blocks cover.
        in_clear: the number of its others.
        told: their reports.
        held: the reports whose block is one of its values; 0 where blocks have several.
        noise: b, the probability that a block of noise is one of them; likewise.
        linear: the linear estimate.
        likely: an estimate of which no part is negative.
    """

    covered: FloatArray
    in_clear: FloatArray
    told: FloatArray
    held: FloatArray
    noise: FloatArray
    linear: FloatArray
    likely: FloatArray

    def mapped(self, change: Callable[[FloatArray], FloatArray]) -> "SetTotals":
        """Return those of other sets, of which each is a sum of these."""
        return SetTotals(*map(change, self))

    def plus(self, others: "SetTotals") -> "SetTotals":
        """Return those of the unions with other sets, which share no value with these."""
        return SetTotals(*(one + other for one, other in zip(self, others, strict=True)))


@dataclass(frozen=True, eq=False, repr=False)
class SumLaw:
    """The law of the counts behind sums over sets of values.

    Attributes:
        values: what is known of each value.
        n: number of reports.
        truth: s.
        mass: the share of people whose value blocks cover, as far as reports in clear tell.
        parts: what reports are worth, where values are alike; empty where they are not.
        multinomial: whether each report is one value, so that every set has a binomial count.
    """

    values: SetTotals
    n: int
    truth: float
    mass: float
    parts: tuple[AlikeBlocks, ...]
    multinomial: bool

    @classmethod
    def of(
        cls, domain: Domain, law: BlockLaw, numbers: LinearDecoder | Design, tally: Tally, linear: FloatArray
    ) -> "SumLaw":
        """Return the law of a tally of a block mechanism, given its linear estimate."""
        v, n, s = domain.sensitive_count, tally.n, numbers.truth
        clear = tally.clear.astype(np.float64)
        seen = float(clear.sum()) / (n * s) if domain.clear_count else 0.0
        # Shares of those in clear above 1 in all are scaled: they leave nothing for the others.
        likely = domain.arrange(plausible(domain, linear), clear / (n * s * max(seen, 1.0)))
        multinomial = v > 0 and isinstance(numbers, LinearDecoder) and bool(law.counts.one_per_value)
        held, noise = np.zeros(v), np.zeros(v)
        if multinomial and isinstance(numbers, LinearDecoder):
            held = held + law.counts.support_of(tally.support)
            noise = noise + numbers.noisy * numbers.inclusion
        zeros = np.zeros(domain.clear_count)
        values = SetTotals(
            domain.sensitive.astype(np.float64),
            (~domain.sensitive).astype(np.float64),
            domain.arrange(np.zeros(v), clear),
            domain.arrange(held, zeros),
            domain.arrange(noise, zeros),
            linear,
            likely,
        )
        parts = () if multinomial or not v else _alike_blocks(law, numbers)
        return cls(values, n, s, max(1 - seen, 0.0) if v else 0.0, parts, multinomial)

    @cached_property
    def everything(self) -> SetTotals:
        """The set of all values."""
        return self.values.mapped(lambda each: each.sum(keepdims=True))

    def worths(self, sets: SetTotals, control: FloatArray) -> MeanWorths:
        """Return the controlled sums over sets, with the moments of what reports are worth to them."""
        shape = self._shape(sets, control)
        moments = [sum_moment(self.parts, shape, power) for power in (2, 3)]
        estimates = sets.linear - control * (float(self.everything.linear[0]) - 1)
        return MeanWorths(estimates, self.n, moments[0], moments[1], shape.told + self.mass, told=shape.told)

    def _shape(self, sets: SetTotals, control: FloatArray) -> ValueSets:
        seen = float(self.everything.told[0]) / (self.n * self.truth)
        # At most what there are.
        told = sets.told / (self.n * self.truth * max(seen, 1.0))
        return ValueSets(sets.covered, told, control, int(self.everything.covered[0]), self.mass)

    def variances(self, sets: SetTotals, control: FloatArray) -> FloatArray:
        """Return the ``(m,)`` variances of sums at the likely estimate, given lambda."""
        if self.multinomial:
            return BinomialCounts(np.zeros(0, np.int64), self.n, sets.noise, self.truth).variances(sets.likely)
        shape = self._shape(sets, control)
        second = sum_moment(self.parts, shape, 2).at(sets.likely, (shape.told, shape.told + self.mass))
        return np.maximum(second - sets.likely**2, 0) / self.n

    def controls(self, sets: SetTotals) -> FloatArray:
        """Return ``(m,)`` lambda; 0 for sets in clear, and 1 for what holds all values that blocks cover."""
        none = np.zeros(len(sets.covered))
        if not self.parts:
            return none
        rest = sets.mapped(lambda each: -each).plus(self.everything)
        own, others = self.variances(sets, none), self.variances(rest, none)
        total = float(self.variances(self.everything, none[:1])[0])
        found = (own + total - others) / (2 * total) if total > _NO_TOTAL * float(own.max()) else none
        return np.where(sets.covered == 0, 0.0, np.where(self.holds_all(sets), 1.0, found))

    def holds_all(self, sets: SetTotals) -> BoolArray:
        """Return ``(m,)`` booleans: true for sets that hold all values that blocks cover, where others go in clear."""
        found: BoolArray = (sets.covered == self.everything.covered) & (self.everything.in_clear > 0)
        return found


@dataclass(frozen=True, eq=False, repr=False)
class SumLimits(Sums):
    """Limits of sums over sets of values.

    Attributes:
        law: of the counts.
        sets: of values.
        spread: the sums as their covariances have them; used where the counts do not tell.
    """

    law: SumLaw
    sets: SetTotals
    spread: SpreadSums

    @classmethod
    def over(cls, law: SumLaw, cells: ValueCells, spread: SpreadSums) -> "SumLimits":
        """Return the limits of sums over cells."""
        return cls(law, law.values.mapped(cells.total), spread)

    @cached_property
    def _control(self) -> FloatArray:
        return self.law.controls(self.sets)

    @property
    def _modelled(self) -> bool:
        return self.law.multinomial or bool(self.law.parts)

    @cached_property
    def _known(self) -> BoolArray:
        """The sets of all values."""
        whole = self.law.everything
        known: BoolArray = (self.sets.covered == whole.covered) & (self.sets.in_clear == whole.in_clear)
        return known

    @cached_property
    def _counted(self) -> BinomialCounts:
        """The counts of all sets, of which some are binomial; of what holds all covered values, the rest of n."""
        law, sets = self.law, self.sets
        rest = law.n - (law.everything.told - sets.told)
        # Where each report is one value its count says more than those in clear alone.
        by_rest = law.holds_all(sets) & (sets.covered > 0)
        counts = np.where(by_rest, rest, sets.told + sets.held)
        bases = np.where(by_rest, 1 - law.truth, sets.noise)
        return BinomialCounts(np.rint(counts).astype(np.int64), law.n, bases, law.truth)

    @cached_property
    def _binomial(self) -> BoolArray:
        counted = (self.sets.covered == 0) | self.law.holds_all(self.sets) | self.law.multinomial
        binomial: BoolArray = counted & ~self._known
        return binomial

    @cached_property
    def _worths(self) -> MeanWorths | None:
        return self.law.worths(self.sets, self._control) if self.law.parts else None

    @cached_property
    def centre(self) -> FloatArray:
        """The ``(m,)`` sums."""
        counted = self._counted
        by_count = (counted.counts / self.law.n - counted.base) / counted.slope
        others = self.spread.centre if self._worths is None else self._worths.estimates
        return np.where(self._known, 1.0, np.where(self._binomial, by_count, others))

    @cached_property
    def plausible(self) -> FloatArray:
        """The ``(m,)`` variances of the sums at the likely estimate."""
        return self.law.variances(self.sets, self._control) if self._modelled else self.spread.plausible

    @property
    def controlled(self) -> bool:
        """True if any sum is controlled by the known total; see `Sums.controlled`."""
        return bool(self._control.any())

    def stated(self, variances: FloatArray) -> FloatArray:
        """Return the variances of the controlled sums, others as they are; see `ConfidenceLimits.stated`."""
        return np.where(self._control == 0, variances, self.plausible) if self.controlled else variances

    def covariances(self, others: Self) -> FloatArray:
        """Return the ``(m,)`` covariances with other sums; see `Sums.covariances`."""
        if not self._modelled:
            return self.spread.covariances(others.spread)
        both = self.law.variances(self.sets.plus(others.sets), self._control + others._control)
        return (both - self.plausible - others.plausible) / 2

    def unions(self, members: FloatArray) -> "SumLimits":
        """Return the sums over unions; see `Sums.unions`."""
        return SumLimits(self.law, self.sets.mapped(lambda each: members @ each), self.spread.unions(members))

    def sums(self, cells: ValueCells, spread: Covariance, n: int) -> "SumLimits":
        """Return the limits of sums of these; see `ConfidenceLimits.sums`."""
        return SumLimits(self.law, self.sets.mapped(cells.total), SpreadSums(spread.sums(cells), n))

    def rest(self) -> "SumLimits":
        """Return the sums over the others; see `Sums.rest`."""
        return SumLimits(self.law, self.sets.mapped(lambda each: each.sum() - each), self.spread.rest())

    def shares_told(self, alpha: float) -> Ends | None:
        """Return the limits of shares among answers in clear; see `Sums.shares_told`."""
        if self.sets.covered.any():
            return None
        told = np.rint(self.sets.told).astype(np.int64)
        return share_limits(told, np.full(len(told), told.sum()), alpha)

    def ends(self, alpha: float) -> Ends:
        """Return the limits, each by what is known of its set."""
        pair = np.ones((2, len(self.sets.covered)))
        others = ~self._binomial & ~self._known
        if others.any():
            pair[:, others] = np.array(self.spread.ends(alpha) if self._worths is None else self._worths.limits(alpha))[
                :, others
            ]
        if self._binomial.any():
            pair[:, self._binomial] = np.array(self._counted.limits(alpha))[:, self._binomial]
        return pair[0], pair[1]

    def variances(self, at: float) -> FloatArray:
        """Return the ``(m,)`` variances of the sums at the ends of [0, 1]."""
        everybody = np.full(len(self.sets.covered), at)
        others = self.spread.variances(at) if self._worths is None else self._worths.variances(everybody)
        return np.where(self._known, 0.0, np.where(self._binomial, self._counted.variances(everybody), others))


def _alike_blocks(law: BlockLaw, numbers: LinearDecoder | Design) -> tuple[AlikeBlocks, ...]:
    """Return the worths of reports to values that are alike, by block size for a design; nothing for other laws."""
    if isinstance(numbers, Design):
        if numbers.instance.clear_size:
            return ()
        return tuple(
            AlikeBlocks(
                1 - numbers.noise(k),
                numbers.noise(k),
                _joint(partial(joint_share, numbers.size, k)),
                (*numbers.block_worth(k)[:2], 0.0),
                share,
            )
            for k, share in numbers.weights.items()
        )
    if law.joint_inclusion(1) is None or numbers.clear_blocks or numbers.pool_bias:
        return ()
    inside, outside, silent = (float(each) for each in numbers.worth)
    return (AlikeBlocks(numbers.truth, numbers.noisy, _joint(law.joint_inclusion), (inside, outside, silent)),)


def _joint(inclusion: Callable[[int], Fraction | None]) -> tuple[float, float, float, float]:
    one, two, three, four = (float(inclusion(count) or 0) for count in range(1, 5))
    return one, two, three, four


CountLaw: TypeAlias = tuple[IntArray, BinomialCounts | MeanWorths]
"""Codes, and what is known of the counts of these values."""

_CLOSE = 1e-9


class _Decoder(Protocol):
    """The part of a decoder that its tallies' intervals need."""

    @property
    def is_one_number(self) -> bool: ...

    def count_laws(self, tally: Tally, linear: FloatArray) -> list[CountLaw]: ...

    def sum_law(self, tally: Tally, linear: FloatArray) -> SumLaw | None: ...


class CountIntervals(ConfidenceLimits):
    """Intervals from what is known of the counts of all values; computed when they are asked for."""

    @property
    def is_one_number(self) -> bool:
        """True if there are two values, and the count of one always follows from that of the other."""
        return False

    @property
    @abstractmethod
    def counts(self) -> list[CountLaw]:
        """The counts of all values, with their laws."""

    def tails(self, level: float, *, simultaneous: bool = False, shown: int | None = None) -> float:
        """Return the probability with which each interval may miss; see `ConfidenceLimits.tails`."""
        if self.is_one_number and (simultaneous or shown):
            low, high = self.ends(1 - level)
            # Whoever holds p_x holds 1 - p_x: both miss together.
            if np.allclose(low, 1 - high[..., ::-1], rtol=0, atol=_CLOSE):
                return 1 - level
        return super().tails(level, simultaneous=simultaneous, shown=shown)

    def ends(self, alpha: float) -> Ends:
        """Return the limits of the frequencies, not clipped; see `ConfidenceLimits.ends`."""
        if alpha not in self._limits:
            # A table, its notes and a picture ask for the same ones.
            self._limits.clear()
            low, high = self._arranged([(codes, law.limits(alpha)) for codes, law in self.counts])
            self._limits[alpha] = frozen(low), frozen(high)
        return self._limits[alpha]

    @cached_property
    def _limits(self) -> dict[float, Ends]:
        """The limits that were asked for last, by the probability with which each may miss."""
        return {}

    def variances(self, at: float) -> FloatArray:
        """Return the variances of the estimates at the ends of [0, 1]."""
        found = np.empty(self.centre.shape)
        for codes, law in self.counts:
            found[..., codes] = law.variances(np.full(len(codes), at))
        return found

    def _arranged(self, parts: list[tuple[IntArray, tuple[FloatArray, FloatArray]]]) -> FloatArray:
        whole = np.empty((2, *self.centre.shape))
        for codes, pair in parts:
            whole[..., codes] = pair
        return whole


@dataclass(frozen=True, eq=False)
class TallyIntervals(CountIntervals):
    """The intervals of a tally.

    Attributes:
        decoder: of the tally's mechanism.
        tally: the counts; or a `TallyStack`, which gives limits of each group.
        linear: ``(|X|,)`` linear estimates from them; ``(g, |X|)`` of a stack.
    """

    decoder: _Decoder
    tally: Tally
    linear: FloatArray

    @property
    def centre(self) -> FloatArray:
        """The linear estimates."""
        return self.linear

    @property
    def is_one_number(self) -> bool:
        """True if there are two values, and the count of one always follows from that of the other."""
        return self.decoder.is_one_number

    @cached_property
    def counts(self) -> list[CountLaw]:
        """The counts of all values, with their laws."""
        return self.decoder.count_laws(self.tally, self.linear)

    def sums(self, cells: ValueCells, spread: Covariance, n: int) -> Sums | ShareLimits:
        """Return the limits of sums; see `ConfidenceLimits.sums`."""
        law, sums = self.decoder.sum_law(self.tally, self.linear), SpreadSums(spread.sums(cells), n)
        return sums if law is None else SumLimits.over(law, cells, sums)

    def sums_beside(self, cells: ValueCells, spread: Covariance, n: int) -> Sums | ShareLimits:
        """Return the limits of sums of better estimates from the same reports, of which those in clear are the same."""
        law, sums = self.decoder.sum_law(self.tally, self.linear), SpreadSums(spread.sums(cells), n)
        return sums if law is None else SumLimits.over(replace(law, parts=(), multinomial=False), cells, sums)


class _Numbers(Protocol):
    """The numbers of a block mechanism that the law of its counts follows from."""

    @property
    def truth(self) -> float: ...

    @property
    def count_law(self) -> tuple[PerValue, PerValue] | None: ...

    def sensitive_moment(self, power: int, sensitive_mass: PerValue) -> tuple[PerValue, PerValue]: ...


def clear_counts(domain: Domain, tally: Tally, truth: float) -> list[CountLaw]:
    """Return the counts of the values in clear: binomial with probability s p."""
    if not domain.clear_count:
        return []
    return [(domain.clear_codes, BinomialCounts(tally.clear, tally.n, 0.0, truth))]


def worth_moments(numbers: _Numbers, mass: PerValue) -> tuple[WorthMoment, WorthMoment]:
    """Return the second and third moment of a report's worth to a sensitive value, where p(X_S) is about ``mass``."""
    moments = []
    for power in (2, 3):
        constant, slope = numbers.sensitive_moment(power, mass)
        nothing, everything = (numbers.sensitive_moment(power, end)[0] for end in (0.0, 1.0))
        moments.append(WorthMoment(constant, slope, everything - nothing))
    return moments[0], moments[1]
