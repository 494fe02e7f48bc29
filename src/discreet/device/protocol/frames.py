"""Frames: the message in which a device sends records of one collection and epoch, each with a random id.

    "DSC1", collection (32 bytes), epoch (u32), n (u32), then n times: id (16 bytes), record

Numbers are little-endian.
"""

import struct
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.arrays import AnyArray
from discreet.core.checks import checked_whole
from discreet.errors import DataError
from discreet.mechanisms.row_checks import refuse_rows

REPORTS = "/v1/reports"
"""The collector's path for frames."""
MEDIA_TYPE = "application/vnd.discreet.reports"

MAGIC = b"DSC1"
ID_BYTES = 16
LARGEST_FRAME = 1 << 20
"""Most bytes of a frame."""
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
    """Return the collection id, the epoch and the number of records in the first bytes of a frame.

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
