"""Block laws: the interface, and the parts that all block laws share; the law of truth or noise does the rest."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, ClassVar, Protocol, Self

import numpy as np

from discreet.arrays import AnyArray, BoolArray, FloatArray, IntArray
from discreet.core.coins import Coins, half_toss, or_noise
from discreet.core.random import RandomSource
from discreet.core.reports import Blocks, Column, block_count
from discreet.leakage.hits import HitDistribution, from_pairs
from discreet.mechanisms.counting import Counting
from discreet.mechanisms.membership import Membership

# Booleans that are spelled out together.
_ENTRIES_AT_ONCE = 1 << 24


class BlockLaw(Protocol):
    """A random subset A of the v sensitive values: its law Lambda, the drawing from it, and the columns of A.

    Sensitive values are given by their ranks 0..v - 1. Values that are in a noise block equally often form a *group*;
    most laws have one group only (see `EvenLaw`).
    """

    @property
    def size(self) -> int:
        """Return v, the number of sensitive values."""

    @property
    def groups(self) -> IntArray | None:
        """Return the ``(v,)`` group of each value; None if there is one group."""

    @property
    def inclusions(self) -> tuple[Fraction, ...]:
        """Return pi = P(x in A) for an x of each group, exactly as the sampler draws it."""

    @property
    def conditional_inclusions(self) -> tuple[Fraction, ...]:
        """Return rho = P(x' in A given x in A) for an x' of each group, the same for every other value x.

        Where v = 1 its value has no effect.
        """

    @property
    def conditional_variation(self) -> tuple[Fraction, Fraction]:
        """Return the variance of R_xx', the rho of two given values, and its covariance with R_xx''.

        Where something public was drawn for all devices, such as a pool of hash functions, R_xx' depends on the draw,
        and rho is its mean. Both are 0 where rho is exact (see `discreet.accuracy.pool_bias`).
        """

    @property
    def triple_covariance(self) -> Fraction | None:
        """Return the covariance of x' in A and x'' in A given x in A, the same for any three values.

        None if it depends on them, so that the covariances of estimates follow from the reports, not from their tally.
        """

    def joint_inclusion(self, count: int) -> Fraction | None:
        """Return the probability that ``count`` given values are all in a noise block; None if it depends on them.

        Above two values it may be that of independent inclusions, where `triple_covariance` is None and limits of sums
        that are taken from it are conservative, as of hash functions.
        """

    @property
    def columns(self) -> tuple[Column, ...]:
        """Return the columns of a block."""

    @property
    def alphabet_size(self) -> int:
        """Return the number of different blocks."""

    @property
    def additions(self) -> tuple[float, float]:
        """Return roughly how many additions it takes to count a block, and to decode a tally, whatever its size."""

    def describe(self) -> dict[str, Any]:
        """Return the integers that determine the law, as values of JSON."""

    def draw(self, members: IntArray, random: RandomSource, out: Blocks) -> None:
        """Draw one block per entry of ``members`` into the columns of ``out``.

        Args:
            members: ``(m,)`` ranks x of values that the blocks must contain, drawn from Lambda given x in A; -1 for a
                block of noise, drawn from Lambda.
            random: the source of random words.
            out: columns of length m, to be filled.
        """

    def coins(self, n: int, threshold: int, random: RandomSource) -> Coins:
        """Draw the coins of a batch, True with probability ``threshold / 2^64``, and perhaps noise from their words."""

    def fill(self, ranks: AnyArray, coins: Coins, random: RandomSource, out: Blocks) -> None:
        """Draw the blocks of a batch after its coins.

        Args:
            ranks: ``(m,)`` ranks of the values that the blocks of those who tell the truth must contain; of no meaning
                elsewhere.
            coins: theirs.
            random: the source of random words.
            out: columns of length m, to be filled.
        """

    @property
    def counts(self) -> Counting:
        """Return the counting of blocks, as a tally holds it."""

    @property
    def block_size(self) -> Fraction | None:
        """Return the number of values in a block; None if it varies."""

    @property
    def has_joint_law(self) -> bool:
        """Return true if the counts of many blocks can be drawn at once."""

    def draw_support(self, truth: IntArray, blocks: int, generator: np.random.Generator) -> IntArray:
        """Draw the support of many blocks at once, for a simulation; see `CommonLaw.draw_support`."""

    def membership(self, blocks: Blocks) -> Membership:
        """Return the matrix of ``blocks`` as an operator."""

    def contains(self, blocks: Blocks) -> BoolArray:
        """Return ``(m, v)`` booleans: true where the block contains the value."""

    def members(self, blocks: Blocks) -> Iterator[tuple[IntArray, IntArray]]:
        """Yield stretches of blocks: ``(m,)`` numbers of members, and the ranks of the members, block by block."""

    def alphabet(self) -> tuple[Blocks, AnyArray]:
        """Return every block with its probability under Lambda, as ``(m,)`` fractions."""

    def flaws(self, blocks: Blocks) -> BoolArray:
        """Return ``(m,)`` booleans: true for a block within the bounds of its columns that no device can have sent."""

    def hit_distribution(self, m: int) -> HitDistribution | None:
        """Return the hit distribution of the m values that tell most of their users.

        None if it depends on the values, so that only general bounds hold.
        """

    def hits(self, m: FloatArray) -> FloatArray | None:
        """Return P(a noise block contains one of m values) for each m: the largest over the sets, or an upper bound.

        None if it depends on the values, so that only general bounds hold.
        """


class CommonLaw(ABC):
    """The part of every block law that follows from its other members."""

    __slots__ = ()

    size: int
    groups: IntArray | None = None
    """``(v,)`` the group of each value; None if there is one group."""
    kind: ClassVar[str] = ""
    """The law's name in descriptions."""
    wide: ClassVar[tuple[str, ...]] = ()
    """The parts of the description that may pass 2^53."""
    has_joint_law: ClassVar[bool] = False
    """Whether the counts of many blocks can be drawn at once; see `draw_support`."""

    @property
    @abstractmethod
    def block_size(self) -> Fraction | None:
        """Return the number of values in a block; None if it varies."""

    @property
    @abstractmethod
    def counts(self) -> Counting:
        """Return the counting of blocks, as a tally holds it."""

    @property
    @abstractmethod
    def inclusions(self) -> tuple[Fraction, ...]:
        """Return pi of each group."""

    @property
    @abstractmethod
    def conditional_inclusions(self) -> tuple[Fraction, ...]:
        """Return rho of each group."""

    @property
    def additions(self) -> tuple[float, float]:
        """Return one for each value of a block, and of the decoded tally; see `BlockLaw`."""
        return self.size * float(np.mean(by_group(self.inclusions, self.groups))), self.size

    @abstractmethod
    def contains(self, blocks: Blocks) -> BoolArray:
        """Return ``(m, v)`` booleans: true where the block contains the value."""

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """Return the integers that determine the law, as values of JSON."""

    def spelled(self) -> dict[str, Any]:
        """Return a description from which the law can be made again; see `Registry.law_of`."""
        return self.describe()

    @classmethod
    def of_parts(cls, parts: dict[str, Any]) -> Self:
        """Return the law with these parts of a spelled-out description, ``law`` apart.

        Raises:
            ParameterError: if they define no law; foreign parts may raise other errors.
        """
        return cls(**parts)

    @property
    def conditional_variation(self) -> tuple[Fraction, Fraction]:
        """Return 0 and 0: rho holds between any two values."""
        return Fraction(0), Fraction(0)

    @property
    def triple_covariance(self) -> Fraction | None:
        """Return it from joint inclusions; None where these depend on the values."""
        triple = self.joint_inclusion(3)
        return None if triple is None else triple / self.inclusions[0] - self.conditional_inclusions[0] ** 2

    def joint_inclusion(self, count: int) -> Fraction | None:
        """Return None: unless a law says otherwise, it depends on the values."""
        return None

    def coins(self, n: int, threshold: int, random: RandomSource) -> Coins:
        """Draw the coins of a batch; see `BlockLaw`."""
        return Coins(half_toss(n, threshold, random))

    def fill(self, ranks: AnyArray, coins: Coins, random: RandomSource, out: Blocks) -> None:
        """Draw the blocks of a batch; see `BlockLaw`."""
        self.draw(or_noise(ranks, coins.truth), random, out)

    @abstractmethod
    def draw(self, members: IntArray, random: RandomSource, out: Blocks) -> None:
        """Draw one block per member; see `BlockLaw`."""

    def membership(self, blocks: Blocks) -> Membership:
        """Return the matrix of ``blocks``, from their counts; for laws whose counts suffice."""
        counts = self.counts
        return counts.membership_of(counts.of(blocks))

    def members(self, blocks: Blocks) -> Iterator[tuple[IntArray, IntArray]]:
        """Yield stretches of blocks: ``(m,)`` numbers of members, and the ranks of the members, block by block."""
        step = max(_ENTRIES_AT_ONCE // self.size, 1)
        for start in range(0, block_count(blocks), step):
            contained = self.contains({name: column[start : start + step] for name, column in blocks.items()})
            yield contained.sum(axis=1), np.nonzero(contained)[1]

    def draw_support(self, truth: IntArray, blocks: int, generator: np.random.Generator) -> IntArray:
        """Draw the support of many blocks from its joint law, for a simulation.

        Args:
            truth: ``(v,)`` counts of the blocks that tell each value.
            blocks: the number of blocks, noise included.
            generator: the source of randomness.

        Returns:
            ``(v,)`` counts of the blocks that contain each value.
        """
        raise NotImplementedError

    def _block_size(self, counts: list[int]) -> Fraction | None:
        """Return the number of values in a block, given the numbers of values in the groups; None if it varies."""
        mean = sum((n * pi for n, pi in zip(counts, self.inclusions, strict=True)), Fraction(0))
        others = sum((n * rho for n, rho in zip(counts, self.conditional_inclusions, strict=True)), Fraction(0))
        # A block with a given member would be as large as any other.
        return mean if all(1 + others - rho == mean for rho in self.conditional_inclusions) else None


class EvenLaw(CommonLaw):
    """A block law with one group: every value is in a noise block with the same probability."""

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
    def block_size(self) -> Fraction | None:
        """Return the number of values in a block; None if it varies."""
        return self._block_size([self.size])

    @property
    def inclusions(self) -> tuple[Fraction, ...]:
        """Return pi."""
        return (self.inclusion,)

    @property
    def conditional_inclusions(self) -> tuple[Fraction, ...]:
        """Return rho."""
        return (self.conditional_inclusion,)

    def hit_distribution(self, m: int) -> HitDistribution:
        """Return a hit distribution that tells no less than that of any m values, from pi and rho alone."""
        return from_pairs(m, self.inclusion, self.conditional_inclusion)

    def hits(self, m: FloatArray) -> FloatArray:
        """Return min(1, m pi): no m values are hit more often."""
        return np.minimum(1.0, m * float(self.inclusion))


def by_group(shares: tuple[Fraction, ...], groups: IntArray | None) -> float | FloatArray:
    """Return the probabilities of the values, from those of the groups: one number, or ``(v,)`` if there are groups."""
    numbers = np.array([float(share) for share in shares])
    return float(numbers[0]) if groups is None else numbers[groups]
