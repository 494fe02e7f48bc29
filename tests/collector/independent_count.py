"""A count of a collector's reports that shares no code with the project.

It reads sealed files by pyarrow, logs by struct and zlib, and by sqlite3 what was sealed. Every report has a record of
its own, 128 random bits of a plan of 128 values, so that it can be found in a sealed file, which holds no ids.
"""

import fcntl
import os
import shutil
import sqlite3
import struct
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

ID, RECORD = 16, 17
"""Bytes of an id, and of a record of the plan."""
_LENGTH, _HEAD = struct.Struct("<I"), struct.Struct("<II")

At = tuple[str, int]
"""A collection's name and an epoch."""
Batch = tuple[str, int, int]
"""A collection's name, and the first and the last of epochs that are sealed together."""


@dataclass
class Reports:
    """Records under their ids, by collection and epoch."""

    of: dict[At, dict[bytes, bytes]] = field(default_factory=lambda: defaultdict(dict))

    def add(self, at: At, rows: bytes) -> None:
        """Note reports, as a frame has them."""
        for start in range(0, len(rows), ID + RECORD):
            self.of[at][rows[start : start + ID]] = rows[start + ID : start + ID + RECORD]

    def count(self) -> int:
        """Return how many reports these are."""
        return sum(map(len, self.of.values()))


def rows_in_log(data: bytes) -> bytes:
    """Return the rows of a log, up to the first record that is torn."""
    rows, at = [], 0
    while at + _HEAD.size <= len(data):
        length, crc = _HEAD.unpack_from(data, at)
        group = data[at + _HEAD.size : at + _HEAD.size + length]
        if len(group) < length or zlib.crc32(group, zlib.crc32(_LENGTH.pack(length))) != crc:
            break
        rows.append(group)
        at += _HEAD.size + length
    return b"".join(rows)


def asked(folder: Path, text: str) -> list[Any]:
    """Return what the database of a folder says, read from a copy of it and its log."""
    beside = folder.with_name(f"{folder.name}-database")
    beside.mkdir()
    try:
        for path in folder.glob("collector.db*"):
            if not path.name.endswith("-shm"):
                shutil.copy(path, beside)
        with closing(sqlite3.connect(beside / "collector.db")) as opened:
            return opened.execute(text).fetchall()
    finally:
        shutil.rmtree(beside)


def kept(folder: Path) -> dict[Batch, Counter[bytes]]:
    """Return how often each record is in a folder that nobody serves: in the sealed file of its epochs, or waiting.

    A seal in the database says which of them counts: what a kill left beside it is taken away at the next start.
    """
    with sealing_held(folder):
        names = dict(asked(folder, "SELECT key, name FROM collections"))
        seals = asked(folder, "SELECT collection, epoch, last, file FROM seals")
        found = {
            (names[number], first, last): in_sealed(folder / "sealed" / file) for number, first, last, file in seals
        }
        waiting = Reports()
        logs = [
            (*_part(path)[:2], rows_in_log(path.read_bytes())) for path in sorted(folder.glob("inbox/*.log"), key=_part)
        ]
        for number, epoch, rows in logs:
            if not any(number == of and first <= epoch <= last for of, first, last, _ in seals):
                # By their ids, over all parts: a frame that was sent again may lie in two.
                waiting.add((names.get(number, "?"), epoch), rows)
        return found | {(name, epoch, epoch): Counter(rows.values()) for (name, epoch), rows in waiting.of.items()}


def _part(path: Path) -> tuple[int, int, int]:
    """Return collection, epoch and part of a log's name: KEY-EPOCH.log, KEY-EPOCH.2.log, ..."""
    stem, _, part = path.name.removesuffix(".log").partition(".")
    number, _, epoch = stem.partition("-")
    return int(number), int(epoch), int(part or 1)


def in_sealed(path: Path) -> Counter[bytes]:
    """Return the records of a sealed file, and how often each is there."""
    return Counter(b"\1" + row for row in pq.read_table(path)["bits"].to_pylist())


@contextmanager
def sealing_held(folder: Path) -> Iterator[None]:
    """Wait until no worker seals, and let none begin: one may outlive the server that was killed."""
    place = os.open(folder / ".sealing.lock", os.O_CREAT | os.O_RDWR, 0o600)
    try:
        fcntl.flock(place, fcntl.LOCK_EX)
        yield
    finally:
        os.close(place)


def found_in(folder: Path, pieces: Sequence[bytes]) -> dict[str, int]:
    """Return how many of some pieces of random bytes are in each file below a folder, whatever the file's name.

    The first 8 bytes of each are looked for, at every place.
    """
    wanted = np.unique(np.frombuffer(b"".join(piece[:8] for piece in pieces), dtype="<u8"))
    counts = {}
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        data, hits = path.read_bytes(), 0
        for offset in range(8):
            words = np.frombuffer(
                data, dtype="<u8", offset=min(offset, len(data)), count=max(len(data) - offset, 0) // 8
            )
            hits += int(np.isin(wanted, words).sum())
        if hits:
            counts[str(path.relative_to(folder))] = hits
    return counts
