"""The endpoints beside that of reports: collections, estimates, facts, health and metrics."""

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from discreet.collector import refusals
from discreet.collector.catalogue import Entry
from discreet.collector.estimate_answer import spelled
from discreet.collector.estimate_query import EstimateQuery
from discreet.collector.facts import facts_of
from discreet.collector.intake import ANY_ORIGIN
from discreet.collector.measures import Exposed, exposition
from discreet.collector.pages import assets, front
from discreet.collector.pages.access import DeniedError
from discreet.collector.refusals import Refusal
from discreet.collector.releases import EarlyError, TakesLongError
from discreet.collector.tokens import ANALYST, OPERATOR
from discreet.errors import DiscreetError

if TYPE_CHECKING:
    from discreet.collector.app import Application

COLLECTION_TYPE = "application/vnd.discreet.collection+json"
_OPEN = {ANY_ORIGIN[0].decode(): ANY_ORIGIN[1].decode(), "access-control-expose-headers": "etag, retry-after, date"}
# Long enough for a crowd, short enough for a withdrawal to be seen soon.
_CACHED = {"cache-control": "public, max-age=60, must-revalidate"}
_PRIVATE = {"cache-control": "no-store"}
_SAFE = {"x-content-type-options": "nosniff", "referrer-policy": "no-referrer"}


def application(of: "Application") -> Starlette:
    """Return the application of all paths but that of reports."""
    endpoints = _Endpoints(of)
    routes = [
        Route("/", endpoints.front),
        Route("/v1/collections", endpoints.collections),
        Route("/v1/collections/{name}", endpoints.envelope),
        Route("/v1/collections/{name}/estimates", endpoints.estimates),
        Route("/v1/collections/{name}/facts", endpoints.facts),
        Route("/health/live", endpoints.live),
        Route("/health/ready", endpoints.ready),
        Route("/metrics", endpoints.metrics),
        *assets.routes(of),
    ]
    handlers: dict[Any, Callable[..., Any]] = {DeniedError: _denied, HTTPException: _missing, Exception: _broken}
    return Starlette(routes=routes, exception_handlers=handlers)


def _denied(request: Request, error: Any) -> Response:
    return _nothing(request, error.refusal) if error.refusal.status == 404 else _refusal(error.refusal)


def _missing(request: Request, error: Any) -> Response:
    if error.status_code == 405:
        return _refusal(Refusal(405, "method", "this path is read by GET."))
    return _nothing(request, refusals.NOT_HERE)


def _nothing(request: Request, refusal: Refusal) -> Response:
    """Return the answer where there is nothing: a page for people, but on paths that only programs know."""
    path = request.scope["path"]
    if path.startswith("/v1/") or not front.for_people(request.headers.get("accept", "")):
        return _refusal(refusal)
    return Response(front.missing(path), refusal.status, front.headers())


def _broken(*_: Any) -> Response:
    return _refusal(refusals.DEFECT)


def _refusal(refusal: Refusal) -> Response:
    headers = {name.decode(): value.decode() for name, value in refusal.headers}
    return Response(refusal.body, refusal.status, {**headers, **_OPEN, **_PRIVATE, **_SAFE})


def _json(said: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(json.dumps(said), status, {**_SAFE, **(headers or _PRIVATE)}, "application/json")


class _Endpoints:
    """The endpoints of a collector; what reads from disk runs in threads, health does not wait for one."""

    def __init__(self, of: "Application") -> None:
        self._of = of

    def front(self, request: Request) -> Response:
        """Return the front page, what this is and what it lists: HTML for people, JSON for programs."""
        if front.for_people(request.headers.get("accept", "")):
            return Response(front.page([entry.collection for entry in self._listed()]), headers=front.headers())
        said = {"about": front.ABOUT, "collections": self._facts()}
        return _json(said, headers={**_OPEN, **_CACHED, **front.VARY})

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
        if tag in [one.strip() for one in request.headers.get("if-none-match", "").split(",")]:
            return Response(status_code=304, headers=headers)
        return Response(entry.row.envelope, headers=headers, media_type=COLLECTION_TYPE)

    def _entry(self, request: Request) -> Entry:
        """Return the collection that a request is about."""
        entry = self._of.catalogue.newest.get(request.path_params["name"])
        version = request.query_params.get("version")
        if entry is not None and version is not None:
            rows = [one for one in self._of.catalogue.by_id.values() if one.row.name == entry.row.name]
            entry = next((one for one in rows if str(one.row.version) == version), None)
        if entry is None:
            raise DeniedError(Refusal(404, "collection", "no such collection is here."))
        return entry

    async def estimates(self, request: Request) -> Response:
        """Return the estimate of some epochs, made beside the pool of all other pages."""
        who = self._of.access.holder(request, ANALYST)
        entry = self._entry(request)
        accept = request.headers.get("accept", "")
        try:
            query = EstimateQuery.of(request.query_params.multi_items())
            body, kind = await self._of.releases.aside(lambda: self._estimate(entry, query, who, accept))
        except EarlyError as error:
            raise DeniedError(Refusal(409, error.code, str(error), error.facts)) from None
        except TakesLongError as error:
            raise DeniedError(Refusal(503, "time", str(error), retry=60)) from None
        except DiscreetError as error:
            raise DeniedError(Refusal(400, "request", str(error))) from None
        return Response(body, headers={**_PRIVATE, **_SAFE}, media_type=kind)

    def _estimate(self, entry: Entry, query: EstimateQuery, who: str, accept: str) -> tuple[bytes, str]:
        release = self._of.releases.release(entry, query, who)
        counts = self._of.releases.counts(entry)
        with self._of.releases.turns:
            return spelled(release, entry, counts, level=query.level, accept=accept)

    def facts(self, request: Request) -> Response:
        """Return the protection of people and the precision of estimates."""
        self._of.access.holder(request, ANALYST)
        entry = self._entry(request)
        return _json(facts_of(entry, self._of.releases.counts(entry)))

    async def live(self, _: Request) -> Response:
        """Say that the process answers."""
        return _json({"live": True})

    async def ready(self, _: Request) -> Response:
        """Answer with 200 if reports can be taken, with 503 if not."""
        found = self._of.ready
        return _json(found, 200 if all(found.values()) else 503)

    def metrics(self, request: Request) -> Response:
        """Return the metrics for Prometheus."""
        self._of.access.holder(request, OPERATOR)
        text, kind = exposition(Exposed(self._of.measures, self._of.gauges))
        return Response(text, headers={**_PRIVATE, **_SAFE}, media_type=kind)
