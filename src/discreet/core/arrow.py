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


def plain(column: Any) -> Any:
    """Return an Arrow column as its values: decoded, without extensions, and with text as plain strings.

    Missing entries stay missing, and no value changes. Every column of values passes through this function. So
    dictionaries, run-end encoding, views and chunks need no further treatment.

    Example:
        >>> plain(pa.array(["a", None, "a"]).dictionary_encode()).to_pylist()
        ['a', None, 'a']
    """
    if isinstance(column, pa.ChunkedArray):
        return pa.chunked_array([plain(chunk) for chunk in column.chunks], plain_type(column.type))
    kind = column.type
    if plain_type(kind) == kind:
        return column
    if isinstance(kind, pa.BaseExtensionType):
        return plain(column.storage).cast(plain_type(kind))
    if pa.types.is_run_end_encoded(kind):
        # Arrow's own decoder knows no dictionaries.
        rows = np.arange(column.offset, column.offset + len(column))
        runs = np.searchsorted(np.asarray(column.run_ends), rows, side="right")
        return plain(column.values).take(array_of(runs))
    if pa.types.is_dictionary(kind):
        return plain(column.dictionary).take(column.indices)
    return column.cast(pa.large_string())


def plain_type(kind: pa.DataType) -> pa.DataType:
    """Return the type of a column after `plain`. Extensions that are neither text nor numbers nor booleans stay."""
    if isinstance(kind, pa.BaseExtensionType):
        stored = pa.bool_() if kind.extension_name == "arrow.bool8" else plain_type(kind.storage_type)
        is_value = is_textual(stored) or pa.types.is_boolean(stored) or is_plain(stored)
        return stored if is_value and kind.extension_name != "pandas.period" else kind
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        return plain_type(kind.value_type)
    return pa.large_string() if pa.types.is_string_view(kind) else kind


def is_textual(kind: pa.DataType) -> bool:
    """Return true if a plain column of this type holds text."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def plain_batch(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Validate an Arrow batch, and return its columns as `plain` does. Wrong lengths would crash the process."""
    batch.validate(full=True)
    return pa.record_batch([plain(column) for column in batch.columns], batch.schema.names)


def as_text(column: Any) -> Any:
    """Return a plain column of booleans, dates or times as text, and any other column unchanged.

    Booleans are ``true`` and ``false``. Dates are written as 2026-03-31, and times as 2026-03-31 12:30:00. A time at
    midnight without a time zone is written as its date.
    """
    kind = column.type
    if pa.types.is_timestamp(kind):
        import pyarrow.compute as pc

        whole = pc.replace_substring_regex(column.cast(pa.large_string()), r"^(.{19})\.0+", r"\1")
        return pc.replace_substring_regex(whole, " 00:00:00$", "")
    is_written = pa.types.is_boolean(kind) or pa.types.is_date(kind) or pa.types.is_null(kind)
    return column.cast(pa.large_string()) if is_written else column


def is_category(kind: pa.DataType) -> bool:
    """Return true if a plain column of this type can name groups: text, integers, booleans, or nothing at all."""
    is_named = is_textual(kind) or pa.types.is_integer(kind)
    return bool(is_named or pa.types.is_boolean(kind) or pa.types.is_null(kind))


def is_value(kind: pa.DataType) -> bool:
    """Return true if a plain column of this type can hold values: text, numbers, booleans, dates or times."""
    is_number = is_plain(kind) or pa.types.is_decimal(kind)
    return bool(is_category(kind) or is_number or pa.types.is_date(kind) or pa.types.is_timestamp(kind))


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


def decimals_as_numbers(column: Any) -> Any:
    """Return decimals as int64 if every one is a whole number that fits, and as float64 otherwise."""
    try:
        # Arrow cannot convert decimals of few bits to integers.
        return column.cast(pa.decimal256(76, max(column.type.scale, 0))).cast(pa.int64())
    except pa.ArrowInvalid:
        # The text is exact.
        return column.cast(pa.string()).cast(pa.float64())


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
