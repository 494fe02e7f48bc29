"""Reports in canonical order: sorted by what they say, so that nothing of their arrival is left.

The order is that of the columns of a file of reports, nulls first: what ``ORDER BY clear NULLS FIRST, symbol`` gives in
SQL. Sorting needs no randomness, and whoever has the file can check it.
"""

from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np

from discreet.arrays import AnyArray
from discreet.core.reports import Reports, check_same_plan
from discreet.errors import DataError
from discreet.io.records import RecordCodec
from discreet.io.row_sort import RowSort
from discreet.mechanisms import Mechanism

MEMORY = 1 << 27
"""How many bytes sorting holds at once, roughly."""

# Rows of the batches that are handed out: a file must not show in which order its reports came.
_BATCH = 1 << 18


class CanonicalOrder:
    """Reports that are taken in any order and handed out in canonical order.

    Args:
        mechanism: what made them.
        simulated: whether they are simulated.
        memory: how many bytes may be held at once, roughly.
        folder: where the rest goes; None for the system's place for temporary files.
    """

    def __init__(
        self, mechanism: Mechanism, *, simulated: bool, memory: int = MEMORY, folder: Path | None = None
    ) -> None:
        self._mechanism, self._simulated = mechanism, simulated
        # The highest byte first, so that rows of bytes compare as their numbers do.
        self._wire = RecordCodec.of(mechanism)
        self._codec = RecordCodec(mechanism.columns, mechanism.clear_blocks, order=">")
        self._rows = RowSort(self.width, memory=memory, folder=folder)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._rows.__exit__(kind, error, at)

    @property
    def width(self) -> int:
        """Bytes of a key."""
        return self._codec.width

    def keys(self, reports: Reports) -> AnyArray:
        """Return ``(n, width)`` bytes that say what the reports say, and compare as they do.

        Raises:
            MismatchError: if they are of another plan.
        """
        check_same_plan({self._mechanism.fingerprint, reports.fingerprint})
        return self._codec.encode(reports)

    def add(self, keys: AnyArray) -> None:
        """Take reports by their keys."""
        self._rows.add(keys)

    def add_records(self, records: AnyArray) -> None:
        """Take reports by their records, as devices send them; they are checked when they are handed out."""
        self._rows.add(self._wire.turned(records))

    def batches(self) -> Iterator[Reports]:
        """Yield all reports in canonical order, checked; to be called once.

        Raises:
            FlawedRowsError: if no device can have sent one of them.
        """
        for rows in _even(self._rows.batches(), _BATCH):
            yield self._codec.reports(self._mechanism, rows, simulated=self._simulated)


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
    parts = iter(batches)
    first = next(parts, None)
    if first is None:
        return
    with CanonicalOrder(mechanism, simulated=first.simulated, memory=memory, folder=folder) as order:
        for batch in chain([first], parts):
            if batch.simulated != first.simulated:
                raise DataError("simulated and real reports must not be sealed together; seal them apart.")
            order.add(order.keys(batch))
        yield from order.batches()


def is_canonical(mechanism: Mechanism, batches: Iterable[Reports]) -> bool:
    """Return true if reports are in canonical order.

    Example:
        >>> import discreet as dc
        >>> mechanism = dc.RandomizedResponse(dc.Domain(["bus", "car"]), epsilon=1.0)
        >>> reports = mechanism.obfuscate(["bus", "car"] * 50, random=dc.SeededRandom(1))
        >>> is_canonical(mechanism, [reports]), is_canonical(mechanism, canonical(mechanism, [reports]))
        (False, True)
    """
    order = CanonicalOrder(mechanism, simulated=False)
    last = np.empty((0, order.width), dtype=np.uint8)
    for batch in batches:
        keys = np.concatenate([last, order.keys(batch)])
        # As texts of one length, which compare as their bytes do.
        texts = keys.view(f"S{order.width}").ravel()
        if (texts[1:] < texts[:-1]).any():
            return False
        last = keys[-1:]
    return True
