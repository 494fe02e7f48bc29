"""Tallies by group: reports with public columns beside them, some million of them sorted and counted at a time."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import numpy as np
import pyarrow as pa

from discreet.arrays import IntArray
from discreet.core import arrow_memory
from discreet.core.columns import missing_message
from discreet.core.grouped_tally import GroupedTally
from discreet.core.reports import Blocks, Reports
from discreet.core.tally import Tally
from discreet.engines.local import fold_parts
from discreet.errors import DataError, ParameterError
from discreet.io.partitions import Partition
from discreet.io.progress import Progress
from discreet.io.report_sources import surveyed
from discreet.mechanisms import Mechanism

# Blocks that wait until each group has many: a count of a few costs as much as one of hundreds.
_WAITING_BYTES = 1 << 26
_MOST_GROUPS = 1 << 20
_SHORT = 1 << 16


def tally_by(
    mechanism: Mechanism,
    sources: str | Path | Sequence[str | Path],
    by: str | Sequence[str],
    *,
    trust_plan: bool = False,
    allow_copies: bool = False,
    manifest: bool = False,
    threads: int | None = None,
    progress: Progress | None = None,
) -> GroupedTally:
    """Return a tally for each group of people whose reports are in files, streamed.

    Args:
        mechanism: what made the reports.
        sources: Parquet and Arrow files of reports, and folders of such files, each with the public columns.
        by: names of the public columns that make the groups: text, integers, or true and false.
        trust_plan: as for `discreet.engines.tally`.
        allow_copies: as there.
        manifest: as there.
        threads: as there.
        progress: as there.

    Raises:
        DataError, MismatchError, ParameterError: as there, but that no rows are left out; and if a file has not these
            columns, or labels are missing.

    Example:
        >>> import discreet as dc
        >>> import pyarrow as pa, pyarrow.parquet as pq
        >>> from discreet.io.arrow import to_arrow
        >>> from tempfile import TemporaryDirectory
        >>> mechanism = dc.RandomizedResponse(dc.Domain(["yes", "no"]), epsilon=1.0)
        >>> table = to_arrow(mechanism, mechanism.obfuscate(["yes"] * 50))
        >>> table = table.append_column("region", pa.array(["north"] * 30 + ["south"] * 20))
        >>> with TemporaryDirectory() as folder:
        ...     pq.write_table(table, f"{folder}/monday.parquet")
        ...     {region: one.n for region, one in tally_by(mechanism, folder, "region").items()}
        {'north': 30, 'south': 20}
    """
    names = checked_names(by)
    read = {"trust_plan": trust_plan, "allow_copies": allow_copies, "manifest": manifest}
    _, parts = surveyed(mechanism, sources, public=names, **read)
    # A fold over more than reports, which `fold_parts` does not look into.
    fold: Any = GroupFold(mechanism, names)
    found: Any = fold_parts(fold, cast(Any, [PublicPart(part) for part in parts]), threads=threads, progress=progress)
    return cast(GroupedTally, found)


def checked_names(by: str | Sequence[str]) -> tuple[str, ...]:
    """Return the names of the columns of groups.

    Raises:
        ParameterError: if there is none, one is no text, or one is named twice.
    """
    names = (by,) if isinstance(by, str) else tuple(by)
    if not names or not all(isinstance(name, str) and name for name in names) or len(set(names)) < len(names):
        raise ParameterError("by must name one public column or more, each once.")
    return names


@dataclass(frozen=True, slots=True, eq=False)
class PublicPart:
    """A part of a file of reports, read with the public columns beside them.

    Attributes:
        part: the part.
    """

    part: Partition

    @property
    def rows(self) -> int | None:
        """Number of reports."""
        return self.part.rows

    def reports(self, *, sift: bool = False) -> Iterator[tuple[tuple[Reports, pa.RecordBatch], Mapping[str, int]]]:
        """Yield the reports with the public columns; rows are never left out."""
        assert not sift
        for rows in self.part.public_rows():
            yield rows, {}


@dataclass(slots=True, eq=False)
class GroupState:
    """The counts of each group so far, and the blocks that wait to be counted.

    Attributes:
        places: of the groups, in the order in which they came.
        counts: a row for each group: n, the counts of blocks, the counts of values in clear.
        simulated: whether any report was simulated.
        waiting: sorted blocks with the ends of each group's rows.
        bytes: of the waiting blocks.
    """

    places: dict[Any, int]
    counts: IntArray
    simulated: bool = False
    waiting: list[tuple[Blocks, IntArray]] = field(default_factory=list)
    bytes: int = 0

    @property
    def nbytes(self) -> int:
        """Size of the state, with room for what waits."""
        return self.counts.nbytes + _WAITING_BYTES

    def rows_of(self, labels: Sequence[Any]) -> IntArray:
        """Return the rows of groups, new ones for those that are new."""
        rows = np.array([self.places.setdefault(label, len(self.places)) for label in labels], dtype=np.int64)
        if len(self.places) > _MOST_GROUPS:
            raise DataError(f"there must be at most {_MOST_GROUPS} groups, got more; group by fewer columns.")
        if len(self.places) > len(self.counts):
            more = np.zeros((2 * len(self.places), self.counts.shape[1]), np.int64)
            more[: len(self.counts)] = self.counts
            self.counts = more
        return rows


@dataclass(frozen=True, slots=True, eq=False)
class GroupFold:
    """The fold that tallies reports by group.

    Attributes:
        mechanism: what made the reports.
        by: names of the public columns that make the groups.
    """

    mechanism: Mechanism
    by: tuple[str, ...]

    @property
    def _blocks(self) -> slice:
        return slice(1, 1 + len(self.mechanism.empty_tally().support))

    def zero(self) -> GroupState:
        """Return the state of no reports."""
        empty = self.mechanism.empty_tally()
        return GroupState({}, np.zeros((0, 1 + len(empty.support) + len(empty.clear)), np.int64))

    def add(self, state: GroupState, rows: tuple[Reports, pa.RecordBatch], left_out: Mapping[str, int]) -> None:
        """Add reports with the public columns beside them, in place."""
        assert not left_out
        reports, public = rows
        state.simulated |= reports.simulated
        codes, labels = groups_in([public.column(name) for name in self.by], self.by)
        groups = state.rows_of(labels)[codes]
        state.counts[:, 0] += np.bincount(groups, minlength=len(state.counts))
        if reports.in_clear is None:
            self._wait(state, reports.blocks, groups)
            return
        self._count_clear(state, reports, groups[reports.in_clear])
        self._wait(state, reports.blocks, groups if reports.block_count == reports.n else groups[~reports.in_clear])

    def _count_clear(self, state: GroupState, reports: Reports, groups: IntArray) -> None:
        slots = self.mechanism.domain.slots
        if slots is not None and len(groups):
            start = self._blocks.stop
            np.add.at(state.counts, (groups, start + ~slots[reports.clear]), 1)

    def _wait(self, state: GroupState, blocks: Blocks, groups: IntArray) -> None:
        """Keep blocks, sorted by group, until there are many."""
        if self._blocks.stop == 1 or not len(groups):
            return
        short = groups.astype(np.uint16) if len(state.places) <= _SHORT else groups
        order = np.argsort(short, kind="stable")
        taken = {name: np.take(column, order, axis=0) for name, column in blocks.items()}
        state.waiting.append((taken, np.cumsum(np.bincount(groups, minlength=len(state.places)))))
        state.bytes += sum(column.nbytes for column in taken.values())
        if state.bytes > _WAITING_BYTES:
            self._count(state)

    def _count(self, state: GroupState) -> None:
        """Count the blocks that wait, group by group."""
        if not state.waiting:
            return
        names, inside = list(state.waiting[0][0]), self._blocks
        nobody = np.empty(0, np.int64)
        for group in range(len(state.places)):
            parts = [(blocks, *_span(ends, group)) for blocks, ends in state.waiting]
            parts = [part for part in parts if part[2] > part[1]]
            if not parts:
                continue
            own = {name: _joined([blocks[name][start:end] for blocks, start, end in parts]) for name in names}
            reports = Reports(self.mechanism.fingerprint, len(own[names[0]]), None, nobody, own)
            self.mechanism.add_tally(reports, state.counts[group, inside], nobody)
        state.waiting.clear()
        state.bytes = 0

    def merge(self, state: GroupState, other: GroupState) -> None:
        """Add another state, in place."""
        self._count(other)
        self._count(state)
        rows = state.rows_of(list(other.places))
        state.counts[rows] += other.counts[: len(other.places)]
        state.simulated |= other.simulated

    def counted(self, state: GroupState) -> GroupState:
        """Return the state with nothing left that waits."""
        self._count(state)
        return state

    def finish(self, state: GroupState) -> GroupedTally:
        """Return the tally of each group, in the order of the labels."""
        self._count(state)
        inside, tallies = self._blocks, {}
        for label in sorted(state.places):
            counts = state.counts[state.places[label]]
            if not counts[0]:
                # A dictionary may list labels that nobody has.
                continue
            tallies[label] = Tally(
                self.mechanism.fingerprint, int(counts[0]), counts[inside], counts[inside.stop :], state.simulated
            )
        return GroupedTally(self.by, tallies)


def groups_in(columns: Sequence[Any], names: Sequence[str]) -> tuple[IntArray, list[Any]]:
    """Return ``(n,)`` codes of the groups of a batch, and their labels; tuples where there are several columns.

    Raises:
        DataError: if a label is missing, or a column is neither text nor integers nor true and false.
    """
    parts = [_labels_in(column, name) for column, name in zip(columns, names, strict=True)]
    codes, labels = parts[0]
    if len(parts) == 1:
        return codes, labels
    tuples = [(label,) for label in labels]
    for more, added in parts[1:]:
        combined = codes * len(added) + more
        found, codes = np.unique(combined, return_inverse=True)
        tuples = [(*tuples[at // len(added)], added[at % len(added)]) for at in found.tolist()]
    return codes, tuples


def _labels_in(column: Any, name: str) -> tuple[IntArray, list[Any]]:
    there = arrow_memory.present(column)
    if not there.all():
        rows = np.flatnonzero(~there)
        raise DataError(missing_message(len(rows), len(column), int(rows[0]), f"labels of {name!r} in a batch"))
    column.validate(full=True)
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind) or _is_plain_label(kind)):
        raise DataError(f"groups must be text, integers, or true and false, and {name!r} holds {kind}.")
    encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    if encoded.dictionary.null_count:
        raise DataError(f"the dictionary of {name!r} must not hold a missing label; write the column as plain text.")
    return arrow_memory.numbers(encoded.indices).astype(np.int64), encoded.dictionary.to_pylist()


def _is_plain_label(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_boolean(kind))


def _span(ends: IntArray, group: int) -> tuple[int, int]:
    """Return the rows of a group among sorted ones; none of a group that came later."""
    if group >= len(ends):
        return 0, 0
    return (int(ends[group - 1]) if group else 0), int(ends[group])


def _joined(parts: Sequence[Any]) -> Any:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)
