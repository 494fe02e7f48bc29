"""The application of a collector: its endpoints, who may ask, its pages, and the threads behind them.

The path of reports is plain ASGI; all else, such as collections, estimates, facts, health and metrics, goes through
Starlette. Tokens of requests have roles.

The survey page, on which people take part in a browser, is a frame: what it says of the collection, and how people
answer, its scripts make from the envelope that the device has checked. The scripts come from the collector: whoever
does not trust it takes an application that others have looked at.
"""

import base64
import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from discreet.collector.access import ANALYST, OPERATOR, Rates, TooManyTriesError
from discreet.collector.batch_estimates import KINDS, estimate_file
from discreet.collector.control import Control
from discreet.collector.documents.attestation import Attestation
from discreet.collector.documents.publications import facts_on_published, sentences_on_published
from discreet.collector.documents.signing import plan_of
from discreet.collector.housekeeping import Housekeeper
from discreet.collector.intake import ANY_ORIGIN, Message, Receive, Scope, Send, refuse
from discreet.collector.keeper import Keeper
from discreet.collector.logs import Measures, log, place_of
from discreet.collector.refusals import DEFECT, NOT_HERE, RATE, Refusal, Refused
from discreet.collector.settings import Settings
from discreet.collector.storage.catalogue import Catalogue, Entry
from discreet.collector.storage.folder import DataFolder
from discreet.collector.working import Workers
from discreet.collector.writer import OwnIntake
from discreet.device.protocol.collection import Collection
from discreet.device.protocol.envelope import MEDIA_TYPE as COLLECTION_TYPE
from discreet.device.protocol.envelope import signers
from discreet.device.protocol.frames import REPORTS
from discreet.device.protocol.notice import notice
from discreet.errors import DiscreetError
from discreet.pictures.pages import render

_NONE = Refusal(401, "token", "this needs a token: Authorization: Bearer dsc_...")
_OTHER = Refusal(403, "role", "this token does not allow that.")
_UNKNOWN = Refusal(404, "collection", "no such collection is here.")
_NO_ESTIMATE = Refusal(404, "estimate", "this batch has no page, because the collection has too many values.")
_NOT_READ = Refusal(405, "method", "this path is read by GET.")
_MANY = Refusal(429, "tries", "too many tokens that are none; try again later.", retry=60)

_PACKAGE = Path(__file__).parents[1]
_PAGES = Path(__file__).parent / "pages"
# In the wheel scripts lie in the package, in the repository beside it: one source.
_SCRIPTS = (_PACKAGE / "js", _PACKAGE.parents[1] / "js")


def scripts() -> Path | None:
    """Return the folder of the device's scripts."""
    return next((place for place in _SCRIPTS if (place / "index.js").is_file()), None)


class _Scripts(StaticFiles):
    """Files that browsers take for what they are said to be."""

    origins: tuple[str, ...] = ()

    def file_response(self, full_path: Any, stat_result: Any, scope: Any, status_code: int = 200) -> Response:
        """Return a file."""
        response = super().file_response(full_path, stat_result, scope, status_code)
        response.headers.update({"x-content-type-options": "nosniff", **shared(Request(scope), self.origins)})
        return response


def shared(request: Request, origins: Sequence[str]) -> dict[str, str]:
    """Return the headers by which pages of some origins alone may read an answer."""
    origin = request.headers.get("origin", "")
    allowed = {"access-control-allow-origin": origin} if origin in origins else {}
    return {**allowed, **({"vary": "origin"} if origins else {})}


def survey_headers(collection: Collection) -> dict[str, str]:
    """Return the headers that a survey page is sent with.

    Args:
        collection: that is asked about; its origins are the only ones that the page may send to.
    """
    return _headers(
        {
            "script-src": "'self'",
            "style-src": "'self'",
            "img-src": "data:",
            "connect-src": " ".join(["'self'", *collection.collectors]),
        },
        "geolocation=(self), camera=(), microphone=()",
    )


def front_headers() -> dict[str, str]:
    """Return the headers of a collector's own pages: they run no script, and load nothing but their style."""
    return {**VARY, **_headers({"style-src": "'self'", "img-src": "data:"})}


def styled_headers(page: str) -> dict[str, str]:
    """Return the headers of a page that has its style inside: that style is allowed, and no other."""
    style = page.partition("<style>")[2].partition("</style>")[0]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return {**VARY, **_headers({"style-src": f"'sha256-{digest}'", "img-src": "data:"})}


def _headers(sources: Mapping[str, str], permissions: str = "") -> dict[str, str]:
    """Return the headers of a page that loads from these sources alone, and is shown in no other page."""
    none = "'none'"
    policy = {"default-src": none, **sources}
    for name in ("base-uri", "form-action", "frame-ancestors"):
        policy.setdefault(name, none)
    return {
        "content-type": "text/html; charset=utf-8",
        "content-security-policy": "; ".join(f"{name} {origins}" for name, origins in policy.items()),
        **({"permissions-policy": permissions} if permissions else {}),
        "cross-origin-opener-policy": "same-origin",
        "referrer-policy": "no-referrer",
        "x-content-type-options": "nosniff",
        "cache-control": "no-cache",
    }


def survey_page(collection: Collection, trust: Sequence[bytes], others: Sequence[Collection] = ()) -> str:
    """Return the survey page of a collection, HTML.

    Args:
        collection: that people are asked about.
        trust: public keys, 32 bytes each, that the page takes collections of.
        others: of its survey.
    """
    return render(
        "survey.html",
        _PAGES,
        collection=collection,
        notice=notice(collection),
        published=sentences_on_published(collection, others=others),
        trust=_spelled(trust),
    )


def _spelled(keys: Sequence[bytes]) -> str:
    return " ".join(base64.b64encode(key).decode() for key in keys)


@lru_cache(maxsize=64)
def attestation_of(entry: Entry, others: tuple[Entry, ...] = ()) -> tuple[Attestation, str, dict[str, str]]:
    """Return the attestation of a collection as its terms stand, its page and the headers of that; worked out once."""
    collection, trusted = entry.collection, entry.row.trust
    keys = tuple(base64.b64encode(key).decode() for key in signers(entry.row.envelope) if key in trusted)
    together = tuple(other.collection for other in others)
    attested = Attestation(plan_of(collection), collection, keys, "trusted by this collector", others=together)
    page = attested.page(base="")
    return attested, page, styled_headers(page)


ABOUT = (
    "This server collects reports for surveys. Answers that a survey protects are obfuscated on your device before "
    "anything is sent; which these are, and how well they are protected, is said before you agree. From many reports "
    "together it is estimated how frequent each answer is."
)
"""What a collector is, in a few sentences."""
VARY = {"vary": "accept"}


def for_people(accept: str) -> bool:
    """Return true if a page is accepted, as browsers say; programs that say nothing take JSON."""
    for kind in accept.split(","):
        name, *parameters = [part.strip().lower() for part in kind.split(";")]
        if name == "text/html" and not any(part.replace(" ", "") in {"q=0", "q=0.0", "q=0.00"} for part in parameters):
            return True
    return False


def front_page(collections: Sequence[Collection]) -> str:
    """Return the page of a collector, HTML.

    Args:
        collections: open ones that their authors list.
    """
    heading = "A collector of survey reports"
    return render("front.html", _PAGES, heading=heading, about=ABOUT, collections=collections, missing=False)


def missing(path: str) -> str:
    """Return the page where there is nothing, HTML; the path only says whether a survey was looked for."""
    what = "survey" if path.startswith("/take/") else "page"
    return render("front.html", _PAGES, heading=f"There is no such {what} here", missing=True)


_OPEN = {ANY_ORIGIN[0].decode(): ANY_ORIGIN[1].decode(), "access-control-expose-headers": "etag, retry-after, date"}
# Long enough for a crowd, short enough for a withdrawal to be seen soon.
_CACHED = {"cache-control": "public, max-age=60, must-revalidate"}
_HEALTH = "/health/"
_PRIVATE = {"cache-control": "no-store"}
_SAFE = {"x-content-type-options": "nosniff", "referrer-policy": "no-referrer"}


def pages_of(of: "Application") -> Starlette:
    """Return the application for all paths except the path for reports."""
    endpoints = _Endpoints(of)
    served: list[Any] = [
        Route("/", endpoints.front),
        Route("/collections/{name}", endpoints.word),
        Route("/collections/{name}/about", endpoints.about),
        Route("/collections/{name}/estimates", endpoints.estimates),
        Route("/collections/{name}/estimates/{epoch:int}.{kind}", endpoints.estimate),
        Route("/v1/collections", endpoints.collections),
        Route("/v1/collections/{name}", endpoints.envelope),
        Route("/health/live", endpoints.live),
        Route("/health/ready", endpoints.ready),
        Route("/metrics", endpoints.metrics),
    ]
    if (place := scripts()) is not None:
        files = _Scripts(directory=place)
        files.origins = of.settings.embed_origins
        served += [Route("/take/{name}", endpoints.take), Mount("/static", files)]
        served += [Route("/embed/{name}", endpoints.embed)] if of.demo else []

    def missed(request: Request, error: Any) -> Response:
        return _refused(request, _NOT_READ if error.status_code == 405 else NOT_HERE)

    handlers: dict[Any, Callable[..., Any]] = {
        Refused: lambda request, error: _refused(request, error.refusal),
        HTTPException: missed,
        Exception: lambda request, _: _refused(request, DEFECT),
    }
    return Starlette(routes=served, exception_handlers=handlers)


def _refused(request: Request, refusal: Refusal) -> Response:
    """Return a refusal; where there is nothing a page for people, but on paths that only programs know."""
    path, accept = request.scope["path"], request.headers.get("accept", "")
    if refusal.status == 404 and not path.startswith("/v1/") and for_people(accept):
        return Response(missing(path), refusal.status, front_headers())
    headers = {name.decode(): value.decode() for name, value in refusal.headers}
    if refusal.status == 401:
        # A browser asks for the token then, as a password under any name.
        headers["www-authenticate"] = 'Basic realm="discreet", charset="UTF-8"'
    return Response(refusal.body, refusal.status, {**headers, **_OPEN, **_PRIVATE, **_SAFE})


def _json(content: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(json.dumps(content), status, {**_SAFE, **(headers or _PRIVATE)}, "application/json")


class _Endpoints:
    """The endpoints of a collector; what reads from disk runs in threads, health does not wait for one."""

    def __init__(self, of: "Application") -> None:
        # One attestation at a time: it takes seconds, and the next request finds it made.
        self._of, self._turn = of, Lock()

    def front(self, request: Request) -> Response:
        """Return the front page, what this is and what it lists: HTML for people, JSON for programs."""
        if for_people(request.headers.get("accept", "")):
            return Response(front_page([entry.collection for entry in self._listed()]), headers=front_headers())
        facts = {"about": ABOUT, "collections": self._facts()}
        return _json(facts, headers={**_OPEN, **_CACHED, **VARY})

    def collections(self, _: Request) -> Response:
        """List the open collections that their authors mark as public."""
        return _json({"collections": self._facts()}, headers={**_OPEN, **_CACHED})

    def _listed(self) -> list[Entry]:
        newest = sorted(self._of.catalogue.newest.values(), key=lambda entry: entry.row.name)
        return [entry for entry in newest if entry.row.state == "open" and entry.collection.listed]

    def _facts(self) -> list[dict[str, Any]]:
        return [
            {
                "name": entry.row.name,
                "version": entry.row.version,
                "id": entry.row.id.hex(),
                "title": entry.collection.title,
                "epoch": entry.collection.epoch_at(self._of.clock()),
            }
            for entry in self._listed()
        ]

    def envelope(self, request: Request) -> Response:
        """Return a collection's envelope: its newest version, or the notice that it is withdrawn."""
        entry = self._entry(request)
        tag = f'"{entry.row.id.hex()}"'
        headers = {"etag": tag, **_OPEN, **_CACHED, **_SAFE}
        if tag in [part.strip() for part in request.headers.get("if-none-match", "").split(",")]:
            return Response(status_code=304, headers=headers)
        return Response(entry.row.envelope, headers=headers, media_type=COLLECTION_TYPE)

    def _entry(self, request: Request) -> Entry:
        """Return the collection that a request is about."""
        return asked_entry(self._of.catalogue, request.path_params["name"], request.query_params.get("version"))

    def _survey_of(self, entry: Entry) -> tuple[Entry, ...]:
        """Return the collections of the questions of a survey that are here; none of one that asks alone."""
        survey, newest = entry.collection.survey, self._of.catalogue.newest
        return () if survey is None else tuple(newest[name] for name in survey.questions if name in newest)

    def take(self, request: Request) -> Response:
        """Return the survey page of a collection; of a withdrawn one it erases what a browser kept for it."""
        entry = asked_entry(self._of.catalogue, request.path_params["name"], None)
        others = [other.collection for other in self._survey_of(entry)]
        page = survey_page(entry.collection, entry.row.trust, others)
        return Response(page, headers=survey_headers(entry.collection))

    def word(self, request: Request) -> Response:
        """Return as JSON what publishing a collection's estimates reveals of a person."""
        entry = asked_entry(self._of.catalogue, request.path_params["name"], None)
        others = [other.collection for other in self._survey_of(entry)]
        facts = {"published": facts_on_published(entry.collection, others)}
        return _json(facts, headers={**_CACHED, **shared(request, self._of.settings.embed_origins)})

    def embed(self, request: Request) -> Response:
        """Return an example of a page of somebody else's that has a survey in it."""
        entry = asked_entry(self._of.catalogue, request.path_params["name"], None)
        page = render("embed.html", _PAGES, collection=entry.collection, trust=_spelled(entry.row.trust))
        return Response(page, headers=survey_headers(entry.collection))

    def about(self, request: Request) -> Response:
        """Return the attestation of a collection: HTML for people, JSON for programs."""
        entry = self._entry(request)
        with self._turn:
            attestation, page, headers = attestation_of(entry, self._survey_of(entry))
        if for_people(request.headers.get("accept", "")):
            return Response(page, headers=headers)
        return _json(attestation.to_dict(), headers={**_OPEN, **_CACHED, **VARY})

    def estimates(self, request: Request) -> Response:
        """List the sealed batches of a collection, for an analyst: HTML for people, JSON for programs."""
        self._holder(request, ANALYST)
        entry = self._entry(request)
        seals = self._of.keeper.seals(entry)
        if for_people(request.headers.get("accept", "")):
            page = render("estimates.html", _PAGES, collection=entry.collection, seals=seals)
            return Response(page, headers={**front_headers(), **_PRIVATE})
        rows = [{name: getattr(seal, name) for name in ("epoch", "last", "n", "duplicates", "at")} for seal in seals]
        return _json({"name": entry.row.name, "version": entry.row.version, "batches": rows})

    def estimate(self, request: Request) -> Response:
        """Return the estimate of a sealed batch, for an analyst, as it was written when the batch was sealed."""
        who, entry = self._holder(request, ANALYST), self._entry(request)
        epoch, kind = request.path_params["epoch"], request.path_params["kind"]
        seal = next((seal for seal in self._of.keeper.seals(entry) if seal.epoch == epoch), None)
        if seal is None or kind not in KINDS:
            raise Refused(NOT_HERE)
        try:
            body = estimate_file(self._of.folder.sealed / seal.file, kind).read_bytes()
        except FileNotFoundError:
            raise Refused(_NO_ESTIMATE) from None
        log("estimate_read", collection=entry.key, epoch=epoch, holder=who)
        headers = styled_headers(body.decode()) if kind == "html" else _SAFE
        return Response(body, headers={**headers, **_PRIVATE, "content-type": KINDS[kind]})

    async def live(self, _: Request) -> Response:
        """Say that the process answers."""
        return _json({"live": True})

    async def ready(self, _: Request) -> Response:
        """Answer with 200 if reports can be taken, with 503 if not."""
        conditions = self._of.ready
        return _json(conditions, 200 if all(conditions.values()) else 503)

    def metrics(self, request: Request) -> Response:
        """Return the metrics for Prometheus."""
        self._holder(request, OPERATOR)
        text, kind = self._of.measures.exposition()
        return Response(text, headers={**_PRIVATE, **_SAFE}, media_type=kind)

    def _holder(self, request: Request, role: str) -> str:
        """Return the name of the token's holder, if the holder has a role.

        Raises:
            Refused: if not.
        """
        if self._of.demo:
            return "demo"
        token = _token_of(request.headers.getlist("authorization"))
        if not token:
            raise Refused(_NONE)
        try:
            row = self._of.tokens.holder(token, request.client.host if request.client else "")
        except TooManyTriesError:
            raise Refused(_MANY) from None
        if row is None:
            raise Refused(_NONE)
        if row.role != role:
            raise Refused(_OTHER)
        return row.name


def _token_of(values: Sequence[str]) -> str:
    """Return the token in the header of a request: the bearer's, or a browser's password; empty without one."""
    scheme, _, text = (values[0] if len(values) == 1 else "").partition(" ")
    if scheme.lower() != "basic":
        return text.strip() if scheme.lower() == "bearer" else ""
    try:
        return base64.b64decode(text, validate=True).decode().partition(":")[2].strip()
    except ValueError:
        return ""


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
        with ExitStack() as failing:
            failing.callback(self.keeper.close)
            keeper, limits = self.keeper, settings.limits
            self.folder, self.catalogue, self.tokens = keeper.folder, keeper.catalogue, keeper.tokens
            self._rates = Rates(0 if settings.behind_proxy else limits.rate, limits.burst)
            queue = {"gather": settings.gather_ms / 1000, "frames": limits.frames, "size": limits.bytes}
            self.intake = OwnIntake(keeper, self.measures, **queue)
            self.housekeeper = Housekeeper(keeper, self.measures, sealing=settings.sealing == "auto")
            self.pages = pages_of(self)
            self.control = Control(keeper)
            self._show_gauges()
            failing.pop_all()

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
