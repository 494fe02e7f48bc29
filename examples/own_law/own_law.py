"""A block law outside discreet: every sensitive value but one, which the report names.

It is subset selection with k = v - 1, with one index per report instead of k. A law says its probabilities as exact
fractions, how a block is written down and drawn, and what it contains; everything else follows: counts, the guarantee,
the linear estimate with its errors, maximum likelihood, plans, files, risk.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from discreet.laws import (
    BlockLaw,
    BlockMechanism,
    Blocks,
    Column,
    RandomSource,
    checked_whole,
    sensitive_size,
    smallest_unsigned,
    uniform_below,
)


@dataclass(frozen=True, slots=True)
class AllButOne(BlockLaw):
    """Every sensitive value but a uniform one: pi = (v - 1)/v, rho = (v - 2)/(v - 1).

    Attributes:
        size: v, the number of sensitive values; at least 2.
    """

    kind = "all but one"

    size: int

    def __post_init__(self) -> None:
        """Refuse a law over fewer than two values."""
        checked_whole("size", self.size, 2)

    @property
    def inclusion(self) -> Fraction:
        """Return pi."""
        return Fraction(self.size - 1, self.size)

    @property
    def conditional_inclusion(self) -> Fraction:
        """Return rho."""
        return Fraction(self.size - 2, self.size - 1)

    def joint_inclusion(self, count: int) -> Fraction:
        """Return the probability that ``count`` given values are all in a block."""
        return Fraction(self.size - count, self.size)

    @property
    def columns(self) -> tuple[Column, ...]:
        """Return one column: the value that the block lacks."""
        return (Column("absent", smallest_unsigned(self.size), bound=self.size),)

    @property
    def alphabet_size(self) -> int:
        """Return v."""
        return self.size

    def draw(self, members: Any, random: RandomSource, out: Blocks) -> None:
        """Draw blocks: noise lacks any value, the truth any value but the member. As many words for both."""
        noise = uniform_below(self.size, len(members), random).astype(np.int64)
        others = uniform_below(self.size - 1, len(members), random).astype(np.int64)
        others += others >= members
        # One of the two without a branch, whose time would tell which.
        out["absent"][:] = ((others ^ noise) & ~(members >> 63)) ^ noise

    def contains(self, blocks: Blocks) -> Any:
        """Return ``(m, v)`` booleans."""
        return blocks["absent"][:, None] != np.arange(self.size)

    def alphabet(self) -> tuple[Blocks, Any]:
        """Return the v blocks, uniform."""
        absent = np.arange(self.size, dtype=smallest_unsigned(self.size))
        return {"absent": absent}, np.full(self.size, Fraction(1, self.size), dtype=object)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Exclusion(BlockMechanism):
    """A report names a value that is not the true one; for at least two sensitive values."""

    name = "exclusion"
    laws = (AllButOne,)

    @cached_property
    def law(self) -> AllButOne:
        """The block law."""
        return AllButOne(sensitive_size(self.domain))
