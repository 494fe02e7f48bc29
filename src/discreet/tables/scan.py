"""The reader of tables in files: Parquet, Arrow, CSV and JSON lines, column by column, batch by batch.

All tables come through `scan`, which inspects a table, and `TableScan`, which reads it afterwards. Parquet and Arrow
files carry their types and are streamed. A CSV file is read once beforehand, to check that its cells have the requested
types; if it is small, its columns are kept from then on. JSON lines are read whole.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, TypeAlias

import pyarrow as pa

from discreet.files.paths import COLUMNS, GZIP, TABLES, File, checked, folder_columns
from discreet.files.reading import files_in, opened, opened_text, readable
from discreet.files.stored import FileState, StoredTable, look
from discreet.tables import text
from discreet.tables.text import Cells, Kind, Separated, layout_of

BATCH_ROWS = 1 << 16
KEPT_BYTES = 1 << 26
_CSV = ".csv"

Chosen: TypeAlias = Callable[[Sequence[str]], Mapping[str, Cells]]
"""Given the names of a table's columns, those to be read and what their cells are read as; may raise DataError."""


@dataclass(frozen=True, slots=True, eq=False)
class TableScan:
    """An inspected table.

    Attributes:
        source: where it is.
        asked: the columns to be read, and what their cells are read as.
        types: of the columns to be read.
        rows: how many.
        columns: all that there are, for messages.
        state: of the file when it was inspected.
        table: an inspected Parquet or Arrow file.
        form: how a CSV file is to be read.
        kept: the columns, where they are in memory.
        spelled: names of columns in an inspected file, where they differ from the requested names.
        named: the one cell of the columns by which the file's folders are named, as far as they are to be read.
    """

    source: File
    asked: Mapping[str, Cells]
    types: Mapping[str, pa.DataType]
    rows: int
    columns: Sequence[str]
    state: FileState
    table: StoredTable | None = None
    form: Separated | None = None
    kept: pa.Table | None = None
    named: Mapping[str, pa.Scalar] = field(default_factory=dict)
    spelled: Mapping[str, str] = field(default_factory=dict)

    def batches(self, names: Sequence[str], rows: int | None = None) -> Iterator[pa.RecordBatch]:
        """Yield columns of all rows, a batch of at most ``rows`` (None: `BATCH_ROWS`) at a time.

        What a library says of a broken file is raised as it is; see `readable`.
        """
        self.state.check(self.source)
        rows = BATCH_ROWS if rows is None else rows
        inside = [name for name in names if name not in self.named]
        for batch in self._read(inside, rows) if inside else [pa.record_batch([pa.nulls(self.rows)], [""])]:
            for start in range(0, batch.num_rows, rows):
                yield self._with_named(batch.slice(start, rows), names)
        self.state.check(self.source)

    def _with_named(self, batch: pa.RecordBatch, names: Sequence[str]) -> pa.RecordBatch:
        if not self.named:
            return batch
        there = {name: pa.repeat(cell, batch.num_rows) for name, cell in self.named.items()}
        return pa.record_batch([there[name] if name in there else batch[name] for name in names], list(names))

    def _read(self, names: list[str], rows: int) -> Iterator[pa.RecordBatch]:
        if self.kept is not None:
            return iter(self.kept.select(names).to_batches())
        if self.table is not None:
            groups, spelled = range(len(self.table.rows)), [self.spelled.get(name, name) for name in names]
            return (_renamed(batch, names) for batch in self.table.read(groups, rows, spelled))
        assert self.form is not None
        return replace(self.form, asked={name: self.asked[name] for name in names}).batches()

    def place(self, row: int) -> str:
        """Return the number of a row for messages, and in a text its line, counted from 1 as editors do."""
        if self.form is not None:
            return self.form.place(row)
        if self.table is not None:
            return f"{row}"
        with opened_text(self.source) as lines:
            numbers = (number for number, line in enumerate(lines, start=1) if line.strip())
            return f"{row}, line {next(islice(numbers, row, None), row + 1)}"

    def whole(self) -> pa.Table:
        """Return the columns to be read, in memory; errors as for `batches`."""
        if self.kept is not None and not self.named:
            return self.kept
        schema = pa.schema([(name, self.types[name]) for name in self.asked])
        # Metadata of the table and of its fields do not belong to the columns.
        return pa.Table.from_batches([batch.cast(schema) for batch in self.batches(list(self.asked))], schema=schema)


def _renamed(batch: pa.RecordBatch, names: list[str]) -> pa.RecordBatch:
    """Return a batch under other names; lengths in a damaged file that lead out of it would end the process."""
    batch.validate(full=True)
    return pa.record_batch(batch.columns, names)


def table_files(sources: str | File | Iterable[str | File]) -> list[File]:
    """Return the files of tables named, and those in the folders named, in order of their names.

    In a folder, names that begin with a dot or an underscore are passed over, and folders are searched too.

    Raises:
        DataError: if a folder holds no tables, or anything else.
        ParameterError: if a file is named from which tables are not read.
    """
    files = files_in([sources] if isinstance(sources, str | File) else sources, TABLES, "tables")
    for path in files:
        kind_of(path)
    return files


def kind_of(source: File) -> str:
    """Return the ending of a table's source, without the ending of a compression.

    Raises:
        ParameterError: if tables are not read from such files.
    """
    return checked(source, TABLES, "tables").removesuffix(GZIP)


def is_text(source: File) -> bool:
    """Return true if a table is text without types: CSV."""
    return kind_of(source) == _CSV


def scan(source: File, chosen: Chosen, wanted: Sequence[str] = ()) -> TableScan:
    """Return an inspected table.

    Args:
        source: the table.
        chosen: the columns to read; each is there once.
        wanted: names that the table should have, as far as they are known; its folders may be named by missing ones
            (`folder_columns`).

    Raises:
        DataError: if the table is missing or broken, or cells of a CSV file are not what they are to be read as; it
            names the source.
        ParameterError: if tables are not read from such files.
    """
    cells_of_folders = folder_columns(source)
    of_folders = dict(zip(text.as_wanted([*cells_of_folders], wanted), cells_of_folders.values(), strict=True))
    folders = {name: cell for name, cell in of_folders.items() if name in wanted}
    if not folders:
        return _inspected(source, chosen, wanted)
    asked = dict[str, Cells]()

    def inside(names: Sequence[str]) -> Mapping[str, Cells]:
        asked.update(chosen([*names, *(name for name in folders if name not in names)]))
        return {name: cells for name, cells in asked.items() if name in names} or {names[0]: Cells(Kind.TEXT)}

    table = _inspected(source, inside, [name for name in wanted if name not in folders])
    with readable(source):
        cells = {name: text.typed_cell(name, folders[name], asked[name]) for name in asked if name not in table.columns}
    types = {**table.types, **{name: cell.type for name, cell in cells.items()}}
    return replace(table, asked=asked, types=types, columns=[*table.columns, *cells], named=cells)


def _inspected(source: File, chosen: Chosen, wanted: Sequence[str]) -> TableScan:
    kind = kind_of(source)
    with readable(source):
        if kind in COLUMNS:
            stored = look(source)
            names = text.as_wanted(stored.schema.names, wanted)
            asked = chosen(names)
            types = {name: stored.schema.field(names.index(name)).type for name in asked}
            spelled = {name: other for name, other in zip(names, stored.schema.names, strict=True) if name != other}
            return TableScan(source, asked, types, sum(stored.rows), names, stored.state, stored, spelled=spelled)
        state = FileState.of(source)
        if kind == _CSV:
            layout = layout_of(source, wanted)
            return _scan_text(Separated(source, layout, chosen(layout.columns)), state)
        table = _lines(source)
        names = text.as_wanted(table.column_names, wanted)
        asked = chosen(names)
        spellings = {table.column_names[names.index(name)]: cells for name, cells in asked.items()}
        lines = _lines_of_text(source, table, spellings).select(list(spellings)).rename_columns(list(asked))
        types = dict(zip(asked, lines.schema.types, strict=True))
        return TableScan(source, asked, types, table.num_rows, names, state, kept=lines)


def whole_table(source: File) -> pa.Table:
    """Return all columns of a table; the cells of a CSV file decide their types. Errors as for `scan`."""
    kind = kind_of(source)
    with readable(source):
        if kind == _CSV:
            return text.whole(source)
        if kind not in COLUMNS:
            return _lines(source)
        stored = look(source)
        batches = stored.read(range(len(stored.rows)), BATCH_ROWS)
        return pa.Table.from_batches(batches, schema=stored.schema)


def _scan_text(form: Separated, state: FileState) -> TableScan:
    columns, asked, batches = form.layout.columns, form.asked, list[pa.RecordBatch]()
    types: dict[str, Any] = {name: cells.type or pa.null() for name, cells in asked.items()}
    rows, size, table = 0, 0, None
    try:
        for batch in form.batches():
            types, rows = {name: batch.schema.field(name).type for name in asked}, rows + batch.num_rows
            size += batch.nbytes
            batches.append(batch)
            if size > KEPT_BYTES:
                batches.clear()
        form = replace(form, types={name: types[name] for name, cells in asked.items() if cells.kind is Kind.ANY})
        codes = form.with_codes()
        if codes is not form:
            return _scan_text(codes, state)
    except pa.ArrowInvalid:
        # Something is of another form than usual, or than the beginning: now all of it decides.
        form, table = form.settled()
        types, rows, size = dict(zip(table.column_names, table.schema.types, strict=True)), table.num_rows, table.nbytes
    if size > KEPT_BYTES:
        return TableScan(form.source, asked, types, rows, columns, state, form=form)
    whole = table or pa.Table.from_batches(batches, schema=pa.schema(list(types.items())))
    return TableScan(form.source, asked, types, rows, columns, state, form=form, kept=whole)


def _lines(source: File, types: pa.Schema | None = None) -> pa.Table:
    from pyarrow import json

    return json.read_json(opened(source), parse_options=json.ParseOptions(explicit_schema=types))


def _lines_of_text(source: File, table: pa.Table, asked: Mapping[str, Cells]) -> pa.Table:
    """Return a table of lines with text read again as text where the library took it for dates."""
    kinds = {name: table[name].type for name, cells in asked.items() if cells.kind is Kind.TEXT}
    dates = [name for name, kind in kinds.items() if pa.types.is_temporal(kind)]
    return _lines(source, pa.schema([(name, pa.string()) for name in dates])) if dates else table
