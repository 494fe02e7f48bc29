"""Some columns of tables in files, batch by batch.

Parquet and Arrow files say themselves what they hold. A CSV file is gone through once to learn its types, which are
those that the whole file read at once would have; JSON lines are read at once.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import csv

from discreet.io.files import readable
from discreet.io.parts import files_in
from discreet.io.tables import TABLE_SUFFIXES, checked_table, read_table

_BATCH_ROWS, _BUFFER_BYTES = 1 << 16, 1 << 18


@dataclass(frozen=True, slots=True, eq=False)
class Stored:
    """Columns of a table in a file.

    Attributes:
        path: the file.
        types: of the columns that were asked for.
        rows: how many.
        facts: what was read of the file already: a Parquet file's metadata.
    """

    path: Path
    types: Mapping[str, pa.DataType]
    rows: int
    facts: Any = None


def table_files(sources: Iterable[str | Path]) -> list[Path]:
    """Return the files of tables that are meant: those named, and those in the folders named, in order of their names.

    In a folder, names that begin with a dot or an underscore are passed over, and folders are searched too.

    Raises:
        DataError: if a folder holds no tables, or anything else.
        ParameterError: if a file is named from which tables are not read.
    """
    found = files_in(sources, TABLE_SUFFIXES, "tables")
    for path in found:
        checked_table(path)
    return found


def survey(path: Path, names: Sequence[str]) -> Stored:
    """Look for columns in a file; those are left out of which there is not one of the name.

    Raises:
        DataError: if the file is missing or broken; it names the file.
    """
    with readable(path):
        if path.suffix == ".parquet":
            with pq.ParquetFile(path) as source:
                return Stored(path, _types(source.schema_arrow, names), source.metadata.num_rows, source.metadata)
        if path.suffix == ".arrow":
            with pa.memory_map(str(path)) as file, pa.ipc.open_file(file) as source:
                rows = sum(source.get_batch(place).num_rows for place in range(source.num_record_batches))
                return Stored(path, _types(source.schema, names), rows)
        if path.suffix == ".csv":
            return _survey_csv(path, names)
    table = read_table(path)
    return Stored(path, _types(table.schema, names), table.num_rows)


def _types(schema: pa.Schema, names: Sequence[str]) -> dict[str, pa.DataType]:
    return {name: schema.field(name).type for name in names if schema.names.count(name) == 1}


def _survey_csv(path: Path, names: Sequence[str]) -> Stored:
    with csv.open_csv(path) as source:
        wanted = csv.ConvertOptions(include_columns=list(_types(source.schema, names)))
    try:
        with csv.open_csv(path, convert_options=wanted) as source:
            return Stored(path, _types(source.schema, names), sum(batch.num_rows for batch in source))
    except pa.ArrowInvalid:
        # Something later on is not of the type that the beginning has: now all of it decides.
        table = csv.read_csv(path, convert_options=wanted)
        return Stored(path, _types(table.schema, names), table.num_rows)


def stream(stored: Stored, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Read columns of a file, a batch of rows at a time.

    What a library says of a broken file is raised as it is; see `readable`.
    """
    batches = {".parquet": _from_parquet, ".arrow": _from_ipc, ".csv": _from_csv}.get(stored.path.suffix, _from_lines)
    for batch in batches(stored, list(names)):
        for start in range(0, batch.num_rows, _BATCH_ROWS):
            yield batch.slice(start, _BATCH_ROWS)


def _from_parquet(stored: Stored, names: list[str]) -> Iterator[pa.RecordBatch]:
    # Piece by piece, and nothing beforehand: row groups may be larger than memory.
    with pq.ParquetFile(stored.path, metadata=stored.facts, buffer_size=_BUFFER_BYTES, pre_buffer=False) as source:
        for batch in source.iter_batches(_BATCH_ROWS, columns=names, use_threads=False):
            yield batch.select(names)


def _from_ipc(stored: Stored, names: list[str]) -> Iterator[pa.RecordBatch]:
    with pa.memory_map(str(stored.path)) as file:
        places = [pa.ipc.open_file(file).schema.get_field_index(name) for name in names]
        with pa.ipc.open_file(file, options=pa.ipc.IpcReadOptions(included_fields=places)) as source:
            for place in range(source.num_record_batches):
                yield source.get_batch(place).select(names)


def _from_csv(stored: Stored, names: list[str]) -> Iterator[pa.RecordBatch]:
    wanted = csv.ConvertOptions(include_columns=names, column_types={name: stored.types[name] for name in names})
    with csv.open_csv(stored.path, convert_options=wanted) as source:
        yield from source


def _from_lines(stored: Stored, names: list[str]) -> Iterator[pa.RecordBatch]:
    yield from read_table(stored.path).select(names).to_batches()
