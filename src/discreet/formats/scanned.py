"""One scanned source of reports: a file or a table, what it says about itself, its parts, and its checked batches.

A part is a run of row groups (Parquet), of batches (Arrow), of rows of a table in memory, or a whole file of JSON
lines. Every report from a source passes `ScannedSource.batches`, where it is checked.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

import pyarrow as pa

from discreet.core.arrow import value_type
from discreet.core.batches import NamedBatch
from discreet.core.reports import Reports
from discreet.errors import DataError
from discreet.files.paths import (
    LINES,
    REPORTS,
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
from discreet.mechanisms import Mechanism
from discreet.mechanisms.report_tables import Form, batch_reports, form_of, stamped_public, table_of

# Rows per part: enough work to be worth handing out. Rows and bytes per batch: what stays in the cache while it is
# checked and counted.
PART_ROWS = 1 << 21
BATCH_ROWS, _BATCH_BYTES = 1 << 20, 1 << 22
LINES_AT_ONCE, _LETTERS = 1 << 16, 1 << 25
_NOTHING: Mapping[str, int] = MappingProxyType({})

Place: TypeAlias = File | HeldTable
"""A file, or a table in memory."""


class CheckedBatch(NamedTuple):
    """Reports that devices can have sent, as they were read.

    Attributes:
        reports: the reports.
        left_out: number of rows left out beside them by reason.
        public: a batch of the public columns beside the reports, row for row; None if none are read.
    """

    reports: Reports
    left_out: Mapping[str, int] = _NOTHING
    public: Any = None


@dataclass(frozen=True, slots=True, eq=False)
class ScannedSource(ABC):
    """A source of reports whose metadata were checked.

    Attributes:
        place: the file, or the table in memory.
        mechanism: what made the reports.
        form: what the source says about itself.
        rows: number of reports; None if they are not counted yet.
        content: the file's size and the CRC-32 of its footer (0 for lines): the same on every machine.
        public: names of the public columns that are read too.
    """

    place: Place
    mechanism: Mechanism
    form: Form
    rows: int | None = None
    content: tuple[int, int] = (0, 0)
    public: tuple[str, ...] = ()

    @property
    def beside(self) -> Sequence[str]:
        """Names of all columns beside the reports, read or not."""
        return self.form.extra

    @property
    def parts(self) -> list["SourcePart"]:
        """The parts of the source, in order; at least one, which also carries the mark of simulation."""
        return [SourcePart(self, (), self.rows)]

    @property
    def batch(self) -> NamedBatch | None:
        """The batch that the source is, or a part of one; None if it has no name."""
        return self.form.batch(self.rows or 0)

    @property
    def memory(self) -> int:
        """About how many bytes the reports take in memory."""
        return (self.rows or 0) * sum(column.bytes for column in self.mechanism.columns)

    def cells(self, names: Sequence[str]) -> Iterator[tuple[tuple[Any, ...], int]]:
        """Yield the cells of columns beside the reports, some of them more than once, with their numbers of reports."""
        del names
        return iter(())

    def batches(self, groups: Sequence[int] = (), *, sift: bool = False, most: int | None = None) -> Any:
        """Yield checked batches of 4 MB at most; at least one batch, perhaps empty.

        Args:
            groups: the row groups or batches to read.
            sift: whether rows that no device can have sent are left out and counted; else the first is refused. A batch
                with a name is whole, or damaged: none of its rows is left out.
            most: rows of a batch; None for a fast number.

        Raises:
            DataError: if the file is damaged or changed, its columns do not fit the plan, or a row is bad and ``sift``
                is not set; it names the file.
            MismatchError: if a row belongs to another plan.
        """
        with readable(self.place):
            yield from self._read(groups, sift and not self.form.has_batch, most)
        if isinstance(self.place, RemoteFile):
            self.place.release()

    @abstractmethod
    def _read(self, groups: Sequence[int], sift: bool, most: int | None) -> Iterator[CheckedBatch]:
        """Yield checked batches; errors of libraries pass through."""


@dataclass(frozen=True, slots=True, eq=False)
class SourcePart:
    """A part of a source of reports.

    Attributes:
        source: the source.
        groups: row groups or batches of the part; empty for a file of lines.
        rows: number of reports; None if they are not counted yet.
    """

    source: ScannedSource
    groups: tuple[int, ...]
    rows: int | None

    @property
    def bytes(self) -> int:
        """About how many bytes of the file belong to the part."""
        (size, _), whole = self.source.content, self.source.rows
        return size * self.rows // whole if whole and self.rows is not None else size

    @property
    def ticket(self) -> tuple[Any, ...]:
        """The facts of a part of a file by which another machine reads it; see `part_of_ticket`."""
        source = self.source
        return source.place, source.content, source.form.trusted, source.public, self.groups, self.rows

    def batches(self, *, sift: bool = False, most: int | None = None) -> Iterator[CheckedBatch]:
        """Yield checked batches; see `ScannedSource.batches`."""
        yield from self.source.batches(self.groups, sift=sift, most=most)


def part_of_ticket(mechanism: Mechanism, ticket: Sequence[Any]) -> SourcePart:
    """Return the part of a ticket, after checking that the file here is the same.

    Raises:
        DataError: as for `scanned_file`, and if the file has another content than it had.
        MismatchError: if it belongs to another plan.
    """
    path, content, trusted, public, groups, rows = ticket
    # What a file says of itself is read again: it may be large, and another machine reads it now.
    source = scanned_file(path, mechanism, trust_plan=trusted, public=public)
    if source.content != content:
        raise DataError("source.changed", path=path)
    return SourcePart(source, groups, rows)


@dataclass(frozen=True, slots=True, eq=False)
class TableSource(ScannedSource):
    """A Parquet or Arrow file, or a table in memory.

    Attributes:
        table: the inspected table.
        folders: the columns by which the file's folders are named, and which it has not itself, with their one cell.
    """

    table: Any = None
    folders: Mapping[str, str | None] = field(default_factory=dict)

    @property
    def beside(self) -> Sequence[str]:
        """Names of all columns beside the reports, read or not."""
        return list(dict.fromkeys([*stamped_public(self.table.schema), *self.form.extra, *self.folders, *self.public]))

    @property
    def parts(self) -> list[SourcePart]:
        """The parts of the table: runs of neighbouring row groups."""
        runs, groups, rows = list[SourcePart](), list[int](), 0
        for group, size in enumerate(self.table.rows):
            groups.append(group)
            rows += size
            if rows >= PART_ROWS:
                runs.append(SourcePart(self, tuple(groups), rows))
                groups, rows = [], 0
        return [*runs, SourcePart(self, tuple(groups), rows)] if groups or not runs else runs

    def _read(self, groups: Sequence[int], sift: bool, most: int | None) -> Iterator[CheckedBatch]:
        names, public = self.form.names(self.mechanism), [name for name in self.public if name not in self.folders]
        columns, none = [*names, *public], True
        for batch in self.table.read(groups, most or self._batch_rows, columns, labels=public):
            none = False
            yield self._checked(batch, names, sift)
        if none:
            yield self._checked(no_rows(self.table.schema, columns), names, sift)

    def _checked(self, batch: pa.RecordBatch, names: Sequence[str], sift: bool) -> CheckedBatch:
        reports, left_out = batch_reports(self.mechanism, batch.select(names), self.form, sift=sift)
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
        """Yield the cells of columns beside the reports, some of them more than once, with their numbers of reports."""
        there = [name for name in names if name in self.table.schema.names]
        if not there:
            yield tuple(self.folders.get(name) for name in names), self.rows or 0
            return
        with readable(self.place):
            for batch in self.table.read(range(len(self.table.rows)), BATCH_ROWS, there, labels=there):
                table = pa.Table.from_batches([plain(batch)])
                counted = table.group_by(there).aggregate([([], "count_all")])
                columns = {name: counted[name].to_pylist() for name in (*there, "count_all")}
                for row, count in enumerate(columns["count_all"]):
                    yield tuple(columns[n][row] if n in columns else self.folders.get(n) for n in names), count


def plain(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return a batch, checked, with plain columns instead of dictionaries."""
    batch.validate(full=True)
    fields = [field.with_type(value_type(field.type)) for field in batch.schema]
    return batch.cast(pa.schema(fields))


@dataclass(frozen=True, slots=True, eq=False)
class LinesSource(ScannedSource):
    """A file of JSON lines.

    Attributes:
        state: identity and time of the file when it was scanned.
    """

    state: Any = None

    @property
    def memory(self) -> int:
        """At most about how many bytes the reports take in memory: a text is longer than what it says."""
        with readable(self.place):
            return 0 if self.rows == 0 else text_bytes(self.place)  # type: ignore[arg-type]

    def _read(self, groups: Sequence[int], sift: bool, most: int | None) -> Iterator[CheckedBatch]:
        count, place, trusted = 0, self.place, self.form.trusted
        self.state.check(place)
        with opened_text(place) as text:  # type: ignore[arg-type]
            for texts in _some_lines(lines_of(text, json_reports.longest_line(self.mechanism)), most or LINES_AT_ONCE):
                if sift:
                    yield CheckedBatch(*json_reports.sift_json(self.mechanism, texts, trust_plan=trusted))
                else:
                    yield CheckedBatch(json_reports.from_json(self.mechanism, texts, first=count, trust_plan=trusted))
                count += len(texts)
        self.state.check(place)


def _some_lines(lines: Iterable[str], most: int) -> Iterator[list[str]]:
    """Yield lines, some at a time; at least one list, perhaps empty."""
    letters, texts, none = 0, list[str](), True
    for line in lines:
        texts.append(line)
        letters += len(line)
        if len(texts) == most or letters > _LETTERS:
            yield texts
            letters, texts, none = 0, [], False
    if texts or none:
        yield texts


def scanned_table(name: str, table: Any, mechanism: Mechanism, *, trust_plan: bool, public: Sequence[str]) -> Any:
    """Return a table in memory as a source, after checks of its columns and metadata; errors as for `scanned_file`."""
    held = HeldTable(name, table_of(table))
    with readable(held):
        form = form_of(mechanism, held.schema, trust_plan=trust_plan, public=public)
        return TableSource(held, mechanism, form, sum(held.rows), public=tuple(public), table=held)


def scanned_file(
    path: File, mechanism: Mechanism, *, trust_plan: bool = False, public: Sequence[str] = ()
) -> ScannedSource:
    """Return a file of reports as a source, after checks of its metadata.

    Args:
        path: the file.
        mechanism: what made the reports.
        trust_plan: as for `discreet.formats.sources.Sources`.
        public: names of public columns beside the reports, which it must have then.

    Raises:
        DataError: if it is missing, truncated, does not say its plan, or has other columns than the plan's reports; it
            names the file.
        MismatchError: if it belongs to another plan.
    """
    with readable(path):
        if not path.exists():
            raise FileNotFoundError
        if isinstance(path, RemoteFile):
            path.hold()
        if checked(path, REPORTS, "reports") in LINES:
            refuse_public(public)
            return _scanned_lines(path, mechanism, trust_plan)
        table = look(path)
        folders = {name: cell for name, cell in folder_columns(path).items() if name not in table.schema.names}
        inside = [name for name in public if name not in folders]
        form = form_of(mechanism, table.schema, trust_plan=trust_plan, public=inside)
        content = table.state.size, table.footer
        return TableSource(path, mechanism, form, sum(table.rows), content, tuple(public), table, folders)


def _scanned_lines(path: File, mechanism: Mechanism, trust_plan: bool) -> LinesSource:
    state = FileState.of(path)
    with opened_text(path) as text:
        first = next(lines_of(text, json_reports.longest_line(mechanism)), None)
    form = json_reports.form_of_line(mechanism, first, trust_plan=trust_plan)
    return LinesSource(path, mechanism, form, 0 if first is None else None, (state.size, 0), state=state)


def refuse_public(public: Sequence[str]) -> None:
    """Refuse public columns of a file that has none.

    Raises:
        DataError: if there are to be some.
    """
    if public:
        raise DataError("public.no-columns", names=", ".join(map(repr, public)))
