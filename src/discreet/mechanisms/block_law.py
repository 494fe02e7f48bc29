"""What a mechanism must say of its blocks; everything else is written once, in the law of truth or noise."""

import hashlib
from abc import ABC, abstractmethod
from fractions import Fraction
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

import numpy as np

from discreet.arrays import AnyArray, BoolArray, FloatArray, IntArray
from discreet.core.checks import checked_whole
from discreet.core.epsilons import tallied
from discreet.core.random import RandomSource
from discreet.core.reports import Blocks, Column, is_plain
from discreet.errors import ParameterError
from discreet.leakage.hits import HitDistribution, from_pairs

_STRETCH = 1 << 16


class Extent(Protocol):
    """How large the 0/1 matrix B of a batch is, which says what block contains what value; a row per distinct block."""

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


@runtime_checkable
class Membership(Extent, Protocol):
    """The matrix B itself, as an operator."""

    def dot(self, values: Any) -> Any:
        """Return ``(rows,)`` B @ values, in the precision of ``values`` or better."""
        ...

    def transpose_dot(self, weights: Any) -> FloatArray:
        """Return ``(v,)`` B.T @ weights."""
        ...


@runtime_checkable
class Separable(Protocol):
    """A `Membership` of which some rows can be had as a matrix of their own, without a copy."""

    def part(self, start: int, stop: int) -> Membership:
        """Return rows start..stop - 1; the start is a multiple of what a law lays out together (see `LaidOut`)."""
        ...


class BlockLaw(Protocol):
    """A random subset A of the v sensitive values: the law Lambda, how to draw from it, and how to write A down.

    Sensitive values are meant by their rank 0..v - 1. Values that are in a noise block equally often form a *group*;
    most laws have one group only (see `EvenLaw`).
    """

    @property
    def size(self) -> int:
        """Return v, the number of sensitive values."""
        ...

    @property
    def groups(self) -> IntArray | None:
        """Return the ``(v,)`` group of each value; None if there is one group."""
        ...

    @property
    def inclusions(self) -> tuple[Fraction, ...]:
        """Return pi = P(x in A) for an x of each group, exactly as the sampler draws it."""
        ...

    @property
    def conditional_inclusions(self) -> tuple[Fraction, ...]:
        """Return rho = P(x' in A given x in A) for an x' of each group, whatever the other value x is.

        Where v = 1 it only scales what cancels.
        """
        ...

    @property
    def conditional_variation(self) -> tuple[Fraction, Fraction]:
        """Return how far rho is from what holds between two given values, where something public was drawn for all.

        Rho is then a mean over all such draws, of R_xx'. These are the variance of R_xx' and the covariance of R_xx'
        and R_xx''; both 0 where rho is exact (see `discreet.accuracy.pool_bias`).
        """
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

    def add_support(self, blocks: Blocks, counts: IntArray) -> None:
        """Add `support` to ``counts``, in place."""
        ...

    @property
    def tally_size(self) -> int:
        """Return how many counts of blocks a tally has: one per value, unless the law says otherwise."""
        ...

    def add_counts(self, blocks: Blocks, counts: IntArray) -> None:
        """Add to the ``(tally_size,)`` counts of a tally, in place."""
        ...

    def support_of(self, counts: IntArray) -> IntArray:
        """Return what the decoder reads of a tally's counts: `support`."""
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

    def hit_distribution(self, m: int) -> HitDistribution | None:
        """Return the law of the share of m values that is in a noise block, for those m that tell most of their users.

        None if values differ, so that only general bounds hold.
        """
        ...

    def hits(self, m: FloatArray) -> FloatArray | None:
        """Return, for each of ``m`` whole numbers, P(a noise block contains one of m values); the largest, or a bound.

        None if values differ, so that only general bounds hold.
        """
        ...


@runtime_checkable
class LaidOut(Protocol):
    """A law whose matrix is made of something else than the columns of its reports.

    Laws that are not of this kind read their matrix from the columns as they are, and so from columns in files too.
    """

    @property
    def abreast(self) -> int:
        """Return how many reports are laid out together; only the last ones may be fewer."""
        ...

    def lay_out(self, blocks: Blocks) -> AnyArray:
        """Return what the matrix of ``blocks`` is made of; laid out piece by piece, it is the same end to end."""
        ...

    def membership_of(self, laid: AnyArray, rows: int) -> Membership:
        """Return the matrix of ``rows`` blocks, from what `lay_out` made of them."""
        ...


class _Plain:
    """A law whose tallies count, for each value, the blocks that contain it, and in which nothing public is drawn."""

    __slots__ = ()

    size: int

    @property
    def conditional_variation(self) -> tuple[Fraction, Fraction]:
        """Return 0 and 0: rho holds between any two values."""
        return Fraction(0), Fraction(0)

    @property
    def tally_size(self) -> int:
        """Return v."""
        return self.size

    def add_counts(self, blocks: Blocks, counts: IntArray) -> None:
        """Add `support`: what a tally counts."""
        self.add_support(blocks, counts)

    def support_of(self, counts: IntArray) -> IntArray:
        """Return the counts: what a tally counts is the support."""
        return counts

    def add_support(self: Any, blocks: Blocks, counts: IntArray) -> None:
        """Add `support` to ``counts``, in place."""
        counts += self.support(blocks)


class CountedBlocks(ABC):
    """A law with so few blocks that a tally says how often each of them came, which is all there is to know of reports.

    What values they contain is worked out once, from the counts, and so is the likelihood.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def alphabet_size(self) -> int:
        """Return how many different blocks can be written down."""

    @abstractmethod
    def places(self, blocks: Blocks) -> AnyArray:
        """Return the ``(m,)`` place of each block in the alphabet."""

    @abstractmethod
    def support_of(self, counts: IntArray) -> IntArray:
        """Return the ``(v,)`` support of blocks that came as often as ``(alphabet_size,)`` counts say."""

    @abstractmethod
    def membership_of_counts(self, counts: IntArray) -> Membership:
        """Return the matrix of the whole alphabet, with the counts as multiplicity."""

    @property
    def tally_size(self) -> int:
        """Return how many blocks there are."""
        return self.alphabet_size

    def add_counts(self, blocks: Blocks, counts: IntArray) -> None:
        """Add how often each block came, in the order of the alphabet, in place."""
        from discreet.kernels.blocks.counting import add_symbols

        add_symbols(self.places(blocks), counts)

    def support(self, blocks: Blocks) -> IntArray:
        """Return ``(v,)`` counts of the blocks that contain each value."""
        return self.support_of(self._counts(blocks))

    def add_support(self, blocks: Blocks, counts: IntArray) -> None:
        """Add `support` to ``counts``, in place."""
        counts += self.support(blocks)

    def membership(self, blocks: Blocks) -> Membership:
        """Return the matrix of the whole alphabet, with the counts of ``blocks`` as multiplicity."""
        return self.membership_of_counts(self._counts(blocks))

    def _counts(self, blocks: Blocks) -> IntArray:
        counts = np.zeros(self.alphabet_size, dtype=np.int64)
        self.add_counts(blocks, counts)
        return counts


class EvenLaw(_Plain, ABC):
    """A block law in which every value is in a noise block equally often: one group."""

    __slots__ = ()

    @property
    @abstractmethod
    def inclusion(self) -> Fraction:
        """Return pi = P(x in A), the same for every x."""

    @property
    @abstractmethod
    def conditional_inclusion(self) -> Fraction:
        """Return rho = P(x' in A given x in A), the same for any two values."""

    @property
    def groups(self) -> None:
        """Return None: there is one group."""
        return

    @property
    def inclusions(self) -> tuple[Fraction, ...]:
        """Return pi."""
        return (self.inclusion,)

    @property
    def conditional_inclusions(self) -> tuple[Fraction, ...]:
        """Return rho."""
        return (self.conditional_inclusion,)

    def hit_distribution(self, m: int) -> HitDistribution:
        """Return a law that tells no less than that of any m values, from pi and rho alone."""
        return from_pairs(m, self.inclusion, self.conditional_inclusion)

    def hits(self, m: FloatArray) -> FloatArray:
        """Return min(1, m pi): no m values are hit more often."""
        found: FloatArray = np.minimum(1.0, m * float(self.inclusion))
        return found


class WeightedLaw(_Plain, ABC):
    """A block law in which values of different groups are in a noise block differently often.

    Two of them are equal if they describe themselves alike.
    """

    groups: IntArray

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """Return what determines the law, ready for JSON."""

    def hit_distribution(self, m: int) -> None:
        """Return None: sets of m values differ."""
        del m

    def hits(self, m: FloatArray) -> None:
        """Return None: sets of m values differ."""
        del m

    @cached_property
    def _groups_digest(self) -> str:
        digest = hashlib.sha256()
        for start in range(0, len(self.groups), _STRETCH):
            digest.update(self.groups[start : start + _STRETCH].astype("<u4").tobytes())
        return digest.hexdigest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, WeightedLaw) and self.describe() == other.describe()

    def __hash__(self) -> int:
        return hash(self._groups_digest)


def group_counts(size: int, groups: IntArray | None) -> list[int]:
    """Return how many of ``size`` values each group has."""
    return [size] if groups is None else tallied(groups).tolist()


def check_groups(groups: object, numbers: object, name: str) -> None:
    """Refuse groups that are no column of integers from 0 on, and numbers of groups that are no whole ones.

    Raises:
        ParameterError: if they are so.
    """
    if not is_plain(groups) or not len(groups) or groups.min() < 0:  # type: ignore[arg-type,attr-defined]
        raise ParameterError("levels must be a column of integers of at least 0, one for each value.")
    if not isinstance(numbers, tuple) or not numbers:
        raise ParameterError(f"{name} must be a tuple of integers, one for each group.")
    for number in numbers:
        checked_whole(name, number)


def spread(shares: tuple[Fraction, ...], groups: IntArray | None) -> float | FloatArray:
    """Return probabilities that are given by group: one number, or ``(v,)`` where values differ."""
    numbers = np.array([float(share) for share in shares])
    return float(numbers[0]) if groups is None else numbers[groups]


def block_size(law: BlockLaw) -> Fraction | None:
    """Return how many values a block contains; None if that varies."""
    counts = group_counts(law.size, law.groups)
    mean = sum((n * pi for n, pi in zip(counts, law.inclusions, strict=True)), Fraction(0))
    others = sum((n * rho for n, rho in zip(counts, law.conditional_inclusions, strict=True)), Fraction(0))
    # A block with a given member would be as large as any other.
    return mean if all(1 + others - rho == mean for rho in law.conditional_inclusions) else None
