"""Partitions: values that are added up, as the marginal of a product or as any cells."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from discreet.arrays import FloatArray, IntArray


class ValueCells(Protocol):
    """Cells of values, which share none; values may be in no cell.

    Attributes:
        size: m, the number of cells.
    """

    size: int

    def total(self, each: FloatArray) -> FloatArray:
        """Return the ``(m,)`` sums over the cells of ``(|X|,)`` numbers."""
        ...

    def lifted(self, weights: FloatArray) -> FloatArray:
        """Return the ``(|X|,)`` weights of the values, from ``(m,)`` weights of their cells; 0 for those in none."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class CellPartition(ValueCells):
    """Cells as a list of values.

    Attributes:
        size: m, the number of cells.
        whole: |X|.
        codes: ``(k,)`` different values.
        cells: ``(k,)`` the cell of each, in 0..m - 1.
    """

    size: int
    whole: int
    codes: IntArray
    cells: IntArray

    def total(self, each: FloatArray) -> FloatArray:
        """Return the ``(m,)`` sums over the cells."""
        return np.asarray(np.bincount(self.cells, each[self.codes], self.size), np.float64)

    def lifted(self, weights: FloatArray) -> FloatArray:
        """Return the ``(|X|,)`` weights of the values."""
        found = np.zeros(self.whole)
        found[self.codes] = weights[self.cells]
        return found


@dataclass(frozen=True, slots=True, eq=False)
class AxisPartition(ValueCells):
    """The marginal of some axes of an array: cells are the combinations of their places, the last axis fastest.

    Attributes:
        size: m, the number of cells.
        shape: of the array, whose entries in order are the values.
        kept: the axes, in the order of the marginal.
    """

    size: int
    shape: tuple[int, ...]
    kept: tuple[int, ...]

    @property
    def _dropped(self) -> tuple[int, ...]:
        return tuple(axis for axis in range(len(self.shape)) if axis not in self.kept)

    def total(self, each: FloatArray) -> FloatArray:
        """Return the ``(m,)`` sums over the cells."""
        summed = each.reshape(self.shape).sum(axis=self._dropped)
        return np.ascontiguousarray(summed.transpose(np.argsort(np.argsort(self.kept)))).reshape(-1)

    def lifted(self, weights: FloatArray) -> FloatArray:
        """Return the ``(|X|,)`` weights of the values."""
        in_order = weights.reshape([self.shape[axis] for axis in self.kept]).transpose(np.argsort(self.kept))
        return np.broadcast_to(np.expand_dims(in_order, self._dropped), self.shape).reshape(-1)
