"""Tables of separated text (CSV), and the types of their cells.

The first line and the requested columns determine the separator (comma, semicolon, tab or bar) and the order of
columns; other lines have no influence. Cells are converted to the requested types (`Cells`), because 01 may be a label
or a number. An empty line is a row with missing cells.
"""

import codecs
import csv as python_csv
import io
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from decimal import Decimal
from enum import Enum
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import csv

from discreet.arrays import BoolArray
from discreet.core.arrow import array_of, arrow_numbers, decimals_as_numbers, is_textual, one_array
from discreet.core.checks import checked_choice
from discreet.core.columns import absent, whole_numbers
from discreet.core.domain import Domain
from discreet.core.labels.spaces import TEXT, LabelSpace
from discreet.core.labels.text_forms import composed
from discreet.errors import DataError
from discreet.files.paths import File
from discreet.files.reading import PipedTable, beginning, opened, opened_text, pieces

# The texts that Arrow's CSV reader takes for a missing number. The set below adds the texts of Python, pandas, MySQL.
_NUMBERS_AWAY = "#N/A|#N/A N/A|#NA|-1.#IND|-1.#QNAN|-NaN|-nan|1.#IND|1.#QNAN|N/A|NA|NULL|NaN|n/a|nan|null"
SPELLINGS = frozenset(["", *_NUMBERS_AWAY.split("|"), "None", "<NA>", "\\N"])
"""The texts that mean a missing cell in a text file, unless they are labels."""

_INTEGER = re.compile(r"[+-]?[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]{1,3})?", re.ASCII)
_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
# Groups of three digits after a point, a space, an apostrophe, or a space that does not break.
_THOUSANDS = "[. '\u2019\u00a0\u202f]"
_GROUPED = f"^[+-]?[0-9]{{1,3}}({_THOUSANDS}[0-9]{{3}})+(,[0-9]*)?$"
DATE_ORDERS = ("day-first", "month-first")
_COMMA = r"^[+-]?[0-9]*,[0-9]+$"


class Kind(Enum):
    """The types as which a column's cells can be read."""

    TEXT = "text"
    INTEGER = "integers"
    NUMBER = "numbers"
    ANY = "anything"


@dataclass(frozen=True, slots=True)
class CellFormat:
    """The format of cells of text: decimal mark, texts for missing cells, and dates.

    Attributes:
        decimal: the decimal mark of numbers, a point or a comma. Beside a comma, a point, a space or an apostrophe
            separates thousands.
        missing: texts that mean a missing cell, besides `SPELLINGS`.
        dates: the order of dates such as 03/04/2026, ``day-first`` or ``month-first``; empty if there are none. Dates
            with points, such as 31.12.2026, have the day first.
    """

    decimal: str = "."
    missing: tuple[str, ...] = ()
    dates: str = ""

    def __post_init__(self) -> None:
        """Raise an error for another decimal mark, or another order of dates."""
        checked_choice("decimal", self.decimal, (".", ","))
        checked_choice("dates", self.dates, ("", *DATE_ORDERS))


PLAIN = CellFormat()


@dataclass(frozen=True, slots=True)
class Cells:
    """The type as which a column's cells are read, and the texts that are missing cells.

    Attributes:
        kind: the type of the cells; ANY if it follows from the cells.
        labels: texts that usually mean a missing cell, but are labels in this column; None if the cells are names of
            users or tags, for which only an empty cell is missing, in files of all formats.
        spelling: how the cells are written.
    """

    kind: Kind
    labels: frozenset[str] | None = frozenset()
    spelling: CellFormat = PLAIN

    @property
    def spellings(self) -> frozenset[str]:
        """The texts that are missing cells."""
        return (SPELLINGS - (self.labels or frozenset())).union(self.spelling.missing)

    @property
    def type(self) -> pa.DataType | None:
        """The Arrow type; None if the type follows from the cells."""
        return {Kind.TEXT: pa.string(), Kind.INTEGER: pa.int64(), Kind.NUMBER: pa.float64()}.get(self.kind)


NAMES = Cells(Kind.TEXT, None)
NUMBERS = Cells(Kind.NUMBER)
# In a list of labels NA is a label (Namibia). An empty cell is not a label.
LISTED = Cells(Kind.TEXT, SPELLINGS - {""})
ANYTHING = Cells(Kind.ANY)


def cells_of(space: LabelSpace) -> Cells:
    """Return the type as which a column of labels is read, for a label space without attributes."""
    space = space.plain
    if space.holds != TEXT:
        return Cells(Kind(space.holds))
    spelled = sorted(SPELLINGS)
    known = space.encode(spelled) >= 0
    return Cells(Kind.TEXT, frozenset(cell for cell, is_label in zip(spelled, known, strict=True) if is_label))


def columns_of(domain: Domain) -> Mapping[str, Cells] | None:
    """Return the types as which the columns of a domain's values are read, by name; None for a single column."""
    space = domain.space.plain
    return {name: cells_of(space.parts[name]) if space.parts else NUMBERS for name in space.column_names} or None


def from_text(
    name: str, column: Any, cells: Cells, known: frozenset[str] = frozenset(), place: Callable[[int], str] = str
) -> Any:
    """Convert a column of text to its type, with nulls for missing cells.

    Args:
        name: the name of the column, for messages.
        column: an Arrow array or chunked array.
        cells: the type as which the column is read.
        known: texts for missing cells that have not been replaced by nulls yet.
        place: a function that returns words for the place of a row.

    Raises:
        DataError: if some cells do not have this type. The error has their number, and the row of the first.
    """
    import pyarrow.compute as pc

    left = known & cells.spellings
    if left:
        column = _without(column, pc.is_in(column, value_set=pa.array(sorted(left), column.type)))
    if "" not in (cells.labels or ()):
        column = without_empty(column)
    if cells.kind is Kind.TEXT:
        return column
    if cells.spelling.decimal == ",":
        if pc.any(pc.match_substring_regex(column, _GROUPED)).as_py():
            # stacklevel=1: the warning shows this line of code and not the caller's.
            warnings.warn(f"Column {name!r} has thousands separators: 1.500 counts as 1500.", UserWarning, stacklevel=1)
        column = with_points(column)
    read, wrong = _whole_numbers(column) if cells.kind is Kind.INTEGER else _numbers(column)
    if wrong.any():
        raise _wrong_cells(name, column, cells, wrong, place)
    return read


def with_points(column: Any) -> Any:
    """Return numbers with decimal commas as numbers with points; any other text becomes a text that is no number.

    Example:
        >>> with_points(pa.array(["1,81", "7", "1.5"])).to_pylist()
        ['1.81', '7', '?']
    """
    import pyarrow.compute as pc

    cells = pc.utf8_trim_whitespace(column)
    grouped = pc.match_substring_regex(cells, _GROUPED)
    cells = pc.if_else(grouped, pc.replace_substring_regex(cells, _THOUSANDS, ""), cells)
    return pc.if_else(pc.match_substring(cells, "."), "?", pc.replace_substring(cells, ",", "."))


def with_year_first(column: Any, spelling: CellFormat) -> Any:
    """Return dates with the day or the month first as dates with the year first; other texts stay unchanged.

    Example:
        >>> with_year_first(pa.array(["31.12.1950", "1.2.2026 12:30", "1950"]), CellFormat()).to_pylist()
        ['1950-12-31', '2026-02-01 12:30', '1950']
    """
    import pyarrow.compute as pc

    day, month = r"(?P<day>0?[1-9]|[12][0-9]|3[01])", r"(?P<month>0?[1-9]|1[0-2])"
    first, second = (month, day) if spelling.dates == "month-first" else (day, month)
    mark = "[./-]" if spelling.dates else "[.]"
    pattern = f"^{first}{mark}{second}{mark}(?P<year>[0-9]{{4}})(?P<rest>|[ T].*)$"
    column = column.cast(pa.string())
    parts = pc.extract_regex(pc.utf8_trim_whitespace(column), pattern)
    year, *others, rest = (pc.struct_field(parts, name) for name in ("year", "month", "day", "rest"))
    written = pc.binary_join_element_wise(year, *(pc.utf8_lpad(part, 2, "0") for part in others), "-")
    return pc.coalesce(pc.binary_join_element_wise(written, rest, ""), column)


def without_empty(column: Any) -> Any:
    """Return a plain column of text with nulls instead of empty cells; any other column unchanged."""
    import pyarrow.compute as pc

    return _without(column, pc.invert(pc.binary_length(column).cast(pa.bool_()))) if is_textual(column.type) else column


def _without(column: Any, gone: Any) -> Any:
    import pyarrow.compute as pc

    return pc.if_else(gone, pa.scalar(None, column.type), column) if pc.any(gone).as_py() else column


def _whole_numbers(column: Any) -> tuple[Any, BoolArray]:
    """Convert text to int64, and return booleans for cells that are not integers. 20.0 and 2e1 are integers."""
    import pyarrow.compute as pc

    cells = one_array(pc.dictionary_encode(pc.utf8_trim_whitespace(column)))
    numbers = [_whole(text) for text in cells.dictionary.to_pylist()]
    wrong = pa.array([number is None for number in numbers], pa.bool_()).take(cells.indices)
    return pa.array(numbers, pa.int64()).take(cells.indices), np.asarray(wrong.fill_null(False))


def _whole(text: str) -> int | None:
    if not _INTEGER.fullmatch(text):
        return None
    number = Decimal(text)
    # The size is checked first, because 1e999 as an integer would have a thousand digits.
    if number.adjusted() > 18 or number != number.to_integral_value():
        return None
    return int(number) if -(1 << 63) <= number < 1 << 63 else None


def _numbers(column: Any) -> tuple[Any, BoolArray]:
    import pyarrow.compute as pc

    trimmed = pc.utf8_trim_whitespace(column)
    fits = pc.match_substring_regex(trimmed, _NUMBER)
    wrong: BoolArray = ~np.asarray(fits.fill_null(True))
    return pc.if_else(fits, trimmed, None).cast(pa.float64()), wrong


def _wrong_cells(name: str, column: Any, cells: Cells, wrong: BoolArray, place: Callable[[int], str]) -> DataError:
    """Return the error for cells that do not have the column's type."""
    import pyarrow.compute as pc

    commas = pc.match_substring_regex(pc.utf8_trim_whitespace(column), _COMMA).fill_null(False)
    code = "cells.decimal-commas" if pc.any(commas).as_py() else "cells.wrong-kind"
    row, count = place(int(np.argmax(wrong))), np.count_nonzero(wrong)
    return DataError(code, name=name, kind=cells.kind.value, count=count, total=len(wrong), row=row)


def from_typed(column: Any, cells: Cells) -> Any:
    """Convert a column that has a type to the type of its cells, if no information is lost.

    Integers become integers again if a missing cell had turned them into floats. Names that are integers become text.
    All other columns stay unchanged, and are checked later.
    """
    if cells.kind is Kind.INTEGER or cells.labels is None:
        column = as_integers(column)
    if is_textual(column.type) and cells.spelling.missing:
        import pyarrow.compute as pc

        column = _without(column, pc.is_in(column, value_set=pa.array(cells.spelling.missing, column.type)))
    if cells.labels is not None:
        return column
    return column.cast(pa.string()) if pa.types.is_integer(column.type) else without_empty(column)


def as_integers(column: Any) -> Any:
    """Return a plain column of numbers as int64 if every number is whole and exact; any other column unchanged."""
    if pa.types.is_decimal(column.type):
        numbers = decimals_as_numbers(column)
        return numbers if pa.types.is_integer(numbers.type) else column
    if not pa.types.is_floating(column.type):
        return column
    gone = absent(column)
    whole = whole_numbers(np.where(gone, np.nan, arrow_numbers(column)).astype(column.type.to_pandas_dtype()))
    return column if whole is None else array_of(whole, ~gone)


_SEPARATORS = (",", ";", "\t", "|")
_WINDOWS = "cp1252"
_START, _PIECE = 1 << 20, 1 << 20


@dataclass(frozen=True, slots=True)
class Layout:
    """The layout of a CSV file: separator, encoding and header.

    Attributes:
        columns: the names in the header, without spaces around them.
        separator: the character between cells.
        encoding: the encoding of the text.
        lines: the number of lines of the header.
        empty: whether no row follows the header.
        quoted: whether the text has quotation marks, so that a row may continue on the next line.
    """

    columns: tuple[str, ...]
    separator: str
    encoding: str
    lines: int
    empty: bool
    quoted: bool


def layout_of(source: File, wanted: Sequence[str]) -> Layout:
    """Determine the layout of a CSV file from its first line.

    Args:
        source: the table.
        wanted: names of columns that the table should have. The first separator with which the header has them is used.

    Raises:
        DataError: if there is no first line, it is not text, or several separators are possible.
    """
    start = beginning(source, _START)
    encoding, text = _decoded(source, start)
    separators, skipped = list(_SEPARATORS), 0
    first, _, rest = text.partition("\n")
    if first.lower().startswith("sep=") and len(first.strip("\r\n")) == 5:
        # Only Excel writes this line.
        separators, text, skipped = [first[4]], rest, 1
    heads = {separator: _header(text, separator, wanted) for separator in separators}
    separator = _separator({separator: columns for separator, (columns, _, _) in heads.items()}, wanted)
    columns, lines, cells = heads[separator]
    # R and pandas write a column for the names of rows, whose own name is empty.
    wide = [rows[0] for _, _, rows in heads.values() if rows and min(rows) == max(rows) > 2]
    if wide and columns[0] and not any(columns[1:]) and not set(wanted) & {*columns}:
        raise DataError("header.title", count=wide[0])
    empty, quoted = not cells and len(start) < _START, any(b'"' in piece for piece in pieces(source, _PIECE))
    return Layout(tuple(columns), separator, encoding, lines + skipped, empty, quoted)


def _decoded(source: File, start: bytes) -> tuple[str, str]:
    """Return the encoding of bytes, and the decoded text."""
    if start.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        raise DataError("text.utf-32")
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16", codecs.getincrementaldecoder("utf-16")().decode(start)
    if b"\0" in start.partition(b"\n")[0]:
        raise DataError("text.nul-bytes")
    if not start.strip():
        raise DataError("header.missing")
    try:
        return "utf-8", codecs.getincrementaldecoder("utf-8-sig")().decode(start)
    except UnicodeDecodeError:
        return _windows(source), start.decode(_WINDOWS, errors="replace")


def _windows(source: File) -> str:
    # stacklevel=1: the warning shows this line of code and not the caller's.
    warnings.warn(f"{source} is not in UTF-8; it was read as Windows-1252 (Latin-1).", UserWarning, stacklevel=1)
    return _WINDOWS


def as_wanted(names: Sequence[str], wanted: Sequence[str]) -> list[str]:
    """Return names of columns, written as in `wanted` if they differ only by Unicode normalization."""
    lacking = {composed(name): name for name in wanted if name not in names}
    return [lacking.get(composed(name), name) for name in names] if lacking else list(names)


def _header(text: str, separator: str, wanted: Sequence[str]) -> tuple[list[str], int, list[int]]:
    """Return the names of columns in a header, its number of lines, and the numbers of cells in the next two rows."""
    lines = io.StringIO(text, newline="")
    reader = python_csv.reader(lines, delimiter=separator)
    try:
        cells, count = next(reader, []), reader.line_num
        following = [len(row) for row in islice(reader, 2)]
    except python_csv.Error:
        raise DataError("header.too-long") from None
    if not any(cell.strip() for cell in cells):
        raise DataError("header.empty")
    return as_wanted([cell.strip() for cell in cells], wanted), count, following


def _separator(heads: Mapping[str, list[str]], wanted: Sequence[str]) -> str:
    fitting = [separator for separator, columns in heads.items() if set(wanted) <= set(columns)]
    if wanted:
        return fitting[0] if fitting else max(heads, key=lambda separator: len(heads[separator]))
    cutting = [separator for separator, columns in heads.items() if len(columns) > 1]
    if len(cutting) > 1:
        shown = " or ".join(repr(separator) for separator in cutting)
        raise DataError("header.ambiguous", separators=shown)
    return cutting[0] if cutting else next(iter(heads))


@dataclass(frozen=True, slots=True, eq=False)
class DelimitedText:
    """Some columns of a CSV file, and the type of each column.

    Attributes:
        source: the file.
        layout: the layout of the file.
        asked: the columns, which occur once each, and the types as which their cells are read.
        careful: whether all cells are read as text first, because Arrow cannot convert some of them.
        types: the types that were found for columns of the type ANY.
    """

    source: File
    layout: Layout
    asked: Mapping[str, Cells]
    careful: bool = False
    types: Mapping[str, pa.DataType] = field(default_factory=dict)

    def settled(self) -> tuple["DelimitedText", pa.Table]:
        """Read all rows. Return them, and a `DelimitedText` with the types and the encoding that fit all rows.

        Raises:
            DataError: if cells do not have the requested type, or rows have more or fewer cells than the header. The
                error has the number of such rows.
        """
        try:
            return self._typed(self._read())
        except pa.ArrowInvalid:
            pass
        if self.layout.encoding == "utf-8" and not _is_utf8(self.source):
            return replace(self, layout=replace(self.layout, encoding=_windows(self.source))).settled()
        careful = replace(self, careful=True)
        return careful._typed(careful._read())

    def _typed(self, table: pa.Table) -> tuple["DelimitedText", pa.Table]:
        types = {name: table.schema.field(name).type for name, cells in self.asked.items() if cells.kind is Kind.ANY}
        form = replace(self, types=types)
        codes = form.with_codes()
        return (form, table) if codes is form else (codes, codes._read())

    def with_codes(self) -> "DelimitedText":
        """Return a copy in which integer columns with leading zeros, such as postcodes, are read as text."""
        whole = [name for name, kind in self.types.items() if pa.types.is_integer(kind)]
        codes = {name: pa.string() for name in whole if self._has_padding(name)}
        return replace(self, types={**self.types, **codes}) if codes else self

    def _has_padding(self, name: str) -> bool:
        import pyarrow.compute as pc

        texts = replace(self, asked={name: ANYTHING}, types={name: pa.string()}).batches()
        return any(pc.any(pc.match_substring_regex(text.column(0), r"^[ \t]*[+-]?0[0-9]")).as_py() for text in texts)

    def _read(self) -> pa.Table:
        if self.layout.empty:
            return pa.table({name: pa.array([], cells.type or pa.null()) for name, cells in self.asked.items()})
        ragged: list[int] = []
        table = csv.read_csv(opened(self.source), *self._options(ragged))
        if ragged:
            total, first = table.num_rows + len(ragged), self.place(min(ragged) - 1 - self.layout.lines)
            raise DataError(
                "rows.ragged",
                count=len(ragged),
                columns=len(self.layout.columns),
                row=first,
                total=total,
                separator=self.layout.separator,
            )
        return pa.table({name: self._column(name, table[place]) for place, name in enumerate(self.asked)})

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows in batches.

        Raises:
            DataError: as for `settled`.
            pyarrow.ArrowInvalid: if Arrow cannot convert a cell, and ``careful`` is false.
        """
        if self.layout.empty:
            return
        with csv.open_csv(opened(self.source), *self._options([])) as source:
            for batch in source:
                columns = [self._column(name, batch.column(place)) for place, name in enumerate(self.asked)]
                yield pa.RecordBatch.from_arrays(columns, list(self.asked))

    def _options(self, ragged: list[int]) -> tuple[csv.ReadOptions, csv.ParseOptions, csv.ConvertOptions]:
        """Return Arrow's options for reading. Numbers of lines with a wrong number of cells are added to ``ragged``."""

        def note(row: Any) -> str:
            ragged.append(row.number or 0)
            return "skip"

        # Columns are identified by their position, because names may be repeated or have spaces around them.
        places = {name: str(self.layout.columns.index(name)) for name in self.asked}
        types = {places[name]: self._type(name) for name in self.asked if self._type(name) is not None}
        read = csv.ReadOptions(
            column_names=[str(place) for place in range(len(self.layout.columns))],
            skip_rows=self.layout.lines,
            encoding=self.layout.encoding,
            use_threads=not self.careful,
        )
        parse = csv.ParseOptions(
            delimiter=self.layout.separator,
            ignore_empty_lines=False,
            # This option costs a third of the time, so it is set only for quoted text. Without it Arrow would split
            # rows at line breaks in cells, without an error.
            newlines_in_values=self.layout.quoted,
            invalid_row_handler=note if self.careful else None,
        )
        convert = csv.ConvertOptions(
            include_columns=list(places.values()),
            column_types=types,
            null_values=sorted(SPELLINGS - self._labels),
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        )
        return read, parse, convert

    def _type(self, name: str) -> pa.DataType | None:
        cells = self.asked[name]
        if cells.kind is Kind.ANY:
            return self.types.get(name)
        # Arrow would read 1.500 as a number with a decimal point.
        return pa.string() if self.careful or cells.spelling.decimal == "," else cells.type

    @property
    def _labels(self) -> frozenset[str]:
        """The texts that are missing cells in some columns only. In all columns they are first read as text."""
        parts = ({*(cells.labels or ()), *cells.spelling.missing} for cells in self.asked.values())
        return frozenset().union(*parts)

    def _column(self, name: str, column: Any) -> Any:
        cells = self.asked[name]
        if not pa.types.is_string(column.type):
            return column
        if cells.kind is Kind.ANY:
            # Some labels of other columns mean missing cells in this column.
            return from_text(name, column, replace(cells, kind=Kind.TEXT), self._labels) if self._labels else column
        if cells.kind is Kind.TEXT and not self.layout.quoted and not self._labels:
            # All missing cells are null already.
            return column
        return from_text(name, column, cells, self._labels, self.place)

    def place(self, row: int) -> str:
        """Return a row's number and line for messages, counted from 1 as in editors. Cells may contain line breaks."""
        line = self.layout.lines + row + 1
        if self.layout.quoted:
            with opened_text(self.source, self.layout.encoding) as text, suppress(python_csv.Error):
                rows = python_csv.reader(text, delimiter=self.layout.separator)
                while rows.line_num < self.layout.lines:
                    next(rows)
                for _ in islice(rows, row):
                    pass
                line = rows.line_num + 1
        return f"{row}, line {line}"


def _is_utf8(source: File) -> bool:
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        for piece in pieces(source, _PIECE):
            decoder.decode(piece)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def whole(source: File) -> pa.Table:
    """Read all columns of a CSV file, with types that follow from their cells."""
    layout = layout_of(source, [])
    by_place = {f"{place}": ANYTHING for place in range(len(layout.columns))}
    numbered = replace(layout, columns=tuple(by_place))
    return DelimitedText(source, numbered, by_place).settled()[1].rename_columns(list(layout.columns))


def typed_cell(name: str, cell: str | None, cells: Cells) -> pa.Scalar:
    """Convert the text of a column with one text in all rows, as if the text were a cell of a CSV file.

    Raises:
        DataError: if the cell does not have the requested type.
    """
    quoted = "" if cell is None else '"{}"'.format(cell.replace('"', '""'))
    layout = Layout((name,), ",", "utf-8", 0, empty=False, quoted=True)
    return DelimitedText(PipedTable(".csv", f"{quoted}\n".encode()), layout, {name: cells}).settled()[1][name][0]
