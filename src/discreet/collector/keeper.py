"""The owner of a collector's data: one process at a time, a server or a verb, reads and writes all of it."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from threading import RLock
from types import TracebackType
from typing import Any, Self

from discreet.collector.access import Tokens
from discreet.collector.storage.catalogue import Catalogue, Entry
from discreet.collector.storage.clock import Clock
from discreet.collector.storage.folder import DataFolder, synchronize
from discreet.collector.storage.inboxes import At, Inboxes
from discreet.collector.storage.store import SealRow, Store
from discreet.collector.working import Workers
from discreet.errors import ParameterError


class Keeper:
    """A collector's data in the hands of this process, which holds their folder until they are closed.

    What an earlier owner left half done when it was killed is done first: see docs/reference/collector.md.

    Args:
        folder: of the data.
        workers: processes for long work; None to do it in this one.

    Attributes:
        folder: of the data.
        store: the database of everything except reports.
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
        self.few: dict[tuple[int, tuple[int, ...]], int] = {}
        self._widths: dict[int, int] = {}
        if folder.is_full:
            # The database needs room to be opened.
            folder.reserve.unlink(missing_ok=True)
        with ExitStack() as opened:
            self.store = opened.enter_context(closing(self._store(opened)))
            self.upkeep, self.clock = RLock(), Clock(self.store.clock_seen())
            self.catalogue, self.tokens = Catalogue(self.clock), Tokens()
            self._load()
            self.inboxes = Inboxes(folder.inbox, self._widths)
            opened.callback(self.inboxes.close)
            for name in set(self.store.purges().values()):
                self.end_purge(name)
            self.tidy()
            folder.set_aside()
            self._opened = opened.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _store(self, opened: ExitStack) -> Store:
        """Return the store; this process is the owner of the folder from now on."""
        opened.enter_context(self.folder.serving())
        with self.folder.sealing():
            # A worker may outlive the collector that it seals for.
            pass
        return Store(self.folder.database)

    def close(self) -> None:
        """Let go of the folder; nothing the second time."""
        self._opened.close()

    def load(self) -> None:
        """Read collections and tokens from the database; they hold from the next frame on."""
        with self.inboxes.turn:
            self._load()

    def _load(self) -> None:
        self.catalogue.load(self.store)
        self.tokens.load(self.store.tokens())
        self._widths.update((entry.key, entry.width) for entry in self.catalogue.by_id.values())

    def entry(self, name: str, version: int | None = None) -> Entry:
        """Return a collection.

        Raises:
            ParameterError: if no collection has this name or version.
        """
        entries = [entry for entry in self.catalogue.by_id.values() if entry.row.name == name]
        entries = [entry for entry in entries if version in {None, entry.row.version}]
        if not entries:
            which = f" in version {version}" if version else ""
            raise ParameterError("collection.unknown", argument="name", name=name, version=which)
        return max(entries, key=lambda entry: entry.row.version)

    def see_clock(self) -> None:
        """Write down that the collector was there at this time.

        Raises:
            FailedStoreError: if the disk refuses.
        """
        with self.store.transaction():
            self.store.see_clock(int(self.clock.now()))

    def pending(self) -> dict[At, int]:
        """Return the number of reports of each epoch that is not sealed, those that were sent again among them."""
        return {at: n for at, n in self.inboxes.waiting().items() if n}

    def waiting(self, entry: Entry) -> dict[int, int]:
        """Return the number of reports of each epoch of a collection that is not sealed, in order; see `pending`."""
        return {epoch: n for (key, epoch), n in sorted(self.pending().items()) if key == entry.key}

    def seals(self, entry: Entry) -> list[SealRow]:
        """Return the seals of a collection, by epoch."""
        return [seal for seal in self.store.seals() if seal.collection == entry.key]

    def work(self, job: Callable[..., Any], *args: Any) -> Any:
        """Do long work, in a process of its own where there are any.

        Raises:
            DiscreetError: if it fails.
        """
        return job(*args) if self._workers is None else self._workers.run(job, *args)

    @contextmanager
    def room(self) -> Iterator[None]:
        """Release the reserve of a full disk within the body; no reports are taken meanwhile, which would fill it."""
        if not self.folder.is_full:
            yield
            return
        with self.inboxes.turn:
            self.inboxes.is_paused = True
            self.folder.reserve.unlink(missing_ok=True)
        try:
            yield
        finally:
            self.folder.set_aside()
            self.inboxes.is_paused = False

    def tidy(self) -> None:
        """Delete the reports of sealed batches: of those that were sealed just now, or before a crash."""
        seals = self.store.seals()
        for at in self.inboxes.waiting():
            if any(covers(seal, at) for seal in seals):
                self.inboxes.remove(at)

    def purge(self, name: str) -> dict[str, int]:
        """Delete all versions of a collection, with their reports and files; return how many of what there were.

        Raises:
            ParameterError: if no collection has this name, or its files cannot be deleted.
        """
        with self.upkeep:
            keys = {row.key for row in self.store.collections() if row.name == name}
            if not keys and name not in self.store.purges().values():
                raise ParameterError("collection.unknown", argument="name", name=name, version="")
            waiting = sum(n for (key, _), n in self.pending().items() if key in keys)
            sealed = sum(seal.n for seal in self.store.seals() if seal.collection in keys)
            gone = {"versions": len(keys), "reports": waiting, "sealed": sealed}
            with self.inboxes.turn:
                if keys:
                    with self.store.transaction():
                        for key in keys:
                            self.store.remove_collection(key, name)
                self._load()
            self.end_purge(name)
        return gone

    def end_purge(self, name: str) -> None:
        """Unlink the reports and files of a deleted collection, when no process seals any more.

        Raises:
            ParameterError: if they cannot be; it is tried again with the next start, or `purge`.
        """
        keys = {key for key, of in self.store.purges().items() if of == name}
        files = self.folder.sealed / name
        try:
            with self.folder.sealing():
                for at in self.inboxes.waiting():
                    if at[0] in keys:
                        self.inboxes.remove(at)
                self.inboxes.forget_strangers(keys)
                if files.exists():
                    shutil.rmtree(files)
                    synchronize(files.parent)
        except OSError as error:
            raise ParameterError("files.not-deleted", name=name, path=self.folder.path, reason=error.strerror) from None
        with self.store.transaction():
            self.store.end_purge(name)


def covers(seal: SealRow, at: At) -> bool:
    """Return true if a sealed batch holds the reports of an epoch."""
    return seal.collection == at[0] and at[1] in epochs_of(seal)


def epochs_of(seal: SealRow) -> range:
    """Return the epochs whose reports were sealed as one batch."""
    return range(seal.epoch, seal.last + 1)
