"""Columns of identifiers, such as users or events: integers or text without missing cells, and codes for them."""

from typing import Any

import numpy as np

from discreet.arrays import AnyArray
from discreet.core import columns
from discreet.core.arrow import array_of, one_array, plain
from discreet.core.checks import is_single
from discreet.errors import DataError
from discreet.tables.text import without_empty


def identifier_codes(values: Any, wanted: str) -> tuple[AnyArray, int]:
    """Return codes 0, 1, ... for integers or text, in the order of first occurrence.

    Args:
        values: ``(m,)``; see `Traces.of`.
        wanted: a noun for the identifiers, for messages.

    Returns:
        ``(m,)`` int32 codes, and the number of different codes.

    Raises:
        DataError: if the values are neither integers nor text, or some are missing.
    """
    column = identifiers(values, wanted)
    coded = one_array((array_of(column) if isinstance(column, np.ndarray) else column).dictionary_encode())
    return np.asarray(coded.indices).astype(np.int32, copy=False), len(coded.dictionary)


def identifiers(values: Any, wanted: str) -> Any:
    """Return identifiers as ``(m,)`` int64, or as text in Arrow.

    Args:
        values: ``(m,)``; see `Traces.of`.
        wanted: a noun for the identifiers, for messages.

    Raises:
        DataError: if the values are neither integers nor text, or some are missing or empty text.
    """
    column = _integers_or_text(values, wanted)
    if isinstance(column, np.ndarray):
        return column
    gone = np.zeros(len(column), dtype=np.bool_)
    gone[missing_rows(column)] = True
    columns.refuse_missing(gone, wanted)
    return column


def missing_rows(values: Any) -> AnyArray:
    """Return the rows of an Arrow column with a missing cell: null, nan, or empty text.

    Args:
        values: ``(m,)``, an array.
    """
    return np.flatnonzero(columns.absent(without_empty(plain(values))))


def _integers_or_text(values: Any, wanted: str) -> Any:
    if is_single(values):
        raise DataError("identifiers.not-sequence", wanted=wanted, kind=type(values).__name__)
    values = values if hasattr(values, "__len__") and hasattr(values, "__getitem__") else list(values)
    if isinstance(values, np.ndarray) and values.dtype.kind in "iufb":
        return columns.integers(values, wanted)
    try:
        return columns.text(values, wanted)
    except DataError:
        pass
    try:
        return columns.integers(values, wanted)
    except DataError as error:
        if error.code != "column.not-integers":
            raise
        raise DataError("identifiers.wrong-kind", wanted=wanted) from None
