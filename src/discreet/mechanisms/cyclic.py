"""Cyclic memberships: laws with as many blocks as places in a cycle, whose sums are one cyclic correlation.

The value at place a is in the block at place b if a + b modulo V is in a set. Translates of a set are of this kind, and
so are hyperplanes in Singer's order. Products with the membership matrix are Fourier transforms. Their length is a
power of two, and at least 2 V - 1, so that the ends of a product do not overlap. With d the counts, k the size of the
set and l = log2 of the length, the rounding error is at most

    |d| sqrt(2 k) (6 l + sqrt(5) (3 l + 1)) 2^-53  [Brent, Percival, Zimmermann 2007],

which is below 0.2 for counts of 16 binary digits and V below 2^26. So rounded sums of such counts are exact.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.arrays import AnyArray, BoolArray, FloatArray, IntArray
from discreet.mechanisms.evidence import WholeAlphabet

DIGITS = 16
"""Binary digits of counts that are summed at a time."""


@dataclass(frozen=True, slots=True, eq=False)
class CyclicMembership(WholeAlphabet):
    """The membership matrix of all V blocks of a law: value a is in block b if place a + b modulo V is marked.

    Attributes:
        blocks: ``(V,)`` the index of the block at each place.
        places: ``(v,)`` the places of the values.
        spectrum: the transform of two periods of the marks.
    """

    blocks: AnyArray
    places: AnyArray
    spectrum: AnyArray

    @classmethod
    def of(cls, counts: IntArray, marks: BoolArray, blocks: AnyArray, places: AnyArray) -> "CyclicMembership":
        """Return the membership matrix with ``(V,)`` counts of the blocks and ``(V,)`` marks of places."""
        from scipy.fft import rfft

        twice = np.concatenate([marks, marks[:-1]]).astype(np.float64)
        length = 1 << max((2 * len(marks) - 2).bit_length(), 1)
        return cls(counts.astype(np.float64), len(places), blocks, places, rfft(twice, length))

    def dot(self, values: Any) -> Any:
        """Return the ``(V,)`` product B @ values, by a Fourier transform."""
        spread, sums = np.zeros(self.rows), np.empty(self.rows)
        spread[self.places] = values
        sums[self.blocks] = self._correlation(spread)
        return sums

    def transpose_dot(self, weights: Any) -> FloatArray:
        """Return the ``(v,)`` product B.T @ weights, by a Fourier transform."""
        return self._correlation(np.asarray(weights, dtype=np.float64)[self.blocks])[self.places]

    def exact_sums(self, counts: IntArray, block_size: int) -> IntArray:
        """Return the ``(v,)`` product B.T @ counts exactly, for counts of any size below 2^63.

        Args:
            counts: ``(V,)`` counts of the blocks.
            block_size: the number of places of a block, with which the sums are checked.

        Raises:
            ArithmeticError: if the sums do not add up, which only a fault of the machine can cause.
        """
        sums, rest, shift = np.zeros(self.rows, np.int64), counts[self.blocks], 0
        while rest.any():
            digits = np.rint(self._correlation(rest & ((1 << DIGITS) - 1))).astype(np.int64)
            if int(digits.sum()) != block_size * int((rest & ((1 << DIGITS) - 1)).sum()):
                raise ArithmeticError("The counts of blocks were decoded wrongly.")
            sums += digits << shift
            rest, shift = rest >> DIGITS, shift + DIGITS
        return sums[self.places]

    def _correlation(self, numbers: AnyArray) -> FloatArray:
        """Return, for each place a, the sum of the numbers at the places b for which a + b is marked."""
        from scipy.fft import irfft, rfft

        length = 2 * (len(self.spectrum) - 1)
        product = rfft(np.asarray(numbers, dtype=np.float64), length)
        np.conjugate(product, out=product)
        product *= self.spectrum
        sums: FloatArray = irfft(product, length, overwrite_x=True)[: self.rows]
        return sums
