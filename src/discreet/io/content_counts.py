"""Reports as counts by content, for mechanisms whose reports are one number among few: sorting them is counting."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from discreet.arrays import AnyArray, IntArray
from discreet.core.reports import CLEAR, Column, Reports
from discreet.errors import DataError
from discreet.io.wire import Nullable, checked_reports
from discreet.mechanisms import Mechanism

# Counts of 8 bytes each: 32 MB, of which every thread has its own.
_MOST_CONTENTS = 1 << 22


@dataclass(frozen=True, slots=True, eq=False)
class ContentCounts:
    """The contents that reports of a mechanism can have, in canonical order: blocks, then values in clear.

    Attributes:
        mechanism: what makes the reports.
        block: the one column of a block.
        blocks: number of different blocks.
        codes: number of codes of values in clear; 0 if reports have none.

    Example:
        >>> import discreet as dc
        >>> mechanism = dc.RandomizedResponse(dc.Domain(["bus", "car", "walk"]), epsilon=1.0)
        >>> contents = ContentCounts.of(mechanism)
        >>> counts = contents.zero()
        >>> contents.add(counts, mechanism.obfuscate(["bus", "walk"] * 5, random=dc.SeededRandom(1)))
        >>> counts.tolist(), [batch.n for batch in contents.batches(counts, 6, simulated=True)]
        ([5, 2, 3], [6, 4])
    """

    mechanism: Mechanism
    block: Column
    blocks: int
    codes: int

    @classmethod
    def of(cls, mechanism: Mechanism) -> "ContentCounts | None":
        """Return the contents of a mechanism's reports; None if they are too many, or more than one number."""
        bounds = {column.name: column.bound for column in mechanism.columns if column.width is None}
        others = [column for column in mechanism.columns if column.name != CLEAR]
        if mechanism.clear_blocks or len(others) != 1 or None in bounds.values() or others[0].name not in bounds:
            return None
        codes = bounds.get(CLEAR) or 0
        blocks = bounds[others[0].name] or 0
        return cls(mechanism, others[0], blocks, codes) if blocks + codes <= _MOST_CONTENTS else None

    def zero(self) -> IntArray:
        """Return the counts of no reports, ``(blocks + codes,)`` integers."""
        return np.zeros(self.blocks + self.codes, dtype=np.int64)

    def add(self, counts: IntArray, reports: Reports) -> None:
        """Add reports to counts, in place.

        Raises:
            DataError: if a number is not below its bound, in reports that were put together by hand.
        """
        counts[: self.blocks] += _counts_of(reports.blocks[self.block.name], self.blocks)
        if self.codes:
            counts[self.blocks :] += _counts_of(reports.clear, self.codes)

    def batches(self, counts: IntArray, size: int, *, simulated: bool) -> Iterator[Reports]:
        """Yield counted reports in canonical order, checked, in batches of so many but for the last.

        Raises:
            FlawedRowsError: if no device can have sent one of them.
        """
        present = np.flatnonzero(counts)
        each, ends = self._one_of_each(present, simulated=simulated), np.cumsum(counts[present])
        n = int(ends[-1]) if len(ends) else 0
        for start in range(0, n, size):
            stop = min(start + size, n)
            first, last = np.searchsorted(ends, [start, stop - 1], side="right")
            within = np.minimum(ends[first : last + 1], stop)
            yield each.take(np.repeat(np.arange(first, last + 1), np.diff(within, prepend=start)))

    def _one_of_each(self, contents: IntArray, *, simulated: bool) -> Reports:
        """Return a report of each content."""
        told = contents >= self.blocks
        columns = {self.block.name: Nullable(~told, contents[~told].astype(self.block.dtype))}
        if self.codes:
            columns[CLEAR] = Nullable(told, contents[told] - self.blocks)
        return checked_reports(self.mechanism, len(contents), columns, simulated=simulated)


def _counts_of(numbers: AnyArray, bound: int) -> IntArray:
    """Return ``(bound,)`` counts of numbers below a bound."""
    if numbers.size and not 0 <= int(numbers.min()) <= int(numbers.max()) < bound:
        raise DataError(f"reports must hold numbers in 0..{bound - 1} here, and some are not.")
    return np.bincount(numbers.astype(np.intp, copy=False), minlength=bound)
