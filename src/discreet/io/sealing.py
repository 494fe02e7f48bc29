"""Sealing: reports in canonical order, sorted by what they say, so that nothing of their arrival is left.

The order is that of the columns of a file of reports, nulls first: what ``ORDER BY clear NULLS FIRST, symbol`` gives in
SQL. Sorting needs no randomness, and whoever has the file can check it (`discreet.io.sealed_checks`). Reports that are
one number among few are counted; all others are sorted, through temporary files where they are many.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np

from discreet.arrays import AnyArray, IntArray
from discreet.core.reports import Reports, check_same_plan
from discreet.errors import DataError
from discreet.io.content_counts import ContentCounts
from discreet.io.records import RecordCodec
from discreet.io.row_sort import RowSort
from discreet.mechanisms import Mechanism

MEMORY = 1 << 27
"""How many bytes sorting holds at once, roughly."""

MIXED = "simulated and real reports must not be sealed together; seal them apart."
"""The refusal of simulated reports among others."""

# Rows and bytes of the batches that are handed out: a file must not show in which order its reports came.
_BATCH, _BATCH_BYTES = 1 << 18, 1 << 25


class CanonicalOrder:
    """Reports that are taken in any order and handed out in canonical order.

    Args:
        mechanism: what made them.
        simulated: whether they are simulated; None for what the first of them say.
        memory: how many bytes may be held at once, roughly.
        folder: where the rest goes; None for the system's place for temporary files.

    Attributes:
        mechanism: what made the reports.
    """

    def __init__(
        self, mechanism: Mechanism, *, simulated: bool | None = None, memory: int = MEMORY, folder: Path | None = None
    ) -> None:
        self.mechanism, self._simulated = mechanism, simulated
        # The highest byte first, so that rows of bytes compare as their numbers do.
        self._wire = RecordCodec.of(mechanism)
        self._codec = RecordCodec(mechanism.columns, mechanism.clear_blocks, order=">")
        self._contents = ContentCounts.of(mechanism)
        self._counts = np.zeros(0, np.int64) if self._contents is None else self._contents.zero()
        self._rows = RowSort(self.width, memory=memory, folder=folder)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._rows.__exit__(kind, error, at)

    @property
    def width(self) -> int:
        """Bytes of a key."""
        return self._codec.width

    @property
    def n(self) -> int:
        """Number of reports taken."""
        return self._rows.taken + int(self._counts.sum())

    def keys(self, reports: Reports) -> AnyArray:
        """Return ``(n, width)`` bytes that say what the reports say, and compare as they do.

        Raises:
            MismatchError: if they are of another plan.
        """
        check_same_plan({self.mechanism.fingerprint, reports.fingerprint})
        return self._codec.encode(reports)

    def add(self, reports: Reports) -> None:
        """Take reports.

        Raises:
            DataError: if they are simulated and others are not.
            MismatchError: if they are of another plan.
        """
        if reports.n and self._simulated is None:
            self._simulated = reports.simulated
        if reports.n and reports.simulated != self._simulated:
            raise DataError(MIXED)
        if self._contents is None:
            self._rows.add(self.keys(reports))
            return
        check_same_plan({self.mechanism.fingerprint, reports.fingerprint})
        self._contents.add(self._counts, reports)

    def add_counts(self, counts: IntArray, *, simulated: bool) -> None:
        """Take reports by their `ContentCounts`."""
        self._counts += counts
        self._simulated = simulated

    def add_records(self, records: AnyArray) -> None:
        """Take reports by their records, as devices send them.

        Raises:
            FlawedRowsError: if no device can have sent one of them; of those that are sorted, when they are handed out.
        """
        if self._contents is None:
            self._rows.add(self._wire.turned(records))
        else:
            self._contents.add(self._counts, self._wire.reports(self.mechanism, records, simulated=self._marked))

    @property
    def _marked(self) -> bool:
        return bool(self._simulated)

    def batches(self) -> Iterator[Reports]:
        """Yield all reports in canonical order, checked; to be called once.

        Raises:
            FlawedRowsError: if no device can have sent one of them.
        """
        if self._contents is not None:
            yield from self._contents.batches(self._counts, batch_rows(self.mechanism), simulated=self._marked)
            return
        yield from in_batches(self.mechanism, self._rows.batches(), simulated=self._marked)


def in_batches(mechanism: Mechanism, keys: Iterable[AnyArray], *, simulated: bool) -> Iterator[Reports]:
    """Yield the reports of sorted keys, checked, in batches that depend on nothing but their number.

    Args:
        mechanism: what made the reports.
        keys: ``(m, width)`` `CanonicalOrder.keys` at a time, in ascending order.
        simulated: whether the reports are.

    Raises:
        FlawedRowsError: if no device can have sent one of them.
    """
    codec = RecordCodec(mechanism.columns, mechanism.clear_blocks, order=">")
    for rows in _even(keys, batch_rows(mechanism)):
        yield codec.reports(mechanism, rows, simulated=simulated)


def _even(batches: Iterable[AnyArray], size: int) -> Iterator[AnyArray]:
    """Yield rows in batches of one size, but for the last."""
    held: list[AnyArray] = []
    rows = 0
    for batch in batches:
        held.append(batch)
        rows += len(batch)
        while rows >= size:
            whole = np.concatenate(held)
            yield whole[:size]
            held, rows = [whole[size:]], rows - size
    if rows:
        yield np.concatenate(held)


def canonical(
    mechanism: Mechanism, batches: Iterable[Reports], *, memory: int = MEMORY, folder: Path | None = None
) -> Iterator[Reports]:
    """Yield reports in canonical order, in batches that depend on nothing but their number.

    Args:
        mechanism: what made them.
        batches: the reports, in any order.
        memory: how many bytes may be held at once, roughly; what exceeds it goes through temporary files.
        folder: where these are; None for the system's place for them.

    Raises:
        MismatchError: if reports are of another plan.
        DataError: if some are simulated and others are not.

    Example:
        >>> import discreet as dc
        >>> mechanism = dc.RandomizedResponse(dc.Domain(["bus", "car", "walk"]), epsilon=1.0)
        >>> reports = mechanism.obfuscate(["bus", "walk", "car"] * 2, random=dc.SeededRandom(1))
        >>> [batch.blocks["symbol"].tolist() for batch in canonical(mechanism, [reports])]
        [[0, 2, 2, 2, 2, 2]]
    """
    with CanonicalOrder(mechanism, memory=memory, folder=folder) as order:
        for batch in batches:
            order.add(batch)
        yield from order.batches()


def batch_rows(mechanism: Mechanism) -> int:
    """Return the rows of each batch in canonical order, and of each row group of a sealed file, but for the last."""
    return min(max(_BATCH_BYTES // RecordCodec.of(mechanism).width, 1), _BATCH)


class OrderCheck:
    """A check of reports, batch by batch, that they are in canonical order.

    Args:
        mechanism: what made them.

    Attributes:
        misplaced: the first row that should stand before another one; None as long as there is none.
    """

    def __init__(self, mechanism: Mechanism) -> None:
        self._order = CanonicalOrder(mechanism)
        self._last = np.empty((0, self._order.width), dtype=np.uint8)
        self._rows = 0
        self.misplaced: int | None = None

    def add(self, reports: Reports) -> None:
        """Look at the next reports."""
        keys = np.concatenate([self._last, self._order.keys(reports)])
        # As texts of one length, which compare as their bytes do.
        texts = keys.view(f"S{self._order.width}").ravel()
        falls = texts[1:] < texts[:-1]
        if self.misplaced is None and falls.any():
            self.misplaced = self._rows - len(self._last) + 1 + int(np.argmax(falls))
        self._last, self._rows = keys[-1:], self._rows + reports.n


def is_canonical(mechanism: Mechanism, batches: Iterable[Reports]) -> bool:
    """Return true if reports are in canonical order.

    Example:
        >>> import discreet as dc
        >>> mechanism = dc.RandomizedResponse(dc.Domain(["bus", "car"]), epsilon=1.0)
        >>> reports = mechanism.obfuscate(["bus", "car"] * 50, random=dc.SeededRandom(1))
        >>> is_canonical(mechanism, [reports]), is_canonical(mechanism, canonical(mechanism, [reports]))
        (False, True)
    """
    check = OrderCheck(mechanism)
    for batch in batches:
        check.add(batch)
        if check.misplaced is not None:
            return False
    return True
