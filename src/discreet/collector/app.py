"""The application: the path of reports as plain ASGI, all else through Starlette, and the threads behind them."""

import time
from contextlib import suppress
from typing import Any

from discreet.collector import refusals
from discreet.collector.control import Control
from discreet.collector.folder import DataFolder
from discreet.collector.housekeeping import Housekeeper
from discreet.collector.intake import REPORTS, Intake, Receive, Scope, Send, refuse
from discreet.collector.keeper import Keeper
from discreet.collector.logs import log, place_of
from discreet.collector.measures import Measures
from discreet.collector.pages import endpoints
from discreet.collector.pages.access import Access
from discreet.collector.rates import Rates
from discreet.collector.releases import Releases
from discreet.collector.settings import Settings
from discreet.collector.working import Workers
from discreet.collector.writer import Writer
from discreet.errors import DiscreetError


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
                await refuse(noted, refusals.DEFECT)

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
