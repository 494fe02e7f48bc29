"""Engines: they read tables of values and files of reports, on this machine or on a cluster.

On this machine all cores read batches of a few megabytes; the result does not depend on the order.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from discreet.core.batches import NAME, checked_name
from discreet.core.checks import checked_whole
from discreet.core.reports import Reports
from discreet.core.tally import GroupedTally, Tally
from discreet.engines.folds import CountsTooLargeError, Fold, GroupFold, TallyFold, TallyResult, checked_names
from discreet.files.reading import Progress
from discreet.formats.scanned import SourcePart
from discreet.formats.sealed_files import LEAST, checked_sealed, put_sealed, refuse_fewer
from discreet.formats.sealing import CanonicalOrder
from discreet.formats.sources import RowCounts, ScannedSources, SourceReader, sources_of
from discreet.kernels.parallel import memory_limit, thread_count
from discreet.mechanisms import BlockMechanism, Mechanism
from discreet.mechanisms.evidence import Data

if TYPE_CHECKING:
    from discreet.engines.obfuscation import ObfuscationResult, Values
    from discreet.tables.values import ValueColumns

Observed: TypeAlias = tuple[Data, Mapping[str, int]]
"""The evidence for `discreet.estimate`, and the number of rows left out by reason."""

Answer = TypeVar("Answer")
# Each thread has its own state. If the states would take more bytes than this, there is one thread.
STATES_BYTES = 1 << 29
SECONDS_BETWEEN = 0.2


@dataclass(frozen=True, slots=True, eq=False)
class SealResult:
    """The result of sealing: the file, the number of rows in it, and the number of rows left out.

    Attributes:
        path: the sealed file.
        name: the name of its batch.
        n: the number of reports.
        simulated: whether the reports are simulated, and protect nobody.
        dropped: the names of the public columns of the sources, which are not in the file.
        left_out: the number of rows left out by reason.

    Example:
        >>> SealResult(Path("sealed.parquet"), "monday", 1000, simulated=False, dropped=("owner",), left_out={}).dropped
        ('owner',)
    """

    path: Path
    name: str
    n: int
    simulated: bool
    dropped: tuple[str, ...]
    left_out: Mapping[str, int]


class Engine(ABC):
    """A reader of values and reports; all engines return exactly the same results.

    Sources of reports are `discreet.Sources`, or files, folders, URLs and tables of reports.

    Example:
        >>> import discreet as dc
        >>> from discreet.engines import LocalEngine
        >>> from discreet.formats.reports import write_reports
        >>> from tempfile import TemporaryDirectory
        >>> mechanism = dc.RandomizedResponse(dc.Domain(["yes", "no"]), epsilon=1.0)
        >>> engine: Engine = LocalEngine()
        >>> with TemporaryDirectory() as folder:
        ...     written = write_reports(f"{folder}/monday.parquet", mechanism, mechanism.obfuscate(["yes"] * 50))
        ...     engine.tally(mechanism, folder).tally.n
        50
    """

    __slots__ = ()

    @abstractmethod
    def obfuscate(
        self,
        mechanism: BlockMechanism,
        values: "Values",
        target: str | Path,
        columns: "ValueColumns | None" = None,
        *,
        seed: int | None = None,
        force: bool = False,
        progress: Progress | None = None,
    ) -> "ObfuscationResult":
        """Write a report for every value in tables; see `discreet.engines.obfuscation.obfuscate`."""

    @abstractmethod
    def fold(self, fold: Fold[Any, Answer], scan: ScannedSources) -> Answer:
        """Return the result of a fold, a computation over all batches of reports in the sources."""

    @abstractmethod
    def fold_groups(self, fold: GroupFold, scan: ScannedSources) -> GroupedTally:
        """Return the tally of the reports of each group."""

    @abstractmethod
    def gathered(self, scan: ScannedSources) -> Observed:
        """Return the data for an estimate by likelihood: the reports, or their blocks in temporary files."""

    @abstractmethod
    def in_order(self, scan: ScannedSources) -> AbstractContextManager[tuple[RowCounts, Any]]:
        """Yield the counts of all rows, and all reports in canonical order."""

    def scan(self, mechanism: Mechanism, sources: Any, public: Sequence[str] = ()) -> ScannedSources:
        """Return the sources after a check of their metadata; see `discreet.formats.sources.Sources.scan`."""
        return sources_of(sources).scan(mechanism, public)

    def tally(self, mechanism: Mechanism, sources: Any) -> TallyResult:
        """Return the tally of all reports, and the number of rows left out by reason.

        Args:
            mechanism: the mechanism that made the reports.
            sources: reports and tallies; see `discreet.Sources`.

        Raises:
            DataError: if a file is missing, truncated, damaged, changed or has no reports of this plan; if too many
                rows are invalid; or if a batch of reports is there twice. The error names the files.
            MismatchError: if a file belongs to another plan. All files are checked before the first is counted.
            ParameterError: if a parameter is out of range, or a file is given twice, by its own path or with its
                folder.
            EngineError: if a cluster fails.
        """
        return self._tallied(self.scan(mechanism, sources))

    def _tallied(self, scan: ScannedSources) -> TallyResult:
        counted = self.fold(TallyFold(scan.mechanism), scan)
        return TallyResult(scan.whole(counted.tally), counted.left_out)

    def tally_onto(self, mechanism: Mechanism, sources: Any, before: Tally) -> Tally:
        """Return a tally of new batches and of the batches in `before`. Batches in `before` are not read again.

        Args:
            mechanism: the mechanism that made the reports.
            sources: named batches, such as a collector's sealed files, and tallies of such batches.
            before: the tally with the earlier batches.

        Raises:
            DataError, EngineError: as for `tally`, and if a batch that was counted has another number of reports now.
            MismatchError: as for `tally`, and if a tally among the sources has counted only some of the new batches.
            ParameterError: as for `tally`, and if a source is not a whole batch with a name.
        """
        return before + self._tallied(self.scan(mechanism, sources).beyond(before)).tally

    def tally_by(self, mechanism: Mechanism, sources: Any, by: str | Sequence[str]) -> GroupedTally:
        """Return a tally for each group of people.

        Args:
            mechanism: the mechanism that made the reports.
            sources: Parquet and Arrow files of reports, folders of such files, and tables. Each has the public
                columns; no rows are left out.
            by: the names of the public columns that define the groups, with text, integers or Boolean values.

        Raises:
            DataError, MismatchError, ParameterError, EngineError: as for `tally`, and if a source lacks these
                columns, or labels are missing.
        """
        names = checked_names(by)
        scan = self.scan(mechanism, sources, names)
        return sum(scan.counts.values(), start=self.fold_groups(GroupFold(mechanism, names), scan))

    def evidence(self, mechanism: Mechanism, sources: Any) -> Observed:
        """Return the data for an estimate by likelihood: the reports, or their blocks in temporary files.

        Args:
            mechanism: the mechanism that made the reports.
            sources: only reports, or only tallies.

        Returns:
            The evidence for `discreet.estimate`, and the number of rows left out by reason. The estimate does not
            depend on where the blocks are.

        Raises:
            DataError, MismatchError, EngineError: as for `tally`, and if temporary files do not fit onto the disk.
            ParameterError: as for `tally`, and if reports and tallies are mixed.
        """
        scan = self.scan(mechanism, sources)
        if not scan.sources:
            return scan.whole(mechanism.empty_tally()), {}
        scan.refuse_tallies()
        return self.gathered(scan)

    def seal(
        self,
        mechanism: Mechanism,
        sources: Any,
        target: str | Path,
        *,
        name: str | None = None,
        least: int = LEAST,
        force: bool = False,
    ) -> SealResult:
        """Write all reports into one sealed file; see `discreet.formats.sealing`.

        The same reports with the same name always give the same bytes, for any order and any sources. Public columns
        are dropped, and named in the result. The caller must ensure that each person has one report.

        Args:
            mechanism: the mechanism that made the reports.
            sources: only reports.
            target: the Parquet file, on this machine.
            name: the name of the batch of these reports, which every reader of the file sees. By default a single batch
                keeps its name, and other reports get a new one.
            least: the smallest number of reports.
            force: whether an existing file is replaced.

        Raises:
            DataError: as for `tally`, and if there are fewer reports than ``least``, or only some are simulated.
            MismatchError, EngineError: as for `tally`.
            OutputExistsError: if the file exists and ``force`` is false.
            ParameterError: if a parameter is out of range, the sources include a tally, or the target cannot be
                written, is one of the sources, or is in a folder of sources.
        """
        least, output = checked_whole("least", least), checked_sealed(target, force=force)
        scan = self.scan(mechanism, sources)
        scan.refuse_tallies()
        scan.asked.refuse_output(output)
        batch_name = scan.name if name is None and scan.name else checked_name(name)
        with self.in_order(scan) as (account, batches):
            refuse_fewer(account.n, least)
            written = put_sealed(output, mechanism, batches, account.n, facts={NAME: batch_name}, force=force)
        return SealResult(output, batch_name, written, account.simulated, scan.beside, account.left_out)


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalEngine(Engine):
    """The engine for one machine, which reads sources with all cores.

    Attributes:
        memory: the most bytes of reports in memory, for a likelihood; None for half of the memory. Larger reports go to
            temporary files.
        folder: the folder of temporary files; None for the system's folder. The files have no names, and disappear
            with the process, however it ends.
        threads: the number of threads; None for the environment variable DISCREET_THREADS, or all processors. The
            results do not depend on it.

    Example:
        >>> import discreet as dc
        >>> from discreet.formats.reports import write_reports
        >>> from tempfile import TemporaryDirectory
        >>> mechanism = dc.SubsetSelection(dc.Domain(["bus", "car", "walk"]), epsilon=1.0)
        >>> with TemporaryDirectory() as folder:
        ...     written = write_reports(f"{folder}/monday.parquet", mechanism, mechanism.obfuscate(["bus"] * 50))
        ...     reports, left_out = LocalEngine(memory=1_000_000).evidence(mechanism, folder)
        >>> reports.n, dict(left_out)
        (50, {})
    """

    memory: int | None = None
    folder: str | Path | None = None
    threads: int | None = None

    def obfuscate(
        self,
        mechanism: BlockMechanism,
        values: "Values",
        target: str | Path,
        columns: "ValueColumns | None" = None,
        *,
        seed: int | None = None,
        force: bool = False,
        progress: Progress | None = None,
    ) -> "ObfuscationResult":
        """Write a report for every value in tables into a file; see `discreet.engines.obfuscation.obfuscate`."""
        from discreet.engines.obfuscation import obfuscate

        asked: dict[str, Any] = {"seed": seed, "force": force, "progress": progress}
        return obfuscate(mechanism, values, target, columns, threads=self.threads, **asked)

    def fold(self, fold: Fold[Any, Answer], scan: ScannedSources) -> Answer:
        """Return the result of a fold over all parts, computed by several threads."""
        state = fold.zero()
        most = max(STATES_BYTES // max(state.nbytes, 1), 1)
        workers = min(thread_count(self.threads), most, len(scan.parts))
        others = [fold.zero() for _ in range(workers - 1)]
        with scan.reader() as reader:
            if others:
                _in_threads(fold, [state, *others], scan, reader)
            else:
                for batch in (batch for part in scan.parts for batch in reader.part(part)):
                    fold.add(state, batch)
                    reader.show_progress()
        for other in others:
            fold.merge(state, other)
        return fold.finish(state, reader.account)

    def fold_groups(self, fold: GroupFold, scan: ScannedSources) -> GroupedTally:
        """Return the tally of the reports of each group, with one thread if the counts of all threads are too large."""
        try:
            return self.fold(fold, scan)
        except CountsTooLargeError:
            if self.threads == 1:
                raise
            return replace(self, threads=1).fold(GroupFold(fold.mechanism, fold.by), scan)

    def gathered(self, scan: ScannedSources) -> Observed:
        """Return the reports, or their blocks in temporary files if the reports are too large for the memory."""
        most = memory_limit() if self.memory is None else self.memory
        # One pass, in order, so that rows stay in the order of the files.
        with scan.reader() as reader:
            batches = reader.batches(threads=self.threads)
            if scan.memory > most:
                from discreet.engines.evidence import onto_disk

                return onto_disk(scan, reader, batches, self.folder)
            reports = Reports.concatenate(batch.reports for batch in batches)
        return replace(reports, batches=scan.batches), reader.account.left_out

    @contextmanager
    def in_order(self, scan: ScannedSources) -> Iterator[tuple[RowCounts, Any]]:
        """Yield the counts of all rows, and all reports in canonical order."""
        folder = None if self.folder is None else Path(self.folder)
        with CanonicalOrder(scan.mechanism, folder=folder) as order:
            with scan.reader() as reader:
                for batch in reader:
                    order.add(batch.reports)
            yield reader.account, order.batches()


def _in_threads(fold: Fold[Any, Any], states: Sequence[Any], scan: ScannedSources, reader: SourceReader) -> None:
    """Read all parts with a thread for each state, and add them to the states. An error stops all threads."""
    free: SimpleQueue[Any] = SimpleQueue()
    for state in states:
        free.put(state)

    def add(part: SourcePart) -> None:
        state = free.get()
        try:
            for batch in reader.part(part):
                fold.add(state, batch)
        finally:
            free.put(state)

    with ThreadPoolExecutor(len(states)) as pool:
        try:
            # The results are read in the order of the parts, so that the same error is always raised first.
            for adding in [pool.submit(add, part) for part in scan.parts]:
                while wait([adding], SECONDS_BETWEEN).not_done:
                    reader.show_progress()
                adding.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            reader.stop()
            raise


def tally(mechanism: Mechanism, sources: Any, *, threads: int | None = None) -> TallyResult:
    """Return the tally of sources on this machine; see `Engine.tally`.

    Args:
        mechanism: the mechanism that made the reports.
        sources: `Sources`, or files, folders, URLs and tables.
        threads: as for `LocalEngine`.

    Example:
        >>> import discreet as dc
        >>> from discreet.formats.reports import write_reports
        >>> from tempfile import TemporaryDirectory
        >>> mechanism = dc.RandomizedResponse(dc.Domain(["yes", "no"]), epsilon=1.0)
        >>> with TemporaryDirectory() as folder:
        ...     for day, people in (("monday", 50), ("tuesday", 30)):
        ...         written = write_reports(f"{folder}/{day}.parquet", mechanism, mechanism.obfuscate(["yes"] * people))
        ...     tally(mechanism, folder).tally.n
        80
    """
    return LocalEngine(threads=threads).tally(mechanism, sources)


@contextmanager
def running(*, memory: int | None = None, master: str | None = None) -> Iterator[LocalEngine]:
    """Yield the engine of this machine.

    Args:
        memory: the most bytes of reports in memory; see `LocalEngine`.
        master: has no effect, because there is no cluster.
    """
    del master
    yield LocalEngine(memory=memory)
