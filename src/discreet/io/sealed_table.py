"""Tables in Parquet or Arrow files that end with a seal (see `discreet.io.seals`)."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq

from discreet.core.reports import Column, Reports
from discreet.errors import DataError
from discreet.io import arrow
from discreet.io.endings import ending
from discreet.io.seals import SealingFile
from discreet.mechanisms import Mechanism

# What a row group or a batch holds at most: readers check and keep it as a whole.
_GROUP_ROWS, _GROUP_BYTES = 1 << 20, 1 << 28


# Numbers below it go into a dictionary, whose indices are as short as noise can be.
_FEW = 1 << 12


def _packing(columns: Sequence[Column], public: Sequence[str]) -> dict[str, Any]:
    """Return Parquet's options: a dictionary unless entries are random, compression where it makes columns shorter."""
    if not columns:
        return {"compression": "zstd"}
    short = {column.name: column.width is None and (column.bound or _FEW + 1) <= _FEW for column in columns}
    plain = {column.name: column.random or short[column.name] for column in columns}
    return {
        "compression": {name: "none" if is_plain else "zstd" for name, is_plain in plain.items()}
        | dict.fromkeys(public, "zstd"),
        "use_dictionary": [*(column.name for column in columns if not column.random), *public],
    }


class SealedTable:
    """A new Parquet or Arrow file, sealed when it is closed.

    Args:
        path: the file, which exists.
        schema: of its columns.
        columns: those of reports, whose entries decide how a Parquet file packs them; None for counts.
        into: what the bytes go into instead of the file.
    """

    def __init__(
        self, path: Path, schema: pa.Schema, columns: Sequence[Column] = (), *, into: IO[bytes] | None = None
    ) -> None:
        self._file = SealingFile(path.open("wb") if into is None else into)
        if ending(path) == ".parquet":
            public = [name for name in schema.names if name not in {column.name for column in columns}]
            self._writer = pq.ParquetWriter(self._file, schema, write_page_checksum=True, **_packing(columns, public))
        else:
            self._writer = pa.ipc.new_file(self._file, schema)

    def write(self, mechanism: Mechanism, reports: Reports, public: pa.Table | None = None) -> None:
        """Write a batch of reports, with the public columns beside them."""
        each, table = sum(column.bytes for column in mechanism.columns), arrow.to_arrow(mechanism, reports)
        if public is not None:
            if public.num_rows != reports.n:
                raise DataError(
                    f"public columns must have {reports.n} rows, one for each report, got {public.num_rows}."
                )
            whole = public.combine_chunks()
            for name in whole.column_names:
                table = table.append_column(name, whole[name])
        self.write_table(table, min(max(_GROUP_BYTES // each, 1), _GROUP_ROWS))

    def write_table(self, table: pa.Table, rows: int = _GROUP_ROWS) -> None:
        """Write a table of the file's schema, a stretch for so many rows."""
        # A column in several chunks makes several batches of an Arrow file, each a stretch of its own.
        for group in table.to_batches(rows):
            self._writer.write_batch(group)
            self._file.mark(group.num_rows)

    def close(self, said: Mapping[bytes, bytes] = MappingProxyType({})) -> None:
        """Write the footer and the seal; ``said`` is what the metadata of a Parquet file say besides."""
        self._file.hold()
        if said:
            self._writer.add_key_value_metadata(said)
        self._writer.close()
        self._file.seal()
        self._file.release()

    def drop(self) -> None:
        """Give the file up."""
        self._file.release()
