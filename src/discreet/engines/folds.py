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
from typing import Generic, TypeVar

import numpy as np

from discreet.arrays import IntArray
from discreet.core.tally import Tally
from discreet.formats.scanned import CheckedBatch
from discreet.formats.sources import Account
from discreet.mechanisms import Mechanism

State = TypeVar("State")
Answer = TypeVar("Answer")


class Fold(ABC, Generic[State, Answer]):
    """A computation over batches of checked reports whose states add up.

    Attributes:
        mechanism: what made the reports.

    Example:
        >>> import discreet as dc
        >>> mechanism = dc.RandomizedResponse(dc.Domain(["yes", "no"]), epsilon=1.0)
        >>> fold: Fold[IntArray, Counted] = TallyFold(mechanism)
        >>> fold.finish(fold.zero(), Account(mechanism)).tally == mechanism.empty_tally()
        True
    """

    mechanism: Mechanism

    @abstractmethod
    def zero(self) -> State:
        """Return the state of no reports."""

    @abstractmethod
    def add(self, state: State, batch: CheckedBatch) -> None:
        """Add checked reports to a state, in place."""

    def merge(self, state: State, other: State) -> None:
        """Add another state to a state, in place."""
        state += other  # type: ignore[operator]

    @abstractmethod
    def finish(self, state: State, account: Account) -> Answer:
        """Return the result of a state, and of the account of the rows that were read."""


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


@dataclass(frozen=True, slots=True, eq=False)
class TallyFold(Fold[IntArray, Counted]):
    """The fold that tallies reports.

    Attributes:
        mechanism: what made the reports.

    Example:
        >>> import discreet as dc
        >>> mechanism = dc.RandomizedResponse(dc.Domain(["yes", "no"]), epsilon=1.0)
        >>> fold, reports, account = TallyFold(mechanism), mechanism.obfuscate(["yes"] * 50), Account(mechanism)
        >>> state, other = fold.zero(), fold.zero()
        >>> for part, into in (reports.part(0, 20), state), (reports.part(20, 50), other):
        ...     account.add(CheckedBatch(part))
        ...     fold.add(into, CheckedBatch(part))
        >>> fold.merge(state, other)
        >>> fold.finish(state, account).tally == mechanism.tally(reports)
        True
    """

    mechanism: Mechanism

    def zero(self) -> IntArray:
        """Return the ``(support + clear,)`` state of no reports."""
        empty = self.mechanism.empty_tally()
        return np.zeros(len(empty.support) + len(empty.clear), dtype=np.int64)

    def add(self, state: IntArray, batch: CheckedBatch) -> None:
        """Add checked reports, in place."""
        self.mechanism.add_tally(batch.reports, *self._counts(state))

    def finish(self, state: IntArray, account: Account) -> Counted:
        """Return the tally, and the rows left out."""
        support, clear = self._counts(state)
        tally = Tally(self.mechanism.fingerprint, account.n, support, clear, account.simulated)
        return Counted(tally, account.left_out)

    def _counts(self, state: IntArray) -> tuple[IntArray, IntArray]:
        support = len(self.mechanism.empty_tally().support)
        return state[:support], state[support:]


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
