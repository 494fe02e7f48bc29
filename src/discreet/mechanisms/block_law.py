"""Block laws: distributions of random blocks of values, with samplers, and the counts of blocks in a tally.

A block is the random set of sensitive values that a report contains. `discreet.mechanisms.law` adds truth or noise.
Functions here compute the properties of a block law. A law that has a faster way defines a member with one of these
names:

- `coins` and `fill` draw a batch from fewer words (`discreet.mechanisms.obfuscation`); `layout` and `members` read it;
- `joint_inclusion(count)` is the probability that `count` given values are all in a noise block, if it is the same for
  any values; `nearly_independent` means that above two values it assumes independent inclusions;
- `blocks_alike` and `rare_chances` are for memos, `additions` for the planner;
- `smaller(size)` is the same kind of law over few values with few blocks, for verification;
- `hit_distribution` and `hits` are for the risk of a report.

A tally counts the blocks that contain each value, in total or for each size of block; or it counts each block of a
small alphabet. The decoder reads the support, the number of blocks that contain each value, which follows from the
counts. The counts may also suffice for a likelihood.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import Field, dataclass, fields
from fractions import Fraction
from functools import cached_property
from operator import itemgetter
from typing import Any, ClassVar

import numpy as np

from discreet.arrays import AnyArray, BoolArray, FloatArray, IntArray
from discreet.core.checks import checked_whole
from discreet.core.random import Coins, RandomSource, chosen, joint, uniform_below
from discreet.core.reports import Blocks, Column, block_count, smallest_unsigned
from discreet.core.tally import total
from discreet.kernels import counting
from discreet.mechanisms.evidence import BitTiles, EachValue, Membership

Add = Callable[[Blocks, IntArray], None]
"""Adds the counts of blocks to an array of counts, in place."""

AddByGroup = Callable[[Blocks, AnyArray, IntArray], None]
"""Adds each block to its group's row of counts, in place."""

# Up to this bound, integers of 32 bits are almost never rejected.
_SMALL = 1 << 16
# Booleans that are listed at a time.
ENTRIES_AT_ONCE = 1 << 24


class Counting(ABC):
    """The way a tally counts blocks: the number of counts, and how a block changes the counts.

    Attributes:
        size: the number of counts.
    """

    size: int

    @abstractmethod
    def add(self, blocks: Blocks, counts: IntArray) -> None:
        """Add blocks to the ``(size,)`` counts of a tally, in place."""

    def add_by_group(self, blocks: Blocks, groups: AnyArray, counts: IntArray) -> None:
        """Add each block to its group's row of ``(groups, size)`` counts, in place, one group after another.

        Args:
            blocks: m blocks.
            groups: ``(m,)`` rows of the counts, of 32 bits.
            counts: a contiguous array.
        """
        order, runs = counting.runs_of(groups)
        ordered = {name: np.take(column, order, axis=0) for name, column in blocks.items()}
        for group, start, stop in runs:
            self.add({name: column[start:stop] for name, column in ordered.items()}, counts[group])

    @abstractmethod
    def is_consistent(self, counts: IntArray, blocks: int) -> bool:
        """Return true if these nonnegative counts are possible for ``blocks`` blocks."""

    def support_of(self, counts: IntArray) -> IntArray:
        """Return the number of blocks that contain each value; with several sizes of blocks, size by size."""
        return counts

    @property
    def one_per_value(self) -> bool:
        """True if every block is a single value, so that the likelihood has a closed form."""
        return False

    @property
    def suffices(self) -> bool:
        """True if the likelihood of the blocks follows from the counts."""
        return self.one_per_value

    def membership_of(self, counts: IntArray) -> Membership:
        """Return the membership matrix of the counted blocks; only if the counts suffice."""
        return EachValue(counts.astype(np.float64), len(counts))

    def of(self, blocks: Blocks) -> IntArray:
        """Return the ``(size,)`` counts of the given blocks."""
        counts = np.zeros(self.size, dtype=np.int64)
        self.add(blocks, counts)
        return counts


class ValueCounts(Counting):
    """Counts for each value: the number of blocks that contain the value.

    Args:
        law: the law of the blocks.
        add: a function that adds blocks to ``(v,)`` counts, in place; by default it uses ``law.contains``.
        add_by_group: a function that adds blocks to ``(groups, v)`` counts by group; by default it calls ``add`` for
            each group.
    """

    def __init__(self, law: "BlockLaw", add: Add | None = None, add_by_group: AddByGroup | None = None) -> None:
        self.size, self._law, self._add, self._add_by_group = law.size, law, add, add_by_group

    def add(self, blocks: Blocks, counts: IntArray) -> None:
        """Add the members of blocks to ``(v,)`` counts of values, in place."""
        if self._add is None:
            for contained in _contained(self._law, blocks):
                counts += contained.sum(axis=0)
        else:
            self._add(blocks, counts)

    def add_by_group(self, blocks: Blocks, groups: AnyArray, counts: IntArray) -> None:
        """Add each block to its group's row of ``(groups, size)`` counts, in place."""
        (self._add_by_group or super().add_by_group)(blocks, groups, counts)

    def is_consistent(self, counts: IntArray, blocks: int) -> bool:
        """Return true if no count exceeds the number of blocks, and the sum of the counts fits the size of a block."""
        largest = int(counts.max())
        if largest > blocks or self._block_size is None:
            return largest <= blocks
        return total(counts, largest) == self._block_size * blocks

    @cached_property
    def _block_size(self) -> Fraction | None:
        return block_size(self._law)

    @property
    def one_per_value(self) -> bool:
        """True if every block is a single value, so that the likelihood has a closed form."""
        return self._block_size == 1


class SizeCounts(ValueCounts):
    """Counts of the blocks that contain each value, separately for each size of block.

    Args:
        law: the law of the blocks.
        sizes: the possible sizes of blocks, ascending.
        add: a function that adds blocks to ``(len(sizes) v,)`` counts, in place.
        add_by_group: a function that adds blocks to ``(groups, len(sizes) v)`` counts by group; see `ValueCounts`.
    """

    def __init__(
        self, law: "BlockLaw", sizes: tuple[int, ...], add: Add, add_by_group: AddByGroup | None = None
    ) -> None:
        super().__init__(law, add, add_by_group)
        self.size, self._sizes = len(sizes) * law.size, sizes

    def is_consistent(self, counts: IntArray, blocks: int) -> bool:
        """Return true if ``blocks`` blocks of the possible sizes can have these counts."""
        for size, inside in zip(self._sizes, counts.reshape(len(self._sizes), -1), strict=True):
            of_size, rest = divmod(total(inside), size)
            if rest or int(inside.max()) > of_size:
                return False
            blocks -= of_size
        return blocks == 0


class PlaceCounts(Counting):
    """Counts of each possible block, or output, of a small alphabet.

    Args:
        size: the size of the alphabet.
        places: a function that returns the ``(m,)`` position of each block in the alphabet.
    """

    def __init__(self, size: int, places: Callable[[Blocks], AnyArray]) -> None:
        self.size, self._places = size, places

    def add(self, blocks: Blocks, counts: IntArray) -> None:
        """Add blocks to ``(size,)`` counts of each possible block, in place."""
        counting.add_symbols(self._places(blocks), counts)

    def add_by_group(self, blocks: Blocks, groups: AnyArray, counts: IntArray) -> None:
        """Add each block to its group's row of ``(groups, size)`` counts, in place."""
        counting.add_grouped_symbols(self._places(blocks), groups, counts)

    def is_consistent(self, counts: IntArray, blocks: int) -> bool:
        """Return true if the counts of all possible blocks add up to the number of blocks."""
        return total(counts) == blocks


class BlockCounts(PlaceCounts):
    """Counts of each possible block of a law, from which the number of blocks that contain each value follows."""

    def __init__(self, law: "IndexedLaw") -> None:
        super().__init__(law.alphabet_size, itemgetter(law.index))
        self._law = law

    def support_of(self, counts: IntArray) -> IntArray:
        """Return ``(v,)`` numbers, for each value the number of counted blocks that contain the value."""
        return self._law.support_of(counts)

    @property
    def suffices(self) -> bool:
        """Return True, because each possible block has a count."""
        return True

    def membership_of(self, counts: IntArray) -> Membership:
        """Return the membership matrix of all blocks of the alphabet, with their counts."""
        return self._law.membership_of(counts)


class BlockLaw(ABC):
    """A block law: the distribution Lambda of a random subset A of the v sensitive values, and its sampler.

    Sensitive values are given by their ranks 0..v - 1. Every value is in a noise block with the same probability.
    """

    __slots__ = ()

    size: int
    """v, the number of sensitive values."""
    kind: ClassVar[str] = ""
    """The law's name in descriptions."""
    wide: ClassVar[tuple[str, ...]] = ()
    """The entries of the description that may exceed 2^53."""

    def __post_init__(self) -> None:
        """Raise an error for a size below 1, in laws that are data classes without other checks.

        Raises:
            ParameterError: if the size is below 1.
        """
        checked_whole("size", self.size)

    @property
    @abstractmethod
    def inclusion(self) -> Fraction:
        """Return pi = P(x in A), the probability that a noise block contains x.

        It is the same for every x, and exactly as the sampler draws blocks.
        """

    @property
    @abstractmethod
    def conditional_inclusion(self) -> Fraction | None:
        """Return rho = P(x' in A given x in A), the probability that a block of x also contains x'.

        It is the same for any two values.

        If v = 1, the value of rho has no effect. If it depends on the two values, the result is None, and the mechanism
        has a decoder without rho.
        """

    @property
    @abstractmethod
    def columns(self) -> tuple[Column, ...]:
        """Return the formats of the columns that store a block."""

    @property
    @abstractmethod
    def alphabet_size(self) -> int:
        """Return the number of different blocks that a block law can draw."""

    @abstractmethod
    def alphabet(self) -> tuple[Blocks, AnyArray]:
        """Return every possible block, with its probability as noise, as ``(m,)`` fractions."""

    @abstractmethod
    def draw(self, members: IntArray, random: RandomSource, out: Blocks) -> None:
        """Draw one block per entry of ``members`` into the columns ``out``: with this member, or as noise.

        Args:
            members: ``(m,)`` ranks x of the values that the blocks must contain: they are drawn from Lambda given x in
                A; -1 for a noise block, drawn from Lambda.
            random: the source of random words.
            out: columns of length m, to be filled.
        """

    @abstractmethod
    def contains(self, blocks: Blocks) -> BoolArray:
        """Return ``(m, v)`` booleans: true where the block contains the value."""

    def flaws(self, blocks: Blocks) -> BoolArray:
        """Return ``(m,)`` booleans: true for a block within all bounds that no device can send.

        By default no block is flawed.
        """
        return np.zeros(block_count(blocks), dtype=np.bool_)

    @property
    def counts(self) -> Counting:
        """The counts that a tally stores; by default, the number of blocks that contain each value."""
        return ValueCounts(self)

    def membership(self, blocks: Blocks) -> Membership:
        """Return the membership matrix of ``blocks``, with a row per distinct block if counts of blocks suffice."""
        counts = self.counts
        if counts.suffices:
            return counts.membership_of(counts.of(blocks))
        packed = [np.packbits(contained, axis=1, bitorder="little") for contained in _contained(self, blocks)]
        return BitTiles.of(np.concatenate([np.empty((0, -(-self.size // 8)), np.uint8), *packed]), self.size)

    def describe(self) -> dict[str, Any]:
        """Return the integers that determine the law, as JSON values: by default, the fields of the law."""
        parts = {part.name: getattr(self, part.name) for part in parts_of(self)}
        return {"law": self.kind} | {
            name: list(part) if isinstance(part, tuple) else part for name, part in parts.items()
        }


def parts_of(law: Any) -> tuple[Field[Any], ...]:
    """Return the fields of a block law that are part of the law's description."""
    return tuple(part for part in fields(law) if not part.name.startswith("_"))


def _contained(law: BlockLaw, blocks: Blocks) -> Iterator[BoolArray]:
    """Yield `BlockLaw.contains` for one chunk of blocks after the other."""
    step = max(ENTRIES_AT_ONCE // law.size, 1)
    for start in range(0, block_count(blocks), step):
        yield law.contains({name: column[start : start + step] for name, column in blocks.items()})


def members_of(law: BlockLaw, blocks: Blocks) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield, for each chunk of blocks, ``(m,)`` numbers of members, and the ranks of all members, block by block."""
    if hasattr(law, "members"):
        yield from law.members(blocks)
        return
    for contained in _contained(law, blocks):
        yield contained.sum(axis=1), np.nonzero(contained)[1]


@dataclass(frozen=True, slots=True)
class BlockLayout:
    """The columns in which a matrix of blocks is stored, in files or on other machines.

    Attributes:
        columns_of: a function from blocks to columns. Columns of several pieces may be concatenated.
        membership: a function from the columns and the number of blocks to the membership matrix.
        piece_size: the number of blocks in one piece; only the last piece may have fewer.
    """

    columns_of: Callable[[Blocks], Blocks]
    membership: Callable[[Blocks, int], Membership]
    piece_size: int = 1

    @classmethod
    def for_law(cls, law: BlockLaw) -> "BlockLayout":
        """Return the layout of a law's blocks: its `layout` if it has one, and otherwise the columns of a block."""
        layout: BlockLayout = getattr(law, "layout", None) or cls(dict, lambda blocks, _: law.membership(blocks))
        return layout


@dataclass(frozen=True, slots=True, eq=False)
class HitDistribution:
    """The distribution of z = K/m, the share of m given values that a noise block contains.

    Attributes:
        shares: ``(k,)`` values of z, ascending, in 0..1.
        probabilities: ``(k,)`` their probabilities; the omitted values have a probability below 1e-18 in total.
        exact: whether this is the distribution for the set that leaks most; otherwise it bounds every set of m values.
        ideal: the distribution for an idealised block law; None if there is no idealisation.
        idealised: a description of the idealisation.
    """

    shares: FloatArray
    probabilities: FloatArray
    exact: bool = True
    ideal: "HitDistribution | None" = None
    idealised: str = ""

    @property
    def hit(self) -> float:
        """Return P(K > 0), the probability that a noise block contains any of the values."""
        return min(float(self.probabilities[self.shares > 0].sum()), 1.0)

    def mean(self, values: FloatArray) -> float:
        """Return the mean of a function of the share z, from the function's values at all possible shares."""
        return float(self.probabilities @ values)


def joint_inclusion(law: BlockLaw, count: int) -> Fraction | None:
    """Return the probability that ``count`` given values are all in a noise block; None if it depends on the values.

    Above two values the law may assume independent inclusions, as hash functions do. `triple_covariance` is then None,
    and confidence limits of sums are conservative.
    """
    share: Fraction | None = law.joint_inclusion(count) if hasattr(law, "joint_inclusion") else None
    return share


def triple_covariance(law: BlockLaw) -> Fraction | None:
    """Return the covariance of x' in A and x'' in A given x in A, if it is the same for any three values.

    Otherwise the result is None, and covariances of estimates need the reports, because the tally does not suffice.
    """
    triple, rho = joint_inclusion(law, 3), law.conditional_inclusion
    if triple is None or rho is None or getattr(law, "nearly_independent", False):
        return None
    return triple / law.inclusion - rho**2


def block_size(law: BlockLaw) -> Fraction | None:
    """Return the number of values in each block of a law; None if the number varies."""
    rho, mean = law.conditional_inclusion, law.size * law.inclusion
    # A block that must contain a value has the same size as any other block.
    return mean if rho is not None and 1 + (law.size - 1) * rho == mean else None


def uniform(size: int) -> AnyArray:
    """Return the probabilities of ``size`` equally likely blocks, as fractions."""
    return np.full(size, Fraction(1, size), dtype=object)


# Additions per transformed count, measured: 10 to 40 for signs, 50 to 120 for translates.
_TRANSFORM = 100


class IndexedLaw(BlockLaw):
    """A block law whose block is one index below `alphabet_size`; noise draws the index uniformly.

    Such a law defines pi, rho, the draw, the membership of given blocks, and the membership of all blocks. A tally
    counts each block (`BlockCounts`).
    """

    __slots__ = ()

    blocks_alike: ClassVar[bool] = True
    index: ClassVar[str]
    """The name of the report's column."""

    @property
    def columns(self) -> tuple[Column, ...]:
        """Return the format of the only column of a block: the block's index."""
        return (Column(self.index, smallest_unsigned(self.alphabet_size), bound=self.alphabet_size),)

    @property
    def additions(self) -> tuple[float, float]:
        """Return the cost in additions of counting one block, and of decoding all counts."""
        return 1, _TRANSFORM * self.alphabet_size

    @property
    def counts(self) -> BlockCounts:
        """The counts that a tally stores: one count for each possible block."""
        return BlockCounts(self)

    @abstractmethod
    def support_of(self, counts: IntArray) -> IntArray:
        """Return ``(v,)`` T, the numbers of blocks that contain each value, from the counts of each block."""

    @abstractmethod
    def membership_of(self, counts: IntArray) -> Membership:
        """Return the membership matrix with a row for each block of the alphabet, with these counts."""

    def alphabet(self) -> tuple[Blocks, AnyArray]:
        """Return all possible blocks of an indexed law, with equal probabilities."""
        indices = np.arange(self.alphabet_size, dtype=smallest_unsigned(self.alphabet_size))
        return {self.index: indices}, uniform(len(indices))


class ChosenLaw(IndexedLaw):
    """An indexed law in which equally many blocks contain each value, one for each integer below `choices`.

    Such a law defines `choices` and `containing` instead of the draw. Noise and the integer are drawn for every report,
    whether it is truthful or not.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def choices(self) -> int:
        """The number of blocks that contain a given value."""

    @abstractmethod
    def containing(self, ranks: AnyArray, numbers: AnyArray) -> AnyArray:
        """Return the indices of blocks that contain values, chosen by integers; the result for rank -1 is not used.

        Args:
            ranks: ``(m,)`` ranks of the values.
            numbers: ``(m,)`` integers below `choices`, of 32 or 64 bits.
        """

    def draw(self, members: IntArray, random: RandomSource, out: Blocks) -> None:
        """Draw indices of blocks: of a block with the required member, or uniform as noise, from the same words."""
        noise = uniform_below(self.alphabet_size, len(members), random)
        numbers = uniform_below(self.choices, len(members), random)
        chosen(members >= 0, self.containing(members, numbers), noise, out[self.index])

    def coins(self, n: int, threshold: int, random: RandomSource) -> Coins:
        """Draw the truth-or-noise decisions of reports, and noise from the same words."""
        return joint(n, threshold, self.alphabet_size, random)

    def fill(self, ranks: AnyArray, coins: Coins, random: RandomSource, out: Blocks) -> None:
        """Write blocks that contain the true value in truthful reports, and noise in all others."""
        n, lane = len(ranks), np.uint32 if self.choices <= _SMALL else np.uint64
        noise = uniform_below(self.alphabet_size, n, random) if coins.noise is None else coins.noise
        numbers = uniform_below(self.choices, n, random, lane=lane)
        chosen(coins.truth, self.containing(ranks, numbers), noise, out[self.index])
