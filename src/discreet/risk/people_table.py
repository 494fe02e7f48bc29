"""People by their quasi-identifiers: columns that others may know of somebody, such as age and postcode.

People with the same values in all of them are a *class*. A missing cell is a value of its own, and matches missing
cells only. Where it is taken to match everything (as sdcMicro counts it) classes are as large or larger, so that no
risk is smaller for it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.arrays import FloatArray, IntArray
from discreet.core.arrow import arrow_numbers, present
from discreet.errors import DataError, ParameterError
from discreet.risk.diversity import SensitiveColumn
from discreet.risk.generalisation import AS_IT_IS, Step, is_numeric, is_textual, noun_of

_MOST_KEYS = 1 << 62
# From here on floating point has no room for every whole number: people would seem alike who are not.
_EXACT = 1 << 53
# Of the people, whom a column alone tells apart before that is said.
_TELLING = 0.5


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PeopleTable:
    """People by their quasi-identifiers: the different combinations, and how many people have each.

    Attributes:
        names: of the quasi-identifiers.
        values: of each, its different values in Arrow.
        codes: of each, ``(cells,)`` codes of these values.
        counts: ``(cells,)`` people of the table.
        population: ``(cells,)`` people of the population; None if there is no table of one.
        missing: people of the table with a missing cell.
        sensitive: sensitive columns.

    Example:
        >>> import pyarrow as pa
        >>> keys = PeopleTable.of(pa.table({"age": [30, 30, 41], "sex": ["f", "f", "m"]}), ["age", "sex"])
        >>> keys.counts.tolist()
        [2, 1]
    """

    names: tuple[str, ...]
    values: tuple[Any, ...]
    codes: tuple[IntArray, ...]
    counts: IntArray
    population: IntArray | None
    missing: int
    sensitive: tuple[SensitiveColumn, ...] = ()

    @classmethod
    def of(
        cls, table: Any, quasi: Sequence[str], sensitive: Sequence[str] = (), population: Any = None
    ) -> "PeopleTable":
        """Return the people of a table in Arrow, a row each.

        Args:
            table: with all of these columns.
            quasi: names of quasi-identifiers, at least one.
            sensitive: names of sensitive columns.
            population: another table with the quasi-identifiers of everybody in the population, in the same types.

        Raises:
            DataError: if there is no row, or a column holds anything but text, numbers, dates or marks, or numbers of
                which different ones may have become one, or another kind of values than that of the population.
            ParameterError: if a column is named twice, or none is.
        """
        names = (*quasi, *sensitive)
        if not quasi or len(set(names)) < len(names):
            raise ParameterError("quasi-identifiers and sensitive columns must be named, each once, and one at least.")
        for what, each in (("people", table), ("the population", population)):
            if each is not None and not each.num_rows:
                raise DataError(f"the table of {what} must have a row at least, got none.")
        people = table.num_rows
        encoded = [_encoded(name, table, population) for name in quasi]
        gone = np.zeros(people, dtype=np.bool_)
        for codes, values in encoded:
            gone |= ~present(values)[codes[:people]]
        first, cells = _grouped([codes for codes, _ in encoded], [len(values) for _, values in encoded])
        count = len(first)
        return cls(
            tuple(quasi),
            tuple(values for _, values in encoded),
            tuple(codes[first] for codes, _ in encoded),
            np.bincount(cells[:people], minlength=count),
            None if population is None else np.bincount(cells[people:], minlength=count),
            int(np.count_nonzero(gone)),
            tuple(_sensitive(name, table, cells[:people]) for name in sensitive),
        )

    @property
    def people(self) -> int:
        """Number of people in the table."""
        return int(self.counts.sum())

    def written(self, steps: Mapping[str, Step]) -> "PeopleTable":
        """Return the table with some quasi-identifiers written more coarsely; errors as for `Step.of`.

        Raises:
            ParameterError: if a step is for another column.
        """
        for name in steps:
            if name not in self.names:
                raise ParameterError(f"{name!r} is none of the quasi-identifiers, {', '.join(self.names)}.")
        codes, values = list(self.codes), list(self.values)
        for at, name in enumerate(self.names):
            if steps.get(name, Step()).text != AS_IT_IS:
                coarse, values[at] = _coded(steps[name].of(name, self.values[at]))
                codes[at] = coarse[self.codes[at]]
        first, cells = _grouped(codes, [len(labels) for labels in values])
        summed = [
            None if counts is None else _sums(cells, counts, len(first)) for counts in (self.counts, self.population)
        ]
        assert summed[0] is not None
        return replace(
            self,
            values=tuple(values),
            codes=tuple(column[first] for column in codes),
            counts=summed[0],
            population=summed[1],
            sensitive=tuple(replace(attribute, cells=cells[attribute.cells]) for attribute in self.sensitive),
        )

    def without_rare(self, least: int) -> "PeopleTable":
        """Return the table without the people in classes of fewer than ``least`` people."""
        is_common = self.counts >= least
        return replace(
            self,
            counts=np.where(is_common, self.counts, 0),
            sensitive=tuple(
                replace(attribute, counts=np.where(is_common[attribute.cells], attribute.counts, 0))
                for attribute in self.sensitive
            ),
        )

    def sizes(self) -> tuple[IntArray, IntArray]:
        """Return ``(K,)`` sizes of the classes in the table, and in the population, if there is a table of it.

        A population that has fewer people of a class than the table lacks some; the class counts with those of the
        table.
        """
        there = self.counts > 0
        sizes = self.counts[there]
        return sizes, sizes if self.population is None else np.maximum(self.population[there], sizes)

    def entropies(self) -> FloatArray:
        """Return the ``(q,)`` entropies of the quasi-identifiers over the people of the table, in bits."""
        shares = [np.bincount(codes, weights=self.counts) / max(self.people, 1) for codes in self.codes]
        return np.array([-float(np.sum(share[share > 0] * np.log2(share[share > 0]))) for share in shares])

    def telling(self) -> tuple[tuple[str, float], ...]:
        """Return the columns that tell over half of the people apart from everybody else by themselves, with shares."""
        alone = [np.count_nonzero(np.bincount(codes, weights=self.counts) == 1) / self.people for codes in self.codes]
        return tuple((name, share) for name, share in zip(self.names, alone, strict=True) if share > _TELLING)


def written_table(
    table: Any, steps: Mapping[str, Step], sensitive: Sequence[str] = (), *, least: int = 1, population: Any = None
) -> Any:
    """Return the table in Arrow that is published: its quasi-identifiers written more coarsely, few columns, few rows.

    Args:
        table: as for `PeopleTable.of`.
        steps: of all quasi-identifiers.
        sensitive: columns that are published as they are; no others are.
        least: people in classes of fewer are left out.
        population: as for `PeopleTable.of`; shorter numbers are filled up alike in both.

    Returns:
        The table, in the order of its values, so that the order of the people tells nothing.

    Example:
        >>> import pyarrow as pa
        >>> people = pa.table({"age": [31, 34, 62], "name": ["Ada", "Ben", "Eve"]})
        >>> written_table(people, {"age": Step("10-year")}, least=2).to_pydict()
        {'age': ['[30, 40)', '[30, 40)']}
    """
    columns, numbers, sizes = dict[str, Any](), list[IntArray](), list[int]()
    for name, step in steps.items():
        codes, fine = _encoded(name, table, population)
        coarse, values = _coded(step.of(name, fine))
        numbers.append(coarse[codes[: table.num_rows]])
        sizes.append(len(values))
        columns[name] = values.take(pa.array(numbers[-1]))
    classes = _grouped(numbers, sizes)[1]
    columns |= {name: _plain(name, table[name]) for name in sensitive}
    left = pa.table(columns).filter(pa.array(np.bincount(classes)[classes] >= least))
    return left.sort_by([(name, "ascending") for name in columns])


def _encoded(name: str, table: Any, population: Any) -> tuple[IntArray, Any]:
    """Return ``(n,)`` codes of a column, those of the population after those of the table, and the values."""
    parts = [_plain(name, source[name]) for source in (table, population) if source is not None]
    if len({str(part.type) for part in parts}) > 1:
        kinds = {is_numeric(part.type) or pa.types.is_null(part.type) for part in parts}
        texts = {is_textual(part.type) or pa.types.is_null(part.type) for part in parts}
        if kinds != {True} and texts != {True}:
            raise DataError(
                f"the column {name!r} holds {noun_of(parts[0].type)} in the table and {noun_of(parts[1].type)} in the "
                "population; write it alike in both."
            )
        common = pa.float64() if kinds == {True} else pa.large_string()
        parts = [_plain(name, part.cast(common, safe=False)) for part in parts]
    return _coded(pa.chunked_array([chunk for part in parts for chunk in part.chunks], parts[0].type))


def _plain(name: str, column: Any) -> Any:
    """Return a column as a chunked array of single values, nan as missing."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    kind = column.type
    if pa.types.is_nested(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        raise DataError(f"the column {name!r} must hold text, numbers, dates or marks, got {kind}.")
    column = column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])
    if not pa.types.is_floating(kind):
        return column
    column = pc.if_else(pc.is_nan(column), pa.scalar(None, kind), column)
    if pc.any(pc.greater_equal(pc.abs(column.cast(pa.float64())), _EXACT)).as_py():
        raise DataError(
            f"the column {name!r} holds numbers of {_EXACT} or more that were read with a decimal point, so that "
            "different ones may have become one; write them as text or leave the column out."
        )
    return column


def _coded(column: Any) -> tuple[IntArray, Any]:
    """Return ``(n,)`` codes of a column in Arrow and its different values, of which a missing one is one."""
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if pa.types.is_null(whole.type):
        return np.zeros(len(whole), dtype=np.int64), pa.nulls(min(len(whole), 1))
    encoded = whole.dictionary_encode(null_encoding="encode")
    return arrow_numbers(encoded.indices).astype(np.int64), encoded.dictionary


def _grouped(columns: Sequence[IntArray], sizes: Sequence[int]) -> tuple[IntArray, IntArray]:
    """Return the first row of each class of rows that are alike in all columns, and the class of each row."""
    key, room = np.zeros(len(columns[0]), dtype=np.int64), 1
    for codes, size in zip(columns, sizes, strict=True):
        if room * size > _MOST_KEYS:
            key = np.unique(key, return_inverse=True)[1]
            room = int(key.max()) + 1
        key, room = key * size + codes, room * size
    _, first, classes = np.unique(key, return_index=True, return_inverse=True)
    return first, classes


def _sums(classes: IntArray, counts: IntArray, size: int) -> IntArray:
    return np.bincount(classes, weights=counts, minlength=size).astype(np.int64)


def _sensitive(name: str, table: Any, cells: IntArray) -> SensitiveColumn:
    codes, values = _coded(_plain(name, table[name]))
    size = len(values) - values.null_count
    if not size:
        raise DataError(f"the sensitive column {name!r} has no values at all; leave it out.")
    valid = present(values)
    ranks = np.full(len(values), size)
    ranks[np.flatnonzero(valid)[np.asarray(pc.sort_indices(values.drop_null()))]] = np.arange(size)
    ranked = ranks[codes]
    there = ranked < size
    pairs, counts = np.unique(cells[there] * size + ranked[there], return_counts=True)
    is_ordered = not (is_textual(values.type) or str(values.type) == "bool")
    return SensitiveColumn(name, size, is_ordered, *np.divmod(pairs, size), counts, int(np.count_nonzero(~there)))
