"""The form of reports as bytes of constant length, which devices send and canonical order compares."""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from discreet.arrays import AnyArray
from discreet.core.reports import CLEAR, Blocks, Column, Reports, block_count

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
    def clear(self) -> Column | None:
        """The column of codes of values in clear; None where no report states one."""
        return next((column for column in self.columns if column.name == CLEAR), None)

    @cached_property
    def block(self) -> tuple[Column, ...]:
        """The columns of a block."""
        return tuple(column for column in self.columns if column.name != CLEAR)

    @cached_property
    def _clear_bytes(self) -> int:
        return 0 if self.clear is None else self.clear.bytes

    @cached_property
    def _block_at(self) -> int:
        """The place of a block's first byte."""
        return 1 + (self._clear_bytes if self.clear_blocks else 0)

    @cached_property
    def _block_end(self) -> int:
        return self._block_at + sum(column.bytes for column in self.block)

    @cached_property
    def width(self) -> int:
        """W, the bytes of a record."""
        return max(self._block_end, 1 + self._clear_bytes)

    def encode(self, reports: Reports, width: int | None = None) -> AnyArray:
        """Return ``(n, W)`` bytes, a record for each report; with zeros up to another width than W, if one is given."""
        told = reports.in_clear
        if told is None or self.clear is None:
            return self.of_blocks(reports.blocks, width)
        if self.clear_blocks:
            records = self.of_blocks(reports.blocks, width)
            records[told, 0] = BOTH
            codes = np.zeros(reports.n, reports.clear.dtype)
            codes[told] = reports.clear
            self._put(records, self.clear, 1, codes)
            return records
        records = np.empty((reports.n, width or self.width), dtype=np.uint8)
        records[told] = self.of_codes(reports.clear, width)
        records[~told] = self.of_blocks(reports.blocks, width)
        return records

    def of_codes(self, codes: AnyArray, width: int | None = None) -> AnyArray:
        """Return ``(m, W)`` bytes, the records of reports with nothing but a value in clear; ``width`` as there."""
        records = np.zeros((len(codes), width or self.width), dtype=np.uint8)
        records[:, 0] = IN_CLEAR
        if self.clear is not None:
            self._put(records, self.clear, 1, codes)
        return records

    def of_blocks(self, blocks: Blocks, width: int | None = None) -> AnyArray:
        """Return ``(m, W)`` bytes, the records of reports with nothing but a block; ``width`` as there."""
        records, at = np.zeros((block_count(blocks), width or self.width), dtype=np.uint8), self._block_at
        records[:, 0] = BLOCK
        for column in self.block:
            self._put(records, column, at, blocks[column.name])
            at += column.bytes
        return records

    def _put(self, records: AnyArray, column: Column, at: int, entries: AnyArray) -> None:
        """Write the entries of a column into ``(n, W)`` records, from byte ``at`` on."""
        kind, places = np.dtype(column.dtype).newbyteorder(self.order), records[:, at : at + column.bytes]
        if column.width is None:
            places.view(kind)[:, 0] = entries
            return
        # Rows as a whole, of a few bytes each: copied entry by entry they take three times as long.
        whole = np.dtype((np.void, column.bytes))
        places.view(whole)[:] = np.ascontiguousarray(entries, dtype=kind).view(whole)

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
        for column in self.block:
            _turn(blocks, column, at)
            at += column.bytes
        if self.clear is None:
            return blocks, blocks
        if self.clear_blocks:
            _turn(blocks, self.clear, 1)
            return blocks, blocks
        _turn(in_clear, self.clear, 1)
        return blocks, in_clear


def _turn(places: list[int], column: Column, at: int) -> None:
    """Turn the bytes of each number of a column, whose first byte is at a place."""
    size = np.dtype(column.dtype).itemsize
    for start in range(at, at + column.bytes, size):
        places[start : start + size] = reversed(places[start : start + size])
