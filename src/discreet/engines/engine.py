"""Engines: tables of values and sources of reports, read on this machine or on a cluster.

On this machine all cores count, a few megabytes of reports at a time, with the same result in any order.
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
from discreet.engines.folds import Counted, CountsTooLargeError, Fold, GroupFold, TallyFold, checked_names
from discreet.files.reading import Progress
from discreet.formats.scanned import SourcePart
from discreet.formats.sealed_files import LEAST, checked_sealed, put_sealed, refuse_fewer
from discreet.formats.sealing import CanonicalOrder
from discreet.formats.sources import Account, ScannedSources, SourceReader, sources_of
from discreet.kernels.parallel import memory_limit, thread_count
from discreet.mechanisms import BlockMechanism, Mechanism
from discreet.mechanisms.evidence import Data

if TYPE_CHECKING:
    from discreet.engines.obfuscation import Obfuscated, Values
    from discreet.tables.values import ValueColumns

Observed: TypeAlias = tuple[Data, Mapping[str, int]]
"""The evidence for `discreet.estimate`, and the number of rows left out by reason."""

Answer = TypeVar("Answer")
# Every thread has a state of its own; together they take no more than this, or there is one thread.
STATES_BYTES = 1 << 29
SECONDS_BETWEEN = 0.2


@dataclass(frozen=True, slots=True, eq=False)
class Sealed:
    """A file of sealed reports, as it was written.

    Attributes:
        path: the file.
        name: of the batch that the reports are.
        n: number of reports.
        simulated: whether they are simulated, and protect nobody.
        dropped: names of columns beside the reports, which are not in the file.
        left_out: number of rows left out by reason.

    Example:
        >>> Sealed(Path("sealed.parquet"), "monday", 1000, simulated=False, dropped=("owner",), left_out={}).dropped
        ('owner',)
    """

    path: Path
    name: str
    n: int
    simulated: bool
    dropped: tuple[str, ...]
    left_out: Mapping[str, int]


class Engine(ABC):
    """A reader of values and of reports; every engine gives the same answer, to the last digit.

    Sources of reports are `discreet.Sources`, or what these may be of: files, folders, URLs, tables.

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
    ) -> "Obfuscated":
        """Write a report for every value of tables; see `discreet.engines.obfuscation.obfuscate`."""

    @abstractmethod
    def fold(self, fold: Fold[Any, Answer], scan: ScannedSources) -> Answer:
        """Return the result of a fold over all reports."""

    @abstractmethod
    def fold_groups(self, fold: GroupFold, scan: ScannedSources) -> GroupedTally:
        """Return the tally of each group."""

    @abstractmethod
    def gathered(self, scan: ScannedSources) -> Observed:
        """Return the evidence in reports."""

    @abstractmethod
    def in_order(self, scan: ScannedSources) -> AbstractContextManager[tuple[Account, Any]]:
        """Give the account of all rows, and all reports in canonical order."""

    def scan(self, mechanism: Mechanism, sources: Any, public: Sequence[str] = ()) -> ScannedSources:
        """Return the sources, scanned; see `discreet.formats.sources.Sources.scan`."""
        return sources_of(sources).scan(mechanism, public)

    def tally(self, mechanism: Mechanism, sources: Any) -> Counted:
        """Return the tally of reports, in memory independent of their number, and the rows left out by reason.

        Args:
            mechanism: what made the reports.
            sources: reports and tallies.

        Raises:
            DataError: if a file is missing, truncated, damaged, changed or not of this plan's reports, too many rows
                are bad, or reports are there twice, as far as batches show it; it names the files.
            MismatchError: if a file belongs to another plan. All are looked at before any is counted.
            ParameterError: if a parameter is out of range, or a file is named twice, by itself or with its folder.
            EngineError: if a cluster gives up.
        """
        return self._tallied(self.scan(mechanism, sources))

    def _tallied(self, scan: ScannedSources) -> Counted:
        counted = self.fold(TallyFold(scan.mechanism), scan)
        return Counted(scan.whole(counted.tally), counted.left_out)

    def tally_onto(self, mechanism: Mechanism, sources: Any, before: Tally) -> Tally:
        """Return a tally with batches added that it has not counted yet; those that it has are not read.

        Args:
            mechanism: what made the reports.
            sources: batches with a name, such as a collector's sealed files, and tallies of such batches.
            before: the tally that they are added to.

        Raises:
            DataError, EngineError: as for `tally`; and if a batch has another number of reports than was counted.
            MismatchError: as for `tally`, and if a tally has counted some of the batches and not others.
            ParameterError: as for `tally`; and if a source is not a whole batch with a name.
        """
        return before + self._tallied(self.scan(mechanism, sources).beyond(before)).tally

    def tally_by(self, mechanism: Mechanism, sources: Any, by: str | Sequence[str]) -> GroupedTally:
        """Return a tally for each group of people, streamed.

        Args:
            mechanism: what made the reports.
            sources: Parquet and Arrow files of reports, folders of such files, and tables, each with the public
                columns; no rows are left out.
            by: names of the public columns that make the groups: text, integers, or true and false.

        Raises:
            DataError, MismatchError, ParameterError, EngineError: as for `tally`; and if a source has not these
                columns, or labels are missing.
        """
        names = checked_names(by)
        return self.fold_groups(GroupFold(mechanism, names), self.scan(mechanism, sources, names))

    def evidence(self, mechanism: Mechanism, sources: Any) -> Observed:
        """Return the evidence in reports for a likelihood: reports, or their blocks where they are too many.

        Args:
            mechanism: what made the reports.
            sources: reports, or tallies alone.

        Returns:
            What `discreet.estimate` takes, with the same estimate wherever the blocks are; and the number of rows left
            out by reason.

        Raises:
            DataError, MismatchError, EngineError: as for `tally`, and if temporary files do not fit.
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
    ) -> Sealed:
        """Write all reports into one sealed file; see `discreet.formats.sealing`.

        The same reports under the same name give the same bytes, whatever their order and the sources that they come
        in. Columns beside the reports are dropped, and named in the result. The caller sees to it that each person has
        one report.

        Args:
            mechanism: what made the reports.
            sources: reports, no tallies.
            target: the file, Parquet, on this machine.
            name: of the batch that the reports are, which every reader of the file sees. By default reports that are
                one batch keep its name, and others get a new one.
            least: how many reports there must be.
            force: whether a file that exists is replaced.

        Raises:
            DataError: as for `tally`; and if there are fewer reports than ``least``, or some are simulated and others
                are not.
            MismatchError, EngineError: as for `tally`.
            OutputExistsError: if the file exists and ``force`` is not set.
            ParameterError: if a parameter is out of range, there is a tally among the sources, or the target cannot be
                written, is among the sources, or lies in a folder of them.
        """
        least, output = checked_whole("least", least), checked_sealed(target, force=force)
        scan = self.scan(mechanism, sources)
        scan.refuse_tallies()
        scan.asked.refuse_output(output)
        batch_name = scan.name if name is None and scan.name else checked_name(name)
        with self.in_order(scan) as (account, batches):
            refuse_fewer(account.n, least)
            written = put_sealed(output, mechanism, batches, account.n, facts={NAME: batch_name}, force=force)
        return Sealed(output, batch_name, written, account.simulated, scan.beside, account.left_out)


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalEngine(Engine):
    """The engine of one machine: sources are streamed by all cores.

    Attributes:
        memory: how many bytes the reports of a likelihood may take in memory; None for half of what there is. What
            needs more is kept in temporary files.
        folder: where temporary files go; None for the system's place for them. They have no names: whatever ends this
            process, they are gone.
        threads: how many threads; None for the environment variable DISCREET_THREADS, or all processors. They change
            nothing but the time.

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
    ) -> "Obfuscated":
        """Write a report for every value of tables into a file; see `discreet.engines.obfuscation.obfuscate`."""
        from discreet.engines.obfuscation import obfuscate

        asked: dict[str, Any] = {"seed": seed, "force": force, "progress": progress}
        return obfuscate(mechanism, values, target, columns, threads=self.threads, **asked)

    def fold(self, fold: Fold[Any, Answer], scan: ScannedSources) -> Answer:
        """Return the result of a fold over all parts, several at a time; the error of the first part that failed."""
        state = fold.zero()
        most = max(STATES_BYTES // max(state.nbytes, 1), 1)
        workers = min(thread_count(self.threads), most, len(scan.parts))
        others = [fold.zero() for _ in range(workers - 1)]
        with scan.reader() as reader:
            if others:
                _in_threads(fold, [state, *others], scan, reader)
            else:
                for batch in reader:
                    fold.add(state, batch)
        for other in others:
            fold.merge(state, other)
        return fold.finish(state, reader.account)

    def fold_groups(self, fold: GroupFold, scan: ScannedSources) -> GroupedTally:
        """Return the tally of each group; where all threads' counts do not fit, one thread's may."""
        try:
            return self.fold(fold, scan)
        except CountsTooLargeError:
            if self.threads == 1:
                raise
            return replace(self, threads=1).fold(GroupFold(fold.mechanism, fold.by), scan)

    def gathered(self, scan: ScannedSources) -> Observed:
        """Return the reports, or their blocks on disk where they exceed the memory."""
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
    def in_order(self, scan: ScannedSources) -> Iterator[tuple[Account, Any]]:
        """Give the account of all rows, and all reports in canonical order."""
        folder = None if self.folder is None else Path(self.folder)
        with CanonicalOrder(scan.mechanism, folder=folder) as order:
            with scan.reader() as reader:
                for batch in reader:
                    order.add(batch.reports)
            yield reader.account, order.batches()


def _in_threads(fold: Fold[Any, Any], states: Sequence[Any], scan: ScannedSources, reader: SourceReader) -> None:
    """Add all parts to states, a thread for each; an error or an interruption stops all threads at their next batch."""
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
            # In the order of the parts: whichever thread was faster, the first error is raised.
            for adding in [pool.submit(add, part) for part in scan.parts]:
                while wait([adding], SECONDS_BETWEEN).not_done:
                    reader.show_progress()
                adding.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            reader.stop()
            raise


def tally(mechanism: Mechanism, sources: Any, *, threads: int | None = None) -> Counted:
    """Return the tally of sources on this machine; see `Engine.tally`.

    Args:
        mechanism: what made the reports.
        sources: `Sources`, or what they may be of.
        threads: as of `LocalEngine`.

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


def gather(
    mechanism: Mechanism,
    sources: Any,
    *,
    memory: int | None = None,
    folder: str | Path | None = None,
    threads: int | None = None,
) -> Observed:
    """Return the evidence in sources on this machine; see `Engine.evidence`.

    Args:
        mechanism: what made the reports.
        sources: `Sources`, or what they may be of.
        memory: as of `LocalEngine`; 0: no report in memory.
        folder: as of `LocalEngine`.
        threads: as of `LocalEngine`.

    Example:
        >>> import discreet as dc
        >>> from discreet.formats.reports import write_reports
        >>> from tempfile import TemporaryDirectory
        >>> mechanism = dc.UnaryEncoding(dc.Domain(["yes", "no"]), epsilon=1.0)
        >>> with TemporaryDirectory() as folder:
        ...     written = write_reports(f"{folder}/monday.parquet", mechanism, mechanism.obfuscate(["yes"] * 50))
        ...     reports, left_out = gather(mechanism, folder)
        >>> reports.n, dict(left_out)
        (50, {})
    """
    return LocalEngine(memory=memory, folder=folder, threads=threads).evidence(mechanism, sources)


def seal(
    mechanism: Mechanism,
    sources: Any,
    target: str | Path,
    *,
    name: str | None = None,
    least: int = LEAST,
    force: bool = False,
) -> Sealed:
    """Write all reports of sources into one sealed file, on this machine; see `Engine.seal`.

    Example:
        >>> import discreet as dc
        >>> from tempfile import TemporaryDirectory
        >>> mechanism = dc.RandomizedResponse(dc.Domain(["yes", "no"]), epsilon=1.0)
        >>> with TemporaryDirectory() as folder:
        ...     written = dc.write_reports(f"{folder}/monday.jsonl", mechanism, mechanism.obfuscate(["yes"] * 50))
        ...     seal(mechanism, f"{folder}/monday.jsonl", f"{folder}/sealed.parquet", least=20).n
        50
    """
    return LocalEngine().seal(mechanism, sources, target, name=name, least=least, force=force)


@contextmanager
def running(*, memory: int | None = None, master: str | None = None) -> Iterator[LocalEngine]:
    """Yield the engine of this machine.

    Args:
        memory: bytes that reports may take in memory; see `LocalEngine`.
        master: has no effect: there is no cluster.
    """
    del master
    yield LocalEngine(memory=memory)
