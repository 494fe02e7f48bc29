"""Columns of tables in files (Parquet, Arrow, CSV, JSON lines), read as the types that the caller asks for.

The cells of CSV files are converted to these types; see `discreet.tables.text`. Some functions read special tables:
distributions, and known shares of groups.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pyarrow as pa

from discreet.arrays import FloatArray
from discreet.core import columns
from discreet.core.domain import Domain
from discreet.errors import DataError, ParameterError
from discreet.files.paths import File, file_of
from discreet.files.reading import readable
from discreet.tables.scan import Chosen, is_text, scan, whole_table
from discreet.tables.text import ANYTHING, LISTED, NAMES, NUMBERS, Cells, cells_of, columns_of, from_typed

_MOST_NAMES = 30

SHARE = "share"
"""Name of the column of shares."""


def read_table(path: str | File) -> Any:
    """Read a whole table. The types of CSV columns follow from their cells.

    Raises:
        DataError: if the file is missing, damaged or of an unknown format.

    Example:
        >>> from importlib.resources import files
        >>> table = read_table(files("discreet") / "examples" / "checkins.csv")
        >>> table.column_names
        ['user', 'place', 'day']
    """
    return whole_table(file_of(path))


def read_columns(
    path: str | File, chosen: Chosen, wanted: Sequence[str] = (), arguments: Mapping[str, str] = MappingProxyType({})
) -> Any:
    """Read some columns of a table, each as the type that `chosen` asks for.

    Args:
        path: the table.
        chosen: a function from the table's column names to the columns to read, each with its type.
        wanted: names of columns that the table should have, as far as they are known.
        arguments: for columns that an argument names, the name of the argument.

    Raises:
        DataError: if the file is missing, damaged or of an unknown format, a column does not occur exactly once, or
            cells of a CSV file do not have the requested type. The error names the file.
    """
    source = file_of(path)
    table_scan = scan(source, checked_columns(chosen, arguments), wanted)
    with readable(source):
        table = table_scan.whole()
        return pa.table({name: from_typed(table[name], cells) for name, cells in table_scan.asked.items()})


def checked_columns(chosen: Chosen, arguments: Mapping[str, str]) -> Chosen:
    """Return a function like `chosen` that also checks that each chosen column occurs exactly once."""

    def checked(names: Sequence[str]) -> Mapping[str, Cells]:
        asked = chosen(names)
        for name in asked:
            check_once(name, names, arguments.get(name, ""))
        return asked

    return checked


def check_once(name: str, names: Sequence[str], argument: str = "") -> None:
    """Raise an error unless a table has a column exactly once.

    Args:
        name: the name of the column.
        names: the names of all columns.
        argument: the argument that names the column; empty if its name is fixed.

    Raises:
        DataError: if the table has no such column, or several; the error lists the columns.
    """
    if names.count(name) != 1:
        code = "column.repeated" if name in names else "column.unknown-name" if argument else "column.required"
        raise DataError(code, argument=argument, name=name, columns=shown(names))


def shown(names: Sequence[str]) -> str:
    """Return names of columns for a message. Names that look like values are not shown, only counted."""
    if any(is_number(name) for name in names):
        return f"{len(names)} columns, whose names look like values; the first line must name the columns"
    listed = [name if name and name.isprintable() else repr(name) for name in names[:_MOST_NAMES]]
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return f"{', '.join(listed)}{more}"


def is_number(name: str) -> bool:
    """Return true if the name of a column looks like a number."""
    return name.strip().lstrip("+-").replace(".", "", 1).replace(",", "", 1).isdecimal()


def read_distribution(path: str | Path, domain: Domain) -> FloatArray:
    """Read a known distribution: ``(|X|,)`` probabilities, 0 for values that the table does not list.

    Args:
        path: a table with the columns label and probability. For a product or a grid, it has the columns of the values
            instead of label.
        domain: the domain.

    Raises:
        DataError: if a column is missing, or a value is not in the domain. The error names the file.
        ParameterError: if the probabilities are not a distribution. The error names the file.

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
        columns.refuse_missing(columns.absent(shares), "probabilities")
        return domain.distribution(table if spread else table["label"], shares)


def read_labels(path: str | Path, label: str, sensitive: str | None) -> tuple[Any, Any]:
    """Read the labels of a domain from a column, and from another column which labels are sensitive.

    Labels in a CSV file are integers if all are written as integers (20 or 20.0, but not 020). Otherwise they are text.

    Returns:
        The labels, and ``(|X|,)`` booleans: true for sensitive labels (None without such a column).

    Raises:
        DataError: if a column is missing.
        ParameterError: if a column has the wrong type.
    """
    asked = {label: LISTED} | ({} if sensitive is None else {sensitive: ANYTHING})
    table = read_columns(path, lambda _: asked, list(asked))
    labels = _plain_integers(table[label]) if is_text(Path(path)) else table[label]
    if sensitive is None:
        return labels, None
    marks = table[sensitive]
    if marks.type != pa.bool_() or marks.null_count:
        raise ParameterError("marks.not-flags", kind=marks.type, path=path, sensitive=sensitive)
    return labels, marks.to_numpy()


def _plain_integers(labels: Any) -> Any:
    import pyarrow.compute as pc

    plain = pc.match_substring_regex(labels, r"^(0|-?[1-9][0-9]{0,17})(\.0+)?$")
    if not len(labels) or not pc.all(plain, skip_nulls=False).as_py():
        return labels
    return pc.replace_substring_regex(labels, r"\.0+$", "").cast(pa.int64())


def read_shares(path: str | Path, names: Sequence[str], labels: Iterable[Any]) -> dict[Any, float]:
    """Read the known shares of groups: a dictionary from the group's label to its share.

    Args:
        path: a table with the columns of groups, and the column share.
        names: the names of the columns of groups.
        labels: the labels of the groups, if known. A label of the table stands for the group with the same text.

    Raises:
        DataError: if a column or a cell is missing, or a group occurs twice. The error names the file.
    """
    asked = {**dict.fromkeys(names, NAMES), SHARE: NUMBERS}
    table = read_columns(path, lambda _: asked, list(asked))
    with readable(Path(path)):
        for name in asked:
            columns.refuse_missing(columns.absent(table[name], name), f"cells of {name!r}")
        known = {tuple(map(str, label if isinstance(label, tuple) else (label,))): label for label in labels}
        rows = zip(*(table[name].to_pylist() for name in names), strict=True)
        spelled = [tuple(map(str, row)) for row in rows]
        if len(set(spelled)) < len(spelled):
            raise DataError("shares.repeated-group")
        keys = [known.get(key, key if len(key) > 1 else key[0]) for key in spelled]
        return dict(zip(keys, table[SHARE].to_pylist(), strict=True))
