"""Releases: estimates of epochs, none of too few reports, and none again before enough others have come."""

import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from discreet.collector.catalogue import Catalogue, Entry
from discreet.collector.estimate_query import EstimateQuery, spelled_epochs
from discreet.collector.folder import DataFolder
from discreet.collector.sealing import sealed_folder
from discreet.collector.store import SealRow, Store
from discreet.collector.working import JobError, Workers
from discreet.core.confidence_intervals import Intervals
from discreet.core.estimate import Estimate
from discreet.core.tally import Tally
from discreet.errors import DiscreetError, ParameterError
from discreet.estimators import estimate
from discreet.estimators.linear_start import LinearStart
from discreet.estimators.methods import thresholded
from discreet.estimators.one_step import KnownWorths, WorthIntervals, worth_facts
from discreet.io.frames import ID_BYTES
from discreet.io.tallies import read_tally

FROM_REPORTS = ("mle", "em")
_SIGNIFICANCE = 0.05
_SLICE_BYTES = 1 << 22
_MOST_CACHED = 1000
_SEEN = "saw estimate"
_LINES = 100_000


class EarlyError(DiscreetError):
    """An estimate of too few reports, or again of too few others."""

    def __init__(self, message: str, **facts: int) -> None:
        super().__init__(message)
        self.facts: dict[str, Any] = facts


class TakesLongError(DiscreetError):
    """An estimate that takes longer than it may."""


@dataclass(frozen=True, eq=False)
class Release:
    """An estimate that was released.

    Attributes:
        epochs: of which.
        found: the estimate.
        noise_floor: ``(|X|,)`` above which a frequency is significant, all tests together at 5%.
        provisional: whether some of the epochs are open: reports that came twice are not yet removed.
    """

    epochs: tuple[int, ...]
    found: Estimate
    noise_floor: list[float]
    provisional: bool


@dataclass
class _Open:
    """The tally of an open epoch up to some frame."""

    after: int = -1
    tally: Tally | None = None


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
    """Estimates of sealed and open epochs, cached, and written to the audit.

    Args:
        store: used under a lock; closed here.
        folder: of all data.
        catalogue: of the collections.
        workers: for estimates from reports.
        seconds: that these may take.
    """

    def __init__(
        self, store: Store, folder: DataFolder, catalogue: Catalogue, *, workers: Workers, seconds: float = 60.0
    ) -> None:
        self._store, self._folder, self._catalogue = store, folder, catalogue
        self._workers, self._seconds = workers, seconds
        self._lock = threading.Lock()
        self._cache: dict[tuple[Any, ...], Release] = {}
        self._open: dict[tuple[int, int], _Open] = {}

    def close(self) -> None:
        """Give back the store."""
        with self._lock:
            self._store.close()

    def release(self, entry: Entry, query: EstimateQuery, who: str) -> Release:
        """Return the estimate that is asked for, and write down who saw it.

        Raises:
            EarlyError: if there are too few reports.
            TakesLongError: if it takes longer than it may.
            ParameterError: if an epoch has no reports, or the method needs sealed ones.
        """
        with self._lock:
            release = self._released(entry, query)
            detail = f"{_about(entry, release.epochs)} {query.method} n={release.found.n}"
            with self._store.transaction():
                self._store.note(int(time.time()), who, _SEEN, detail)
        return release

    def _released(self, entry: Entry, query: EstimateQuery) -> Release:
        seals = {seal.epoch: seal for seal in self._store.seals() if seal.collection == entry.key}
        epochs = tuple(seals) if query.epochs is None else query.epochs
        pending = {epoch for key, epoch in self._store.pending() if key == entry.key}
        unknown = [epoch for epoch in epochs if epoch not in seals and epoch not in pending]
        if not epochs or unknown:
            which = f"epoch {unknown[0]}" if unknown else "any sealed epoch"
            raise EarlyError(f"there are no reports of {which} yet.", n=0, least=entry.collection.least)
        opened = [epoch for epoch in epochs if epoch not in seals]
        if opened and query.method in FROM_REPORTS:
            raise ParameterError(f"method {query.method!r} needs sealed epochs, and epoch {opened[0]} is open.")
        tallies = [self._sealed_tally(entry, seals[epoch]) for epoch in epochs if epoch in seals]
        tallies += [self._open_tally(entry, epoch) for epoch in opened]
        whole = sum(tallies, start=entry.mechanism.empty_tally())
        n, least = whole.n, entry.collection.least
        if n < least:
            raise EarlyError(f"there are {n} reports, and estimates need {least}.", n=n, least=least)
        before = self._cache.get((entry.key, epochs, query.method))
        if before is not None and n - before.found.n < (least if before.provisional else 1):
            # Also when an epoch was sealed meanwhile, and lost its duplicates: the same few reports in two estimates
            # would show what they say.
            return before
        if opened:
            self._check_again(entry, epochs, n, least)
        made = self._made(entry, query, epochs, whole, provisional=bool(opened))
        self._cache[entry.key, epochs, query.method] = made
        if len(self._cache) > _MOST_CACHED:
            del self._cache[next(iter(self._cache))]
        return made

    def _check_again(self, entry: Entry, epochs: tuple[int, ...], n: int, least: int) -> None:
        """Refuse an estimate of open epochs that differs from one that somebody saw in too few reports.

        The audit knows them all, whatever the method, and also those of before a restart.
        """
        about = f"{_about(entry, epochs)} "
        for line in self._store.audit(most=_LINES):
            if line.action == _SEEN and line.detail.startswith(about):
                more = least - (n - int(line.detail.rpartition("n=")[2]))
                if 0 < more < least:
                    raise EarlyError(
                        f"these epochs were estimated already; {more} further reports are needed.", n=n, least=least
                    )

    def _made(
        self, entry: Entry, query: EstimateQuery, epochs: tuple[int, ...], whole: Tally, *, provisional: bool
    ) -> Release:
        start = LinearStart.of(entry.mechanism, whole)
        floor = thresholded(start, _SIGNIFICANCE, uniform=False)[1]
        if query.method in FROM_REPORTS:
            found = self._from_reports(start, entry, query, epochs)
        else:
            found = estimate(entry.mechanism, whole, method=query.method)
        return Release(epochs, found, floor.tolist(), provisional)

    def _from_reports(self, start: LinearStart, entry: Entry, query: EstimateQuery, epochs: Sequence[int]) -> Estimate:
        place = sealed_folder(self._folder, entry)
        files = [str(place / f"epoch-{epoch:06d}.parquet") for epoch in epochs]
        if gone := sum(not Path(file).exists() for file in files):
            raise ParameterError(
                f"method {query.method!r} needs reports, and those of {gone} epochs have been deleted; "
                "take another method."
            )
        given = {"plan": str(place / "_plan.json"), "files": files, "method": query.method}
        try:
            said = self._workers.run("estimate", given, seconds=self._seconds)
        except JobError as error:
            raise TakesLongError(str(error)) from None
        return Estimate(
            entry.mechanism.domain,
            np.array(said["frequencies"]),
            np.array(said["standard_errors"]),
            said["n"],
            said["method"],
            said["fingerprint"],
            said["gap"],
            said["passes"],
            said["simulated"],
            _intervals(start, said),
        )

    def _sealed_tally(self, entry: Entry, seal: SealRow) -> Tally:
        name = f"epoch-{seal.epoch:06d}.tally.parquet"
        return read_tally(sealed_folder(self._folder, entry) / "_tallies" / name, entry.mechanism)

    def _open_tally(self, entry: Entry, epoch: int) -> Tally:
        """Return the tally of an epoch that is not sealed, from where it was left the last time."""
        found = self._open.setdefault((entry.key, epoch), _Open())
        tally = entry.mechanism.empty_tally() if found.tally is None else found.tally
        most = max(_SLICE_BYTES // entry.width, 1)
        while True:
            place, data = self._store.frames(entry.key, epoch, after=found.after, most=most)
            if not data:
                return tally
            records = np.frombuffer(data, dtype=np.uint8).reshape(-1, entry.width)[:, ID_BYTES:]
            reports = entry.codec.reports(entry.mechanism, records, simulated=entry.collection.simulated)
            tally = tally + entry.mechanism.tally(reports)
            found.after, found.tally = place, tally

    def counts(self, entry: Entry) -> Counts:
        """Return the numbers of reports of a collection, and of refusals by reason."""
        with self._lock:
            seals = [seal for seal in self._store.seals() if seal.collection == entry.key]
            waiting = {epoch: n for (key, epoch), n in self._store.waiting().items() if key == entry.key}
            refused = self._store.refusals()
        found = Counts(
            sum(seal.n for seal in seals),
            sum(seal.duplicates for seal in seals),
            sum(seal.conflicts for seal in seals),
            sum(waiting.values()),
            [{"epoch": seal.epoch, "n": seal.n} for seal in seals],
        )
        for (key, _, reason), count in refused.items():
            if key == entry.key:
                found.refusals[reason] = found.refusals.get(reason, 0) + count
        return found


def _about(entry: Entry, epochs: Sequence[int]) -> str:
    """Return the words of an audit line for the epochs that were estimated."""
    return f"{entry.row.name} version {entry.row.version} epochs {spelled_epochs(epochs)}"


def estimate_files(plan: str, files: Sequence[str], method: str) -> dict[str, Any]:
    """Return an estimate from files of reports as JSON; run in a process of its own."""
    from discreet.engines import gather
    from discreet.io.plan import Plan

    mechanism = Plan.load(plan).mechanism()
    data, _ = gather(mechanism, files)
    found = estimate(mechanism, data, method=method)
    return {
        "frequencies": found.frequencies.tolist(),
        "standard_errors": found.standard_errors.tolist(),
        "n": found.n,
        "method": found.method,
        "fingerprint": found.fingerprint,
        "gap": found.gap,
        "passes": found.passes,
        "simulated": found.simulated,
        "of_reports": isinstance(found.intervals, WorthIntervals),
        "worths": worth_facts(found.intervals.worths) if isinstance(found.intervals, WorthIntervals) else None,
    }


def _intervals(start: LinearStart, said: Mapping[str, Any]) -> Intervals:
    """Return the intervals of an estimate that another process made: of its tally, or of its reports."""
    codes = np.flatnonzero(start.evidence.covered)
    return KnownWorths(start.intervals, codes, said["worths"]) if said["of_reports"] else start.intervals
