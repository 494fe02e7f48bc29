"""Parquet columns of dictionary indices, counted as they lie: what pyarrow would decode, in another order.

Where only counts are wanted, the indices of a column need not be turned into values one by one: they are counted, and
the dictionary's entries repeated as often. It is done for what is known to the last byte: one column of unsigned
integers without nulls, one dictionary page, data pages of version 1 with nothing but indices, without compression or
with zstd. Of everything else, and of the least doubt, nothing is said here, and pyarrow reads it: what is damaged is
refused by the same checks in the same words.
"""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.arrays import AnyArray, IntArray
from discreet.core.arrow_memory import array_of
from discreet.io.stored import StoredTable
from discreet.kernels.startup import pays

# What decoding takes longer, per row.
_ROW_SECONDS = 2e-9
_MOST_ROWS, _MOST_BYTES, _MOST_PAGES = 1 << 24, 1 << 28, 1 << 11
# The most entries of a dictionary: four histograms of so many fit the second-level cache.
_MOST_ENTRIES = 1 << 16
# Numbers of the format: kinds of pages and encodings.
_DATA, _DICTIONARY = 0, 2
_PLAIN, _INDICES, _RUNS = {0, 2}, {2, 8}, 3
# Bytes after the last one, which kernels read words from.
_PADDING = 8
_STORED: dict[str, np.dtype[Any]] = {"INT32": np.dtype("<i4"), "INT64": np.dtype("<i8")}


class _UnknownError(Exception):
    """Bytes that pyarrow shall read."""


def distinct_rows(table: StoredTable, groups: Sequence[int], bound: int) -> tuple[pa.RecordBatch, IntArray] | None:
    """Return the distinct rows of row groups, and how often each is there; None where pyarrow shall read them.

    Args:
        table: a file on this machine, of one column.
        groups: which of its row groups.
        bound: what every value must be below; at most 2^16.

    Raises:
        DataError: if the file is not what it was.
    """
    if not pays(_ROW_SECONDS * sum(table.rows[group] for group in groups)):
        return None
    total = np.zeros(bound, np.int64)
    table.state.check(table.path)
    for group in groups:
        try:
            column = _column(table, group)
            if column is None:
                return None
            _add_counts(column, total)
        except (_UnknownError, OSError, pa.ArrowException):
            # A page that does not decompress, among them.
            return None
    table.state.check(table.path)
    seen = np.flatnonzero(total)
    kind = table.schema.field(0).type.to_pandas_dtype()
    return pa.RecordBatch.from_arrays([array_of(seen.astype(kind))], schema=table.schema), total[seen]


@dataclass(frozen=True, slots=True)
class _Column:
    """The bytes of a column in one row group, and what the footer says of them.

    Attributes:
        data: its pages, and some bytes more.
        rows: how many there are.
        first: where the first data page begins.
        codec: of compression; None without.
        optional: whether pages begin with definition levels.
        checksums: whether those of the pages are to be compared.
        stored: the form of the dictionary's entries.
        limit: what the column's type goes up to, exclusive.
    """

    data: AnyArray
    rows: int
    first: int
    codec: Any
    optional: bool
    checksums: bool
    stored: np.dtype[Any]
    limit: int


def _column(table: StoredTable, group: int) -> _Column | None:
    """Return the only column of a row group, if the footer says nothing unknown of it."""
    facts = table.metadata
    kind = table.schema.field(0).type if len(table.schema) == 1 else None
    if facts is None or facts.num_columns != 1 or kind not in {pa.uint8(), pa.uint16(), pa.uint32()}:
        return None
    form, chunk = facts.schema.column(0), facts.row_group(group).column(0)
    start, first, size = chunk.dictionary_page_offset, chunk.data_page_offset, chunk.total_compressed_size
    known = (
        form.max_repetition_level == 0
        and form.max_definition_level in {0, 1}
        and form.physical_type in _STORED
        and chunk.compression in {"UNCOMPRESSED", "ZSTD"}
        and chunk.file_path == ""
        and start is not None
        and 0 < start < first < start + size
        and size <= _MOST_BYTES
        and 0 < table.rows[group] == chunk.num_values <= _MOST_ROWS
    )
    if not known:
        return None
    data = _bytes(table, group, start, size)
    codec = pa.Codec("zstd") if chunk.compression == "ZSTD" else None
    limit, checks, stored = 1 << kind.bit_width, table.seal is None, _STORED[form.physical_type]
    optional = form.max_definition_level == 1
    return (
        _Column(data, chunk.num_values, first - start, codec, optional, checks, stored, limit)
        if data is not None
        else None
    )


def _bytes(table: StoredTable, group: int, start: int, size: int) -> AnyArray | None:
    """Return bytes of a row group, and `PADDING` more; None if they are not what the seal says, or not there."""
    seal = table.seal
    begin, end = (start, start + size) if seal is None else seal.stretch(group)
    if not begin <= start <= start + size <= end <= begin + _MOST_BYTES:
        return None
    data = np.zeros(end - begin + _PADDING, np.uint8)
    stretch = data.data[: end - begin]
    with table.path.open("rb", buffering=0) as file:
        file.seek(begin)
        if file.readinto(stretch) != len(stretch):
            return None
    if seal is not None and zlib.crc32(stretch) != seal.sums[group]:
        return None
    return data[start - begin : start - begin + size + _PADDING]


def _add_counts(column: _Column, total: IntArray) -> None:
    """Add to each value's count how many rows have it."""
    from discreet.kernels.blocks import dictionary_pages as kernel

    pages = np.empty((_MOST_PAGES, kernel.COLUMNS), np.int64)
    pages = pages[: max(kernel.find_pages(column.data, pages), 0)]
    _check_heads(pages, column)
    values = np.frombuffer(_body(column, pages[0]).data, column.stored)
    if len(values) != pages[0, kernel.ENTRIES + kernel.ROWS] or not 1 < len(values) <= _MOST_ENTRIES:
        raise _UnknownError
    lanes = np.zeros((4, 1 << (len(values) - 1).bit_length()), np.uint32)
    for page in pages[1:]:
        data, begin = column.data, int(page[kernel.BEGIN])
        end = begin + int(page[kernel.PACKED])
        if column.codec is not None or column.checksums:
            data = np.concatenate([_body(column, page), np.zeros(kernel.PADDING, np.uint8)])
            begin, end = 0, len(data) - kernel.PADDING
        bounds = begin, end, int(page[kernel.DATA + kernel.ROWS])
        if end - begin != page[kernel.SIZE] or not kernel.count_indices(data, bounds, lanes, levels=column.optional):
            raise _UnknownError
    counts: IntArray = lanes.sum(axis=0, dtype=np.int64)
    seen = np.flatnonzero(counts)
    if seen[-1] >= len(values) or values[seen].min() < 0 or values[seen].max() >= min(len(total), column.limit):
        raise _UnknownError
    np.add.at(total, values[seen], counts[seen])


def _check_heads(pages: IntArray, column: _Column) -> None:
    """Refuse pages that are not one dictionary and, where the footer says, data with as many rows as it says."""
    from discreet.kernels.blocks import dictionary_pages as kernel

    if len(pages) < 2 or pages[1, kernel.PLACE] != column.first or pages[:, kernel.SIZE].max() > _MOST_BYTES:
        raise _UnknownError
    data = pages[1:, kernel.DATA :]
    known = (
        pages[0, kernel.KIND] == _DICTIONARY
        and pages[0, kernel.ENTRIES + kernel.ENCODING] in _PLAIN
        and (pages[1:, kernel.KIND] == _DATA).all()
        and np.isin(data[:, kernel.ENCODING], list(_INDICES)).all()
        and (data[:, [kernel.LEVELS, kernel.REPETITIONS]] == _RUNS).all()
        and (pages[0, kernel.DATA : kernel.ENTRIES] == kernel.ABSENT).all()
        and (pages[1:, kernel.ENTRIES :] == kernel.ABSENT).all()
        and data[:, kernel.ROWS].min() > 0
        and data[:, kernel.ROWS].sum() == column.rows
    )
    if not known:
        raise _UnknownError


def _body(column: _Column, page: IntArray) -> AnyArray:
    """Return the bytes of a page, without compression, after a comparison with its checksum."""
    from discreet.kernels.blocks import dictionary_pages as kernel

    begin, size, checksum = (int(page[place]) for place in (kernel.BEGIN, kernel.SIZE, kernel.CHECKSUM))
    body = column.data[begin : begin + int(page[kernel.PACKED])]
    if column.checksums and checksum != kernel.ABSENT and zlib.crc32(body.data) != checksum & 0xFFFFFFFF:
        raise _UnknownError
    if column.codec is not None:
        body = np.frombuffer(column.codec.decompress(body.data, size), np.uint8)
    if len(body) != size:
        raise _UnknownError
    return body
