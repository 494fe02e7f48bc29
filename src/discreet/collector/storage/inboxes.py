"""The files in which reports wait until they are sealed.

There is one file for each collection and epoch, which grows at its end and is unlinked as a whole.

A file is records, one for each group of frames that was written at once: the number of bytes, CRC-32 of that number and
of the bytes, and the bytes: ids and records of reports, one after the other. A group is acknowledged when its file is
flushed, and the next one is written afterwards, so that at most the last record can be torn: a good record behind a bad
one shows damage. A file that failed to flush is never written to again, since nobody knows what the system dropped; its
epoch goes on in a new part, as it does behind a damaged one.
"""

import os
import re
import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import RLock
from typing import BinaryIO

import numpy as np

from discreet.collector.logs import log
from discreet.collector.storage.folder import synchronize
from discreet.errors import DataError

At = tuple[int, int]
"""Key of a collection, and an epoch."""

MOST_BYTES = 1 << 24
"""The most bytes of a record, above the largest group of frames."""

_HEAD = struct.Struct("<II")
_NUMBER = struct.Struct("<I")
_NAME = re.compile(r"(\d+)-(\d+)(?:\.(\d+))?\.log")
_PROBE = ".probe"
# They wait for disks; on slow ones 50 epochs that are open at once are three times as fast by 16 as by 4.
_AT_ONCE = 16


@dataclass(slots=True)
class Part:
    """A file of reports of one epoch.

    Attributes:
        path: the file.
        end: bytes up to the end of the last good record.
        n: reports up to there, those among them that were sent again.
        flaw: the sentence on its damage; empty without damage.
        ended: whether nothing is written to it any more.
    """

    path: Path
    end: int = 0
    n: int = 0
    flaw: str = ""
    ended: bool = False

    def rows(self, width: int) -> Iterator[bytes]:
        """Yield the reports, a group at a time; see `rows_of`."""
        return rows_of(self.path, self.end, width)


class Inboxes:
    """The files of all epochs that are not sealed, as one process holds them.

    Args:
        folder: of the files; made if it is not there.
        widths: bytes of a report by key of the collection; files of other collections are left alone.

    Attributes:
        turn: held while a group is written; whoever holds it keeps the writer of this process waiting.
        is_paused: whether nothing is written, because a verb needs the last room of a full disk.
        strangers: names of files that belong to no collection, or are no files of reports.
    """

    def __init__(self, folder: Path, widths: Mapping[int, int]) -> None:
        self.turn, self.is_paused, self._said = RLock(), False, ""
        folder.mkdir(mode=0o700, exist_ok=True)
        self._folder, self._widths = folder, widths
        self._parts: dict[At, list[Part]] = {}
        self.strangers: list[str] = []
        self._pool = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="flush")
        for path in sorted(folder.iterdir(), key=_order):
            named = _NAME.fullmatch(path.name)
            if path.name.startswith("."):
                # What was half written when its writer was killed.
                path.unlink()
                continue
            if named is None or int(named[1]) not in widths:
                self.strangers.append(path.name)
                continue
            at = int(named[1]), int(named[2])
            self._parts.setdefault(at, []).append(_part_of(path, widths[at[0]]))
        synchronize(folder)

    def close(self) -> None:
        """End the threads that flush."""
        self._pool.shutdown()

    @property
    def flaws(self) -> list[str]:
        """The sentences on files that are damaged."""
        with self.turn:
            return [part.flaw for parts in self._parts.values() for part in parts if part.flaw]

    def waiting(self) -> dict[At, int]:
        """Return the number of reports that wait to be sealed, by collection and epoch; those sent again count."""
        with self.turn:
            return {at: sum(part.n for part in parts) for at, parts in self._parts.items()}

    def parts(self, at: At) -> list[Part]:
        """Return the files of an epoch, in the order in which they were written."""
        with self.turn:
            return [Part(part.path, part.end, part.n, part.flaw, part.ended) for part in self._parts.get(at, [])]

    def append(self, groups: Mapping[At, Sequence[bytes]]) -> set[At]:
        """Write reports at the ends of their files and flush these, side by side.

        Returns:
            The epochs whose file could not be written; nothing of theirs was kept.
        """
        with self.turn:
            if self.is_paused:
                return set(groups)
            failed, written = set[At](), {}
            for at in groups:
                try:
                    written[at] = self._writable(at)
                except OSError as error:
                    failed.add(at)
                    self._say(error)
            if any(not part.end for part in written.values()):
                try:
                    # Names of new files: one flush for all of them.
                    synchronize(self._folder)
                except OSError as error:
                    self._say(error)
                    return set(groups)
            work = [(written[at], b"".join(rows), self._widths[at[0]]) for at, rows in groups.items() if at in written]
            done = (
                [self._appended(*work[0])]
                if len(work) == 1
                else list(self._pool.map(self._appended, *zip(*work, strict=True)))
            )
            failed |= {at for at, fine in zip(written, done, strict=True) if not fine}
            if not failed and self._said:
                self._said = ""
                log("store_works", level="warning")
            return failed

    def _say(self, error: OSError) -> None:
        """Log why nothing could be written, once for each reason until something can."""
        reason = error.strerror or type(error).__name__
        if reason != self._said:
            self._said = reason
            log("store_failed", level="error", reason=reason)

    def _appended(self, part: Part, rows: bytes, width: int) -> bool:
        """Write a record at the end of a file and flush it; return whether it is on disk."""
        record = packed(rows)
        try:
            place = os.open(part.path, os.O_WRONLY | os.O_CLOEXEC)
        except OSError as error:
            # Reports that were acknowledged are gone with it.
            part.flaw = (
                f"inbox/{part.path.name} cannot be opened any more ({error.strerror}); {part.n} reports were in it."
            )
            self._say(error)
            return False
        try:
            if os.fstat(place).st_size < part.end:
                part.flaw = f"inbox/{part.path.name} was cut by somebody else; {part.n} reports were in it."
                return False
            try:
                done = 0
                while done < len(record):
                    done += os.pwrite(place, record[done:], part.end + done)
            except OSError as error:
                self._say(error)
                part.ended = not self._cut(place, part.end)
                return False
            try:
                os.fdatasync(place)
            except OSError as error:
                self._say(error)
                part.ended = True
                return False
        finally:
            os.close(place)
        part.end += len(record)
        part.n += len(rows) // width
        return True

    def _cut(self, place: int, end: int) -> bool:
        try:
            os.ftruncate(place, end)
        except OSError as error:
            self._say(error)
            return False
        return True

    def _writable(self, at: At) -> Part:
        """Return the file that an epoch's next reports go to, which is there afterwards."""
        parts = self._parts.setdefault(at, [])
        if parts and not (parts[-1].ended or parts[-1].flaw):
            return parts[-1]
        number = 1 + max((_order(part.path)[2] for part in parts), default=0)
        name = f"{at[0]}-{at[1]}.log" if number == 1 else f"{at[0]}-{at[1]}.{number}.log"
        part = Part(self._folder / name)
        os.close(os.open(part.path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))
        parts.append(part)
        return part

    def probe(self) -> bool:
        """Return true if something can be written and flushed."""
        path = self._folder / _PROBE
        try:
            with path.open("wb") as file:
                file.write(bytes(4096))
                file.flush()
                os.fsync(file.fileno())
        except OSError:
            return False
        finally:
            with suppress(OSError):
                path.unlink(missing_ok=True)
        return True

    def remove(self, at: At) -> None:
        """Unlink the files of an epoch.

        Raises:
            OSError: if they cannot be; those that remain are known as before.
        """
        with self.turn:
            parts = self._parts.get(at, [])
            for part in reversed(list(parts)):
                part.path.unlink(missing_ok=True)
                parts.remove(part)
            self._parts.pop(at, None)
            synchronize(self._folder)

    def forget_strangers(self, keys: Set[int]) -> None:
        """Unlink the files of collections that were deleted."""
        for name in list(self.strangers):
            named = _NAME.fullmatch(name)
            if named is not None and int(named[1]) in keys:
                (self._folder / name).unlink(missing_ok=True)
                self.strangers.remove(name)
        synchronize(self._folder)

    def check(self) -> Iterator[str]:
        """Read all files again, and yield a sentence for each file that has changed."""
        with self.turn:
            known = {at: self.parts(at) for at in self._parts}
        names = {part.path.name for parts in known.values() for part in parts}
        for name in sorted({path.name for path in self._folder.iterdir()} - names - {_PROBE}):
            named = _NAME.fullmatch(name)
            at = (int(named[1]), int(named[2])) if named else None
            if at is None or name not in {part.path.name for part in self.parts(at)}:
                yield f"inbox/{name} belongs to no collection, or to no epoch that waits."
        for at, parts in known.items():
            for part in parts:
                if part.path.name not in {listed.path.name for listed in self.parts(at)}:
                    continue
                if part.flaw or not part.path.exists():
                    yield part.flaw or f"inbox/{part.path.name} is missing, and {part.n} reports with it."
                    continue
                scanned = _scanned(part.path, self._widths[at[0]], part.end)
                if scanned.flaw or (scanned.end, scanned.n) != (part.end, part.n):
                    yield scanned.flaw or (
                        f"inbox/{part.path.name} holds {scanned.n} reports, and {part.n} were acknowledged."
                    )


def rows_of(path: Path, end: int, width: int) -> Iterator[bytes]:
    """Yield the reports of a file up to an end, a group at a time, each checked.

    Args:
        path: the file.
        end: bytes of it that are meant.
        width: bytes of a report.

    Raises:
        DataError: if it is damaged.
    """
    with path.open("rb") as file:
        at = 0
        while at < end:
            rows = _record(file.read(_HEAD.size), file, width, end - at)
            if rows is None:
                raise DataError("inbox.damaged", name=path.name, at=at)
            yield rows
            at += _HEAD.size + len(rows)


def packed(rows: bytes) -> bytes:
    """Return a record of a file of reports."""
    size = _NUMBER.pack(len(rows))
    return size + _NUMBER.pack(zlib.crc32(rows, zlib.crc32(size))) + rows


def _order(path: Path) -> tuple[int, int, int, str]:
    named = _NAME.fullmatch(path.name)
    return (int(named[1]), int(named[2]), int(named[3] or 1), "") if named else (-1, 0, 0, path.name)


def _part_of(path: Path, width: int) -> Part:
    """Return a file as an earlier process left it, flushed; a torn last record is cut off."""
    part = _scanned(path, width)
    if part.flaw:
        log("inbox_damaged", level="error", reason=part.flaw)
        return part
    place = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        torn = os.fstat(place).st_size - part.end
        if torn:
            os.ftruncate(place, part.end)
            log("inbox_cut", level="warning", n=torn)
        os.fsync(place)
    finally:
        os.close(place)
    return part


def _scanned(path: Path, width: int, end: int | None = None) -> Part:
    """Return the good records of a file, up to its known end if there is one, and its damage."""
    part = Part(path)
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size if end is None else end
        while part.end < size:
            room = size - part.end
            rows = _record(file.read(_HEAD.size), file, width, room)
            if rows is None:
                file.seek(part.end)
                if end is not None or room > MOST_BYTES + _HEAD.size or _good_behind(file.read(room), width):
                    part.flaw = (
                        f"inbox/{path.name} is damaged at byte {part.end:,}, behind {part.n:,} reports; restore the "
                        "last backup."
                    )
                return part
            part.end += _HEAD.size + len(rows)
            part.n += len(rows) // width
    return part


def _record(head: bytes, file: BinaryIO, width: int, room: int) -> bytes | None:
    """Return the reports of the record that begins with a head; None if it is bad."""
    if len(head) < _HEAD.size:
        return None
    size, known = _HEAD.unpack(head)
    if not _fits(size, width) or size > room - _HEAD.size:
        return None
    rows = file.read(size)
    return rows if len(rows) == size and zlib.crc32(rows, zlib.crc32(head[:4])) == known else None


def _fits(size: int, width: int) -> bool:
    return 0 < size <= MOST_BYTES and size % width == 0


def _good_behind(rest: bytes, width: int) -> bool:
    """Return true if a good record lies behind a bad one, which was not torn then: nothing is written behind those."""
    data = np.frombuffer(rest + bytes(3), dtype=np.uint8).astype(np.uint32)
    sizes = data[:-3] | data[1:-2] << 8 | data[2:-1] << 16 | data[3:] << 24
    fits = (
        (sizes > 0) & (sizes % width == 0) & (sizes.astype(np.int64) + np.arange(len(sizes)) + _HEAD.size <= len(rest))
    )
    for start in np.flatnonzero(fits[1:]) + 1:
        stop = int(start) + _HEAD.size + int(sizes[start])
        # Behind a good record there is another, or the end.
        if stop < len(rest) - _HEAD.size and not _fits(int(sizes[stop]), width):
            continue
        known = _NUMBER.unpack_from(rest, int(start) + 4)[0]
        if zlib.crc32(rest[int(start) + _HEAD.size : stop], zlib.crc32(rest[start : start + 4])) == known:
            return True
    return False
