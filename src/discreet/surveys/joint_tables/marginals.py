"""Tables of several attributes and their marginals, by orthogonal effects.

Of each attribute a take the constant and orthonormal contrasts. Their products over the attributes of a set make an
orthogonal basis of its table, whose coefficients are *effects*: each of the attributes whose contrasts are in it, and
the same, but for a factor, in every table that has these attributes. So tables of several questions agree on their
marginals if they agree on their effects, and what questions determine is the effects of their own sets of attributes.
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
    """Return an orthogonal ``(size, size)`` matrix, whose first column is constant (Helmert's)."""
    matrix = np.tril(np.ones((size, size)), -1).T - np.diag(np.arange(size, dtype=np.float64))
    matrix[:, 0] = 1
    return np.asarray(matrix / np.sqrt((matrix**2).sum(axis=0)), np.float64)


def basis(sizes: Sequence[int]) -> FloatArray:
    """Return the orthogonal ``(cells, cells)`` basis of a table, a column per effect; the first one is constant."""
    columns: FloatArray = np.ones((1, 1))
    for size in sizes:
        columns = np.asarray(np.kron(columns, contrasts(size)), np.float64)
    return columns


@dataclass(frozen=True, eq=False)
class EffectSpace:
    """The effects that questions determine, but the constant one, in order.

    Attributes:
        sizes: number of labels of each attribute.
        questions: the attributes of each question, as places in ``sizes``, ascending.
    """

    sizes: tuple[int, ...]
    questions: tuple[Axes, ...]

    @cached_property
    def effects(self) -> IntArray:
        """The ``(r,)`` numbers of the effects, as cells of the whole table."""
        return np.unique(np.concatenate([self._numbers(axes) for axes in self.questions]))

    def places(self, axes: Axes) -> IntArray:
        """Return the places of the effects of a table that is part of a question, in the order of `design`."""
        return np.asarray(np.searchsorted(self.effects, self._numbers(axes)), np.int64)

    def design(self, axes: Axes) -> FloatArray:
        """Return the ``(cells, cells - 1)`` tables of the effects of a table, each as it is in that table."""
        sizes = [self.sizes[axis] for axis in axes]
        return np.asarray(basis(sizes)[:, 1:] / np.sqrt(prod(sizes)), np.float64)

    def _numbers(self, axes: Axes) -> IntArray:
        strides = [prod(self.sizes[axis + 1 :]) for axis in axes]
        places = np.indices([self.sizes[axis] for axis in axes]).reshape(len(axes), -1)
        return np.asarray(np.array(strides) @ places, np.int64)[1:]


def mixed(sizes: Sequence[int], weight: Callable[[Axes], float], tables: FloatArray) -> FloatArray:
    """Return tables with their effects multiplied, each by the weight of its attributes.

    Args:
        sizes: number of labels of each attribute.
        weight: of the effects of some attributes, by their places in ``sizes``.
        tables: ``(cells, m)`` of them.
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
