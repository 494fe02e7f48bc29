"""Tables of text with cells separated by commas, semicolons, tabs or bars: CSV.

The first line and the requested columns determine the separator and the order of columns; rows have no influence.
Cells are converted to the requested types (`Cells`), and an empty line is a row with missing cells.
"""

import codecs
import csv as python_csv
import io
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
from pyarrow import csv

from discreet.errors import DataError
from discreet.io.cells import ANYTHING, SPELLINGS, Cells, Kind, from_text
from discreet.io.piped import Piped, Source, beginning, opened

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


def layout_of(source: Source, wanted: Sequence[str]) -> Layout:
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
    heads = {separator: _header(text, separator) for separator in separators}
    separator = _separator({separator: columns for separator, (columns, _, _) in heads.items()}, wanted)
    columns, lines, after = heads[separator]
    empty, quoted = not after and len(start) < _START, any(b'"' in piece for piece in _pieces(source))
    return Layout(tuple(columns), separator, encoding, lines + skipped, empty, quoted)


def _decoded(source: Source, start: bytes) -> tuple[str, str]:
    """Return the encoding of text, and the decoded text."""
    if start.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        raise DataError("text must be in UTF-8, got UTF-32; save it as UTF-8.")
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16", codecs.getincrementaldecoder("utf-16")().decode(start)
    if b"\0" in start.partition(b"\n")[0]:
        raise DataError("text must not hold NUL bytes; save it as UTF-8 (is it a table of another kind?).")
    if not start.strip():
        raise DataError("the first line must name the columns, and there is none.")
    try:
        return "utf-8", codecs.getincrementaldecoder("utf-8-sig")().decode(start)
    except UnicodeDecodeError:
        return _windows(source), start.decode(_WINDOWS, errors="replace")


def _windows(source: Source) -> str:
    # The line shown beside a warning is this one, not the caller's.
    warnings.warn(f"{source} is not in UTF-8; it was read as Windows-1252 (Latin-1).", UserWarning, stacklevel=1)
    return _WINDOWS


def _header(text: str, separator: str) -> tuple[list[str], int, bool]:
    """Return names of columns, the number of their lines, and whether rows follow."""
    lines = io.StringIO(text, newline="")
    reader = python_csv.reader(lines, delimiter=separator)
    try:
        cells = next(reader, [])
    except python_csv.Error:
        raise DataError("the first line must name the columns; it is too long for that.") from None
    if not any(cell.strip() for cell in cells):
        raise DataError("the first line must name the columns; it is empty.")
    return [cell.strip() for cell in cells], reader.line_num, bool(lines.read(1))


def _separator(heads: Mapping[str, list[str]], wanted: Sequence[str]) -> str:
    fitting = [one for one, columns in heads.items() if set(wanted) <= set(columns)]
    if wanted:
        return fitting[0] if fitting else max(heads, key=lambda one: len(heads[one]))
    cutting = [one for one, columns in heads.items() if len(columns) > 1]
    if len(cutting) > 1:
        shown = " or ".join(repr(one) for one in cutting)
        raise DataError(f"the first line could be cut at {shown}; say which column is meant, or write another line.")
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

    source: Source
    layout: Layout
    asked: Mapping[str, Cells]
    careful: bool = False
    types: Mapping[str, pa.DataType] = field(default_factory=dict)

    def table(self) -> pa.Table:
        """Return all rows; see `settled`.

        Raises:
            DataError: if some are not what was asked for.
        """
        return self.settled()[1]

    def settled(self) -> tuple["Separated", pa.Table]:
        """Return all rows, and in which way they can be read once more.

        Raises:
            DataError: if cells are not what was asked for, or rows have more or fewer of them than the header; it says
                how many.
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
        return any(pc.any(pc.match_substring_regex(one.column(0), r"^[ \t]*[+-]?0[0-9]")).as_py() for one in texts)

    def _read(self) -> pa.Table:
        if self.layout.empty:
            return pa.table({name: pa.array([], cells.type or pa.null()) for name, cells in self.asked.items()})
        ragged: list[int] = []
        found = csv.read_csv(opened(self.source), *self._options(ragged))
        if ragged:
            total, first = found.num_rows + len(ragged), min(ragged) - 1 - self.layout.lines
            raise DataError(
                f"{len(ragged)} of {total} rows have more or fewer cells than the first line, which has "
                f"{len(self.layout.columns)} (first at row {first}); cells were cut at {self.layout.separator!r}."
            )
        return pa.table({name: self._column(name, found[place]) for place, name in enumerate(self.asked)})

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
            # What is a label elsewhere is a missing cell here.
            return from_text(name, column, replace(cells, kind=Kind.TEXT), self._labels) if self._labels else column
        if cells.kind is Kind.TEXT and not self.layout.quoted and not self._labels:
            # Every spelling of a missing cell is null already.
            return column
        return from_text(name, column, cells, self._labels)


def _is_utf8(source: Source) -> bool:
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        for piece in _pieces(source):
            decoder.decode(piece)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def _pieces(source: Source) -> Iterator[bytes]:
    if isinstance(source, Piped):
        yield source.content
        return
    with source.open("rb") as file:
        while piece := file.read(_PIECE):
            yield piece


def whole(source: Source) -> pa.Table:
    """Return all columns of a table of text, with types by their cells."""
    layout = layout_of(source, [])
    by_place = {f"{place}": ANYTHING for place in range(len(layout.columns))}
    numbered = replace(layout, columns=tuple(by_place))
    return Separated(source, numbered, by_place).table().rename_columns(list(layout.columns))
