"""Sources of reports: files, folders, URLs and tables. All are scanned before the first is read.

    paths -> Sources -> ScannedSources -> SourceReader -> checked batches -> tally, evidence or table

A scan checks the plan and the columns of every file (of JSON lines only the first line), and that no named batch is
read twice. A reader yields the checked batches of all sources, and compares the numbers of rows at the end.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Any, Self

import numpy as np

from discreet.arrays import IntArray
from discreet.core.batches import NamedBatch, merged
from discreet.core.checks import checked_share
from discreet.core.reports import PLAN, STAMP
from discreet.core.tally import GroupedTally, Tally
from discreet.errors import DataError, ParameterError
from discreet.files.paths import LINES, REPORTS, TABLES, File, RemoteFile, checked, is_tally, matched, opened_text
from discreet.files.reading import Progress, files_in, prefetched, readable
from discreet.files.stored import look
from discreet.formats.scanned import (
    Asked,
    CheckedBatch,
    Place,
    ScannedSource,
    SourcePart,
    refuse_public,
    scanned_file,
    scanned_table,
)
from discreet.formats.tallies import read_tally
from discreet.mechanisms import Mechanism
from discreet.mechanisms.report_tables import warn_about_tables
from discreet.mechanisms.row_checks import reasons

# The most bytes of small files at URLs that stay in memory until they are read.
_MOST_HELD = 1 << 28
# Copies of the reports in memory: as batches, as one array, and in the arrangement that the law needs.
_COPIES = 3
_NAMES_SHOWN, _LETTERS = 5, 1 << 25
# The first entries of an account: reports, simulated reports, simulated batches; then rows left out for each reason.
_REASONS = 3


@dataclass(frozen=True, slots=True, eq=False)
class Sources:
    """The files, folders, URLs and tables with reports, and options for reading them.

    Functions that take `Sources` also accept any value that ``of`` accepts.

    Attributes:
        of: files of reports or tallies (such as ``.tally.parquet``), folders of such files, URLs of either, patterns of
            names (``2026-*.parquet``); tables of reports of pandas, polars, DuckDB, Arrow or any library with
            ``__arrow_c_stream__``; or a list of these.
        bad_share: the largest share of rows, in 0..1, that no device can have sent. These rows are left out and
            counted. By default such a row is an error. In a source with a named batch it is always an error.
        count: the column with the number of reports of each row, in every file and table. By default a column ``count``
            of a table without metadata has these numbers.
        trust_plan: whether you state that sources without a fingerprint hold reports of this plan. Sources of another
            plan are errors even then (`discreet.mechanisms.report_tables`).
        progress: a function that is called repeatedly with the rows done and the number of all rows; None for none.

    Raises:
        ParameterError: if a parameter is out of range, or a source has another type.

    Example:
        >>> import discreet as dc, pyarrow as pa
        >>> mechanism = dc.RandomizedResponse(dc.Domain(["yes", "no"]), epsilon=1.0)
        >>> table = pa.table({"symbol": [0, 0, 1, None]})
        >>> import warnings
        >>> from discreet.engines import tally
        >>> with warnings.catch_warnings(action="ignore"):
        ...     counted = tally(mechanism, Sources(table, trust_plan=True, bad_share=0.5))
        >>> counted.tally.n, counted.left_out
        (3, {'have neither a whole block nor a value in clear': 1})
    """

    of: Any
    _: KW_ONLY
    bad_share: float = 0.0
    trust_plan: bool = False
    count: str | None = None
    progress: Progress | None = None

    def __post_init__(self) -> None:
        checked_share("bad_share", self.bad_share)
        is_single = isinstance(self.of, str) or _is_table(self.of) or not isinstance(self.of, Iterable)
        named = (self.of,) if is_single else tuple(self.of)
        wrong = [place for place in named if not isinstance(place, str | File) and not _is_table(place)]
        if wrong:
            raise ParameterError("sources.wrong-type", kind=type(wrong[0]).__name__)
        object.__setattr__(self, "of", named)

    @property
    def named(self) -> list[File]:
        """The paths of the files and folders, with patterns resolved, and without tables; errors as for `matched`."""
        return [path for place in self.of if not _is_table(place) for path in matched(place)]

    @property
    def tables(self) -> list[Any]:
        """The tables in memory."""
        return [place for place in self.of if _is_table(place)]

    @property
    def files(self) -> list[File]:
        """The files of reports and tallies, including files in folders; errors as for `files_in`."""
        return report_files(self.named)

    def with_all_rows(self) -> "Sources":
        """Return the sources, or raise an error if `bad_share` allows that rows are left out.

        Raises:
            ParameterError: if ``bad_share`` is above 0.
        """
        if self.bad_share > 0:
            raise ParameterError("bad-share.not-0", argument="bad_share")
        return self

    def refuse_output(self, target: Path) -> None:
        """Raise an error for an output that is one of the sources, or is inside a folder of sources.

        Raises:
            ParameterError: if the output is one of the sources, or inside a folder of sources.
        """
        for source in self.named:
            if isinstance(source, Path) and source.is_dir() and target.resolve().is_relative_to(source.resolve()):
                raise ParameterError("output.in-source", path=target, source=source)
        if target.exists() and any(target.samefile(path) for path in self.files if isinstance(path, Path)):
            raise ParameterError("output.is-source", path=target)

    def scan(self, mechanism: Mechanism, public: Sequence[str] = ()) -> "ScannedSources":
        """Check the metadata of all sources. Warn of files without a plan's fingerprint, and of columns not read.

        Args:
            mechanism: the mechanism that made the reports.
            public: the names of public columns that all sources must have. Tallies have no such columns, and no rows
                can be left out then.

        Raises:
            DataError: if a file is missing, truncated, or does not hold reports of this plan, or if the files together
                hold more reports of a batch than the batch has. The error names the file.
            MismatchError: if a file belongs to another plan.
            ParameterError: if a parameter is out of range, or a file is named twice, by itself or with its folder.
        """
        files, tables = self.files, self.tables
        tallies = {path: read_tally(path, mechanism) for path in files if is_tally(path)}
        if tallies:
            refuse_public(public)
        if public:
            self.with_all_rows()
        if len(set(map(id, tables))) < len(tables):
            raise ParameterError("sources.table-twice")
        asked = Asked(self.trust_plan, tuple(public), self.count, self.bad_share)
        scanned, held = dict[Any, ScannedSource | GroupedTally](), 0
        for path in (path for path in files if path not in tallies):
            scanned[path] = scanned_file(path, mechanism, asked)
            if isinstance(path, RemoteFile):
                held += path.held
                if held > _MOST_HELD:
                    path.release()
        named = {f"table {at}": table for at, table in enumerate(tables, start=1)}
        scanned |= {name: scanned_table(name, table, mechanism, asked) for name, table in named.items()}
        counts = {place: source for place, source in scanned.items() if isinstance(source, GroupedTally)}
        sources = [source for source in scanned.values() if isinstance(source, ScannedSource)]
        forms = [source.form for source in sources]
        warn_about_tables(forms, mechanism.fingerprint, kind="tables" if not files else "files")
        scan = ScannedSources(mechanism, self, tallies, sources, counts)
        scan.refuse_twice()
        return scan


def _is_table(place: object) -> bool:
    return hasattr(place, "__arrow_c_stream__") or hasattr(place, "sparkSession")


def sources_of(reports: Any) -> Sources:
    """Return reports as `Sources`. Files, folders, URLs and tables get the default options."""
    return reports if isinstance(reports, Sources) else Sources(reports)


def report_files(sources: Iterable[str | File]) -> list[File]:
    """Return the files of reports and tallies among the sources; arguments and errors as for `files_in`."""
    return files_in(sources, TABLES, "reports")


def stamped_plan(file: File) -> str:
    """Return the fingerprint of the plan in a file of reports or a tally; empty if the file has none.

    Raises:
        DataError: if the file cannot be read. The error names the file.
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


@dataclass(frozen=True, eq=False)
class ScannedSources:
    """Sources of reports whose metadata were checked.

    Attributes:
        mechanism: the mechanism that made the reports.
        asked: the sources as the caller gave them.
        tallies: the tallies by file, in order.
        sources: the files of reports and the tables, in order.
        counts: the tallies by group in files and tables of counts that a warehouse made.
    """

    mechanism: Mechanism
    asked: Sources
    tallies: Mapping[File, Tally]
    sources: Sequence[ScannedSource]
    counts: Mapping[Place, GroupedTally] = field(default_factory=dict)

    @cached_property
    def parts(self) -> list[SourcePart]:
        """The parts of all files and tables, in order."""
        return [part for source in self.sources for part in source.parts]

    @property
    def rows(self) -> int | None:
        """The number of rows of all files and tables; None if some rows are not counted yet."""
        counts = [source.rows for source in self.sources]
        return None if None in counts else sum(count for count in counts if count)

    @property
    def memory(self) -> int:
        """The approximate number of bytes of the reports in memory while a likelihood is maximised."""
        return _COPIES * sum(source.memory for source in self.sources)

    def reader(self) -> "SourceReader":
        """Return a reader for one pass through all reports."""
        return SourceReader(self)

    def refuse_tallies(self) -> None:
        """Raise an error if a source is a tally, because the reports are needed.

        Raises:
            ParameterError: if there is a tally.
        """
        if n := len(self.tallies) + len(self.counts):
            raise ParameterError("sources.with-tallies", n=n)

    @property
    def beside(self) -> tuple[str, ...]:
        """The names of the columns beside the reports, whether they are read or not."""
        return tuple(dict.fromkeys(name for source in self.sources for name in source.beside))

    def cells(self, names: Sequence[str], most: int) -> tuple[int, ...]:
        """Return the number of reports for each combination of public columns; empty if there are too many.

        Args:
            names: the names of the columns; JSON lines and tallies have none.
            most: the largest number of combinations.

        Raises:
            DataError: if a file is damaged.
        """
        counts: Counter[tuple[Any, ...]] = Counter()
        for source in self.sources:
            for key, count in source.cells(names):
                counts[key] += count
                if len(counts) > most:
                    return ()
        return tuple(counts.values())

    @cached_property
    def batches(self) -> tuple[NamedBatch, ...]:
        """The named batches in the files of reports and tables, without batches in tallies."""
        return merged(source.batch for source in self.sources if source.batch is not None)

    @cached_property
    def _held(self) -> list[tuple[Place, Sequence[NamedBatch], bool]]:
        """For each source: its place, its named batches, and true if it has reports without a named batch."""
        # The number of lines is known only after reading.
        files = [
            (s.place, () if s.batch is None else (s.batch,), s.batch is None and s.rows != 0) for s in self.sources
        ]
        tallies = [(path, tally.batches, tally.unnamed > 0) for path, tally in self.tallies.items()]
        return [*files, *tallies, *((place, (), True) for place in self.counts)]

    @property
    def all_batches(self) -> tuple[NamedBatch, ...]:
        """The named batches of all sources."""
        return merged(batch for _, batches, _ in self._held for batch in batches)

    @property
    def name(self) -> str:
        """The name of the batch, if all sources together are one whole named batch; else empty."""
        batches = self.all_batches
        alone = len(batches) == 1 and batches[0].is_whole and not any(others for *_, others in self._held)
        return batches[0].name if alone else ""

    def whole(self, reports: Tally) -> Tally:
        """Return the tally of all sources: the counted reports, and the tallies among the sources.

        Args:
            reports: the tally of all parts, after reading them.
        """
        groups = (tally for counts in self.counts.values() for tally in counts.values())
        return sum(chain(self.tallies.values(), groups), start=replace(reports, batches=self.batches))

    def beyond(self, counted: Tally) -> "ScannedSources":
        """Return the sources that have batches which a tally has not counted yet.

        Raises:
            DataError: if a batch has another number of reports than the tally counted for it. The error names the file.
            ParameterError: if a source is not a whole named batch, so that it would not be recognised the next time.
                The error names the source.
        """
        known = {batch.name: batch for batch in counted.batches}
        new = set[Place]()
        for path, batches, others in self._held:
            if others or not all(batch.is_whole for batch in batches):
                raise ParameterError("source.not-whole-batches", path=path)
            if any(known.get(batch.name, batch) != batch for batch in batches):
                raise DataError("batch.other-number", path=path)
            if not batches or any(batch.name not in known for batch in batches):
                new.add(path)
        tallies = {path: tally for path, tally in self.tallies.items() if path in new}
        sources = [source for source in self.sources if source.place in new]
        return ScannedSources(self.mechanism, self.asked, tallies, sources)

    def refuse_twice(self) -> None:
        """Raise an error if the sources hold more reports of a batch than the batch has.

        Raises:
            DataError: if a batch is read twice. The error names the sources.
        """
        by_name: dict[str, list[tuple[Place, NamedBatch]]] = {}
        for path, batches, _ in self._held:
            for batch in batches:
                by_name.setdefault(batch.name, []).append((path, batch))
        for parts in by_name.values():
            n, size = sum(batch.n for _, batch in parts), max(batch.size for _, batch in parts)
            if n > size:
                places = " and ".join(str(path) for path, _ in parts[:_NAMES_SHOWN])
                raise DataError("batch.read-twice", places=places, n=n, name=parts[0][1], size=size)


class RowCounts:
    """Counts of the rows that a reader has read: reports, simulated reports, and rows left out by reason.

    Args:
        mechanism: the mechanism that made the reports.

    Attributes:
        entries: ``(3 + reasons,)`` reports, simulated reports, simulated batches, and rows left out for each reason.
    """

    def __init__(self, mechanism: Mechanism) -> None:
        self._reasons = reasons(mechanism)
        self.entries = np.zeros(_REASONS + len(self._reasons), np.int64)

    def add(self, batch: CheckedBatch) -> None:
        """Add a batch to the counts."""
        n, simulated = batch.times * batch.reports.n, batch.reports.simulated
        self.entries[:_REASONS] += (n, n * simulated, simulated)
        for reason, count in batch.left_out.items():
            self.entries[_REASONS + self._reasons.index(reason)] += batch.times * count

    def add_reports(self, n: int) -> None:
        """Add the number of reports that were counted elsewhere."""
        self.entries[0] += n

    def before(self, state: IntArray) -> IntArray:
        """Return the counts, followed by the state of a fold, as one array."""
        return np.concatenate([self.entries, state])

    def split(self, sums: IntArray) -> IntArray:
        """Take the sum of several results of `before`, add its counts to these counts, and return its states."""
        self.entries += sums[: len(self.entries)]
        return sums[len(self.entries) :]

    @property
    def n(self) -> int:
        """The number of reports."""
        return int(self.entries[0])

    @property
    def simulated(self) -> bool:
        """True if a batch has simulated reports."""
        return bool(self.entries[2])

    @property
    def is_mixed(self) -> bool:
        """True if some reports are simulated and others are not."""
        return int(self.entries[1]) not in {0, self.n}

    @property
    def left_out(self) -> dict[str, int]:
        """The number of rows left out, by reason. Reasons with 0 rows are omitted."""
        counts = zip(self._reasons, self.entries[_REASONS:].tolist(), strict=True)
        return {reason: count for reason, count in counts if count}

    @property
    def rows(self) -> int:
        """The number of rows, including rows left out."""
        return self.n + int(self.entries[_REASONS:].sum())


class SourceReader:
    """One pass through scanned sources. It yields checked batches, and compares the numbers of rows at the end.

    Args:
        scan: the scanned sources.

    Attributes:
        account: the counts of rows that were read.

    Raises:
        DataError: at the end, if the number of rows differs from the number in the files' metadata, or too many rows
            were left out.
    """

    def __init__(self, scan: ScannedSources) -> None:
        self._scan, self._lock, self._stopped = scan, Lock(), False
        self.account = RowCounts(scan.mechanism)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._stopped = True
        if kind is None:
            self._check()

    def __iter__(self) -> Iterator[CheckedBatch]:
        return self.batches()

    def batches(self, most: int | None = None, threads: int | None = 1) -> Iterator[CheckedBatch]:
        """Yield the batches of all parts, in order; errors as for `ScannedSource.batches`.

        Args:
            most: the most rows of a batch; None for a number that is fast.
            threads: as for `discreet.files.reading.prefetched`; by default nothing is read ahead.
        """
        checked = (batch for part in self._scan.parts for batch in self.part(part, most))
        for batch in prefetched(checked, threads):
            yield from batch.repeated()
            self.show_progress()

    def part(self, part: SourcePart, most: int | None = None) -> Iterator[CheckedBatch]:
        """Yield the batches of one part, until the reader is stopped. Each thread may read another part."""
        omit_invalid = self._scan.asked.bad_share > 0
        for batch in part.source.batches(part.groups, omit_invalid=omit_invalid, most=most):
            if self._stopped:
                return
            with self._lock:
                self.account.add(batch)
            yield batch

    def stop(self) -> None:
        """Stop all threads that read, each before its next batch."""
        self._stopped = True

    def show_progress(self) -> None:
        """Call the function for progress with the number of rows read."""
        if self._scan.asked.progress is not None:
            self._scan.asked.progress(self.account.rows, self._scan.rows)

    def _check(self) -> None:
        announced, rows, left_out = self._scan.rows, self.account.rows, self.account.left_out
        if announced not in {None, rows}:
            raise DataError("sources.other-number", announced=announced, rows=rows)
        bad, share = rows - self.account.n, self._scan.asked.bad_share
        if bad > share * rows:
            why = ", ".join(f"{count} {reason}" for reason, count in left_out.items())
            raise DataError("bad-share.exceeded", bad=bad, rows=rows, share=share, why=why)
