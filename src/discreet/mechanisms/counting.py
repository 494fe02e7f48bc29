"""Counts of blocks in a tally: a part of every block law, of one of three kinds.

The counts are of the blocks that contain each value; of each block of a small alphabet; or of the blocks of each size
that contain each value. From any of them follow the support that the decoder reads, and whether a tally suffices for
a likelihood.
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

AddByGroup = Callable[[Blocks, AnyArray, IntArray], None]
"""Adds the counts of blocks to the row of counts of the group of each, in place."""


class Sized(Protocol):
    """The part of a block law that counting needs."""

    @property
    def size(self) -> int:
        """Return v."""
        ...

    @property
    def block_size(self) -> Fraction | None:
        """Return the number of values in a block; None if it varies."""
        ...


class Counting(ABC):
    """The counts of blocks that a tally holds.

    Attributes:
        size: the number of counts.
        numbered: whether place i counts the blocks whose one column says i.
    """

    size: int
    numbered: bool = False

    @abstractmethod
    def add(self, blocks: Blocks, counts: IntArray) -> None:
        """Add blocks to ``(size,)`` counts, in place."""

    def add_by_group(self, blocks: Blocks, groups: AnyArray, counts: IntArray) -> None:
        """Add blocks to ``(groups, size)`` counts, each to the row of its group, in place: group by group.

        Args:
            blocks: m of them.
            groups: ``(m,)`` rows of the counts, of 32 bits.
            counts: contiguous.
        """
        from discreet.kernels.blocks.grouping import runs_of

        order, runs = runs_of(groups)
        ordered = {name: np.take(column, order, axis=0) for name, column in blocks.items()}
        for group, start, stop in runs:
            self.add({name: column[start:stop] for name, column in ordered.items()}, counts[group])

    @abstractmethod
    def is_consistent(self, counts: IntArray, blocks: int) -> bool:
        """Return true if nonnegative counts could be those of ``blocks`` blocks."""

    def support_of(self, counts: IntArray) -> IntArray:
        """Return the support: the number of blocks that contain each value (for each size of block in turn)."""
        return counts

    @property
    def one_per_value(self) -> bool:
        """True if every block is a single value, so that the likelihood has a closed form."""
        return False

    @property
    def suffices(self) -> bool:
        """True if the likelihood of the blocks follows from the counts."""
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
    """The number of blocks that contain each value.

    Args:
        law: the law of the blocks.
        add: a function that adds blocks to ``(v,)`` counts, in place.
        add_by_group: one that adds them to ``(groups, v)`` counts by group; None for one that calls ``add`` for each
            group.
        numbered: as in `Counting`.
    """

    def __init__(self, law: Sized, add: Add, add_by_group: AddByGroup | None = None, *, numbered: bool = False) -> None:
        self.size, self._law, self._add, self.numbered = law.size, law, add, numbered
        self._add_by_group = super().add_by_group if add_by_group is None else add_by_group

    def add(self, blocks: Blocks, counts: IntArray) -> None:
        """Add blocks to ``(v,)`` counts, in place."""
        self._add(blocks, counts)

    def add_by_group(self, blocks: Blocks, groups: AnyArray, counts: IntArray) -> None:
        """Add blocks to ``(groups, v)`` counts, each to the row of its group, in place."""
        self._add_by_group(blocks, groups, counts)

    def is_consistent(self, counts: IntArray, blocks: int) -> bool:
        """Return true if no value is in more blocks than there are, and the sum fits the size of a block."""
        largest = int(counts.max())
        if largest > blocks or self._block_size is None:
            return largest <= blocks
        return total(counts, largest) == self._block_size * blocks

    @cached_property
    def _block_size(self) -> Fraction | None:
        return self._law.block_size

    @property
    def one_per_value(self) -> bool:
        """True if every block is a single value."""
        return self._block_size == 1


class Listed(Protocol):
    """A block law with few blocks, of which a tally counts each."""

    @property
    def alphabet_size(self) -> int:
        """Return the number of different blocks."""
        ...

    def places(self, blocks: Blocks) -> AnyArray:
        """Return the ``(m,)`` place of each block in the alphabet."""
        ...

    def support_of(self, counts: IntArray) -> IntArray:
        """Return the ``(v,)`` support, from the ``(alphabet_size,)`` counts of the blocks."""
        ...

    def membership_of(self, counts: IntArray) -> Membership:
        """Return the matrix of the whole alphabet, with the counts as multiplicity."""
        ...


class BlockCounts(Counting):
    """The counts of each block of a small alphabet; the support is computed once, from these counts."""

    def __init__(self, law: Listed, *, numbered: bool = False) -> None:
        self.size, self._law, self.numbered = law.alphabet_size, law, numbered

    def add(self, blocks: Blocks, counts: IntArray) -> None:
        """Add the count of each block, in the order of the alphabet, in place."""
        from discreet.kernels.blocks.counting import add_symbols

        add_symbols(self._law.places(blocks), counts)

    def add_by_group(self, blocks: Blocks, groups: AnyArray, counts: IntArray) -> None:
        """Add the count of each block to ``(groups, size)`` counts, each in the row of its group, in place."""
        from discreet.kernels.blocks.grouping import add_symbols

        add_symbols(self._law.places(blocks), groups, counts)

    def is_consistent(self, counts: IntArray, blocks: int) -> bool:
        """Return true if the counts add up to the number of blocks."""
        return total(counts) == blocks

    def support_of(self, counts: IntArray) -> IntArray:
        """Return the ``(v,)`` numbers of blocks that contain each value."""
        return self._law.support_of(counts)

    @property
    def suffices(self) -> bool:
        """Return True: every block is counted."""
        return True

    def membership_of(self, counts: IntArray) -> Membership:
        """Return the matrix of the whole alphabet."""
        return self._law.membership_of(counts)


class SizeCounts(Counting):
    """The number of blocks of each size that contain each value; one size after the other.

    Args:
        law: the law of the blocks.
        sizes: of blocks, ascending.
        add: a function that adds blocks to ``(len(sizes) v,)`` counts, in place.
        add_by_group: one that adds them to ``(groups, len(sizes) v)`` counts by group; see `ValueCounts`.
    """

    def __init__(self, law: Sized, sizes: tuple[int, ...], add: Add, add_by_group: AddByGroup | None = None) -> None:
        self.size, self._sizes, self._add = len(sizes) * law.size, sizes, add
        self._add_by_group = super().add_by_group if add_by_group is None else add_by_group

    def add(self, blocks: Blocks, counts: IntArray) -> None:
        """Add blocks to ``(len(sizes) v,)`` counts, in place."""
        self._add(blocks, counts)

    def add_by_group(self, blocks: Blocks, groups: AnyArray, counts: IntArray) -> None:
        """Add blocks to ``(groups, len(sizes) v)`` counts, each to the row of its group, in place."""
        self._add_by_group(blocks, groups, counts)

    def is_consistent(self, counts: IntArray, blocks: int) -> bool:
        """Return true if counts can be those of ``blocks`` blocks, of one of the sizes each."""
        for size, inside in zip(self._sizes, counts.reshape(len(self._sizes), -1), strict=True):
            of_size, rest = divmod(total(inside), size)
            if rest or int(inside.max()) > of_size:
                return False
            blocks -= of_size
        return blocks == 0
