"""The engine of one machine: folds over sources, in threads.

All cores count, a few megabytes of reports at a time, with the same result in any order.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, TypeVar

from discreet.core.tally import GroupedTally
from discreet.engines.engine import Engine, Observed, Sealed
from discreet.engines.folds import Counted, Fold
from discreet.engines.groups import CountsTooLargeError, GroupFold
from discreet.files.reading import Progress
from discreet.formats.scanned import SourcePart
from discreet.formats.sealed_files import LEAST
from discreet.formats.sealing import CanonicalOrder
from discreet.formats.sources import Account, ScannedSources, SourceReader
from discreet.kernels.parallel import thread_count
from discreet.mechanisms import BlockMechanism, Mechanism

if TYPE_CHECKING:
    from discreet.engines.obfuscation import Obfuscated, Values
    from discreet.tables.values import ValueColumns

Answer = TypeVar("Answer")
# Every thread has a state of its own; together they take no more than this, or there is one thread.
STATES_BYTES = 1 << 29
SECONDS_BETWEEN = 0.2


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
        """Return the result of a fold over all parts, several at a time; of several errors, that of the first part."""
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
        from discreet.engines.evidence import gathered

        return gathered(scan, memory=self.memory, folder=self.folder, threads=self.threads)

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
