"""The matrix of reports that are bits, in the two forms that its products read: tiles, and lists of ones.

Products with tiles cost a masked addition per bit, twice as many in single precision as in double at a time; with lists
an addition per one, in either. Both are `Membership`.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from discreet.arrays import AnyArray, FloatArray

# Lists pay where a row has this many columns, and at most this share of ones: beyond a sixteenth they would be longer
# than the bits themselves.
LISTED_SIZE, LISTED_SHARE = 512, 1 / 20


@dataclass(frozen=True, slots=True, eq=False)
class BitTiles:
    """Bits transposed in tiles of 32 reports.

    Attributes:
        laid: ``(ceil(m / 32), v)`` words; bit u of word [i, j] is bit j of report 32 i + u.
        rows: m.
        size: v.
        multiplicity: ``(m,)`` counts of the rows; None if each came once.
    """

    abreast: ClassVar[int] = 32
    laid: AnyArray
    rows: int
    size: int
    multiplicity: FloatArray | None = None

    @classmethod
    def of(cls, bits: AnyArray, size: int) -> Self:
        """Return the matrix of packed reports."""
        from discreet.kernels.blocks.tiles import transpose_tiles

        return cls(transpose_tiles(bits, size), len(bits), size)

    @classmethod
    def of_laid(cls, laid: AnyArray, rows: int, size: int) -> Self:
        """Return the matrix of tiles."""
        return cls(laid, rows, size)

    def dot(self, values: Any) -> Any:
        """Return ``(m,)`` B @ values, in the precision of ``values``."""
        from discreet.kernels.blocks.tiles import tiles_dot

        return tiles_dot(self.laid, values, self.rows)

    def transpose_dot(self, weights: Any) -> FloatArray:
        """Return ``(v,)`` B.T @ weights."""
        from discreet.kernels.blocks.tiles import tiles_dot_transposed

        return tiles_dot_transposed(self.laid, weights)

    def part(self, start: int, stop: int) -> Self:
        """Return rows start..stop - 1; the start is a multiple of 32."""
        return type(self)(self.laid[start // 32 : -(-stop // 32)], stop - start, self.size)


@dataclass(frozen=True, slots=True, eq=False)
class ListedBits:
    """Sparse bits as lists of the ones, in pieces of 1,024 reports.

    Attributes:
        pieces: words of each piece; see `discreet.kernels.blocks.ones`.
        rows: m.
        size: v.
    """

    abreast: ClassVar[int] = 1024
    multiplicity: ClassVar[None] = None
    only_double: ClassVar[bool] = True
    pieces: list[AnyArray]
    rows: int
    size: int

    @classmethod
    def of(cls, bits: AnyArray, size: int) -> Self:
        """Return the matrix of packed reports."""
        from discreet.kernels.blocks.ones import list_ones

        return cls(list_ones(bits, size), len(bits), size)

    @classmethod
    def of_laid(cls, laid: AnyArray, rows: int, size: int) -> Self:
        """Return the matrix of pieces that lie end to end."""
        from discreet.kernels.blocks.ones import split_pieces

        return cls(split_pieces(laid), rows, size)

    @property
    def laid(self) -> AnyArray:
        """The pieces, end to end."""
        return np.concatenate([np.empty(0, np.uint16), *self.pieces])

    def dot(self, values: Any) -> FloatArray:
        """Return ``(m,)`` B @ values."""
        from discreet.kernels.blocks.ones import ones_dot

        return ones_dot(self.pieces, np.ascontiguousarray(values, np.float64), self.rows)

    def transpose_dot(self, weights: Any) -> FloatArray:
        """Return ``(v,)`` B.T @ weights."""
        from discreet.kernels.blocks.ones import ones_dot_transposed

        return ones_dot_transposed(self.pieces, np.ascontiguousarray(weights, np.float64), self.size)

    def part(self, start: int, stop: int) -> Self:
        """Return rows start..stop - 1; the start is a multiple of 1,024."""
        return type(self)(self.pieces[start // 1024 : -(-stop // 1024)], stop - start, self.size)
