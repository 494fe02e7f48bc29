"""The application of a collector: the path for reports, its other endpoints, and the threads behind them.

The path of reports is plain ASGI; all other endpoints go through Starlette.
"""

from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from discreet.collector.access import Rates
from discreet.collector.control import Control
from discreet.collector.endpoints import Endpoints
from discreet.collector.housekeeping import Housekeeper
from discreet.collector.intake import Message, Receive, Scope, Send, refuse
from discreet.collector.keeper import Keeper
from discreet.collector.logs import Measures, log, place_of
from discreet.collector.refusals import DEFECT, RATE
from discreet.collector.settings import Settings
from discreet.collector.storage.folder import DataFolder
from discreet.collector.working import Workers
from discreet.collector.writer import OwnIntake
from discreet.device.protocol.frames import REPORTS
from discreet.errors import DiscreetError

_HEALTH = "/health/"


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
        self.keeper = Keeper(DataFolder(Path(settings.data)), workers=self.workers)
        with ExitStack() as failing:
            failing.callback(self.keeper.close)
            keeper, limits = self.keeper, settings.limits
            self.folder, self.catalogue, self.tokens = keeper.folder, keeper.catalogue, keeper.tokens
            self._rates = Rates(0 if settings.behind_proxy else limits.rate, limits.burst)
            queue = {"gather": settings.gather_ms / 1000, "frames": limits.frames, "size": limits.bytes}
            self.intake = OwnIntake(keeper, self.measures, **queue)
            self.housekeeper = Housekeeper(keeper, self.measures, sealing=settings.sealing == "auto")
            endpoints = Endpoints(keeper, settings, self.measures, self.conditions, demo=demo)
            self.pages = endpoints.application()
            self.control = Control(keeper)
            self._show_gauges()
            failing.pop_all()

    def conditions(self) -> dict[str, bool]:
        """Return the conditions for taking reports, by name."""
        return {
            "store": self.measures.store_ok and not self.keeper.inboxes.flaws,
            "clock": not self.keeper.clock.doubted,
            "disk": self.housekeeper.free_bytes >= self.settings.least_free_disk,
            "queue": self.intake.writer.waiting < self.settings.limits.frames // 2,
        }

    def _show_gauges(self) -> None:
        """Let the measures have the numbers of this moment."""
        show = self.measures.show
        show("discreet_queue_frames", "Frames that wait to be stored.", lambda: self.intake.writer.waiting)
        show("discreet_free_bytes", "Room on the disk.", lambda: self.housekeeper.free_bytes)
        show("discreet_store_ok", "Whether the last writing succeeded.", lambda: self.measures.store_ok)
        show(
            "discreet_oldest_unsealed_seconds",
            "How long the oldest epoch that is over waits to be sealed.",
            lambda: self.housekeeper.oldest_unsealed,
        )
        show(
            "discreet_open_collections",
            "Collections that are open.",
            lambda: sum(entry.row.state == "open" for entry in self.catalogue.newest.values()),
        )

    def start(self) -> None:
        """Begin to take reports, within the loop that requests come in."""
        self.intake.start()
        self.housekeeper.start()
        self.control.start()
        for why in self.catalogue.refused.values():
            log("collection_refused", level="error", reason=why)
        log("started", listen=self.settings.listen, collections=len(self.catalogue.by_id))

    def end_jobs(self) -> None:
        """End all sealing, and begin none; reports are accepted until `close`."""
        self.housekeeper.end()
        self.workers.stop()

    def close(self) -> None:
        """Take nothing more, write what waits, and let go of the folder; nothing the second time."""
        if self._closed:
            return
        self._closed = True
        self.control.stop()
        self.end_jobs()
        for thread in (self.intake.writer, self.housekeeper):
            if thread.is_alive():
                thread.stop()
        with suppress(DiscreetError):
            self.keeper.see_clock()
        self.keeper.close()
        log("stopped")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or begin and end with the server."""
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
        elif scope["type"] == "http":
            await self._answered(scope, receive, send)

    async def _answered(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, and count its status."""

        async def counted(message: Message) -> None:
            if message["type"] == "http.response.start":
                self.measures.requests.labels(message["status"]).inc()
            await send(message)

        if not scope["path"].startswith(_HEALTH) and not self._rates.allows((scope.get("client") or [""])[0]):
            await refuse(counted, RATE)
        elif scope["path"] == REPORTS:
            await self.intake(scope, receive, counted)
        else:
            await self._page(scope, receive, counted)

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
                await refuse(noted, DEFECT)

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
