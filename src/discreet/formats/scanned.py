"""A scanned source of reports: a file or a table, its metadata, its parts and its checked batches.

A part is a run of row groups (Parquet), of batches (Arrow), of rows of a table in memory, or a whole file of JSON
lines. Every report from a source passes `ScannedSource.batches`, where it is checked.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from itertools import repeat
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

import pyarrow as pa

from discreet.core.arrow import flags_of, plain_batch
from discreet.core.batches import NamedBatch, batch_name
from discreet.core.reports import COUNTS, Reports
from discreet.core.tally import GroupedTally, total
from discreet.errors import DataError
from discreet.files.paths import (
    COLUMNS,
    LINES,
    TABLES,
    File,
    RemoteFile,
    checked,
    folder_columns,
    lines_of,
    opened_text,
    text_bytes,
)
from discreet.files.reading import readable
from discreet.files.stored import FileState, HeldTable, look, no_rows
from discreet.formats import json_reports
from discreet.mechanisms import Mechanism, report_tables
from discreet.mechanisms.report_tables import (
    Form,
    batch_reports,
    form_of,
    stamped_public,
    table_of,
)

# Rows of a part: enough work for a task. Rows and bytes of a batch: it stays in the processor's cache while it is
# checked and counted.
PART_ROWS = 1 << 21
BATCH_ROWS, _BATCH_BYTES = 1 << 20, 1 << 22
LINES_AT_ONCE, _LETTERS, _MOST_TIMES = 1 << 16, 1 << 25, 1 << 16
_NOTHING: Mapping[str, int] = MappingProxyType({})

TEXTS = "discreet.sql.text_tables"
"""The module that reads CSV files: a name only, since the core imports no wing."""

Place: TypeAlias = File | HeldTable
"""A file, or a table in memory."""


@dataclass(frozen=True, slots=True)
class Asked:
    """The options for reading a file or a table of reports.

    Attributes:
        trust_plan: whether a source without a plan is accepted; see `discreet.formats.sources.Sources`.
        public: the names of public columns that the source must have.
        count: the column with the number of reports of each row; see `form_of`.
        bad_share: the share of rows that counts of a warehouse may leave out.
    """

    trust_plan: bool = False
    public: tuple[str, ...] = ()
    count: str | None = None
    bad_share: float = 0.0


class CheckedBatch(NamedTuple):
    """A batch of reports that have passed all checks.

    Attributes:
        reports: the reports.
        left_out: the number of rows left out of this batch, by reason.
        public: an Arrow batch of the public columns, one row for each report; None if no columns are read.
        times: how often each of the reports counts.
    """

    reports: Reports
    left_out: Mapping[str, int] = _NOTHING
    public: Any = None
    times: int = 1

    def repeated(self) -> Iterator["CheckedBatch"]:
        """Yield a batch that counts several times as often as it counts; each copy counts once.

        Raises:
            DataError: if it counts too often.
        """
        if self.times > _MOST_TIMES:
            raise DataError("multiples.too-many-here", times=self.times)
        return repeat(self._replace(times=1), self.times)


@dataclass(frozen=True, slots=True, eq=False)
class ScannedSource(ABC):
    """A file or a table of reports whose metadata were checked.

    Attributes:
        place: the file, or the table in memory.
        mechanism: the mechanism that made the reports.
        form: the metadata of the source.
        rows: the number of reports; None if they are not counted yet.
        content: the file's size and the CRC-32 of its footer (0 for lines), which are the same on every machine.
        public: the names of the public columns to read.
    """

    place: Place
    mechanism: Mechanism
    form: Form
    rows: int | None = None
    content: tuple[int, int] = (0, 0)
    public: tuple[str, ...] = ()

    @property
    def beside(self) -> Sequence[str]:
        """The names of all columns beside the reports, whether they are read or not."""
        return self.form.extra

    @property
    def parts(self) -> list["SourcePart"]:
        """The parts of the source, in order. There is at least one part, which says whether reports are simulated."""
        return [SourcePart(self, (), self.rows)]

    @property
    def batch(self) -> NamedBatch | None:
        """The named batch to which the source belongs; None if it has no name, or its rows are several reports each."""
        return None if self.form.count is not None else self.form.batch(self.rows or 0)

    @property
    def memory(self) -> int:
        """The approximate number of bytes of the reports in memory."""
        return (self.rows or 0) * sum(column.bytes for column in self.mechanism.columns)

    def cells(self, names: Sequence[str]) -> Iterator[tuple[tuple[Any, ...], int]]:
        """Yield combinations of cells in public columns with their numbers of reports; a combination may come twice."""
        del names
        return iter(())

    def batches(self, groups: Sequence[int] = (), *, omit_invalid: bool = False, most: int | None = None) -> Any:
        """Yield checked batches of at most 4 MB: at least one batch, which may be empty.

        Args:
            groups: the row groups or batches to read.
            omit_invalid: whether rows that no device can have sent are left out and counted; otherwise they are
                errors. No row of a named batch is left out, because the batch would be incomplete.
            most: the most rows of a batch; None for a number that is fast.

        Raises:
            DataError: if the file is damaged or changed, its columns do not fit the plan, or a row is invalid and
                ``omit_invalid`` is not set. The error names the file.
            MismatchError: if a row belongs to another plan.
        """
        with readable(self.place):
            yield from self._read(groups, omit_invalid and not batch_name(self.form.facts or {}), most)
        if isinstance(self.place, RemoteFile):
            self.place.release()

    @abstractmethod
    def _read(self, groups: Sequence[int], omit_invalid: bool, most: int | None) -> Iterator[CheckedBatch]:
        """Yield checked batches. Errors of libraries are raised unchanged."""


@dataclass(frozen=True, slots=True, eq=False)
class SourcePart:
    """A part of a file or table of reports, such as some row groups.

    Attributes:
        source: the source.
        groups: the numbers of the row groups or batches; empty for a file of lines.
        rows: the number of reports; None if they are not counted yet.
    """

    source: ScannedSource
    groups: tuple[int, ...]
    rows: int | None

    @property
    def bytes(self) -> int:
        """The approximate number of bytes of the file that belong to the part."""
        (size, _), whole = self.source.content, self.source.rows
        return size * self.rows // whole if whole and self.rows is not None else size

    @property
    def ticket(self) -> tuple[Any, ...]:
        """A tuple that describes this part of a file to another machine; see `part_of_ticket`."""
        source = self.source
        asked = Asked(source.form.trusted, source.public, source.form.count)
        return source.place, source.content, asked, self.groups, self.rows

    def batches(self, *, omit_invalid: bool = False, most: int | None = None) -> Iterator[CheckedBatch]:
        """Yield checked batches of reports that count once; see `ScannedSource.batches`."""
        for batch in self.source.batches(self.groups, omit_invalid=omit_invalid, most=most):
            yield from batch.repeated()


def part_of_ticket(mechanism: Mechanism, ticket: Sequence[Any]) -> SourcePart:
    """Return the part that a ticket describes, after a check that the file on this machine is the same.

    Raises:
        DataError: as for `scanned_file`, and if the file's content has changed.
        MismatchError: if the file belongs to another plan.
    """
    path, content, asked, groups, rows = ticket
    # The metadata are read again, because they may be large and another machine reads the file now.
    source = scanned_file(path, mechanism, asked)
    if not isinstance(source, ScannedSource) or source.content != content:
        raise DataError("source.changed", path=path)
    return SourcePart(source, groups, rows)


@dataclass(frozen=True, slots=True, eq=False)
class TableSource(ScannedSource):
    """A Parquet file, an Arrow file, or a table in memory, with reports.

    Attributes:
        table: the inspected table.
        folders: columns that are only in the names of the file's folders, each with its single cell.
    """

    table: Any = None
    folders: Mapping[str, str | None] = field(default_factory=dict)

    @property
    def beside(self) -> Sequence[str]:
        """The names of all columns beside the reports, whether they are read or not."""
        return list(dict.fromkeys([*stamped_public(self.table.schema), *self.form.extra, *self.folders, *self.public]))

    @property
    def parts(self) -> list[SourcePart]:
        """The parts of the table. Each part is a range of row groups."""
        runs, groups, rows = list[SourcePart](), list[int](), 0
        for group, size in enumerate(self.table.rows):
            groups.append(group)
            rows += size
            if rows >= PART_ROWS:
                runs.append(SourcePart(self, tuple(groups), rows))
                groups, rows = [], 0
        return [*runs, SourcePart(self, tuple(groups), rows)] if groups or not runs else runs

    def _read(self, groups: Sequence[int], omit_invalid: bool, most: int | None) -> Iterator[CheckedBatch]:
        names, public = self.form.names(self.mechanism), [name for name in self.public if name not in self.folders]
        columns, none = list(dict.fromkeys([*names, *public])), True
        for batch in self.table.read(groups, most or self._batch_rows, columns, labels=public):
            none = False
            yield from self._counted(batch, names, omit_invalid)
        if none:
            yield self._checked(no_rows(self.table.schema, columns), names, omit_invalid)

    def _counted(self, batch: pa.RecordBatch, names: Sequence[str], omit_invalid: bool) -> Iterator[CheckedBatch]:
        """Yield the checked reports of a batch of rows with counts, for each binary digit of the counts."""
        name = self.form.count
        if name is None or not omit_invalid:
            # Also checked as a whole, so that a refusal has the number of the row.
            checked = self._checked(batch, names, omit_invalid)
        if name is None:
            yield checked
            return
        for times, rows in report_tables.by_digits(report_tables.multiples_in(batch[name], name)):
            yield self._checked(batch.filter(flags_of(rows)), names, omit_invalid)._replace(times=times)

    def _checked(self, batch: pa.RecordBatch, names: Sequence[str], omit_invalid: bool) -> CheckedBatch:
        reports, left_out = batch_reports(self.mechanism, batch.select(names), self.form, omit_invalid=omit_invalid)
        if not self.public:
            return CheckedBatch(reports, left_out)
        cells = {name: pa.repeat(pa.scalar(cell, pa.string()), reports.n) for name, cell in self.folders.items()}
        columns = [cells[name] if name in cells else batch[name] for name in self.public]
        return CheckedBatch(reports, left_out, pa.record_batch(columns, list(self.public)))

    @property
    def _batch_rows(self) -> int:
        width = sum(column.bytes for column in self.mechanism.columns)
        return min(max(_BATCH_BYTES // width, 1), BATCH_ROWS)

    def cells(self, names: Sequence[str]) -> Iterator[tuple[tuple[Any, ...], int]]:
        """Yield combinations of cells in public columns with their numbers of reports; a combination may come twice."""
        there = [name for name in names if name in self.table.schema.names]
        if not there:
            yield tuple(self.folders.get(name) for name in names), self.rows or 0
            return
        with readable(self.place):
            for batch in self.table.read(range(len(self.table.rows)), BATCH_ROWS, there, labels=there):
                table = pa.Table.from_batches([plain_batch(batch)])
                counted = table.group_by(there).aggregate([([], "count_all")])
                columns = {name: counted[name].to_pylist() for name in (*there, "count_all")}
                for row, count in enumerate(columns["count_all"]):
                    yield tuple(columns[n][row] if n in columns else self.folders.get(n) for n in names), count


@dataclass(frozen=True, slots=True, eq=False)
class LinesSource(ScannedSource):
    """A file of JSON lines with reports.

    Attributes:
        state: the identity of the file, and the time of its last change, when it was scanned.
    """

    state: Any = None

    @property
    def memory(self) -> int:
        """An approximate upper bound on the bytes of the reports in memory: the length of the text."""
        with readable(self.place):
            return 0 if self.rows == 0 else text_bytes(self.place)  # type: ignore[arg-type]

    def _read(self, groups: Sequence[int], omit_invalid: bool, most: int | None) -> Iterator[CheckedBatch]:
        count, place, trusted = 0, self.place, self.form.trusted
        self.state.check(place)
        with opened_text(place) as text:  # type: ignore[arg-type]
            for texts in _some_lines(lines_of(text, json_reports.longest_line(self.mechanism)), most or LINES_AT_ONCE):
                if omit_invalid:
                    yield CheckedBatch(*json_reports.valid_json(self.mechanism, texts, trust_plan=trusted))
                else:
                    yield CheckedBatch(json_reports.from_json(self.mechanism, texts, first=count, trust_plan=trusted))
                count += len(texts)
        self.state.check(place)


def _some_lines(lines: Iterable[str], most: int) -> Iterator[list[str]]:
    """Group lines into lists, and yield at least one list, which may be empty."""
    letters, texts, none = 0, list[str](), True
    for line in lines:
        texts.append(line)
        letters += len(line)
        if len(texts) == most or letters > _LETTERS:
            yield texts
            letters, texts, none = 0, [], False
    if texts or none:
        yield texts


def scanned_table(name: str, table: Any, mechanism: Mechanism, asked: Asked) -> TableSource | GroupedTally:
    """Return a table in memory as a source, or the counts in it; errors as for `scanned_file`."""
    held = HeldTable(name, table_of(table))
    with readable(held):
        return _source_of(held, mechanism, asked, held)


def scanned_file(path: File, mechanism: Mechanism, asked: Asked) -> ScannedSource | GroupedTally:
    """Return a file of reports as a source, after checks of its metadata, or the counts in a file of counts.

    Args:
        path: the file.
        mechanism: the mechanism that made the reports.
        asked: how the file is read.

    Raises:
        DataError: if the file is missing or truncated, has no fingerprint of a plan, or has the wrong columns. The
            error names the file.
        MismatchError: if the file belongs to another plan.
    """
    with readable(path):
        if not path.exists():
            raise FileNotFoundError
        if isinstance(path, RemoteFile):
            path.hold()
        kind = checked(path, TABLES, "reports")
        if kind in LINES:
            refuse_public([*asked.public, *filter(None, [asked.count])])
            return _scanned_lines(path, mechanism, asked.trust_plan)
        state = FileState.of(path)
        table = look(path) if kind in COLUMNS else import_module(TEXTS).text_table(path, mechanism, asked)
        folders = {name: cell for name, cell in folder_columns(path).items() if name not in table.schema.names}
        return _source_of(path, mechanism, asked, table, content=(state.size, table.footer), folders=folders)


def _source_of(
    place: Place, mechanism: Mechanism, asked: Asked, table: Any, folders: Any = MappingProxyType({}), **about: Any
) -> TableSource | GroupedTally:
    """Return a table with columns as a source, or the counts in it. Its number of reports may exceed its rows."""
    every = range(len(table.rows))
    if {*table.schema.names} >= COUNTS:
        whole = pa.Table.from_batches(table.read(every, BATCH_ROWS), schema=table.schema)
        reader = import_module(report_tables.COUNTS_READER)
        return reader.read_counts(mechanism, whole, asked.public, bad_share=asked.bad_share)  # type: ignore[no-any-return]
    inside = [name for name in asked.public if name not in folders]
    form = form_of(mechanism, table.schema, trust_plan=asked.trust_plan, public=inside, count=asked.count)
    rows = n = sum(table.rows)
    if form.count is not None:
        n = row = 0
        for batch in table.read(every, BATCH_ROWS, [form.count]):
            n += total(report_tables.multiples_in(batch.column(0), form.count, row))
            row += batch.num_rows
        report_tables.note_multiples(n, rows, form.count)
    return TableSource(place, mechanism, form, n, public=asked.public, table=table, folders=folders, **about)


def _scanned_lines(path: File, mechanism: Mechanism, trust_plan: bool) -> LinesSource:
    state = FileState.of(path)
    with opened_text(path) as text:
        first = next(lines_of(text, json_reports.longest_line(mechanism)), None)
    form = json_reports.form_of_line(mechanism, first, trust_plan=trust_plan)
    return LinesSource(path, mechanism, form, 0 if first is None else None, (state.size, 0), state=state)


def refuse_public(public: Sequence[str]) -> None:
    """Raise an error if public columns are asked for, from a file that cannot have any.

    Raises:
        DataError: if ``public`` is not empty.
    """
    if public:
        raise DataError("public.no-columns", names=", ".join(map(repr, public)))
