"""Cells of text columns: their types, and the spellings of a missing cell.

In a text file 01 may be a label or a number; the reader of a column states which.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.arrays import BoolArray
from discreet.core.bots import WithBots
from discreet.core.domain import Domain
from discreet.core.grids import Grid
from discreet.core.labels import LabelSpace, Texts
from discreet.core.products import Product
from discreet.errors import DataError

# What the CSV reader of Arrow takes for a missing number, and three more: Python's, pandas' and MySQL's.
_NUMBERS_AWAY = "#N/A|#N/A N/A|#NA|-1.#IND|-1.#QNAN|-NaN|-nan|1.#IND|1.#QNAN|N/A|NA|NULL|NaN|n/a|nan|null"
SPELLINGS = frozenset(["", *_NUMBERS_AWAY.split("|"), "None", "<NA>", "\\N"])
"""Spellings of a missing cell in a text file, unless they are labels."""

_SHORT_INTEGER = r"^[+-]?[0-9]{1,18}(\.0*)?$"
_INTEGER = re.compile(r"[+-]?[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]{1,3})?", re.ASCII)
_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
_COMMA = r"^[+-]?[0-9]*,[0-9]+$"


class Kind(Enum):
    """The kind of a column's cells."""

    TEXT = "text"
    INTEGER = "integers"
    NUMBER = "numbers"
    ANY = "anything"


@dataclass(frozen=True, slots=True)
class Cells:
    """The reading of a column's cells: their kind and the spellings of a missing one.

    Attributes:
        kind: what they hold; ANY if that is to be told from the cells.
        labels: those spellings of a missing cell that are labels here; None if the cells are names (of users, of
            tags), of which an empty one is missing in any kind of file.
    """

    kind: Kind
    labels: frozenset[str] | None = frozenset()

    @property
    def spellings(self) -> frozenset[str]:
        """Spellings of a missing cell."""
        return SPELLINGS - (self.labels or frozenset())

    @property
    def type(self) -> pa.DataType | None:
        """The Arrow type; None if the cells decide."""
        return {Kind.TEXT: pa.string(), Kind.INTEGER: pa.int64(), Kind.NUMBER: pa.float64()}.get(self.kind)


NAMES = Cells(Kind.TEXT, None)
NUMBERS = Cells(Kind.NUMBER)
# Where labels are listed, NA is one of them (Namibia); an empty cell is none.
LISTED = Cells(Kind.TEXT, SPELLINGS - {""})
ANYTHING = Cells(Kind.ANY)


def cells_of(space: LabelSpace) -> Cells:
    """Return the reading of a column with values of a flat label space."""
    space = space.space if isinstance(space, WithBots) else space
    if not isinstance(space, Texts):
        return Cells(Kind.INTEGER)
    spelled = sorted(SPELLINGS)
    known = space.encode(spelled) >= 0
    return Cells(Kind.TEXT, frozenset(one for one, is_label in zip(spelled, known, strict=True) if is_label))


def columns_of(domain: Domain) -> Mapping[str, Cells] | None:
    """Return the reading of the columns of a domain's values by name; None for one column of any name."""
    space = domain.space.space if isinstance(domain.space, WithBots) else domain.space
    if isinstance(space, Product):
        return {name: cells_of(part) for name, part in space.attributes.items()}
    return {"lat": NUMBERS, "lon": NUMBERS} if isinstance(space, Grid) else None


def from_text(name: str, column: Any, cells: Cells, known: frozenset[str] = frozenset()) -> Any:
    """Return a column of text in its type, with nulls for missing cells.

    Args:
        name: of the column, for messages.
        column: an Arrow array or chunked array.
        cells: what it is read as.
        known: spellings that have been read as text, so far.

    Raises:
        DataError: if some cells are not of their kind; it says how many, and the row of the first.
    """
    import pyarrow.compute as pc

    left = known & cells.spellings
    if left:
        column = _without(column, pc.is_in(column, value_set=pa.array(sorted(left), column.type)))
    if cells.kind is Kind.TEXT:
        return column if "" in (cells.labels or ()) else without_empty(column)
    read, wrong = _whole_numbers(column) if cells.kind is Kind.INTEGER else _numbers(column)
    if wrong.any():
        raise DataError(_refusal(name, column, cells, wrong))
    return read


def without_empty(column: Any) -> Any:
    """Return a column of text with nulls for empty cells."""
    import pyarrow.compute as pc

    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode() if isinstance(column, pa.Array) else column.cast(column.type.value_type)
    return _without(column, pc.equal(pc.binary_length(column), 0))


def _without(column: Any, gone: Any) -> Any:
    import pyarrow.compute as pc

    return pc.if_else(gone, pa.scalar(None, column.type), column) if pc.any(gone).as_py() else column


def _whole_numbers(column: Any) -> tuple[Any, BoolArray]:
    """Return text as int64, and the cells that are no integers; 20.0 and 2e1 are integers."""
    import pyarrow.compute as pc

    trimmed = pc.utf8_trim_whitespace(column)
    short = pc.match_substring_regex(trimmed, _SHORT_INTEGER)
    plain = pc.replace_substring_regex(pc.if_else(short, trimmed, None), r"^\+|\.0*$", "")
    read = np.asarray(plain.cast(pa.int64()).fill_null(0)).copy()
    others = pc.dictionary_encode(pc.if_else(short, None, trimmed))
    others = others.combine_chunks() if isinstance(others, pa.ChunkedArray) else others
    numbers = [_whole(text) for text in others.dictionary.to_pylist()]
    known = np.array([number is not None for number in numbers] or [True])
    at = np.flatnonzero(np.asarray(others.is_valid()))
    places = np.asarray(others.drop_null().indices)
    read[at] = np.array([number or 0 for number in numbers] or [0], dtype=np.int64)[places]
    wrong = np.zeros(len(column), dtype=np.bool_)
    wrong[at] = ~known[places]
    return pa.array(read, mask=np.asarray(column.is_null())), wrong


def _whole(text: str) -> int | None:
    if not _INTEGER.fullmatch(text):
        return None
    number = Decimal(text)
    # Asked first: spelled out, 1e999 has a thousand digits.
    if number.adjusted() > 18 or number != number.to_integral_value():
        return None
    return int(number) if -(1 << 63) <= number < 1 << 63 else None


def _numbers(column: Any) -> tuple[Any, BoolArray]:
    import pyarrow.compute as pc

    trimmed = pc.utf8_trim_whitespace(column)
    fits = pc.match_substring_regex(trimmed, _NUMBER)
    wrong: BoolArray = ~np.asarray(fits.fill_null(True))
    return pc.if_else(fits, trimmed, None).cast(pa.float64()), wrong


def _refusal(name: str, column: Any, cells: Cells, wrong: BoolArray) -> str:
    import pyarrow.compute as pc

    commas = pc.match_substring_regex(pc.utf8_trim_whitespace(column), _COMMA).fill_null(False)
    advice = "write a decimal point, not a comma" if pc.any(commas).as_py() else "mend them or filter them out"
    count, first = np.count_nonzero(wrong), np.flatnonzero(wrong)[0]
    return (
        f"the column {name!r} must hold {cells.kind.value}, and {count} of its {len(wrong)} cells do not "
        f"(first at row {first}); {advice}."
    )


def from_typed(column: Any, cells: Cells) -> Any:
    """Return a typed column in the type of its cells, where that loses nothing.

    Integers that a missing one made floats of are integers again; names that are integers are spelled; all else stays
    as it is, for others to refuse.
    """
    whole = cells.kind is Kind.INTEGER or cells.labels is None
    if whole and pa.types.is_floating(column.type):
        import pyarrow.compute as pc

        numbers = pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column).cast(pa.float64())
        inside = pc.and_(pc.equal(pc.floor(numbers), numbers), pc.less(pc.abs(numbers), 2.0**53))
        column = numbers.cast(pa.int64()) if pc.all(inside).as_py() in (True, None) else column
    if cells.labels is not None:
        return column
    if pa.types.is_integer(column.type):
        return column.cast(pa.string())
    of = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    is_text = pa.types.is_string(of) or pa.types.is_large_string(of)
    return without_empty(column) if is_text else column
