"""The evidence of reports for a likelihood: a checked tally, and the membership matrix B of the blocks.

The matrix has a row per block and a column per value, and is an operator: its products with vectors are all that is
needed. A likelihood has rows a + (B p), and the counts of values in clear. A block has a = 1/c and its members as its
row of B; an output of an explicit channel has a = 0 and the column of Q.
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
class WholeAlphabet(Membership):
    """A membership matrix with a row for each of few blocks or outputs; who has one adds the products.

    Attributes:
        multiplicity: ``(rows,)`` counts of the blocks.
        size: v, or |X| for an explicit channel.
    """

    multiplicity: FloatArray = field()
    size: int = field()

    @property
    def rows(self) -> int:
        """Return the number of blocks."""
        return len(self.multiplicity)


@dataclass(frozen=True, slots=True, eq=False)
class EachValue(WholeAlphabet):
    """The membership matrix of blocks of one value: the identity, each value with its count."""

    def dot(self, values: Any) -> Any:
        """Return ``values``."""
        return np.array(values)

    def transpose_dot(self, weights: Any) -> FloatArray:
        """Return ``weights``."""
        return np.array(weights, dtype=np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class MatrixRows(WholeAlphabet):
    """The outputs of an explicit channel that were seen: rows of Q transposed, in place of zeros and ones.

    Attributes:
        matrix: ``(rows, |X|)`` probabilities Q(y|x), a row per output.
    """

    matrix: FloatArray

    def dot(self, values: Any) -> Any:
        """Return ``(rows,)`` probabilities of the outputs."""
        return self.matrix @ np.asarray(values, dtype=np.float64)

    def transpose_dot(self, weights: Any) -> FloatArray:
        """Return ``(|X|,)`` sums over the outputs."""
        return np.asarray(weights, dtype=np.float64) @ self.matrix


@dataclass(frozen=True, slots=True, eq=False)
class BitTiles(CutMembership):
    """Bits transposed in tiles of 32 reports.

    Attributes:
        laid: ``(ceil(m / 32), v)`` words; bit u of word [i, j] is bit j of report 32 i + u.
        rows: m.
        size: v.
        multiplicity: ``(m,)`` counts of the rows; None if each came once.
    """

    laid: AnyArray
    rows: int = field()
    size: int = field()
    multiplicity: FloatArray | None = None

    @classmethod
    def of(cls, bits: AnyArray, size: int) -> Self:
        """Return the matrix of packed reports."""
        from discreet.kernels.bits import transpose_tiles

        return cls(transpose_tiles(bits, size), len(bits), size)

    def dot(self, values: Any) -> Any:
        """Return ``(m,)`` B @ values, in the precision of ``values``."""
        from discreet.kernels.bits import tiles_dot

        return tiles_dot(self.laid, values, self.rows)

    def transpose_dot(self, weights: Any) -> FloatArray:
        """Return ``(v,)`` B.T @ weights."""
        from discreet.kernels.bits import tiles_dot_transposed

        return tiles_dot_transposed(self.laid, weights)

    def part(self, start: int, stop: int) -> Self:
        """Return rows start..stop - 1; the start is a multiple of 32."""
        return type(self)(self.laid[start // 32 : -(-stop // 32)], stop - start, self.size)


@dataclass(frozen=True, slots=True, eq=False)
class MemberLists(CutMembership):
    """The membership matrix of index lists.

    Attributes:
        members: ``(m, k)`` indices.
        size: v.
    """

    members: AnyArray
    size: int = field()

    @property
    def rows(self) -> int:
        """Return m."""
        return len(self.members)

    def dot(self, values: Any) -> Any:
        """Return ``(m,)`` B @ values."""
        from discreet.kernels.members import members_dot

        return members_dot(self.members, np.asarray(values, dtype=np.float64))

    def transpose_dot(self, weights: Any) -> FloatArray:
        """Return ``(v,)`` B.T @ weights."""
        from discreet.kernels.members import members_dot_transposed

        return members_dot_transposed(self.members, np.asarray(weights, dtype=np.float64), self.size)

    def part(self, start: int, stop: int) -> "MemberLists":
        """Return rows start..stop - 1."""
        return MemberLists(self.members[start:stop], self.size)


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
    return ParameterError("method.needs-reports", argument="method", method=method)
