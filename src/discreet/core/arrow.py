"""Conversion between Arrow arrays and NumPy arrays that share their memory.

Arrow's own conversions (`pyarrow.array`, `numpy.asarray`, ``to_numpy``) import pandas where it is installed, which
takes longer than reading a million reports. The functions here read and write the buffers instead.
"""

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.arrays import AnyArray, BoolArray

_LETTER = 8


def chunks_of(column: Any) -> list[Any]:
    """Return the chunks of an Arrow column as a list; an unchunked column is one chunk."""
    return list(column.chunks) if isinstance(column, pa.ChunkedArray) else [column]


def one_array(column: Any) -> Any:
    """Return an Arrow column as one array, with its chunks combined."""
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def value_type(kind: pa.DataType) -> pa.DataType:
    """Return the Arrow type of a column's values; if it is dictionary-encoded, the type of the dictionary's entries."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def decoded(column: Any) -> Any:
    """Return a dictionary-encoded column as a plain column of its values; any other column unchanged."""
    if pa.types.is_string_view(value_type(column.type)) and column.type != pa.string_view():
        # Arrow cannot decode an Enum of polars directly.
        parts = [(chunk.indices, chunk.dictionary.cast(pa.large_string())) for chunk in chunks_of(column)]
        column = pa.chunked_array([pa.DictionaryArray.from_arrays(*part) for part in parts])
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def is_textual(kind: pa.DataType) -> bool:
    """Return true if an Arrow type holds text."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def is_plain(kind: pa.DataType) -> bool:
    """Return true if an Arrow type stores integers or floats, which NumPy can read from the same memory."""
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def arrow_numbers(column: Any) -> AnyArray:
    """Return the ``(n,)`` numbers of an Arrow column; the number in the place of a null is arbitrary.

    Args:
        column: integers or floats in Arrow, chunked or not; one chunk is not copied.
    """
    dtype = np.dtype(column.type.to_pandas_dtype())
    parts = [_entries(chunk, dtype) for chunk in chunks_of(column)]
    return parts[0] if len(parts) == 1 else np.concatenate([np.empty(0, dtype), *parts])


def _entries(array: Any, dtype: np.dtype[Any]) -> AnyArray:
    values = array.buffers()[1]
    if values is None or not len(array):
        return np.empty(0, dtype)
    return np.frombuffer(values, dtype, len(array), array.offset * dtype.itemsize)


def rows_of_bytes(array: Any, width: int) -> AnyArray:
    """Return the ``(n, width)`` bytes of an Arrow array of fixed-size binary; bytes at a null are arbitrary."""
    start = array.offset * width
    flat = np.frombuffer(array.buffers()[1] or b"", np.uint8)[start : start + len(array) * width]
    return flat.reshape(-1, width)


def present(column: Any) -> BoolArray:
    """Return ``(n,)`` booleans: true where the entry of an Arrow column is not null."""
    parts = [_present(chunk) for chunk in chunks_of(column)]
    return parts[0] if len(parts) == 1 else np.concatenate([np.empty(0, np.bool_), *parts])


def _present(array: Any) -> BoolArray:
    if pa.types.is_null(array.type):
        return np.zeros(len(array), np.bool_)
    bits = array.buffers()[0] if array.null_count else None
    return np.ones(len(array), np.bool_) if bits is None else _unpacked(bits, array.offset, len(array))


def flags(array: Any) -> BoolArray:
    """Return the ``(n,)`` booleans of a boolean Arrow array without nulls."""
    bits = array.buffers()[1]
    return np.empty(0, np.bool_) if bits is None else _unpacked(bits, array.offset, len(array))


def _unpacked(bits: Any, offset: int, count: int) -> BoolArray:
    first, stop = offset // _LETTER, -(-(offset + count) // _LETTER)
    letters = np.frombuffer(bits, np.uint8)[first:stop]
    skipped = offset - first * _LETTER
    return np.unpackbits(letters, count=skipped + count, bitorder="little")[skipped:].view(np.bool_)


def array_of(entries: AnyArray, present: BoolArray | None = None) -> Any:
    """Return a NumPy array of integers or floats as an Arrow array that shares its memory.

    Args:
        entries: ``(n,)`` numbers.
        present: ``(n,)`` booleans, which of them are not null; None if all are.
    """
    values = np.ascontiguousarray(entries)
    return from_buffer(pa.from_numpy_dtype(values.dtype), values, present)


def from_buffer(kind: pa.DataType, entries: AnyArray, present: BoolArray | None = None) -> Any:
    """Return a contiguous NumPy array as an Arrow array of a fixed-width type.

    The arrays share memory; the entries are ``(n,)`` or ``(n, width)``.
    """
    return pa.Array.from_buffers(kind, len(entries), [validity(present), pa.py_buffer(entries)])


def validity(present: BoolArray | None) -> Any:
    """Return Arrow's validity bitmap of the rows that are not null, as a buffer; None if no row is null."""
    return None if present is None or present.all() else pa.py_buffer(np.packbits(present, bitorder="little"))


def table_of(columns: Mapping[str, AnyArray]) -> Any:
    """Return an Arrow table of named ``(n,)`` columns of labels or numbers."""
    return pa.Table.from_arrays([_column_of(entries) for entries in columns.values()], list(columns))


def _column_of(entries: AnyArray) -> Any:
    if entries.dtype.kind == "T":
        return texts_of(entries.tolist())
    if entries.dtype.kind in "iuf":
        return array_of(entries)
    return flags_of(entries) if entries.dtype.kind == "b" else pa.array(entries)


def flags_of(entries: BoolArray) -> Any:
    """Return a NumPy array of booleans as an Arrow array."""
    return pa.Array.from_buffers(
        pa.bool_(), len(entries), [None, pa.py_buffer(np.packbits(entries, bitorder="little"))]
    )


def texts_of(texts: Sequence[str], *, large: bool = False) -> Any:
    """Return texts as an Arrow array of strings. With ``large``, their total length may exceed 2^31 bytes."""
    letters = [text.encode() for text in texts]
    kind, width = (pa.large_string(), np.int64) if large else (pa.string(), np.int32)
    offsets = np.fromiter(accumulate(map(len, letters), initial=0), width, len(letters) + 1)
    return pa.Array.from_buffers(kind, len(letters), [None, pa.py_buffer(offsets), pa.py_buffer(b"".join(letters))])
