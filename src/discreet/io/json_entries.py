"""Entries of one report as JSON: integers, lists of integers, bits in base64."""

import base64
from contextlib import suppress
from typing import Any

import numpy as np

from discreet.arrays import AnyArray
from discreet.core.reports import Column
from discreet.errors import DataError


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse an object with a repeated field."""
    if len({name for name, _ in pairs}) < len(pairs):
        raise ValueError("repeated")
    return dict(pairs)


def entry_as_json(column: Column, entry: Any) -> Any:
    """Return an entry of a column as a value of JSON."""
    if column.width is not None and column.bound is None:
        return base64.b64encode(entry.tobytes()).decode()
    return entry.tolist()


def entry_of(column: Column, entry: Any, row: int) -> Any:
    """Return an entry of a column from a value of JSON.

    Raises:
        DataError: if it is not of the column's kind; bounds are for `discreet.io.wire` to check.
    """
    wrong = DataError(f"report {row} has a {column.name} that is not of its kind.")
    if column.width is None:
        if type(entry) is not int or not 0 <= entry < 1 << 63:
            raise wrong
        return entry
    if column.bound is None:
        raw = b""
        with suppress(ValueError):
            raw = base64.b64decode(entry, validate=True) if isinstance(entry, str) else b""
        if len(raw) != column.width:
            raise wrong
        return np.frombuffer(raw, dtype=np.uint8)
    whole = isinstance(entry, list) and len(entry) == column.width
    if not whole or not all(type(item) is int and 0 <= item < 1 << 63 for item in entry):
        raise wrong
    return entry


def stacked(column: Column, entries: list[Any]) -> AnyArray:
    """Return entries as ``(k,)`` or ``(k, width)`` integers."""
    shape = (len(entries),) if column.width is None else (len(entries), column.width)
    dtype = np.int64 if column.bound is not None else np.uint8
    return np.array(entries, dtype=dtype).reshape(shape)
