"""Block laws: how blocks are drawn, what they contain, how they are counted; the law of truth or noise does the rest.

With them are the membership matrix B of a batch of blocks, as an operator: a row per block, a column per value; and the
counts of blocks in a tally: of the blocks that contain each value; of each block of a small alphabet; or of the blocks
of each size that contain each value. From any of them follow the support that the decoder reads, and whether a tally
suffices for a likelihood.

And the evidence of the frequencies, as a likelihood reads it: rows a + (B p), and the counts of values in
clear. A block has a = 1/c and members as its row of B; an output of an explicit channel has a = 0 and the column of Q.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import Field, dataclass, field, fields
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np

from discreet.arrays import AnyArray, BoolArray, FloatArray, IntArray
from discreet.core.checks import checked_whole
from discreet.core.random import Coins, RandomSource, half_toss, or_noise
from discreet.core.reports import Blocks, Column, Reports, block_count, smallest_unsigned
from discreet.core.tally import Tally, total
from discreet.errors import ParameterError
from discreet.kernels import counting
from discreet.theory.hits import HitDistribution, from_pairs


class Membership(ABC):
    """The membership matrix of a batch of blocks, as an operator: its products with vectors."""

    __slots__ = ()

    is_here: ClassVar[bool] = True
    """Whether this process has the rows; else they are summed where they are."""

    @property
    @abstractmethod
    def rows(self) -> int:
        """The number of rows: of distinct blocks."""

    @property
    @abstractmethod
    def size(self) -> int:
        """The number of columns: v, or |X| for an explicit channel."""

    @property
    def multiplicity(self) -> FloatArray | None:
        """``(rows,)`` counts of the blocks; None if each came once."""
        return None

    @abstractmethod
    def dot(self, values: Any) -> Any:
        """Return ``(rows,)`` B @ values, in the precision of ``values``."""

    @abstractmethod
    def transpose_dot(self, weights: Any) -> FloatArray:
        """Return ``(v,)`` B.T @ weights."""

    def stretches(self, most: int) -> Iterator[tuple[slice, "Membership"]]:
        """Yield stretches of rows with their part of the matrix: all at once, unless it can be cut without a copy.

        Args:
            most: rows of a stretch, a multiple of `BlockLaw.abreast`.
        """
        del most
        yield slice(0, self.rows), self


class CutMembership(Membership):
    """A membership matrix that can be cut into stretches of rows without a copy."""

    __slots__ = ()

    @abstractmethod
    def part(self, start: int, stop: int) -> Membership:
        """Return the matrix of rows start..stop - 1; start is a multiple of `BlockLaw.abreast`."""

    def stretches(self, most: int) -> Iterator[tuple[slice, Membership]]:
        """Yield stretches of rows with their part of the matrix."""
        for start in range(0, self.rows, most):
            stop = min(start + most, self.rows)
            yield slice(start, stop), self.part(start, stop)


@dataclass(frozen=True, slots=True, eq=False)
class EachValue(Membership):
    """The membership matrix of blocks of one value: the identity, each value with its count."""

    multiplicity: FloatArray = field()

    @property
    def rows(self) -> int:
        """Return v."""
        return len(self.multiplicity)

    size = rows

    def dot(self, values: Any) -> Any:
        """Return ``values``."""
        return np.array(values)

    def transpose_dot(self, weights: Any) -> FloatArray:
        """Return ``weights``."""
        return np.array(weights, dtype=np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class MatrixRows(Membership):
    """The outputs of an explicit channel that were seen: rows of Q transposed, in place of zeros and ones.

    Attributes:
        matrix: ``(rows, |X|)`` probabilities Q(y|x), a row per output.
        multiplicity: ``(rows,)`` counts of the outputs.
    """

    matrix: FloatArray
    multiplicity: FloatArray = field()

    @property
    def rows(self) -> int:
        """Return the number of distinct outputs that were seen."""
        return len(self.matrix)

    @property
    def size(self) -> int:
        """Return |X|."""
        return int(self.matrix.shape[1])

    def dot(self, values: Any) -> Any:
        """Return ``(rows,)`` probabilities of the outputs."""
        return self.matrix @ np.asarray(values, dtype=np.float64)

    def transpose_dot(self, weights: Any) -> FloatArray:
        """Return ``(|X|,)`` sums over the outputs."""
        return np.asarray(weights, dtype=np.float64) @ self.matrix


Add = Callable[[Blocks, IntArray], None]
"""Adds the counts of blocks to counts, in place."""

AddByGroup = Callable[[Blocks, AnyArray, IntArray], None]
"""Adds the counts of blocks to the row of counts of the group of each, in place."""


class Counting(ABC):
    """The counts of blocks that a tally holds.

    Attributes:
        size: the number of counts.
        numbered: whether place i counts the blocks whose one column says i.
    """

    size: int
    numbered: bool = False

    @abstractmethod
    def add(self, blocks: Blocks, counts: IntArray) -> None:
        """Add blocks to ``(size,)`` counts, in place."""

    def add_by_group(self, blocks: Blocks, groups: AnyArray, counts: IntArray) -> None:
        """Add blocks to ``(groups, size)`` counts, each to the row of its group, in place: group by group.

        Args:
            blocks: m of them.
            groups: ``(m,)`` rows of the counts, of 32 bits.
            counts: contiguous.
        """
        order, runs = counting.runs_of(groups)
        ordered = {name: np.take(column, order, axis=0) for name, column in blocks.items()}
        for group, start, stop in runs:
            self.add({name: column[start:stop] for name, column in ordered.items()}, counts[group])

    @abstractmethod
    def is_consistent(self, counts: IntArray, blocks: int) -> bool:
        """Return true if nonnegative counts could be those of ``blocks`` blocks."""

    def support_of(self, counts: IntArray) -> IntArray:
        """Return the support: the number of blocks that contain each value (for each size of block in turn)."""
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
        """Return the matrix of the blocks that were counted, if the counts suffice."""
        return EachValue(counts.astype(np.float64))

    def of(self, blocks: Blocks) -> IntArray:
        """Return the ``(size,)`` counts of blocks."""
        counts = np.zeros(self.size, dtype=np.int64)
        self.add(blocks, counts)
        return counts

    def support(self, blocks: Blocks) -> IntArray:
        """Return `support_of` the counts of blocks."""
        return self.support_of(self.of(blocks))


class ValueCounts(Counting):
    """The number of blocks that contain each value.

    Args:
        law: the law of the blocks.
        add: a function that adds blocks to ``(v,)`` counts, in place.
        add_by_group: one that adds them to ``(groups, v)`` counts by group; None for one that calls ``add`` for each
            group.
        numbered: as in `Counting`.
    """

    def __init__(
        self, law: "BlockLaw", add: Add, add_by_group: AddByGroup | None = None, *, numbered: bool = False
    ) -> None:
        self.size, self._law, self.numbered = law.size, law, numbered
        self._add, self._add_by_group = add, add_by_group

    def add(self, blocks: Blocks, counts: IntArray) -> None:
        """Add blocks to ``(size,)`` counts, in place."""
        self._add(blocks, counts)

    def add_by_group(self, blocks: Blocks, groups: AnyArray, counts: IntArray) -> None:
        """Add blocks to ``(groups, size)`` counts, each to the row of its group, in place."""
        if self._add_by_group is None:
            super().add_by_group(blocks, groups, counts)
        else:
            self._add_by_group(blocks, groups, counts)

    def is_consistent(self, counts: IntArray, blocks: int) -> bool:
        """Return true if no value is in more blocks than there are, and the sum fits the size of a block."""
        largest = int(counts.max())
        if largest > blocks or self._block_size is None:
            return largest <= blocks
        return total(counts, largest) == self._block_size * blocks

    @cached_property
    def _block_size(self) -> Fraction | None:
        return self._law.block_size

    @property
    def one_per_value(self) -> bool:
        """True if every block is a single value."""
        return self._block_size == 1


class SizeCounts(ValueCounts):
    """The number of blocks of each size that contain each value; one size after the other.

    Args:
        law: the law of the blocks.
        sizes: of blocks, ascending.
        add: a function that adds blocks to ``(len(sizes) v,)`` counts, in place.
        add_by_group: one that adds them to ``(groups, len(sizes) v)`` counts by group; see `ValueCounts`.
    """

    def __init__(
        self, law: "BlockLaw", sizes: tuple[int, ...], add: Add, add_by_group: AddByGroup | None = None
    ) -> None:
        super().__init__(law, add, add_by_group)
        self.size, self._sizes = len(sizes) * law.size, sizes

    def is_consistent(self, counts: IntArray, blocks: int) -> bool:
        """Return true if counts can be those of ``blocks`` blocks, of one of the sizes each."""
        for size, inside in zip(self._sizes, counts.reshape(len(self._sizes), -1), strict=True):
            of_size, rest = divmod(total(inside), size)
            if rest or int(inside.max()) > of_size:
                return False
            blocks -= of_size
        return blocks == 0


class PlaceCounts(Counting):
    """The number of reports in each place of a small alphabet.

    Args:
        size: of the alphabet.
        places: a function that returns the ``(m,)`` place of each block in it.
        numbered: as in `Counting`.
    """

    def __init__(self, size: int, places: Callable[[Blocks], AnyArray], *, numbered: bool = False) -> None:
        self.size, self._places, self.numbered = size, places, numbered

    def add(self, blocks: Blocks, counts: IntArray) -> None:
        """Add blocks to ``(size,)`` counts, in place."""
        counting.add_symbols(self._places(blocks), counts)

    def add_by_group(self, blocks: Blocks, groups: AnyArray, counts: IntArray) -> None:
        """Add blocks to ``(groups, size)`` counts, each to the row of its group, in place."""
        counting.add_grouped_symbols(self._places(blocks), groups, counts)

    def is_consistent(self, counts: IntArray, blocks: int) -> bool:
        """Return true if the counts add up to the number of blocks."""
        return total(counts) == blocks


class BlockCounts(PlaceCounts):
    """The counts of each block of a small alphabet; the support is computed once, from these counts."""

    def __init__(self, law: "ListedLaw", *, numbered: bool = False) -> None:
        super().__init__(law.alphabet_size, law.places, numbered=numbered)
        self._law = law

    def support_of(self, counts: IntArray) -> IntArray:
        """Return the ``(v,)`` numbers of blocks that contain each value."""
        return self._law.support_of(counts)

    @property
    def suffices(self) -> bool:
        """Return True: every block is counted."""
        return True

    def membership_of(self, counts: IntArray) -> Membership:
        """Return the matrix of the whole alphabet."""
        return self._law.membership_of(counts)


# Booleans that are spelled out together.
_ENTRIES_AT_ONCE = 1 << 24
# Members of blocks that are looked at one by one.
_MOST_LISTED = 1 << 16


class BlockLaw(ABC):
    """A random subset A of the v sensitive values: its law Lambda, the drawing from it, and the columns of A.

    Sensitive values are given by their ranks 0..v - 1. All of them are in a noise block with the same probability.
    """

    __slots__ = ()

    size: int
    """v, the number of sensitive values."""
    kind: ClassVar[str] = ""
    """The law's name in descriptions."""
    wide: ClassVar[tuple[str, ...]] = ()
    """The parts of the description that may pass 2^53."""

    def __post_init__(self) -> None:
        """Refuse a size below 1, of laws that are data classes and check nothing else.

        Raises:
            ParameterError: if there is no value.
        """
        checked_whole("size", self.size)

    # What a law states

    @property
    @abstractmethod
    def inclusion(self) -> Fraction:
        """Return pi = P(x in A), the same for every x, exactly as the sampler draws it."""

    @property
    @abstractmethod
    def conditional_inclusion(self) -> Fraction | None:
        """Return rho = P(x' in A given x in A), the same for any two values.

        Where v = 1 its value has no effect. None where it depends on the two values; the mechanism then has a decoder
        that needs no rho.
        """

    @property
    @abstractmethod
    def columns(self) -> tuple[Column, ...]:
        """Return the columns of a block."""

    @property
    @abstractmethod
    def alphabet_size(self) -> int:
        """Return the number of different blocks."""

    @property
    @abstractmethod
    def counts(self) -> Counting:
        """Return the counting of blocks, as a tally holds it."""

    @abstractmethod
    def draw(self, members: IntArray, random: RandomSource, out: Blocks) -> None:
        """Draw one block per entry of ``members`` into the columns of ``out``.

        Args:
            members: ``(m,)`` ranks x of values that the blocks must contain, drawn from Lambda given x in A; -1 for a
                block of noise, drawn from Lambda.
            random: the source of random words.
            out: columns of length m, to be filled.
        """

    @abstractmethod
    def contains(self, blocks: Blocks) -> BoolArray:
        """Return ``(m, v)`` booleans: true where the block contains the value."""

    @abstractmethod
    def alphabet(self) -> tuple[Blocks, AnyArray]:
        """Return every block with its probability under Lambda, as ``(m,)`` fractions."""

    def flaws(self, blocks: Blocks) -> BoolArray:
        """Return ``(m,)`` booleans: true for a block within the bounds of its columns that no device can have sent.

        None is, unless a law says otherwise.
        """
        return np.zeros(block_count(blocks), dtype=np.bool_)

    # What follows, unless a law knows better

    @property
    def block_size(self) -> Fraction | None:
        """Return the number of values in a block; None if it varies."""
        rho, mean = self.conditional_inclusion, self.size * self.inclusion
        # A block with a given member would be as large as any other.
        return mean if rho is not None and 1 + (self.size - 1) * rho == mean else None

    @property
    def conditional_variation(self) -> tuple[Fraction, Fraction]:
        """Return the variance of R_xx', the rho of two given values, and its covariance with R_xx''.

        Where something public was drawn for all devices, such as a pool of hash functions, R_xx' depends on the draw,
        and rho is its mean. Both are 0 where rho is exact (see `discreet.theory.linear_decoder`).
        """
        return Fraction(0), Fraction(0)

    @property
    def triple_covariance(self) -> Fraction | None:
        """Return the covariance of x' in A and x'' in A given x in A, the same for any three values.

        None if it depends on them, so that the covariances of estimates follow from the reports, not from their tally.
        """
        triple, rho = self.joint_inclusion(3), self.conditional_inclusion
        return None if triple is None or rho is None else triple / self.inclusion - rho**2

    def joint_inclusion(self, count: int) -> Fraction | None:
        """Return the probability that ``count`` given values are all in a noise block; None if it depends on them.

        Above two values it may be that of independent inclusions, where `triple_covariance` is None and limits of sums
        that are taken from it are conservative, as of hash functions.
        """
        return None

    @property
    def additions(self) -> tuple[float, float]:
        """Return roughly how many additions it takes to count a block, and to decode a tally, whatever its size."""
        return self.size * float(self.inclusion), self.size

    def coins(self, n: int, threshold: int, random: RandomSource) -> Coins:
        """Draw the coins of a batch, True with probability ``threshold / 2^64``, and perhaps noise from their words."""
        return Coins(half_toss(n, threshold, random))

    def fill(self, ranks: AnyArray, coins: Coins, random: RandomSource, out: Blocks) -> None:
        """Draw the blocks of a batch after its coins.

        Args:
            ranks: ``(m,)`` ranks of the values that the blocks of those who tell the truth must contain; of no meaning
                elsewhere.
            coins: theirs.
            random: the source of random words.
            out: columns of length m, to be filled.
        """
        self.draw(or_noise(ranks, coins.truth), random, out)

    blocks_alike: ClassVar[bool] = False
    """Whether all blocks of the alphabet are equally likely as noise."""

    def rare_chances(self, has_others: bool) -> list[Fraction] | None:
        """Return probabilities of noise blocks, the one that tells most in several rounds among them.

        None if there are too many blocks.

        Args:
            has_others: whether there are values beside the v, which no block contains.
        """
        if self.blocks_alike:
            return [Fraction(1, self.alphabet_size)]
        if self.alphabet_size * self.size > _MOST_LISTED:
            return None
        blocks, chances = self.alphabet()
        contained = self.contains(blocks)
        # A block of every value there is compares none with another.
        telling = contained.any(axis=1) & (has_others | ~contained.all(axis=1))
        return list(set(chances[telling].tolist()))

    has_joint_law: ClassVar[bool] = False
    """Whether the counts of many blocks can be drawn at once; see `draw_support`."""

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

    def members(self, blocks: Blocks) -> Iterator[tuple[IntArray, IntArray]]:
        """Yield stretches of blocks: ``(m,)`` numbers of members, and the ranks of the members, block by block."""
        step = max(_ENTRIES_AT_ONCE // self.size, 1)
        for start in range(0, block_count(blocks), step):
            contained = self.contains({name: column[start : start + step] for name, column in blocks.items()})
            yield contained.sum(axis=1), np.nonzero(contained)[1]

    def hit_distribution(self, m: int) -> HitDistribution:
        """Return the hit distribution of the m values that tell most of their users, or one that tells no less."""
        # Where rho depends on the two values, it is at least 0.
        return from_pairs(m, self.inclusion, self.conditional_inclusion or Fraction(0))

    def hits(self, m: FloatArray) -> FloatArray:
        """Return P(a noise block contains one of m values) for each m: the largest over the sets, or an upper bound."""
        return np.minimum(1.0, m * float(self.inclusion))

    # The matrix of a batch

    def membership(self, blocks: Blocks) -> Membership:
        """Return the matrix of ``blocks``, from their counts; for laws whose counts suffice."""
        counts = self.counts
        return counts.membership_of(counts.of(blocks))

    @property
    def abreast(self) -> int:
        """Return the number of reports in one piece of the matrix's layout; only the last piece may have fewer."""
        return 1

    def laid_out(self, blocks: Blocks) -> Blocks:
        """Return the columns from which the matrix is read: those of the reports, unless it has a layout of its own.

        The layouts of pieces, end to end, are that of the whole.
        """
        return blocks

    def membership_of_laid(self, laid: Blocks, rows: int) -> Membership:
        """Return the matrix of ``rows`` blocks, from its layout."""
        del rows
        return self.membership(laid)

    # The description

    def describe(self) -> dict[str, Any]:
        """Return the integers that determine the law, as values of JSON: its fields, unless it says otherwise."""
        return {"law": self.kind} | {part.name: getattr(self, part.name) for part in parts_of(self)}

    @classmethod
    def of_parts(cls, parts: dict[str, Any]) -> Self:
        """Return the law with these parts of a description, ``law`` apart; see `Registry.law_of`.

        Parts that follow from the others are left out here; the law's own description is compared with this one.

        Raises:
            ParameterError: if they define no law; foreign parts may raise other errors.
        """
        follow = {part.name for part in parts_of(cls) if not part.init}
        return cls(**{name: part for name, part in parts.items() if name not in follow})


def parts_of(law: Any) -> tuple[Field[Any], ...]:
    """Return the fields of a law that its description has."""
    return tuple(part for part in fields(law) if not part.name.startswith("_"))


def uniform(size: int) -> AnyArray:
    """Return the probabilities of ``size`` blocks that are equally likely, as fractions."""
    return np.full(size, Fraction(1, size), dtype=object)


# Additions for each count that is transformed, as measured: 10 to 40 for signs, 50 to 120 for translates.
_TRANSFORM = 100


class ListedLaw(BlockLaw):
    """A block law with few blocks, of which a tally counts each."""

    __slots__ = ()

    @property
    def counts(self) -> BlockCounts:
        """Return the counting of blocks, each by itself."""
        return BlockCounts(self, numbered=len(self.columns) == 1)

    @abstractmethod
    def places(self, blocks: Blocks) -> AnyArray:
        """Return the ``(m,)`` place of each block in the alphabet."""

    @abstractmethod
    def support_of(self, counts: IntArray) -> IntArray:
        """Return ``(v,)`` T, the numbers of blocks that contain each value, from the counts of the blocks."""

    @abstractmethod
    def membership_of(self, counts: IntArray) -> Membership:
        """Return the `WholeAlphabet` of blocks with these counts."""


class IndexedLaw(ListedLaw):
    """A block law whose block is one index below `alphabet_size`, uniform as noise.

    A law of this kind gives pi, rho, the draw, the membership of given blocks and of all of them (see `BlockCounts`).
    """

    __slots__ = ()

    blocks_alike: ClassVar[bool] = True
    index: ClassVar[str]
    """The name of the column of a report."""

    @property
    def columns(self) -> tuple[Column, ...]:
        """Return one column: the index of the block."""
        return (Column(self.index, smallest_unsigned(self.alphabet_size), bound=self.alphabet_size),)

    @property
    def additions(self) -> tuple[float, float]:
        """Return one for a block, and those of a transform of all counts; see `BlockLaw`."""
        return 1, _TRANSFORM * self.alphabet_size

    def places(self, blocks: Blocks) -> AnyArray:
        """Return the ``(m,)`` indices."""
        return blocks[self.index]

    def alphabet(self) -> tuple[Blocks, AnyArray]:
        """Return all blocks, uniform."""
        indices = np.arange(self.alphabet_size, dtype=smallest_unsigned(self.alphabet_size))
        return {self.index: indices}, uniform(len(indices))


@dataclass(frozen=True, slots=True, eq=False)
class WholeAlphabet(Membership):
    """The membership matrix of all blocks of a law, a row for each index; a law adds the products.

    Attributes:
        multiplicity: ``(rows,)`` counts of the blocks.
        size: v.
    """

    multiplicity: FloatArray = field()
    size: int = field()

    @property
    def rows(self) -> int:
        """Return the number of blocks."""
        return len(self.multiplicity)


@dataclass(frozen=True, slots=True, eq=False)
class StoredBlocks:
    """The blocks of reports that are not kept in this memory, and their tally.

    Attributes:
        tally: the counts of the reports.
        membership: the matrix of the blocks, in files or on other machines.
        rows_of: a function from a likelihood to its `Rows`, which sum over the blocks where they are; None for the
            rows of this process.
    """

    tally: Tally
    membership: Membership
    rows_of: Callable[[Any], Any] | None = None


Data: TypeAlias = Reports | Tally | StoredBlocks
"""What estimates are made of."""


@dataclass(frozen=True, eq=False)
class Evidence:
    """A tally that was checked, and the terms of the likelihood of its reports.

    Attributes:
        tally: the counts.
        contrast: c = 1/a; infinite for an explicit channel.
        covered: ``(|X|,)`` booleans: true for a value with a column of B; the others come in clear.
        truth: s, the probability that a value that is not covered comes in clear.
        noise: the probability of each value as noise, where each block is a single value; None elsewhere.
        information_left: the share of the information of the rows about a frequency that is left where the part that
            all reports have in common is unknown too.
        blocks: a function that returns the matrix B; None if the tally does not determine it.
        rows_of: as for `StoredBlocks`.
    """

    tally: Tally
    contrast: float
    covered: BoolArray
    truth: float = 1.0
    noise: float | None = None
    information_left: float = 1.0
    blocks: Callable[[], Membership] | None = None
    rows_of: Callable[[Any], Any] | None = None

    @cached_property
    def membership(self) -> Membership | None:
        """The matrix B as an operator; None if the tally does not determine it."""
        return None if self.blocks is None else self.blocks()


def needs_reports(method: str) -> ParameterError:
    """Return the refusal of a method that needs more than a tally."""
    return ParameterError(
        f"method {method!r} needs the reports of this mechanism, not only their tally; "
        "pass the reports, or choose linear, threshold, norm-sub or projected."
    )
