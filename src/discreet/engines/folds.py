"""Folds: computations over batches of reports, such as a tally. Partial results can be added.

The state of a fold is one array of integers, and the states of different reports are added entry by entry. So batches
may be added to any state, and states merged in any order. A cluster may also send states as pieces of int64, and add
the pieces.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import numpy as np

from discreet.arrays import AnyArray, IntArray
from discreet.core.checks import are_names
from discreet.core.columns import categories, numbered
from discreet.core.tally import GroupedTally, Tally
from discreet.errors import DataError, ParameterError
from discreet.formats.scanned import CheckedBatch
from discreet.formats.sources import RowCounts
from discreet.kernels.parallel import memory_limit
from discreet.mechanisms import Mechanism
from discreet.mechanisms.mechanism import GroupedCounts

State = TypeVar("State")
Answer = TypeVar("Answer")


class Fold(ABC, Generic[State, Answer]):
    """A computation over batches of checked reports. Its partial results, the states, can be added.

    Attributes:
        mechanism: the mechanism that made the reports.

    Example:
        >>> import discreet as dc
        >>> mechanism = dc.RandomizedResponse(dc.Domain(["yes", "no"]), epsilon=1.0)
        >>> fold: Fold[IntArray, TallyResult] = TallyFold(mechanism)
        >>> fold.finish(fold.zero(), RowCounts(mechanism)).tally == mechanism.empty_tally()
        True
    """

    mechanism: Mechanism

    @abstractmethod
    def zero(self) -> State:
        """Return the state for no reports."""

    @abstractmethod
    def add(self, state: State, batch: CheckedBatch) -> None:
        """Add checked reports to a state, which changes."""

    def merge(self, state: State, other: State) -> None:
        """Add the second state to the first state, which changes."""
        state += other  # type: ignore[operator]

    @abstractmethod
    def finish(self, state: State, account: RowCounts) -> Answer:
        """Return the result for a state and the counts of the rows that were read."""


@dataclass(frozen=True, slots=True, eq=False)
class TallyResult:
    """A tally, and the number of rows left out of it.

    Attributes:
        tally: the tally of the valid reports.
        left_out: the number of rows left out by reason; only reasons that occurred.

    Example:
        >>> import discreet as dc
        >>> tally = dc.RandomizedResponse(dc.Domain(["yes", "no"]), epsilon=1.0).empty_tally()
        >>> counted = TallyResult(tally, {"not in the domain": 2})
        >>> counted.rows, counted.bad
        (2, 2)
    """

    tally: Tally
    left_out: Mapping[str, int] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        """The number of rows that were read: reports and left-out rows."""
        return self.tally.n + self.bad

    @property
    def bad(self) -> int:
        """The number of rows left out."""
        return sum(self.left_out.values())


@dataclass(frozen=True, slots=True, eq=False)
class TallyFold(Fold[IntArray, TallyResult]):
    """The fold that counts reports in a tally.

    Attributes:
        mechanism: the mechanism that made the reports.

    Example:
        >>> import discreet as dc
        >>> mechanism = dc.RandomizedResponse(dc.Domain(["yes", "no"]), epsilon=1.0)
        >>> fold, reports, account = TallyFold(mechanism), mechanism.obfuscate(["yes"] * 50), RowCounts(mechanism)
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
        """Return the ``(support + clear,)`` state for no reports."""
        empty = self.mechanism.empty_tally()
        return np.zeros(len(empty.support) + len(empty.clear), dtype=np.int64)

    def add(self, state: IntArray, batch: CheckedBatch) -> None:
        """Add checked reports to a state, which changes."""
        part = state if batch.times == 1 else self.zero()
        self.mechanism.add_tally(batch.reports, *self._counts(part))
        if part is not state:
            state += batch.times * part

    def finish(self, state: IntArray, account: RowCounts) -> TallyResult:
        """Return the tally, and the number of rows left out."""
        support, clear = self._counts(state)
        tally = Tally(self.mechanism.fingerprint, account.n, support, clear, account.simulated)
        return TallyResult(tally, account.left_out)

    def _counts(self, state: IntArray) -> tuple[IntArray, IntArray]:
        support = len(self.mechanism.empty_tally().support)
        return state[:support], state[support:]


# The most combinations of the labels of several columns for a table; more combinations are sorted instead.
TABLE_ENTRIES = 1 << 20


class CountsTooLargeError(DataError):
    """Raised if the counts of the groups need too much memory when every thread has its own counts."""


def checked_names(by: str | Sequence[str]) -> tuple[str, ...]:
    """Return the names of the columns whose labels define groups.

    Raises:
        ParameterError: if there is no name, a name is not text, or a name is given twice.
    """
    names = (by,) if isinstance(by, str) else tuple(by)
    if not names or not are_names(names):
        raise ParameterError("by.not-names", argument="by")
    return names


@dataclass(slots=True, eq=False)
class GroupState:
    """The counts of the reports of each group.

    Attributes:
        places: the row of each group, in the order of their first reports.
        counts: the counts, a row for each group.
        states: all states of the fold, because they share the memory.
    """

    places: dict[Any, int]
    counts: GroupedCounts
    states: "list[GroupState]"

    @property
    def nbytes(self) -> int:
        """The size of the state in bytes."""
        return self.counts.row_bytes * self.counts.groups

    def rows_of(self, labels: Sequence[Any]) -> AnyArray:
        """Return the row of each group, with new rows for new groups.

        Raises:
            DataError: if the counts would need more than half of the memory.
        """
        rows = np.array([self.places.setdefault(label, len(self.places)) for label in labels], dtype=np.int32)
        if len(self.places) > self.counts.groups:
            self.grow()
        return rows

    def grow(self) -> None:
        """Add rows for all new groups, or raise an error if the counts do not fit into the memory."""
        size = sum(len(state.places) * state.counts.row_bytes for state in self.states)
        if size > memory_limit():
            raise CountsTooLargeError("groups.too-large", n=len(self.places), size=size / 1000000000.0)
        self.counts.grow(len(self.places))


@dataclass(frozen=True, slots=True, eq=False)
class GroupFold(Fold[GroupState, GroupedTally]):
    """The fold that counts the reports of each group in a tally.

    Attributes:
        mechanism: the mechanism that made the reports.
        by: the names of the public columns whose labels define the groups.
        states: the states in use.
    """

    mechanism: Mechanism
    by: tuple[str, ...]
    states: list[GroupState] = field(default_factory=list)

    def zero(self) -> GroupState:
        """Return the state for no reports."""
        self.states.append(GroupState({}, GroupedCounts.of_nobody(self.mechanism), self.states))
        return self.states[-1]

    def add(self, state: GroupState, batch: CheckedBatch) -> None:
        """Add reports, with their public columns, to a state in place."""
        codes, labels = groups_in([batch.public.column(name) for name in self.by], self.by)
        rows = state.rows_of(labels)
        if batch.times == 1:
            state.counts.add(batch.reports, rows[codes])
        else:
            part = GroupedCounts.of_nobody(self.mechanism, len(rows))
            part.add(batch.reports, codes.astype(np.int32))
            state.counts.add_rows(rows, part, batch.times)

    def merge(self, state: GroupState, other: GroupState) -> None:
        """Add the second state to the first state, which changes."""
        rows = state.rows_of(list(other.places))
        state.counts.add_rows(rows, other.counts)

    def finish(self, state: GroupState, account: RowCounts) -> GroupedTally:
        """Return the tally of each group, sorted by labels."""
        del account
        # A dictionary may list labels that do not occur.
        there = sorted(label for label, row in state.places.items() if state.counts.people[row])
        return GroupedTally(self.by, {label: state.counts.tally(state.places[label]) for label in there})


def groups_in(columns: Sequence[Any], names: Sequence[str]) -> tuple[AnyArray, list[Any]]:
    """Return ``(n,)`` codes of the groups in a batch, and their labels, which are tuples for several columns.

    Raises:
        DataError: if a label is missing, or a column has other values than text, integers and Boolean values.
    """
    for column in columns:
        # Wrong lengths in a damaged file would crash the process.
        column.validate(full=True)
    parts = [categories(column, f"labels of {name!r} in a batch") for column, name in zip(columns, names, strict=True)]
    codes, labels = parts[0]
    if len(parts) == 1:
        return codes, labels
    tuples = [(label,) for label in labels]
    for more, added in parts[1:]:
        distinct, codes = numbered(codes * len(added) + more)
        tuples = [(*tuples[at // len(added)], added[at % len(added)]) for at in distinct.tolist()]
    return codes, tuples
