"""Records: reports as bytes of constant length.

A record is a byte that says what follows (1: a block, 2: a value in clear, 3: both), then the columns of the report,
little-endian, then zeros up to a width that depends on the collection only; so its length tells nothing. Where reports
in clear carry a block too, the value in clear comes first, and its place is zero in a report without one.

Bytes become columns with nulls here; `discreet.io.wire` judges them, as in every other format.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from discreet.arrays import AnyArray, BoolArray
from discreet.core.reports import CLEAR, Column, Reports
from discreet.errors import DataError
from discreet.io.wire import Nullable, checked_reports, reasons, refuse_rows
from discreet.mechanisms import Mechanism

BLOCK, IN_CLEAR, BOTH = 1, 2, 3
"""Kinds of records, their first byte."""

_KIND = "are of a kind that this collection does not have"
_PADDING = "hold bytes that are not zero where nothing may be"


@dataclass(frozen=True)
class RecordCodec:
    """The form of a collection's records, from reports and back.

    Attributes:
        columns: of a report: of the code of a value in clear, where there are such values, and of a block.
        clear_blocks: whether reports in clear carry a block too.
        order: ``"<"`` on the wire; ``">"``, the highest byte first, where records are to compare as their numbers do.

    Example:
        >>> import discreet as dc
        >>> mechanism = dc.RandomizedResponse(dc.Domain(range(1000), sensitive=range(100)), epsilon=1.0)
        >>> codec = RecordCodec.of(mechanism)
        >>> records = codec.encode(mechanism.obfuscate([3, 500], random=dc.SeededRandom(1)))
        >>> codec.width, records.shape, sorted(codec.decode(records))
        (3, (2, 3), ['clear', 'symbol'])
    """

    columns: tuple[Column, ...]
    clear_blocks: bool
    order: Literal["<", ">"] = "<"

    @classmethod
    def of(cls, mechanism: Mechanism) -> "RecordCodec":
        """Return the form of a mechanism's records."""
        return cls(mechanism.columns, mechanism.clear_blocks)

    @cached_property
    def _clear(self) -> Column | None:
        return next((column for column in self.columns if column.name == CLEAR), None)

    @cached_property
    def _block(self) -> tuple[Column, ...]:
        return tuple(column for column in self.columns if column.name != CLEAR)

    @cached_property
    def _clear_bytes(self) -> int:
        return 0 if self._clear is None else self._clear.bytes

    @cached_property
    def _block_at(self) -> int:
        """The place of a block's first byte."""
        return 1 + (self._clear_bytes if self.clear_blocks else 0)

    @cached_property
    def _block_end(self) -> int:
        return self._block_at + sum(column.bytes for column in self._block)

    @cached_property
    def width(self) -> int:
        """W, the bytes of a record."""
        return max(self._block_end, 1 + self._clear_bytes)

    def encode(self, reports: Reports) -> AnyArray:
        """Return ``(n, W)`` bytes, a record for each report."""
        records = np.zeros((reports.n, self.width), dtype=np.uint8)
        told = reports.in_clear
        if told is None or self._clear is None:
            records[:, 0] = BLOCK
            self._write(records, self._block, self._block_at, reports.blocks)
            return records
        records[:, 0] = np.where(told, BOTH if self.clear_blocks else IN_CLEAR, BLOCK)
        in_clear = records[told]
        self._put(in_clear, self._clear, 1, reports.clear)
        records[told] = in_clear
        if self.clear_blocks:
            self._write(records, self._block, self._block_at, reports.blocks)
            return records
        others = records[~told]
        self._write(others, self._block, self._block_at, reports.blocks)
        records[~told] = others
        return records

    def _write(self, records: AnyArray, columns: tuple[Column, ...], at: int, entries: Any) -> None:
        for column in columns:
            self._put(records, column, at, entries[column.name])
            at += column.bytes

    def _put(self, records: AnyArray, column: Column, at: int, entries: AnyArray) -> None:
        """Write the entries of a column into ``(n, W)`` records, from byte ``at`` on."""
        narrow = np.ascontiguousarray(entries, dtype=np.dtype(column.dtype).newbyteorder(self.order))
        records[:, at : at + column.bytes] = narrow.reshape(len(records), column.width or 1).view(np.uint8)

    def _taken(self, records: AnyArray, column: Column, at: int) -> AnyArray:
        """Return the entries of a column in ``(n, W)`` records."""
        spelled = np.ascontiguousarray(records[:, at : at + column.bytes])
        entries = spelled.view(np.dtype(column.dtype).newbyteorder(self.order)).astype(column.dtype, copy=False)
        return entries.reshape(column.shape(len(records)))

    def decode(self, records: AnyArray) -> dict[str, Nullable]:
        """Return the columns of ``(n, W)`` bytes, for `discreet.io.wire.checked_reports` to judge.

        Raises:
            DataError: if they are no records of this width.
            FlawedRowsError: if a record is of no kind that the collection has, or has a byte where nothing may be.
        """
        if records.dtype != np.uint8 or records.ndim != 2 or records.shape[1] != self.width:
            raise DataError(f"records must be rows of {self.width} bytes, got {records.dtype} of {records.shape}.")
        kinds, every = records[:, 0], np.ones(len(records), dtype=np.bool_)
        told = kinds == (BOTH if self.clear_blocks else IN_CLEAR)
        if self._clear is None:
            told = np.zeros(len(records), dtype=np.bool_)
        refuse_rows(every, ~(told | (kinds == BLOCK)), _KIND)
        refuse_rows(every, self._is_dirty(records, told), _PADDING)
        with_block = every if self.clear_blocks else ~told
        columns = (
            {} if self._clear is None else {CLEAR: Nullable(told, self._taken(_rows(records, told), self._clear, 1))}
        )
        blocks, at = _rows(records, with_block), self._block_at
        for column in self._block:
            columns[column.name] = Nullable(with_block, self._taken(blocks, column, at))
            at += column.bytes
        return columns

    def turned(self, records: AnyArray) -> AnyArray:
        """Return ``(n, W)`` records with the bytes of every number in the other order; nothing is checked."""
        blocks, in_clear = self._turns
        made = np.take(records, blocks, axis=1)
        if in_clear != blocks:
            told = records[:, 0] == IN_CLEAR
            made[told] = records[told][:, in_clear]
        return made

    @cached_property
    def _turns(self) -> tuple[list[int], list[int]]:
        """Sources of the bytes of turned numbers: in records with a block, and in those with only a value."""
        blocks, in_clear, at = list(range(self.width)), list(range(self.width)), self._block_at
        for column in self._block:
            _turn(blocks, column, at)
            at += column.bytes
        if self._clear is None:
            return blocks, blocks
        if self.clear_blocks:
            _turn(blocks, self._clear, 1)
            return blocks, blocks
        _turn(in_clear, self._clear, 1)
        return blocks, in_clear

    def _is_dirty(self, records: AnyArray, told: BoolArray) -> BoolArray:
        """Return ``(n,)`` booleans: which records have a byte other than zero where nothing may be."""
        if self.clear_blocks:
            return ~told & records[:, 1 : self._block_at].any(axis=1)
        dirty = np.zeros(len(records), dtype=np.bool_)
        if self._block_end < self.width:
            dirty |= ~told & records[:, self._block_end :].any(axis=1)
        if 1 + self._clear_bytes < self.width:
            dirty |= told & records[:, 1 + self._clear_bytes :].any(axis=1)
        return dirty

    @staticmethod
    def reasons(mechanism: Mechanism) -> tuple[str, ...]:
        """Return the possible flaws of a record, in the order of the checks; see `discreet.io.wire.reasons`."""
        return (_KIND, _PADDING, *reasons(mechanism))

    def reports(self, mechanism: Mechanism, records: AnyArray, *, simulated: bool) -> Reports:
        """Return the reports of records, checked.

        Args:
            mechanism: the collection's.
            records: ``(n, W)`` bytes.
            simulated: whether the collection is.

        Raises:
            FlawedRowsError: if no device can have sent one of them.
        """
        return checked_reports(mechanism, len(records), self.decode(records), simulated=simulated)


def _rows(records: AnyArray, which: BoolArray) -> AnyArray:
    return records if which.all() else records[which]


def _turn(places: list[int], column: Column, at: int) -> None:
    """Turn the bytes of each number of a column, whose first byte is at a place."""
    size = np.dtype(column.dtype).itemsize
    for start in range(at, at + column.bytes, size):
        places[start : start + size] = reversed(places[start : start + size])
