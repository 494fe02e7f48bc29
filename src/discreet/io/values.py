"""Columns of people's values in tables, with their users and tags."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from discreet.core.domain import Domain
from discreet.core.grids import Grid
from discreet.core.labels import LabelSpace
from discreet.core.products import Product
from discreet.errors import DataError, ParameterError
from discreet.io.cells import ANYTHING, NAMES, Cells, Kind, cells_of, columns_of, from_typed
from discreet.io.cuts import Cuts, cells_with_cuts
from discreet.io.kept_columns import check_apart, kept_in, kept_schema
from discreet.io.piped import Piped, Source
from discreet.io.read_errors import readable
from discreet.io.suffixes import COLUMNS
from discreet.io.table_scan import TableScan, is_text, kind_of, scan
from discreet.io.tables import as_source, checked_columns, is_number, shown


def read_values(path: str | Source, domain: Domain, column: str | None = None) -> Any:
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
        >>> values = read_values(answers, Domain(["18-29", "30s", "40s", "50+"]), column="age")
        >>> values[0].as_py()
        '50+'
    """
    return read_owned(path, domain, None, column)[0]


def read_owned(
    path: str | Source, domain: Domain, user: str | None, column: str | None = None, tag: str | None = None
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
    found = ValueScan.of(path, domain, user=user, column=column, tag=tag)
    with readable(found.source):
        return found.columns_in(found.table.whole())


@dataclass(frozen=True, slots=True, eq=False)
class ValueScan:
    """An inspected table of values, perhaps with their users and tags.

    Attributes:
        table: the table.
        names: the columns of the values.
        spread: whether these are the attributes of a product or the coordinates of a grid.
        user: the column of users, if any.
        tag: the column of tags, if any.
        keep: the columns that are kept beside the reports.
    """

    table: TableScan
    names: Sequence[str]
    spread: bool
    user: str | None = None
    tag: str | None = None
    keep: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        path: str | Source,
        domain: Domain,
        *,
        user: str | None = None,
        column: str | None = None,
        tag: str | None = None,
        keep: tuple[str, ...] = (),
        cuts: Cuts | None = None,
    ) -> "ValueScan":
        """Inspect a table; arguments and errors as for `read_owned`, and ``cuts`` of the values, if there are such.

        Raises:
            ParameterError: besides, if a column to be kept is one of values or users.
        """
        owners, source = [name for name in (user, tag) if name is not None], as_source(path)
        besides = [*owners, *keep]
        spread, plain, names = columns_of(domain), is_text(source), list[str]()
        if spread and column is not None:
            raise ParameterError(f"values of this domain have the columns {', '.join(spread)}; leave --column out.")
        wanted = [*besides, *(spread or ([] if column is None else [column]))]

        def chosen(found: Sequence[str]) -> Mapping[str, Cells]:
            if plain and not set(wanted) <= set(found):
                _refuse_headless(found, domain)
            names.extend(spread or [_only(found, besides, domain, headed=not plain) if column is None else column])
            check_apart(keep, [*names, *owners])
            cells = cells_with_cuts(spread or {names[0]: cells_of(domain.space)}, cuts)
            return {**cells, **dict.fromkeys(owners, NAMES), **dict.fromkeys(keep, ANYTHING)}

        table = scan(source, checked_columns(chosen), wanted)
        if not table.rows and plain and tag is None:
            raise DataError(
                f"{path}: there must be rows under the first line, which names the columns; there are none."
            )
        return cls(table, names, spread is not None, user, tag, keep)

    @property
    def source(self) -> Source:
        """The place of the table."""
        return self.table.source

    def columns_in(self, rows: Any) -> tuple[Any, Any, Any]:
        """Return values, users and tags of an Arrow table, as `read_owned` does."""
        if not is_text(self.source):
            typed = {name: from_typed(rows[name], cells) for name, cells in self.table.asked.items()}
            rows = pa.Table.from_arrays(list(typed.values()), list(typed))
        values = rows.select(self.names) if self.spread else rows[self.names[0]]
        return values, *(None if name is None else rows[name] for name in (self.user, self.tag))

    def kept_schema(self) -> pa.Schema:
        """Return the types in which columns are kept; errors as for `kept_schema`, and name the table."""
        with readable(self.source):
            typed = not isinstance(self.source, Piped) and kind_of(self.source) in COLUMNS
            return kept_schema({name: self.table.types[name] for name in self.keep}, is_text=not typed)

    def batches(self, rows: int) -> Iterator[tuple[Any, Any, Any]]:
        """Yield values, users and kept columns, a batch of at most ``rows`` at a time; errors name the table."""
        names, schema = list(self.table.asked), self.kept_schema()
        with readable(self.source):
            for batch in self.table.batches(names, rows):
                table = pa.Table.from_batches([batch])
                values, users, _ = self.columns_in(table)
                yield values, users, kept_in(table, schema) if self.keep else None


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
    return is_number(name) if cells_of(space).kind is Kind.INTEGER else bool(space.encode([name])[0] >= 0)
