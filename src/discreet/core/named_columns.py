"""Columns by name, from whatever holds a table: a frame, a mapping of columns, or a list of rows."""

from collections.abc import Mapping
from typing import Any

from discreet.errors import DataError


def named_columns(values: Any, names: list[str]) -> dict[str, Any]:
    """Return the columns of these names, all of one length.

    Args:
        values: a table with these columns, or a list of rows: tuples of as many entries, or mappings.
        names: of the columns.

    Raises:
        DataError: if a column is not there or is none, a row does not fit, or lengths differ.
    """
    if isinstance(values, list | tuple):
        return _transposed(values, names)
    columns = {name: _column(values, name, names) for name in names}
    wrong = [
        n for n, c in columns.items() if not hasattr(c, "__len__") or isinstance(c, str) or getattr(c, "ndim", 1) != 1
    ]
    if wrong:
        raise DataError(f"every attribute must be one column of values; {wrong} are not.")
    lengths = {len(column) for column in columns.values()}
    if len(lengths) > 1:
        raise DataError(f"the columns of values must be of one length, got lengths {sorted(lengths)}.")
    return columns


def _column(values: Any, name: str, names: list[str]) -> Any:
    try:
        return values[name]
    except Exception as error:
        # polars has an exception class of its own
        absent = isinstance(error, KeyError | IndexError | TypeError | ValueError)
        if not absent and type(error).__name__ != "ColumnNotFoundError":
            raise
        raise DataError(f"values must have the columns {names}; {name!r} is not there.") from None


def _transposed(rows: list[Any] | tuple[Any, ...], names: list[str]) -> dict[str, Any]:
    whole = [tuple(row.get(name) for name in names) if isinstance(row, Mapping) else row for row in rows]
    if not all(isinstance(row, tuple | list) and len(row) == len(names) for row in whole):
        raise DataError(f"every value must give {len(names)} attributes: {names}.")
    return {name: [row[place] for row in whole] for place, name in enumerate(names)}
