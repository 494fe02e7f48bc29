"""The likelihood of reports, blocks and values in clear: one concave function for all mechanisms.

A report is a block A of sensitive values, with the likelihood 1 + c p(A) up to a constant, or a value in clear, with
the likelihood p_x. All values that are not sensitive act as one value, the *rest*: their estimates are proportional to
their counts. So the unknown is a *point*: the v sensitive frequencies and, if some values are not sensitive, the
frequency of the rest. Per report, in nats,

    F(point) = (1/n) (sum_i m_i ln(1 + c t_i) + M ln(rest)),  t = B p,

where row i of B is a block reported m_i times, and M reports are in clear. With z = c / (1 + c t) and u = m z / (n c),
the gradient of the homogeneous form (1 replaced by the sum of the point) is

    g = sum(u) + c B'u  on sensitive values,  g = sum(u) + M / (n rest)  on the rest;

point . g = 1 always, and max(g) - 1 is an upper bound on the distance of F from its maximum.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from discreet.arrays import AnyArray, FloatArray
from discreet.kernels.parallel import release_pages
from discreet.mechanisms.evidence import Membership

NewRows: TypeAlias = Callable[[int, Any], AnyArray]
"""A function that returns a new ``(rows,)`` array of a type, not filled, in memory or in files."""

# Rows per chunk: enough rows to occupy all threads, and few enough to need little memory. The number is a multiple of
# every law's `BlockLayout.piece_size`. The chunks depend on nothing but the number of all rows, and so do the sums.
STRETCH = 1 << 20
# Rows per piece of a chunk: three vectors of this length stay in the second-level cache.
PIECE = 8192
# Replaces a = 0; the square of this number is still above 0.
_TINY = 1e-150


@dataclass(frozen=True, slots=True, eq=False)
class RowLikelihood:
    """The likelihood of reports: the membership matrix of blocks, the contrast, and the number of reports in clear.

    Attributes:
        membership: The reported blocks.
        contrast: c = 1/a = e^epsilon - 1, from the epsilon that the sampler realises; infinite for the outputs of an
            explicit channel, whose probabilities are the rows of B.
        clear: M, the number of reports in clear; None if every value is sensitive.
        rows_of: A function from this likelihood to its `Rows`, which sum over the blocks where they are.
    """

    membership: Membership
    contrast: float
    clear: int | None = None
    rows_of: "MakeRows" = field(default_factory=lambda: LocalRows)

    @property
    def reports(self) -> float:
        """n, the number of reports whose likelihood is computed."""
        multiplicity = self.membership.multiplicity
        blocks = self.membership.rows if multiplicity is None else np.add.reduce(multiplicity)
        return float(blocks) + (self.clear or 0)

    @property
    def length(self) -> int:
        """The number of coordinates of a point: v, plus 1 if the values in clear have a common coordinate."""
        return self.membership.size + (self.clear is not None)


@dataclass(frozen=True, slots=True, eq=False)
class RowSums:
    """Sums over all rows of the likelihood, for one weight w of each row.

    Attributes:
        everywhere: sum(w).
        inside: ``(v,)`` B'w: for every value, the sum over the blocks that contain it.
    """

    everywhere: float
    inside: FloatArray


class Rows(ABC):
    """The rows of a likelihood: the number z = c / (1 + c t) of each row, and sums over all rows.

    The rows may be in this process or elsewhere.

    Attributes:
        single: Whether products are in single precision.
        has_single: Whether single precision is available.
        passes: The number of passes so far; a pass is one product and one transposed product.
    """

    single: bool = False
    has_single: bool = False
    passes: float = 0.0

    @abstractmethod
    def evaluate(self, members: FloatArray, *, keep: bool = True) -> RowSums:
        """Return the sums over all rows that the gradient needs, at the distribution ``members``, shape ``(v,)``.

        Args:
            members: p.
            keep: whether to keep the rows, for further steps from this distribution.
        """

    @abstractmethod
    def curvature(self) -> tuple[RowSums, float]:
        """Return the sums over all rows that the curvature needs, of m z^2, each divided by the returned number."""

    @abstractmethod
    def set_direction(self, step: FloatArray) -> None:
        """Set the direction ``step``, shape ``(v,)``, in which the next steps change the distribution."""

    @abstractmethod
    def slope(self, length: float) -> tuple[float, float]:
        """Return the first derivative of the log-likelihood after a step of this length, and minus the second."""

    @abstractmethod
    def advance(self, length: float, *, whole: bool) -> RowSums:
        """Move the distribution by a step of this length, and return the changes of the gradient's sums over rows.

        If ``whole``, return the sums of m z itself.
        """


MakeRows: TypeAlias = Callable[[RowLikelihood], Rows]


class LocalRows(Rows):
    """The rows of a likelihood in this process: the number w = 1/c + t of each row, and sums over all rows.

    The inverse of w is z, and w is linear: along a direction d it changes by B d per unit of step. Sums are added in a
    fixed order, so that they do not depend on threads. Rows are processed in chunks: only w and B d have an entry for
    every row, and ``new_rows`` creates these two vectors.

    Args:
        likelihood: The likelihood of the rows; its membership must be a matrix.
        new_rows: A function of a number of rows and a type that returns a new vector.
    """

    has_single = True

    def __init__(self, likelihood: RowLikelihood, new_rows: NewRows = np.empty) -> None:
        self._membership = likelihood.membership
        self._multiplicity, self._new_rows = likelihood.membership.multiplicity, new_rows
        # w where t = 0. No row may be less, even after rounding.
        self._least = max(1.0 / likelihood.contrast, _TINY)
        self._smallest = np.inf
        self._w: FloatArray | None = None
        self._along: AnyArray = np.empty(0)

    def evaluate(self, members: FloatArray, *, keep: bool = True) -> RowSums:
        """Return the sums over all rows that the gradient needs, at the distribution ``members``, shape ``(v,)``.

        Args:
            members: p.
            keep: whether to keep the rows, for further steps from this distribution.
        """
        self.passes += 0.5
        self._smallest = np.inf
        values, stored = self._values(members), self._weights() if keep else None

        def weights(rows: slice, part: Membership) -> FloatArray:
            w: FloatArray = np.asarray(part.dot(values), dtype=np.float64)
            w += self._least
            if stored is not None:
                stored[rows] = w
                self._smallest = min(self._smallest, float(w.min(initial=np.inf)))
            return self._times(np.divide(1.0, w, out=w), rows)

        return self._sums(weights)

    def curvature(self) -> tuple[RowSums, float]:
        """Return the sums over all rows that the curvature needs, of m z^2, each divided by the greatest z^2.

        The square of a large contrast would not fit into single precision.
        """
        w = self._weights()

        def weights(rows: slice, _part: Membership) -> FloatArray:
            relative = self._smallest / w[rows]
            relative *= relative
            return self._times(relative, rows)

        return self._sums(weights), self._smallest**-2

    def set_direction(self, step: FloatArray) -> None:
        """Set the direction of steps: compute the products of B with ``step``, shape ``(v,)``."""
        self.passes += 0.5
        values = self._values(step)
        for rows, part in self._chunks():
            product = part.dot(values)
            if not len(self._along) or self._along.dtype != product.dtype:
                self._along = self._new_rows(self._membership.rows, product.dtype)
            self._along[rows] = product

    def slope(self, length: float) -> tuple[float, float]:
        """Return the first derivative of the log-likelihood after a step of this length, and minus the second."""
        first = second = 0.0
        for rows, _ in self._chunks():
            for piece in _pieces(rows):
                along, _, after = self._moved(piece, length)
                ratios = np.divide(along, after, out=after)
                once = self._times(ratios, piece)
                first += float(np.add.reduce(once))
                second += float(np.einsum("i,i->", once, ratios))
        return first, second

    def advance(self, length: float, *, whole: bool) -> RowSums:
        """Move the distribution by a step of this length, and return the changes of the gradient's sums over rows."""
        self._smallest = np.inf

        def weights(rows: slice, _part: Membership) -> FloatArray:
            changes = np.empty(rows.stop - rows.start)
            for piece in _pieces(rows):
                here = changes[piece.start - rows.start : piece.stop - rows.start]
                _, w, after = self._moved(piece, length)
                self._smallest = min(self._smallest, float(after.min()))
                if whole:
                    np.divide(1.0, after, out=here)
                else:
                    np.subtract(w, after, out=here)
                    here /= w
                    here /= after
                w[:] = after
            return self._times(changes, rows)

        return self._sums(weights)

    @property
    def _precision(self) -> type[np.float32] | type[np.float64]:
        return np.float32 if self.single else np.float64

    def _values(self, values: FloatArray) -> AnyArray:
        return np.ascontiguousarray(values, dtype=self._precision)

    def _weights(self) -> FloatArray:
        if self._w is None:
            self._w = self._new_rows(self._membership.rows, np.float64)
        return self._w

    def _moved(self, rows: slice, length: float) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return, for some rows, the product of B with the direction, and w before and after a step of this length."""
        # In double precision, also if the products are in single precision.
        along, w = self._along[rows].astype(np.float64, copy=False), self._weights()[rows]
        after = along * length
        after += w
        return along, w, np.maximum(after, self._least, out=after)

    def _times(self, each: FloatArray, rows: slice) -> FloatArray:
        """Return the entry of each row times the row's multiplicity m; the same array if every row counts once."""
        return each if self._multiplicity is None else each * self._multiplicity[rows]

    def _sums(self, weights: Callable[[slice, Membership], FloatArray]) -> RowSums:
        self.passes += 0.5
        everywhere, inside = 0.0, np.zeros(self._membership.size)
        for rows, part in self._chunks():
            weighted = weights(rows, part)
            everywhere += float(np.add.reduce(weighted))
            inside += part.transpose_dot(weighted.astype(self._precision, copy=False))
        return RowSums(everywhere, inside)

    def _chunks(self) -> Iterator[tuple[slice, Membership]]:
        """Yield chunks of rows with the chunk's part of B; pages of vectors in files are released after each chunk."""
        for rows, part in self._membership.chunks(STRETCH):
            yield rows, part
            for vector in (self._w, self._along):
                if vector is not None:
                    release_pages(vector[rows])


def _pieces(rows: slice) -> Iterator[slice]:
    for start in range(rows.start, rows.stop, PIECE):
        yield slice(start, min(start + PIECE, rows.stop))
