"""Records: reports as bytes of constant length. Also the JSON form of one report.

A record has a tag byte (1: a block, 2: a value in clear, 3: both), then the columns of the report in little-endian
order, then zero padding. Its width depends on the collection only, so that its length reveals nothing. If reports in
clear also contain a block, the value in clear is the first column, and is zero in a report without a value in clear.

Here bytes become columns with nulls. `discreet.mechanisms.row_checks` checks the columns, as for all formats. In JSON
an entry is an integer, a list of integers, or bits in base64.
"""

import base64
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.arrays import AnyArray, BoolArray
from discreet.core.reports import BLOCK, BOTH, CLEAR, IN_CLEAR, Column, RecordForm, Reports
from discreet.errors import DataError
from discreet.mechanisms import Mechanism
from discreet.mechanisms.row_checks import Nullable, checked_reports, reasons, refuse_rows


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Raise an error if a JSON object repeats a field, and return the object."""
    if len({name for name, _ in pairs}) < len(pairs):
        raise ValueError("repeated")
    return dict(pairs)


def entry_as_json(column: Column, entry: Any) -> Any:
    """Return one report's entry in a column as a JSON value."""
    if column.width is not None and column.bound is None:
        return base64.b64encode(entry.tobytes()).decode()
    return entry.tolist()


def entry_of(column: Column, entry: Any, row: int) -> Any:
    """Check a JSON value, and return it as one report's entry in a column.

    Raises:
        DataError: if the value has the wrong type for the column. `discreet.mechanisms.row_checks` checks bounds.
    """
    wrong = DataError("report.wrong-type", row=row, name=column.name)
    if column.width is None:
        if type(entry) is not int or not 0 <= entry < 1 << 63:
            raise wrong
        return entry
    if column.bound is None:
        raw = b""
        with suppress(ValueError):
            raw = base64.b64decode(entry, validate=True) if isinstance(entry, str) else b""
        if len(raw) != column.width:
            raise wrong
        return np.frombuffer(raw, dtype=np.uint8)
    whole = isinstance(entry, list) and len(entry) == column.width
    if not whole or not all(type(item) is int and 0 <= item < 1 << 63 for item in entry):
        raise wrong
    return entry


class JsonRows:
    """Collects the columns of reports from JSON objects. An object with an error leaves the columns unchanged.

    Args:
        mechanism: the mechanism of the plan.
    """

    def __init__(self, mechanism: Mechanism) -> None:
        self._columns = {column.name: column for column in mechanism.columns}
        self._entries: dict[str, list[Any]] = {name: [] for name in self._columns}
        self._present: dict[str, list[bool]] = {name: [] for name in self._columns}

    def add(self, report: Mapping[str, Any], row: int) -> None:
        """Add the entries of a report to the columns. Other fields of the object are not read.

        Raises:
            DataError: if an entry has the wrong type for its column.
        """
        entries = {name: entry_of(self._columns[name], report[name], row) for name in self._columns if name in report}
        for name, present in self._present.items():
            present.append(name in entries)
        for name, entry in entries.items():
            self._entries[name].append(entry)

    def columns(self) -> dict[str, Nullable]:
        """Return the columns. `discreet.mechanisms.row_checks.checked_reports` checks the reports in them."""
        nullables = {}
        for name, column in self._columns.items():
            entries, dtype = self._entries[name], np.uint8 if column.bound is None else np.int64
            shape = (len(entries),) if column.width is None else (len(entries), column.width)
            numbers = np.array(entries, dtype=dtype).reshape(shape)
            nullables[name] = Nullable(np.array(self._present[name], bool), numbers)
        return nullables


_KIND = "have an unknown tag byte, or a tag that this collection does not use"
_PADDING = "have bytes other than zero in the padding"


@dataclass(frozen=True)
class RecordCodec(RecordForm):
    """Encodes the reports of a collection as records, and decodes records; attributes as for `RecordForm`.

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
        """Return the codec for the records of a mechanism."""
        return cls(mechanism.columns, mechanism.clear_blocks)

    def decode(self, records: AnyArray) -> dict[str, Nullable]:
        """Return the columns of reports that are encoded in ``(n, W)`` bytes.

        `discreet.mechanisms.row_checks.checked_reports` checks them afterwards.

        Raises:
            DataError: if the array does not hold records of this width.
            FlawedRowsError: if a record has an unknown tag byte, or a byte other than zero where it must be zero.
        """
        if records.dtype != np.uint8 or records.ndim != 2 or records.shape[1] != self.width:
            raise DataError("records.wrong-shape", width=self.width, dtype=records.dtype, shape=records.shape)
        kinds, every = records[:, 0], np.ones(len(records), dtype=np.bool_)
        in_clear = kinds == (BOTH if self.clear_blocks else IN_CLEAR)
        if self.clear is None:
            in_clear = np.zeros(len(records), dtype=np.bool_)
        refuse_rows(every, ~(in_clear | (kinds == BLOCK)), _KIND)
        refuse_rows(every, self._is_dirty(records, in_clear), _PADDING)
        with_block = every if self.clear_blocks else ~in_clear
        columns = (
            {}
            if self.clear is None
            else {CLEAR: Nullable(in_clear, self._entries(_rows(records, in_clear), self.clear, 1))}
        )
        blocks, at = _rows(records, with_block), self._block_at
        for column in self.block:
            columns[column.name] = Nullable(with_block, self._entries(blocks, column, at))
            at += column.bytes
        return columns

    def _is_dirty(self, records: AnyArray, in_clear: BoolArray) -> BoolArray:
        """Return ``(n,)`` booleans: true for records with a byte other than zero in the padding or an absent column."""
        if self.clear_blocks:
            return ~in_clear & records[:, 1 : self._block_at].any(axis=1)
        dirty = np.zeros(len(records), dtype=np.bool_)
        if self._block_end < self.width:
            dirty |= ~in_clear & records[:, self._block_end :].any(axis=1)
        if 1 + self._clear_bytes < self.width:
            dirty |= in_clear & records[:, 1 + self._clear_bytes :].any(axis=1)
        return dirty

    @staticmethod
    def reasons(mechanism: Mechanism) -> tuple[str, ...]:
        """Return the possible flaws of a record, in the order of the checks; see `row_checks.reasons`."""
        return (_KIND, _PADDING, *reasons(mechanism))

    def reports(self, mechanism: Mechanism, records: AnyArray, *, simulated: bool) -> Reports:
        """Check records, and return their reports.

        Args:
            mechanism: the collection's mechanism.
            records: ``(n, W)`` bytes.
            simulated: whether the collection is simulated.

        Raises:
            FlawedRowsError: if no device can have sent a record.
        """
        return checked_reports(mechanism, len(records), self.decode(records), simulated=simulated)


def _rows(records: AnyArray, which: BoolArray) -> AnyArray:
    return records if which.all() else records[which]
