"""Tables of people's values in files: Parquet, Arrow, CSV or JSON lines.

The caller states the types of the columns, and the cells of CSV are read in these types; see `discreet.io.cells`.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import json

from discreet.arrays import FloatArray
from discreet.core import columns
from discreet.core.domain import Domain
from discreet.core.grids import Grid
from discreet.core.labels import LabelSpace
from discreet.core.products import Product
from discreet.errors import DataError, ParameterError
from discreet.io import separated
from discreet.io.cells import ANYTHING, LISTED, NAMES, NUMBERS, Cells, Kind, cells_of, columns_of, from_typed
from discreet.io.endings import ending
from discreet.io.piped import Piped, Source, opened
from discreet.io.read_errors import readable
from discreet.io.suffixes import ARROW, TABLES, checked

_CSV = ".csv"
_READERS = {
    ".parquet": pq.read_table,
    **dict.fromkeys(ARROW, lambda source: pa.ipc.open_file(source).read_all()),
    ".jsonl": json.read_json,
}
_MOST_NAMES = 30

Chosen: TypeAlias = Callable[[Sequence[str]], Mapping[str, Cells]]
"""Given the names of a table's columns, those to be read and what their cells are read as; may raise DataError."""


def read_table(path: str | Path | Piped) -> Any:
    """Return a table; the cells of a CSV file decide their types.

    Raises:
        DataError: if the file is missing, broken or of an unknown kind.

    Example:
        >>> from importlib.resources import files
        >>> table = read_table(files("discreet") / "examples" / "checkins.csv")
        >>> table.column_names
        ['user', 'place', 'day']
    """
    source, suffix = _source(path)
    with readable(source):
        return separated.whole(source) if suffix == _CSV else _READERS[suffix](opened(source))


def read_columns(path: str | Path | Piped, chosen: Chosen, wanted: Sequence[str] = ()) -> Any:
    """Return some columns of a table, in the types of their cells.

    Args:
        path: the table.
        chosen: which columns.
        wanted: names that should be among the table's, as far as they are known.

    Raises:
        DataError: if the file is missing, broken or of an unknown kind, a column is not there just once, or cells of
            a CSV file are not what they are to be read as; it names the file.
    """
    source, suffix = _source(path)
    with readable(source):
        if suffix == _CSV:
            layout = separated.layout_of(source, wanted)
            return separated.Separated(source, layout, _checked(chosen, layout.columns)).table()
        table = _READERS[suffix](opened(source))
        asked = _checked(chosen, table.column_names)
        if suffix == ".jsonl":
            table = _lines_of_text(source, table, asked)
        return pa.table({name: from_typed(table[name], cells) for name, cells in asked.items()})


def _source(path: str | Path | Piped) -> tuple[Source, str]:
    source = path if isinstance(path, Piped) else Path(path)
    return source, source.suffix if isinstance(source, Piped) else checked_table(source)


def checked_table(path: Path) -> str:
    """Return the ending of a file of a table.

    Raises:
        ParameterError: if tables are not read from such files.
    """
    return checked(path, TABLES, "tables")


def is_text(path: Path) -> bool:
    """Return whether a file of a table is text, without types."""
    return ending(path) == _CSV


def _checked(chosen: Chosen, names: Sequence[str]) -> Mapping[str, Cells]:
    asked = chosen(names)
    for name in asked:
        check_once(name, names)
    return asked


def check_once(name: str, names: Sequence[str]) -> None:
    """Refuse a column that does not occur exactly once; the other columns are listed.

    Raises:
        DataError: if it is so.
    """
    if names.count(name) != 1:
        what = f"there are {names.count(name)} columns" if name in names else "there is no column"
        raise DataError(f"{what} {name!r}; the table has {shown(names)}.")


def _lines_of_text(source: Source, table: Any, asked: Mapping[str, Cells]) -> Any:
    """Return a table of lines with text read again as text where the library took it for dates."""
    kinds = {name: table[name].type for name, cells in asked.items() if cells.kind is Kind.TEXT}
    dates = [name for name, kind in kinds.items() if pa.types.is_temporal(kind)]
    if not dates:
        return table
    as_text = pa.schema([(name, pa.string()) for name in dates])
    return json.read_json(opened(source), parse_options=json.ParseOptions(explicit_schema=as_text))


def shown(names: Sequence[str]) -> str:
    """Return the names of columns for a message, unless they look like values of a table without a header."""
    if any(_is_number(name) for name in names):
        return f"{len(names)} columns whose names look like values: its first line must name the columns"
    listed = [name if name and name.isprintable() else repr(name) for name in names[:_MOST_NAMES]]
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return f"{', '.join(listed)}{more}"


def _is_number(name: str) -> bool:
    return name.strip().lstrip("+-").replace(".", "", 1).replace(",", "", 1).isdecimal()


def read_values(path: str | Path | Piped, domain: Domain, column: str | None = None) -> Any:
    """Return a column of values of a domain, or the columns of its attributes.

    Args:
        path: a table; a product needs a column per attribute, a grid needs lat and lon.
        domain: the domain.
        column: which column; None if there is only one that has a name, or for products and grids.

    Returns:
        what `Domain.encode` takes.

    Raises:
        DataError: if the column is not there, or cannot be told; if a CSV file has no row, or its cells are not of the
            kind of the labels.

    Example:
        >>> from importlib.resources import files
        >>> answers = files("discreet") / "examples" / "answers.csv"
        >>> values = read_values(answers, Domain(["under 30", "30s", "40s", "50+"]), column="age")
        >>> values[0].as_py()
        '50+'
    """
    return read_owned(path, domain, None, column)[0]


def read_owned(
    path: str | Path | Piped, domain: Domain, user: str | None, column: str | None = None, tag: str | None = None
) -> tuple[Any, Any, Any]:
    """Return values with their users and their tags.

    Args:
        path: a table; see `read_values`, which the columns for users and tags are left out for.
        domain: the domain.
        user: which column says whose value it is, if any.
        column: as for `read_values`.
        tag: which column says what it is tagged with, if any.

    Returns:
        what `Domain.encode` takes, the column of users or None, and the column of tags or None. Users and tags are
        text, whatever they look like.

    Raises:
        DataError: if a column is not there, and as `read_values`.
    """
    besides = [name for name in (user, tag) if name is not None]
    spread, plain, names = columns_of(domain), _source(path)[1] == _CSV, list[str]()
    if spread and column is not None:
        raise ParameterError(f"values of this domain have the columns {', '.join(spread)}; leave --column out.")

    wanted = [*besides, *(spread or ([] if column is None else [column]))]

    def chosen(found: Sequence[str]) -> Mapping[str, Cells]:
        if plain and not set(wanted) <= set(found):
            _refuse_headless(found, domain)
        names.extend(spread or [_only(found, besides, domain, headed=not plain) if column is None else column])
        cells = spread or {names[0]: cells_of(domain.space)}
        return {**cells, **dict.fromkeys(besides, NAMES)}

    table = read_columns(path, chosen, wanted)
    if not table.num_rows and plain and tag is None:
        raise DataError(f"{path}: there must be rows under the first line, which names the columns; there are none.")
    values = table.select(names) if spread else table[names[0]]
    return values, None if user is None else table[user], None if tag is None else table[tag]


def _only(found: Sequence[str], besides: Sequence[str], domain: Domain, *, headed: bool) -> str:
    """Return the one column that can hold the values; columns without a name hold numbers of rows.

    Args:
        found: the columns that there are.
        besides: those that hold something else.
        domain: of the values.
        headed: whether the names are surely names.
    """
    others = [name for name in found if name not in besides]
    named = [name for name in others if name] or others
    if len(named) != 1:
        raise DataError(f"say which column holds the values with --column; it has {shown(found)}.")
    if not headed and _is_value(named[0], domain.space):
        raise DataError(
            "the first line must name the column, and it looks like a value; write a name above it, or say --column."
        )
    return named[0]


def _refuse_headless(found: Sequence[str], domain: Domain) -> None:
    """Refuse a table without a header, before a message lists its columns."""
    space = domain.space
    parts = list(space.attributes.values()) if isinstance(space, Product) else [space]
    if not isinstance(space, Grid) and any(_is_value(name, part) for name in found for part in parts):
        raise DataError("the first line must name the columns, and it looks like values; write the names above it.")


def _is_value(name: str, space: LabelSpace) -> bool:
    return _is_number(name) if cells_of(space).kind is Kind.INTEGER else bool(space.encode([name])[0] >= 0)


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
    plain = pc.match_substring_regex(labels, r"^(0|-?[1-9][0-9]{0,17})(\.0+)?$")
    if not len(labels) or not pc.all(plain, skip_nulls=False).as_py():
        return labels
    return pc.replace_substring_regex(labels, r"\.0+$", "").cast(pa.int64())
