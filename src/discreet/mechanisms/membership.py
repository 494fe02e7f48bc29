"""The 0/1 matrix B of a batch of blocks, which says what block contains what value, as an operator."""

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from discreet.arrays import AnyArray, FloatArray
from discreet.core.reports import Blocks


class Extent(Protocol):
    """How large the matrix of a batch is: a row per distinct block, a column per value."""

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
    """The matrix itself, as an operator."""

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


@runtime_checkable
class LaidOut(Protocol):
    """A block law whose matrix is stored in another layout than the columns of its reports.

    The matrix of any other law is read from the columns as they are, and so from columns in files too.
    """

    @property
    def abreast(self) -> int:
        """Return how many reports are laid out together; only the last ones may be fewer."""
        ...

    def lay_out(self, blocks: Blocks) -> AnyArray:
        """Return the layout of the matrix of ``blocks``; laid out piece by piece, it is the same end to end."""
        ...

    def membership_of(self, laid: AnyArray, rows: int) -> Membership:
        """Return the matrix of ``rows`` blocks, from its layout."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class EachValue:
    """The membership matrix of blocks of one value: the identity, each value with its count."""

    multiplicity: FloatArray

    @property
    def rows(self) -> int:
        """Return v."""
        return len(self.multiplicity)

    @property
    def size(self) -> int:
        """Return v."""
        return len(self.multiplicity)

    def dot(self, values: Any) -> Any:
        """Return ``values``."""
        return np.array(values)

    def transpose_dot(self, weights: Any) -> FloatArray:
        """Return ``weights``."""
        return np.array(weights, dtype=np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class MatrixRows:
    """The outputs of an explicit channel that were seen: rows of Q transposed, in place of zeros and ones.

    Attributes:
        matrix: ``(rows, |X|)`` probabilities Q(y|x), a row per output.
        multiplicity: ``(rows,)`` how often each came.
    """

    matrix: FloatArray
    multiplicity: FloatArray

    @property
    def rows(self) -> int:
        """Return how many outputs were seen."""
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
        summed: FloatArray = np.asarray(weights, dtype=np.float64) @ self.matrix
        return summed
