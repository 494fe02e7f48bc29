"""The counts of reports by group: a row of counts for each group, to which reports of all groups are added at once."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.arrays import AnyArray, IntArray
from discreet.core.reports import Reports, check_same_plan
from discreet.core.tally import Tally
from discreet.mechanisms.evidence import counted_in_clear, refuse_flaws, refuse_unfit_reports
from discreet.mechanisms.mechanism import Mechanism


@dataclass(slots=True, eq=False)
class GroupedCounts:
    """The counts of each group so far.

    Attributes:
        mechanism: what made the reports.
        people: ``(groups,)`` numbers of reports.
        support: ``(groups, blocks)`` counts of blocks, as in a tally.
        clear: ``(groups, |X_N|)`` counts of values in clear.
        simulated: whether any report was simulated.
    """

    mechanism: Mechanism
    people: IntArray
    support: IntArray
    clear: IntArray
    simulated: bool = False

    @classmethod
    def of_nobody(cls, mechanism: Mechanism, groups: int = 0) -> "GroupedCounts":
        """Return the counts of no reports."""
        empty = mechanism.empty_tally()
        people, blocks, clear = (
            np.zeros((groups, size), np.int64) for size in (1, len(empty.support), len(empty.clear))
        )
        return cls(mechanism, people[:, 0], blocks, clear)

    @property
    def groups(self) -> int:
        """Number of rows."""
        return len(self.people)

    @property
    def row_bytes(self) -> int:
        """Size of the counts of a group."""
        return 8 * (1 + int(self.support.shape[1] + self.clear.shape[1]))

    def grow(self, groups: int) -> None:
        """Have so many rows at least; twice as many as are needed, so that few copies are made."""
        if groups > self.groups:
            more = GroupedCounts.of_nobody(self.mechanism, 2 * groups)
            for name in ("people", "support", "clear"):
                own = getattr(self, name)
                getattr(more, name)[: len(own)] = own
                setattr(self, name, getattr(more, name))

    def add(self, reports: Reports, groups: AnyArray) -> None:
        """Add reports, in place.

        Args:
            reports: of the mechanism.
            groups: ``(n,)`` the group of each, a row of 32 bits.

        Raises:
            MismatchError: if the reports belong to another plan.
        """
        from discreet.kernels import counting

        check_same_plan({self.mechanism.fingerprint, reports.fingerprint})
        self.simulated |= reports.simulated
        counting.add_symbols(groups, self.people)
        slots, of_blocks = self.mechanism.domain.slots, groups
        if reports.in_clear is not None and slots is not None:
            counting.add_grouped_symbols(~slots[reports.clear], groups.compress(reports.in_clear), self.clear)
            of_blocks = groups if reports.block_count == reports.n else groups.compress(~reports.in_clear)
        if self.support.shape[1]:
            self.mechanism.counts.add_by_group(reports.blocks, of_blocks, self.support)

    def add_rows(self, rows: Any, other: "GroupedCounts") -> None:
        """Add the first rows of other counts to rows of these, in place."""
        for name in ("people", "support", "clear"):
            getattr(self, name)[rows] += getattr(other, name)[: len(rows)]
        self.simulated |= other.simulated

    def row(self, place: int) -> IntArray:
        """Return a row as integers that add up: whether any report was simulated, then the counts."""
        marks = [int(self.simulated), int(self.people[place])]
        return np.concatenate([marks, self.support[place], self.clear[place]])

    def add_row(self, place: int, row: IntArray) -> None:
        """Add to a row, in place, what `row` returned."""
        blocks = self.support.shape[1]
        self.simulated |= bool(row[0])
        self.people[place] += row[1]
        self.support[place] += row[2 : 2 + blocks]
        self.clear[place] += row[2 + blocks :]

    def tally(self, row: int) -> Tally:
        """Return the tally of a group."""
        counts = self.support[row], self.clear[row]
        return Tally(self.mechanism.fingerprint, int(self.people[row]), *counts, simulated=self.simulated)


def tallies_by_group(mechanism: Mechanism, reports: Reports, codes: IntArray, groups: int) -> list[Tally]:
    """Return the tally of each group of reports.

    Args:
        mechanism: what made them.
        reports: n of them.
        codes: ``(n,)`` the group of each.
        groups: how many there are.

    Raises:
        DataError: if they are no reports that this mechanism can make.
        MismatchError: if they belong to another plan.
    """
    refuse_flaws(mechanism, refuse_unfit_reports(mechanism, reports))
    counted_in_clear(mechanism.domain, reports.clear)
    counts = GroupedCounts.of_nobody(mechanism, groups)
    counts.add(reports, codes.astype(np.int32))
    return [counts.tally(row) for row in range(groups)]
