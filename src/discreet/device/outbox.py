"""The outbox of a device: it stores reports until a collector answers, and then logs them without their ids.

Keys come from the operating system and are checked before use. If its source of randomness fails, no report is drawn
and nothing is charged.
"""

import hashlib
import json
import os
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, field
from math import isfinite
from typing import Any, TypeAlias

import numpy as np

from discreet.core.random import KEY_SIZE
from discreet.device.memory import Memory, one_row
from discreet.device.protocol.collection import Collection
from discreet.device.protocol.frames import Frame
from discreet.errors import DiscreetError, ParameterError

ID_BYTES = 16
"""Bytes of the id under which a report travels."""


class RandomnessError(DiscreetError, RuntimeError):
    """The operating system has no usable randomness for a report."""

    reason = "randomness"


class Keys:
    """Fresh random keys from the operating system. No key is used twice."""

    def __init__(self) -> None:
        self._last = b""

    def key(self) -> bytes:
        """Return 32 fresh random bytes.

        Raises:
            RandomnessError: if the system returns no bytes, too few, zeros, or the same bytes again.
        """
        drawn = self._drawn(), self._drawn()
        # Only a digest stays in memory, so that nobody can read the key there.
        digests = [hashlib.sha256(part).digest() for part in drawn]
        if drawn[0] == drawn[1] or self._last in digests:
            raise RandomnessError("randomness.repeated")
        self._last = digests[0]
        return drawn[0]

    @staticmethod
    def _drawn() -> bytes:
        try:
            drawn = os.urandom(KEY_SIZE)
        except (OSError, NotImplementedError):
            raise RandomnessError("randomness.missing") from None
        if type(drawn) is not bytes or len(drawn) != KEY_SIZE or not any(drawn):
            raise RandomnessError("randomness.wrong-bytes", n=KEY_SIZE)
        return drawn

    def report_id(self) -> bytes:
        """Return a fresh random id of 16 bytes for a report."""
        return self.key()[:ID_BYTES]

    def share(self) -> float:
        """Return a random number, uniform in [0, 1)."""
        return (int.from_bytes(self.key()[:8], "little") >> 11) / (1 << 53)


LATE = "late"
"""The status of a report that could not be sent before its epoch closed."""

LONGEST_PAUSE = 3600.0
"""Longest pause between two tries, in seconds."""

_ACCEPTED = 202
_TAKEN = str(_ACCEPTED)
_AGAIN = frozenset({408, 425, 429})
# Seconds for which a report is reserved for one process.
_LEASE = 90


@dataclass(frozen=True, slots=True)
class Answer:
    """A collector's answer to a report.

    Attributes:
        status: the HTTP status code; 0 if there was no answer.
        retry_after: least number of seconds to wait; 0 if the collector asks for none.
        reason: a sentence that says why there was no answer, without an address; empty if there was an answer.

    Raises:
        ParameterError: if the status is not in 0..999, or the wait is negative or not finite.
    """

    status: int
    retry_after: float = 0.0
    reason: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        """Check the fields, because an application's function may have made the answer."""
        waits = isinstance(self.retry_after, int | float) and isfinite(self.retry_after) and self.retry_after >= 0
        if type(self.status) is not int or not 0 <= self.status < 1000 or not waits:
            raise ParameterError("answer.wrong-values")

    @property
    def is_taken(self) -> bool:
        """True if the collector has stored the report."""
        return self.status == _ACCEPTED

    @property
    def is_final(self) -> bool:
        """True if the collector refused the report permanently. After other failures the device tries again."""
        return 400 <= self.status < 500 and self.status not in _AGAIN


Post: TypeAlias = Callable[[str, bytes], Answer]
"""A function that delivers a frame to an origin."""


@dataclass(frozen=True, slots=True)
class SendResult:
    """The outcome of `Device.send`: the numbers of reports that were sent, were dropped, and are waiting.

    Attributes:
        sent: number of reports that a collector accepted now.
        dropped: number of reports that were refused for good, or were too late, now.
        waiting: number of reports that wait.
        reason: a sentence that says why the last failed report still waits, without an address; None if no try failed.
    """

    sent: int
    dropped: int
    waiting: int
    reason: str | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class LogEntry:
    """One report in the device's log.

    Attributes:
        name: the name of the collection.
        version: the version of the collection.
        epoch: the number of the epoch.
        record: the bytes that were sent or will be sent.
        state: ``"waiting"``, ``"sent"`` or ``"dropped"``.
        at: when it was sent or dropped, in seconds since 1970; None if it waits.
        status: the collector's answer, such as ``"202"``, or ``"late"``; None if it waits.
    """

    name: str
    version: int
    epoch: int
    record: bytes
    state: str
    at: int | None
    status: str | None

    def document(self) -> dict[str, Any]:
        """Return the entry as a dictionary for JSON, with the record in hexadecimal digits."""
        return {name: getattr(self, name) for name in self.__slots__} | {"record": self.record.hex()}


def put(
    database: sqlite3.Connection,
    version: int,
    collection: Collection,
    epoch: int,
    *,
    record: bytes,
    now: float,
    keys: Keys,
) -> None:
    """Store a report with a random time for sending: at most ``spread`` seconds later, and within the epoch."""
    _, stop, until = collection.window(epoch)
    due = now + keys.share() * min(collection.spread, max(stop - now, 0))
    row = version, epoch, keys.report_id(), record, due, until
    database.execute("INSERT INTO reports (version, epoch, id, record, due, until) VALUES (?, ?, ?, ?, ?, ?)", row)


def deliver(memory: Memory, clock: Callable[[], float], post: Post, keys: Keys) -> SendResult:
    """Send the reports that are due, each once; see `discreet.device.device.Device.send`."""
    sent, dropped, reason, started = 0, 0, None, clock()

    def now() -> float:
        # If the clock goes back, a postponed report would be due at once, again and again.
        return max(started, clock())

    while (leased := _leased(memory, started, until=now() + _LEASE)) is not None:
        version, epoch, status = leased["version"], leased["epoch"], LATE
        if now() < leased["until"]:
            answer = _posted(post, leased)
            if not (answer.is_taken or answer.is_final):
                reason = _postponed(memory, leased, answer, now(), keys.share())
                continue
            status = str(answer.status)
        sent, dropped = sent + (status == _TAKEN), dropped + (status != _TAKEN)
        _finish(memory, version, epoch, status, int(clock()))
    with memory.transaction() as database:
        (waiting,) = database.execute("SELECT count(*) FROM reports WHERE status IS NULL").fetchone()
    return SendResult(sent, dropped, waiting, reason)


def _leased(memory: Memory, now: float, *, until: float) -> sqlite3.Row | None:
    """Reserve one report that is due, so that no other process sends it before the time `until`."""
    with memory.transaction() as database:
        row = one_row(
            database,
            "SELECT reports.*, versions.id AS collection, origins FROM reports JOIN versions ON key = reports.version "
            "WHERE status IS NULL AND due <= ? ORDER BY due LIMIT 1",
            now,
        )
        if row is not None:
            database.execute(
                "UPDATE reports SET due = ?, tries = tries + 1 WHERE version = ? AND epoch = ?",
                (until, row["version"], row["epoch"]),
            )
    return row


def _posted(post: Post, row: sqlite3.Row) -> Answer:
    ids, record = (np.frombuffer(row[name], dtype=np.uint8)[None, :] for name in ("id", "record"))
    # Each try uses the next origin of the document.
    origins = json.loads(row["origins"])
    origin = origins[row["tries"] % len(origins)]
    answer = post(origin, Frame(row["collection"], row["epoch"], ids, record).pack())
    if not isinstance(answer, Answer):
        raise ParameterError("post.wrong-answer", argument="post", kind=type(answer).__name__)
    return answer


def _postponed(memory: Memory, row: sqlite3.Row, answer: Answer, now: float, share: float) -> str:
    """Set a later time for a report that was not accepted, and return the reason as a sentence."""
    wait = pause(row["tries"] + 1, answer.retry_after, share)
    with memory.transaction() as database:
        database.execute(
            "UPDATE reports SET due = ? WHERE version = ? AND epoch = ? AND status IS NULL",
            (now + wait, row["version"], row["epoch"]),
        )
    reason = f"The collector's answer is {answer.status}." if answer.status else "The collector does not answer."
    return answer.reason or reason


def _finish(memory: Memory, version: int, epoch: int, status: str, now: int) -> None:
    """Log the outcome of a report and erase its id, so that nothing links the device to the stored report."""
    with memory.transaction() as database:
        database.execute(
            "UPDATE reports SET status = ?, at = ?, id = NULL WHERE version = ? AND epoch = ? AND status IS NULL",
            (status, now, version, epoch),
        )


def pause(tries: int, retry_after: float, share: float) -> float:
    """Return the seconds until the next try: exponential back-off with full jitter, from one second to an hour.

    Args:
        tries: number of tries so far, at least 1.
        retry_after: the pause that the collector asks for, in seconds.
        share: a fresh random number in 0..1.
    """
    longest = min(2.0 ** min(tries, 12), LONGEST_PAUSE)
    return max(retry_after, 1 + share * (longest - 1))


def log_entries(database: sqlite3.Connection) -> list[LogEntry]:
    """Return the log of reports, the oldest epoch first."""
    rows = database.execute(
        "SELECT versions.name, versions.version, epoch, record, at, status FROM reports JOIN versions "
        "ON key = reports.version ORDER BY reports.version, epoch"
    )
    states = {None: "waiting", _TAKEN: "sent"}
    return [
        LogEntry(name, version, epoch, record, states.get(status, "dropped"), at, status)
        for name, version, epoch, record, at, status in rows
    ]
