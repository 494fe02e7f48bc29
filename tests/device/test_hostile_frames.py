"""Hostile frames: mutated where it hurts; only typed refusals, and nothing accepted that a plain reading refuses.

`DISCREET_HOSTILE=10000000` sets how many there are; by default 100,000.
"""

import os
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from discreet import BlockDesign, Domain, RandomizedResponse, SeededRandom
from discreet.core.reports import CLEAR
from discreet.device.protocol.frames import Frame, FrameError, head
from discreet.formats.records import RecordCodec
from discreet.mechanisms import BlockMechanism
from discreet.mechanisms.laws.subsets import MixedSubsets
from discreet.mechanisms.row_checks import FlawedRowsError
from laws import BUILDERS

NUMBER = int(os.environ.get("DISCREET_HOSTILE", "100000"))
BATCH = 2000
DOMAIN = Domain(range(300), sensitive=[*range(3, 23), *range(250, 263)])
MECHANISMS: list[BlockMechanism] = [
    *(build(DOMAIN, 1.0) for build in BUILDERS.values()),
    RandomizedResponse(Domain(range(300)), 1.0),
]
MIXED = next(one for one in (BlockDesign(DOMAIN, e / 7) for e in range(1, 60)) if isinstance(one.law, MixedSubsets))
MECHANISMS.append(MIXED)
COLLECTION = bytes(range(32))


def resident() -> int:
    """Return the memory of this process, in bytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Watched:
    """The memory of the process, which must not grow after the first tenth of the work."""

    def __init__(self) -> None:
        self.first = 0

    def look(self, done: int, wanted: int) -> None:
        if Path("/proc/self/statm").exists():
            if not self.first and done >= wanted / 10:
                self.first = resident()
            assert not self.first or resident() - self.first < 24 << 20


def good(mechanism: BlockMechanism, some: np.random.Generator, n: int) -> Any:
    codes = some.integers(0, mechanism.domain.size, n)
    return RecordCodec.of(mechanism).encode(
        mechanism.obfuscate_codes(codes, random=SeededRandom(int(some.integers(1 << 40))))
    )


def mutated(records: Any, some: np.random.Generator) -> Any:
    """Return records with bits flipped, bytes on an edge, ends of others, kinds of others; some as they were."""
    out, (n, width) = records.copy(), records.shape
    for _ in range(int(some.integers(1, 4))):
        rows, places = np.flatnonzero(some.random(n) < 0.5), some.integers(0, width, n)
        way = some.integers(0, 6, n)
        at = places[rows]
        edge = some.choice(np.array([0, 1, 2, 3, 22, 23, 33, 34, 127, 128, 254, 255], dtype=np.uint8), len(rows))
        flipped = out[rows, at] ^ np.left_shift(1, some.integers(0, 8, len(rows))).astype(np.uint8)
        out[rows, at] = np.where(way[rows] < 3, flipped, np.where(way[rows] < 5, edge, out[rows, at]))
        # The rest of another record, behind a kind that need not be its own.
        for row in rows[way[rows] == 5][: n // 8]:
            out[row, places[row] :] = records[some.integers(n), places[row] :]
    kinds = np.flatnonzero(some.random(n) < 0.1)
    out[kinds, 0] = some.integers(0, 5, len(kinds))
    return out


def is_sent(mechanism: BlockMechanism, record: bytes) -> bool:
    """Return whether a device can send a record: docs/reference/formats.md, read plainly, byte by byte."""
    kind, at, domain = record[0], 1, mechanism.domain
    has_clear, both = domain.clear_count > 0, mechanism.clear_blocks
    if kind not in ({1} if not has_clear else {1, 3} if both else {1, 2}):
        return False
    parts: dict[str, list[int]] = {}
    for column in mechanism.columns:
        each, count = np.dtype(column.dtype).itemsize, column.width or 1
        is_clear = column.name == CLEAR
        if (kind == 1 if is_clear else kind == 2) and not (both and is_clear):
            continue
        numbers = [int.from_bytes(record[at + i * each : at + (i + 1) * each], "little") for i in range(count)]
        at += each * count
        if is_clear and kind == 1:
            if any(numbers):
                return False
            continue
        if column.bound is not None and max(numbers) >= column.bound:
            return False
        parts[column.name] = numbers
    if any(record[at:]):
        return False
    if CLEAR in parts and domain.sensitive[parts[CLEAR][0]]:
        return False
    return kind == 2 or is_block(mechanism, parts)


def is_block(mechanism: BlockMechanism, parts: dict[str, list[int]]) -> bool:
    size = mechanism.law.size
    if "bits" in parts:
        return sum(byte << 8 * place for place, byte in enumerate(parts["bits"])) < 1 << size
    if "members" in parts:
        listed = parts["members"]
        return all(left < right for left, right in pairwise(listed))
    return parts["alpha"][0] >= 1 if "alpha" in parts else True


def rows_of(error: FlawedRowsError) -> Any:
    assert error.rows is not None
    return error.rows


def accepted(mechanism: BlockMechanism, records: Any) -> Any:
    """Return which records are taken: flawed ones are left out by reason until the others pass."""
    codec, left = RecordCodec.of(mechanism), np.arange(len(records))
    for _ in range(len(RecordCodec.reasons(mechanism)) + 1):
        try:
            reports = codec.reports(mechanism, records[left], simulated=False)
        except FlawedRowsError as error:
            left, what = np.delete(left, rows_of(error)), error.what
            if what not in RecordCodec.reasons(mechanism):
                raise
            continue
        assert np.array_equal(codec.encode(reports), records[left])
        return left
    raise AssertionError("one reason came twice")


def test_records_that_are_taken_are_those_that_a_plain_reading_takes() -> None:
    some, watched, wanted = np.random.default_rng(1), Watched(), NUMBER * 93 // 100
    taken = 0
    for done in range(0, wanted, BATCH):
        mechanism = MECHANISMS[done // BATCH % len(MECHANISMS)]
        records = mutated(good(mechanism, some, BATCH), some)
        left = accepted(mechanism, records)
        assert left.tolist() == [row for row, one in enumerate(records) if is_sent(mechanism, one.tobytes())]
        taken += len(left)
        watched.look(done, wanted)
    # Mutations that are all refused, or hardly ever, would test nothing.
    assert 0.1 < taken / wanted < 0.9


def bent(data: bytes, some: np.random.Generator) -> bytes:
    """Return a frame with a part of it changed: head, number, length, ids, records."""
    way, raw = int(some.integers(0, 9)), bytearray(data)
    at = int(some.integers(0, len(raw)))
    if way == 0:
        raw[at] ^= 1 << int(some.integers(0, 8))
    elif way == 1:
        raw[40:44] = int(some.choice([0, 1, 2, 3, 4095, 4096, 4097, 1 << 31, (1 << 32) - 1])).to_bytes(4, "little")
    elif way == 2:
        del raw[at:]
    elif way == 3:
        raw += bytes(int(some.integers(1, 40)))
    elif way == 4 and len(raw) > 80:
        raw[60:76] = raw[44:60]
    elif way == 5:
        raw[at:at] = raw[at : at + int(some.integers(1, 30))]
    elif way == 6:
        del raw[at : at + int(some.integers(1, 30))]
    elif way == 7:
        raw[: min(at, 44)] = some.bytes(min(at, 44))
    return bytes(raw)


def test_frames_are_refused_by_type_or_read_back_to_the_same_bytes() -> None:
    some, watched, wanted = np.random.default_rng(2), Watched(), NUMBER * 5 // 100
    came: dict[str, int] = {}
    for done in range(wanted):
        mechanism = MECHANISMS[done % len(MECHANISMS)]
        if done % 1000 < len(MECHANISMS):
            stock = {m.fingerprint: good(m, some, 64) for m in MECHANISMS}
            ids = some.integers(0, 256, (64, 16), dtype=np.uint8)
        n, start = int(some.integers(1, 4)), int(some.integers(0, 60))
        rows = stock[mechanism.fingerprint][start : start + n]
        data = bent(Frame(COLLECTION, done, ids[start : start + n], rows).pack(), some)
        outcome = taken_in(mechanism, data)
        came[outcome] = came.get(outcome, 0) + 1
        watched.look(done, wanted)
    assert set(came) == {"taken", "flawed", "structure", "records", "length"}
    assert min(came.values()) > wanted / 100


def taken_in(mechanism: BlockMechanism, data: bytes) -> str:
    codec = RecordCodec.of(mechanism)
    try:
        frame = Frame.parse(data, codec.width)
        reports = codec.reports(mechanism, frame.records, simulated=False)
    except FrameError as error:
        return error.reason
    except FlawedRowsError:
        return "flawed"
    assert frame.pack() == data
    assert head(data) == (frame.collection, frame.epoch, reports.n)
    assert np.array_equal(codec.encode(reports), frame.records)
    return "taken"
