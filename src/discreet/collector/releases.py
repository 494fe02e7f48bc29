"""Releases: estimates of sealed epochs, none of too few reports, each made once whoever asks for it."""

import asyncio
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from discreet.collector.catalogue import Entry
from discreet.collector.estimate_query import EstimateQuery, spelled_epochs
from discreet.collector.keeper import Keeper, epochs_of
from discreet.collector.sealing import sealed_folder, tally_of
from discreet.collector.store import SealRow
from discreet.collector.working import JobError, Workers
from discreet.core.estimate import Estimate
from discreet.core.tally import Tally
from discreet.errors import DiscreetError, ParameterError
from discreet.estimators import Method, estimate
from discreet.estimators.linear_start import LinearStart
from discreet.estimators.methods import thresholded
from discreet.io.tallies import read_tally

FROM_REPORTS = ("mle", "em")
MOST_WAITING = 64
"""Requests for estimates at once, those that wait for their turn among them."""
_AT_ONCE = 2
_SIGNIFICANCE = 0.05
_MOST_CACHED = 100

_Key = tuple[int, tuple[int, ...], str]
_T = TypeVar("_T")


class EarlyError(DiscreetError):
    """An estimate of too few reports, or of an epoch that is not sealed; its code is a word for programs."""

    def __init__(self, message: str, code: str, **facts: int) -> None:
        super().__init__(message)
        self.code = code
        self.facts: dict[str, Any] = facts


class TakesLongError(DiscreetError):
    """An estimate that takes longer than it may, or that too many others wait for."""


@dataclass(frozen=True, eq=False)
class Release:
    """An estimate that was released.

    Attributes:
        epochs: of which.
        found: the estimate.
        noise_floor: ``(|X|,)`` above which a frequency is significant, all tests together at 5%.
    """

    epochs: tuple[int, ...]
    found: Estimate
    noise_floor: list[float]


@dataclass
class Counts:
    """Reports of a collection: sealed, twice, in conflict, waiting; and refusals by reason."""

    sealed: int = 0
    duplicates: int = 0
    conflicts: int = 0
    waiting: int = 0
    epochs: list[dict[str, int]] = field(default_factory=list)
    refusals: dict[str, int] = field(default_factory=dict)


class Releases:
    """Estimates of sealed epochs, cached, and written to the audit; made in threads of their own, few at once.

    Args:
        keeper: of the data.
        workers: for estimates from reports.
        seconds: that these may take.

    Attributes:
        turns: held by whoever works in this process, so that many at once do not slow down everything else.
    """

    def __init__(self, keeper: Keeper, *, workers: Workers, seconds: float = 60.0) -> None:
        self._keeper, self._store, self._folder = keeper, keeper.store, keeper.folder
        self._workers, self._seconds = workers, seconds
        self._lock = threading.Lock()
        self.turns, self._processes = threading.Semaphore(_AT_ONCE), threading.Semaphore(_AT_ONCE)
        self._pool = ThreadPoolExecutor(MOST_WAITING, thread_name_prefix="estimates")
        self._waiting = 0
        self._known: dict[_Key, Future[Release]] = {}

    def close(self) -> None:
        """Wait for all who work; jobs are ended already."""
        self._pool.shutdown(cancel_futures=True)

    async def aside(self, work: Callable[[], _T]) -> _T:
        """Return the result of work in a thread of this class, so that neither the loop nor other pages wait for it.

        Raises:
            TakesLongError: if too many wait already.
        """
        if self._waiting >= MOST_WAITING:
            raise TakesLongError(f"{self._waiting} requests for estimates are waiting already; ask again later.")
        self._waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, work)
        finally:
            self._waiting -= 1

    def release(self, entry: Entry, query: EstimateQuery, who: str) -> Release:
        """Return the estimate that is asked for, and write down who saw it.

        Raises:
            EarlyError: if there are too few reports, or an epoch is not sealed.
            TakesLongError: if it takes longer than it may.
            ParameterError: if reports are needed that have been deleted.
        """
        rows = [seal for seal in self._store.seals() if seal.collection == entry.key]
        seals = covering(rows, query.epochs)
        n, least = sum(seal.n for seal in seals), entry.collection.least
        if n < least:
            raise EarlyError(f"there are {n} reports, and estimates need {least}.", "least", n=n, least=least)
        release = self._once(entry, seals, query.method)
        detail = f"{entry.row.name} version {entry.row.version} epochs {spelled_epochs(release.epochs)}"
        with self._store.transaction():
            self._store.note(int(time.time()), who, "saw estimate", f"{detail} {query.method} n={release.found.n}")
        return release

    def _once(self, entry: Entry, seals: Sequence[SealRow], method: Method) -> Release:
        """Return a release, made by the first who asks for it; whoever asks meanwhile waits for the same."""
        key = entry.key, tuple(seal.epoch for seal in seals), method
        mine: Future[Release] = Future()
        with self._lock:
            known = self._known.setdefault(key, mine)
            if len(self._known) > _MOST_CACHED:
                del self._known[next(iter(self._known))]
        if known is mine:
            try:
                mine.set_result(self._made(entry, seals, method))
            except BaseException as error:
                with self._lock:
                    self._known.pop(key, None)
                mine.set_exception(error)
        return known.result()

    def _made(self, entry: Entry, seals: Sequence[SealRow], method: Method) -> Release:
        with self.turns:
            tallies = (self._tally(entry, seal) for seal in seals)
            whole = sum(tallies, start=entry.mechanism.empty_tally())
            start = LinearStart.of(entry.mechanism, whole)
            floor = thresholded(start, _SIGNIFICANCE, uniform=False)[1].tolist()
            found = None if method in FROM_REPORTS else estimate(entry.mechanism, whole, method=method)
        if found is None:
            found = self._from_reports(entry, seals, method)
        return Release(tuple(epoch for seal in seals for epoch in epochs_of(seal)), found, floor)

    def _from_reports(self, entry: Entry, seals: Iterable[SealRow], method: Method) -> Estimate:
        place = sealed_folder(self._folder, entry)
        files = [str(self._folder.sealed / seal.file) for seal in seals]
        if gone := sum(not Path(file).exists() for file in files):
            raise ParameterError(
                f"method {method!r} needs reports, and those of {gone} epochs have been deleted; take another method."
            )
        given = {"plan": str(place / "_plan.json"), "files": files, "method": method}
        with self._processes:
            try:
                found: Estimate = self._workers.run("estimate", given, seconds=self._seconds)
            except JobError as error:
                raise TakesLongError(str(error)) from None
        return found

    def _tally(self, entry: Entry, seal: SealRow) -> Tally:
        return read_tally(tally_of(self._folder.sealed / seal.file), entry.mechanism)

    def counts(self, entry: Entry) -> Counts:
        """Return the numbers of reports of a collection, and of refusals by reason."""
        seals = [seal for seal in self._store.seals() if seal.collection == entry.key]
        waiting = {epoch: n for (key, epoch), n in self._keeper.pending().items() if key == entry.key}
        refused = self._keeper.refusals()
        found = Counts(
            sum(seal.n for seal in seals),
            sum(seal.duplicates for seal in seals),
            sum(seal.conflicts for seal in seals),
            sum(waiting.values()),
            [{"epoch": seal.epoch, "last": seal.last, "n": seal.n} for seal in seals],
        )
        for (key, _, reason), count in refused.items():
            if key == entry.key:
                found.refusals[reason] = found.refusals.get(reason, 0) + count
        return found


def covering(seals: Sequence[SealRow], epochs: Sequence[int] | None) -> list[SealRow]:
    """Return the batches that epochs are in, each whole: nothing is estimated of a part of one.

    Args:
        seals: the batches of a collection.
        epochs: those that are asked for; None for all that are sealed.

    Raises:
        EarlyError: if one of the epochs is not sealed, or none is.
    """
    batches = {epoch: seal for seal in seals for epoch in epochs_of(seal)}
    for epoch in batches if epochs is None else epochs:
        if epoch not in batches:
            raise EarlyError(f"estimates are made of sealed epochs, and epoch {epoch} is not sealed.", "open")
    chosen = {batches[epoch].epoch: batches[epoch] for epoch in (batches if epochs is None else epochs)}
    if not chosen:
        raise EarlyError("estimates are made of sealed epochs, and none is sealed yet.", "open")
    return [chosen[first] for first in sorted(chosen)]


def estimate_files(plan: str, files: Sequence[str], method: Method) -> Estimate:
    """Return an estimate from files of reports; run in a process of its own."""
    from discreet.engines import gather
    from discreet.io.plan import Plan

    mechanism = Plan.load(plan).mechanism()
    data, _ = gather(mechanism, files)
    return estimate(mechanism, data, method=method)
