"""Parts of files of reports, which can be read separately, several at a time.

A part is a run of row groups (Parquet), a run of batches (Arrow) or a whole file (JSON lines). Every file's plan and
columns are checked before any part is read; of JSON lines, each with a plan of its own, that of the first.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import pyarrow as pa

from discreet.errors import DataError
from discreet.io import json_reports
from discreet.io.endings import lines_of, opened_text
from discreet.io.folders import files_in
from discreet.io.read_errors import readable
from discreet.io.remote import File
from discreet.io.reports import checked_suffix
from discreet.io.rewritten import Form, Rewritten, form_of
from discreet.io.stored import FileState, StoredTable, look, no_rows, read_groups
from discreet.io.suffixes import LINES, REPORTS
from discreet.mechanisms import Mechanism

# Rows per part: enough work to be worth handing out. Rows and bytes per batch: what stays in the cache while it is
# checked and counted.
_PART_ROWS = 1 << 21
_BATCH_ROWS = 1 << 20
_BATCH_BYTES = 1 << 22
_LINES, _LETTERS = 1 << 16, 1 << 25


@dataclass(frozen=True, slots=True, eq=False)
class Partition:
    """A part of a file of reports.

    Attributes:
        path: the file.
        groups: row groups or batches of the part; empty for a file of lines.
        rows: number of reports; None if they are not counted yet.
        state: identity and time of the file when it was inspected.
        table: the inspected table; None for a file of lines.
        form: the form of a file that another tool rewrote; None for discreet's own format.
    """

    path: File
    groups: Sequence[int]
    rows: int | None
    state: FileState
    table: StoredTable | None = None
    form: Form | None = None

    @property
    def content(self) -> tuple[int, int]:
        """The file's size and the CRC-32 of its footer (0 for lines): the same wherever the file is seen from."""
        return self.state.size, 0 if self.table is None else self.table.footer


def report_files(sources: Iterable[str | File], *, allow_copies: bool = False) -> list[File]:
    """Return the files of reports and tallies that are named; arguments and errors as for `files_in`."""
    return files_in(sources, REPORTS, "reports", allow_copies=allow_copies)


def partitions_of(path: File, mechanism: Mechanism, *, trust_plan: bool = False) -> list[Partition]:
    """Return the parts of a file of reports, after checks of its metadata.

    Args:
        path: the file.
        mechanism: what made the reports.
        trust_plan: whether the caller vouches that files which do not say their plan, or are not as discreet writes
            them, hold reports of this plan; see `discreet.io.rewritten`.

    Raises:
        DataError: if it is missing, truncated, does not say its plan, or has other columns than the plan's reports; it
            names the file.
        MismatchError: if it belongs to another plan.
    """
    with readable(path):
        if not path.exists():
            raise FileNotFoundError
        if checked_suffix(path) in LINES:
            state = FileState.of(path)
            with opened_text(path) as text:
                lines = lines_of(text, json_reports.longest_line(mechanism))
                form = json_reports.form_of_lines(mechanism, lines, trust_plan=trust_plan)
            with opened_text(path) as text:
                return [Partition(path, (), None if text.read(1) else 0, state, None, form)]
        table = look(path)
        return _runs(table, form_of(mechanism, table.schema, trust_plan=trust_plan))


def partition_elsewhere(
    path: File,
    groups: Sequence[int],
    rows: int | None,
    content: tuple[int, int],
    mechanism: Mechanism,
    *,
    trust_plan: bool = False,
) -> Partition:
    """Return a part on another machine, after checking that the file there is the same.

    Raises:
        DataError: as for `partitions_of`, and if the file has not the `Partition.content` that it had.
        MismatchError: if it belongs to another plan.
    """
    whole, *_ = partitions_of(path, mechanism, trust_plan=trust_plan)
    if whole.content != content:
        raise DataError(f"{path} is not the file that was checked before; see that all machines see the same files.")
    return replace(whole, groups=groups, rows=rows)


def _runs(table: StoredTable, form: Form | None) -> list[Partition]:
    """Return parts of neighbouring row groups; at least one part, which also carries the mark of simulation."""
    whole = Partition(table.path, (), 0, table.state, table, form)
    runs, groups, rows = [], [], 0
    for place, size in enumerate(table.rows):
        groups.append(place)
        rows += size
        if rows >= _PART_ROWS:
            runs.append(replace(whole, groups=tuple(groups), rows=rows))
            groups, rows = [], 0
    if groups or not runs:
        runs.append(replace(whole, groups=tuple(groups), rows=rows))
    return runs


@dataclass(frozen=True, slots=True)
class Lines:
    """Lines of JSON, one report each.

    Attributes:
        first: the number of the first one in its file.
        texts: the lines.
        form: how they are to be read if another tool may have rewritten them.
    """

    first: int
    texts: list[str]
    form: Form | None = None


Batch: TypeAlias = pa.RecordBatch | Rewritten | Lines
"""Reports as they are read, not checked yet: stamped with their plan, as another tool rewrote them, or lines."""


def read_partition(part: Partition, mechanism: Mechanism) -> Iterator[Batch]:
    """Yield the batches of a part, at most 4 MB each and at least one; Arrow batches carry the stamp or form.

    What a library says of a truncated file is raised as it is; see `readable`.
    """
    size = min(max(_BATCH_BYTES // sum(column.bytes for column in mechanism.columns), 1), _BATCH_ROWS)
    if part.table is None:
        yield from _from_lines(part, json_reports.longest_line(mechanism))
        return
    form = part.form
    names = None if form is None else form.names(mechanism)
    batches = read_groups(part.table, part.groups, size, names) if part.groups else [no_rows(part.table.schema, names)]
    for batch in batches:
        yield batch if form is None else Rewritten(batch, form)


def _from_lines(part: Partition, longest: int) -> Iterator[Lines]:
    first, letters, texts = 0, 0, list[str]()
    part.state.check(part.path)
    with opened_text(part.path) as text:
        for line in lines_of(text, longest):
            texts.append(line)
            letters += len(line)
            if len(texts) == _LINES or letters > _LETTERS:
                yield Lines(first, texts, part.form)
                first, letters, texts = first + len(texts), 0, []
    if texts or not first:
        yield Lines(first, texts, part.form)
    found = first + len(texts)
    if part.rows is not None and found != part.rows:
        raise DataError(f"the file holds {found} lines where its manifest says {part.rows}.")
    part.state.check(part.path)
