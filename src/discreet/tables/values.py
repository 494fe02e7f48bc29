"""Values of people in tables: their codes in a domain, batch by batch, with users, tags and kept columns.

A plan says which label stands for a missing value. Kept columns are public (`discreet.tables.kept`).
Values without a code are counted over the whole table before it is refused.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from discreet.arrays import AnyArray, BoolArray, IntArray
from discreet.core import columns
from discreet.core.arrow import array_of, arrow_numbers, flags_of, spelled_out
from discreet.core.checks import checked_choice
from discreet.core.columns import CLIPPED, OUTSIDE, READ
from discreet.core.domain import Domain
from discreet.core.labels.reading import composed
from discreet.core.labels.spaces import INTEGERS, TEXT, LabelSpace
from discreet.errors import DataError, ParameterError
from discreet.files.paths import COLUMNS, File, file_of
from discreet.files.reading import readable
from discreet.tables.columns import checked_columns, is_number, shown
from discreet.tables.cuts import Cuts, by_attribute, cells_with_cuts, cut, each_column
from discreet.tables.kept import check_apart, checked_keep, kept_in, kept_schema
from discreet.tables.scan import TableScan, is_text, kind_of, scan
from discreet.tables.text import ANYTHING, NAMES, Cells, Kind, cells_of, columns_of, from_typed

Label: TypeAlias = str | int
Stand: TypeAlias = Label | dict[str, Label]
"""The label that a missing value stands for; of a product, by attribute."""


def check_stand(domain: Domain, stand: Stand) -> None:
    """Refuse a label for missing values that is not of the domain.

    Raises:
        ParameterError: if it is not, or attributes are named and there are none, or none are named and there are some.
    """
    if isinstance(stand, dict) != bool(domain.space.parts):
        raise ParameterError("missing.not-by-attribute")
    parts = domain.space.flat_parts
    for name, label in by_attribute(stand).items():
        if name not in parts or not _is_label(parts[name], label):
            where = f" of {name!r}" if name else ""
            raise ParameterError("missing.not-label", where=where, label=label)


def _is_label(space: LabelSpace, label: Label) -> bool:
    wanted, fits = (TEXT, True) if isinstance(label, str) else (INTEGERS, -(1 << 63) <= label < 1 << 63)
    return space.holds == wanted and fits and bool(space.encode([label])[0] >= 0)


def filled(values: Any, stand: Stand | None) -> Any:
    """Return a column or table of values with labels for the missing ones.

    Args:
        values: Arrow, as `discreet.tables.values.read_values` returns them.
        stand: the label for missing values, or None. See `check_stand`.
    """
    labels = by_attribute(stand)
    return values if stand is None else each_column(values, lambda name, column: _filled(column, labels.get(name)))


def _filled(column: Any, label: Label | None) -> Any:
    if label is None or not columns.absent(column).any():
        return column
    column = spelled_out(column)
    is_label_text = isinstance(label, str)
    if pa.types.is_null(column.type):
        column = column.cast(pa.string() if is_label_text else pa.int64())
    # Encoding refuses all columns but text and integers.
    return column if is_label_text == pa.types.is_integer(column.type) else column.fill_null(label)


def as_float32(values: Any) -> Any:
    """Return a column, or a table, with float32 in the place of float64; missing numbers are nan.

    Raises:
        DataError: if a number is no float32.
    """

    def narrowed(_: str, column: Any) -> Any:
        column = spelled_out(column)
        is_wide = pa.types.is_float64(column.type)
        return array_of(columns.float32(column.fill_null(np.nan))) if is_wide else column

    return each_column(values, narrowed)


def absent_rows(values: Any) -> BoolArray:
    """Return ``(n,)`` booleans: the rows of a column, or of a table, with a missing value."""
    if not isinstance(values, pa.Table):
        return columns.absent(values)
    rows = np.zeros(values.num_rows, dtype=np.bool_)
    for column in values.columns:
        rows |= columns.absent(column)
    return rows


def without(values: Any, rows: BoolArray) -> Any:
    """Return a column or a table without some rows."""
    return values.filter(flags_of(~rows)) if rows.any() else values


FILTER, DROP = "filter them out", "use `{}='drop'`"
"""Advice on rows that cannot be used, and on the argument that leaves them out."""

UNKNOWN = "have a value that is not in the plan"
REASONS = ("have no value", "have no user", UNKNOWN, CLIPPED, READ)
"""Reasons for which rows of values and their users are left out; and clipped numbers and texts, which stay."""

ReadAs: TypeAlias = Counter[tuple[str, str]]
"""The number of values that are taken for the label that they read like, by attribute (or "") and label."""


def left_out(values: Mapping[str, Any], nouns: Collection[str]) -> tuple[dict[str, Any], dict[str, int]]:
    """Return columns without the rows in which a value is missing, and the number of such rows by column.

    Args:
        values: columns or tables of one length, by a noun for their values (for messages).
        nouns: those that a row must have; it may lack the others.

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
    """The columns of a table that hold people's values.

    Attributes:
        domain: of the values.
        column: which column; None if there is only one that has a name, or for products and grids.
        user: which column says whose value it is, if any.
        stand: the label that a missing value stands for, if any.
        missing: "drop" leaves out rows without a value (or a user), "refuse" refuses them.
        cuts: starts of the ranges that the labels name, if the table holds numbers or dates.
        unknown: "drop" leaves out rows with a value that is not in the domain, "refuse" refuses them.
        keep: names of public columns that are written beside the reports, in clear: nothing protects them, and many
            of them together may make people recognisable.
        placeholders: given codes and their users, the codes to be obfuscated, with placeholders for secret values.
            None for plans without placeholders.
        as_read: whether a text that is no label is taken for the label that it reads like; see `Domain.encode`.
        float32: whether columns of float64 are read as float32, which they were before.

    Raises:
        ParameterError: if a name of a kept column is invalid, or placeholders go without users or with kept columns.
    """

    domain: Domain
    column: str | None = None
    user: str | None = None
    stand: Stand | None = None
    missing: str = "refuse"
    keep: tuple[str, ...] = ()
    cuts: Cuts | None = None
    unknown: str = "refuse"
    placeholders: Placeholders | None = None
    as_read: bool = False
    float32: bool = False

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
        """The labels, and the texts that stand for them."""
        return self.domain.space_as_read if self.as_read else self.domain.space

    @property
    def has_numbers(self) -> bool:
        """True if some of the columns hold numbers that are neither labels nor integers."""
        cells = columns_of(self.domain) or {"": cells_of(self.domain.space)}
        read = cells if self.cuts is None else cells_with_cuts(cells, self.cuts)
        return any(cell.kind is Kind.NUMBER for cell in read.values())

    def of(self, source: str | File) -> "CodedValues":
        """Inspect a table.

        Raises:
            DataError: if it is missing or broken, or a column is not there, or cannot be told.
            ParameterError: if tables are not read from such files, or a column is named where there are several, or
                one is to be kept that holds values or users.
        """
        table = ValueScan.of(source, self.domain, user=self.user, column=self.column, keep=self.keep, cuts=self.cuts)
        return CodedValues(table, self)


@dataclass(frozen=True, eq=False)
class CodedValues:
    """The codes of values in a table.

    Attributes:
        scan: the table.
        columns: the columns of the values.
        left_out: number of rows left out by reason, as far as the table was read.
        read_as: number of values taken for the label that they read like.
    """

    scan: "ValueScan"
    columns: ValueColumns
    left_out: Counter[str] = field(default_factory=Counter)
    read_as: ReadAs = field(default_factory=Counter)

    @property
    def rows(self) -> int:
        """Number of rows of the table."""
        return self.scan.table.rows

    def batches(self) -> Iterator[tuple[IntArray, Any, Any]]:
        """Yield the ``(m,)`` codes of some rows after the other, their users, and their kept columns; None without.

        Raises:
            DataError: if a value, a user or a kept cell is missing, or a value is not in the domain; it says how many
                of the whole table, and where the first is. And if the table cannot be read.
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
        """Return columns by noun, without the rows to be left out, and the number of these by reason."""
        asked = self.columns
        read = as_float32(values) if asked.float32 else values
        read = read if asked.cuts is None else cut(read, asked.cuts, asked.domain)
        read = filled(read, asked.stand)
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
        """Return the error of the whole table, after reading all of it; its batches know their own rows only."""
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
                # Refuses values of another kind.
                unknown = space.encode(rows["value"]) == OUTSIDE
                outside.add(places[unknown])
                as_labels = self.columns.domain.space_as_read.encode(rows["value"]) >= 0
                readable += int(np.count_nonzero(as_labels & unknown))
            where.update(_flawed(rows["value"], space, missing=bool(missing.count)))
            read, done = read + len(here), done + len(gone)
        # Rows of a survey stay together: no question leaves any out.
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
    """Return the number of values that are no labels of a space, by the label that they read like."""
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
    """Return the names of the attributes of a product in which values are missing, or are in no row of a label."""

    def is_flawed(name: str, part: LabelSpace) -> bool:
        rows = absent_rows(values[name]) if missing else part.encode(values[name]) == OUTSIDE
        return bool(rows.any())

    return dict.fromkeys(name for name, part in space.parts.items() if is_flawed(name, part))


@dataclass(slots=True, eq=False)
class Defect:
    """The number of rows with a defect, and the first one of the table."""

    count: int = 0
    first: int = 0

    def add(self, rows: AnyArray) -> None:
        """Add rows of the table."""
        if len(rows) and not self.count:
            self.first = int(rows[0])
        self.count += len(rows)

    def as_missing(self, table: TableScan, total: int, wanted: str, advice: str = DROP.format("missing")) -> DataError:
        """Return the error that these rows lack a value, among all rows of the table."""
        return columns.missing_error(self.count, total, table.place(self.first), wanted, advice)

    def as_outside(self, table: TableScan, total: int, alike: int = 0, advice: str = FILTER) -> DataError:
        """Return the error that the values of these rows are not in the domain, among all rows of the table."""
        return columns.outside_error(self.count, total, table.place(self.first), alike, advice)


def read_values(path: str | File, domain: Domain, column: str | None = None) -> Any:
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
    path: str | File, domain: Domain, user: str | None, column: str | None = None, tag: str | None = None
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
    values = ValueScan.of(path, domain, user=user, column=column, tag=tag)
    with readable(values.source):
        return values.columns_in(values.table.whole())


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
        path: str | File,
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
            return {**cells, **dict.fromkeys(owners, NAMES), **dict.fromkeys(keep, ANYTHING)}

        table = scan(source, checked_columns(chosen, arguments), wanted)
        if not table.rows and plain and tag is None:
            raise DataError("table.without-rows", path=path)
        return cls(table, names, spread is not None, user, tag, keep)

    @property
    def source(self) -> File:
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
            typed = kind_of(self.source) in COLUMNS
            # Names of folders are text.
            types = {**self.table.types, **dict.fromkeys(self.table.named, pa.string())}
            return kept_schema({name: types[name] for name in self.keep}, is_text=not typed)

    def batches(self, rows: int) -> Iterator[tuple[Any, Any, Any]]:
        """Yield values, users and kept columns, a batch of at most ``rows`` at a time; errors name the table."""
        names, schema = list(self.table.asked), self.kept_schema()
        with readable(self.source):
            for batch in self.table.batches(names, rows):
                table = pa.Table.from_batches([batch])
                values, users, _ = self.columns_in(table)
                yield values, users, kept_in(table, schema) if self.keep else None


def _only(names: Sequence[str], besides: Sequence[str], domain: Domain, *, headed: bool) -> str:
    """Return the one column that can hold the values: the column of the domain's attribute, or else the only one.

    Columns without a name hold numbers of rows.

    Args:
        names: the columns that there are.
        besides: those that hold something else.
        domain: of the values.
        headed: whether the names are surely names.
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
    """Refuse a table without a header, before a message lists its columns."""
    parts = [part for part in domain.space.plain.flat_parts.values() if part.holds]
    if any(_is_value(name, part) for name in names for part in parts):
        raise DataError("header.like-values")


def _is_value(name: str, space: LabelSpace) -> bool:
    return bool(space.encode([name])[0] >= 0) if cells_of(space).kind is Kind.TEXT else is_number(name)
