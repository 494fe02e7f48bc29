"""A gateway: reports are gathered, permuted and sent on to another collector, which never sees who sent which.

It takes reports in as every collector does, and keeps them on disk until they were sent on. They leave in the order of
their ids, which devices draw at random: nothing of arrival is left. A crash between sending and unlinking sends some
once more, under the same ids, of which the other collector keeps the first.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from discreet.arrays import AnyArray
from discreet.collector.inboxes import FileInboxes, Part, rows_of
from discreet.collector.keeper import LATE, Entry, Keeper
from discreet.collector.logs import log
from discreet.collector.sealing import first_reports
from discreet.device.sending import post
from discreet.errors import DiscreetError, ParameterError
from discreet.formats.sealing import MEMORY, RowSort
from discreet.protocol.frames import HEAD_BYTES, ID_BYTES, LARGEST_FRAME, MOST_REPORTS, Frame

_ARRIVAL = 8
# Share of an epoch's window, the last one: what has come by then is sent on while the other collector still takes it.
_AHEAD = 0.1
_TAKEN = 202
_REFUSALS = range(400, 500)
_BUSY = (408, 425, 429)


class ForwardError(DiscreetError, RuntimeError):
    """Reports that the other collector did not take; they are kept, and sent again later."""


class Gateway:
    """The forwarding of reports that wait here.

    Args:
        keeper: of the data.
        upstream: origin of the collector that they are sent to.

    Raises:
        ParameterError: if they wait in PostgreSQL.
    """

    def __init__(self, keeper: Keeper, upstream: str) -> None:
        if not isinstance(keeper.inboxes, FileInboxes):
            raise ParameterError("a gateway keeps reports in its folder; leave the setting database out.")
        self._keeper, self._upstream, self._inboxes = keeper, upstream, keeper.inboxes
        keeper.upstream, keeper.catalogue.ahead = upstream, _AHEAD
        self._few: dict[tuple[int, int], int] = {}

    def due(self) -> list[tuple[Entry, int]]:
        """Return the collections and epochs of which ``least`` reports wait, or which take no more here."""
        keeper, entries = self._keeper, {entry.key: entry for entry in self._keeper.catalogue.by_id.values()}
        return [
            (entries[key], epoch)
            for (key, epoch), n in sorted(keeper.pending().items())
            if key in entries
            and (self._is_over(entries[key], epoch) or n >= entries[key].collection.least)
            and self._few.get((key, epoch)) != n
        ]

    def _is_over(self, entry: Entry, epoch: int) -> bool:
        return entry.when(epoch, self._keeper.clock.now(), _AHEAD) == LATE

    def forward(self, entry: Entry, epoch: int) -> int:
        """Send the reports of an epoch that wait, each id once, and unlink them; return their number.

        Nothing is sent of fewer different reports than the collection's ``least`` while more may come.

        Raises:
            ForwardError: if the other collector does not take them now.
            DataError: if what is stored is damaged.
            OSError: if they cannot be unlinked; they are sent again then.
        """
        at, keeper = (entry.key, epoch), self._keeper
        with keeper.upkeep:
            parts = [part for part in self._inboxes.end(at) if not part.flaw]
            over = self._is_over(entry, epoch)
            with self._different(entry, parts) as batches:
                n = sum(map(len, batches))
            if n < entry.collection.least and not over:
                self._few[at] = keeper.pending().get(at, 0)
                return 0
            with self._different(entry, parts) as batches:
                for frame in _frames(entry, epoch, batches):
                    self._send(frame, over=entry.when(epoch, keeper.clock.now()) == LATE)
            self._inboxes.remove(at, [part.path for part in parts])
            self._few.pop(at, None)
        return n

    @contextmanager
    def _different(self, entry: Entry, parts: Sequence[Part]) -> Iterator[Iterator[AnyArray]]:
        """Give the reports of files in order of their ids, each id once, ``(m, 16 + W)`` bytes at a time."""
        rows = (
            np.frombuffer(group, dtype=np.uint8).reshape(-1, entry.width)
            for part in parts
            for group in rows_of(part.path, part.end, entry.width)
        )
        with RowSort(entry.width + _ARRIVAL, memory=MEMORY, folder=self._keeper.folder.path) as arrived:
            yield first_reports(rows, arrived, Counter())

    def _send(self, frame: Frame, *, over: bool) -> None:
        answer = post(self._upstream, frame.pack())
        if answer.status == _TAKEN:
            return
        if over and answer.status in _REFUSALS and answer.status not in _BUSY:
            # It will never take them: the epoch is over, or the collection was withdrawn.
            reason = f"the collector behind this gateway answers {answer.status}"
            log("forward_refused", level="error", n=len(frame.ids), epoch=frame.epoch, reason=reason)
            return
        raise ForwardError(answer.reason or f"the collector behind this gateway answers {answer.status}.")


def _frames(entry: Entry, epoch: int, batches: Iterator[AnyArray]) -> Iterator[Frame]:
    """Yield frames of as many reports as one may hold."""
    most = min(MOST_REPORTS, (LARGEST_FRAME - HEAD_BYTES) // entry.width)
    left = np.empty((0, entry.width), dtype=np.uint8)
    for batch in batches:
        rows = np.concatenate([left, batch])
        whole = len(rows) - len(rows) % most
        for start in range(0, whole, most):
            yield _frame(entry, epoch, rows[start : start + most])
        left = rows[whole:]
    if len(left):
        yield _frame(entry, epoch, left)


def _frame(entry: Entry, epoch: int, rows: AnyArray) -> Frame:
    return Frame(entry.row.id, epoch, rows[:, :ID_BYTES], rows[:, ID_BYTES:])
