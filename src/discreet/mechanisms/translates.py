"""Blocks that are translates: a set D modulo V, moved by a uniform index t, so that a block is t + D.

Value x is the residue x, v <= V, and every value is in |D| of the V translates. The values x and x' are both in as
many as D has pairs of elements that differ by x' - x. So

    pi = |D|/V,  rho = (pairs of D with a given difference)/|D|,

if that number is the same for all differences 1..v - 1, as it is where D is a difference set. A report is the index.
"""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.arrays import AnyArray, BoolArray, FloatArray, IntArray
from discreet.core.coins import Coins, chosen, joint
from discreet.core.random import RandomSource, uniform_below
from discreet.core.reports import Blocks
from discreet.mechanisms.indexed import IndexedLaw, WholeAlphabet

# Up to here squares fit into 32 bits, and a 32-bit lane is hardly ever thrown away.
_SMALL = 1 << 16
# Digits of counts whose sums of products a transform gives to much less than 1/2.
_DIGIT = 16


class TranslatesLaw(IndexedLaw):
    """A block law whose blocks are the translates t + D of a set D modulo V.

    A law of this kind gives V, pi, rho, and D: as a mask, and by uniform numbers.
    """

    __slots__ = ()

    index = "translate"

    @property
    @abstractmethod
    def choices(self) -> int:
        """Return the number from which an element of D is drawn: |D|, or a multiple of it."""

    @abstractmethod
    def elements(self, drawn: AnyArray) -> AnyArray:
        """Return elements of D, each as likely as any other, for numbers that are uniform below `choices`.

        Args:
            drawn: of 32 bits, or of 64 if there are more than 2^16 choices.

        Returns:
            integers 0..V - 1 of the same type.
        """

    @property
    @abstractmethod
    def mask(self) -> BoolArray:
        """Return ``(V,)`` booleans: whether each residue is in D."""

    def draw(self, members: IntArray, random: RandomSource, out: Blocks) -> None:
        """Draw blocks; see `BlockLaw`. A translate has a member if its index is the member less an element of D."""
        noise = uniform_below(self.alphabet_size, len(members), random)
        self._write(members, members >= 0, (noise, uniform_below(self.choices, len(members), random)), out)

    def coins(self, n: int, threshold: int, random: RandomSource) -> Coins:
        """Draw coins, and noise from the same words; see `BlockLaw`."""
        return joint(n, threshold, self.alphabet_size, random)

    def fill(self, ranks: AnyArray, coins: Coins, random: RandomSource, out: Blocks) -> None:
        """Write the translates that are told, and noise elsewhere; see `BlockLaw`."""
        n, lane = len(ranks), np.uint32 if self.choices <= _SMALL else np.uint64
        noise = uniform_below(self.alphabet_size, n, random) if coins.noise is None else coins.noise
        self._write(ranks, coins.truth, (noise, uniform_below(self.choices, n, random, lane=lane)), out)

    def _write(self, ranks: AnyArray, truth: BoolArray, drawn: tuple[AnyArray, AnyArray], out: Blocks) -> None:
        noise, numbers = drawn
        modulus = numbers.dtype.type(self.alphabet_size)
        told = ranks.astype(numbers.dtype) + (modulus - self.elements(numbers))
        # Below 2 V; what is below V wraps round to more.
        chosen(truth, np.minimum(told, told - modulus), noise, out[self.index])

    def support_of(self, counts: IntArray) -> IntArray:
        """Return ``(v,)`` T: for each value the counts of the translates that contain it, exactly."""
        matrix, support, rest = self.membership_of(counts), np.zeros(self.size, dtype=np.int64), counts
        for shift in range(0, int(counts.max()).bit_length(), _DIGIT):
            digit = rest & ((1 << _DIGIT) - 1)
            support += np.rint(matrix.transpose_dot(digit)).astype(np.int64) << shift
            rest = rest >> _DIGIT
        return support

    def membership_of(self, counts: IntArray) -> "Translates":
        """Return the matrix of all translates."""
        from scipy.fft import next_fast_len, rfft

        length = next_fast_len(2 * self.alphabet_size - 1, real=True)
        return Translates(counts.astype(np.float64), self.size, rfft(self.mask.astype(np.float64), length), length)

    def contains(self, blocks: Blocks) -> BoolArray:
        """Return ``(m, v)`` booleans."""
        beyond = np.arange(self.size)[None, :] - blocks[self.index].astype(np.int64)[:, None]
        contained: BoolArray = self.mask[beyond % self.alphabet_size]
        return contained


@dataclass(frozen=True, slots=True, eq=False)
class Translates(WholeAlphabet):
    """The membership matrix of all translates, a circulant: row t has the values x with x - t in D.

    Attributes:
        spectrum: the Fourier transform of the mask of D, with zeros up to ``length``.
        length: at least 2 V - 1, so that what passes the end of a product is apart from its start.
    """

    spectrum: AnyArray
    length: int

    def dot(self, values: Any) -> Any:
        """Return ``(V,)`` B @ values."""
        beyond = self._product(values, np.conj(self.spectrum))
        summed = beyond[: self.rows]
        summed[1:] += beyond[self.length - self.rows + 1 :]
        return summed

    def transpose_dot(self, weights: Any) -> FloatArray:
        """Return ``(v,)`` B.T @ weights."""
        beyond = self._product(weights, self.spectrum)
        beyond[: self.rows - 1] += beyond[self.rows : 2 * self.rows - 1]
        return beyond[: self.size]

    def _product(self, vector: Any, spectrum: AnyArray) -> FloatArray:
        from scipy.fft import irfft, rfft

        product: FloatArray = irfft(rfft(np.asarray(vector, dtype=np.float64), self.length) * spectrum, self.length)
        return product
