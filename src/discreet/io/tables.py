"""Tables of people's values in files: Parquet, Arrow, CSV or JSON lines.

The caller states the types of the columns, and the cells of CSV are read in these types; see `discreet.io.cells`.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.arrays import FloatArray
from discreet.core import columns
from discreet.core.domain import Domain
from discreet.errors import DataError, ParameterError
from discreet.io.cells import ANYTHING, LISTED, NUMBERS, Cells, cells_of, columns_of, from_typed
from discreet.io.piped import Piped, Source
from discreet.io.read_errors import readable
from discreet.io.remote import file_of
from discreet.io.table_scan import Chosen, is_text, scan, whole_table

_MOST_NAMES = 30


def read_table(path: str | Source) -> Any:
    """Return a table; the cells of a CSV file decide their types.

    Raises:
        DataError: if the file is missing, broken or of an unknown kind.

    Example:
        >>> from importlib.resources import files
        >>> table = read_table(files("discreet") / "examples" / "checkins.csv")
        >>> table.column_names
        ['user', 'place', 'day']
    """
    return whole_table(as_source(path))


def read_columns(path: str | Source, chosen: Chosen, wanted: Sequence[str] = ()) -> Any:
    """Return some columns of a table, in the types of their cells.

    Args:
        path: the table.
        chosen: which columns.
        wanted: names that should be among the table's, as far as they are known.

    Raises:
        DataError: if the file is missing, broken or of an unknown kind, a column is not there just once, or cells of
            a CSV file are not what they are to be read as; it names the file.
    """
    source = as_source(path)
    found = scan(source, checked_columns(chosen), wanted)
    with readable(source):
        table = found.whole()
        if is_text(source):
            return table
        return pa.table({name: from_typed(table[name], cells) for name, cells in found.asked.items()})


def as_source(path: str | Source) -> Source:
    """Return a source of a table."""
    return path if isinstance(path, Piped) else file_of(path)


def checked_columns(chosen: Chosen) -> Chosen:
    """Return a choice of columns that refuses those that are not there just once."""

    def checked(names: Sequence[str]) -> Mapping[str, Cells]:
        asked = chosen(names)
        for name in asked:
            check_once(name, names)
        return asked

    return checked


def check_once(name: str, names: Sequence[str]) -> None:
    """Refuse a column that does not occur exactly once; the other columns are listed.

    Raises:
        DataError: if it is so.
    """
    if names.count(name) != 1:
        what = f"there are {names.count(name)} columns" if name in names else "there is no column"
        raise DataError(f"{what} {name!r}; the table has {shown(names)}.")


def shown(names: Sequence[str]) -> str:
    """Return the names of columns for a message, unless they look like values of a table without a header."""
    if any(is_number(name) for name in names):
        return f"{len(names)} columns whose names look like values: its first line must name the columns"
    listed = [name if name and name.isprintable() else repr(name) for name in names[:_MOST_NAMES]]
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return f"{', '.join(listed)}{more}"


def is_number(name: str) -> bool:
    """Return true if the name of a column looks like a number."""
    return name.strip().lstrip("+-").replace(".", "", 1).replace(",", "", 1).isdecimal()


def read_distribution(path: str | Path, domain: Domain) -> FloatArray:
    """Return background knowledge: ``(|X|,)`` probabilities, 0 for values that are not listed.

    Args:
        path: a table with the columns label and probability; for a product or a grid, with the columns of its values
            instead of label.
        domain: the domain.

    Raises:
        DataError: if a column is not there, or a value is not in the domain; it names the file.
        ParameterError: if this is no distribution; it names the file.

    Example:
        >>> import pyarrow as pa
        >>> from pyarrow import csv
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     csv.write_csv(pa.table({"label": ["yes", "no"], "probability": [0.7, 0.3]}), f"{folder}/p.csv")
        ...     read_distribution(f"{folder}/p.csv", Domain(["yes", "no"])).tolist()
        [0.7, 0.3]
    """
    spread = columns_of(domain)
    asked = {**(spread or {"label": cells_of(domain.space)}), "probability": NUMBERS}
    table = read_columns(path, lambda _: asked, list(asked))
    with readable(Path(path)):
        shares = table["probability"]
        gone = columns.absent(shares)
        if gone.any():
            rows = np.flatnonzero(gone)
            raise DataError(columns.missing_message(len(rows), len(gone), int(rows[0]), "probabilities"))
        return domain.distribution(table if spread else table["label"], shares)


def read_labels(path: str | Path, label: str, sensitive: str | None) -> tuple[Any, Any]:
    """Return the labels of a domain, and the marks of sensitive ones, from columns of a table.

    Labels in a CSV file are integers if all are written as integers are (20 or 20.0, not 020); otherwise text.

    Returns:
        The labels and the ``(|X|,)`` booleans (None if no column says it).

    Raises:
        DataError: if a column is not there.
        ParameterError: if a column is not of its kind.
    """
    asked = {label: LISTED} | ({} if sensitive is None else {sensitive: ANYTHING})
    table = read_columns(path, lambda _: asked, list(asked))
    labels = _plain_integers(table[label]) if is_text(Path(path)) else table[label]
    if sensitive is None:
        return labels, None
    marks = table[sensitive]
    if marks.type != pa.bool_() or marks.null_count:
        raise ParameterError(f"{path}: column {sensitive!r} must hold true or false in every row, got {marks.type}.")
    return labels, marks.to_numpy()


def _plain_integers(labels: Any) -> Any:
    import pyarrow.compute as pc

    plain = pc.match_substring_regex(labels, r"^(0|-?[1-9][0-9]{0,17})(\.0+)?$")
    if not len(labels) or not pc.all(plain, skip_nulls=False).as_py():
        return labels
    return pc.replace_substring_regex(labels, r"\.0+$", "").cast(pa.int64())
