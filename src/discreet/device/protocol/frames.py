"""Frames: the message in which a device sends records of one collection and epoch, each with a random id.

    "DSC1", collection (32 bytes), epoch (u32), n (u32), then n times: id (16 bytes), record

Numbers are little-endian. For people and other tools there is also a form in JSON. Its length can reveal values.
"""

import base64
import binascii
import json
import re
import struct
from collections.abc import Set
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.arrays import AnyArray
from discreet.core.checks import checked_whole
from discreet.device.protocol.shapes import fits
from discreet.errors import DataError
from discreet.formats.records import JsonRows, RecordCodec, once
from discreet.mechanisms import Mechanism
from discreet.mechanisms.row_checks import checked_reports, refuse_rows

REPORTS = "/v1/reports"
"""The collector's path for frames."""
MEDIA_TYPE = "application/vnd.discreet.reports"
JSON_MEDIA_TYPE = "application/vnd.discreet.reports+json"

MAGIC = b"DSC1"
ID_BYTES = 16
LARGEST_FRAME = 1 << 20
"""Most bytes of a frame, in either form."""
MOST_REPORTS = 4096

REPEATED = "have the id of another report in their frame"

_HEAD = struct.Struct("<4s32sII")
HEAD_BYTES = _HEAD.size
_LARGEST_EPOCH = (1 << 32) - 1
LARGEST_RECORD = LARGEST_FRAME - _HEAD.size - ID_BYTES
"""Most bytes of a record in a frame."""


class FrameError(DataError):
    """Raised if bytes are not a valid frame.

    Attributes:
        reason: "size" (too long), "structure" (malformed), "records" (zero or too many records), or "length" (does not
            fit its records).
    """

    def __init__(self, code: str, /, *, reason: str, **values: Any) -> None:
        super().__init__(code, **values)
        self.reason = reason


@dataclass(frozen=True, eq=False)
class Frame:
    """Records of one collection and epoch, each with its id.

    Attributes:
        collection: the id of the collection, 32 bytes.
        epoch: the number of the epoch, from 0 on.
        ids: ``(n, 16)`` random bytes, all different.
        records: ``(n, W)`` bytes.

    Raises:
        FrameError: if the fields do not form a frame.
        FlawedRowsError: if an id is repeated.

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
        """Check that the fields form a frame."""
        rows = _is_bytes(self.ids) and _is_bytes(self.records) and len(self.ids) == len(self.records)
        if not rows or self.ids.shape[1] != ID_BYTES or not isinstance(self.collection, bytes):
            raise FrameError("frame.wrong-ids", reason="structure", n=ID_BYTES)
        checked_whole("epoch", self.epoch, 0, _LARGEST_EPOCH, error=DataError)
        _check_head(self.collection, len(self.records), self.size)
        refuse_repeated(self.ids)

    @property
    def size(self) -> int:
        """The number of bytes of the frame."""
        return _HEAD.size + self.ids.nbytes + self.records.nbytes

    def pack(self) -> bytes:
        """Return the bytes of the frame."""
        head = _HEAD.pack(MAGIC, self.collection, self.epoch, len(self.records))
        return head + np.hstack([self.ids, self.records]).tobytes()

    @classmethod
    def parse(cls, data: bytes, width: int) -> "Frame":
        """Parse received bytes, and return the frame.

        Args:
            data: the bytes as received.
            width: W, the bytes of a record of the collection.

        Raises:
            FrameError: if the bytes are not a frame of such records.
            FlawedRowsError: if an id is repeated.
        """
        collection, epoch, n = head(data)
        wanted = _HEAD.size + n * (ID_BYTES + width)
        if len(data) != wanted:
            raise FrameError("frame.wrong-length", reason="length", n=n, wanted=wanted, size=len(data))
        rows = np.frombuffer(data, dtype=np.uint8, offset=_HEAD.size).reshape(n, ID_BYTES + width)
        return cls(collection, epoch, rows[:, :ID_BYTES], rows[:, ID_BYTES:])


def _is_bytes(rows: object) -> bool:
    return isinstance(rows, np.ndarray) and rows.dtype == np.uint8 and rows.ndim == 2


def head(data: bytes) -> tuple[bytes, int, int]:
    """Return a frame's collection id, epoch and number of records, from the first bytes of the frame.

    Raises:
        FrameError: if the head is malformed, or the frame is too long.
    """
    if len(data) < _HEAD.size or bytes(data[: len(MAGIC)]) != MAGIC:
        raise FrameError("frame.wrong-head", reason="structure", magic=MAGIC.decode(), n=_HEAD.size)
    _, collection, epoch, n = _HEAD.unpack_from(data)
    _check_head(collection, n, len(data))
    return collection, epoch, n


def _check_head(collection: bytes, n: int, size: int) -> None:
    if len(collection) != 32:
        raise FrameError("frame.wrong-collection", reason="structure", size=len(collection))
    if size > LARGEST_FRAME:
        raise FrameError("frame.too-large", reason="size", most=LARGEST_FRAME, size=size)
    if not 1 <= n <= MOST_REPORTS:
        raise FrameError("frame.wrong-number", reason="records", most=MOST_REPORTS, n=n)


def refuse_repeated(ids: AnyArray) -> None:
    """Raise an error for repeated ids in ``(n, 16)`` rows. Only the later rows count as flawed.

    Raises:
        FlawedRowsError: if an id is repeated.
    """
    # Half of an id is nearly always unique, and is sorted fast.
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
    """Check a frame that is a JSON document, and return it as a `Frame`.

    Args:
        data: UTF-8: ``{"collection": "<hex>", "epoch": 3, "reports": [{"id": "<base64url>", "symbol": 3}, ...]}``,
            reports with the fields of one report as JSON.
        mechanism: the collection's mechanism.
        codec: the codec of its records.

    Raises:
        FrameError: if this is not a frame in this form.
        FlawedRowsError: if no device can have sent one of the reports, or an id is repeated.
    """
    collection, epoch, listed = _parts(data)
    _check_head(collection, len(listed), len(data))
    names, ids, rows = {column.name for column in mechanism.columns}, [], JsonRows(mechanism)
    for row, report in enumerate(listed):
        ids.append(_id_of(report, row, names))
        try:
            rows.add(report, row)
        except DataError as error:
            raise FrameError("frame.wrong-report", reason="structure", fault=error.sentence()) from None
    reports = checked_reports(mechanism, len(ids), rows.columns(), simulated=False)
    return Frame(collection, epoch, np.array(ids, dtype=np.uint8).reshape(-1, ID_BYTES), codec.encode(reports))


def head_of_json(data: bytes) -> tuple[bytes, int, int]:
    """Return the collection id, the epoch and the number of reports of a frame in JSON; see `head`."""
    collection, epoch, listed = _parts(data)
    _check_head(collection, len(listed), len(data))
    return collection, epoch, len(listed)


_HEX, _ID = re.compile(r"[0-9a-f]{64}"), re.compile(r"[A-Za-z0-9_-]{22}")
_SHAPE = {"collection": _HEX, "epoch": int, "reports": list}


def _parts(data: bytes) -> tuple[bytes, int, list[Any]]:
    if len(data) > LARGEST_FRAME:
        raise FrameError("frame.too-large", reason="size", most=LARGEST_FRAME, size=len(data))
    frame: Any = None
    # Not chained: the error of the JSON library contains the whole text.
    with suppress(ValueError, RecursionError):
        frame = json.loads(bytes(data).decode("utf-8"), object_pairs_hook=once)
    if not fits(frame, _SHAPE) or not 0 <= frame["epoch"] <= _LARGEST_EPOCH:
        raise FrameError("frame.wrong-json", reason="structure")
    return bytes.fromhex(frame["collection"]), frame["epoch"], frame["reports"]


def _id_of(report: Any, row: int, names: Set[str]) -> AnyArray:
    if not fits(report, {"id": _ID, **dict.fromkeys((f"{name}?" for name in names), Any)}):
        raise FrameError("frame.wrong-fields", reason="structure", row=row)
    raw, spelled = b"", report["id"]
    with suppress(binascii.Error):
        raw = base64.urlsafe_b64decode(spelled + "==")
    if base64.urlsafe_b64encode(raw).rstrip(b"=") != spelled.encode("ascii"):
        raise FrameError("frame.wrong-id", reason="structure", row=row)
    return np.frombuffer(raw, dtype=np.uint8)
