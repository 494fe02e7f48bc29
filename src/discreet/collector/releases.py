"""Releases: estimates of sealed epochs, none of too few reports, and the facts of a collection.

A query has the epochs, the method and the level of the intervals. Each release is made once, and returned as JSON, CSV
or Parquet. Facts are the promise, the cost to people, and the precision of estimates.
"""

import asyncio
import io
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar, cast

import numpy as np

from discreet.collector.documents.publications import collection_publication, most_answers
from discreet.collector.intake import Refusal, Refused
from discreet.collector.keeper import Catalogue, Entry, Keeper, epochs_of
from discreet.collector.sealing import sealed_folder, tally_of
from discreet.collector.storage.store import SealRow
from discreet.collector.working import JobError, Workers
from discreet.core.result_table import json_text
from discreet.core.tally import Tally
from discreet.errors import ParameterError
from discreet.estimators import METHODS, MethodName, estimate
from discreet.estimators.linear import LinearStart
from discreet.estimators.threshold import thresholded
from discreet.formats.tallies import read_tally
from discreet.mechanisms import BlockMechanism
from discreet.privacy.publication import Publication
from discreet.results.estimate import Estimate, estimate_facts
from discreet.risk.bounds import identification_bounds
from discreet.theory.binomial import DEFAULT_LEVEL

_MOST_EPOCHS = 100_000
_KNOWN = ("epochs", "method", "level", "version")


@dataclass(frozen=True)
class EstimateQuery:
    """Query for an estimate.

    Attributes:
        epochs: which, ascending; None for all that are sealed.
        method: one of the estimators.
        level: confidence of the intervals.
    """

    epochs: tuple[int, ...] | None = None
    method: MethodName = "linear"
    level: float = DEFAULT_LEVEL

    @classmethod
    def of(cls, parameters: Iterable[tuple[str, str]]) -> "EstimateQuery":
        """Return the query in the parameters of a request.

        Raises:
            ParameterError: if one is unknown, there twice, or cannot be used.
        """
        pairs = list(parameters)
        by_name = dict(pairs)
        if len(by_name) < len(pairs) or not by_name.keys() <= set(_KNOWN):
            raise ParameterError("parameters.unknown", names=", ".join(_KNOWN))
        method = by_name.get("method", "linear")
        if method not in METHODS:
            raise ParameterError("method.unknown", argument="method", names=", ".join(METHODS))
        return cls(_epochs(by_name.get("epochs", "sealed")), cast("MethodName", method), _level(by_name.get("level")))


def _epochs(text: str) -> tuple[int, ...] | None:
    if text == "sealed":
        return None
    epochs: set[int] = set()
    for part in text.split(","):
        first, dash, last = part.partition("-")
        ends = [first, last if dash else first]
        if not all(end.isascii() and end.isdigit() and len(end) <= 10 for end in ends):
            raise ParameterError("epochs.wrong-form", argument="epochs")
        start, stop = int(ends[0]), int(ends[1]) + 1
        if not start < stop <= start + _MOST_EPOCHS - len(epochs):
            raise ParameterError("epochs.too-many", argument="epochs", most=_MOST_EPOCHS)
        epochs |= set(range(start, stop))
    return tuple(sorted(epochs))


def _level(text: str | None) -> float:
    if text is None:
        return DEFAULT_LEVEL
    try:
        level = float(text)
    except ValueError:
        level = 0.0
    if not 0 < level < 1:
        raise ParameterError("level.out-of-range", argument="level")
    return level


def spelled_epochs(epochs: Sequence[int]) -> str:
    """Return epochs as ranges."""
    parts: list[list[int]] = []
    for epoch in epochs:
        if parts and parts[-1][1] == epoch - 1:
            parts[-1][1] = epoch
        else:
            parts.append([epoch, epoch])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in parts)


_UNKNOWN = Refusal(404, "collection", "no such collection is here.")


def asked_entry(catalogue: Catalogue, name: str, version: str | None) -> Entry:
    """Return the collection that a request names, its newest version if it names none.

    Raises:
        Refused: if there is no such collection.
    """
    entry = catalogue.newest.get(name)
    if entry is not None and version is not None:
        entries = [known for known in catalogue.by_id.values() if known.row.name == entry.row.name]
        entry = next((each for each in entries if str(each.row.version) == version), None)
    if entry is None:
        raise Refused(_UNKNOWN)
    return entry


MOST_WAITING = 64
"""Requests for estimates at once, those that wait for their turn among them."""
_AT_ONCE = 2
_SIGNIFICANCE = 0.05
_MOST_CACHED = 100

_T = TypeVar("_T")


@dataclass(frozen=True, eq=False)
class Release:
    """An estimate that was released.

    Attributes:
        epochs: the epochs of the estimate.
        found: the estimate.
        noise_floor: ``(|X|,)`` above which a frequency is significant, all tests together at 5%.
        tally: that it was made of.
    """

    epochs: tuple[int, ...]
    found: Estimate
    noise_floor: list[float]
    tally: Tally


@dataclass
class Counts:
    """Reports of a collection: sealed, twice, in conflict, waiting; and refusals by reason."""

    sealed: int = 0
    duplicates: int = 0
    conflicts: int = 0
    waiting: int = 0
    epochs: list[dict[str, int]] = field(default_factory=list)
    refusals: dict[str, int] = field(default_factory=dict)


class Once(Generic[_T]):
    """Results by key, each made by the first who asks for it; whoever asks meanwhile waits for the same.

    Args:
        most: how many are kept.
    """

    def __init__(self, most: int = _MOST_CACHED) -> None:
        self._most, self._lock = most, threading.Lock()
        self._known: dict[Any, Future[_T]] = {}

    def __call__(self, key: Any, make: Callable[[], _T]) -> _T:
        """Return the result under a key."""
        mine: Future[_T] = Future()
        with self._lock:
            known = self._known.setdefault(key, mine)
            if len(self._known) > self._most:
                del self._known[next(iter(self._known))]
        if known is mine:
            try:
                mine.set_result(make())
            except BaseException as error:
                with self._lock:
                    self._known.pop(key, None)
                mine.set_exception(error)
        return known.result()


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
        self._workers, self.seconds = workers, seconds
        self.turns, self._processes = threading.Semaphore(_AT_ONCE), threading.Semaphore(_AT_ONCE)
        self._pool = ThreadPoolExecutor(MOST_WAITING, thread_name_prefix="estimates")
        self.waiting = 0
        self._once = Once[Release]()

    def close(self) -> None:
        """Wait for all who work; jobs are ended already."""
        self._pool.shutdown(cancel_futures=True)

    async def aside(self, work: Callable[[], _T]) -> _T:
        """Return the result of work in a thread of this class, so that neither the loop nor other pages wait for it.

        Raises:
            Refused: if too many wait already.
        """
        if self.waiting >= MOST_WAITING:
            raise _late(f"{self.waiting} requests for estimates are waiting already; ask again later.")
        self.waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, work)
        finally:
            self.waiting -= 1

    def release(self, entry: Entry, query: EstimateQuery, who: str) -> Release:
        """Return the estimate that is asked for, and write down who saw it.

        Raises:
            Refused: if there are too few reports, an epoch is not sealed, or it takes longer than it may.
            ParameterError: if reports are needed that have been deleted.
        """
        release = self.of(entry, covering(self._keeper.seals(entry), query.epochs), query.method)
        self.note(entry, release, query, who)
        return release

    def of(self, entry: Entry, seals: Sequence[SealRow], method: MethodName) -> Release:
        """Return the estimate of some batches, for who writes down that it was seen; arguments and errors as there."""
        n, least = sum(seal.n for seal in seals), entry.collection.least
        if n < least:
            why = f"there are {n} reports, and estimates need {least}."
            raise Refused(Refusal(409, "least", why, {"n": n, "least": least}))
        key = entry.key, tuple(seal.epoch for seal in seals), method
        return self._once(key, lambda: self._release(entry, seals, method))

    def note(self, entry: Entry, release: Release, query: EstimateQuery, who: str, *, what: str = "estimate") -> None:
        """Write down who saw what of a release."""
        detail = f"{entry.row.name} version {entry.row.version} epochs {spelled_epochs(release.epochs)}"
        with self._store.transaction():
            self._store.note(int(time.time()), who, f"saw {what}", f"{detail} {query.method} n={release.found.n}")

    def apart(self, entry: Entry, seals: Sequence[SealRow]) -> list[tuple[SealRow, Release]]:
        """Return the linear estimate of each batch that has enough reports.

        They are not cached here: the caller caches its pages.
        """
        least = entry.collection.least
        return [(seal, self._release(entry, [seal], "linear")) for seal in seals if seal.n >= least]

    def _release(self, entry: Entry, seals: Sequence[SealRow], method: MethodName) -> Release:
        with self.turns:
            tallies = (read_tally(tally_of(self._folder.sealed / seal.file), entry.mechanism) for seal in seals)
            whole = sum(tallies, start=entry.mechanism.empty_tally())
            start = LinearStart.of(entry.mechanism, whole)
            floor = thresholded(start, _SIGNIFICANCE, uniform=False)[1].tolist()
            result = None if METHODS[method].needs_reports else estimate(entry.mechanism, whole, method=method)
        if result is None:
            result = self._from_reports(entry, seals, method)
        return Release(tuple(epoch for seal in seals for epoch in epochs_of(seal)), result, floor, whole)

    def _from_reports(self, entry: Entry, seals: Iterable[SealRow], method: MethodName) -> Estimate:
        place = sealed_folder(self._folder, entry)
        files = [self._folder.sealed / seal.file for seal in seals]
        if gone := sum(not file.exists() for file in files):
            raise ParameterError("reports.deleted", argument="method", method=method, n=gone)
        args = place / "_plan.json", files, method
        with self._processes:
            try:
                result: Estimate = self._workers.run(estimate_files, *args, seconds=self.seconds)
            except JobError as error:
                raise _late(error.sentence()) from None
        return result

    def counts(self, entry: Entry) -> Counts:
        """Return the numbers of reports of a collection, and of refusals by reason."""
        seals = self._keeper.seals(entry)
        return Counts(
            sum(seal.n for seal in seals),
            sum(seal.duplicates for seal in seals),
            sum(seal.conflicts for seal in seals),
            sum(self._keeper.waiting(entry).values()),
            [{"epoch": seal.epoch, "last": seal.last, "n": seal.n} for seal in seals],
            self._keeper.reasons(entry),
        )


def _open(why: str) -> Refused:
    return Refused(Refusal(409, "open", f"estimates are made of sealed epochs, and {why}."))


def _late(why: str) -> Refused:
    return Refused(Refusal(503, "time", why, retry=60))


def covering(seals: Sequence[SealRow], epochs: Sequence[int] | None) -> list[SealRow]:
    """Return the batches that epochs are in, each whole: nothing is estimated of a part of one.

    Args:
        seals: the batches of a collection.
        epochs: those that are asked for; None for all that are sealed.

    Raises:
        Refused: if one of the epochs is not sealed, or none is.
    """
    batches = {epoch: seal for seal in seals for epoch in epochs_of(seal)}
    for epoch in batches if epochs is None else epochs:
        if epoch not in batches:
            raise _open(f"epoch {epoch} is not sealed")
    chosen = {batches[epoch].epoch: batches[epoch] for epoch in (batches if epochs is None else epochs)}
    if not chosen:
        raise _open("none is sealed yet")
    return [chosen[first] for first in sorted(chosen)]


def estimate_files(plan: Path, files: Sequence[Path], method: MethodName) -> Estimate:
    """Return an estimate from files of reports; run in a process of its own."""
    from discreet.engines import LocalEngine
    from discreet.formats.plan import Plan

    mechanism = Plan.load(plan).mechanism()
    data, _ = LocalEngine().evidence(mechanism, files)
    return estimate(mechanism, data, method=method)


_CROWD = 10_000
_MOST_REPORTS = 30
_LARGE_CONTRIBUTION = 10.0
_COUNTED = ("sealed", "waiting", "duplicates", "conflicts", "epochs")


def facts_of(entry: Entry, counts: Counts) -> dict[str, Any]:
    """Return the facts of a collection, ready for JSON.

    Args:
        entry: the collection.
        counts: how many reports there are.
    """
    collection, guarantee, size = entry.collection, entry.mechanism.guarantee, entry.mechanism.domain.size
    # Who sends a share f of all reports raises an estimate by at most f times the largest contribution of a report, and
    # lowers it by f (1 - the least).
    ends = entry.mechanism.decoder.contribution_range
    least, most = float(ends[0].min()), float(ends[1].max())
    n = max(counts.sealed + counts.waiting, collection.least)
    answers, error = most_answers(collection), entry.mechanism.decoder.mse(n, np.full(size, 1 / size))
    return {
        "name": collection.name,
        "version": collection.version,
        "id": collection.id.hex(),
        "state": entry.row.state,
        "simulated": collection.simulated,
        "guarantee": {
            "sentence": str(guarantee),
            "notion": guarantee.notion,
            "epsilon": collection.epsilon,
            "realised": guarantee.realised,
        },
        "publication": publication(entry, counts).to_dict(),
        "planned_publication": collection_publication(collection, entry.mechanism).to_dict(),
        "budgets": {
            "answers": collection.answers,
            "per_answer": collection.cost,
            "lifetime": collection.lifetime,
            "answers_in_lifetime": answers,
        },
        # Of a value, on average over values, if all are equally frequent.
        "precision": {"n": n, "standard_error": float(np.sqrt(error / size)), "least": collection.least},
        "identification": [
            _identified(collection.answered(entry.mechanism), reports)
            for reports in sorted({1, min(answers, _MOST_REPORTS)})
        ],
        "influence": {
            "largest_contribution_of_a_report": most,
            "least_contribution_of_a_report": least,
            "large": max(most, -least) > _LARGE_CONTRIBUTION,
        },
        "reports": {name: getattr(counts, name) for name in _COUNTED},
        "refusals": counts.refusals,
    }


def publication(entry: Entry, counts: Counts) -> Publication:
    """Return the publication of all that is sealed of a collection: estimates can be subtracted, so each states it.

    Args:
        entry: the collection.
        counts: how many reports there are, by sealed batch.
    """
    sealed = ((seal["n"], seal["last"] - seal["epoch"] + 1) for seal in counts.epochs)
    return collection_publication(entry.collection, entry.mechanism, sealed)


def _identified(mechanism: BlockMechanism, reports: int) -> dict[str, Any]:
    bounds = identification_bounds(mechanism, _CROWD, reports=reports)
    return {
        "reports": reports,
        "users": _CROWD,
        "probability_at_most": bounds.identification.value,
        "by_guessing": bounds.guessed,
        "sentence": bounds.identification_sentence,
    }


_PARQUET = "application/vnd.apache.parquet"


def spelled(release: Release, entry: Entry, counts: Counts, *, level: float, accept: str) -> tuple[bytes, str]:
    """Return a release in the first known form that is accepted, JSON if none is said, and its media type.

    Args:
        release: the estimate.
        entry: of this collection.
        counts: all batches that are sealed: estimates can be subtracted, so each states what all of them tell.
        level: confidence of the intervals.
        accept: media types that are taken.

    Raises:
        ParameterError: if the level is not in (0, 1).
    """
    result = release.found
    kinds = [part.partition(";")[0].strip().lower() for part in accept.split(",")]
    kind = next((kind for kind in kinds if kind in {"application/json", "text/csv", _PARQUET}), "application/json")
    if kind == "application/json":
        content = {
            "collection": entry.row.name,
            "version": entry.row.version,
            "epochs": spelled_epochs(release.epochs),
            "local_epsilon": entry.mechanism.guarantee.realised,
            **estimate_facts(result, level=level, more={"noise_floor": release.noise_floor}),
            "publication": publication(entry, counts).to_dict(),
        }
        return json_text(content).encode(), kind
    table = result.to_arrow(level)
    sink = io.BytesIO()
    if kind == "text/csv":
        from pyarrow import csv

        csv.write_csv(table, sink)
        return sink.getvalue(), "text/csv; charset=utf-8"
    from pyarrow import parquet

    parquet.write_table(table, sink)
    return sink.getvalue(), kind
