"""The application: its routes, and what it does by itself.

The housekeeping of a collector: its clock, counts to be written, epochs to be sealed, files that have expired.

The application: the path of reports as plain ASGI, all else through Starlette, and the threads behind them.
"""

import threading
import time
from contextlib import suppress
from typing import Any

from discreet.collector import endpoints, intake
from discreet.collector.endpoints import Access
from discreet.collector.inboxes import DataFolder
from discreet.collector.intake import REPORTS, Intake, Receive, Scope, Send, Writer, refuse
from discreet.collector.keeper import Entry, Keeper, Rates
from discreet.collector.logs import Measures, log, place_of
from discreet.collector.operations import Control
from discreet.collector.releases import Releases
from discreet.collector.sealing import due_batches, forget_few, forget_reports, seal_batch
from discreet.collector.settings import Settings
from discreet.collector.working import Workers
from discreet.errors import DiscreetError

_SECONDS = 1.0
_DAY = 86_400
_AGAIN_SECONDS = 60.0
_SEEN_SECONDS = 60.0


class Housekeeper(threading.Thread):
    """A thread that looks after a collector once a second.

    Args:
        keeper: of the data.
        measures: what is counted.
        sealing: whether epochs are sealed when they are over.
    """

    def __init__(self, keeper: Keeper, measures: Measures, *, sealing: bool = True) -> None:
        super().__init__(name="housekeeping", daemon=True)
        self._keeper, self._measures, self._sealing = keeper, measures, sealing
        self._ended = threading.Event()
        self._failed: dict[tuple[int, tuple[int, ...]], float] = {}
        self._seen = 0.0
        self.free_bytes = keeper.folder.free_bytes
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
        if self._keeper.clock.doubted:
            log("clock_jumped", level="warning")
        while not self._ended.wait(_SECONDS):
            try:
                self.look()
            except DiscreetError as error:
                log("housekeeping_failed", level="error", reason=str(error))
            except Exception as error:
                log("defect", level="error", place=place_of(error))

    def look(self) -> None:
        """Do once what is due."""
        keeper = self._keeper
        if step := keeper.clock.look():
            log("clock_jumped", level="warning", seconds=round(step))
        self.free_bytes = keeper.folder.free_bytes
        keeper.tidy()
        if keeper.refusals_wait or time.monotonic() > self._seen + _SEEN_SECONDS:
            if not keeper.clock.doubted:
                keeper.write_counts(keeper.clock.now())
            self._seen = time.monotonic()
        entries = list(keeper.catalogue.by_id.values())
        due = [
            (entry.collection.window(batch[-1])[2], entry, batch)
            for entry in entries
            for batch in due_batches(keeper, entry)
        ]
        due.sort(key=lambda one: one[0])
        self.oldest_unsealed = max(0.0, keeper.clock.now() - due[0][0]) if due else 0.0
        if keeper.clock.doubted:
            return
        if self._sealing:
            for _, entry, batch in due:
                self._seal(entry, batch)
        self._forget()

    def _seal(self, entry: Entry, batch: tuple[int, ...]) -> None:
        at = entry.key, batch
        if self._ended.is_set() or self._failed.get(at, -_AGAIN_SECONDS) > time.monotonic() - _AGAIN_SECONDS:
            return
        began = time.monotonic()
        facts: Any = {"collection": entry.key, "epoch": batch[-1]}
        try:
            row = seal_batch(self._keeper, entry, batch, "collector")
        except (DiscreetError, OSError) as error:
            self._failed[at] = time.monotonic()
            if not self._ended.is_set():
                reason = str(error) if isinstance(error, DiscreetError) else error.strerror or type(error).__name__
                log("sealing_failed", level="error", **facts, reason=reason)
            return
        self._failed.pop(at, None)
        if row is None:
            log("too_few_to_seal", **facts)
            return
        self._measures.sealed += 1
        counts: Any = {"n": row.n, "duplicates": row.duplicates, "conflicts": row.conflicts}
        log("sealed", **facts, seconds=round(time.monotonic() - began, 3), **counts)

    def _forget(self) -> None:
        keeper, now = self._keeper, self._keeper.clock.now()
        entries = {entry.key: entry for entry in keeper.catalogue.by_id.values()}
        for seal in keeper.store.seals():
            entry = entries.get(seal.collection)
            over = entry is not None and now >= seal.at + entry.collection.retention * _DAY
            if over and forget_reports(keeper, seal, "collector"):
                log("expired", collection=seal.collection, epoch=seal.epoch, n=seal.n)
        for key, epoch in keeper.pending():
            entry = entries.get(key)
            # Of collections that are over: nothing comes any more that they could be sealed with.
            if entry is not None and now >= _end(entry) + entry.collection.retention * _DAY:
                forget_few(keeper, entry, epoch, "collector")
                log("expired", collection=key, epoch=epoch)


def _end(entry: Entry) -> float:
    """Return when the last epoch of a collection takes no more reports."""
    return float(entry.collection.window(entry.collection.epochs.count - 1)[2])


class Application:
    """A collector as an ASGI application. It holds its folder from when it is made until it is closed.

    Args:
        settings: of the collector.
        demo: whether everybody may see what needs a token otherwise; for this machine alone.

    Raises:
        ParameterError: if the folder is served by another collector, or its database is of a newer discreet.
        FailedStoreError: if the database cannot be opened.
        DataError: if a collection in it does not pass the checks any more.
    """

    def __init__(self, settings: Settings, *, demo: bool = False) -> None:
        self.settings, self.measures, self.demo = settings, Measures(), demo
        self._closed = False
        self.workers = Workers()
        self.keeper = Keeper(DataFolder(settings.folder), workers=self.workers)
        try:
            self._make()
        except BaseException:
            self.keeper.close()
            raise

    def _make(self) -> None:
        settings, keeper = self.settings, self.keeper
        self.folder, self.catalogue, self.tokens = keeper.folder, keeper.catalogue, keeper.tokens
        limits = settings.limits
        rates = None if settings.behind_proxy or not limits.rate else Rates(limits.rate, limits.burst)

        def writer(**given: Any) -> Writer:
            given |= {"gather": settings.gather_ms / 1000, "frames": limits.frames, "size": limits.bytes}
            return Writer(keeper, self.measures, **given)

        self.intake = Intake(self.catalogue, writer, rates)
        self.housekeeper = Housekeeper(keeper, self.measures, sealing=settings.sealing == "auto")
        self.releases = Releases(keeper, workers=self.workers, seconds=limits.estimate_seconds)
        self.access = Access(self.tokens, everybody=self.demo)
        self.pages = endpoints.application(self)
        self.control = Control(keeper)

    @staticmethod
    def clock() -> float:
        """Return the time, in Unix seconds."""
        return time.time()

    @property
    def ready(self) -> dict[str, bool]:
        """The conditions for taking reports, by name."""
        return {
            "store": self.measures.store_ok and not self.keeper.inboxes.flaws,
            "clock": not self.keeper.clock.doubted,
            "disk": self.housekeeper.free_bytes >= self.settings.least_free_disk,
            "queue": self.intake.writer.waiting < self.settings.limits.frames // 2,
        }

    def gauges(self) -> dict[str, tuple[str, float]]:
        """Return the numbers of this moment, by name."""
        return {
            "discreet_queue_frames": ("Frames that wait to be stored.", self.intake.writer.waiting),
            "discreet_free_bytes": ("Room on the disk.", self.housekeeper.free_bytes),
            "discreet_store_ok": ("Whether the last writing succeeded.", float(self.measures.store_ok)),
            "discreet_oldest_unsealed_seconds": (
                "How long the oldest epoch that is over waits to be sealed.",
                self.housekeeper.oldest_unsealed,
            ),
            "discreet_open_collections": (
                "Collections that are open.",
                sum(entry.row.state == "open" for entry in self.catalogue.newest.values()),
            ),
        }

    def start(self) -> None:
        """Begin to take reports, within the loop that requests come in."""
        self.intake.start()
        self.housekeeper.start()
        self.control.start()
        for why in self.catalogue.refused.values():
            log("collection_refused", level="error", reason=why)
        log("started", listen=self.settings.listen, collections=len(self.catalogue.by_id))

    def close(self) -> None:
        """Take nothing more, write what waits, and let go of the folder; nothing the second time."""
        if self._closed:
            return
        self._closed = True
        self.control.stop()
        self.housekeeper.end()
        self.workers.stop()
        for thread in (self.intake.writer, self.housekeeper):
            if thread.is_alive():
                thread.stop()
        with suppress(DiscreetError):
            # Refusals of the last second; what the disk does not take is lost with them.
            self.keeper.write_counts(self.keeper.clock.now())
        self.keeper.close()
        log("stopped")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or begin and end with the server."""
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
        elif scope["type"] != "http":
            return
        elif scope["path"] == REPORTS:
            await self.intake(scope, receive, send)
        else:
            await self._page(scope, receive, send)

    async def _page(self, scope: Scope, receive: Receive, send: Send) -> None:
        began = False

        async def noted(message: Any) -> None:
            nonlocal began
            if message["type"] == "http.response.start":
                began = True
            await send(message)

        try:
            await self.pages(scope, receive, noted)
        except Exception as error:
            # Its message may hold what somebody sent: only where it happened is written down.
            log("defect", level="error", place=place_of(error))
            if not began:
                await refuse(noted, intake.DEFECT)

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                self.start()
                await send({"type": "lifespan.startup.complete"})
            else:
                self.close()
                await send({"type": "lifespan.shutdown.complete"})
                return


def application(settings: Settings, **options: Any) -> Application:
    """Return a collector as an ASGI application; see `Application`."""
    return Application(settings, **options)
