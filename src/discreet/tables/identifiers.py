"""Columns of identifiers, such as users or events: integers or text without missing cells, and codes for them."""

from typing import Any

import numpy as np
import pyarrow as pa

from discreet.arrays import AnyArray
from discreet.core import columns
from discreet.core.arrow import is_textual, one_array
from discreet.core.checks import is_single
from discreet.errors import DataError


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
    array = pa.array(column) if isinstance(column, np.ndarray) else column
    if pa.types.is_dictionary(array.type):
        # A dictionary may hold unused or repeated entries, so its entries are encoded first, and then the rows.
        names = np.asarray(array.dictionary.dictionary_encode().indices)
        array = pa.array(names[np.asarray(array.indices)])
    coded = one_array(array.dictionary_encode())
    return np.asarray(coded.indices).astype(np.int32, copy=False), len(coded.dictionary)


def identifiers(values: Any, wanted: str) -> Any:
    """Return identifiers as ``(m,)`` int64, or as text in Arrow: large strings, or a dictionary of text.

    Args:
        values: ``(m,)``; see `Traces.of`.
        wanted: a noun for the identifiers, for messages.

    Raises:
        DataError: if the values are neither integers nor text, or some are missing or empty text.
    """
    column = _integers_or_text(values, wanted)
    if isinstance(column, np.ndarray):
        return column
    if pa.types.is_dictionary(column.type) and column.dictionary.null_count:
        # If an entry of the dictionary is missing, Arrow counts its rows as missing only after decoding.
        column = column.dictionary_decode().cast(pa.large_string())
    gone = np.zeros(len(column), dtype=np.bool_)
    gone[missing_rows(column)] = True
    columns.refuse_missing(gone, wanted)
    return column


def missing_rows(values: Any) -> AnyArray:
    """Return the rows of an Arrow column with a missing cell: null, nan, or empty text.

    Args:
        values: ``(m,)``, an array.
    """
    import pyarrow.compute as pc

    gone = values.is_null(nan_is_null=pa.types.is_floating(values.type))
    if pa.types.is_dictionary(values.type):
        entries = missing_rows(values.dictionary)
        if len(entries):
            gone = pc.or_(gone, pc.is_in(values.indices, value_set=pa.array(entries).cast(values.indices.type)))
    elif pa.types.is_string_view(values.type):
        return missing_rows(values.cast(pa.large_string()))
    elif is_textual(values.type):
        gone = pc.or_(gone, pc.fill_null(pc.equal(pc.binary_length(values), 0), fill_value=True))
    return np.flatnonzero(np.asarray(gone))


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
