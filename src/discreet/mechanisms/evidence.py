"""The evidence in reports for a likelihood: a checked tally, and the membership matrix B of the blocks.

B has a row per block and a column per value. It is an operator: only its products with vectors are needed.
A likelihood has rows a + (B p), and the counts of values in clear. For a block a = 1/c, and its row of B marks its
members. For an output of an explicit channel a = 0, and the row is a column of Q.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np

from discreet.arrays import AnyArray, BoolArray, FloatArray
from discreet.core.reports import Reports
from discreet.core.tally import Tally
from discreet.errors import ParameterError


class Membership(ABC):
    """The membership matrix B of a batch of blocks, as an operator for products with vectors."""

    __slots__ = ()

    is_here: ClassVar[bool] = True
    """Whether this process has the rows; if not, the products are summed where the rows are."""

    @property
    @abstractmethod
    def rows(self) -> int:
        """The number of rows of the membership matrix, one per distinct block."""

    @property
    @abstractmethod
    def size(self) -> int:
        """The number of columns of the membership matrix: v, or |X| for an explicit channel."""

    @property
    def multiplicity(self) -> FloatArray | None:
        """``(rows,)`` counts of the blocks in the rows of the membership matrix; None if each block occurs once."""
        return None

    @abstractmethod
    def dot(self, values: Any) -> Any:
        """Return the ``(rows,)`` product B @ values with the membership matrix B, in the precision of ``values``."""

    @abstractmethod
    def transpose_dot(self, weights: Any) -> FloatArray:
        """Return the ``(v,)`` product B.T @ weights with the membership matrix B."""

    def chunks(self, most: int) -> Iterator[tuple[slice, "Membership"]]:
        """Yield slices of rows, each with its part of the matrix; one slice of all rows if a part would need a copy.

        Args:
            most: the largest number of rows in a chunk, a multiple of `BlockLayout.piece_size`.
        """
        del most
        yield slice(0, self.rows), self


class CutMembership(Membership):
    """A membership matrix that can be cut into chunks of rows without a copy."""

    __slots__ = ()

    @abstractmethod
    def part(self, start: int, stop: int) -> Membership:
        """Return the matrix of rows start..stop - 1; start is a multiple of `BlockLayout.piece_size`."""

    def chunks(self, most: int) -> Iterator[tuple[slice, Membership]]:
        """Yield slices of rows, each with its part of the membership matrix."""
        for start in range(0, self.rows, most):
            stop = min(start + most, self.rows)
            yield slice(start, stop), self.part(start, stop)


@dataclass(frozen=True, slots=True, eq=False)
class WholeAlphabet(Membership):
    """A membership matrix with one row per possible block or output, for small alphabets; subclasses add the products.

    Attributes:
        multiplicity: ``(rows,)`` counts of the blocks.
        size: v, or |X| for an explicit channel.
    """

    multiplicity: FloatArray = field()
    size: int = field()

    @property
    def rows(self) -> int:
        """Return the number of possible blocks, which are the rows of the membership matrix."""
        return len(self.multiplicity)


@dataclass(frozen=True, slots=True, eq=False)
class EachValue(WholeAlphabet):
    """The membership matrix of blocks of a single value: the identity, with the count of each value."""

    def dot(self, values: Any) -> Any:
        """Return the product B @ values for the identity matrix B: ``values``."""
        return np.array(values)

    def transpose_dot(self, weights: Any) -> FloatArray:
        """Return the product B.T @ weights for the identity matrix B: ``weights``."""
        return np.array(weights, dtype=np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class MatrixRows(WholeAlphabet):
    """The membership matrix of an explicit channel: a row for each observed output, which is a column of Q.

    Attributes:
        matrix: ``(rows, |X|)`` probabilities Q(y|x), a row per output.
    """

    matrix: FloatArray

    def dot(self, values: Any) -> Any:
        """Return the ``(rows,)`` probabilities of the outputs under the distribution ``values``."""
        return self.matrix @ np.asarray(values, dtype=np.float64)

    def transpose_dot(self, weights: Any) -> FloatArray:
        """Return ``(|X|,)`` sums of Q(y|x) over the outputs y, each times the weight of y."""
        return np.asarray(weights, dtype=np.float64) @ self.matrix


@dataclass(frozen=True, slots=True, eq=False)
class BitTiles(CutMembership):
    """A membership matrix as bits, which are stored in transposed tiles of 32 reports.

    Attributes:
        tiles: ``(ceil(m / 32), v)`` words; bit u of word [i, j] is bit j of report 32 i + u.
        rows: m.
        size: v.
        multiplicity: ``(m,)`` counts of the rows; None if each occurs once.
    """

    tiles: AnyArray
    rows: int = field()
    size: int = field()
    multiplicity: FloatArray | None = None

    @classmethod
    def of(cls, bits: AnyArray, size: int) -> Self:
        """Return the membership matrix of blocks, from bits that are packed report by report."""
        from discreet.kernels.bits import transpose_tiles

        return cls(transpose_tiles(bits, size), len(bits), size)

    def dot(self, values: Any) -> Any:
        """Return the ``(m,)`` product B @ values of the bits in B, in the precision of ``values``."""
        from discreet.kernels.bits import tiles_dot

        return tiles_dot(self.tiles, values, self.rows)

    def transpose_dot(self, weights: Any) -> FloatArray:
        """Return the ``(v,)`` product B.T @ weights of the bits in B."""
        from discreet.kernels.bits import tiles_dot_transposed

        return tiles_dot_transposed(self.tiles, weights)

    def part(self, start: int, stop: int) -> Self:
        """Return the rows start..stop - 1 of a matrix of bits; the start is a multiple of 32."""
        return type(self)(self.tiles[start // 32 : -(-stop // 32)], stop - start, self.size)


@dataclass(frozen=True, slots=True, eq=False)
class MemberLists(CutMembership):
    """The membership matrix of blocks that are stored as lists of members.

    Attributes:
        members: ``(m, k)`` indices.
        size: v.
    """

    members: AnyArray
    size: int = field()

    @property
    def rows(self) -> int:
        """Return m, the number of blocks with a list of members."""
        return len(self.members)

    def dot(self, values: Any) -> Any:
        """Return ``(m,)`` sums of ``values`` over the members of each block: the product B @ values."""
        from discreet.kernels.members import members_dot

        return members_dot(self.members, np.asarray(values, dtype=np.float64))

    def transpose_dot(self, weights: Any) -> FloatArray:
        """Return ``(v,)`` sums of the weights of the blocks that list each value: the product B.T @ weights."""
        from discreet.kernels.members import members_dot_transposed

        return members_dot_transposed(self.members, np.asarray(weights, dtype=np.float64), self.size)

    def part(self, start: int, stop: int) -> "MemberLists":
        """Return the blocks in rows start..stop - 1, as member lists."""
        return MemberLists(self.members[start:stop], self.size)


@dataclass(frozen=True, slots=True, eq=False)
class StoredBlocks:
    """A tally, and the membership matrix of blocks that are stored in files or on other machines.

    Attributes:
        tally: the counts of the reports.
        membership: the matrix of the blocks, in files or on other machines.
        rows_of: a function from a likelihood to its `Rows`, which sum over the blocks where they are stored; None if
            this process has the rows.
    """

    tally: Tally
    membership: Membership
    rows_of: Callable[[Any], Any] | None = None


Data: TypeAlias = Reports | Tally | StoredBlocks
"""The inputs of an estimate."""


@dataclass(frozen=True, eq=False)
class Evidence:
    """A checked tally, with the terms of the likelihood of its reports.

    Attributes:
        tally: the counts.
        contrast: c = 1/a; infinite for an explicit channel.
        covered: ``(|X|,)`` booleans: true for a value with a column of B; the other values are reported in clear.
        truth: s, the probability that a value that is not covered is reported in clear.
        noise: the probability of each value as noise, if each block is a single value; otherwise None.
        information_left: the share of the rows' information about a frequency that is left if the part common to all
            reports is unknown too.
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
        """The membership matrix B as an operator; None if the tally does not determine B."""
        return None if self.blocks is None else self.blocks()


def needs_reports(method: str) -> ParameterError:
    """Return the error for a method of estimation that needs reports and got a tally."""
    return ParameterError("method.needs-reports", argument="method", method=method)
