"""Sources of reports: files, folders, URLs and tables, looked at before any is read, and their parts.

Every file's plan and columns are checked before any part is read; of JSON lines, each with a plan of its own, that of
the first. A part is a run of row groups (Parquet), a run of batches (Arrow), a run of rows of a table in memory or a
whole file (JSON lines): the one way from sources to `Reports`. No report counts twice.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import pyarrow as pa

from discreet.core.batches import NamedBatch, merged
from discreet.core.checks import checked_share
from discreet.core.reports import PLAN, STAMP, Reports
from discreet.core.tally import Tally
from discreet.errors import DataError, ParameterError
from discreet.files.paths import (
    LINES,
    REPORTS,
    File,
    RemoteFile,
    checked,
    folder_columns,
    is_tally,
    lines_of,
    matched,
    opened_text,
)
from discreet.files.reading import Progress, files_in, readable
from discreet.files.stored import FileState, HeldTable, StoredTable, look, no_rows, read_groups
from discreet.formats import json_reports
from discreet.formats.tallies import read_tally
from discreet.mechanisms import Mechanism
from discreet.mechanisms.report_tables import (
    Form,
    batch_reports,
    form_of,
    stamped_public,
    table_of,
    warn_of,
)
from discreet.mechanisms.row_checks import Checked


@dataclass(frozen=True, slots=True, eq=False)
class Sources:
    """The files, folders, URLs and tables of reports, and how they are read.

    Whatever takes sources takes what ``of`` may be, too.

    Attributes:
        of: files of reports or tallies (``.tally.parquet``, say), folders of such files, URLs of either, patterns of
            names (``2026-*.parquet``); tables of
            reports of pandas, polars, DuckDB, Arrow or anything else that has ``__arrow_c_stream__``; or several of
            these.
        bad_share: the share of rows, in 0..1, that may be nothing a device can have sent: they are left out and
            counted. By default the first one is refused, and always in a source with the name of a batch.
        trust_plan: whether you vouch that sources which do not say their plan hold reports of this one; sources that
            say another plan are refused all the same (`discreet.mechanisms.report_tables`).
        progress: called now and then with the rows done and the rows in all; None if nobody wants to know.

    Raises:
        ParameterError: if a parameter is out of range, or a source is none of these.

    Example:
        >>> import discreet as dc, pyarrow as pa
        >>> mechanism = dc.RandomizedResponse(dc.Domain(["yes", "no"]), epsilon=1.0)
        >>> table = pa.table({"symbol": [0, 0, 1, None]})
        >>> import warnings
        >>> from discreet.engines import tally
        >>> with warnings.catch_warnings(action="ignore"):
        ...     counted = tally(mechanism, Sources(table, trust_plan=True, bad_share=0.5))
        >>> counted.tally.n, counted.left_out
        (3, {'hold neither a whole block nor a value in clear': 1})
    """

    of: Any
    _: KW_ONLY
    bad_share: float = 0.0
    trust_plan: bool = False
    progress: Progress | None = None

    def __post_init__(self) -> None:
        checked_share("bad_share", self.bad_share)
        is_single = isinstance(self.of, str) or _is_table(self.of) or not isinstance(self.of, Iterable)
        named = (self.of,) if is_single else tuple(self.of)
        wrong = [place for place in named if not isinstance(place, str | File) and not _is_table(place)]
        if wrong:
            raise ParameterError(
                "sources must be files, folders, URLs or tables of Arrow, pandas, polars or DuckDB, got "
                f"{type(wrong[0]).__name__}."
            )
        object.__setattr__(self, "of", named)

    @property
    def sift(self) -> bool:
        """True if bad rows are left out and counted."""
        return self.bad_share > 0

    @property
    def named(self) -> list[File]:
        """The files and folders, without tables; errors as for `matched`."""
        return [path for place in self.of if not _is_table(place) for path in matched(place)]

    @property
    def tables(self) -> list[Any]:
        """The tables."""
        return [place for place in self.of if _is_table(place)]

    @property
    def files(self) -> list[File]:
        """The files of reports and tallies, those in folders too; errors as for `files_in`."""
        return report_files(self.named)

    def without_sifting(self, why: str) -> "Sources":
        """Return these sources; refuse them if rows are to be left out.

        Raises:
            ParameterError: if it is so; ``why`` they cannot be.
        """
        if self.sift:
            raise ParameterError(f"bad_share must be 0 here: {why}.")
        return self


def _is_table(place: object) -> bool:
    return hasattr(place, "__arrow_c_stream__") or hasattr(place, "sparkSession")


def sources_of(reports: Any) -> Sources:
    """Return sources; files, folders, URLs and tables alone are read with the usual care."""
    return reports if isinstance(reports, Sources) else Sources(reports)


# Rows per part: enough work to be worth handing out. Rows and bytes per batch: what stays in the cache while it is
# checked and counted.
_PART_ROWS = 1 << 21
_BATCH_ROWS = 1 << 20
_BATCH_BYTES = 1 << 22
# Bytes of small files of services that are held until they are read.
_MOST_HELD = 1 << 28
_NAMES_SHOWN = 5
_LINES, _LETTERS = 1 << 16, 1 << 25

Place: TypeAlias = File | HeldTable
"""A file, or a table in memory."""


@dataclass(frozen=True, slots=True, eq=False)
class Partition:
    """A part of a source of reports.

    Attributes:
        path: the file, or the table in memory.
        mechanism: what made the reports.
        groups: row groups, batches or stretches of the part; empty for a file of lines.
        rows: number of reports; None if they are not counted yet.
        state: identity and time of the file when it was inspected; None of a table in memory.
        form: what the source says about itself.
        table: the inspected table; None for a file of lines.
        public: names of the public columns beside the reports that are read too; see `public_rows`.
    """

    path: Place
    mechanism: Mechanism
    groups: Sequence[int]
    rows: int | None
    state: FileState | None
    form: Form
    table: StoredTable | HeldTable | None = None
    public: tuple[str, ...] = ()

    @property
    def content(self) -> tuple[int, int]:
        """The file's size and the CRC-32 of its footer (0 for lines): the same wherever the file is seen from."""
        return (0 if self.state is None else self.state.size), 0 if self.table is None else self.table.footer

    @property
    def bytes(self) -> int:
        """About how many bytes of the file belong to the part."""
        whole = 0 if self.table is None else sum(self.table.rows)
        size = 0 if self.state is None else self.state.size
        return size if not whole or self.rows is None else size * self.rows // whole

    @property
    def ticket(self) -> "Ticket":
        """The facts of a part of a file by which another machine reads it."""
        assert not isinstance(self.path, HeldTable)
        return Ticket(self.path, tuple(self.groups), self.rows, self.content, self.form.trusted, self.public)

    def reports(self, *, sift: bool = False, most: int | None = None) -> Iterator[Checked]:
        """Yield the reports of the part, checked, in batches of 4 MB at most; at least one batch, perhaps empty.

        Args:
            sift: whether rows that no device can have sent are left out and counted; else the first is refused. A batch
                with a name is whole, or damaged: none of its rows is left out.
            most: rows of a batch; None for what is fast.

        Raises:
            DataError: if the file is damaged or not what it was, its columns are not those of the plan's reports, or a
                row is bad and none is to be left out; it names the file.
            MismatchError: if a row belongs to another plan.
        """
        sift, lines = sift and not self.form.has_batch, self.table is None
        read = self._of_lines(sift, most or _LINES) if lines else self._of_table(sift, most or self._batch_rows)
        return (checked for checked, _ in self._through(read))

    def batches(self, *, sift: bool) -> Iterator[tuple[Any, Mapping[str, int]]]:
        """Yield batches for folds: reports, with the public columns where these are read too, and rows left out."""
        if not self.public:
            yield from self.reports(sift=sift)
            return
        for rows in self.public_rows():
            yield rows, {}

    def _through(self, read: Iterator[tuple[Checked, Any]]) -> Iterator[tuple[Checked, Any]]:
        with readable(self.path):
            yield from read
        if isinstance(self.path, RemoteFile):
            self.path.release()

    def _of_table(self, sift: bool, most: int, public: Sequence[str] = ()) -> Iterator[tuple[Checked, pa.RecordBatch]]:
        assert self.table is not None
        names, none = self.form.names(self.mechanism), not public
        for batch in read_groups(self.table, self.groups, most, [*names, *public], labels=public):
            none = False
            yield batch_reports(self.mechanism, batch.select(names), self.form, sift=sift), batch
        if none:
            none_of = no_rows(self.table.schema, names)
            yield batch_reports(self.mechanism, none_of, self.form, sift=sift), none_of

    @property
    def _batch_rows(self) -> int:
        width = sum(column.bytes for column in self.mechanism.columns)
        return min(max(_BATCH_BYTES // width, 1), _BATCH_ROWS)

    @property
    def kept(self) -> list[str]:
        """The names of the public columns of which the stamp says that they are beside the reports."""
        return [] if self.table is None else stamped_public(self.table.schema)

    @property
    def beside(self) -> list[str]:
        """The names of all columns beside the reports, read or not."""
        return [*self.kept, *self.form.extra, *self.folders]

    @property
    def folders(self) -> dict[str, str | None]:
        """The columns by which the file's folders are named, and which it has not itself, with their one cell."""
        if self.table is None or isinstance(self.path, HeldTable):
            return {}
        return columns_of_folders(self.path, self.table.schema)

    def public_rows(self) -> Iterator[tuple[Reports, pa.RecordBatch]]:
        """Yield the reports of the part, checked, with the public columns beside them; errors as for `reports`."""
        inside = [name for name in self.public if name not in self.folders]
        for (reports, _), rows in self._through(self._of_table(False, self._batch_rows, inside)):
            cells = {name: pa.repeat(pa.scalar(cell, pa.string()), reports.n) for name, cell in self.folders.items()}
            columns = [rows[name] if name in inside else cells[name] for name in self.public]
            yield reports, pa.record_batch(columns, list(self.public))

    def _of_lines(self, sift: bool, most: int) -> Iterator[tuple[Checked, None]]:
        count = 0
        assert self.state is not None
        assert not isinstance(self.path, HeldTable)
        self.state.check(self.path)
        with opened_text(self.path) as text:
            for texts in _some_lines(lines_of(text, json_reports.longest_line(self.mechanism)), most):
                if sift:
                    yield json_reports.sift_json(self.mechanism, texts, trust_plan=self.form.trusted), None
                else:
                    trusted = self.form.trusted
                    reports = json_reports.from_json(self.mechanism, texts, first=count, trust_plan=trusted)
                    yield (reports, Counter()), None
                count += len(texts)
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


def stamped_plan(file: File) -> str:
    """Return the plan that a file of reports or a tally says it is of; empty if it says none.

    Raises:
        DataError: if it cannot be read; it names the file.
    """
    with readable(file):
        if checked(file, REPORTS, "reports") in LINES:
            with opened_text(file) as text:
                stamp: Any = text.readline(_LETTERS)
        else:
            stamp = (look(file).schema.metadata or {}).get(STAMP, "")
    with suppress(KeyError, TypeError, ValueError, RecursionError):
        return str(json.loads(stamp)[PLAN])
    return ""


def columns_of_folders(path: File, schema: pa.Schema) -> dict[str, str | None]:
    """Return the columns by which a file's folders are named, and which it has not itself, with their one cell."""
    return {name: cell for name, cell in folder_columns(path).items() if name not in schema.names}


def partitions_of(
    place: Place, mechanism: Mechanism, *, trust_plan: bool = False, public: Sequence[str] = ()
) -> list[Partition]:
    """Return the parts of a source of reports, after checks of its metadata.

    Args:
        place: the file, or the table in memory.
        mechanism: what made the reports.
        trust_plan: as for `Sources`.
        public: names of public columns beside the reports, which it must have then.

    Raises:
        DataError: if it is missing, truncated, does not say its plan, or has other columns than the plan's reports; it
            names the file.
        MismatchError: if it belongs to another plan.
    """
    with readable(place):
        if isinstance(place, HeldTable):
            form = form_of(mechanism, place.schema, trust_plan=trust_plan, public=public)
            return _runs(Partition(place, mechanism, (), 0, None, form, place, tuple(public)))
        if not place.exists():
            raise FileNotFoundError
        if isinstance(place, RemoteFile):
            place.hold()
        if checked(place, REPORTS, "reports") in LINES:
            refuse_public(public)
            state = FileState.of(place)
            with opened_text(place) as text:
                lines = lines_of(text, json_reports.longest_line(mechanism))
                form = json_reports.form_of_lines(mechanism, lines, trust_plan=trust_plan)
            with opened_text(place) as text:
                return [Partition(place, mechanism, (), None if text.read(1) else 0, state, form)]
        table = look(place)
        inside = [name for name in public if name not in columns_of_folders(place, table.schema)]
        form = form_of(mechanism, table.schema, trust_plan=trust_plan, public=inside)
        return _runs(Partition(place, mechanism, (), 0, table.state, form, table, tuple(public)))


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


@dataclass(frozen=True, slots=True, eq=False)
class Ticket:
    """The facts of a part by which another machine reads it.

    Attributes:
        path: the file.
        groups: as of the part.
        rows: as of the part.
        content: `Partition.content`.
        trust_plan: whether the file was let through on the caller's word.
        public: as of the part.
    """

    path: File
    groups: Sequence[int]
    rows: int | None
    content: tuple[int, int]
    trust_plan: bool
    public: tuple[str, ...] = ()

    def part(self, mechanism: Mechanism) -> Partition:
        """Return the part, after checking that the file here is the same.

        Raises:
            DataError: as for `partitions_of`, and if the file has not the `Partition.content` that it had.
            MismatchError: if it belongs to another plan.
        """
        # What a file says of itself is read again: it may be large, and another machine reads it now.
        whole, *_ = partitions_of(self.path, mechanism, trust_plan=self.trust_plan, public=self.public)
        if whole.content != self.content:
            raise DataError(
                f"{self.path} is not the file that was checked before; see that all machines see the same files."
            )
        return replace(whole, groups=self.groups, rows=self.rows)


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


class SourceBatches(NamedTuple):
    """The batches of one source.

    Attributes:
        path: the file, or the table in memory.
        batches: those with a name, or parts of such.
        others: whether it holds other reports.
    """

    path: Place
    batches: Sequence[NamedBatch]
    others: bool


@dataclass(frozen=True, eq=False)
class SourceSurvey:
    """The sources of a run, looked at.

    Attributes:
        tallies: by their files, in order.
        parts: of all files of reports, in order.
    """

    tallies: Mapping[File, Tally]
    parts: Sequence[Partition]

    def refuse_tallies(self, why: str) -> None:
        """Refuse tallies where reports are needed.

        Raises:
            ParameterError: if there is one; ``why`` it is of no use.
        """
        if self.tallies:
            raise ParameterError(f"{why}; leave the {len(self.tallies)} tallies out.")

    @property
    def beside(self) -> tuple[str, ...]:
        """The names of the columns beside the reports, read or not."""
        return tuple(dict.fromkeys(name for part in self.parts for name in part.beside))

    @cached_property
    def sources(self) -> list[SourceBatches]:
        """The batches of each file of reports, table and tally."""
        listed = list[SourceBatches]()
        for path, parts in _by_file(self.parts).items():
            # Lines are counted when they are read.
            n = rows_in(parts)
            batch = parts[0].form.batch(n or 0)
            listed.append(SourceBatches(path, (), n != 0) if batch is None else SourceBatches(path, (batch,), False))
        for path, tally in self.tallies.items():
            listed.append(SourceBatches(path, tally.batches, tally.rest_n > 0))
        return listed

    @cached_property
    def batches(self) -> tuple[NamedBatch, ...]:
        """The batches among the files of reports, without those in tallies."""
        return merged(batch for source in self.sources if source.path not in self.tallies for batch in source.batches)

    @property
    def name(self) -> str:
        """The name of the one batch that all sources are; empty if they are several, or a part, or have no name."""
        batches = merged(batch for source in self.sources for batch in source.batches)
        alone = len(batches) == 1 and batches[0].is_whole and not any(source.others for source in self.sources)
        return batches[0].name if alone else ""

    def whole(self, reports: Tally) -> Tally:
        """Return the tally of everything, with the batches that it counted.

        Args:
            reports: the tally of all parts, which were read.
        """
        return sum(self.tallies.values(), start=replace(reports, batches=self.batches))

    def beyond(self, counted: Tally) -> "SourceSurvey":
        """Return the sources without what a tally has counted, which is not read.

        Raises:
            DataError: if a batch has another number of reports than was counted under its name; it names the file.
            ParameterError: if a source is not a whole batch with a name, so that it would not be recognised the next
                time; it names the source.
        """
        known = {batch.name: batch for batch in counted.batches}
        new = set[Place]()
        for path, batches, others in self.sources:
            if others or not all(batch.is_whole for batch in batches):
                raise ParameterError(
                    f"{path} must hold whole batches with names: no other reports are recognised the next time."
                )
            if any(known.get(batch.name, batch) != batch for batch in batches):
                raise DataError(
                    f"{path} holds another number of reports of a batch than was counted; take that batch out first."
                )
            if not batches or any(batch.name not in known for batch in batches):
                new.add(path)
        tallies = {path: tally for path, tally in self.tallies.items() if path in new}
        return replace(self, tallies=tallies, parts=[part for part in self.parts if part.path in new])

    def refuse_twice(self) -> None:
        """Refuse sources that together hold more reports of a batch than it has.

        Raises:
            DataError: if there are some; it names them.
        """
        by_name: dict[str, list[tuple[Place, NamedBatch]]] = {}
        for path, batches, _ in self.sources:
            for batch in batches:
                by_name.setdefault(batch.name, []).append((path, batch))
        for parts in by_name.values():
            n, size = sum(batch.n for _, batch in parts), max(batch.size for _, batch in parts)
            if n > size:
                places = " and ".join(str(path) for path, _ in parts[:_NAMES_SHOWN])
                alone = "holds", "it has reports twice, or was put together from several batches"
                verb, advice = alone if len(parts) == 1 else ("hold", "read each report once")
                raise DataError(f"{places} {verb} {n:,} reports of batch {parts[0][1]}, which has {size:,}; {advice}.")


def _by_file(parts: Sequence[Partition]) -> dict[Place, list[Partition]]:
    by_path: dict[Place, list[Partition]] = {}
    for part in parts:
        by_path.setdefault(part.path, []).append(part)
    return by_path


def surveyed(mechanism: Mechanism, sources: Any, public: Sequence[str] = ()) -> SourceSurvey:
    """Return the tallies among the sources, and the parts of all reports, in order.

    Warns of what is taken on the caller's word, and of columns that are not read.

    Args:
        mechanism: what made the reports.
        sources: `Sources`, or what they may be of.
        public: names of columns beside the reports that all sources must have, and no tally has.

    Raises:
        DataError: if a file is missing, truncated, or not of this plan's reports, or together they hold more reports
            of a batch than it has; it names the file.
        MismatchError: if a file belongs to another plan.
        ParameterError: if a parameter is out of range, or a file is named twice, by itself or with its folder.
    """
    read = sources_of(sources)
    files = read.files
    tallies = {path: read_tally(path, mechanism) for path in files if is_tally(path)}
    if tallies:
        refuse_public(public)
    if len(set(map(id, read.tables))) < len(read.tables):
        raise ParameterError("a table is named twice; name it once.")
    held = [HeldTable(f"table {number}", table_of(table)) for number, table in enumerate(read.tables, start=1)]
    places: list[Place] = [*(path for path in files if path not in tallies), *held]
    parts, held_size = list[Partition](), 0
    for place in places:
        parts += partitions_of(place, mechanism, trust_plan=read.trust_plan, public=public)
        if isinstance(place, RemoteFile):
            held_size += place.held
            if held_size > _MOST_HELD:
                place.release()
    forms = {id(part.path): part.form for part in parts}
    warn_of(list(forms.values()), mechanism.fingerprint, kind="tables" if not files else "files")
    survey = SourceSurvey(tallies, parts)
    survey.refuse_twice()
    return survey


def rows_in(parts: Sequence[Partition]) -> int | None:
    """Return the number of rows in parts; None if some are not counted yet."""
    counts = [part.rows for part in parts]
    return None if None in counts else sum(count for count in counts if count)
