"""An index of thresholds: cells of a scale, and the first threshold of each."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

_Ints = NDArray[np.int64]
_Numbers = NDArray[np.integer[Any]]

SHIFT_BITS = 6
"""A coarse cell is its first fine cell and, in so many lowest bits, by how many bits the fine ones are narrower."""

_COARSE_BITS = 12
_CELLS_PER_THRESHOLD = 4


@dataclass(frozen=True, slots=True, eq=False)
class Bins:
    """Thresholds with an index for the search of a score among them.

    Coarse cells are equally wide, and each is cut into fine ones in proportion to its thresholds, since scores may
    crowd anywhere: log-likelihoods at one end, likelihood ratios at the other.

    Attributes:
        thresholds: ``(k + 1,)``; the last one is an upper bound on scores.
        ends: the first and the last threshold.
        first: index of the first threshold at or after the start of each fine cell, and one entry more.
        coarse: ``(c,)`` the first fine cell of each coarse one, and the number of bits by which fine ones are narrower.
        shift: binary logarithm of the width of a coarse cell.
    """

    thresholds: _Ints
    ends: tuple[int, int]
    first: _Numbers
    coarse: _Ints
    shift: int

    @classmethod
    def of(cls, thresholds: _Ints) -> "Bins":
        """Return the index of ``(k,)`` ascending thresholds."""
        closed = np.append(thresholds, np.iinfo(np.int64).max)
        if not thresholds.size:
            return cls(closed, (0, 0), np.zeros(2, np.int32), np.zeros(1, np.int64), 0)
        above = thresholds - thresholds[0]
        shift = max(int(above[-1]).bit_length() - _COARSE_BITS, 0)
        inside = np.bincount(above >> shift)
        # bit_length of how many fine cells there should be, which are not narrower than 1.
        bits = np.minimum(np.ceil(np.log2(np.maximum(_CELLS_PER_THRESHOLD * inside, 1))).astype(np.int64), shift)
        starts = np.concatenate([[0], np.cumsum(1 << bits)])
        fine = np.arange(starts[-1]) - np.repeat(starts[:-1], 1 << bits)
        begins = np.repeat(np.arange(inside.size) << shift, 1 << bits) + (fine << np.repeat(shift - bits, 1 << bits))
        first = np.append(np.searchsorted(above, begins), thresholds.size).astype(np.int32)
        ends = int(thresholds[0]), int(thresholds[-1])
        return cls(closed, ends, first, starts[:-1] << SHIFT_BITS | (shift - bits), shift)

    @property
    def parts(self) -> tuple[Any, ...]:
        """The arrays in the order in which kernels take them."""
        return self.thresholds, self.ends, self.first, self.coarse, self.shift
