"""Folds: computations over batches of checked reports whose states add up.

The state of a fold is one array of integers, and states of different reports add up entry by entry. So batches may be
added to any state and states merged in any order; and a state may be cut anywhere, sent as int64, and summed piece by
piece.
"""

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np

from discreet.arrays import IntArray
from discreet.core.reports import Reports
from discreet.core.tally import Tally
from discreet.errors import DataError
from discreet.mechanisms import Mechanism
from discreet.mechanisms.row_checks import reasons

Batch = TypeVar("Batch")
State = TypeVar("State")
Answer = TypeVar("Answer")

# The first entries of a state: reports, simulated batches, then bad rows for each reason.
_REPORTS, _SIMULATED, _REASONS = 0, 1, 2


@dataclass(frozen=True, slots=True, eq=False)
class StateHeading:
    """The first entries of a state: how many reports there are, simulated batches, and bad rows for each reason.

    Attributes:
        mechanism: what made the reports.
    """

    mechanism: Mechanism

    @property
    def length(self) -> int:
        """Number of entries."""
        return _REASONS + len(reasons(self.mechanism))

    def add(self, state: IntArray, reports: Reports, left_out: Mapping[str, int]) -> None:
        """Add a batch of reports, and the number of rows left out beside them by reason, in place."""
        state[_REPORTS] += reports.n
        state[_SIMULATED] += reports.simulated
        for place, reason in enumerate(reasons(self.mechanism), start=_REASONS):
            state[place] += left_out.get(reason, 0)

    def reports(self, state: IntArray) -> int:
        """Return the number of reports."""
        return int(state[_REPORTS])

    def simulated(self, state: IntArray) -> bool:
        """Return true if a batch was simulated."""
        return bool(state[_SIMULATED])

    def left_out(self, state: IntArray) -> dict[str, int]:
        """Return the number of rows left out, by reason; only reasons that occurred."""
        bad = state[_REASONS : self.length].tolist()
        return {reason: count for reason, count in zip(reasons(self.mechanism), bad, strict=True) if count}


def refuse_above(rows: int, left_out: Mapping[str, int], share: float) -> None:
    """Refuse more bad rows than a share of all rows.

    Raises:
        DataError: if there are more; it says how many, and why.
    """
    bad = sum(left_out.values())
    if bad > share * rows:
        why = ", ".join(f"{count} {reason}" for reason, count in left_out.items())
        raise DataError(
            f"{bad} of {rows} rows are no reports of this plan, more than the share of {share:g} that may be: {why}."
        )


class Fold(ABC, Generic[Batch, State, Answer]):
    """A computation over batches of checked reports whose states add up.

    Attributes:
        mechanism: what made the reports.

    Example:
        >>> import discreet as dc
        >>> mechanism = dc.RandomizedResponse(dc.Domain(["yes", "no"]), epsilon=1.0)
        >>> fold: Fold[dc.Reports, IntArray, Counted] = TallyFold(mechanism)
        >>> fold.finish(fold.zero()).tally == mechanism.empty_tally()
        True
    """

    mechanism: Mechanism

    @abstractmethod
    def zero(self) -> State:
        """Return the state of no reports."""

    @abstractmethod
    def add(self, state: State, batch: Batch, left_out: Mapping[str, int]) -> None:
        """Add checked reports, and the number of rows left out beside them by reason, to a state, in place."""

    def merge(self, state: State, other: State) -> None:
        """Add another state to a state, in place."""
        state += other  # type: ignore[operator]

    @abstractmethod
    def finish(self, state: State) -> Answer:
        """Return the result of a state."""


@dataclass(frozen=True, slots=True, eq=False)
class Counted:
    """A tally, and the rows left out of it.

    Attributes:
        tally: of the reports that a device can have sent.
        left_out: how many rows were left out for each reason; only reasons that occurred.

    Example:
        >>> import discreet as dc
        >>> tally = dc.RandomizedResponse(dc.Domain(["yes", "no"]), epsilon=1.0).empty_tally()
        >>> counted = Counted(tally, {"not in the domain": 2})
        >>> counted.rows, counted.bad
        (2, 2)
    """

    tally: Tally
    left_out: Mapping[str, int] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self.tally.n + self.bad

    @property
    def bad(self) -> int:
        """Number of rows left out."""
        return sum(self.left_out.values())

    def refuse_above(self, share: float) -> None:
        """Refuse a tally with more than a share of its rows left out.

        Raises:
            DataError: if it is so; it says how many, and why.
        """
        refuse_above(self.rows, self.left_out, share)


@dataclass(frozen=True, slots=True, eq=False)
class TallyFold(Fold[Reports, IntArray, Counted]):
    """The fold that tallies reports, with bad rows counted by reason.

    Attributes:
        mechanism: what made the reports.

    Example:
        >>> import discreet as dc
        >>> mechanism = dc.RandomizedResponse(dc.Domain(["yes", "no"]), epsilon=1.0)
        >>> fold, reports = TallyFold(mechanism), mechanism.obfuscate(["yes"] * 50)
        >>> state, other = fold.zero(), fold.zero()
        >>> fold.add(state, reports.part(0, 20), left_out={})
        >>> fold.add(other, reports.part(20, 50), left_out={})
        >>> fold.merge(state, other)
        >>> fold.finish(state).tally == mechanism.tally(reports)
        True
    """

    mechanism: Mechanism

    def zero(self) -> IntArray:
        """Return the ``(2 + reasons + support + clear,)`` state of no reports."""
        empty = self.mechanism.empty_tally()
        return np.zeros(self._heading.length + len(empty.support) + len(empty.clear), dtype=np.int64)

    @property
    def _heading(self) -> StateHeading:
        return StateHeading(self.mechanism)

    @property
    def _support(self) -> int:
        return len(self.mechanism.empty_tally().support)

    def add(self, state: IntArray, batch: Reports, left_out: Mapping[str, int]) -> None:
        """Add checked reports, and the number of rows left out beside them by reason, in place."""
        heading, support = self._heading, self._support
        start = heading.length
        self.mechanism.add_tally(batch, state[start : start + support], state[start + support :])
        heading.add(state, batch, left_out)

    def finish(self, state: IntArray) -> Counted:
        """Return the tally, and the rows left out."""
        heading, support = self._heading, self._support
        start = heading.length
        counts: dict[str, Any] = {"support": state[start : start + support], "clear": state[start + support :]}
        n, simulated = heading.reports(state), heading.simulated(state)
        return Counted(Tally(self.mechanism.fingerprint, n, **counts, simulated=simulated), heading.left_out(state))


_UNKNOWN_MEMORY = 1 << 32
_CONTAINER_LIMIT = Path("/sys/fs/cgroup/memory.max")


def memory_limit() -> int:
    """Return half of the memory of this machine, or of this process's container, in bytes."""
    memory = _UNKNOWN_MEMORY
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if _CONTAINER_LIMIT.is_file():
        limit = _CONTAINER_LIMIT.read_text(encoding="ascii").strip()
        memory = min(memory, int(limit)) if limit.isdecimal() else memory
    return memory // 2
