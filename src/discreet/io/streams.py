"""Some columns of tables in files, batch by batch.

Parquet and Arrow files say themselves what they hold. A CSV file is gone through once to learn its types, which are
those that the whole file read at once would have; JSON lines are read at once.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from pyarrow import csv

from discreet.io.endings import ending
from discreet.io.files import readable
from discreet.io.folders import files_in
from discreet.io.stored import FileState, StoredTable, look, read_groups
from discreet.io.suffixes import COLUMNS, TABLES
from discreet.io.tables import checked_table, read_table

_BATCH_ROWS = 1 << 16


@dataclass(frozen=True, slots=True, eq=False)
class Stored:
    """Columns of a table in a file.

    Attributes:
        path: the file.
        types: of the columns that were asked for.
        rows: how many.
        state: what the file was when it was looked at.
        table: what a Parquet or Arrow file said of itself.
    """

    path: Path
    types: Mapping[str, pa.DataType]
    rows: int
    state: FileState
    table: StoredTable | None = None


def table_files(sources: Iterable[str | Path]) -> list[Path]:
    """Return the files of tables that are meant: those named, and those in the folders named, in order of their names.

    In a folder, names that begin with a dot or an underscore are passed over, and folders are searched too.

    Raises:
        DataError: if a folder holds no tables, or anything else.
        ParameterError: if a file is named from which tables are not read.
    """
    found = files_in(sources, TABLES, "tables")
    for path in found:
        checked_table(path)
    return found


def survey(path: Path, names: Sequence[str]) -> Stored:
    """Look for columns in a file; those are left out of which there is not one of the name.

    Raises:
        DataError: if the file is missing or broken; it names the file.
    """
    with readable(path):
        if ending(path) in COLUMNS:
            found = look(path)
            return Stored(path, _types(found.schema, names), sum(found.rows), found.state, found)
        state = FileState.of(path)
        if ending(path) == ".csv":
            return _survey_csv(path, names, state)
    table = read_table(path)
    return Stored(path, _types(table.schema, names), table.num_rows, state)


def _types(schema: pa.Schema, names: Sequence[str]) -> dict[str, pa.DataType]:
    return {name: schema.field(name).type for name in names if schema.names.count(name) == 1}


def _survey_csv(path: Path, names: Sequence[str], state: FileState) -> Stored:
    with csv.open_csv(path) as source:
        wanted = csv.ConvertOptions(include_columns=list(_types(source.schema, names)))
    try:
        with csv.open_csv(path, convert_options=wanted) as source:
            return Stored(path, _types(source.schema, names), sum(batch.num_rows for batch in source), state)
    except pa.ArrowInvalid:
        # Something later on is not of the type that the beginning has: now all of it decides.
        table = csv.read_csv(path, convert_options=wanted)
        return Stored(path, _types(table.schema, names), table.num_rows, state)


def stream(stored: Stored, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Read columns of a file, a batch of rows at a time.

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
    wanted = csv.ConvertOptions(include_columns=names, column_types={name: stored.types[name] for name in names})
    with csv.open_csv(stored.path, convert_options=wanted) as source:
        yield from source


def _from_lines(stored: Stored, names: list[str]) -> Iterator[pa.RecordBatch]:
    yield from read_table(stored.path).select(names).to_batches()
