"""Reports in Arrow batches with looser types than the wire format, from other systems.

Integers may have any integer type, or be floats with whole values (pandas turns integers with gaps into floats; NaN is
a null); bits may be bytes of any type, and members lists of any type. So a row may have further flaws, which are
counted too. The batch carries no fingerprint: its reader has to know the plan.
"""

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.arrays import AnyArray, BoolArray
from discreet.core.arrow_memory import flags_of, numbers, present, rows_of_bytes
from discreet.core.columns import absent
from discreet.core.reports import Column, Reports
from discreet.errors import DataError
from discreet.io.wire import GAP, UNREADABLE, FlawedRowsError, Nullable, checked_reports, refuse_rows
from discreet.mechanisms import Mechanism

_BYTES = (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_binary_view)
# No views of lists: casting them to lists, Arrow 26 loses the last one after a gap.
_LISTS = (pa.types.is_list, pa.types.is_large_list)
# Whole numbers below these are exact in 16, 32 and 64 bits; beyond, a float may stand for another number.
_EXACT_BELOW = {16: 1 << 11, 32: 1 << 24, 64: 1 << 53}


def is_bits(column: Column) -> bool:
    """Return true if a column is a string of bytes."""
    return column.width is not None and column.bound is None


def check_untyped_schema(mechanism: Mechanism, found: pa.Schema) -> None:
    """Refuse a table that cannot hold reports of this plan.

    Raises:
        DataError: if a column is missing, there twice or of another kind; it says which columns there should be.
    """
    columns = mechanism.columns
    once = all(found.names.count(column.name) == 1 for column in columns)
    if not once or not all(_fits(column, found.field(column.name).type) for column in columns):
        wanted = ", ".join(f"{column.name} ({_kind(column)})" for column in columns)
        raise DataError(f"reports of this plan have the columns {wanted}; these have others, or of another kind.")


def _kind(column: Column) -> str:
    if column.width is None:
        return "integer"
    return f"{column.width} bytes" if is_bits(column) else f"list of {column.width} integers"


def _fits(column: Column, kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        return _fits(column, kind.value_type)
    if pa.types.is_null(kind):
        return True
    if column.width is None:
        return _holds_numbers(column, kind)
    if is_bits(column):
        fixed = pa.types.is_fixed_size_binary(kind) and kind.byte_width == column.width
        return fixed or any(test(kind) for test in _BYTES)
    fixed = pa.types.is_fixed_size_list(kind) and kind.list_size == column.width
    return (fixed or any(test(kind) for test in _LISTS)) and _holds_numbers(column, kind.value_type)


def _holds_numbers(column: Column, kind: pa.DataType) -> bool:
    if pa.types.is_floating(kind):
        return (column.bound or 0) <= _EXACT_BELOW[kind.bit_width]
    return bool(pa.types.is_integer(kind) or pa.types.is_null(kind))


def untyped_reports(mechanism: Mechanism, batch: Any, *, simulated: bool = False) -> Reports:
    """Return the reports of a batch, checked.

    Args:
        mechanism: what they claim to come from.
        batch: an Arrow batch with the mechanism's columns and perhaps others; see `check_untyped_schema`.
        simulated: whether they say that they are simulated.

    Raises:
        FlawedRowsError: if no device can have sent one of them; it says how many of those with the first flaw, and
            where they are.
    """
    return _checked(mechanism, _plain_columns(mechanism, batch), simulated=simulated)


def _checked(mechanism: Mechanism, plain: pa.RecordBatch, *, simulated: bool) -> Reports:
    columns = {column.name: _nullable(column, plain.column(column.name)) for column in mechanism.columns}
    return checked_reports(mechanism, plain.num_rows, columns, simulated=simulated)


def sift_untyped(mechanism: Mechanism, batch: Any, *, simulated: bool = False) -> tuple[Reports, Counter[str]]:
    """Return the valid reports of a batch, and the number of invalid rows by flaw.

    Arguments as for `untyped_reports`.
    """
    left_out: Counter[str] = Counter()
    # Arrow chooses no rows of views.
    plain = _plain_columns(mechanism, batch)
    while True:
        try:
            return _checked(mechanism, plain, simulated=simulated), left_out
        except FlawedRowsError as error:
            keep = np.ones(plain.num_rows, dtype=np.bool_)
            keep[error.rows] = False
            left_out[error.what] += plain.num_rows - int(np.count_nonzero(keep))
        plain = plain.filter(flags_of(keep))


def _plain_columns(mechanism: Mechanism, batch: Any) -> pa.RecordBatch:
    names = [column.name for column in mechanism.columns]
    return pa.record_batch([_plain(column, batch.column(column.name)) for column in mechanism.columns], names=names)


def _plain(column: Column, entries: pa.Array) -> pa.Array:
    """Return a column in one of the few types that `_nullable` reads."""
    if pa.types.is_dictionary(entries.type):
        entries = entries.dictionary_decode()
    kind = entries.type
    if pa.types.is_null(kind):
        plain = pa.int64() if column.width is None else pa.binary() if is_bits(column) else pa.list_(pa.int64())
    elif pa.types.is_binary_view(kind):
        plain = pa.large_binary()
    else:
        return entries
    return entries.cast(plain)


def _nullable(column: Column, entries: pa.Array) -> Nullable:
    rows = present(entries)
    dense = entries.drop_null() if entries.null_count else entries
    if column.width is None:
        return _numbers(rows, dense)
    if is_bits(column):
        return _bits(rows, dense, column.width)
    return _lists(rows, dense, column.width)


def _numbers(rows: BoolArray, dense: pa.Array) -> Nullable:
    entries = numbers(dense)
    if not pa.types.is_floating(dense.type):
        return Nullable(rows, entries)
    there = ~np.isnan(entries)
    left, entries = rows.copy(), entries[there]
    left[rows] = there
    refuse_rows(left, ~_whole(entries), UNREADABLE)
    return Nullable(left, entries.astype(np.int64))


def _whole(numbers: AnyArray) -> BoolArray:
    """Return ``(n,)`` booleans: the floats that are 64-bit integers."""
    found: BoolArray = (np.trunc(numbers) == numbers) & (np.abs(numbers.astype(np.float64)) < 2.0**63)
    return found


def _bits(rows: BoolArray, dense: pa.Array, width: int) -> Nullable:
    import pyarrow.compute as pc

    if not pa.types.is_fixed_size_binary(dense.type):
        refuse_rows(rows, numbers(pc.binary_length(dense)) != width, UNREADABLE)
        dense = dense.cast(pa.binary(width))
    return Nullable(rows, rows_of_bytes(dense, width))


def _lists(rows: BoolArray, dense: pa.Array, width: int) -> Nullable:
    import pyarrow.compute as pc

    refuse_rows(rows, numbers(pc.list_value_length(dense)) != width, UNREADABLE)
    items = dense.flatten()
    refuse_rows(rows, np.any(absent(items).reshape(-1, width), axis=1), GAP)
    if pa.types.is_null(items.type):
        items = items.cast(pa.int64())
    members = numbers(items)
    if pa.types.is_floating(items.type):
        refuse_rows(rows, np.any(~_whole(members).reshape(-1, width), axis=1), UNREADABLE)
        members = members.astype(np.int64)
    return Nullable(rows, members.reshape(-1, width))
