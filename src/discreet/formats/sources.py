"""Sources of reports: files, folders, URLs and tables; scanned before any is read, then read batch by batch.

    paths -> Sources -> ScannedSources -> SourceReader -> checked batches -> tally, evidence or table

A scan checks the plan and the columns of every file (in JSON lines only the first line), and that no report is there
twice. A reader yields the checked batches of all sources, and checks at its end that the numbers add up.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Any, Self

import numpy as np

from discreet.arrays import IntArray
from discreet.core.batches import NamedBatch, merged
from discreet.core.checks import checked_share
from discreet.core.reports import PLAN, STAMP
from discreet.core.tally import Tally
from discreet.errors import DataError, ParameterError
from discreet.files.paths import LINES, REPORTS, File, RemoteFile, checked, is_tally, matched, opened_text
from discreet.files.reading import Progress, files_in, prefetched, readable
from discreet.files.stored import look
from discreet.formats.scanned import (
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
from discreet.mechanisms.report_tables import warn_of
from discreet.mechanisms.row_checks import reasons

# Bytes of small files of services that are held until they are read.
_MOST_HELD = 1 << 28
# Reports are held as batches, as one, and as what the law lays them out as.
_COPIES = 3
_NAMES_SHOWN, _LETTERS = 5, 1 << 25
# The first entries of an account: reports, simulated reports, simulated batches; then rows left out for each reason.
_REASONS = 3


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
            raise ParameterError("sources.wrong-type", kind=type(wrong[0]).__name__)
        object.__setattr__(self, "of", named)

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

    def without_sifting(self) -> "Sources":
        """Return these sources after a check that no rows are to be left out.

        Raises:
            ParameterError: if ``bad_share`` is above 0.
        """
        if self.bad_share > 0:
            raise ParameterError("bad-share.not-0", argument="bad_share")
        return self

    def refuse_output(self, target: Path) -> None:
        """Refuse an output that is read, or is in a folder of sources, where the next reader would read it too.

        Raises:
            ParameterError: if it is so.
        """
        for source in self.named:
            if isinstance(source, Path) and source.is_dir() and target.resolve().is_relative_to(source.resolve()):
                raise ParameterError("output.in-source", path=target, source=source)
        if target.exists() and any(target.samefile(path) for path in self.files if isinstance(path, Path)):
            raise ParameterError("output.is-source", path=target)

    def scan(self, mechanism: Mechanism, public: Sequence[str] = ()) -> "ScannedSources":
        """Scan the sources; warn of files without the name of their plan, and of columns that are not read.

        Args:
            mechanism: what made the reports.
            public: names of columns beside the reports that all sources must have, and no tally has. No rows are left
                out then.

        Raises:
            DataError: if a file is missing, truncated, or not of this plan's reports, or together they hold more
                reports of a batch than it has; it names the file.
            MismatchError: if a file belongs to another plan.
            ParameterError: if a parameter is out of range, or a file is named twice, by itself or with its folder.
        """
        files, tables = self.files, self.tables
        tallies = {path: read_tally(path, mechanism) for path in files if is_tally(path)}
        if tallies:
            refuse_public(public)
        if public:
            self.without_sifting()
        if len(set(map(id, tables))) < len(tables):
            raise ParameterError("sources.table-twice")
        asked: dict[str, Any] = {"trust_plan": self.trust_plan, "public": public}
        sources, held = list[ScannedSource](), 0
        for path in (path for path in files if path not in tallies):
            sources.append(scanned_file(path, mechanism, **asked))
            if isinstance(path, RemoteFile):
                held += path.held
                if held > _MOST_HELD:
                    path.release()
        sources += [scanned_table(f"table {at}", each, mechanism, **asked) for at, each in enumerate(tables, start=1)]
        forms = [source.form for source in sources]
        warn_of(forms, mechanism.fingerprint, kind="tables" if not files else "files")
        scan = ScannedSources(mechanism, self, tallies, sources)
        scan.refuse_twice()
        return scan


def _is_table(place: object) -> bool:
    return hasattr(place, "__arrow_c_stream__") or hasattr(place, "sparkSession")


def sources_of(reports: Any) -> Sources:
    """Return sources; files, folders, URLs and tables alone are read with the usual care."""
    return reports if isinstance(reports, Sources) else Sources(reports)


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


@dataclass(frozen=True, eq=False)
class ScannedSources:
    """The sources of one run, scanned.

    Attributes:
        mechanism: what made the reports.
        asked: the sources, as the caller asked for them.
        tallies: by their files, in order.
        sources: files of reports and tables, in order.
    """

    mechanism: Mechanism
    asked: Sources
    tallies: Mapping[File, Tally]
    sources: Sequence[ScannedSource]

    @cached_property
    def parts(self) -> list[SourcePart]:
        """The parts of all files and tables, in order."""
        return [part for source in self.sources for part in source.parts]

    @property
    def rows(self) -> int | None:
        """Number of rows of all files and tables; None if some are not counted yet."""
        counts = [source.rows for source in self.sources]
        return None if None in counts else sum(count for count in counts if count)

    @property
    def memory(self) -> int:
        """About how many bytes the reports take in memory while a likelihood is worked out."""
        return _COPIES * sum(source.memory for source in self.sources)

    def reader(self) -> "SourceReader":
        """Return a reader of all reports, for one pass."""
        return SourceReader(self)

    def refuse_tallies(self) -> None:
        """Refuse tallies where reports are needed.

        Raises:
            ParameterError: if there is a tally.
        """
        if self.tallies:
            raise ParameterError("sources.with-tallies", n=len(self.tallies))

    @property
    def beside(self) -> tuple[str, ...]:
        """The names of the columns beside the reports, read or not."""
        return tuple(dict.fromkeys(name for source in self.sources for name in source.beside))

    def cells(self, names: Sequence[str], most: int) -> tuple[int, ...]:
        """Return the number of reports of each cell of columns beside them; none if there are more cells than listed.

        Args:
            names: of the columns; lines of JSON and tallies have none.
            most: cells that are listed.

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
        """The batches with a name among the files of reports and tables, without those in tallies."""
        return merged(source.batch for source in self.sources if source.batch is not None)

    @cached_property
    def _held(self) -> list[tuple[Place, Sequence[NamedBatch], bool]]:
        """The batches with a name that each source holds, and whether it holds other reports."""
        # Lines are counted when they are read.
        files = [
            (s.place, () if s.batch is None else (s.batch,), s.batch is None and s.rows != 0) for s in self.sources
        ]
        return [*files, *((path, tally.batches, tally.rest_n > 0) for path, tally in self.tallies.items())]

    @property
    def all_batches(self) -> tuple[NamedBatch, ...]:
        """The batches with a name among all sources."""
        return merged(batch for _, batches, _ in self._held for batch in batches)

    @property
    def name(self) -> str:
        """The name of the one batch that all sources are; empty if they are several, or a part, or have no name."""
        batches = self.all_batches
        alone = len(batches) == 1 and batches[0].is_whole and not any(others for *_, others in self._held)
        return batches[0].name if alone else ""

    def whole(self, reports: Tally) -> Tally:
        """Return the tally of everything, with the batches that it counted.

        Args:
            reports: the tally of all parts, which were read.
        """
        return sum(self.tallies.values(), start=replace(reports, batches=self.batches))

    def beyond(self, counted: Tally) -> "ScannedSources":
        """Return the sources without what a tally has counted, which is not read.

        Raises:
            DataError: if a batch has another number of reports than was counted under its name; it names the file.
            ParameterError: if a source is not a whole batch with a name, so that it would not be recognised the next
                time; it names the source.
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
        """Refuse sources that together hold more reports of a batch than it has.

        Raises:
            DataError: if there are some; it names them.
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


class Account:
    """The rows that a reader has read, in numbers that add up: reports, simulated ones, rows left out by reason.

    Args:
        mechanism: what made the reports.

    Attributes:
        entries: ``(3 + reasons,)`` reports, simulated reports, simulated batches, and rows left out for each reason.
    """

    def __init__(self, mechanism: Mechanism) -> None:
        self._reasons = reasons(mechanism)
        self.entries = np.zeros(_REASONS + len(self._reasons), np.int64)

    def add(self, batch: CheckedBatch) -> None:
        """Add a batch, in place."""
        n, simulated = batch.reports.n, batch.reports.simulated
        self.entries[:_REASONS] += (n, n * simulated, simulated)
        for reason, count in batch.left_out.items():
            self.entries[_REASONS + self._reasons.index(reason)] += count

    def add_reports(self, n: int) -> None:
        """Add reports that were counted elsewhere."""
        self.entries[0] += n

    def before(self, state: IntArray) -> IntArray:
        """Return the entries and, behind them, a state of a fold, as one array."""
        return np.concatenate([self.entries, state])

    def split(self, sums: IntArray) -> IntArray:
        """Add the entries of the sums of `before`, and return the sum of the states."""
        self.entries += sums[: len(self.entries)]
        return sums[len(self.entries) :]

    @property
    def n(self) -> int:
        """Number of reports."""
        return int(self.entries[0])

    @property
    def simulated(self) -> bool:
        """True if a batch was simulated."""
        return bool(self.entries[2])

    @property
    def is_mixed(self) -> bool:
        """True if some reports are simulated and others are not."""
        return int(self.entries[1]) not in {0, self.n}

    @property
    def left_out(self) -> dict[str, int]:
        """Number of rows left out, by reason; only reasons that occurred."""
        counts = zip(self._reasons, self.entries[_REASONS:].tolist(), strict=True)
        return {reason: count for reason, count in counts if count}

    @property
    def rows(self) -> int:
        """Number of rows, with those left out."""
        return self.n + int(self.entries[_REASONS:].sum())


class SourceReader:
    """One pass through scanned sources: a context that yields checked batches, and checks their numbers at its end.

    Args:
        scan: the sources.

    Attributes:
        account: the rows that were read.

    Raises:
        DataError: at the end, if another number of rows was read than the files announced, or too many were left out.
    """

    def __init__(self, scan: ScannedSources) -> None:
        self._scan, self._lock, self._stopped = scan, Lock(), False
        self.account = Account(scan.mechanism)

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
            most: rows of a batch; None for a fast number.
            threads: as for `discreet.files.reading.prefetched`; by default nothing is read ahead.
        """
        checked = (batch for part in self._scan.parts for batch in self.part(part, most))
        for batch in prefetched(checked, threads):
            yield batch
            self.show_progress()

    def part(self, part: SourcePart, most: int | None = None) -> Iterator[CheckedBatch]:
        """Yield the batches of one part, until the reader is stopped; several threads may each read a part."""
        for batch in part.batches(sift=self._scan.asked.bad_share > 0, most=most):
            if self._stopped:
                return
            with self._lock:
                self.account.add(batch)
            yield batch

    def stop(self) -> None:
        """End all threads that read, each at its next batch."""
        self._stopped = True

    def show_progress(self) -> None:
        """Tell the caller how many rows were read."""
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
