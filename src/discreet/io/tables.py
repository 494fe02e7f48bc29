"""Tables of people's values from files: Parquet, Arrow, CSV or JSON lines."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import csv, json

from discreet.arrays import FloatArray
from discreet.core.domain import Domain
from discreet.core.labels import Grid, Product
from discreet.errors import DataError, ParameterError
from discreet.io.files import readable
from discreet.io.suffixes import ARROW, TABLES, checked

_READERS = {
    ".parquet": pq.read_table,
    **dict.fromkeys(ARROW, lambda path: pa.ipc.open_file(str(path)).read_all()),
    ".csv": csv.read_csv,
    ".jsonl": json.read_json,
}


def read_table(path: str | Path) -> Any:
    """Read a table.

    Raises:
        DataError: if the file is missing, broken or of an unknown kind.
    """
    source = Path(path)
    reader = _READERS[checked_table(source)]
    with readable(source):
        return reader(source)


def checked_table(path: Path) -> str:
    """Return how a file of a table ends.

    Raises:
        ParameterError: if tables are not read from such files.
    """
    return checked(path, TABLES, "tables")


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
    return _values_of(read_table(path), path, domain, column)


def _values_of(table: Any, path: str | Path, domain: Domain, column: str | None) -> Any:
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


def read_owned(
    path: str | Path, domain: Domain, user: str, column: str | None = None, tag: str | None = None
) -> tuple[Any, Any, Any]:
    """Read values, whose they are, and what they are tagged with.

    Args:
        path: a table; see `read_values`, which the columns for users and tags are left out for.
        domain: the domain.
        user: which column says whose value it is.
        column: as for `read_values`.
        tag: which column says what it is tagged with, if any.

    Returns:
        what `Domain.encode` takes, the column of users, and the column of tags or None.

    Raises:
        DataError: if a column is not there.
    """
    table = read_table(path)
    wanted = [name for name in (user, tag) if name is not None]
    for name in wanted:
        if table.column_names.count(name) != 1:
            raise DataError(f"{path}: there is no one column {name!r}; it has {', '.join(table.column_names)}.")
    values = _values_of(table.drop_columns(wanted), path, domain, column)
    return values, table[user], None if tag is None else table[tag]


def read_distribution(path: str | Path, domain: Domain) -> FloatArray:
    """Read background knowledge: ``(|X|,)`` probabilities, 0 for the values that are not listed.

    Args:
        path: a table with the columns label and probability; for a product or a grid, with the columns of its values
            instead of label.
        domain: the domain.

    Raises:
        DataError: if a column is not there, or a value is not in the domain; it names the file.
        ParameterError: if this is no distribution; it names the file.
    """
    table = read_table(path)
    spelled = [] if isinstance(domain.space, Product | Grid) else ["label"]
    for name in [*spelled, "probability"]:
        if name not in table.column_names:
            raise DataError(f"{path}: there is no column {name!r}; it has {', '.join(table.column_names)}.")
    try:
        return domain.distribution(table["label"] if spelled else table, table["probability"])
    except (DataError, ParameterError) as error:
        raise type(error)(f"{path}: {error}") from None


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
