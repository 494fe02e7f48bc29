"""What a tally counts of blocks: a part of every block law, of one of three kinds.

Per value, how many blocks contain it; per block, how often each of a few came; or per value and size of block. From any
of them follow the support that the decoder reads, and whether the tally says all that reports say.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from fractions import Fraction
from functools import cached_property
from typing import Protocol

import numpy as np

from discreet.arrays import AnyArray, IntArray
from discreet.core.reports import Blocks
from discreet.core.tally import total
from discreet.mechanisms.membership import EachValue, Membership

Add = Callable[[Blocks, IntArray], None]
"""Adds the counts of blocks to counts, in place."""


class Sized(Protocol):
    """A block law, as far as counting is concerned."""

    @property
    def size(self) -> int:
        """Return v."""
        ...

    @property
    def block_size(self) -> Fraction | None:
        """Return how many values a block contains; None if that varies."""
        ...


class Counting(ABC):
    """The counts of blocks that a tally holds.

    Attributes:
        size: how many counts there are.
    """

    size: int

    @abstractmethod
    def add(self, blocks: Blocks, counts: IntArray) -> None:
        """Add blocks to ``(size,)`` counts, in place."""

    @abstractmethod
    def is_consistent(self, counts: IntArray, blocks: int) -> bool:
        """Return whether nonnegative counts could be those of so many blocks."""

    def support_of(self, counts: IntArray) -> IntArray:
        """Return what the decoder reads: how many blocks contain each value (for each size of block in turn)."""
        return counts

    @property
    def one_per_value(self) -> bool:
        """Whether every block is a single value, so that the likelihood has a closed form."""
        return False

    @property
    def suffices(self) -> bool:
        """Whether the counts say all that the blocks say."""
        return self.one_per_value

    def membership_of(self, counts: IntArray) -> Membership:
        """Return the matrix of the blocks that were counted, if the counts suffice."""
        return EachValue(counts.astype(np.float64))

    def of(self, blocks: Blocks) -> IntArray:
        """Return the ``(size,)`` counts of blocks."""
        counts = np.zeros(self.size, dtype=np.int64)
        self.add(blocks, counts)
        return counts

    def support(self, blocks: Blocks) -> IntArray:
        """Return `support_of` the counts of blocks."""
        return self.support_of(self.of(blocks))


class ValueCounts(Counting):
    """How many blocks contain each value.

    Args:
        law: whose blocks.
        add: adds them to ``(v,)`` counts.
    """

    def __init__(self, law: Sized, add: Add) -> None:
        self.size, self._law, self._add = law.size, law, add

    def add(self, blocks: Blocks, counts: IntArray) -> None:
        """Add blocks to ``(v,)`` counts, in place."""
        self._add(blocks, counts)

    def is_consistent(self, counts: IntArray, blocks: int) -> bool:
        """Return whether no value is in more blocks than there are, and blocks have the size that they must have."""
        return int(counts.max()) <= blocks and (self._block_size is None or total(counts) == self._block_size * blocks)

    @cached_property
    def _block_size(self) -> Fraction | None:
        return self._law.block_size

    @property
    def one_per_value(self) -> bool:
        """Whether every block is a single value."""
        return self._block_size == 1


class Listed(Protocol):
    """A block law with few blocks, of which a tally counts each."""

    @property
    def alphabet_size(self) -> int:
        """Return how many different blocks can be written down."""
        ...

    def places(self, blocks: Blocks) -> AnyArray:
        """Return the ``(m,)`` place of each block in the alphabet."""
        ...

    def support_of(self, counts: IntArray) -> IntArray:
        """Return the ``(v,)`` support of blocks that came as often as ``(alphabet_size,)`` counts say."""
        ...

    def membership_of(self, counts: IntArray) -> Membership:
        """Return the matrix of the whole alphabet, with the counts as multiplicity."""
        ...


class BlockCounts(Counting):
    """How often each block of a small alphabet came; what values they contain is worked out once, from the counts."""

    def __init__(self, law: Listed) -> None:
        self.size, self._law = law.alphabet_size, law

    def add(self, blocks: Blocks, counts: IntArray) -> None:
        """Add how often each block came, in the order of the alphabet, in place."""
        from discreet.kernels.blocks.counting import add_symbols

        add_symbols(self._law.places(blocks), counts)

    def is_consistent(self, counts: IntArray, blocks: int) -> bool:
        """Return whether the counts add up to the number of blocks."""
        return total(counts) == blocks

    def support_of(self, counts: IntArray) -> IntArray:
        """Return how many blocks contain each value."""
        return self._law.support_of(counts)

    @property
    def suffices(self) -> bool:
        """Return True: every block is counted."""
        return True

    def membership_of(self, counts: IntArray) -> Membership:
        """Return the matrix of the whole alphabet."""
        return self._law.membership_of(counts)


class SizeCounts(Counting):
    """For each size of block in turn, how many blocks of it contain each value.

    Args:
        law: whose blocks.
        sizes: of blocks, ascending.
        add: adds blocks to ``(len(sizes) v,)`` counts.
    """

    def __init__(self, law: Sized, sizes: tuple[int, ...], add: Add) -> None:
        self.size, self._sizes, self._add = len(sizes) * law.size, sizes, add

    def add(self, blocks: Blocks, counts: IntArray) -> None:
        """Add blocks to ``(len(sizes) v,)`` counts, in place."""
        self._add(blocks, counts)

    def is_consistent(self, counts: IntArray, blocks: int) -> bool:
        """Return whether counts are those of whole blocks of each size, so many in all."""
        for size, inside in zip(self._sizes, counts.reshape(len(self._sizes), -1), strict=True):
            own, rest = divmod(total(inside), size)
            if rest or int(inside.max()) > own:
                return False
            blocks -= own
        return blocks == 0
