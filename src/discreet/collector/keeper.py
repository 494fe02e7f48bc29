"""The owner of a collector's data: one process at a time, a server or a verb, by whom all of it is read and written."""

import shutil
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import ExitStack
from threading import Lock, RLock
from types import TracebackType
from typing import Any, Self

from discreet.collector import working
from discreet.collector.catalogue import Catalogue, Entry
from discreet.collector.clock import Clock
from discreet.collector.folder import DataFolder, synchronize
from discreet.collector.inboxes import At, Inboxes
from discreet.collector.migration import migrate
from discreet.collector.store import SealRow, Store
from discreet.collector.tokens import Tokens
from discreet.collector.working import Workers
from discreet.errors import ParameterError

_MOST_REASONS = 10_000


class Keeper:
    """A collector's data in the hands of this process, which holds their folder until they are closed.

    What an earlier owner left half done when it was killed is done first: see docs/collector.md.

    Args:
        folder: of the data.
        workers: processes for long work; None to do it in this one.

    Attributes:
        folder: of the data.
        store: what is no report.
        inboxes: reports that are not sealed yet.
        catalogue: the collections.
        tokens: in use.
        clock: by which epochs end.
        upkeep: held by whoever seals, deletes or copies: one at a time.
        few: reports that wait in batches of fewer different ones than their collection wants, by collection and epochs.

    Raises:
        HeldError: if another process holds the folder.
        FailedStoreError: if the database cannot be opened.
        DataError: if it is damaged, or a collection in it does not pass the checks any more.
        ParameterError: if it is of a newer discreet.
    """

    def __init__(self, folder: DataFolder, *, workers: Workers | None = None) -> None:
        self.folder, self._workers = folder, workers
        self.upkeep = RLock()
        self.few: dict[tuple[int, tuple[int, ...]], int] = {}
        self._refused: Counter[tuple[int | None, int, str]] = Counter()
        self._counting = Lock()
        self._widths: dict[int, int] = {}
        with ExitStack() as opened:
            opened.enter_context(folder.serving())
            with folder.sealing():
                # A worker may outlive the collector that it seals for.
                pass
            migrate(folder)
            self.store = Store(folder.database)
            opened.callback(self.store.close)
            self.clock = Clock(self.store.clock_seen())
            self.catalogue, self.tokens = Catalogue(self.clock), Tokens()
            self._load()
            self.inboxes = Inboxes(folder.inbox, self._widths)
            opened.callback(self.inboxes.close)
            self._tell_cuts()
            for name in set(self.store.purges().values()):
                self.end_purge(name)
            self.tidy()
            self._opened = opened.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _tell_cuts(self) -> None:
        """Write down what was cut off files of reports, torn by a crash: nobody was told that it was kept."""
        if self.inboxes.cuts:
            with self.store.transaction():
                for name, size in self.inboxes.cuts.items():
                    self.store.note(int(time.time()), "collector", "cut", f"inbox/{name}: {size} torn bytes")

    def close(self) -> None:
        """Let go of the folder; nothing the second time."""
        self._opened.close()

    def load(self) -> None:
        """Take over what was written of collections and tokens: it holds from the next frame on."""
        with self.inboxes.turn:
            self._load()

    def _load(self) -> None:
        self.catalogue.load(self.store)
        self.tokens.load(self.store.tokens())
        self._widths.update((entry.key, entry.width) for entry in self.catalogue.by_id.values())

    def entry(self, name: str, version: int | None = None) -> Entry:
        """Return a collection.

        Raises:
            ParameterError: if there is none of this name, or version.
        """
        found = [entry for entry in self.catalogue.by_id.values() if entry.row.name == name]
        found = [entry for entry in found if version in {None, entry.row.version}]
        if not found:
            raise ParameterError(f"no collection is called {name!r}" + (f" in version {version}." if version else "."))
        return max(found, key=lambda entry: entry.row.version)

    def refuse(self, key: int | None, epoch: int, reason: str) -> None:
        """Count a refusal; it is written with the next look of the housekeeping."""
        with self._counting:
            if len(self._refused) < _MOST_REASONS:
                self._refused[key, epoch, reason] += 1

    def write_counts(self, now: float) -> None:
        """Write the counts of refusals, and that the collector was there at this time.

        Raises:
            FailedStoreError: if they cannot be; they are written the next time.
        """
        with self._counting:
            refused, self._refused = self._refused, Counter()
        try:
            with self.store.transaction():
                self.store.count_refusals(refused)
                self.store.see_clock(int(now))
        except BaseException:
            with self._counting:
                self._refused += refused
            raise

    @property
    def refusals_wait(self) -> bool:
        """The presence of refusals that are counted and not written yet."""
        return bool(self._refused)

    def refusals(self) -> Mapping[tuple[int | None, int, str], int]:
        """Return the counts of refusals by collection, epoch and reason, those that are not written yet among them."""
        with self._counting:
            return Counter(self.store.refusals()) + self._refused

    def pending(self) -> dict[At, int]:
        """Return the number of reports of each epoch that is not sealed, those that were sent again among them."""
        return {at: n for at, n in self.inboxes.waiting().items() if n}

    def work(self, job: str, given: dict[str, Any]) -> Any:
        """Do long work, in a process of its own where there are any.

        Raises:
            DiscreetError: if it fails.
        """
        return working.JOBS[job](given) if self._workers is None else self._workers.run(job, given)

    def tidy(self) -> None:
        """Unlink the reports of sealed batches: of those that were sealed just now, or before a crash."""
        seals = self.store.seals()
        for at in self.inboxes.waiting():
            if any(covers(seal, at) for seal in seals):
                self.inboxes.remove(at)

    def purge(self, name: str, actor: str) -> dict[str, int]:
        """Delete all versions of a collection, with their reports and files; return how many of what there were.

        Raises:
            ParameterError: if there is none of this name, or its files cannot be deleted.
        """
        with self.upkeep:
            keys = {row.key for row in self.store.collections() if row.name == name}
            if not keys and name not in self.store.purges().values():
                raise ParameterError(f"no collection is called {name!r}.")
            waiting = sum(n for (key, _), n in self.pending().items() if key in keys)
            sealed = sum(seal.n for seal in self.store.seals() if seal.collection in keys)
            gone = {"versions": len(keys), "reports": waiting, "sealed": sealed}
            with self.inboxes.turn:
                if keys:
                    with self.store.transaction():
                        for key in keys:
                            self.store.remove_collection(key, name)
                        detail = ", ".join(f"{count} {what}" for what, count in gone.items())
                        self.store.note(int(time.time()), actor, "purged", f"{name}: {detail}")
                self._load()
            self.end_purge(name)
        return gone

    def end_purge(self, name: str) -> None:
        """Unlink the reports and files of a deleted collection.

        Raises:
            ParameterError: if they cannot be; it is tried again with the next start, or `purge`.
        """
        keys = {key for key, of in self.store.purges().items() if of == name}
        files = self.folder.sealed / name
        try:
            for at in self.inboxes.waiting():
                if at[0] in keys:
                    self.inboxes.remove(at)
            self.inboxes.forget_strangers(keys)
            if files.exists():
                shutil.rmtree(files)
                synchronize(files.parent)
        except OSError as error:
            raise ParameterError(
                f"{name} is deleted, but files of it in {self.folder.path} could not be ({error.strerror}); mend their "
                "rights, and purge it again."
            ) from None
        with self.store.transaction():
            self.store.end_purge(name)


def covers(seal: SealRow, at: At) -> bool:
    """Return true if a sealed batch holds the reports of an epoch."""
    return seal.collection == at[0] and at[1] in epochs_of(seal)


def epochs_of(seal: SealRow) -> range:
    """Return the epochs whose reports were sealed as one batch."""
    return range(seal.epoch, seal.last + 1)
