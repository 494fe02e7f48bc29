"""Tables of separated text (CSV), and the types of their cells.

The first line and the requested columns determine the separator (comma, semicolon, tab or bar) and the order of
columns; rows have no influence. Cells are converted to the requested types (`Cells`), because 01 may be a label or a
number. An empty line is a row with missing cells.
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
from discreet.core.arrow import is_textual, one_array, spelled_out, value_type
from discreet.core.domain import Domain
from discreet.core.labels.reading import composed
from discreet.core.labels.spaces import TEXT, LabelSpace
from discreet.errors import DataError
from discreet.files.paths import File
from discreet.files.reading import Piped, beginning, opened, opened_text, pieces

# What the CSV reader of Arrow takes for a missing number, and three more: Python's, pandas' and MySQL's.
_NUMBERS_AWAY = "#N/A|#N/A N/A|#NA|-1.#IND|-1.#QNAN|-NaN|-nan|1.#IND|1.#QNAN|N/A|NA|NULL|NaN|n/a|nan|null"
SPELLINGS = frozenset(["", *_NUMBERS_AWAY.split("|"), "None", "<NA>", "\\N"])
"""Spellings of a missing cell in a text file, unless they are labels."""

_SHORT_INTEGER = r"^[+-]?[0-9]{1,18}(\.0*)?$"
_INTEGER = re.compile(r"[+-]?[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]{1,3})?", re.ASCII)
_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
_COMMA = r"^[+-]?[0-9]*,[0-9]+$"


_WHOLE_BELOW = {pa.float16(): 2.0**11, pa.float32(): 2.0**24, pa.float64(): 2.0**53}


class Kind(Enum):
    """The kind of a column's cells."""

    TEXT = "text"
    INTEGER = "integers"
    NUMBER = "numbers"
    ANY = "anything"


@dataclass(frozen=True, slots=True)
class Cells:
    """The reading of a column's cells: their kind and the spellings of a missing one.

    Attributes:
        kind: what they hold; ANY if that is to be told from the cells.
        labels: spellings of a missing cell that are labels here; None if the cells are names (of users, of tags),
            where an empty cell is missing in any kind of file.
    """

    kind: Kind
    labels: frozenset[str] | None = frozenset()

    @property
    def spellings(self) -> frozenset[str]:
        """Spellings of a missing cell."""
        return SPELLINGS - (self.labels or frozenset())

    @property
    def type(self) -> pa.DataType | None:
        """The Arrow type; None if the cells decide."""
        return {Kind.TEXT: pa.string(), Kind.INTEGER: pa.int64(), Kind.NUMBER: pa.float64()}.get(self.kind)


NAMES = Cells(Kind.TEXT, None)
NUMBERS = Cells(Kind.NUMBER)
# Where labels are listed, NA is one of them (Namibia); an empty cell is not a label.
LISTED = Cells(Kind.TEXT, SPELLINGS - {""})
ANYTHING = Cells(Kind.ANY)


def cells_of(space: LabelSpace) -> Cells:
    """Return the reading of a column with values of a flat label space."""
    space = space.plain
    if space.holds != TEXT:
        return Cells(Kind(space.holds))
    spelled = sorted(SPELLINGS)
    known = space.encode(spelled) >= 0
    return Cells(Kind.TEXT, frozenset(cell for cell, is_label in zip(spelled, known, strict=True) if is_label))


def columns_of(domain: Domain) -> Mapping[str, Cells] | None:
    """Return the reading of the columns of a domain's values by name; None for one column of any name."""
    space = domain.space.plain
    return {name: cells_of(space.parts[name]) if space.parts else NUMBERS for name in space.column_names} or None


def from_text(
    name: str, column: Any, cells: Cells, known: frozenset[str] = frozenset(), place: Callable[[int], str] = str
) -> Any:
    """Return a column of text in its type, with nulls for missing cells.

    Args:
        name: of the column, for messages.
        column: an Arrow array or chunked array.
        cells: what it is read as.
        known: spellings that have been read as text, so far.
        place: words for the place of a row.

    Raises:
        DataError: if some cells are not of their kind; it says how many, and the row of the first.
    """
    import pyarrow.compute as pc

    left = known & cells.spellings
    if left:
        column = _without(column, pc.is_in(column, value_set=pa.array(sorted(left), column.type)))
    if cells.kind is Kind.TEXT:
        return column if "" in (cells.labels or ()) else without_empty(column)
    read, wrong = _whole_numbers(column) if cells.kind is Kind.INTEGER else _numbers(column)
    if wrong.any():
        raise _wrong_cells(name, column, cells, wrong, place)
    return read


def without_empty(column: Any) -> Any:
    """Return a column of text with nulls for empty cells."""
    import pyarrow.compute as pc

    column = spelled_out(column)
    if pa.types.is_string_view(column.type):
        # Arrow does not measure views.
        column = column.cast(pa.large_string())
    return _without(column, pc.equal(pc.binary_length(column), 0))


def _without(column: Any, gone: Any) -> Any:
    import pyarrow.compute as pc

    return pc.if_else(gone, pa.scalar(None, column.type), column) if pc.any(gone).as_py() else column


def _whole_numbers(column: Any) -> tuple[Any, BoolArray]:
    """Return text as int64, and the cells that are no integers; 20.0 and 2e1 are integers."""
    import pyarrow.compute as pc

    trimmed = pc.utf8_trim_whitespace(column)
    short = pc.match_substring_regex(trimmed, _SHORT_INTEGER)
    plain = pc.replace_substring_regex(pc.if_else(short, trimmed, None), r"^\+|\.0*$", "")
    read = np.asarray(plain.cast(pa.int64()).fill_null(0)).copy()
    others = one_array(pc.dictionary_encode(pc.if_else(short, None, trimmed)))
    numbers = [_whole(text) for text in others.dictionary.to_pylist()]
    known = np.array([number is not None for number in numbers] or [True])
    at = np.flatnonzero(np.asarray(others.is_valid()))
    places = np.asarray(others.drop_null().indices)
    read[at] = np.array([number or 0 for number in numbers] or [0], dtype=np.int64)[places]
    wrong = np.zeros(len(column), dtype=np.bool_)
    wrong[at] = ~known[places]
    return pa.array(read, mask=np.asarray(column.is_null())), wrong


def _whole(text: str) -> int | None:
    if not _INTEGER.fullmatch(text):
        return None
    number = Decimal(text)
    # Asked first: as an integer, 1e999 has a thousand digits.
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
    """Return the error of cells that are not of the column's kind."""
    import pyarrow.compute as pc

    commas = pc.match_substring_regex(pc.utf8_trim_whitespace(column), _COMMA).fill_null(False)
    code = "cells.decimal-commas" if pc.any(commas).as_py() else "cells.wrong-kind"
    row, count = place(int(np.argmax(wrong))), np.count_nonzero(wrong)
    return DataError(code, name=name, kind=cells.kind.value, count=count, total=len(wrong), row=row)


def from_typed(column: Any, cells: Cells) -> Any:
    """Return a typed column in the type of its cells, where that loses nothing.

    Integers that a missing cell turned into floats become integers again. Integer names become text. All other columns
    stay unchanged, and are checked later.
    """
    whole = cells.kind is Kind.INTEGER or cells.labels is None
    if whole and pa.types.is_floating(column.type):
        import pyarrow.compute as pc

        numbers = pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column).cast(pa.float64())
        # Beyond, one float stands for several integers.
        inside = pc.and_(pc.equal(pc.floor(numbers), numbers), pc.less(pc.abs(numbers), _WHOLE_BELOW[column.type]))
        column = numbers.cast(pa.int64()) if pc.all(inside).as_py() in (True, None) else column
    if cells.labels is not None:
        return column
    if pa.types.is_integer(column.type):
        return column.cast(pa.string())
    return without_empty(column) if is_textual(value_type(column.type)) else column


_SEPARATORS = (",", ";", "\t", "|")
_WINDOWS = "cp1252"
_START, _PIECE = 1 << 20, 1 << 20


@dataclass(frozen=True, slots=True)
class Layout:
    """The layout of a table of text: separator, encoding, header.

    Attributes:
        columns: names in the header, without spaces around.
        separator: character between cells.
        encoding: of the text.
        lines: number of lines of the header.
        empty: whether no row follows the header.
        quoted: whether there are quotation marks, within which a row may continue on the next line.
    """

    columns: tuple[str, ...]
    separator: str
    encoding: str
    lines: int
    empty: bool
    quoted: bool


def layout_of(source: File, wanted: Sequence[str]) -> Layout:
    """Return the layout of a table, from its first line.

    Args:
        source: the table.
        wanted: columns that there should be; of the separators the first counts under which they are there.

    Raises:
        DataError: if there is no such line, or it is not text, or it could be cut in several ways.
    """
    start = beginning(source, _START)
    encoding, text = _decoded(source, start)
    separators, skipped = list(_SEPARATORS), 0
    first, _, rest = text.partition("\n")
    if first.lower().startswith("sep=") and len(first.strip("\r\n")) == 5:
        # Excel writes so, and no one else.
        separators, text, skipped = [first[4]], rest, 1
    heads = {separator: _header(text, separator, wanted) for separator in separators}
    separator = _separator({separator: columns for separator, (columns, _, _) in heads.items()}, wanted)
    columns, lines, after = heads[separator]
    empty, quoted = not after and len(start) < _START, any(b'"' in piece for piece in pieces(source, _PIECE))
    return Layout(tuple(columns), separator, encoding, lines + skipped, empty, quoted)


def _decoded(source: File, start: bytes) -> tuple[str, str]:
    """Return the encoding of text, and the decoded text."""
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
    # The line shown beside a warning is this one, not the caller's.
    warnings.warn(f"{source} is not in UTF-8; it was read as Windows-1252 (Latin-1).", UserWarning, stacklevel=1)
    return _WINDOWS


def as_wanted(names: Sequence[str], wanted: Sequence[str]) -> list[str]:
    """Return names of columns, those that differ from a wanted one by Unicode normalization alone as it is wanted."""
    lacking = {composed(name): name for name in wanted if name not in names}
    return [lacking.get(composed(name), name) for name in names] if lacking else list(names)


def _header(text: str, separator: str, wanted: Sequence[str]) -> tuple[list[str], int, bool]:
    """Return names of columns, the number of their lines, and whether rows follow."""
    lines = io.StringIO(text, newline="")
    reader = python_csv.reader(lines, delimiter=separator)
    try:
        cells = next(reader, [])
    except python_csv.Error:
        raise DataError("header.too-long") from None
    if not any(cell.strip() for cell in cells):
        raise DataError("header.empty")
    return as_wanted([cell.strip() for cell in cells], wanted), reader.line_num, bool(lines.read(1))


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
class Separated:
    """Columns of a table of text.

    Attributes:
        source: where it is.
        layout: how it is laid out.
        asked: the columns, each there once, and what their cells are read as.
        careful: whether cells are read as text first, because some are not of the usual form of their kind.
        types: those that the cells of columns of any kind turned out to have.
    """

    source: File
    layout: Layout
    asked: Mapping[str, Cells]
    careful: bool = False
    types: Mapping[str, pa.DataType] = field(default_factory=dict)

    def table(self) -> pa.Table:
        """Return all rows; see `settled`.

        Raises:
            DataError: if some cells are not of the requested kind.
        """
        return self.settled()[1]

    def settled(self) -> tuple["Separated", pa.Table]:
        """Return all rows, and in which way they can be read once more.

        Raises:
            DataError: if cells are not of the requested kind, or rows have more or fewer cells than the header; it
                gives the number of such rows.
        """
        try:
            return self._typed(self._read())
        except pa.ArrowInvalid:
            pass
        if self.layout.encoding == "utf-8" and not _is_utf8(self.source):
            return replace(self, layout=replace(self.layout, encoding=_windows(self.source))).settled()
        careful = replace(self, careful=True)
        return careful._typed(careful._read())

    def _typed(self, table: pa.Table) -> tuple["Separated", pa.Table]:
        types = {name: table.schema.field(name).type for name, cells in self.asked.items() if cells.kind is Kind.ANY}
        form = replace(self, types=types)
        codes = form.with_codes()
        return (form, table) if codes is form else (codes, codes._read())

    def with_codes(self) -> "Separated":
        """Return itself, or with text in the place of whole numbers that begin with a 0, as postcodes do."""
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
        """Read the rows a batch at a time.

        Raises:
            DataError: as `table`.
            pyarrow.ArrowInvalid: if something is not of the form that is usual for its kind, and this is not careful.
        """
        if self.layout.empty:
            return
        with csv.open_csv(opened(self.source), *self._options([])) as source:
            for batch in source:
                columns = [self._column(name, batch.column(place)) for place, name in enumerate(self.asked)]
                yield pa.RecordBatch.from_arrays(columns, list(self.asked))

    def _options(self, ragged: list[int]) -> tuple[csv.ReadOptions, csv.ParseOptions, csv.ConvertOptions]:
        """Return Arrow's options of reading; ``ragged`` collects numbers of lines that do not fit, if careful."""

        def note(row: Any) -> str:
            ragged.append(row.number or 0)
            return "skip"

        # Columns go by their places: names may be there twice, or have spaces around them.
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
            # Only where it may matter: it costs a third. Without it Arrow splits such rows, and does not say so.
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
        return pa.string() if self.careful else cells.type

    @property
    def _labels(self) -> frozenset[str]:
        """Spellings of a missing cell that are labels of some column, and so are read as text in all."""
        return frozenset().union(*(cells.labels or () for cells in self.asked.values()))

    def _column(self, name: str, column: Any) -> Any:
        cells = self.asked[name]
        if not pa.types.is_string(column.type):
            return column
        if cells.kind is Kind.ANY:
            # Some labels of other columns are missing cells here.
            return from_text(name, column, replace(cells, kind=Kind.TEXT), self._labels) if self._labels else column
        if cells.kind is Kind.TEXT and not self.layout.quoted and not self._labels:
            # Every spelling of a missing cell is null already.
            return column
        return from_text(name, column, cells, self._labels, self.place)

    def place(self, row: int) -> str:
        """Return a row and its line, counted from 1 as editors do, for messages; lines end within quotes too."""
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
    """Return all columns of a table of text, with types by their cells."""
    layout = layout_of(source, [])
    by_place = {f"{place}": ANYTHING for place in range(len(layout.columns))}
    numbered = replace(layout, columns=tuple(by_place))
    return Separated(source, numbered, by_place).table().rename_columns(list(layout.columns))


def typed_cell(name: str, cell: str | None, cells: Cells) -> pa.Scalar:
    """Return the cell of all rows of a column, as if it were in a table of text.

    Raises:
        DataError: if it is not of its kind.
    """
    quoted = "" if cell is None else '"{}"'.format(cell.replace('"', '""'))
    layout = Layout((name,), ",", "utf-8", 0, empty=False, quoted=True)
    return Separated(Piped(".csv", f"{quoted}\n".encode()), layout, {name: cells}).table()[name][0]
