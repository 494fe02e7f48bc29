"""The check of frames in groups: all rows of a collection at once, and flawed rows name their frames."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from discreet.arrays import AnyArray
from discreet.collector.catalogue import Entry
from discreet.collector.refusals import Refusal, flawed
from discreet.io.frames import ID_BYTES, refuse_repeated
from discreet.io.wire import FlawedRowsError, checked_reports


@dataclass(slots=True, eq=False)
class Submission:
    """A frame on its way to the store.

    Attributes:
        entry: its collection.
        epoch: of its reports.
        n: how many.
        data: the frame as it came.
        start: where its reports begin.
        answer: told why it is refused, or None once it is on disk.
    """

    entry: Entry
    epoch: int
    n: int
    data: bytes
    start: int
    answer: Callable[[Refusal | None], None] = field(default=lambda _: None)

    @property
    def reports(self) -> bytes:
        """Ids and records."""
        return self.data[self.start :]


def judged(entry: Entry, frames: Sequence[Submission]) -> list[Refusal | None]:
    """Return for each frame of one collection why it is refused; None for those that devices can have sent.

    All rows are checked together. Where some are flawed, their frames are taken out and the others checked again, which
    happens at most once per reason.
    """
    rows = [np.frombuffer(frame.data, dtype=np.uint8, offset=frame.start).reshape(frame.n, -1) for frame in frames]
    outcomes: list[Refusal | None] = [_repeated(part) for part in rows]
    left = [place for place, outcome in enumerate(outcomes) if outcome is None]
    while left:
        records = np.concatenate([rows[place][:, ID_BYTES:] for place in left])
        starts = np.cumsum([0, *(len(rows[place]) for place in left)])
        try:
            check_records(entry, records)
            return outcomes
        except FlawedRowsError as error:
            if error.rows is None or not len(error.rows):
                raise
            for at, refusal in _named(error, starts):
                outcomes[left[at]] = refusal
        left = [place for place in left if outcomes[place] is None]
    return outcomes


def check_records(entry: Entry, records: AnyArray) -> None:
    """Refuse ``(n, W)`` records that no device can have sent.

    Raises:
        FlawedRowsError: if there are any; it says which.
    """
    columns = entry.codec.decode(records)
    checked_reports(entry.mechanism, len(records), columns, simulated=entry.collection.simulated)


def _named(error: FlawedRowsError, starts: AnyArray) -> Iterator[tuple[int, Refusal]]:
    """Yield the frames that flawed rows belong to, with their refusals."""
    wrong: Any = error.rows
    frames = np.searchsorted(starts, wrong, side="right") - 1
    for at in np.unique(frames):
        inside = wrong[frames == at] - starts[at]
        n = int(starts[at + 1] - starts[at])
        yield int(at), flawed(n, len(inside), int(inside.min()), error.what)


def _repeated(rows: AnyArray) -> Refusal | None:
    """Return the refusal of a frame in which an id comes twice."""
    if len(rows) == 1:
        return None
    try:
        refuse_repeated(rows[:, :ID_BYTES])
    except FlawedRowsError as error:
        return next(refusal for _, refusal in _named(error, np.array([0, len(rows)])))
    return None
