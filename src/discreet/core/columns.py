"""Reads a column of values from whatever holds it: NumPy, pandas, polars, Arrow or a plain sequence.

Two shapes come out, both vectorised: a NumPy array for numbers and an Arrow array for text. Arrow is imported only
when text comes in.
"""

from collections.abc import Iterable, Sized
from typing import Any

import numpy as np

from discreet.arrays import AnyArray, IntArray
from discreet.errors import DataError

MISSING = -2
"""Code of a value that is missing."""
OUTSIDE = -1
"""Code of a value that is not in the domain."""


def integers(values: Any, wanted: str = "values") -> IntArray:
    """Return a column of integers as ``(n,)`` int64; missing values are refused.

    Raises:
        DataError: if it holds anything but integers.
    """
    column = _numpy_column(values, wanted)
    if column.dtype.kind not in "iu":
        _refuse_missing_numbers(column, wanted)
        raise DataError(f"{wanted} must be integers, got {_described(column)}.")
    if column.dtype == np.uint64 and len(column) and column.max() > np.iinfo(np.int64).max:
        raise DataError(f"{wanted} must fit into 64 signed bits.")
    return column.astype(np.int64, copy=False)


def numbers(values: Any, wanted: str = "values") -> AnyArray:
    """Return a column of numbers as ``(n,)`` float64; missing ones are nan."""
    column = _numpy_column(values, wanted)
    if column.dtype.kind == "O":
        column = np.array([np.nan if value is None else value for value in column], dtype=object)
    try:
        if column.dtype.kind in "iufO":
            return column.astype(np.float64)
    except (TypeError, ValueError):  # its message holds a value
        pass
    raise DataError(f"{wanted} must be numbers, got {_described(column)}.")


def text(values: Any, wanted: str = "values") -> Any:
    """Return a column of text as an Arrow array of strings or of a dictionary of strings.

    Raises:
        DataError: if it holds anything but text.
    """
    import pyarrow as pa

    column = _arrow_column(values, wanted)
    if pa.types.is_dictionary(column.type):
        column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        column = column.chunk(0) if isinstance(column, pa.ChunkedArray) else column
        if _is_text(column.type.value_type):
            return column
    if pa.types.is_null(column.type):
        return column.cast(pa.string())
    if not _is_text(column.type):
        raise DataError(f"{wanted} must be text, as the labels are, got {column.type}.")
    return column.cast(pa.large_string())


def _is_text(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _arrow_column(values: Any, wanted: str) -> Any:
    import pyarrow as pa

    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise DataError(f"{wanted} must be a sequence, got a single {type(values).__name__}.")
    try:
        if hasattr(values, "__arrow_c_stream__"):
            return pa.chunked_array(values)
        if hasattr(values, "__arrow_c_array__"):
            return pa.array(values)
        plain = values.to_numpy() if hasattr(values, "to_numpy") else values
        plain = plain if isinstance(plain, np.ndarray) else list(plain)
        return pa.array(plain, from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
        raise DataError(f"{wanted} must all be of one kind, text or integers.") from None


def _numpy_column(values: Any, wanted: str) -> AnyArray:
    if isinstance(values, np.ndarray):
        column = values
    elif isinstance(values, range):
        column = np.arange(values.start, values.stop, values.step)
    elif hasattr(values, "__arrow_c_stream__") or hasattr(values, "__arrow_c_array__"):
        column = _from_arrow(values, wanted)
    elif hasattr(values, "to_numpy"):
        column = values.to_numpy()
    else:
        column = _from_sequence(values, wanted)
    if column.ndim != 1:
        raise DataError(f"{wanted} must be one column, got an array of shape {column.shape}.")
    return column


def _from_arrow(values: Any, wanted: str) -> AnyArray:
    column = _arrow_column(values, wanted)
    if column.null_count:
        rows = np.flatnonzero(np.asarray(column.is_null()))
        raise DataError(missing_message(len(rows), len(column), int(rows[0]), wanted))
    return np.asarray(column)


def _from_sequence(values: Any, wanted: str) -> AnyArray:
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise DataError(f"{wanted} must be a sequence, got a single {type(values).__name__}.")
    plain = values if isinstance(values, Sized) else list(values)
    try:
        column = np.asarray(plain)
    except ValueError:
        raise DataError(f"{wanted} must be one flat column.") from None
    if column.ndim == 0:
        raise DataError(f"{wanted} must be a sequence, got a {type(values).__name__}.")
    return column if len(column) else column.astype(np.int64)


def _refuse_missing_numbers(column: AnyArray, wanted: str) -> None:
    if column.dtype.kind == "f":
        rows = np.flatnonzero(np.isnan(column))
    elif column.dtype.kind == "O":
        # nan is the one float that differs from itself
        rows = np.flatnonzero([value is None or bool(value != value) for value in column])  # noqa: PLR0124
    else:
        return
    if len(rows):
        raise DataError(missing_message(len(rows), len(column), int(rows[0]), wanted))


def _described(column: AnyArray) -> str:
    kinds = {"f": "floats", "b": "booleans", "U": "text", "S": "bytes", "O": "mixed objects", "M": "dates"}
    return kinds.get(column.dtype.kind, str(column.dtype))


def missing_message(count: int, total: int, row: int, wanted: str = "values") -> str:
    """Say how many values are missing and where the first one is, never what surrounds it."""
    return f"{count} of {total} {wanted} are missing (first at row {row}); fill them in or filter them out."
