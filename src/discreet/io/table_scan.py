"""Columns of tables in files, batch by batch.

Parquet and Arrow files carry their types. A CSV file is read once beforehand, to check that its cells have the
requested types; JSON lines are read whole.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa

from discreet.io.cells import Cells, Kind
from discreet.io.endings import ending
from discreet.io.folders import files_in
from discreet.io.read_errors import readable
from discreet.io.separated import Separated, layout_of
from discreet.io.stored import FileState, StoredTable, look, read_groups
from discreet.io.suffixes import COLUMNS, TABLES
from discreet.io.tables import checked_table, read_table

_BATCH_ROWS = 1 << 16


@dataclass(frozen=True, slots=True, eq=False)
class Stored:
    """Columns of a table in a file, inspected.

    Attributes:
        path: the file.
        types: of the columns that were asked for.
        rows: how many.
        columns: all that there are, for messages.
        state: what the file was when it was looked at.
        table: what a Parquet or Arrow file said of itself.
        form: how a CSV file is to be read.
    """

    path: Path
    types: Mapping[str, pa.DataType]
    rows: int
    columns: Sequence[str]
    state: FileState
    table: StoredTable | None = None
    form: Separated | None = None


def table_files(sources: Iterable[str | Path]) -> list[Path]:
    """Return the files of tables named, and those in the folders named, in order of their names.

    In a folder, names that begin with a dot or an underscore are passed over, and folders are searched too.

    Raises:
        DataError: if a folder holds no tables, or anything else.
        ParameterError: if a file is named from which tables are not read.
    """
    found = files_in(sources, TABLES, "tables")
    for path in found:
        checked_table(path)
    return found


def survey(path: Path, asked: Mapping[str, Cells]) -> Stored:
    """Return the inspected columns of a file; names that do not occur exactly once are left out.

    Args:
        path: the file.
        asked: the columns, and what their cells are read as where a file does not say what it holds.

    Raises:
        DataError: if the file is missing or broken, or cells are not what they are to be read as; it names the file.
    """
    with readable(path):
        if ending(path) in COLUMNS:
            found = look(path)
            types = _types(found.schema, asked)
            return Stored(path, types, sum(found.rows), found.schema.names, found.state, table=found)
        state = FileState.of(path)
        if ending(path) == ".csv":
            return _survey_csv(path, asked, state)
    table = read_table(path)
    return Stored(path, _types(table.schema, asked), table.num_rows, table.column_names, state)


def _types(schema: pa.Schema, asked: Iterable[str]) -> dict[str, pa.DataType]:
    return {name: schema.field(name).type for name in asked if schema.names.count(name) == 1}


def _survey_csv(path: Path, asked: Mapping[str, Cells], state: FileState) -> Stored:
    layout = layout_of(path, list(asked))
    there = {name: cells for name, cells in asked.items() if layout.columns.count(name) == 1}
    form = Separated(path, layout, there)
    types: dict[str, pa.DataType] = {name: cells.type or pa.null() for name, cells in there.items()}
    rows = 0
    try:
        for batch in form.batches():
            types, rows = {name: batch.schema.field(name).type for name in there}, rows + batch.num_rows
        form = replace(form, types={name: types[name] for name, cells in there.items() if cells.kind is Kind.ANY})
    except pa.ArrowInvalid:
        # Something is of another form than usual, or than the beginning: now all of it decides.
        form, table = form.settled()
        types, rows = dict(zip(table.column_names, table.schema.types, strict=True)), table.num_rows
    return Stored(path, types, rows, layout.columns, state, form=form)


def stream(stored: Stored, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Yield the columns of a file, a batch of rows at a time.

    What a library says of a broken file is raised as it is; see `readable`.
    """
    stored.state.check(stored.path)
    for batch in _batches(stored, list(names)):
        for start in range(0, batch.num_rows, _BATCH_ROWS):
            yield batch.slice(start, _BATCH_ROWS)
    stored.state.check(stored.path)


def _batches(stored: Stored, names: list[str]) -> Iterator[pa.RecordBatch]:
    if stored.table is not None:
        return read_groups(stored.table, range(len(stored.table.rows)), _BATCH_ROWS, names)
    return _from_csv(stored, names) if ending(stored.path) == ".csv" else _from_lines(stored, names)


def _from_csv(stored: Stored, names: list[str]) -> Iterator[pa.RecordBatch]:
    if stored.form is not None:
        yield from replace(stored.form, asked={name: stored.form.asked[name] for name in names}).batches()


def _from_lines(stored: Stored, names: list[str]) -> Iterator[pa.RecordBatch]:
    yield from read_table(stored.path).select(names).to_batches()
