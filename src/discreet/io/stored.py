"""Parquet and Arrow files, read with checks for damage and change.

A file is inspected first and read later, perhaps by another thread. The read checks that it is the same file, unchanged
since, with the announced number of rows in every row group or batch, and with the bytes of its seal, if it has one
(`discreet.io.seals`). Files are not mapped into memory: the system kills a reader of a mapped file that another process
truncates.
"""

import stat
import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from discreet.errors import DataError
from discreet.io.endings import ending
from discreet.io.remote import File, RemoteFile, arrow_source
from discreet.io.seals import Seal, footer_of, read_seal
from discreet.io.suffixes import ARROW

DIGEST_KEY = b"discreet digest"
"""The key of a sealed file's digest, which is known when all of it is written, so that its schema cannot hold it."""
SCHEMA_KEY = b"ARROW:schema"
"""The key of the schema as Arrow has it, in Parquet files."""
# Of a large row group a column is read piece by piece; of a small one at once, which is faster.
_BUFFER_BYTES, _LARGE_GROUP = 1 << 20, 1 << 26
_LARGEST_BATCH = 1 << 31
# Where a table of FlatBuffers says where its fourth field is.
_BATCHES_FIELD = 4 + 2 * 3


@dataclass(frozen=True, slots=True)
class FileState:
    """The identity of a file and the time of its last change.

    Attributes:
        device: where it is kept.
        inode: which one it is there.
        size: in bytes.
        modified: in nanoseconds since 1970.
    """

    device: int
    inode: int
    size: int
    modified: int

    @classmethod
    def of(cls, path: File) -> "FileState":
        """Return the current state of a file, without opening it.

        Raises:
            DataError: if it is no file but a pipe, a socket, a device or a folder.
        """
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):
            raise DataError("this must be a file, got a pipe, a socket, a device or a folder; write a file first.")
        return cls(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)

    def check(self, path: File) -> None:
        """Refuse a file whose state has changed.

        Raises:
            DataError: if it is another one, or was written to.
        """
        if FileState.of(path) != self:
            raise DataError("the file was replaced or changed while it was read; leave it alone and start again.")


@dataclass(frozen=True, slots=True, eq=False)
class StoredTable:
    """An inspected Parquet or Arrow file.

    Attributes:
        path: where it is.
        state: what it was then.
        schema: its columns, and what else the file says.
        rows: how many rows each of its row groups or batches holds.
        footer: CRC-32 of its footer.
        seal: what it says of its own bytes; None if it does not.
        metadata: of a Parquet file.
    """

    path: File
    state: FileState
    schema: pa.Schema
    rows: tuple[int, ...]
    footer: int
    seal: Seal | None
    metadata: Any = None

    @property
    def beside(self) -> dict[bytes, bytes]:
        """The entries of a Parquet file's metadata beside those of its schema."""
        said = None if self.metadata is None else self.metadata.metadata
        return {
            key: value for key, value in (said or {}).items() if key not in {*(self.schema.metadata or {}), SCHEMA_KEY}
        }

    @property
    def digest(self) -> str | None:
        """The order-free digest that a sealed file says it has; None for files that say none."""
        said = self.beside.get(DIGEST_KEY)
        return None if said is None else said.decode(errors="replace")

    def check(self, group: int) -> None:
        """Compare the bytes of a row group or batch with the seal, if there is one.

        Raises:
            DataError: if they are damaged.
        """
        if self.seal is not None:
            self.seal.check(self.path, group)

    def bytes_of(self, group: int) -> int:
        """Return the approximate size in memory of a row group; 0 for a batch."""
        return 0 if self.metadata is None else int(self.metadata.row_group(group).total_byte_size)


def look(path: File) -> StoredTable:
    """Return an inspected Parquet or Arrow file; errors of libraries pass through.

    Raises:
        DataError: if it is damaged.
    """
    state = FileState.of(path)
    with path.open("rb") as file:
        seal, footer = read_seal(file)
    found = _look_at_arrow if ending(path) in ARROW else _look_at_parquet
    schema, rows, metadata = found(path, seal)
    if seal is not None:
        if seal.rows != rows:
            raise DataError("the file has other stretches than its seal; take it once more from where it came.")
        seal.check(path, len(rows))
    state.check(path)
    return StoredTable(path, state, schema, rows, footer, seal, metadata)


def _look_at_parquet(path: File, _: Seal | None) -> tuple[pa.Schema, tuple[int, ...], Any]:
    with pq.ParquetFile(arrow_source(path), pre_buffer=False) as source:
        facts = source.metadata
        rows = tuple(facts.row_group(place).num_rows for place in range(facts.num_row_groups))
        if facts.num_rows != sum(rows) or min(rows, default=0) < 0:
            raise DataError(f"the file promises {facts.num_rows} rows, and its row groups {sum(rows)}; it is damaged.")
        return source.schema_arrow, rows, facts


def _look_at_arrow(path: File, seal: Seal | None) -> tuple[pa.Schema, tuple[int, ...], None]:
    with _opened(path) as file:
        with pa.ipc.open_file(file) as source:
            schema, count = source.schema, source.num_record_batches
        if seal is not None and len(seal.rows) == count:
            return schema, seal.rows, None
        _check_sizes(path)
        # Without a seal only the batches themselves say how long they are, and one column of theirs is enough.
        with pa.ipc.open_file(file, options=pa.ipc.IpcReadOptions(included_fields=[0])) as source:
            return schema, tuple(source.get_batch(place).num_rows for place in range(count)), None


def _opened(path: File) -> Any:
    """Return an open file, not mapped into memory."""
    return path.opened() if isinstance(path, RemoteFile) else pa.OSFile(str(path))


def read_groups(
    table: StoredTable,
    groups: Sequence[int],
    size: int,
    columns: Sequence[str] | None = None,
    *,
    labels: Sequence[str] = (),
) -> Iterator[pa.RecordBatch]:
    """Yield row groups or batches of a file, at most ``size`` rows at a time, with the schema's metadata.

    What a library says of a broken file is raised as it is.

    Args:
        table: the file.
        groups: which of its row groups or batches.
        size: the most rows of a batch.
        columns: which columns, in this order; None for all.
        labels: those among them whose texts come as dictionaries where they are stored so, which is faster.

    Raises:
        DataError: if a group is damaged, holds other rows than promised, or the file is not what it was.
    """
    table.state.check(table.path)
    opened = _arrow_batches if ending(table.path) in ARROW else _parquet_batches
    largest = max((table.bytes_of(group) for group in groups), default=0)
    with opened(table, largest, size, columns, labels) as batches:
        for group in groups:
            table.check(group)
            done = 0
            for batch in batches(group):
                done += batch.num_rows
                yield batch.replace_schema_metadata(table.schema.metadata)
            if done != table.rows[group]:
                raise DataError(
                    f"row group {group} holds {done} rows where {table.rows[group]} were promised; it is damaged."
                )
    table.state.check(table.path)


def no_rows(schema: pa.Schema, columns: Sequence[str] | None) -> pa.RecordBatch:
    """Return a batch without rows, in the form of `read_groups`."""
    fields = schema if columns is None else [schema.field(name) for name in columns]
    return pa.RecordBatch.from_pylist([], schema=pa.schema(fields, metadata=schema.metadata))


def _check_sizes(path: File) -> None:
    """Refuse batches that are too large by the footer: they can only be read as a whole.

    The footer is a table of FlatBuffers; its fourth field is a vector of batches, 24 bytes each: where one begins, and
    how long its head and its body are.
    """
    with path.open("rb") as file:
        _, footer = footer_of(file)
    try:
        (table,) = struct.unpack_from("<I", footer)
        fields = table - struct.unpack_from("<i", footer, table)[0]
        present = struct.unpack_from("<H", footer, fields)[0] > _BATCHES_FIELD
        start = struct.unpack_from("<H", footer, fields + _BATCHES_FIELD)[0] if present else 0
        vector = table + start + struct.unpack_from("<I", footer, table + start)[0]
        count = struct.unpack_from("<I", footer, vector)[0] if start else 0
        sizes = [body for *_, body in struct.iter_unpack("<qixxxxq", footer[vector + 4 :][: 24 * count])]
    except struct.error:
        raise DataError("the footer of the file is damaged; take the file once more from where it came.") from None
    if max(sizes, default=0) > _LARGEST_BATCH:
        raise DataError(
            f"a batch must have at most {_LARGEST_BATCH:,} bytes, since it is read as a whole, got {max(sizes):,}; "
            "write smaller batches, or Parquet."
        )


_Batches = Callable[[int], Iterator[pa.RecordBatch]]


@contextmanager
def _parquet_batches(
    table: StoredTable, largest: int, size: int, columns: Sequence[str] | None, labels: Sequence[str]
) -> Iterator[_Batches]:
    # Read ahead, a column would be in memory as a whole, buffer or not.
    given: dict[str, Any] = {"buffer_size": _BUFFER_BYTES if largest > _LARGE_GROUP else 0, "pre_buffer": False}
    # A seal covers more than the pages' own checksums do.
    given["page_checksum_verification"] = table.seal is None
    given["read_dictionary"] = list(labels)
    with pq.ParquetFile(arrow_source(table.path), metadata=table.metadata, **given) as source:

        def batches(group: int) -> Iterator[pa.RecordBatch]:
            # Groups are read in parallel; threads within them would only get in each other's way.
            for batch in source.iter_batches(size, row_groups=[group], columns=columns, use_threads=False):
                yield batch if columns is None else batch.select(columns)

        yield batches


@contextmanager
def _arrow_batches(
    table: StoredTable, _: int, size: int, columns: Sequence[str] | None, __: Sequence[str]
) -> Iterator[_Batches]:
    places = [] if columns is None else [table.schema.get_field_index(name) for name in columns]
    options = pa.ipc.IpcReadOptions(included_fields=places)
    with _opened(table.path) as file, pa.ipc.open_file(file, options=options) as source:

        def batches(group: int) -> Iterator[pa.RecordBatch]:
            batch = source.get_batch(group)
            for start in range(0, max(batch.num_rows, 1), size):
                piece = batch.slice(start, size)
                yield piece if columns is None else piece.select(columns)

        yield batches
