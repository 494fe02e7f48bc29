"""Block laws with few blocks, equally likely as noise: a report has the index of one, and all are counted."""

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from discreet.arrays import AnyArray, BoolArray, FloatArray, IntArray
from discreet.core.reports import Blocks, Column, smallest_unsigned
from discreet.mechanisms.block_law import EvenLaw
from discreet.mechanisms.counting import BlockCounts

# Additions for each count that is transformed, as measured: 10 to 40 for signs, 50 to 120 for translates.
_TRANSFORM = 100


class IndexedLaw(EvenLaw):
    """A block law whose block is one index below `alphabet_size`, uniform as noise.

    A law of this kind gives pi, rho, the draw, the membership of given blocks and of all of them (see `BlockCounts`).
    """

    __slots__ = ()

    index: ClassVar[str]
    """The name of the column of a report."""

    @property
    @abstractmethod
    def alphabet_size(self) -> int:
        """Return the number of blocks."""

    @property
    def columns(self) -> tuple[Column, ...]:
        """Return one column: the index of the block."""
        return (Column(self.index, smallest_unsigned(self.alphabet_size), bound=self.alphabet_size),)

    @property
    def additions(self) -> tuple[float, float]:
        """Return one for a block, and those of a transform of all counts; see `BlockLaw`."""
        return 1, _TRANSFORM * self.alphabet_size

    @property
    def counts(self) -> BlockCounts:
        """Return the counting of blocks, each by itself."""
        return BlockCounts(self, numbered=True)

    @abstractmethod
    def support_of(self, counts: IntArray) -> IntArray:
        """Return ``(v,)`` T, the numbers of blocks that contain each value, from the counts of the blocks."""

    @abstractmethod
    def membership_of(self, counts: IntArray) -> Any:
        """Return the `WholeAlphabet` of blocks with these counts."""

    def places(self, blocks: Blocks) -> AnyArray:
        """Return the ``(m,)`` indices."""
        return blocks[self.index]

    def alphabet(self) -> tuple[Blocks, AnyArray]:
        """Return all blocks, uniform."""
        indices = np.arange(self.alphabet_size, dtype=smallest_unsigned(self.alphabet_size))
        return {self.index: indices}, np.full(len(indices), Fraction(1, len(indices)), dtype=object)

    def flaws(self, blocks: Blocks) -> BoolArray:
        """Return no flaws: every index below `alphabet_size` can be sent."""
        return np.zeros(len(blocks[self.index]), dtype=np.bool_)


@dataclass(frozen=True, slots=True, eq=False)
class WholeAlphabet:
    """The membership matrix of all blocks of a law, a row for each index; a law adds the products.

    Attributes:
        multiplicity: ``(rows,)`` counts of the blocks.
        size: v.
    """

    multiplicity: FloatArray
    size: int

    @property
    def rows(self) -> int:
        """Return the number of blocks."""
        return len(self.multiplicity)
