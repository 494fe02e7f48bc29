"""The engine of one machine: folds over sources, in threads.

All cores count, a few megabytes of reports at a time, with the same result in any order.
"""

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from discreet.core.tally import GroupedTally
from discreet.engines.engine import Engine, Observed
from discreet.engines.folds import Counted, Fold
from discreet.engines.groups import CountsTooLargeError, GroupFold
from discreet.engines.sealing import Sealed, Taken, sorted_into
from discreet.files.reading import Progress
from discreet.formats.sealed_files import LEAST
from discreet.formats.sealing import CanonicalOrder
from discreet.formats.sources import Partition, Sources, SourceSurvey, rows_in
from discreet.kernels.parallel import thread_count
from discreet.mechanisms import BlockMechanism, Mechanism

if TYPE_CHECKING:
    from discreet.engines.obfuscation import Obfuscated, Values
    from discreet.tables.values import ValueColumns

Answer = TypeVar("Answer")
# Every thread has a state of its own; together they take no more than this, or there is one thread.
_STATES_BYTES = 1 << 29
_SECONDS_BETWEEN = 0.2


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

    def fold(self, fold: Fold[Any, Any, Answer], survey: SourceSurvey, read: Sources) -> Answer:
        """Return the result of a fold over all parts, several at a time."""
        options: dict[str, Any] = {"sift": read.sift, "threads": self.threads, "progress": read.progress}
        return fold_parts(fold, survey.parts, **options)

    def fold_groups(self, fold: GroupFold, survey: SourceSurvey, read: Sources) -> GroupedTally:
        """Return the tally of each group; where all threads' counts do not fit, one thread's may."""
        try:
            return self.fold(fold, survey, read)
        except CountsTooLargeError:
            if self.threads == 1:
                raise
            return fold_parts(GroupFold(fold.mechanism, fold.by), survey.parts, threads=1, progress=read.progress)

    def gathered(self, mechanism: Mechanism, survey: SourceSurvey, read: Sources) -> Observed:
        """Return the reports, or their blocks on disk where they exceed the memory."""
        from discreet.engines.evidence import gathered

        return gathered(mechanism, survey, read, memory=self.memory, folder=self.folder, threads=self.threads)

    @contextmanager
    def in_order(self, mechanism: Mechanism, survey: SourceSurvey, read: Sources) -> Iterator[tuple[Taken, Any]]:
        """Give all reports in canonical order, and how many there are."""
        folder = None if self.folder is None else Path(self.folder)
        with CanonicalOrder(mechanism, folder=folder) as order:
            yield sorted_into(order, survey.parts, read), order.batches()


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


def fold_parts(
    fold: Fold[Any, Any, Answer],
    parts: Sequence[Partition],
    *,
    sift: bool = False,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Answer:
    """Return the result of a fold over all parts, several at a time; errors as for `LocalEngine.tally`.

    Of several errors the one of the first part is raised, whichever thread was faster.
    """
    state = fold.zero()
    most = max(_STATES_BYTES // max(state.nbytes, 1), 1)
    work = _Work(fold, list(parts), sift)
    workers = min(thread_count(threads), most, len(parts))
    others = [fold.zero() for _ in range(workers - 1)]
    if others:
        work.run_together([state, *others], progress)
    else:
        work.run_into(state)
    if work.errors:
        # A state that met with an error cannot be merged.
        raise work.errors[min(work.errors)]
    for other in others:
        fold.merge(state, other)
    return fold.finish(state)


@dataclass(eq=False)
class _Work:
    """Parts that threads take in turn."""

    fold: Fold[Any, Any, Any]
    parts: list[Partition]
    sift: bool

    def __post_init__(self) -> None:
        self.errors: dict[int, Exception] = {}
        self.done = 0
        self._next = iter(enumerate(self.parts))
        self._lock = threading.Lock()
        self._interrupted = False

    def _take(self) -> tuple[int, Partition] | None:
        # After an error nothing new is begun; what was begun before it is finished, so that the first error is found.
        with self._lock:
            return None if self.errors or self._interrupted else next(self._next, None)

    def run_into(self, state: Any) -> None:
        """Take parts until there are none."""
        while (task := self._take()) is not None:
            place, part = task
            try:
                self._add(state, part)
            except Exception as error:
                self.errors[place] = error

    def _add(self, state: Any, part: Partition) -> None:
        for batch, left_out in part.batches(sift=self.sift):
            self.fold.add(state, batch, left_out)
            if self._interrupted:
                break
        with self._lock:
            self.done += part.rows or 0

    def run_together(self, states: Sequence[Any], progress: Progress | None) -> None:
        """Take parts in a thread per state; an interruption stops all of them at their next batch."""
        total = rows_in(self.parts)
        with ThreadPoolExecutor(len(states)) as pool:
            running = {pool.submit(self.run_into, state) for state in states}
            try:
                while wait(running, _SECONDS_BETWEEN).not_done:
                    if progress is not None:
                        progress(self.done, total)
            except BaseException:
                self._interrupted = True
                raise


@contextmanager
def running(*, memory: int | None = None, master: str | None = None) -> Iterator[LocalEngine]:
    """Yield the engine of this machine.

    Args:
        memory: bytes that reports may take in memory; see `LocalEngine`.
        master: has no effect: there is no cluster.
    """
    del master
    yield LocalEngine(memory=memory)
