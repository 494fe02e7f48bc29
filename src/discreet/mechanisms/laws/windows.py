"""Windows: blocks of neighbouring values, for numbers and ordered categories.

A block is a window of k neighbouring values. Windows may extend beyond the first and the last value, and all positions
with at least one value are equally likely. If only ranges of the values are sensitive, a window has values of one range
only. A range of v_i values has v_i + k - 1 positions. So

    pi = k / V,  V = sum(v_i + k - 1),

for every sensitive value, also for the first and the last value. The positions are translates of {0..k - 1} modulo V,
with k - 1 unused residues after each range. With k = 1 this is randomized response.

Windows of half-width b on a single range [0, 1] have pi = 2 b/(1 + 2 b). Square Wave [Li et al., SIGMOD 2020] has
b = (eps E - E + 1)/(2 E (E - 1 - eps)), E = e^eps. The Piecewise Mechanism [Wang et al., ICDE 2019] has
b = e^(-eps/2)/2, and its report is the middle of the window. The default here is this b. One report then serves for the
mean, with at most the Piecewise Mechanism's error, and for the distribution.

The further two values are apart, the more rarely they share a window. So the law has no single rho. The decoder is a
right inverse of the channel. Of all right inverses it has the smallest variance if all values are equally frequent.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from math import exp

import numpy as np

from discreet.arrays import AnyArray, BoolArray
from discreet.core.checks import checked_whole, is_whole
from discreet.errors import ParameterError
from discreet.mechanisms.decoders import PlaceDecoder
from discreet.mechanisms.law import BlockMechanism, matrix_of, sensitive_size
from discreet.mechanisms.laws.translates import LARGEST_MODULUS, TranslatesLaw

_MOST_RANGES = 1 << 12


@dataclass(frozen=True, slots=True)
class WindowBlocks(TranslatesLaw):
    """Blocks of the values in a window of neighbours; all positions are equally likely.

    Attributes:
        size: v, the number of sensitive values; at least 1.
        width: k, the number of neighbouring values in a window; below v, but 1 where v is 1.
        starts: the ranks where ranges begin, ascending from 0, at most 4,096; a window has values of one range.
    """

    kind = "windows"
    index = "window"

    size: int
    width: int
    starts: tuple[int, ...] = (0,)

    def __post_init__(self) -> None:
        """Raise an error for a width or a start out of range, or too many positions.

        Raises:
            ParameterError: if the width or a start is out of range, or there are too many positions.
        """
        checked_whole("size", self.size)
        checked_whole("width", self.width, 1, max(self.size - 1, 1))
        starts = self.starts if isinstance(self.starts, tuple) else ()
        whole = bool(starts) and len(starts) <= _MOST_RANGES and all(map(is_whole, starts))
        if not (whole and starts[0] == 0 and starts[-1] < self.size and all(a < b for a, b in pairwise(starts))):
            raise ParameterError("starts.not-ascending", argument="starts", most_ranges=_MOST_RANGES)
        checked_whole("the number of places of windows", self.alphabet_size, 1, LARGEST_MODULUS)

    @property
    def inclusion(self) -> Fraction:
        """Return pi = k/V, the probability that a noise block contains a given value."""
        return Fraction(self.width, self.alphabet_size)

    @property
    def conditional_inclusion(self) -> None:
        """Return None, because rho depends on the distance of the two values."""
        return None

    @property
    def alphabet_size(self) -> int:
        """Return V, the number of possible blocks: the positions of windows."""
        return self.size + (self.width - 1) * len(self.starts)

    @property
    def choices(self) -> int:
        """Return k, the number of uniform integers from which a place in a window is drawn."""
        return self.width

    def elements(self, drawn: AnyArray) -> AnyArray:
        """Return the drawn integers, which are the elements 0..k - 1; see `TranslatesLaw`."""
        return drawn

    def residues(self, ranks: AnyArray) -> AnyArray:
        """Return the residues of values; k - 1 residues are unused after each range."""
        return ranks + (self.width - 1) * (np.searchsorted(self.starts, ranks, side="right") - 1)

    @property
    def mask(self) -> BoolArray:
        """Return ``(V,)`` booleans: true for the k residues of the first window."""
        return np.arange(self.alphabet_size) < self.width


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Windows(BlockMechanism):
    """Windows of neighbouring values, for numbers and ordered categories; utility-optimized for ranges of them.

    The values are in the order of their codes: numbers, integers, or labels as listed. With many values, the estimates
    for single values are noisy. Sums of neighbours, means and quantiles are not. For the distribution use the methods
    ``smooth`` and ``mle``.

    Args:
        domain: the values in their order, and which of them are sensitive.
        epsilon: the privacy promise, in nats.
        width: k, the number of neighbouring values in a window; None for e^(-epsilon/2) times the longest sensitive
            range, as in the Piecewise Mechanism, and at least 1.

    Raises:
        ParameterError: if epsilon is not a finite number above 0, the width is out of range, or values have no order.

    Example:
        >>> import discreet as dc
        >>> mechanism = Windows(dc.Domain.number(0, 100), epsilon=1.0)
        >>> mechanism.settings, mechanism.law.inclusion == Fraction(155, 410)
        ({'k': 155.0}, True)
        >>> incomes = np.random.default_rng(1).gamma(4, 10, 20_000).clip(0, 100)
        >>> reports = mechanism.obfuscate(incomes, random=dc.SeededRandom(2))
        >>> mean = dc.estimate(mechanism, reports).mean()
        >>> round(float(mean), 1), round(float(incomes.mean()), 1), round(mean.standard_error, 1)
        (40.4, 39.7, 0.8)
    """

    name = "windows"
    laws = (WindowBlocks,)
    of_neighbours = True
    width: int | None = None

    def __post_init__(self) -> None:
        """Raise an error for a domain whose values have no order.

        Raises:
            ParameterError: if the domain is a product, a grid or has placeholders, or the options define no law.
        """
        if not self.domain.space.is_ordered:
            raise ParameterError("windows.no-order")
        super().__post_init__()

    @property
    def settings(self) -> dict[str, float]:
        """Return k, the number of values in a window."""
        return {"k": float(self.law.width)}

    @cached_property
    def law(self) -> WindowBlocks:
        """The block law: uniformly drawn windows of neighbouring values."""
        size, codes = sensitive_size(self.domain), self.domain.sensitive_codes
        starts = (0, *(np.flatnonzero(np.diff(codes) > 1) + 1).tolist())
        longest = max(np.diff([*starts, size]).tolist())
        if self.width is None:
            return WindowBlocks(size, default_width(longest, self.epsilon), starts)
        width = checked_whole("width", self.width, 1, max(size - 1, 1))
        return WindowBlocks(size, width, starts)

    @cached_property
    def decoder(self) -> PlaceDecoder:
        """The linear decoder of tallies of windows: a right inverse of the channel's matrix."""
        # Rows are independent: in any sum of rows, the first value is alone in the first window that contains it.
        return PlaceDecoder(self, matrix_of(self.domain, self.law, self.coefficients), True, law=self.law)


def default_width(longest: int, epsilon: float) -> int:
    """Return the window width k of the Piecewise Mechanism, for the number of values in the longest range."""
    return min(max(round(longest * exp(-epsilon / 2)), 1), max(longest - 1, 1))
