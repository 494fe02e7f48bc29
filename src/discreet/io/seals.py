"""Seals: checksums of every stretch of a Parquet or Arrow file, just before its footer.

A stretch is a unit of reading: a row group, or a batch. In both formats the footer holds all offsets, so that bytes
between the last stretch and the footer disturb no reader; and a tool that rewrites the table drops them, so that a seal
never belongs to another file than its own. The seal consists of JSON, filled up with spaces; its length and its CRC-32,
32 bits each, the lowest byte first; and the 8 letters of `_MAGIC`. All checksums are the CRC-32 of zip, gzip and PNG,
which detects every single damaged run of up to 32 bits, and any other damage with probability 1 - 2^-32.
"""

import os
import struct
import zlib
from dataclasses import asdict, dataclass
from io import BytesIO
from typing import IO, Any

import msgspec

from discreet.errors import DataError
from discreet.io.remote import File

_MAGIC = b"DSCRSEAL"
_END = struct.Struct("<II8s")
_ALIGNED = 8
_CHUNK = 1 << 20
# What stands at the end of a file, after the 32 bits that say how long its footer is.
_LAST_LETTERS = (b"PAR1", b"ARROW1")
_AGAIN = "take the file once more from where it came"


@dataclass(frozen=True, slots=True)
class Seal:
    """The seal of a file: checksums of its stretches.

    Attributes:
        rows: how many rows every stretch holds.
        ends: where every stretch ends, in bytes, and where the seal begins; the first one begins at 0.
        sums: CRC-32 of the bytes of every stretch, and of those between the last one and the seal.
        footer: CRC-32 of all bytes behind the seal.
    """

    rows: tuple[int, ...]
    ends: tuple[int, ...]
    sums: tuple[int, ...]
    footer: int

    def stretch(self, place: int) -> tuple[int, int]:
        """Return the first byte of a stretch, and the one after its last."""
        return (self.ends[place - 1] if place else 0), self.ends[place]

    def check(self, path: File, place: int) -> None:
        """Compare a stretch with its checksum.

        Raises:
            DataError: if it is damaged.
        """
        (start, end), found = self.stretch(place), 0
        left = end - start
        chunk = memoryview(bytearray(min(_CHUNK, left)))
        with path.open("rb", buffering=0) as file:
            file.seek(start)
            while left and (got := file.readinto(chunk[:left])):
                found, left = zlib.crc32(chunk[:got], found), left - got
        if left or found != self.sums[place]:
            raise DataError(f"stretch {place} of {len(self.sums)} is damaged (its checksum is another); {_AGAIN}.")


def footer_of(file: IO[bytes]) -> tuple[int, bytes]:
    """Return the start of the footer of a Parquet or Arrow file, and all bytes from there.

    Raises:
        DataError: if the file has none.
    """
    size = file.seek(0, os.SEEK_END)
    file.seek(max(size - 10, 0))
    last = file.read(10)
    for letters in _LAST_LETTERS:
        length = int.from_bytes(last[-len(letters) - 4 : -len(letters)], "little")
        start = size - len(letters) - 4 - length
        if last.endswith(letters) and start >= 0:
            file.seek(start)
            return start, file.read()
    raise DataError("the file has no footer; it may be truncated or of another format.")


def read_seal(file: IO[bytes]) -> tuple[Seal | None, int]:
    """Return a file's seal, or None if it has none, and the CRC-32 of its footer.

    Raises:
        DataError: if the footer or the seal is damaged.
    """
    start, footer = footer_of(file)
    found = zlib.crc32(footer)
    file.seek(max(start - _END.size, 0))
    length, checksum, magic = _END.unpack(file.read(_END.size).rjust(_END.size)[: _END.size])
    if magic != _MAGIC:
        return None, found
    begin = start - _END.size - length
    file.seek(max(begin, 0))
    text = file.read(length)
    if begin < 0 or zlib.crc32(text) != checksum:
        raise DataError(f"the seal of the file is damaged; {_AGAIN}.")
    seal = _decoded(text)
    if seal.footer != found or seal.ends[-1] != begin:
        raise DataError(f"the footer of the file is damaged (its checksum is another); {_AGAIN}.")
    return seal, found


def _decoded(text: bytes) -> Seal:
    try:
        seal = msgspec.json.decode(text, type=Seal)
        known = msgspec.json.encode(asdict(seal)) == text.rstrip(b" ")
    except (msgspec.DecodeError, RecursionError):
        known = False
    if not known:
        raise DataError("the file has a seal of another form; read it with the discreet that wrote it.")
    if not len(seal.rows) + 1 == len(seal.ends) == len(seal.sums) or [*seal.ends] != sorted(seal.ends):
        raise DataError("the parts of the file's seal do not fit together; read it with the discreet that wrote it.")
    return seal


class SealingFile:
    """A new file that ends with a seal; Arrow's writers accept it as any file.

    Args:
        file: open for writing, and empty.
    """

    closed = False

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._held: BytesIO | None = None
        self._sum = self._place = 0
        self._rows: list[int] = []
        self._ends: list[int] = []
        self._sums: list[int] = []

    def write(self, data: Any) -> int:
        """Write bytes; once the file is released, nothing: a writer that is given up closes what it began."""
        size = memoryview(data).nbytes
        if self._file.closed:
            return size
        if self._held is None:
            self._sum = zlib.crc32(data, self._sum)
            self._file.write(data)
        else:
            self._held.write(data)
        self._place += size
        return size

    def tell(self) -> int:
        """Return the number of bytes written."""
        return self._place

    def flush(self) -> None:
        """Do nothing: all is on its way when the file is released."""

    def close(self) -> None:
        """Do nothing: Arrow closes what it writes to before the seal is there."""

    def mark(self, rows: int) -> None:
        """End a stretch of so many rows."""
        self._rows.append(rows)
        self._end()

    def _end(self) -> None:
        self._ends.append(self._place)
        self._sums.append(self._sum)
        self._sum = 0

    def hold(self) -> None:
        """Hold back what is written from now on: the footer, and what stands before it."""
        self._held = BytesIO()

    def seal(self) -> None:
        """Write the seal and what was held back."""
        held = BytesIO() if self._held is None else self._held
        start, footer = footer_of(held)
        between = held.getvalue()[:start]
        self._held, self._place = None, self._place - len(between) - len(footer)
        self.write(between)
        self._end()
        seal = Seal(tuple(self._rows), tuple(self._ends), tuple(self._sums), zlib.crc32(footer))
        text = msgspec.json.encode(asdict(seal))
        text += b" " * (-(self._place + len(text) + _END.size) % _ALIGNED)
        self._file.write(text + _END.pack(len(text), zlib.crc32(text), _MAGIC) + footer)

    def release(self) -> None:
        """Close the file, sealed or not."""
        self._file.close()
