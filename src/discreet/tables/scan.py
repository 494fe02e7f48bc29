"""The reader of tables in files: Parquet, Arrow, CSV and JSON lines, by column and in batches.

`scan` checks the columns and types of a table, and returns a `TableScan`, which reads the table. Parquet and Arrow
files have types and are streamed. `scan` reads a CSV file once, to check that its cells have the requested types. The
columns of a small CSV file then stay in memory. JSON lines are read whole.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, TypeAlias

import pyarrow as pa

from discreet.core.arrow import plain_batch, plain_type
from discreet.files.paths import COLUMNS, GZIP, TABLES, TEXTS, File, checked, folder_columns
from discreet.files.reading import files_in, opened, opened_text, readable
from discreet.files.stored import FileState, StoredTable, look
from discreet.tables import text
from discreet.tables.text import Cells, DelimitedText, Kind, layout_of

BATCH_ROWS = 1 << 16
KEPT_BYTES = 1 << 26

Chosen: TypeAlias = Callable[[Sequence[str]], Mapping[str, Cells]]
"""A function from the names of a table's columns to the columns to read, each with its type; may raise DataError."""


@dataclass(frozen=True, slots=True, eq=False)
class TableScan:
    """A table in a file whose columns and types were checked, so that it can be read.

    Attributes:
        source: the file of the table.
        asked: the columns to read, each with the type as which its cells are read.
        types: the Arrow types of the columns to read.
        rows: the number of rows.
        columns: the names of all columns, for messages.
        state: the identity of the file, and the time of its last change, when it was checked.
        table: a Parquet or Arrow file; else None.
        form: the layout and the types of a CSV file; else None.
        kept: the columns, if they are in memory.
        spelled: the names of columns in the file, where they differ from the requested names.
        named: requested columns that are only in the names of the file's folders, each with its single cell.
    """

    source: File
    asked: Mapping[str, Cells]
    types: Mapping[str, pa.DataType]
    rows: int
    columns: Sequence[str]
    state: FileState
    table: StoredTable | None = None
    form: DelimitedText | None = None
    kept: pa.Table | None = None
    named: Mapping[str, pa.Scalar] = field(default_factory=dict)
    spelled: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Store the types as which the columns are read, without dictionaries and other encodings."""
        object.__setattr__(self, "types", {name: plain_type(kind) for name, kind in self.types.items()})

    def batches(self, names: Sequence[str], rows: int | None = None) -> Iterator[pa.RecordBatch]:
        """Yield the columns of all rows, in batches of at most ``rows`` rows (None: `BATCH_ROWS`).

        Errors of libraries about a damaged file are raised unchanged; see `readable`.
        """
        self.state.check(self.source)
        rows = BATCH_ROWS if rows is None else rows
        inside = [name for name in names if name not in self.named]
        for read in self._read(inside, rows) if inside else [pa.record_batch([pa.nulls(self.rows)], [""])]:
            batch = plain_batch(read)
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
            return (batch.rename_columns(names) for batch in self.table.read(groups, rows, spelled))
        assert self.form is not None
        return replace(self.form, asked={name: self.asked[name] for name in names}).batches()

    def place(self, row: int) -> str:
        """Return a row's number for messages; for text files also the line, counted from 1 as in editors."""
        if self.form is not None:
            return self.form.place(row)
        if self.table is not None:
            return f"{row}"
        with opened_text(self.source) as lines:
            numbers = (number for number, line in enumerate(lines, start=1) if line.strip())
            return f"{row}, line {next(islice(numbers, row, None), row + 1)}"

    def whole(self) -> pa.Table:
        """Return the requested columns in memory; errors as for `batches`."""
        schema = pa.schema([(name, self.types[name]) for name in self.asked])
        # Metadata of the table and of its fields do not belong to the columns.
        return pa.Table.from_batches([batch.cast(schema) for batch in self.batches(list(self.asked))], schema=schema)


def table_files(sources: str | File | Iterable[str | File]) -> list[File]:
    """Return the files of tables among the sources, and in folders among them, in order of their names.

    In a folder, names that start with a dot or an underscore are skipped, and folders inside it are searched too.

    Raises:
        DataError: if a folder holds no tables, or other files.
        ParameterError: if a file does not have the ending of a table.
    """
    files = files_in([sources] if isinstance(sources, str | File) else sources, TABLES, "tables")
    for path in files:
        kind_of(path)
    return files


def kind_of(source: File) -> str:
    """Return the ending of a table's file, without the ending ``.gz``.

    Raises:
        ParameterError: if the file does not have the ending of a table.
    """
    return checked(source, TABLES, "tables").removesuffix(GZIP)


def is_text(source: File) -> bool:
    """Return true if a table is a file of separated text, whose cells have no types."""
    return kind_of(source) in TEXTS


def scan(source: File, chosen: Chosen, wanted: Sequence[str] = ()) -> TableScan:
    """Check the columns and types of a table, and return an object that can read it.

    Args:
        source: the table.
        chosen: a function that returns the columns to read; each must occur once.
        wanted: names of columns that the table should have, as far as they are known. Missing columns may be in the
            names of the file's folders (`folder_columns`).

    Raises:
        DataError: if the table is missing or damaged, or cells of a CSV file do not have the requested type. The error
            names the file.
        ParameterError: if the file does not have the ending of a table.
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
        if kind in TEXTS:
            layout = layout_of(source, wanted)
            return _scan_text(DelimitedText(source, layout, chosen(layout.columns)), state)
        table = _lines(source)
        names = text.as_wanted(table.column_names, wanted)
        asked = chosen(names)
        spellings = {table.column_names[names.index(name)]: cells for name, cells in asked.items()}
        lines = _lines_of_text(source, table, spellings).select(list(spellings)).rename_columns(list(asked))
        types = dict(zip(asked, lines.schema.types, strict=True))
        return TableScan(source, asked, types, table.num_rows, names, state, kept=lines)


def whole_table(source: File) -> pa.Table:
    """Read all columns of a table. The types of CSV columns follow from their cells; errors as for `scan`."""
    kind = kind_of(source)
    with readable(source):
        if kind in TEXTS:
            return text.whole(source)
        if kind not in COLUMNS:
            return _lines(source)
        stored = look(source)
        batches = stored.read(range(len(stored.rows)), BATCH_ROWS)
        return pa.Table.from_batches(batches, schema=stored.schema)


def _scan_text(form: DelimitedText, state: FileState) -> TableScan:
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
        # Some cells do not fit the type of the first cells. Now the type follows from all cells.
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
    """Return JSON lines in which columns of text stay text, even if Arrow took them for dates."""
    kinds = {name: table[name].type for name, cells in asked.items() if cells.kind is Kind.TEXT}
    dates = [name for name, kind in kinds.items() if pa.types.is_temporal(kind)]
    return _lines(source, pa.schema([(name, pa.string()) for name in dates])) if dates else table
