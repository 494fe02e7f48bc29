"""Singleton blocks: k-ary randomized response and its utility-optimized form.

Noise is one sensitive value, drawn uniformly; the truth is the value itself. So

    pi = 1/v,  rho = 0,  s = (e^eps - 1) / (v + e^eps - 1),

which is RR when every value is sensitive [Kairouz 2016], uRR otherwise [ULDP, Def. 3], and Mangat's response for one
sensitive value of two.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from operator import itemgetter
from typing import ClassVar

import numpy as np

from discreet.arrays import AnyArray, BoolArray, IntArray
from discreet.core.random import Coins, RandomSource, chosen, joint, uniform_below
from discreet.core.reports import Blocks, Column, smallest_unsigned
from discreet.mechanisms.block_law import BlockLaw, PlaceCounts, ValueCounts, uniform
from discreet.mechanisms.law import BlockMechanism, sensitive_size

# Below this limit a 32-bit lane is almost never rejected.
_SMALL = 1 << 16


@dataclass(frozen=True, slots=True)
class Singletons(BlockLaw):
    """Blocks of exactly one sensitive value; noise draws the value uniformly.

    Attributes:
        size: v, the number of sensitive values; at least 1.
    """

    kind = "singletons"
    blocks_alike: ClassVar[bool] = True

    size: int

    @property
    def inclusion(self) -> Fraction:
        """Return pi = 1/v, the probability that a noise block contains a given value."""
        return Fraction(1, self.size)

    @property
    def conditional_inclusion(self) -> Fraction:
        """Return rho = 0: a block contains no second value, because it has one member."""
        return Fraction(0)

    def joint_inclusion(self, count: int) -> Fraction:
        """Return the probability that a block of one value contains ``count`` values: 0 for two and more."""
        return self.inclusion if count == 1 else Fraction(0)

    @property
    def columns(self) -> tuple[Column, ...]:
        """Return the format of the only column of a block: the reported value."""
        return (Column("symbol", smallest_unsigned(self.size), bound=self.size),)

    @property
    def alphabet_size(self) -> int:
        """Return v, the number of possible blocks of one value."""
        return self.size

    def alphabet(self) -> tuple[Blocks, AnyArray]:
        """Return the v blocks of one value, with equal probabilities."""
        return {"symbol": np.arange(self.size, dtype=smallest_unsigned(self.size))}, uniform(self.size)

    @property
    def counts(self) -> ValueCounts:
        """The counts that a tally stores: how often each value was reported as a block."""
        symbols = PlaceCounts(self.size, itemgetter("symbol"))
        return ValueCounts(self, symbols.add, symbols.add_by_group)

    def coins(self, n: int, threshold: int, random: RandomSource) -> Coins:
        """Draw the truth-or-noise decisions of reports, and noise from the same words."""
        return joint(n, threshold, self.size, random)

    def fill(self, ranks: AnyArray, coins: Coins, random: RandomSource, out: Blocks) -> None:
        """Write the true value in truthful reports, and noise in all others."""
        noise = self._noise(len(ranks), random) if coins.noise is None else coins.noise
        chosen(coins.truth, ranks, noise, out["symbol"])

    def draw(self, members: IntArray, random: RandomSource, out: Blocks) -> None:
        """Draw blocks of one value into ``out``: the required member, or a uniform value as noise."""
        chosen(members >= 0, members, self._noise(len(members), random), out["symbol"])

    def _noise(self, n: int, random: RandomSource) -> AnyArray:
        return uniform_below(self.size, n, random, lane=np.uint32 if self.size <= _SMALL else np.uint64)

    def contains(self, blocks: Blocks) -> BoolArray:
        """Return ``(m, v)`` booleans: true where the value is the block's only member."""
        contained: BoolArray = blocks["symbol"][:, None] == np.arange(self.size)
        return contained

    def members(self, blocks: Blocks) -> Iterator[tuple[IntArray, IntArray]]:
        """Yield the members of all blocks, one per block, in one chunk."""
        yield np.ones(len(blocks["symbol"]), dtype=np.int64), blocks["symbol"].astype(np.int64)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class RandomizedResponse(BlockMechanism):
    """k-ary randomized response; utility-optimized (uRR) when only some values are sensitive.

    Args:
        domain: the values and which of them are sensitive.
        epsilon: the privacy promise, in nats.

    Raises:
        ParameterError: if epsilon is not a finite number above 0, or so small that the truth would never be sent.

    Example:
        >>> import discreet as dc
        >>> places = dc.Domain(["clinic", "court", "park"], sensitive=["clinic", "court"])
        >>> mechanism = dc.RandomizedResponse(places, epsilon=1.0)
        >>> mechanism.channel().matrix.round(2).tolist()
        [[0.73, 0.27, 0.0], [0.27, 0.73, 0.0], [0.27, 0.27, 0.46]]
        >>> reports = mechanism.obfuscate(["clinic"] * 500 + ["park"] * 500, random=dc.SeededRandom(1))
        >>> dc.estimate(mechanism, reports).frequencies.round(2).tolist()
        [0.5, 0.0, 0.5]
    """

    name = "rr"
    laws = (Singletons,)

    @cached_property
    def law(self) -> Singletons:
        """The block law: blocks of one uniformly drawn value."""
        return Singletons(sensitive_size(self.domain))
