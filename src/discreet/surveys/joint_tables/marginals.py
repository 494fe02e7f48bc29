"""Orthogonal effects of tables of several attributes, from which the tables' marginals follow.

The functions of one attribute have a basis: the constant, and orthonormal contrasts. The products of these functions
over several attributes are an orthogonal basis of the attributes' table. The coefficients of this basis are *effects*.
An effect belongs to the attributes whose contrasts it contains. It is the same, up to a factor, in every table that
includes these attributes. So tables of several questions agree on their marginals if they agree on their effects.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod

import numpy as np

from discreet.arrays import FloatArray, IntArray

Axes = tuple[int, ...]


def contrasts(size: int) -> FloatArray:
    """Return Helmert's orthogonal ``(size, size)`` matrix, whose first column is constant."""
    matrix = np.tril(np.ones((size, size)), -1).T - np.diag(np.arange(size, dtype=np.float64))
    matrix[:, 0] = 1
    return np.asarray(matrix / np.sqrt((matrix**2).sum(axis=0)), np.float64)


def basis(sizes: Sequence[int]) -> FloatArray:
    """Return the orthogonal ``(cells, cells)`` basis of a table: one column for each effect, the constant first."""
    columns: FloatArray = np.ones((1, 1))
    for size in sizes:
        columns = np.asarray(np.kron(columns, contrasts(size)), np.float64)
    return columns


@dataclass(frozen=True, eq=False)
class EffectSpace:
    """The orthogonal effects that a survey's questions determine, in ascending order, without the constant effect.

    Attributes:
        sizes: number of labels of each attribute.
        questions: the attributes of each question, as ascending indices in ``sizes``.
    """

    sizes: tuple[int, ...]
    questions: tuple[Axes, ...]

    @cached_property
    def effects(self) -> IntArray:
        """The ``(r,)`` numbers of the effects. An effect has the number of a cell of the table of all attributes."""
        return np.unique(np.concatenate([self._numbers(axes) for axes in self.questions]))

    def places(self, axes: Axes) -> IntArray:
        """Return the indices in `effects` of the effects of one question's table, in the order of `design`."""
        return np.asarray(np.searchsorted(self.effects, self._numbers(axes)), np.int64)

    def design(self, axes: Axes) -> FloatArray:
        """Return the ``(cells, cells - 1)`` matrix of one table's effects, without the constant effect."""
        sizes = [self.sizes[axis] for axis in axes]
        return np.asarray(basis(sizes)[:, 1:] / np.sqrt(prod(sizes)), np.float64)

    def _numbers(self, axes: Axes) -> IntArray:
        strides = [prod(self.sizes[axis + 1 :]) for axis in axes]
        places = np.indices([self.sizes[axis] for axis in axes]).reshape(len(axes), -1)
        return np.asarray(np.array(strides) @ places, np.int64)[1:]


def mixed(sizes: Sequence[int], weight: Callable[[Axes], float], tables: FloatArray) -> FloatArray:
    """Return tables in which the effects of each set of attributes are multiplied by the weight of the set.

    Args:
        sizes: number of labels of each attribute.
        weight: a function that returns the weight of the effects of some attributes, given as indices in ``sizes``.
        tables: the ``(cells, m)`` matrix of m tables.
    """
    whole = tables.reshape(*sizes, -1)
    for axis, size in enumerate(sizes):
        whole = np.moveaxis(np.tensordot(contrasts(size).T, whole, (1, axis)), 0, axis)
    for used in product((False, True), repeat=len(sizes)):
        axes = tuple(axis for axis, is_used in enumerate(used) if is_used)
        whole[tuple(slice(1, None) if is_used else slice(1) for is_used in used)] *= weight(axes)
    for axis, size in enumerate(sizes):
        whole = np.moveaxis(np.tensordot(contrasts(size), whole, (1, axis)), 0, axis)
    return np.asarray(whole.reshape(tables.shape), np.float64)
