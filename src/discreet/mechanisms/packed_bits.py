"""Blocks as packed bits, one for each sensitive value: drawn in lanes of 64, sent in bytes, counted in tiles.

A noise bit is a comparison of an integer of ``depth`` random digits with a threshold, from its last digit to its first;
the laws of independent bits differ in their thresholds only.
"""

from abc import abstractmethod
from dataclasses import replace
from fractions import Fraction
from math import log2
from typing import Any, ClassVar

import numpy as np

from discreet.arrays import AnyArray, BoolArray, IntArray
from discreet.core.random import RandomSource, fresh_words
from discreet.core.reports import Blocks, Column
from discreet.mechanisms.bit_rows import LISTED_SHARE, LISTED_SIZE, BitTiles, ListedBits
from discreet.mechanisms.block_law import CommonLaw, by_group
from discreet.mechanisms.counting import ValueCounts

# A piece's words stay in the second-group cache.
PIECE_WORDS = 1 << 17
GREATEST_DEPTH = 60
PRECISION_BITS = 11
# Strings of so few bits are counted before a likelihood goes through them, if there are this many times more reports.
_FEW_BITS, _OFTEN = 12, 4
# Rows that are one number.
_LANES = {width: np.dtype(f"<u{width}") for width in (1, 2, 4, 8)}
# Bits of more entropy than this are longer in a file when they are compressed, and five times slower to read.
_RANDOM = 0.8


def _entropy(pi: float) -> float:
    """Return the entropy of a bit that is set with a probability, in bits."""
    return 0.0 if pi in {0.0, 1.0} else -pi * log2(pi) - (1 - pi) * log2(1 - pi)


class PackedBitCodec(CommonLaw):
    """A bit per sensitive value, which noise sets independently: the drawing, the columns and the counting of bits."""

    __slots__ = ()

    size: int
    depth: int

    @property
    @abstractmethod
    def _piece_lanes(self) -> int:
        """The number of 64-bit lanes of noise in one piece."""

    @abstractmethod
    def _ladder(self, words: AnyArray) -> AnyArray:
        """Compare lanes of random integers with the thresholds at once, from the last binary digit to the first.

        Args:
            words: ``(depth, lanes)`` words: bit u of lane j has the digits of its integer in words[:, j]. Overwritten.
        """

    @property
    def _row_bytes(self) -> int:
        return -(-self.size // 8)

    @property
    def additions(self) -> tuple[float, float]:
        """Return one for each byte, and for each value of the decoded tally; see `BlockLaw`."""
        return self._row_bytes, self.size

    @property
    def columns(self) -> tuple[Column, ...]:
        """Return one column: v bits in bytes, the bit of value j at 2^(j % 8) of byte j // 8."""
        return (Column("bits", np.uint8, width=self._row_bytes, random=self._is_random),)

    @property
    def _is_random(self) -> bool:
        """True if noise bits of every group have so much entropy that they cannot be compressed."""
        return all(_entropy(float(pi)) > _RANDOM for pi in self.inclusions)

    @property
    def alphabet_size(self) -> int:
        """Return 2^v."""
        return 1 << self.size

    @property
    def triple_covariance(self) -> Fraction:
        """Return 0: bits are independent."""
        return Fraction(0)

    def draw(self, members: IntArray, random: RandomSource, out: Blocks) -> None:
        """Draw blocks; see `BlockLaw`. Takes the same steps whether a member is wanted or not."""
        # Without a copy, or what is filled would not be what is sent.
        rows, flat = out["bits"], np.reshape(out["bits"], -1, copy=False)
        self._fill_with_noise(flat, random)
        if self.size % 8:
            rows[:, -1] &= np.uint8((1 << self.size % 8) - 1)
        told = members >= 0
        lane = _LANES.get(self._row_bytes)
        if lane is not None:
            rows.view(lane)[:, 0] |= told.astype(lane) << (members & (8 * lane.itemsize - 1)).astype(lane)
            return
        bit = told.astype(np.uint8) << (members & 7).astype(np.uint8)
        # One flat index is twice as fast as two.
        place = np.arange(0, len(flat), self._row_bytes)
        place += np.maximum(members, 0) >> 3
        flat[place] |= bit

    def _fill_with_noise(self, flat: AnyArray, random: RandomSource) -> None:
        step = 8 * self._piece_lanes
        for start in range(0, len(flat), step):
            piece = flat[start : start + step]
            lanes = -(-len(piece) // 8)
            words = fresh_words(random, lanes * self.depth).reshape(self.depth, lanes)
            piece[:] = self._ladder(words).view(np.uint8)[: len(piece)]

    @property
    def counts(self) -> ValueCounts:
        """Return column sums."""
        return ValueCounts(self, self._add, self._add_by_group)

    def _add(self, blocks: Blocks, counts: IntArray) -> None:
        from discreet.kernels.blocks.counting import count_columns

        counts += count_columns(blocks["bits"], self.size)

    def _add_by_group(self, blocks: Blocks, groups: AnyArray, counts: IntArray) -> None:
        from discreet.kernels.blocks.grouping import add_bits

        add_bits(blocks["bits"], groups, counts)

    has_joint_law: ClassVar[bool] = True

    def draw_support(self, truth: IntArray, blocks: int, generator: np.random.Generator) -> IntArray:
        """Draw the number of blocks with each bit set: those that tell it, and a binomial of the others."""
        # Whoever tells the truth has that bit set for sure; in every other block noise sets it, on its own.
        return truth + generator.binomial(blocks - truth, by_group(self.inclusions, self.groups))

    @property
    def _rows(self) -> type[BitTiles] | type[ListedBits]:
        """The form of the bit matrix, which the law decides alone: sums depend on it in their last digits."""
        ones = 1 + self.size * float(np.mean(by_group(self.inclusions, self.groups)))
        return ListedBits if self.size >= LISTED_SIZE and ones <= LISTED_SHARE * self.size else BitTiles

    def membership(self, blocks: Blocks) -> BitTiles | ListedBits:
        """Return the bit matrix, in tiles of 32 reports or as lists of ones; of few bits, every string once."""
        rows = blocks["bits"]
        if self.size > _FEW_BITS or len(rows) < _OFTEN << self.size:
            return self._rows.of(rows, self.size)
        strings = np.zeros((len(rows), 2), np.uint8)
        strings[:, : self._row_bytes] = rows
        counts = np.bincount(strings.view("<u2")[:, 0], minlength=1 << self.size)
        every = np.arange(1 << self.size, dtype="<u2").view(np.uint8).reshape(-1, 2)[:, : self._row_bytes]
        return replace(BitTiles.of(np.ascontiguousarray(every), self.size), multiplicity=counts.astype(np.float64))

    @property
    def abreast(self) -> int:
        """Return the reports of a tile, or of a piece of lists."""
        return self._rows.abreast

    def lay_out(self, blocks: Blocks) -> AnyArray:
        """Return the tiles, or the pieces end to end."""
        return self._rows.of(blocks["bits"], self.size).laid

    def membership_of(self, laid: AnyArray, rows: int) -> BitTiles | ListedBits:
        """Return the bit matrix of what was laid out."""
        return self._rows.of_laid(laid, rows, self.size)

    def contains(self, blocks: Blocks) -> BoolArray:
        """Return ``(m, v)`` booleans."""
        return np.unpackbits(blocks["bits"], axis=1, count=self.size, bitorder="little").view(np.bool_)

    def alphabet(self) -> tuple[Blocks, AnyArray]:
        """Return all 2^v bit strings with their probabilities."""
        numbers = np.arange(self.alphabet_size, dtype="<u8")
        rows = numbers.view(np.uint8).reshape(-1, 8)[:, : self._row_bytes]
        weights: Any = 1
        groups = np.zeros(self.size, dtype=np.int64) if self.groups is None else self.groups
        for group, pi in enumerate(self.inclusions):
            count = int(np.count_nonzero(groups == group))
            by_weight = np.array([pi**k * (1 - pi) ** (count - k) for k in range(count + 1)], dtype=object)
            ours = sum(1 << int(rank) for rank in np.flatnonzero(groups == group))
            weights = by_weight[np.bitwise_count(numbers & np.uint64(ours))] * weights
        return {"bits": np.ascontiguousarray(rows)}, weights

    def flaws(self, blocks: Blocks) -> BoolArray:
        """Return ``(m,)`` booleans: true for a row with a bit beyond v."""
        if self.size % 8 == 0:
            return np.zeros(len(blocks["bits"]), dtype=np.bool_)
        spare = np.uint8((0xFF << self.size % 8) & 0xFF)
        flawed: BoolArray = (blocks["bits"][:, -1] & spare) != 0
        return flawed
