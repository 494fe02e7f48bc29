"""The form of reports as bytes of constant length, which devices send and canonical order compares."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from discreet.arrays import AnyArray
from discreet.core.reports import CLEAR, Column, Reports

BLOCK, IN_CLEAR, BOTH = 1, 2, 3
"""Kinds of records, their first byte."""


@dataclass(frozen=True)
class RecordForm:
    """The form of records: a byte that says what follows, then the columns of a report, then zeros.

    Attributes:
        columns: of a report: of the code of a value in clear, where there are such values, and of a block.
        clear_blocks: whether reports in clear carry a block too.
        order: ``"<"`` on the wire; ``">"``, the highest byte first, where records are to compare as their numbers do.
    """

    columns: tuple[Column, ...]
    clear_blocks: bool
    order: Literal["<", ">"] = "<"

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


def _turn(places: list[int], column: Column, at: int) -> None:
    """Turn the bytes of each number of a column, whose first byte is at a place."""
    size = np.dtype(column.dtype).itemsize
    for start in range(at, at + column.bytes, size):
        places[start : start + size] = reversed(places[start : start + size])
