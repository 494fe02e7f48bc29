"""Reports in Arrow batches whose types are looser than the wire's, as other systems hand them over.

Any integer type stands for a number, bytes of any kind for bits, and lists for lists of members; so a row may be wrong
in more ways, and all of them are counted. The batch says nothing of the plan: who reads it has to know.
"""

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.arrays import BoolArray
from discreet.core.reports import Column, Reports
from discreet.errors import DataError
from discreet.io.wire import GAP, UNREADABLE, Nullable, sifted_reports
from discreet.mechanisms import Mechanism


def is_bits(column: Column) -> bool:
    """Return whether a column is a string of bytes."""
    return column.width is not None and column.bound is None


def check_loose_schema(mechanism: Mechanism, found: pa.Schema) -> None:
    """Refuse a table that cannot hold reports of this plan.

    Raises:
        DataError: if a column is missing or of another kind; it says which columns there should be.
    """
    fits = [name in found.names for name in (column.name for column in mechanism.columns)]
    if not all(fits) or not all(_fits(column, found.field(column.name).type) for column in mechanism.columns):
        wanted = ", ".join(f"{column.name} ({_kind(column)})" for column in mechanism.columns)
        raise DataError(f"reports of this plan have the columns {wanted}; these have others, or of another kind.")


def _kind(column: Column) -> str:
    if column.width is None:
        return "integer"
    return f"{column.width} bytes" if is_bits(column) else f"list of {column.width} integers"


def _fits(column: Column, kind: pa.DataType) -> bool:
    if column.width is None:
        return bool(pa.types.is_integer(kind))
    if is_bits(column):
        return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind))
    listed = pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
    return bool(listed and pa.types.is_integer(kind.value_type))


def sift_loose(mechanism: Mechanism, batch: Any, *, simulated: bool = False) -> tuple[Reports, Counter[str]]:
    """Return those reports of a batch that a device can have sent, and how many rows have which flaw.

    Args:
        mechanism: what they claim to come from.
        batch: an Arrow batch with the mechanism's columns and perhaps others; see `check_loose_schema`.
        simulated: whether they say that they are simulated.
    """
    left_out: Counter[str] = Counter()
    batch = batch.select([column.name for column in mechanism.columns])
    for column in mechanism.columns:
        for what, wrong in _wrong(column, batch.column(column.name)):
            if wrong.any():
                left_out[what] += int(np.count_nonzero(wrong))
                return _merged(left_out, sift_loose(mechanism, batch.filter(pa.array(~wrong)), simulated=simulated))
    columns = {column.name: _nullable(column, batch.column(column.name)) for column in mechanism.columns}
    return _merged(left_out, sifted_reports(mechanism, batch.num_rows, columns, simulated=simulated))


def _merged(first: Counter[str], found: tuple[Reports, Counter[str]]) -> tuple[Reports, Counter[str]]:
    return found[0], first + found[1]


def _wrong(column: Column, entries: pa.Array) -> list[tuple[str, BoolArray]]:
    """Return what can be wrong with the form of an entry, and with which rows it is."""
    if column.width is None or pa.types.is_fixed_size_binary(entries.type):
        return []
    if is_bits(column):
        return [(UNREADABLE, _where(pc.not_equal(pc.binary_length(entries), column.width)))]
    length = _where(pc.not_equal(pc.list_value_length(entries), column.width))
    # Only lists that are there: absent ones of a fixed size take room all the same.
    rows, lists = np.flatnonzero(np.asarray(entries.is_valid())), entries.drop_null()
    of_items = np.repeat(rows, np.asarray(pc.list_value_length(lists)))
    gaps = np.zeros(len(entries), dtype=np.bool_)
    gaps[of_items[np.asarray(lists.flatten().is_null())]] = True
    return [(UNREADABLE, length), (GAP, gaps)]


def _where(found: pa.Array) -> BoolArray:
    # Absent entries are judged by what else the row holds.
    answers: BoolArray = np.asarray(found.fill_null(False))
    return answers


def _nullable(column: Column, entries: pa.Array) -> Nullable:
    present = np.asarray(entries.is_valid())
    dense = entries.drop_null() if entries.null_count else entries
    if column.width is None:
        return Nullable(present, dense.to_numpy(zero_copy_only=False))
    if is_bits(column):
        fixed = dense if pa.types.is_fixed_size_binary(dense.type) else dense.cast(pa.binary(column.width))
        start = fixed.offset * column.width
        flat = np.frombuffer(fixed.buffers()[1] or b"", np.uint8)[start : start + len(fixed) * column.width]
        return Nullable(present, flat.reshape(-1, column.width))
    return Nullable(present, dense.flatten().to_numpy().reshape(-1, column.width))
