"""The membership matrix B of a batch of blocks, as an operator: a row per block, a column per value."""

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np

from discreet.arrays import AnyArray, FloatArray
from discreet.core.reports import Blocks


class Extent(Protocol):
    """The size of the matrix of a batch: a row per distinct block, a column per value."""

    @property
    def multiplicity(self) -> FloatArray | None:
        """``(rows,)`` counts of the blocks; None if each came once."""
        ...

    @property
    def rows(self) -> int:
        """The number of rows."""
        ...

    @property
    def size(self) -> int:
        """The number of columns: v, or |X| for an explicit channel."""
        ...


@runtime_checkable
class Membership(Extent, Protocol):
    """The membership matrix as an operator: its products with vectors."""

    def dot(self, values: Any) -> Any:
        """Return ``(rows,)`` B @ values, in the precision of ``values`` or better."""
        ...

    def transpose_dot(self, weights: Any) -> FloatArray:
        """Return ``(v,)`` B.T @ weights."""
        ...


@runtime_checkable
class Separable(Protocol):
    """A `Membership` that can be cut into stretches of rows without a copy."""

    def part(self, start: int, stop: int) -> Membership:
        """Return the matrix of rows start..stop - 1; start is a multiple of `LaidOut.abreast`."""
        ...


@runtime_checkable
class OnlyDouble(Protocol):
    """A `Membership` whose products run in double precision whatever they are given: single saves nothing."""

    only_double: ClassVar[bool]


@runtime_checkable
class LaidOut(Protocol):
    """A block law whose matrix is stored in another layout than the columns of its reports.

    The matrix of any other law is read from the columns as they are, and so from columns in files too.
    """

    @property
    def abreast(self) -> int:
        """Return the number of reports in one piece of the layout; only the last piece may have fewer."""
        ...

    def lay_out(self, blocks: Blocks) -> AnyArray:
        """Return the layout of the matrix of ``blocks``; the layouts of pieces, end to end, are that of the whole."""
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
        multiplicity: ``(rows,)`` counts of the outputs.
    """

    matrix: FloatArray
    multiplicity: FloatArray

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
