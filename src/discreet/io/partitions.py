"""Parts of files of reports, which can be read separately, several at a time: the one way from files to `Reports`.

A part is a run of row groups (Parquet), a run of batches (Arrow) or a whole file (JSON lines). Every file's plan and
columns are checked before any part is read; of JSON lines, each with a plan of its own, that of the first.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import pyarrow as pa

from discreet.arrays import IntArray
from discreet.core.digests import digesting
from discreet.core.reports import Reports
from discreet.errors import DataError
from discreet.io import arrow, json_reports
from discreet.io.arrow import is_stamped
from discreet.io.dictionary_pages import distinct_rows
from discreet.io.endings import lines_of, opened_text
from discreet.io.folders import files_in
from discreet.io.kept_columns import RESERVED
from discreet.io.read_errors import readable
from discreet.io.remote import File, RemoteFile
from discreet.io.rewritten import Form, form_of, rewritten_reports
from discreet.io.stored import FileState, StoredTable, look, no_rows, read_groups
from discreet.io.suffixes import LINES, REPORTS, checked
from discreet.mechanisms import Mechanism

# Rows per part: enough work to be worth handing out. Rows and bytes per batch: what stays in the cache while it is
# checked and counted.
_PART_ROWS = 1 << 21
_BATCH_ROWS = 1 << 20
_BATCH_BYTES = 1 << 22
_NAMES_SHOWN = 5
# Values of a column that are counted before they are looked at.
_MOST_DISTINCT = 1 << 16
_LINES, _LETTERS = 1 << 16, 1 << 25

Checked: TypeAlias = tuple[Reports, Counter[str]]
"""Reports, each of which a device can have sent, and the number of rows left out beside them by reason."""


@dataclass(slots=True, eq=False)
class Seen:
    """The reports that the last reading of a part has come through.

    Attributes:
        n: how many.
        digest: their order-free digest.
    """

    n: int = 0
    digest: int = 0

    def add(self, mechanism: Mechanism, reports: Reports) -> None:
        """Add reports."""
        self.n += reports.n
        self.digest += digesting(mechanism).of(reports)


@dataclass(frozen=True, slots=True, eq=False)
class Partition:
    """A part of a file of reports.

    Attributes:
        path: the file.
        mechanism: what made the reports.
        groups: row groups or batches of the part; empty for a file of lines.
        rows: number of reports; None if they are not counted yet.
        state: identity and time of the file when it was inspected.
        table: the inspected table; None for a file of lines.
        form: the form of a file that another tool rewrote; None for discreet's own format.
        public: names of the public columns beside the reports that are read too; see `public_rows`.
        seen: what the last reading has come through.
    """

    path: File
    mechanism: Mechanism
    groups: Sequence[int]
    rows: int | None
    state: FileState
    table: StoredTable | None = None
    form: Form | None = None
    public: tuple[str, ...] = ()
    seen: Seen = field(default_factory=Seen, init=False)

    @property
    def content(self) -> tuple[int, int]:
        """The file's size and the CRC-32 of its footer (0 for lines): the same wherever the file is seen from."""
        return self.state.size, 0 if self.table is None else self.table.footer

    def reports(self, *, sift: bool = False, most: int | None = None) -> Iterator[Checked]:
        """Yield the reports of the part, checked, in batches of 4 MB at most; at least one batch, perhaps empty.

        Args:
            sift: whether rows that no device can have sent are left out and counted; else the first is refused.
            most: rows of a batch; None for what is fast.

        Raises:
            DataError: if the file is damaged or not what it was, its columns are not those of the plan's reports, or a
                row is bad and none is to be left out; it names the file.
            MismatchError: if a row belongs to another plan.
        """
        with readable(self.path):
            self._begin()
            for checked in self._of_lines(sift, most or _LINES) if self.table is None else self._of_table(sift, most):
                self.seen.add(self.mechanism, checked[0])
                yield checked

    def _of_table(self, sift: bool, most: int | None) -> Iterator[Checked]:
        assert self.table is not None
        names, none = self._names, True
        for batch in read_groups(self.table, self.groups, most or self._batch_rows, names):
            none = False
            yield self._checked(batch, sift)
        if none:
            yield self._checked(no_rows(self.table.schema, names), sift)

    def _begin(self) -> None:
        self.seen.n = self.seen.digest = 0

    def distinct(self) -> tuple[Reports, IntArray] | None:
        """Return the distinct reports of the part, checked, and how often each is there.

        Returns:
            None where `reports` is not known to give the same, or to take longer (`discreet.io.dictionary_pages`). It
            finds what is wrong with the file, too.
        """
        columns, table = self.mechanism.columns, self.table
        if self.form is not None or table is None or isinstance(self.path, RemoteFile) or len(columns) > 1:
            return None
        bound = columns[0].bound
        if columns[0].width is not None or bound is None or bound > _MOST_DISTINCT:
            return None
        try:
            found = distinct_rows(table, self.groups, bound)
            reports = None if found is None else self._checked(found[0], False)[0]
        except DataError:
            return None
        if found is None or reports is None:
            return None
        self.seen.n, self.seen.digest = int(found[1].sum()), digesting(self.mechanism).of_repeated(reports, found[1])
        return reports, found[1]

    @property
    def _batch_rows(self) -> int:
        width = sum(column.bytes for column in self.mechanism.columns)
        return min(max(_BATCH_BYTES // width, 1), _BATCH_ROWS)

    @property
    def _names(self) -> list[str] | None:
        """The columns of reports, as far as they are not all that there are; None for all."""
        if self.form is not None:
            return self.form.names(self.mechanism)
        own = [column.name for column in self.mechanism.columns]
        return None if self.table is not None and self.table.schema.names == own else own

    @property
    def kept(self) -> list[str]:
        """The names of the public columns of which the stamp says that they are beside the reports."""
        return [] if self.table is None else arrow.stamped_public(self.table.schema)

    @property
    def unread(self) -> list[str]:
        """The names of the columns that are beside the reports, are not read, and which the stamp does not name."""
        if self.form is not None or self.table is None:
            return [] if self.form is None else list(self.form.extra)
        known = {*(column.name for column in self.mechanism.columns), *self.public, *self.kept}
        return [name for name in self.table.schema.names if name not in known]

    def public_rows(self) -> Iterator[tuple[Reports, pa.RecordBatch]]:
        """Yield the reports of the part, checked, with the public columns beside them; errors as for `reports`."""
        assert self.table is not None
        names = self._names or []
        with readable(self.path):
            self._begin()
            asked = [*names, *self.public]
            for batch in read_groups(self.table, self.groups, self._batch_rows, asked, labels=self.public):
                reports = self._checked(batch.select(names), False)[0]
                self.seen.add(self.mechanism, reports)
                yield reports, batch.select(list(self.public))

    def _checked(self, batch: pa.RecordBatch, sift: bool) -> Checked:
        if self.form is not None:
            return rewritten_reports(self.mechanism, batch, self.form, sift=sift)
        table = pa.Table.from_batches([batch])
        return arrow.sift_arrow(self.mechanism, table) if sift else (arrow.from_arrow(self.mechanism, table), Counter())

    def _of_lines(self, sift: bool, most: int) -> Iterator[Checked]:
        found = 0
        self.state.check(self.path)
        with opened_text(self.path) as text:
            for texts in _some_lines(lines_of(text, json_reports.longest_line(self.mechanism)), most):
                if sift:
                    yield json_reports.sift_json(self.mechanism, texts, form=self.form)
                else:
                    yield json_reports.from_json(self.mechanism, texts, first=found, form=self.form), Counter()
                found += len(texts)
        if self.rows is not None and found != self.rows:
            raise DataError(f"the file holds {found} lines where its manifest says {self.rows}.")
        self.state.check(self.path)


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


def report_files(sources: Iterable[str | File]) -> list[File]:
    """Return the files of reports and tallies that are named; arguments and errors as for `files_in`."""
    return files_in(sources, REPORTS, "reports")


def partitions_of(
    path: File, mechanism: Mechanism, *, trust_plan: bool = False, public: Sequence[str] = ()
) -> list[Partition]:
    """Return the parts of a file of reports, after checks of its metadata.

    Args:
        path: the file.
        mechanism: what made the reports.
        trust_plan: whether the caller vouches that files which do not say their plan, or are not as discreet writes
            them, hold reports of this plan; see `discreet.io.rewritten`.
        public: names of public columns beside the reports, which the file must have then.

    Raises:
        DataError: if it is missing, truncated, does not say its plan, or has other columns than the plan's reports; it
            names the file.
        MismatchError: if it belongs to another plan.
    """
    with readable(path):
        if not path.exists():
            raise FileNotFoundError
        if checked(path, REPORTS, "reports") in LINES:
            refuse_public(public)
            state = FileState.of(path)
            with opened_text(path) as text:
                lines = lines_of(text, json_reports.longest_line(mechanism))
                form = json_reports.form_of_lines(mechanism, lines, trust_plan=trust_plan)
            with opened_text(path) as text:
                return [Partition(path, mechanism, (), None if text.read(1) else 0, state, None, form)]
        table = look(path)
        own = _beside(table.schema, mechanism, public)
        form = form_of(mechanism, own, trust_plan=trust_plan)
        return _runs(Partition(path, mechanism, (), 0, table.state, table, form, tuple(public)))


def refuse_public(public: Sequence[str]) -> None:
    """Refuse public columns of a file that has none.

    Raises:
        DataError: if there are to be some.
    """
    if public:
        raise DataError(
            f"the public columns {', '.join(map(repr, public))} are read from Parquet and Arrow files of reports, not "
            "from lines of JSON or tallies."
        )


def _beside(schema: pa.Schema, mechanism: Mechanism, public: Sequence[str]) -> pa.Schema:
    """Return a schema without what is beside the reports, where the public columns must be, each once.

    That are the columns that the stamp says were kept there. Where public ones are read, it is every other column of a
    file that says its plan; else the public ones, and the form tells the others.
    """
    ours = {column.name for column in mechanism.columns}
    if ours & set(public):
        raise DataError(f"a public column must not be one of the reports' own, {', '.join(sorted(ours))}.")
    missing = [name for name in public if schema.names.count(name) != 1]
    if missing:
        others = [name for name in schema.names if name not in ours]
        there = ", ".join(repr(name[:40]) for name in others[:_NAMES_SHOWN]) or "none"
        raise DataError(f"the file must have the public column {missing[0]!r} once; beside the reports it has {there}.")
    beside = {*public, *(arrow.stamped_public(schema))} - RESERVED - ours
    if public and is_stamped(schema):
        beside |= {*schema.names} - ours
    return pa.schema([field for field in schema if field.name not in beside], schema.metadata)


def partition_elsewhere(
    path: File,
    groups: Sequence[int],
    rows: int | None,
    content: tuple[int, int],
    mechanism: Mechanism,
    *,
    trust_plan: bool = False,
    public: Sequence[str] = (),
) -> Partition:
    """Return a part on another machine, after checking that the file there is the same.

    Raises:
        DataError: as for `partitions_of`, and if the file has not the `Partition.content` that it had.
        MismatchError: if it belongs to another plan.
    """
    whole, *_ = partitions_of(path, mechanism, trust_plan=trust_plan, public=public)
    if whole.content != content:
        raise DataError(f"{path} is not the file that was checked before; see that all machines see the same files.")
    return replace(whole, groups=groups, rows=rows)


def _runs(whole: Partition) -> list[Partition]:
    """Return parts of neighbouring row groups; at least one part, which also carries the mark of simulation."""
    runs, groups, rows = list[Partition](), list[int](), 0
    for place, size in enumerate(() if whole.table is None else whole.table.rows):
        groups.append(place)
        rows += size
        if rows >= _PART_ROWS:
            runs.append(replace(whole, groups=tuple(groups), rows=rows))
            groups, rows = [], 0
    if groups or not runs:
        runs.append(replace(whole, groups=tuple(groups), rows=rows))
    return runs
