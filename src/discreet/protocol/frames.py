"""Frames: records of constant length on their way to the collector.

Entries of one report as JSON: integers, lists of integers, bits in base64.

Records: reports as bytes of constant length.

A record is a byte that says what follows (1: a block, 2: a value in clear, 3: both), then the columns of the report,
little-endian, then zeros up to a width that depends on the collection only; so its length tells nothing. Where reports
in clear carry a block too, the value in clear comes first, and its place is zero in a report without one.

Bytes become columns with nulls here; `discreet.mechanisms.row_checks` judges them, as in every other format.

Frames: records of one collection and epoch on their way from devices to the collector, each under a random id.

    "DSC1", collection (32 bytes), epoch (u32), n (u32), then n times: id (16 bytes), record

Numbers are little-endian. For people and other tools there is a form in JSON; its length tells things.
"""

import base64
import binascii
import json
import re
import struct
from collections.abc import Mapping, Set
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.arrays import AnyArray, BoolArray
from discreet.core.checks import checked_whole
from discreet.core.reports import BLOCK, BOTH, CLEAR, IN_CLEAR, Column, RecordForm, Reports
from discreet.errors import DataError
from discreet.mechanisms import Mechanism
from discreet.mechanisms.row_checks import Nullable, checked_reports, reasons, refuse_rows


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse an object with a repeated field."""
    if len({name for name, _ in pairs}) < len(pairs):
        raise ValueError("repeated")
    return dict(pairs)


def entry_as_json(column: Column, entry: Any) -> Any:
    """Return an entry of a column as a value of JSON."""
    if column.width is not None and column.bound is None:
        return base64.b64encode(entry.tobytes()).decode()
    return entry.tolist()


def entry_of(column: Column, entry: Any, row: int) -> Any:
    """Return an entry of a column from a value of JSON.

    Raises:
        DataError: if it is not of the column's kind; bounds are for `discreet.mechanisms.row_checks` to check.
    """
    wrong = DataError(f"report {row} has a {column.name} that is not of its kind.")
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
    """Reports under construction from objects of JSON; one that is refused leaves nothing.

    Args:
        mechanism: what they claim to come from.
    """

    def __init__(self, mechanism: Mechanism) -> None:
        self._columns = {column.name: column for column in mechanism.columns}
        self._entries: dict[str, list[Any]] = {name: [] for name in self._columns}
        self._present: dict[str, list[bool]] = {name: [] for name in self._columns}

    def add(self, report: Mapping[str, Any], row: int) -> None:
        """Add the entries of a report, whose other fields are the caller's.

        Raises:
            DataError: if an entry is not of its column's kind.
        """
        entries = {name: entry_of(self._columns[name], report[name], row) for name in self._columns if name in report}
        for name, present in self._present.items():
            present.append(name in entries)
        for name, entry in entries.items():
            self._entries[name].append(entry)

    def columns(self) -> dict[str, Nullable]:
        """Return the columns, for `discreet.mechanisms.row_checks.checked_reports` to judge."""
        nullables = {}
        for name, column in self._columns.items():
            entries, dtype = self._entries[name], np.uint8 if column.bound is None else np.int64
            shape = (len(entries),) if column.width is None else (len(entries), column.width)
            numbers = np.array(entries, dtype=dtype).reshape(shape)
            nullables[name] = Nullable(np.array(self._present[name], bool), numbers)
        return nullables


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
        """Return the columns of ``(n, W)`` bytes, for `discreet.mechanisms.row_checks.checked_reports` to judge.

        Raises:
            DataError: if they are no records of this width.
            FlawedRowsError: if a record is of no kind that the collection has, or has a byte where nothing may be.
        """
        if records.dtype != np.uint8 or records.ndim != 2 or records.shape[1] != self.width:
            raise DataError(f"records must be rows of {self.width} bytes, got {records.dtype} of {records.shape}.")
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
        """Return ``(n,)`` booleans: which records have a byte other than zero where nothing may be."""
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


REPORTS = "/v1/reports"
"""The path at a collector to which frames are sent."""
MEDIA_TYPE = "application/vnd.discreet.reports"
JSON_MEDIA_TYPE = "application/vnd.discreet.reports+json"

MAGIC = b"DSC1"
ID_BYTES = 16
LARGEST_FRAME = 1 << 20
"""Bytes of a frame, in either form."""
MOST_REPORTS = 4096

REPEATED = "have the id of another report in their frame"

_HEAD = struct.Struct("<4s32sII")
HEAD_BYTES = _HEAD.size
_LARGEST_EPOCH = (1 << 32) - 1
LARGEST_RECORD = LARGEST_FRAME - _HEAD.size - ID_BYTES
"""Bytes of a record that a frame has room for."""


class FrameError(DataError):
    """Bytes that are no frame.

    Attributes:
        code: what is wrong: "size" (too long), "structure" (no frame of this form), "records" (none, or too many), or
            "length" (not that of its records).
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, eq=False)
class Frame:
    """Records of one collection and epoch, each under its id.

    Attributes:
        collection: the id of the collection, 32 bytes.
        epoch: its number, from 0 on.
        ids: ``(n, 16)`` random bytes, all different.
        records: ``(n, W)`` bytes.

    Raises:
        FrameError: if they make no frame.
        FlawedRowsError: if an id is there twice.

    Example:
        >>> import os
        >>> ids = np.frombuffer(os.urandom(32), dtype=np.uint8).reshape(2, 16)
        >>> frame = Frame(bytes(32), 3, ids, np.array([[1, 5], [1, 6]], dtype=np.uint8))
        >>> Frame.parse(frame.pack(), width=2).records.tolist(), head(frame.pack())[1:]
        ([[1, 5], [1, 6]], (3, 2))
    """

    collection: bytes
    epoch: int
    ids: AnyArray
    records: AnyArray

    def __post_init__(self) -> None:
        """Refuse parts that make no frame."""
        rows = _is_bytes(self.ids) and _is_bytes(self.records) and len(self.ids) == len(self.records)
        if not rows or self.ids.shape[1] != ID_BYTES or not isinstance(self.collection, bytes):
            raise FrameError("structure", f"ids must be rows of {ID_BYTES} bytes, one for each record.")
        checked_whole("epoch", self.epoch, 0, _LARGEST_EPOCH, error=DataError)
        _check_head(self.collection, len(self.records), self.size)
        refuse_repeated(self.ids)

    @property
    def size(self) -> int:
        """Bytes of the frame."""
        return _HEAD.size + self.ids.nbytes + self.records.nbytes

    def pack(self) -> bytes:
        """Return the bytes of the frame."""
        head = _HEAD.pack(MAGIC, self.collection, self.epoch, len(self.records))
        return head + np.hstack([self.ids, self.records]).tobytes()

    @classmethod
    def parse(cls, data: bytes, width: int) -> "Frame":
        """Return the frame of some bytes.

        Args:
            data: as they came.
            width: W, the bytes of a record of the collection.

        Raises:
            FrameError: if they are no frame of such records.
            FlawedRowsError: if an id is there twice.
        """
        collection, epoch, n = head(data)
        wanted = _HEAD.size + n * (ID_BYTES + width)
        if len(data) != wanted:
            raise FrameError("length", f"a frame of {n} records must have {wanted} bytes, got {len(data)}.")
        rows = np.frombuffer(data, dtype=np.uint8, offset=_HEAD.size).reshape(n, ID_BYTES + width)
        return cls(collection, epoch, rows[:, :ID_BYTES], rows[:, ID_BYTES:])


def _is_bytes(rows: object) -> bool:
    return isinstance(rows, np.ndarray) and rows.dtype == np.uint8 and rows.ndim == 2


def head(data: bytes) -> tuple[bytes, int, int]:
    """Return the collection, the epoch and the number of records of a frame, from its first bytes.

    Raises:
        FrameError: if this is the head of no frame, or the frame is too long.
    """
    if len(data) < _HEAD.size or bytes(data[: len(MAGIC)]) != MAGIC:
        raise FrameError("structure", f"a frame must begin with {MAGIC.decode()} and a head of {_HEAD.size} bytes.")
    _, collection, epoch, n = _HEAD.unpack_from(data)
    _check_head(collection, n, len(data))
    return collection, epoch, n


def _check_head(collection: bytes, n: int, size: int) -> None:
    if len(collection) != 32:
        raise FrameError("structure", f"a collection's id must have 32 bytes, got {len(collection)}.")
    if size > LARGEST_FRAME:
        raise FrameError("size", f"a frame must have at most {LARGEST_FRAME} bytes, got {size}.")
    if not 1 <= n <= MOST_REPORTS:
        raise FrameError("records", f"a frame must have 1 to {MOST_REPORTS} records, got {n}.")


def refuse_repeated(ids: AnyArray) -> None:
    """Refuse ``(n, 16)`` ids that are there twice; the first of them counts as the report's own.

    Raises:
        FlawedRowsError: if there are any.
    """
    # Half of an id tells nearly all of them apart, and is sorted fast.
    halves = np.sort(np.ascontiguousarray(ids[:, :8]).view("<u8")[:, 0])
    if (halves[1:] != halves[:-1]).all():
        return
    earlier: set[bytes] = set()
    repeated = np.zeros(len(ids), dtype=np.bool_)
    for row, id_ in enumerate(ids):
        spelled = id_.tobytes()
        repeated[row] = spelled in earlier
        earlier.add(spelled)
    refuse_rows(np.ones(len(ids), dtype=np.bool_), repeated, REPEATED)


# The form for people and other tools


def frame_of_json(data: bytes, mechanism: Mechanism, codec: RecordCodec) -> Frame:
    """Return the frame of reports as JSON, checked.

    Args:
        data: UTF-8: ``{"collection": "<hex>", "epoch": 3, "reports": [{"id": "<base64url>", "symbol": 3}, ...]}``,
            reports with the fields of one report as JSON.
        mechanism: the collection's.
        codec: of its records.

    Raises:
        FrameError: if this is no frame in this form.
        FlawedRowsError: if no device can have sent one of the reports, or an id is there twice.
    """
    collection, epoch, listed = _parts(data)
    _check_head(collection, len(listed), len(data))
    names, ids, rows = {column.name for column in mechanism.columns}, [], JsonRows(mechanism)
    for row, report in enumerate(listed):
        ids.append(_id_of(report, row, names))
        try:
            rows.add(report, row)
        except DataError as error:
            raise FrameError("structure", str(error)) from None
    reports = checked_reports(mechanism, len(ids), rows.columns(), simulated=False)
    return Frame(collection, epoch, np.array(ids, dtype=np.uint8).reshape(-1, ID_BYTES), codec.encode(reports))


def head_of_json(data: bytes) -> tuple[bytes, int, int]:
    """Return the collection, the epoch and the number of reports of a frame as JSON; see `head`."""
    collection, epoch, listed = _parts(data)
    _check_head(collection, len(listed), len(data))
    return collection, epoch, len(listed)


_HEX, _ID = re.compile(r"[0-9a-f]{64}"), re.compile(r"[A-Za-z0-9_-]{22}")
_FIELDS = {"collection", "epoch", "reports"}


def _parts(data: bytes) -> tuple[bytes, int, list[Any]]:
    if len(data) > LARGEST_FRAME:
        raise FrameError("size", f"a frame must have at most {LARGEST_FRAME} bytes, got {len(data)}.")
    frame: Any = None
    # Swallowed, not chained: the library's error holds the whole text.
    with suppress(ValueError, RecursionError):
        frame = json.loads(bytes(data).decode("utf-8"), object_pairs_hook=once)
    if not isinstance(frame, dict) or set(frame) != _FIELDS:
        raise FrameError("structure", "a frame as JSON must be an object of collection, epoch and reports.")
    collection, epoch, listed = frame["collection"], frame["epoch"], frame["reports"]
    if not isinstance(collection, str) or not _HEX.fullmatch(collection):
        raise FrameError("structure", "a frame's collection must be 64 digits, 0-9 and a-f.")
    if type(epoch) is not int or not 0 <= epoch <= _LARGEST_EPOCH or not isinstance(listed, list):
        raise FrameError("structure", "a frame's epoch must be an integer in 0..2^32 - 1, its reports a list.")
    return bytes.fromhex(collection), epoch, listed


def _id_of(report: Any, row: int, names: Set[str]) -> AnyArray:
    spelled = report.get("id") if isinstance(report, dict) else None
    if not isinstance(spelled, str) or not _ID.fullmatch(spelled) or not set(report) <= {"id", *names}:
        raise FrameError("structure", f"report {row} must have an id of 22 letters and the fields of a report.")
    raw = b""
    with suppress(binascii.Error):
        raw = base64.urlsafe_b64decode(spelled + "==")
    if base64.urlsafe_b64encode(raw).rstrip(b"=") != spelled.encode("ascii"):
        raise FrameError("structure", f"report {row} must have an id in base64url whose spare bits are zero.")
    return np.frombuffer(raw, dtype=np.uint8)
