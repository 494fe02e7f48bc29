"""Records: reports as bytes of constant length.

A record is a byte that says what follows (1: a block, 2: a value in clear, 3: both), then the columns of the report,
little-endian, then zeros up to a width that depends on the collection only; so its length tells nothing. Where reports
in clear carry a block too, the value in clear comes first, and its place is zero in a report without one.

Bytes become columns with nulls here; `discreet.io.wire` judges them, as in every other format.
"""

from dataclasses import dataclass

import numpy as np

from discreet.arrays import AnyArray, BoolArray
from discreet.core.record_form import BLOCK, BOTH, IN_CLEAR, RecordForm
from discreet.core.reports import CLEAR, Reports
from discreet.errors import DataError
from discreet.io.wire import Nullable, checked_reports, reasons, refuse_rows
from discreet.mechanisms import Mechanism

_KIND = "are of a kind that this collection does not have"
_PADDING = "hold bytes that are not zero where nothing may be"


@dataclass(frozen=True)
class RecordCodec(RecordForm):
    """The form of a collection's records, from reports and back; attributes as of `RecordForm`.

    Example:
        >>> import discreet as dc
        >>> mechanism = dc.RandomizedResponse(dc.Domain(range(1000), sensitive=range(100)), epsilon=1.0)
        >>> codec = RecordCodec.of(mechanism)
        >>> records = codec.encode(mechanism.obfuscate([3, 500], random=dc.SeededRandom(1)))
        >>> codec.width, records.shape, sorted(codec.decode(records))
        (3, (2, 3), ['clear', 'symbol'])
    """

    @classmethod
    def of(cls, mechanism: Mechanism) -> "RecordCodec":
        """Return the form of a mechanism's records."""
        return cls(mechanism.columns, mechanism.clear_blocks)

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
        if self.clear is None:
            told = np.zeros(len(records), dtype=np.bool_)
        refuse_rows(every, ~(told | (kinds == BLOCK)), _KIND)
        refuse_rows(every, self._is_dirty(records, told), _PADDING)
        with_block = every if self.clear_blocks else ~told
        columns = (
            {} if self.clear is None else {CLEAR: Nullable(told, self._taken(_rows(records, told), self.clear, 1))}
        )
        blocks, at = _rows(records, with_block), self._block_at
        for column in self.block:
            columns[column.name] = Nullable(with_block, self._taken(blocks, column, at))
            at += column.bytes
        return columns

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
