"""Hadamard columns: Hadamard response and its utility-optimized form.

Value x has row x + 1 of a Sylvester matrix of order V = 2^ceil(log2(v + 1)). A block is the set of values with +1 in a
uniformly drawn column. So pi = rho = 1/2 and s = tanh(eps/2) [Acharya 2019].
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.core.random import RandomSource, fresh_words
from discreet.core.reports import Blocks
from discreet.kernels import counting
from discreet.mechanisms.block_law import IndexedLaw
from discreet.mechanisms.evidence import WholeAlphabet
from discreet.mechanisms.law import BlockMechanism, sensitive_size


@dataclass(frozen=True, slots=True)
class HadamardColumns(IndexedLaw):
    """Blocks of half of the sensitive values: all values with +1 in one column of a Sylvester matrix.

    Attributes:
        size: v, the number of sensitive values; at least 1.
    """

    kind = "hadamard"
    index = "column"

    size: int

    @property
    def inclusion(self) -> Fraction:
        """Return pi = 1/2, the probability that a noise block contains a given value."""
        return Fraction(1, 2)

    @property
    def conditional_inclusion(self) -> Fraction:
        """Return rho = 1/2, the probability that a block of one value contains a second value; rows are orthogonal."""
        return Fraction(1, 2)

    @property
    def alphabet_size(self) -> int:
        """Return V, the number of possible blocks: the smallest power of two above v."""
        return 1 << self.size.bit_length()

    def draw(self, members: IntArray, random: RandomSource, out: Blocks) -> None:
        """Draw columns of a Hadamard matrix into ``out``, with +1 for the required members."""
        drawn = fresh_words(random, len(members)) & np.uint64(self.alphabet_size - 1)
        row = (members + 1).astype(np.uint64)
        # Flipping the row's lowest bit pairs columns without x and columns with x.
        misses = (np.bitwise_count(row & drawn) & 1).astype(np.uint64)
        out["column"][:] = drawn ^ (row & -row) * misses

    def support_of(self, counts: IntArray) -> IntArray:
        """Return ``(v,)`` T, by a Walsh-Hadamard transform of the column counts."""
        support: IntArray = (counts.sum() + counting.walsh_hadamard(counts)[1 : self.size + 1]) // 2
        return support

    def membership_of(self, counts: IntArray) -> "DistinctColumns":
        """Return the membership matrix of all Hadamard columns, with their counts."""
        return DistinctColumns(counts.astype(np.float64), self.size)

    def contains(self, blocks: Blocks) -> BoolArray:
        """Return ``(m, v)`` booleans: true where the column has +1 in the value's row."""
        rows = np.arange(1, self.size + 1, dtype=np.uint64)
        contained: BoolArray = np.bitwise_count(blocks["column"].astype(np.uint64)[:, None] & rows) & 1 == 0
        return contained


@dataclass(frozen=True, slots=True, eq=False)
class DistinctColumns(WholeAlphabet):
    """The membership matrix of all Hadamard columns: B = (1 + H)/2, with one row per column of H."""

    def dot(self, values: Any) -> Any:
        """Return the ``(V,)`` product B @ values, by a Walsh-Hadamard transform."""
        padded = np.zeros(self.rows)
        padded[1 : self.size + 1] = values
        return self._half_sum(padded)

    def transpose_dot(self, weights: Any) -> FloatArray:
        """Return the ``(v,)`` product B.T @ weights, by a Walsh-Hadamard transform."""
        return self._half_sum(np.asarray(weights, dtype=np.float64))[1 : self.size + 1]

    def _half_sum(self, values: FloatArray) -> FloatArray:
        half: FloatArray = (values.sum() + counting.walsh_hadamard(values)) / 2
        return half


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class HadamardResponse(BlockMechanism):
    """Hadamard response; utility-optimized (uHR) when only some values are sensitive. One index per report.

    Args:
        domain: the values and which of them are sensitive.
        epsilon: the privacy promise, in nats.

    Raises:
        ParameterError: if epsilon is not a finite number above 0, or so small that the truth would never be sent.

    Example:
        >>> import discreet as dc
        >>> mechanism = dc.HadamardResponse(dc.Domain(range(100)), epsilon=1.0)
        >>> reports = mechanism.obfuscate([3] * 10_000, random=dc.SeededRandom(1))
        >>> round(float(dc.estimate(mechanism, reports).frequencies[3]), 1)
        1.0
    """

    name = "hadamard"
    laws = (HadamardColumns,)

    @cached_property
    def law(self) -> HadamardColumns:
        """The block law: uniformly drawn columns of a Hadamard matrix."""
        return HadamardColumns(sensitive_size(self.domain))
