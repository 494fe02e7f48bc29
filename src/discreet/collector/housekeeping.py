"""The housekeeping of a collector: news from other processes, epochs to be sealed, files that have expired."""

import threading
import time
from collections.abc import Callable

from discreet.collector.catalogue import LATE, Catalogue
from discreet.collector.folder import DataFolder
from discreet.collector.logs import log, place_of
from discreet.collector.measures import Measures
from discreet.collector.sealing import forget_reports
from discreet.collector.store import Store
from discreet.collector.tokens import Tokens
from discreet.collector.working import Workers
from discreet.errors import DiscreetError

_SECONDS = 1.0
_DAY = 86_400
_AGAIN_SECONDS = 60.0


class Housekeeper(threading.Thread):
    """A thread that looks after a collector once a second.

    Args:
        store: what this thread alone uses, and closes.
        folder: of all data.
        catalogue: of the collections.
        tokens: in use.
        measures: what is counted.
        workers: for sealing.
        sealing: whether epochs are sealed when they are over.
        clock: of Unix seconds.
    """

    def __init__(
        self,
        store: Store,
        folder: DataFolder,
        catalogue: Catalogue,
        *,
        tokens: Tokens,
        measures: Measures,
        workers: Workers,
        sealing: bool = True,
        clock: Callable[[], float] = time.time,
    ) -> None:
        super().__init__(name="housekeeping", daemon=True)
        self._store, self._folder, self._catalogue, self._tokens = store, folder, catalogue, tokens
        self._measures, self._workers, self._sealing, self._clock = measures, workers, sealing, clock
        self._ended = threading.Event()
        self._failed: dict[tuple[int, int], float] = {}
        self.free_bytes = folder.free_bytes
        self.oldest_unsealed = 0.0

    def end(self) -> None:
        """Begin nothing more; what is ended from now on has not failed."""
        self._ended.set()

    def stop(self) -> None:
        """End."""
        self.end()
        self.join()

    def run(self) -> None:
        """Look after the collector until told to stop; what fails is logged, and tried again."""
        try:
            while not self._ended.wait(_SECONDS):
                try:
                    self.look()
                except DiscreetError as error:
                    log("housekeeping_failed", level="error", reason=str(error))
                except Exception as error:
                    log("defect", level="error", place=place_of(error))
        finally:
            self._store.close()

    def look(self) -> None:
        """Do once what is due."""
        self.free_bytes = self._folder.free_bytes
        if self._store.changed():
            self._catalogue.load(self._store)
            self._tokens.load(self._store.tokens())
        if self._sealing:
            for key, epoch in self._due():
                self._seal(key, epoch)
        self._forget()

    def _due(self) -> list[tuple[int, int]]:
        """Return the epochs with frames that take no more of them, the oldest first."""
        now = self._clock()
        due: list[tuple[float, tuple[int, int]]] = []
        for key, epoch in self._store.pending():
            entry = self._catalogue.by_key(key)
            if entry is not None and entry.when(epoch, now) == LATE:
                due.append((entry.collection.window(epoch)[2], (key, epoch)))
        due.sort()
        self.oldest_unsealed = max(0.0, now - due[0][0]) if due else 0.0
        return [at for _, at in due]

    def _seal(self, key: int, epoch: int) -> None:
        if self._ended.is_set() or self._failed.get((key, epoch), 0.0) > time.monotonic() - _AGAIN_SECONDS:
            return
        began = time.monotonic()
        try:
            given = {"folder": str(self._folder.path), "collection": key, "epoch": epoch, "actor": "collector"}
            found = self._workers.run("seal", given)
        except DiscreetError as error:
            self._failed[key, epoch] = time.monotonic()
            if not self._ended.is_set():
                log("sealing_failed", level="error", collection=key, epoch=epoch, reason=str(error))
            return
        self._failed.pop((key, epoch), None)
        self._measures.sealed += 1
        log("sealed", collection=key, epoch=epoch, seconds=round(time.monotonic() - began, 3), **found)

    def _forget(self) -> None:
        now = self._clock()
        for seal in self._store.seals():
            entry = self._catalogue.by_key(seal.collection)
            over = entry is not None and now >= seal.at + entry.collection.retention * _DAY
            if over and forget_reports(self._store, self._folder, seal, "collector"):
                log("expired", collection=seal.collection, epoch=seal.epoch, n=seal.n)
