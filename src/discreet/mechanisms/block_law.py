"""What a mechanism must say of its blocks; everything else is written once, in the law of truth or noise."""

from fractions import Fraction
from typing import Any, Protocol

from discreet.arrays import AnyArray, BoolArray, FloatArray, IntArray
from discreet.core.random import RandomSource
from discreet.core.reports import Blocks, Column


class Membership(Protocol):
    """The 0/1 matrix B of a batch: which block contains which sensitive value; one row per distinct block."""

    @property
    def multiplicity(self) -> FloatArray | None:
        """``(rows,)`` how often each block came; None if once."""
        ...

    @property
    def rows(self) -> int:
        """How many blocks."""
        ...

    @property
    def size(self) -> int:
        """V."""
        ...

    def dot(self, values: Any) -> Any:
        """Return ``(rows,)`` B @ values, in the precision of ``values`` or better."""
        ...

    def transpose_dot(self, weights: Any) -> FloatArray:
        """Return ``(v,)`` B.T @ weights."""
        ...


class BlockLaw(Protocol):
    """A random subset A of the v sensitive values: the law Lambda, how to draw from it, and how to write A down.

    Sensitive values are meant by their rank 0..v - 1.
    """

    @property
    def size(self) -> int:
        """Return v, the number of sensitive values."""
        ...

    @property
    def inclusion(self) -> Fraction:
        """Return pi = P(x in A), the same for every x, exactly as the sampler draws it."""
        ...

    @property
    def pair_inclusion(self) -> Fraction:
        """Return rho = P(x' in A given x in A) for two values; where v = 1 it only scales what cancels."""
        ...

    @property
    def columns(self) -> tuple[Column, ...]:
        """Return how a block is written down."""
        ...

    @property
    def alphabet_size(self) -> int:
        """Return how many different blocks can be written down."""
        ...

    def describe(self) -> dict[str, Any]:
        """Return the integers that determine the law, ready for JSON."""
        ...

    def draw(self, members: IntArray, random: RandomSource, out: Blocks) -> None:
        """Draw one block per entry of ``members`` into the columns of ``out``.

        Args:
            members: ``(m,)`` values to be contained, whose blocks follow Lambda given x in A; -1 for a block of
                noise, which follows Lambda.
            random: the words.
            out: columns of length m, to be filled.
        """
        ...

    def support(self, blocks: Blocks) -> IntArray:
        """Return ``(v,)`` counts of the blocks that contain each value."""
        ...

    def membership(self, blocks: Blocks) -> Membership:
        """Return the matrix of ``blocks`` as an operator."""
        ...

    def contains(self, blocks: Blocks) -> BoolArray:
        """Return ``(m, v)`` booleans, spelled out."""
        ...

    def alphabet(self) -> tuple[Blocks, AnyArray]:
        """Return every block with its probability under Lambda, as ``(m,)`` fractions."""
        ...

    def flaws(self, blocks: Blocks) -> BoolArray:
        """Return ``(m,)`` booleans: which blocks no device can have sent, beyond the bounds of the columns."""
        ...
