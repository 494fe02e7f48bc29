"""People's values in tables: their codes in a domain, their users, their tags and the kept public columns.

A plan may name a label for missing values. Kept columns are public (`discreet.tables.kept`). The error for values
without a code has their number in the whole table.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from discreet.arrays import AnyArray, BoolArray, IntArray
from discreet.core import columns
from discreet.core.arrow import array_of, arrow_numbers, as_text, flags_of, is_value
from discreet.core.checks import checked_choice
from discreet.core.columns import CLIPPED, OUTSIDE, READ
from discreet.core.domain import Domain
from discreet.core.labels.spaces import INTEGERS, TEXT, LabelSpace
from discreet.core.labels.text_forms import composed
from discreet.errors import DataError, ParameterError
from discreet.files.paths import COLUMNS, File, file_of
from discreet.files.reading import readable
from discreet.tables.columns import checked_columns, is_number, shown
from discreet.tables.cuts import Cuts, by_attribute, cells_with_cuts, cut, each_column
from discreet.tables.kept import check_apart, checked_keep, kept_in, kept_schema
from discreet.tables.scan import TableScan, is_text, kind_of, scan
from discreet.tables.text import ANYTHING, NAMES, PLAIN, CellFormat, Cells, Kind, cells_of, columns_of, from_typed

Label: TypeAlias = str | int
MissingLabel: TypeAlias = Label | dict[str, Label]
"""The label for missing values; for a product, by attribute."""


def check_missing_label(domain: Domain, missing_label: MissingLabel) -> None:
    """Raise an error if the label for missing values is not in the domain.

    Raises:
        ParameterError: if the label is not in the domain, or if it is given by attribute for a domain without
            attributes, or the reverse.
    """
    if isinstance(missing_label, dict) != bool(domain.space.parts):
        raise ParameterError("missing.not-by-attribute")
    parts = domain.space.flat_parts
    for name, label in by_attribute(missing_label).items():
        if name not in parts or not _is_label(parts[name], label):
            where = f" of {name!r}" if name else ""
            raise ParameterError("missing.not-label", where=where, label=label)


def _is_label(space: LabelSpace, label: Label) -> bool:
    wanted, fits = (TEXT, True) if isinstance(label, str) else (INTEGERS, -(1 << 63) <= label < 1 << 63)
    return space.holds == wanted and fits and bool(space.encode([label])[0] >= 0)


def filled(values: Any, label: MissingLabel | None) -> Any:
    """Return values in which the label for missing values replaces missing cells.

    Args:
        values: the values in Arrow, as `discreet.tables.values.read_values` returns them.
        label: the label for missing values, or None. See `check_missing_label`.
    """
    labels = by_attribute(label)
    return values if label is None else each_column(values, lambda name, column: _filled(column, labels.get(name)))


def _filled(column: Any, label: Label | None) -> Any:
    if label is None or not columns.absent(column).any():
        return column
    is_label_text = isinstance(label, str)
    column = as_text(column) if is_label_text else column
    if pa.types.is_null(column.type):
        column = column.cast(pa.int64())
    # Encoding refuses all columns but text and integers.
    return column if is_label_text == pa.types.is_integer(column.type) else column.fill_null(label)


def as_float32(values: Any) -> Any:
    """Return values with float64 columns converted to float32. Missing numbers are nan.

    Raises:
        DataError: if a number is not a float32.
    """

    def narrowed(_: str, column: Any) -> Any:
        is_wide = pa.types.is_float64(column.type)
        return array_of(columns.float32(column.fill_null(np.nan))) if is_wide else column

    return each_column(values, narrowed)


def absent_rows(values: Any) -> BoolArray:
    """Return ``(n,)`` booleans: true for rows with a missing value, in a column or in any column of a table."""
    if not isinstance(values, pa.Table):
        return columns.absent(values)
    rows = np.zeros(values.num_rows, dtype=np.bool_)
    for column in values.columns:
        rows |= columns.absent(column)
    return rows


def without(values: Any, rows: BoolArray) -> Any:
    """Return a column or a table without the rows marked in `rows`."""
    return values.filter(flags_of(~rows)) if rows.any() else values


FILTER, DROP = "filter them out", "use `{}='drop'`"
"""Advice for errors about rows: filter the rows, or use the argument that leaves them out."""

UNKNOWN = "have a value that is not in the plan"
REASONS = ("have no value", "have no user", UNKNOWN, CLIPPED, READ)
"""The reasons why rows are left out. The last two count clipped numbers and texts read as labels, which stay."""

ReadAs: TypeAlias = Counter[tuple[str, str]]
"""The number of values read as a label that reads alike, by attribute (or "") and label."""


def left_out(values: Mapping[str, Any], nouns: Collection[str]) -> tuple[dict[str, Any], dict[str, int]]:
    """Remove rows with a missing value. Return the columns, and the number of removed rows by column.

    Args:
        values: columns or tables of one length, by a noun for their values (for messages).
        nouns: the nouns of the values that each row must have.

    Returns:
        The columns without these rows, and the number of rows left out by column; a row counts for the first column
        in which it lacks a value.
    """
    remaining, counts = dict(values), dict[str, int]()
    for wanted in nouns:
        rows = absent_rows(remaining[wanted])
        if rows.any():
            counts[f"have no {wanted}"] = int(np.count_nonzero(rows))
            remaining = {name: without(column, rows) for name, column in remaining.items()}
    return remaining, counts


BATCH_ROWS = 1 << 18
"""Rows of a batch of codes, at most."""


Placeholders: TypeAlias = Callable[[IntArray, Any], IntArray]
"""The replacement of secret values by placeholders, given codes and their users."""


@dataclass(frozen=True, slots=True, eq=False)
class ValueColumns:
    """The columns of a table with people's values, and options for reading them.

    Attributes:
        domain: the domain of the values.
        column: the column of values; None if only one column has a name, or for products and grids.
        user: the column of users, if any.
        missing_label: the label for missing values, if any.
        missing: "drop" leaves out rows without a value or a user; with "refuse" they are errors.
        cuts: the starts of the ranges, if the table holds numbers or dates and the labels are ranges.
        unknown: "drop" leaves out rows with a value outside the domain; with "refuse" they are errors.
        keep: names of public columns that are written beside the reports, in clear. They are not protected, and many
            of them together can identify people.
        placeholders: a function of codes and their users that returns the codes to obfuscate, with placeholders for
            secret values; None for plans without placeholders.
        as_read: whether a text that is no label is read as the label that reads alike; see `Domain.encode`.
        float32: whether columns of float64 are read as float32, because they were float32 before.
        spelling: how the cells of text are written: decimal commas, texts for missing cells, and dates.

    Raises:
        ParameterError: if the name of a kept column is not valid, or placeholders are given without users or with kept
            columns.
    """

    domain: Domain
    column: str | None = None
    user: str | None = None
    missing_label: MissingLabel | None = None
    missing: str = "refuse"
    keep: tuple[str, ...] = ()
    cuts: Cuts | None = None
    unknown: str = "refuse"
    placeholders: Placeholders | None = None
    as_read: bool = False
    float32: bool = False
    spelling: CellFormat = PLAIN

    def __post_init__(self) -> None:
        object.__setattr__(self, "keep", checked_keep(self.keep))
        checked_choice("missing", self.missing, ("refuse", "drop"))
        checked_choice("unknown", self.unknown, ("refuse", "drop"))
        if self.placeholders is not None and self.user is None:
            raise ParameterError("user.required", argument="user")
        if self.placeholders is not None and self.keep:
            raise ParameterError("keep.with-placeholders", argument="keep")

    @property
    def space(self) -> LabelSpace:
        """The label space, in which texts that look like a label may be read as the label."""
        return self.domain.space_as_read if self.as_read else self.domain.space

    @property
    def has_numbers(self) -> bool:
        """True if a column holds numbers that are not labels."""
        cells = columns_of(self.domain) or {"": cells_of(self.domain.space)}
        read = cells if self.cuts is None else cells_with_cuts(cells, self.cuts)
        return any(cell.kind is Kind.NUMBER for cell in read.values())

    def of(self, source: str | File) -> "CodedValues":
        """Check the columns of a table, and return an object that yields codes.

        Raises:
            DataError: if the table is missing or damaged, or the column of values is missing or not unique.
            ParameterError: if the file does not have the ending of a table, a column is named for a product or a grid,
                or a kept column holds values or users.
        """
        table = ValueScan.of(
            source,
            self.domain,
            user=self.user,
            column=self.column,
            keep=self.keep,
            cuts=self.cuts,
            spelling=self.spelling,
        )
        return CodedValues(table, self)


@dataclass(frozen=True, eq=False)
class CodedValues:
    """The codes of people's values in a table.

    Attributes:
        scan: the table.
        columns: the columns of the values.
        left_out: the number of rows left out so far, by reason.
        read_as: the number of values read so far as a label that reads alike.
    """

    scan: "ValueScan"
    columns: ValueColumns
    left_out: Counter[str] = field(default_factory=Counter)
    read_as: ReadAs = field(default_factory=Counter)

    @property
    def rows(self) -> int:
        """The number of rows of the table."""
        return self.scan.table.rows

    def batches(self) -> Iterator[tuple[IntArray, Any, Any]]:
        """Yield batches of ``(m,)`` codes, their users and their kept columns; None without users or kept columns.

        Raises:
            DataError: if a value, a user or a kept cell is missing, or a value is not in the domain. The error has the
                number of such rows in the whole table, and the first row. Also if the table cannot be read.
        """
        self.left_out.clear()
        self.read_as.clear()
        for batch in self.scan.batches(BATCH_ROWS):
            rows, counts = self._whole(*batch)
            self.left_out.update(counts)
            codes = self._codes(rows)
            if codes is None:
                raise self._refusal()
            if self.columns.as_read:
                read = _read_as(rows["value"], self.columns.domain.space, self.columns.space)
                self.read_as.update(read)
                self.left_out.update({READ: read.total()} if read else {})
            placeholders, users = self.columns.placeholders, rows.get("user")
            yield codes if placeholders is None else placeholders(codes, users), users, rows.get("kept")

    def _whole(self, values: Any, users: Any, beside: Any, **more: Any) -> tuple[dict[str, Any], dict[str, int]]:
        """Return the columns of a batch without rows to leave out, and the number of left-out rows by reason."""
        asked = self.columns
        read = as_float32(values) if asked.float32 else values
        read = read if asked.cuts is None else cut(read, asked.cuts, asked.domain, asked.spelling)
        read = filled(read, asked.missing_label)
        needed = {"value": read} | ({} if users is None else {"user": users})
        rows, counts = needed | more | ({} if beside is None else {"kept": beside}), dict[str, int]()
        if asked.missing == "drop":
            rows, counts = left_out(rows, list(needed))
        if asked.unknown == "drop":
            outside = ~absent_rows(rows["value"])
            outside[outside] = asked.space.encode(without(rows["value"], ~outside)) == OUTSIDE
            if outside.any():
                rows = {name: without(column, outside) for name, column in rows.items()}
                counts[UNKNOWN] = int(np.count_nonzero(outside))
        bins = asked.domain.numbers
        if bins is not None and bins.clip:
            beyond = int(np.count_nonzero(bins.outside(columns.floats(without(read, absent_rows(read))))))
            counts |= {CLIPPED: beyond} if beyond else {}
        return rows, counts

    def _codes(self, rows: dict[str, Any]) -> IntArray | None:
        if any(noun in rows and absent_rows(rows[noun]).any() for noun in ("user", "kept")):
            return None
        try:
            codes = self.columns.space.encode(rows["value"])
        except DataError:
            return None
        return None if len(codes) and codes.min() < 0 else codes

    def _refusal(self) -> DataError:
        """Return the error for a table with a wrong row. The whole table is read to count all such rows."""
        read, done, ownerless, missing, outside = 0, 0, Defect(), Defect(), Defect()
        defects, table = {name: Defect() for name in self.columns.keep}, self.scan.table
        where, space, readable = dict[str, None](), self.columns.space, 0
        for batch in self.scan.batches(BATCH_ROWS):
            here = np.arange(read, read + len(absent_rows(batch[0])))
            rows, _ = self._whole(*batch, row=array_of(here))
            places, gone = arrow_numbers(rows["row"]), absent_rows(rows["value"])
            for name, defect in defects.items():
                defect.add(places[absent_rows(rows["kept"][name])])
            if "user" in rows:
                ownerless.add(places[absent_rows(rows["user"])])
            missing.add(places[gone])
            if not missing.count:
                # Encoding raises an error for values of another type.
                unknown = space.encode(rows["value"]) == OUTSIDE
                outside.add(places[unknown])
                as_labels = self.columns.domain.space_as_read.encode(rows["value"]) >= 0
                readable += int(np.count_nonzero(as_labels & unknown))
            where.update(_flawed(rows["value"], space, missing=bool(missing.count)))
            read, done = read + len(here), done + len(gone)
        # The questions of a survey share their rows, so a question must not leave out rows.
        advice = FILTER if self.columns.domain.attribute else DROP
        if ownerless.count:
            return ownerless.as_missing(table, done, "users", advice.format("missing")).at(self._place())
        if missing.count:
            return missing.as_missing(table, done, "values", advice.format("missing")).at(self._place(where))
        if not outside.count and (lacking := next((name for name in defects if defects[name].count), None)) is not None:
            return defects[lacking].as_missing(table, done, f"cells of {lacking!r}", FILTER).at(self._place())
        return outside.as_outside(table, done, readable, advice.format("unknown")).at(self._place(where))

    def _place(self, where: Collection[str] = ()) -> str:
        return ", ".join([str(self.scan.source), *map(repr, where)])


def _read_as(values: Any, space: LabelSpace, space_as_read: LabelSpace) -> ReadAs:
    """Count the values that are no labels but look like a label, by attribute and label."""
    counts: ReadAs = Counter()
    for name, part in space.flat_parts.items():
        if part.holds != TEXT:
            continue
        column = values[name] if space.parts else values
        read = space_as_read.flat_parts[name].encode(column)[part.encode(column) == OUTSIDE]
        codes, times = np.unique(read, return_counts=True)
        counts.update({(name, label): int(n) for label, n in zip(part.names(codes), times, strict=True)})
    return counts


def _flawed(values: Any, space: LabelSpace, *, missing: bool) -> dict[str, None]:
    """Return the names of a product's attributes with missing values, or with values that are no labels."""

    def is_flawed(name: str, part: LabelSpace) -> bool:
        rows = absent_rows(values[name]) if missing else part.encode(values[name]) == OUTSIDE
        return bool(rows.any())

    return dict.fromkeys(name for name, part in space.parts.items() if is_flawed(name, part))


@dataclass(slots=True, eq=False)
class Defect:
    """The number of rows with a fault, and the first of these rows."""

    count: int = 0
    first: int = 0

    def add(self, rows: AnyArray) -> None:
        """Add rows with the fault."""
        if len(rows) and not self.count:
            self.first = int(rows[0])
        self.count += len(rows)

    def as_missing(self, table: TableScan, total: int, wanted: str, advice: str = DROP.format("missing")) -> DataError:
        """Return the error for rows with a missing value, with their number among all rows."""
        return columns.missing_error(self.count, total, table.place(self.first), wanted, advice)

    def as_outside(self, table: TableScan, total: int, alike: int = 0, advice: str = FILTER) -> DataError:
        """Return the error for rows with a value outside the domain, with their number among all rows."""
        return columns.outside_error(self.count, total, table.place(self.first), alike, advice)


def read_values(path: str | File, domain: Domain, column: str | None = None) -> Any:
    """Read a column of values of a domain, or the columns of its attributes.

    Args:
        path: a table; a product needs a column per attribute, a grid needs lat and lon.
        domain: the domain.
        column: the column of values; None if only one column has a name, or for products and grids.

    Returns:
        values for `Domain.encode`.

    Raises:
        DataError: if the column is missing or not unique; if a CSV file has no row, or its cells do not have the type
            of the labels.

    Example:
        >>> from importlib.resources import files
        >>> answers = files("discreet") / "examples" / "answers.csv"
        >>> values = read_values(answers, Domain(["18-29", "30s", "40s", "50+"]), column="age")
        >>> values[0].as_py()
        '50+'
    """
    return read_owned(path, domain, None, column)[0]


def read_owned(
    path: str | File, domain: Domain, user: str | None, column: str | None = None, tag: str | None = None
) -> tuple[Any, Any, Any]:
    """Read values with their users and their tags.

    Args:
        path: a table; see `read_values`. The columns of users and tags do not count as columns of values.
        domain: the domain.
        user: the column of users, if any.
        column: as for `read_values`.
        tag: the column of tags, if any.

    Returns:
        values for `Domain.encode`, the column of users or None, and the column of tags or None. Users and tags are
        always text.

    Raises:
        DataError: if a column is missing, and as for `read_values`.
    """
    values = ValueScan.of(path, domain, user=user, column=column, tag=tag)
    with readable(values.source):
        return values.columns_in(values.table.whole())


@dataclass(frozen=True, slots=True, eq=False)
class ValueScan:
    """A table of values that was checked, with columns of users, tags and kept columns if asked for.

    Attributes:
        table: the table.
        names: the columns of the values.
        spread: whether these columns are the attributes of a product or the coordinates of a grid.
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
        path: str | File,
        domain: Domain,
        *,
        user: str | None = None,
        column: str | None = None,
        tag: str | None = None,
        keep: tuple[str, ...] = (),
        cuts: Cuts | None = None,
        spelling: CellFormat = PLAIN,
    ) -> "ValueScan":
        """Check the columns of a table of values, with ranges at ``cuts``; arguments and errors as for `read_owned`.

        Raises:
            ParameterError: also if a kept column is a column of values or users.
        """
        owners, source = [name for name in (user, tag) if name is not None], file_of(path)
        besides = [*owners, *keep]
        spread, plain, names = columns_of(domain), is_text(source), list[str]()
        if spread and column is not None:
            raise ParameterError("column.several", argument="column", names=", ".join(spread))
        wanted = [*besides, *(spread or ([] if column is None else [column]))]
        arguments = {str(column): "column", str(user): "user", **dict.fromkeys(keep, "keep")}

        def chosen(heads: Sequence[str]) -> Mapping[str, Cells]:
            if plain and not set(wanted) <= set(heads):
                _refuse_headless(heads, domain)
            names.extend(spread or [_only(heads, besides, domain, headed=not plain) if column is None else column])
            check_apart(keep, [*names, *owners])
            cells = spread or {names[0]: cells_of(domain.space)}
            cells = cells if cuts is None else cells_with_cuts(cells, cuts)
            cells = {name: replace(cell, spelling=spelling) for name, cell in cells.items()}
            return {**cells, **dict.fromkeys(owners, NAMES), **dict.fromkeys(keep, ANYTHING)}

        table = scan(source, checked_columns(chosen, arguments), wanted)
        for name in names:
            if not is_value(table.types[name]):
                raise DataError("column.unreadable", name=name, kind=table.types[name]).at(path)
        if not table.rows and plain and tag is None:
            raise DataError("table.without-rows", path=path)
        return cls(table, names, spread is not None, user, tag, keep)

    @property
    def source(self) -> File:
        """The file of the table."""
        return self.table.source

    def columns_in(self, rows: Any) -> tuple[Any, Any, Any]:
        """Return values, users and tags from rows of the table, as `read_owned` does."""
        typed = {name: from_typed(rows[name], cells) for name, cells in self.table.asked.items()}
        rows = pa.Table.from_arrays(list(typed.values()), list(typed))
        values = rows.select(self.names) if self.spread else rows[self.names[0]]
        return values, *(None if name is None else rows[name] for name in (self.user, self.tag))

    def kept_schema(self) -> pa.Schema:
        """Return the types of the kept columns; errors as for the function `kept_schema`, with the table's name."""
        with readable(self.source):
            typed = kind_of(self.source) in COLUMNS
            # Columns from the names of folders are text.
            types = {**self.table.types, **dict.fromkeys(self.table.named, pa.string())}
            return kept_schema({name: types[name] for name in self.keep}, is_text=not typed)

    def batches(self, rows: int) -> Iterator[tuple[Any, Any, Any]]:
        """Yield values, users and kept columns, in batches of at most ``rows`` rows. Errors name the table."""
        names, schema = list(self.table.asked), self.kept_schema()
        with readable(self.source):
            for batch in self.table.batches(names, rows):
                table = pa.Table.from_batches([batch])
                values, users, _ = self.columns_in(table)
                yield values, users, kept_in(table, schema) if self.keep else None


def _only(names: Sequence[str], besides: Sequence[str], domain: Domain, *, headed: bool) -> str:
    """Return the name of the column of values: the attribute's name, or the name of the only column.

    Columns without a name hold numbers of rows.

    Args:
        names: the names of all columns.
        besides: the columns that do not hold values.
        domain: the domain of the values.
        headed: whether the names are certainly names, and not values of a table without a header.
    """
    others = [name for name in names if name not in besides]
    named = [name for name in others if name] or others
    about = [name for name in named if domain.attribute and composed(name) == domain.attribute]
    if about:
        return about[0]
    if len(named) != 1:
        raise DataError("column.not-chosen", argument="column", columns=shown(names))
    if not headed and _is_value(named[0], domain.space):
        raise DataError("header.like-value", argument="column")
    return named[0]


def _refuse_headless(names: Sequence[str], domain: Domain) -> None:
    """Raise an error for a table without a header, so that no message shows a value as the name of a column."""
    parts = [part for part in domain.space.plain.flat_parts.values() if part.holds]
    if any(_is_value(name, part) for name in names for part in parts):
        raise DataError("header.like-values")


def _is_value(name: str, space: LabelSpace) -> bool:
    return bool(space.encode([name])[0] >= 0) if cells_of(space).kind is Kind.TEXT else is_number(name)
