"""Tables of people's values from files: Parquet, Arrow, CSV or JSON lines."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import csv, json

from discreet.core.domain import Domain
from discreet.core.labels import Grid, Product
from discreet.errors import DataError, ParameterError
from discreet.io.files import readable

_READERS = {
    ".parquet": pq.read_table,
    ".arrow": lambda path: pa.ipc.open_file(str(path)).read_all(),
    ".csv": csv.read_csv,
    ".jsonl": json.read_json,
}


def read_table(path: str | Path) -> Any:
    """Read a table.

    Raises:
        DataError: if the file is missing, broken or of an unknown kind.
    """
    source = Path(path)
    if source.suffix not in _READERS:
        raise ParameterError(f"tables are read from {', '.join(_READERS)}, got {source.name!r}.")
    with readable(source):
        return _READERS[source.suffix](source)


def read_values(path: str | Path, domain: Domain, column: str | None = None) -> Any:
    """Read the values that a domain is about.

    Args:
        path: a table; a product needs a column per attribute, a grid needs lat and lon.
        domain: the domain.
        column: which column; None if there is only one, or for products and grids.

    Returns:
        what `Domain.encode` takes.

    Raises:
        DataError: if the column is not there, or cannot be told.
    """
    table = read_table(path)
    if column is None and isinstance(domain.space, Product | Grid):
        return table
    if column is None and table.num_columns == 1:
        return table.column(0)
    if column not in table.column_names:
        names = ", ".join(table.column_names)
        wanted = (
            "say which column holds the values with --column" if column is None else f"there is no column {column!r}"
        )
        raise DataError(f"{path}: {wanted}; it has {names}.")
    return table[column]


def read_labels(path: str | Path, label: str, sensitive: str | None) -> tuple[Any, Any]:
    """Read a domain's labels, and what is sensitive, from the columns of a table.

    Returns:
        The labels and the ``(|X|,)`` booleans (None if no column says it).

    Raises:
        ParameterError: if a column is not there or not of its kind.
    """
    table = read_table(path)
    for name in (label, sensitive):
        if name is not None and name not in table.column_names:
            raise ParameterError(f"{path}: there is no column {name!r}; it has {', '.join(table.column_names)}.")
    if sensitive is None:
        return table[label], None
    marks = table[sensitive]
    if marks.type != pa.bool_() or marks.null_count:
        raise ParameterError(f"{path}: column {sensitive!r} must hold true or false in every row, got {marks.type}.")
    return table[label], marks.to_numpy()
