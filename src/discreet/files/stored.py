"""Parquet and Arrow files with checksums. Opening a file checks it. Reading a file checks that it has not changed.

A part is a row group of Parquet or a batch of Arrow. The checksums of all parts stand directly before the footer. In
both formats the footer has all offsets, so readers ignore bytes between the last part and the footer. A tool that
rewrites the table drops these bytes, so they never belong to another file. They are JSON, padded with spaces; then the
length and the CRC-32 of the JSON, 32 bits each, little-endian; and the 8 letters of `_MAGIC`. The CRC-32 is the same as
in zip, gzip and PNG. It detects every single damaged run of up to 32 bits, and any other damage with probability 1 -
2^-32.

Reading checks that the file did not change since its metadata were checked, that each part has the number of rows in
the metadata, and that its bytes fit the checksums, if the file has checksums. Files are not mapped into memory: the
system kills a reader of a mapped file that another process truncates.
"""

import os
import stat
import struct
import zlib
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from io import BytesIO
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from discreet.core.reports import Column, Reports
from discreet.errors import DataError
from discreet.files.paths import ARROW, File, RemoteFile, arrow_source, ending
from discreet.mechanisms import Mechanism
from discreet.mechanisms.report_tables import to_arrow

_MAGIC = b"DSCRSEAL"
_END = struct.Struct("<II8s")
_ALIGNED = 8
_CHUNK = 1 << 20
# The last letters of a file; the 32 bits before them are the length of its footer.
_LAST_LETTERS = (b"PAR1", b"ARROW1")


@dataclass(frozen=True, slots=True)
class Checksums:
    """The checksums of the parts of a file.

    Attributes:
        rows: the number of rows of each part.
        ends: the end of each part, in bytes, and the start of the checksums. The first part starts at 0.
        sums: CRC-32 of the bytes of each part, and of the bytes between the last part and the checksums.
        footer: CRC-32 of all bytes after the checksums.
    """

    rows: tuple[int, ...]
    ends: tuple[int, ...]
    sums: tuple[int, ...]
    footer: int

    def check(self, path: File, place: int) -> None:
        """Compare the bytes of a part with its checksum.

        Raises:
            DataError: if the part is damaged.
        """
        start, crc = self.ends[place - 1] if place else 0, 0
        left = self.ends[place] - start
        chunk = memoryview(bytearray(min(_CHUNK, left)))
        with path.open("rb", buffering=0) as file:
            file.seek(start)
            while left and (size := file.readinto(chunk[:left])):
                crc, left = zlib.crc32(chunk[:size], crc), left - size
        if left or crc != self.sums[place]:
            raise DataError("file.damaged-part", place=place, n=len(self.sums))


def footer_of(file: IO[bytes]) -> tuple[int, bytes]:
    """Return the position of the footer of a Parquet or Arrow file, and all bytes from this position.

    Raises:
        DataError: if the file has no footer.
    """
    size = file.seek(0, os.SEEK_END)
    file.seek(max(size - 10, 0))
    last = file.read(10)
    for letters in _LAST_LETTERS:
        length = int.from_bytes(last[-len(letters) - 4 : -len(letters)], "little")
        start = size - len(letters) - 4 - length
        if last.endswith(letters) and start >= 0:
            file.seek(start)
            return start, file.read()
    raise DataError("file.without-footer")


def read_checksums(file: IO[bytes]) -> tuple[Checksums | None, int]:
    """Return a file's checksums (None if it has none) and the CRC-32 of its footer.

    Raises:
        DataError: if the footer or the checksums are damaged.
    """
    start, footer = footer_of(file)
    crc = zlib.crc32(footer)
    file.seek(max(start - _END.size, 0))
    length, checksum, magic = _END.unpack(file.read(_END.size).rjust(_END.size)[: _END.size])
    if magic != _MAGIC:
        return None, crc
    begin = start - _END.size - length
    file.seek(max(begin, 0))
    text = file.read(length)
    if begin < 0 or zlib.crc32(text) != checksum:
        raise DataError("file.damaged-checksums")
    checksums = _decoded(text)
    if checksums.footer != crc or checksums.ends[-1] != begin:
        raise DataError("file.damaged-footer")
    return checksums, crc


def _decoded(text: bytes) -> Checksums:
    try:
        checksums = msgspec.json.decode(text, type=Checksums)
        known = msgspec.json.encode(asdict(checksums)) == text.rstrip(b" ")
    except (msgspec.DecodeError, RecursionError):
        known = False
    if not known:
        raise DataError("checksums.other-version")
    ends = checksums.ends
    if not len(checksums.rows) + 1 == len(ends) == len(checksums.sums) or [*ends] != sorted(ends):
        raise DataError("checksums.inconsistent")
    return checksums


class ChecksummedFile:
    """A new file that gets checksums before its footer. Arrow's writers accept it as a file.

    Args:
        file: an empty file that is open for writing.
    """

    closed = False

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._held: BytesIO | None = None
        self._sum = self._place = 0
        self._rows: list[int] = []
        self._ends: list[int] = []
        self._sums: list[int] = []

    def write(self, data: Any) -> int:
        """Write bytes. After `release`, do nothing, because Arrow may still write to a file that was given up."""
        size = memoryview(data).nbytes
        if self._file.closed:
            return size
        if self._held is None:
            self._sum = zlib.crc32(data, self._sum)
            self._file.write(data)
        else:
            self._held.write(data)
        self._place += size
        return size

    def tell(self) -> int:
        """Return the number of bytes written."""
        return self._place

    def flush(self) -> None:
        """Do nothing. Bytes are on disk after `release`."""

    def close(self) -> None:
        """Do nothing. Arrow closes the file before the checksums are written."""

    def mark(self, rows: int) -> None:
        """End a part of the file. `rows` is the number of rows in the part."""
        self._rows.append(rows)
        self._end()

    def _end(self) -> None:
        self._ends.append(self._place)
        self._sums.append(self._sum)
        self._sum = 0

    def hold(self) -> None:
        """From now on, collect all bytes in memory: the bytes before the footer, and the footer."""
        self._held = BytesIO()

    def finish(self) -> None:
        """Write the checksums, and then the bytes that `hold` collected in memory."""
        held = BytesIO() if self._held is None else self._held
        start, footer = footer_of(held)
        between = held.getvalue()[:start]
        self._held, self._place = None, self._place - len(between) - len(footer)
        self.write(between)
        self._end()
        checksums = Checksums(tuple(self._rows), tuple(self._ends), tuple(self._sums), zlib.crc32(footer))
        text = msgspec.json.encode(asdict(checksums))
        text += b" " * (-(self._place + len(text) + _END.size) % _ALIGNED)
        self._file.write(text + _END.pack(len(text), zlib.crc32(text), _MAGIC) + footer)

    def release(self) -> None:
        """Close the file, whether it is complete or not."""
        self._file.close()


# The most rows and bytes of a row group or a batch. Readers check it and keep it in memory as a whole.
_GROUP_ROWS, _GROUP_BYTES = 1 << 20, 1 << 28


# Columns of numbers below this bound are stored with a dictionary, whose indices are as short as noise can be.
_FEW = 1 << 12


def packing(columns: Sequence[Column], public: Sequence[str]) -> dict[str, Any]:
    """Return options for Parquet: dictionaries and compression for the columns in which they save space."""
    if not columns:
        return {"compression": "zstd"}
    short = {column.name: column.width is None and (column.bound or _FEW + 1) <= _FEW for column in columns}
    plain = {column.name: column.random or short[column.name] for column in columns}
    return {
        "compression": {name: "none" if is_plain else "zstd" for name, is_plain in plain.items()}
        | dict.fromkeys(public, "zstd"),
        "use_dictionary": [*(column.name for column in columns if not column.random), *public],
    }


class TableFile:
    """A new Parquet or Arrow file with checksums.

    Args:
        path: the file, which exists.
        schema: the schema of the file.
        columns: the columns of reports, which determine the encoding in a Parquet file; empty for counts.
        into: a stream that receives the bytes instead of the file.
    """

    def __init__(
        self, path: Path, schema: pa.Schema, columns: Sequence[Column] = (), *, into: IO[bytes] | None = None
    ) -> None:
        self._file = ChecksummedFile(path.open("wb") if into is None else into)
        if ending(path) == ".parquet":
            public = [name for name in schema.names if name not in {column.name for column in columns}]
            self._writer = pq.ParquetWriter(self._file, schema, write_page_checksum=True, **packing(columns, public))
        else:
            self._writer = pa.ipc.new_file(self._file, schema)

    def write(self, mechanism: Mechanism, reports: Reports, public: pa.Table | None = None) -> None:
        """Write a batch of reports, with the public columns beside them."""
        each, table = sum(column.bytes for column in mechanism.columns), to_arrow(mechanism, reports)
        if public is not None:
            if public.num_rows != reports.n:
                raise DataError("public-rows.wrong-number", n=reports.n, rows=public.num_rows)
            whole = public.combine_chunks()
            for name in whole.column_names:
                table = table.append_column(name, whole[name])
        self.write_table(table, min(max(_GROUP_BYTES // each, 1), _GROUP_ROWS))

    def write_table(self, table: pa.Table, rows: int = _GROUP_ROWS) -> None:
        """Write a table with the file's schema. Each part has at most ``rows`` rows."""
        # A column in several chunks gives several batches of an Arrow file. Each is a part.
        for group in table.to_batches(rows):
            self._writer.write_batch(group)
            self._file.mark(group.num_rows)

    def close(self, metadata: Mapping[bytes, bytes] = MappingProxyType({})) -> None:
        """Write the footer and the checksums. A Parquet file also gets further metadata."""
        self._file.hold()
        if metadata and isinstance(self._writer, pq.ParquetWriter):
            self._writer.add_key_value_metadata(metadata)
        self._writer.close()
        self._file.finish()
        self._file.release()

    def drop(self) -> None:
        """Close the file without a footer and checksums."""
        self._file.release()


SCHEMA_KEY = b"ARROW:schema"
"""The key of Arrow's schema in the metadata of Parquet files."""


def schema_entries(schema: pa.Schema) -> dict[bytes, bytes]:
    """Return the entries of a Parquet file's metadata that describe a schema: its columns and its own metadata."""
    return {SCHEMA_KEY: b64encode(schema.serialize().to_pybytes()), **(schema.metadata or {})}


# A column of a large row group is read in pieces. A column of a small row group is read at once, which is faster.
_BUFFER_BYTES, _LARGE_GROUP = 1 << 20, 1 << 26
LARGEST_BATCH = 1 << 31
# The offset of the fourth field's offset in a table of FlatBuffers.
_BATCHES_FIELD = 4 + 2 * 3


@dataclass(frozen=True, slots=True)
class FileState:
    """The identity of a file, its size, and the time of its last change.

    Attributes:
        device: the number of the device.
        inode: the number of the file on the device.
        size: the size in bytes.
        modified: the time of the last change, in nanoseconds since 1970.
    """

    device: int
    inode: int
    size: int
    modified: int

    @classmethod
    def of(cls, path: File) -> "FileState":
        """Return the present state of a file, without opening the file.

        Raises:
            DataError: if the path is a pipe, a socket, a device or a folder.
        """
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise DataError("file.not-a-file")
        return cls(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)

    def check(self, path: File) -> None:
        """Raise an error if the state of a file has changed.

        Raises:
            DataError: if the file is gone or was written to, or if another file has this name now.
        """
        if isinstance(path, RemoteFile):
            if path.held:
                # A file in memory does not change.
                return
            path.forget()
        if not path.exists() or FileState.of(path) != self:
            raise DataError("file.changed")


@dataclass(frozen=True, slots=True, eq=False)
class StoredTable:
    """A Parquet or Arrow file whose metadata were checked, so that it can be read.

    Attributes:
        path: the path of the file.
        state: the state of the file when it was checked.
        schema: the schema of the file, with its metadata.
        rows: the number of rows of each row group or batch.
        footer: the CRC-32 of the footer.
        checksums: the checksums of the parts; None if the file has none.
        metadata: the metadata of a Parquet file; None for an Arrow file.
    """

    path: File
    state: FileState
    schema: pa.Schema
    rows: tuple[int, ...]
    footer: int
    checksums: Checksums | None
    metadata: Any = None

    @property
    def beside(self) -> dict[bytes, bytes]:
        """The metadata of a Parquet file, without the entries that describe its schema."""
        meta = None if self.metadata is None else self.metadata.metadata
        return {
            key: value for key, value in (meta or {}).items() if key not in {*(self.schema.metadata or {}), SCHEMA_KEY}
        }

    def read(
        self, groups: Sequence[int], size: int, columns: Sequence[str] | None = None, *, labels: Sequence[str] = ()
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows of some row groups, in batches of at most ``size`` rows, with the schema's metadata.

        Errors of libraries about a damaged file are raised unchanged.

        Args:
            groups: the numbers of the row groups or batches.
            size: the most rows of a batch.
            columns: the columns, in this order; None for all.
            labels: columns of text that stay dictionaries if they are stored as dictionaries, which is faster.

        Raises:
            DataError: if a group is damaged, has the wrong number of rows, or the file has changed.
        """
        self.state.check(self.path)
        opened = _arrow_batches if ending(self.path) in ARROW else _parquet_batches
        largest = max((self.bytes_of(group) for group in groups), default=0)
        with opened(self, largest, size, columns, labels) as batches:
            for group in groups:
                if self.checksums is not None:
                    self.checksums.check(self.path, group)
                done = 0
                for batch in batches(group):
                    done += batch.num_rows
                    yield batch.replace_schema_metadata(self.schema.metadata)
                if done != self.rows[group]:
                    raise DataError("file.wrong-row-group", group=group, done=done, rows=self.rows[group])
        self.state.check(self.path)

    def bytes_of(self, group: int) -> int:
        """Return the approximate size of a row group in memory; 0 for an Arrow file."""
        return 0 if self.metadata is None else int(self.metadata.row_group(group).total_byte_size)


_STRETCH = 1 << 20


@dataclass(frozen=True, slots=True, eq=False)
class HeldTable:
    """A table in memory with the interface of `StoredTable`. It is read in parts of a fixed number of rows.

    Attributes:
        name: the name of the table, for messages.
        table: the table.
    """

    name: str
    table: pa.Table

    footer = 0

    def __str__(self) -> str:
        return self.name

    @property
    def schema(self) -> pa.Schema:
        """The schema of the table."""
        return self.table.schema

    @property
    def rows(self) -> tuple[int, ...]:
        """The number of rows of each part."""
        n = self.table.num_rows
        return tuple(min(_STRETCH, n - start) for start in range(0, n, _STRETCH))

    def read(
        self, groups: Sequence[int], size: int, columns: Sequence[str] | None = None, *, labels: Sequence[str] = ()
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows of some parts, in batches of at most ``size`` rows; see `StoredTable.read`."""
        del labels
        for group in groups:
            piece = self.table.slice(group * _STRETCH, _STRETCH)
            yield from (piece if columns is None else piece.select(columns)).to_batches(max_chunksize=size)


def look(path: File) -> StoredTable:
    """Check the metadata of a Parquet or Arrow file, and return an object that can read it.

    Raises:
        DataError: if the file is damaged.
    """
    state = FileState.of(path)
    with path.open("rb") as file:
        checksums, footer = read_checksums(file)
    read_facts = _look_at_arrow if ending(path) in ARROW else _look_at_parquet
    schema, rows, metadata = read_facts(path, checksums)
    if checksums is not None:
        if checksums.rows != rows:
            raise DataError("file.other-parts")
        checksums.check(path, len(rows))
    state.check(path)
    return StoredTable(path, state, schema, rows, footer, checksums, metadata)


def _look_at_parquet(path: File, _: Checksums | None) -> tuple[pa.Schema, tuple[int, ...], Any]:
    with pq.ParquetFile(arrow_source(path), pre_buffer=False) as source:
        facts = source.metadata
        rows = tuple(facts.row_group(place).num_rows for place in range(facts.num_row_groups))
        if facts.num_rows != sum(rows) or min(rows, default=0) < 0:
            raise DataError("file.wrong-rows", rows=facts.num_rows, total=sum(rows))
        return source.schema_arrow, rows, facts


def _look_at_arrow(path: File, checksums: Checksums | None) -> tuple[pa.Schema, tuple[int, ...], None]:
    with _opened(path) as file:
        with pa.ipc.open_file(file) as source:
            schema, count = source.schema, source.num_record_batches
        if checksums is not None and len(checksums.rows) == count:
            return schema, checksums.rows, None
        _check_sizes(path)
        # Without checksums only the batches have their numbers of rows. Reading their first column is enough.
        with pa.ipc.open_file(file, options=pa.ipc.IpcReadOptions(included_fields=[0])) as source:
            return schema, tuple(source.get_batch(place).num_rows for place in range(count)), None


def _opened(path: File) -> Any:
    """Open a file for reading, without mapping it into memory."""
    return path.opened() if isinstance(path, RemoteFile) else pa.OSFile(str(path))


def no_rows(schema: pa.Schema, columns: Sequence[str] | None) -> pa.RecordBatch:
    """Return a batch without rows that has the schema of `StoredTable.read`."""
    fields = schema if columns is None else [schema.field(name) for name in columns]
    return pa.RecordBatch.from_pylist([], schema=pa.schema(fields, metadata=schema.metadata))


def _check_sizes(path: File) -> None:
    """Raise an error if a batch is too large, according to the footer. A batch can only be read as a whole.

    The footer is a table of FlatBuffers. Its fourth field is a vector with 24 bytes for each batch: the offset of the
    batch, and the lengths of its head and its body.
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
        raise DataError("file.damaged-footer") from None
    if max(sizes, default=0) > LARGEST_BATCH:
        raise DataError("file.batch-too-large", most=LARGEST_BATCH, size=max(sizes))


_Batches = Callable[[int], Iterator[pa.RecordBatch]]


@contextmanager
def _parquet_batches(
    table: StoredTable, largest: int, size: int, columns: Sequence[str] | None, labels: Sequence[str]
) -> Iterator[_Batches]:
    # With pre_buffer a column would be whole in memory, with or without a buffer.
    options: dict[str, Any] = {"buffer_size": _BUFFER_BYTES if largest > _LARGE_GROUP else 0, "pre_buffer": False}
    # If the file has checksums, the checksums of pages are not needed.
    options["page_checksum_verification"] = table.checksums is None
    options["read_dictionary"] = list(labels)
    with pq.ParquetFile(arrow_source(table.path), metadata=table.metadata, **options) as source:

        def batches(group: int) -> Iterator[pa.RecordBatch]:
            # Row groups are read in parallel. More threads within a row group would slow them down.
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
