"""Reports as a table of Arrow: types, nulls, and the stamp with the plan's fingerprint in the schema's metadata."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.arrays import AnyArray, BoolArray
from discreet.core.arrow_memory import array_of, from_buffer, validity
from discreet.core.reports import CLEAR, Column, Reports
from discreet.errors import DataError

STAMP = b"discreet"
"""The key of the stamp among a schema's metadata."""
FORMAT = 1
"""The version of the format of reports."""


def stamp(kind: str, fingerprint: str, **facts: Any) -> dict[bytes, bytes]:
    """Return schema metadata with the kind of a file's content and the fingerprint of its plan."""
    return {STAMP: json.dumps({"format": FORMAT, "kind": kind, "plan": fingerprint, **facts}).encode()}


def report_schema(
    columns: Sequence[Column], fingerprint: str, *, simulated: bool = False, facts: Mapping[str, Any] | None = None
) -> pa.Schema:
    """Return the Arrow schema of reports with such columns; ``facts`` are said in its metadata besides."""
    said = {**(facts or {}), "simulated": simulated}
    fields = [pa.field(column.name, _type(column)) for column in columns]
    return pa.schema(fields, metadata=stamp("reports", fingerprint, **said))


def report_table(reports: Reports, columns: Sequence[Column]) -> pa.Table:
    """Return reports as a table with `report_schema`.

    Raises:
        DataError: if a number does not fit into its column, in reports that were put together by hand.
    """
    told = np.zeros(reports.n, dtype=np.bool_) if reports.in_clear is None else reports.in_clear
    blocks = None if reports.block_count == reports.n else ~told
    arrays = [
        _array(column, reports.clear, told)
        if column.name == CLEAR
        else _array(column, reports.blocks[column.name], blocks)
        for column in columns
    ]
    return pa.Table.from_arrays(arrays, schema=report_schema(columns, reports.fingerprint, simulated=reports.simulated))


def _type(column: Column) -> pa.DataType:
    if column.width is None:
        return pa.from_numpy_dtype(np.dtype(column.dtype))
    if np.dtype(column.dtype) == np.uint8 and column.bound is None:
        return pa.binary(column.width)
    return pa.list_(pa.field("item", pa.from_numpy_dtype(np.dtype(column.dtype)), nullable=False), column.width)


def _array(column: Column, dense: AnyArray, rows: BoolArray | None) -> pa.Array:
    """Return entries as a column of reports, on the rows where they are present, nulls elsewhere."""
    largest = np.iinfo(np.dtype(column.dtype)).max
    if dense.dtype != column.dtype and dense.size and (dense.min() < 0 or dense.max() > largest):
        raise DataError(f"{column.name} of reports must be integers in 0..{largest}, and some are not.")
    entries = np.ascontiguousarray(dense, dtype=column.dtype)
    if rows is not None and not rows.all():
        entries = np.zeros(column.shape(len(rows)), dtype=column.dtype)
        entries[np.flatnonzero(rows)] = dense
    kind = _type(column)
    if column.width is None or pa.types.is_fixed_size_binary(kind):
        return from_buffer(kind, entries, rows)
    members = array_of(entries.reshape(-1))
    return pa.Array.from_buffers(kind, len(entries), [validity(rows)], children=[members])
