"""Reports beside public columns: the identification probability within a class of people.

People with the same values in all public columns are a *class*. An adversary who knows a person's columns searches for
that person's report among the f reports of the class. A guess succeeds with probability 1/f. With the reports, the
adversary succeeds with at most the mechanism's identification bound for f users, which some source attains.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.arrays import FloatArray, IntArray
from discreet.core.arrow import arrow_numbers, plain, plain_type, present
from discreet.core.result_table import number_of
from discreet.errors import DataError, ParameterError
from discreet.mechanisms import Mechanism
from discreet.risk.bounds.identification import identification_bounds

# Sizes of classes for which the bound is computed. A size between two of them gets the bound of the smaller one.
_SIZES = 40


@dataclass(frozen=True, slots=True)
class ClassRisk:
    """The identification risk of reports that are published beside public columns.

    Attributes:
        columns: names of the public columns.
        people: number of people, one report each.
        missing: number of people with a missing cell; a missing cell counts as a separate value.
        classes: number of classes.
        smallest: people in the smallest class.
        alone: number of people without another person in their class.
        guessed: mean over people of 1/f, the probability of success of a guess without the reports.
        identified: mean over people of the bound with the reports.
        worst: the largest bound of a class.

    Example:
        >>> import discreet as dc
        >>> import pyarrow as pa
        >>> table = pa.table({"age": [30, 30, 41, 41], "sex": ["f", "f", "m", "m"]})
        >>> risk = class_risk(dc.RandomizedResponse(dc.Domain(["yes", "no"]), 1.0), table)
        >>> risk.classes, risk.guessed, round(risk.worst, 3)
        (2, 0.5, 0.731)
    """

    columns: tuple[str, ...]
    people: int
    missing: int
    classes: int
    smallest: int
    alone: int
    guessed: float
    identified: float
    worst: float

    @property
    def heading(self) -> str:
        """A line with the number of people and classes, and the columns."""
        return f"{_people(self.people)} in {number_of(self.classes, 'class', 'classes')} of {', '.join(self.columns)}"

    @property
    def answer(self) -> str:
        """The sentence on the share of people identified."""
        return (
            f"An attacker who knows {', '.join(self.columns)} and sees the reports identifies at most "
            f"{self.identified:.1%} of the {_people(self.people)}, and at most {self.worst:.1%} in the worst class."
        )

    @property
    def sentences(self) -> tuple[str, ...]:
        """The conditions of the result, as sentences."""
        lines = [
            f"The smallest class has {_people(self.smallest)}. Alone in their class: {_people(self.alone)} "
            f"({self.alone / self.people:.2%})."
        ]
        if self.missing:
            lines.append(f"Missing cells: {_people(self.missing)}. A missing cell is a value of its own.")
        lines.append(
            "Each row counts as one person with one report. The bound holds for every attack, on average over the "
            "people of a class."
        )
        return tuple(lines)


def class_risk(mechanism: Mechanism, table: Any) -> ClassRisk:
    """Return the identification risk of reports of a mechanism beside public columns.

    Args:
        mechanism: the mechanism of one report per person.
        table: the public columns as an Arrow table with a row per person; equal cells must have the same text.

    Raises:
        DataError: if there is no row, or a column holds lists or other nested values.
        ParameterError: if there is no column, or two columns have one name.

    Example:
        >>> import discreet as dc
        >>> import pyarrow as pa
        >>> mechanism = dc.RandomizedResponse(dc.Domain(["yes", "no"]), 1.0)
        >>> class_risk(mechanism, pa.table({"zip": ["02139", "02139", "02140"]})).alone
        1
    """
    cells = written_cells(table)
    if not cells.num_rows:
        raise DataError("risk-table.empty")
    sizes = _class_sizes(cells)
    bounds, people = _bounds(mechanism, sizes), int(sizes.sum())
    gone = np.logical_or.reduce([~present(column) for column in cells.columns])
    return ClassRisk(
        tuple(cells.column_names),
        people,
        int(gone.sum()),
        len(sizes),
        int(sizes.min()),
        int(np.count_nonzero(sizes == 1)),
        len(sizes) / people,
        float(sizes @ bounds / people),
        float(bounds.max()),
    )


def _people(count: int) -> str:
    return number_of(count, "person", "people")


def written_cells(table: Any) -> Any:
    """Return an Arrow table with its columns as text, so that tables from several files can be joined.

    Raises:
        DataError: if a column holds lists or other nested values.
        ParameterError: if there is no column, or two columns have one name.

    Example:
        >>> import pyarrow as pa
        >>> written_cells(pa.table({"age": [30, None]})).to_pydict()
        {'age': ['30', None]}
    """
    names = table.column_names
    if not names or len(set(names)) < len(names):
        raise ParameterError("public-columns.unnamed", argument="by")
    return pa.table({name: _text(name, table[name]) for name in names})


def _text(name: str, column: Any) -> Any:
    kind = plain_type(column.type)
    if pa.types.is_nested(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        raise DataError("public-columns.wrong-type", name=name, kind=kind)
    return plain(column).cast(pa.large_string())


def _class_sizes(cells: Any) -> IntArray:
    """Return the ``(K,)`` numbers of rows that are equal in all columns."""
    keys = [str(place) for place in range(cells.num_columns)]
    grouped = cells.rename_columns(keys).group_by(keys, use_threads=False).aggregate([([], "count_all")])
    return arrow_numbers(grouped["count_all"]).astype(np.int64)


def _bounds(mechanism: Mechanism, classes: IntArray) -> FloatArray:
    """Return the ``(K,)`` identification bounds of classes, by size; the bound never grows with the size."""
    sizes = np.unique(classes)
    if len(sizes) > _SIZES:
        sizes = sizes[np.unique(np.geomspace(1, len(sizes), _SIZES).astype(np.int64)) - 1]
    chances = [1.0 if size == 1 else identification_bounds(mechanism, int(size)).identification.value for size in sizes]
    return np.array(chances)[np.searchsorted(sizes, classes, side="right") - 1]
