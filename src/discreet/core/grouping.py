"""Groups of people by public columns, and cells of values over which estimates are summed."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.arrays import FloatArray, IntArray
from discreet.core.checks import checked_choice, checked_whole
from discreet.core.columns import categories, names_of
from discreet.errors import DataError, ParameterError

MINIMUM = 20
"""Default number of people in the smallest group that is estimated."""

SMALL = ("refuse", "leave-out")
"""Treatments of groups with fewer people: raise an error, or leave them out."""


@dataclass(frozen=True, slots=True, eq=False)
class Grouping:
    """The groups of a batch of reports, and the group of each report.

    Attributes:
        names: names of the columns; empty for one column without a name.
        labels: labels of the groups, in order; tuples if there are several columns.
        codes: ``(n,)`` the group of each report, as an index of ``labels``.

    Example:
        >>> import discreet as dc
        >>> from discreet.core.grouping import Grouping
        >>> grouping = Grouping.of(["north", "south", "north"])
        >>> grouping.labels, grouping.codes.tolist()
        (['north', 'south'], [0, 1, 0])
    """

    names: tuple[str, ...]
    labels: list[Any]
    codes: IntArray

    @classmethod
    def of(cls, groups: Any) -> "Grouping":
        """Return the grouping by one column, or by the combinations of a table's columns that occur.

        Args:
            groups: ``(n,)`` texts, integers, or true and false; or a table or a mapping of such columns.

        Raises:
            DataError: if a column holds anything else, columns differ in length, or entries are missing.
        """
        if isinstance(groups, Grouping):
            return groups
        names = names_of(groups)
        if names is None:
            codes, labels = categories(groups)
            return cls((), labels, codes)
        if not names:
            raise DataError("groups.no-columns", argument="groups")
        if not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
            raise ParameterError("groups.column-names", argument="groups")
        columns = [categories(groups[name], f"groups {name!r}") for name in names]
        lengths = {len(codes) for codes, _ in columns}
        if len(lengths) > 1:
            raise DataError("groups.different-lengths", argument="groups", lengths=sorted(lengths))
        if len(columns) == 1:
            return cls(tuple(names), columns[0][1], columns[0][0])
        whole = np.stack([codes for codes, _ in columns], axis=1)
        cells, codes = np.unique(whole, axis=0, return_inverse=True)
        labels = [tuple(columns[at][1][place] for at, place in enumerate(cell)) for cell in cells.tolist()]
        return cls(tuple(names), labels, codes.reshape(-1))

    def take(self, rows: IntArray) -> "Grouping":
        """Return the grouping of the reports in some rows; groups without any of these reports are dropped."""
        places, codes = np.unique(self.codes[rows], return_inverse=True)
        return Grouping(self.names, [self.labels[place] for place in places.tolist()], codes.reshape(-1))

    def check_rows(self, rows: int) -> "Grouping":
        """Return this grouping; raise an error unless it has one group for each of ``rows`` reports.

        Raises:
            DataError: if the numbers differ.
        """
        if len(self.codes) != rows:
            raise DataError("groups.wrong-length", argument="groups", n=len(self.codes), rows=rows)
        return self


@dataclass(frozen=True, slots=True)
class SmallGroups:
    """The rule for groups with too few people: raise an error or leave them out, without naming them.

    Attributes:
        minimum: people in the smallest group that is estimated, at least 2.
        treatment: ``"refuse"`` or ``"leave-out"``.
    """

    minimum: int = MINIMUM
    treatment: str = "refuse"

    def __post_init__(self) -> None:
        """Raise an error if the minimum size of groups, or the treatment of smaller groups, is invalid.

        Raises:
            ParameterError: if the rule is invalid.
        """
        checked_whole("minimum", self.minimum, 2)
        checked_choice("small", self.treatment, SMALL)

    def check(self, sizes: Mapping[Any, int]) -> list[Any]:
        """Return the labels of the groups with enough people, in order.

        Raises:
            DataError: if a group is too small and the treatment is ``"refuse"``, or if all groups are too small.
        """
        large = [label for label, people in sizes.items() if people >= self.minimum]
        few = len(sizes) - len(large)
        if few and self.treatment == "refuse":
            raise DataError("groups.too-small", total=len(sizes), minimum=self.minimum, few=few)
        if not large:
            raise DataError("groups.all-too-small", minimum=self.minimum, few=few)
        return large


class ValueCells(ABC):
    """Disjoint sets of values, called cells; a value may be in no cell.

    Attributes:
        size: m, the number of cells.
    """

    __slots__ = ()

    size: int

    @abstractmethod
    def total(self, each: FloatArray) -> FloatArray:
        """Return ``(m,)`` totals: the sum of the ``(|X|,)`` numbers ``each`` over the values of each cell."""

    @abstractmethod
    def lifted(self, weights: FloatArray) -> FloatArray:
        """Return ``(|X|,)`` weights, one for each value: the weight of the value's cell, or 0 without a cell."""


@dataclass(frozen=True, slots=True, eq=False)
class CellPartition(ValueCells):
    """Disjoint cells, stored as a list of values with the cell of each value.

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
        """Return ``(m,)`` totals: the sum of the ``(|X|,)`` numbers ``each`` over the values of each cell."""
        return np.asarray(np.bincount(self.cells, each[self.codes], self.size), np.float64)

    def lifted(self, weights: FloatArray) -> FloatArray:
        """Return ``(|X|,)`` weights, one for each value: the weight of the value's cell, or 0 without a cell."""
        of_values = np.zeros(self.whole)
        of_values[self.codes] = weights[self.cells]
        return of_values


@dataclass(frozen=True, slots=True, eq=False)
class AxisPartition(ValueCells):
    """Cells of a marginal of an array: one cell for each combination of indices of the axes that remain.

    The last of these axes varies fastest.

    Attributes:
        size: m, the number of cells.
        shape: shape of the array, whose entries in order are the values.
        kept: axes of the marginal, in order.
    """

    size: int
    shape: tuple[int, ...]
    kept: tuple[int, ...]

    @property
    def _dropped(self) -> tuple[int, ...]:
        return tuple(axis for axis in range(len(self.shape)) if axis not in self.kept)

    def total(self, each: FloatArray) -> FloatArray:
        """Return ``(m,)`` totals: the sum of the ``(|X|,)`` numbers ``each`` over the values of each cell."""
        summed = each.reshape(self.shape).sum(axis=self._dropped)
        return np.ascontiguousarray(summed.transpose(np.argsort(np.argsort(self.kept)))).reshape(-1)

    def lifted(self, weights: FloatArray) -> FloatArray:
        """Return ``(|X|,)`` weights, one for each value: the weight of the value's cell."""
        in_order = weights.reshape([self.shape[axis] for axis in self.kept]).transpose(np.argsort(self.kept))
        return np.broadcast_to(np.expand_dims(in_order, self._dropped), self.shape).reshape(-1)
