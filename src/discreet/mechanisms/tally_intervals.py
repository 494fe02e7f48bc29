"""The intervals that a tally gives: for every value the shares under which its count is not surprising.

They follow from the counts alone, whatever point estimate is made of these. Where the count of a value is binomial they
are exact: values in clear; values in blocks where nothing goes in clear, or where a report in clear is worth as much as
a block without the value. Elsewhere the estimate is a mean of the worths of reports, whose second and third moments are
known for every p.
"""

from abc import abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol, TypeAlias

import numpy as np

from discreet.accuracy.binomial_limits import BinomialCounts
from discreet.accuracy.decoder import PerValue
from discreet.accuracy.skewed_limits import MeanWorths, WorthMoment
from discreet.arrays import FloatArray, IntArray, frozen
from discreet.core.confidence_intervals import Ends
from discreet.core.covariance import Covariance
from discreet.core.domain import Domain
from discreet.core.limits import ConfidenceLimits, ShareLimits, SpreadSums, Sums
from discreet.core.partitions import ValueCells
from discreet.core.tally import Tally
from discreet.mechanisms.sum_limits import SumLaw, SumLimits

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
