"""The endpoints of a collector beside the path for reports: pages, collections, estimates, health and metrics.

Tokens of requests have roles: analysts read estimates, and operators read metrics.
"""

import base64
import json
from collections.abc import Callable, Sequence
from threading import Lock
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route

from discreet.collector.access import ANALYST, OPERATOR, TooManyTriesError
from discreet.collector.batch_estimates import KINDS, estimate_file
from discreet.collector.documents.publications import facts_on_published
from discreet.collector.intake import ANY_ORIGIN
from discreet.collector.keeper import Keeper
from discreet.collector.logs import Measures, log
from discreet.collector.refusals import DEFECT, NOT_HERE, Refusal, Refused
from discreet.collector.served_pages import (
    TEMPLATES,
    Scripts,
    attestation_page,
    keys_text,
    page_headers,
    scripts,
    shared,
    styled_headers,
    survey_headers,
    survey_page,
)
from discreet.collector.settings import Settings
from discreet.collector.storage.catalogue import Entry
from discreet.device.protocol.collection import Collection
from discreet.device.protocol.envelope import MEDIA_TYPE as COLLECTION_TYPE
from discreet.pictures.pages import render

_NONE = Refusal(401, "token", "this needs a token: Authorization: Bearer dsc_...")
_OTHER = Refusal(403, "role", "this token does not allow that.")
_UNKNOWN = Refusal(404, "collection", "no such collection is here.")
_NO_ESTIMATE = Refusal(404, "estimate", "this batch has no page, because the collection has too many values.")
_NOT_READ = Refusal(405, "method", "this path is read by GET.")
_MANY = Refusal(429, "tries", "too many tokens that are none; try again later.", retry=60)

_OPEN = {ANY_ORIGIN[0].decode(): ANY_ORIGIN[1].decode(), "access-control-expose-headers": "etag, retry-after, date"}
# Long enough for a crowd, short enough for a withdrawal to be seen soon.
_CACHED = {"cache-control": "public, max-age=60, must-revalidate"}
_PRIVATE = {"cache-control": "no-store"}
_SAFE = {"x-content-type-options": "nosniff", "referrer-policy": "no-referrer"}
_BATCH = ("epoch", "last", "n", "duplicates", "at")


class Endpoints:
    """The endpoints of a collector; work that reads from disk runs in threads, and health does not wait for a thread.

    Args:
        keeper: of the data.
        settings: of the collector.
        measures: the counts of the collector.
        ready: a function that returns the conditions for taking reports, by name.
        demo: whether everybody may see what needs a token otherwise.
    """

    def __init__(
        self,
        keeper: Keeper,
        settings: Settings,
        measures: Measures,
        ready: Callable[[], dict[str, bool]],
        *,
        demo: bool,
    ) -> None:
        # One attestation at a time: it takes seconds, and the next request finds it made.
        self._keeper, self._measures, self._demo, self._turn = keeper, measures, demo, Lock()
        self._origins, self._ready = settings.embed_origins, ready

    def application(self) -> Starlette:
        """Return the application of all endpoints."""
        served: list[Any] = [
            Route("/", self.front),
            Route("/collections/{name}", self.published),
            Route("/collections/{name}/about", self.about),
            Route("/collections/{name}/estimates", self.estimates),
            Route("/collections/{name}/estimates.json", self.batches),
            Route("/collections/{name}/estimates/{epoch:int}.{kind}", self.estimate),
            Route("/v1/collections", self.collections),
            Route("/v1/collections/{name}", self.envelope),
            Route("/health/live", self.live),
            Route("/health/ready", self.ready),
            Route("/metrics", self.metrics),
        ]
        if (place := scripts()) is not None:
            files = Scripts(directory=place)
            files.origins = self._origins
            served += [Route("/take/{name}", self.take), Mount("/static", files)]
            served += [Route("/embed/{name}", self.embed)] if self._demo else []

        def missed(request: Request, error: Any) -> Response:
            return _refused(request, _NOT_READ if error.status_code == 405 else NOT_HERE)

        handlers: dict[Any, Callable[..., Any]] = {
            Refused: lambda request, error: _refused(request, error.refusal),
            HTTPException: missed,
            Exception: lambda request, _: _refused(request, DEFECT),
        }
        return Starlette(routes=served, exception_handlers=handlers)

    def front(self, _: Request) -> Response:
        """Return the front page: what a collector is, and the surveys that it lists."""
        collections = [entry.collection for entry in self._listed()]
        heading = "A collector of survey reports"
        page = render("front.html", TEMPLATES, heading=heading, collections=collections, missing="")
        return Response(page, headers=page_headers())

    def collections(self, _: Request) -> Response:
        """List the open collections that their authors mark as public."""
        rows = [
            {
                "name": entry.row.name,
                "version": entry.row.version,
                "id": entry.row.id.hex(),
                "title": entry.collection.title,
                "epoch": entry.collection.epoch_at(self._keeper.clock.now()),
            }
            for entry in self._listed()
        ]
        return _json({"collections": rows}, headers={**_OPEN, **_CACHED})

    def _listed(self) -> list[Entry]:
        newest = sorted(self._keeper.catalogue.newest.values(), key=lambda entry: entry.row.name)
        return [entry for entry in newest if entry.row.state == "open" and entry.collection.listed]

    def envelope(self, request: Request) -> Response:
        """Return a collection's envelope: its newest version, or the notice that it is withdrawn."""
        entry = self._entry(request)
        tag = f'"{entry.row.id.hex()}"'
        headers = {"etag": tag, **_OPEN, **_CACHED, **_SAFE}
        if tag in [part.strip() for part in request.headers.get("if-none-match", "").split(",")]:
            return Response(status_code=304, headers=headers)
        return Response(entry.row.envelope, headers=headers, media_type=COLLECTION_TYPE)

    def _entry(self, request: Request) -> Entry:
        """Return the collection that a request is about, its newest version if it names no version.

        Raises:
            Refused: if there is no such collection.
        """
        name, version = request.path_params["name"], request.query_params.get("version")
        entry = self._keeper.catalogue.newest.get(name)
        if entry is not None and version is not None:
            known = self._keeper.catalogue.by_id.values()
            entry = next((each for each in known if (each.row.name, str(each.row.version)) == (name, version)), None)
        if entry is None:
            raise Refused(_UNKNOWN)
        return entry

    def _survey_of(self, entry: Entry) -> tuple[Collection, ...]:
        """Return the collections here that are questions of the same survey."""
        survey, newest = entry.collection.survey, self._keeper.catalogue.newest
        return () if survey is None else tuple(newest[name].collection for name in survey.questions if name in newest)

    def take(self, request: Request) -> Response:
        """Return the survey page of a collection; of a withdrawn one it erases what a browser kept for it."""
        entry = self._entry(request)
        page = survey_page(entry.collection, entry.row.trust, self._survey_of(entry))
        return Response(page, headers=survey_headers(entry.collection))

    def published(self, request: Request) -> Response:
        """Return as JSON what publishing a collection's estimates reveals of a person."""
        entry = self._entry(request)
        facts = {"published": facts_on_published(entry.collection, self._survey_of(entry))}
        return _json(facts, headers={**_CACHED, **shared(request, self._origins)})

    def embed(self, request: Request) -> Response:
        """Return an example of a page of somebody else's that has a survey in it."""
        entry = self._entry(request)
        page = render("embed.html", TEMPLATES, collection=entry.collection, trust=keys_text(entry.row.trust))
        return Response(page, headers=survey_headers(entry.collection))

    def about(self, request: Request) -> Response:
        """Return the attestation of a collection, a page."""
        entry = self._entry(request)
        with self._turn:
            page, headers = attestation_page(entry, self._survey_of(entry))
        return Response(page, headers=headers)

    def estimates(self, request: Request) -> Response:
        """List the sealed batches of a collection, for an analyst, as a page."""
        self._holder(request, ANALYST)
        entry = self._entry(request)
        seals = self._keeper.seals(entry)
        page = render("estimates.html", TEMPLATES, collection=entry.collection, seals=seals)
        return Response(page, headers={**page_headers(), **_PRIVATE})

    def batches(self, request: Request) -> Response:
        """List the sealed batches of a collection, for an analyst's program."""
        self._holder(request, ANALYST)
        entry = self._entry(request)
        rows = [{name: getattr(seal, name) for name in _BATCH} for seal in self._keeper.seals(entry)]
        return _json({"name": entry.row.name, "version": entry.row.version, "batches": rows})

    def estimate(self, request: Request) -> Response:
        """Return the estimate of a sealed batch, for an analyst, as it was written when the batch was sealed."""
        who, entry = self._holder(request, ANALYST), self._entry(request)
        epoch, kind = request.path_params["epoch"], request.path_params["kind"]
        seal = next((seal for seal in self._keeper.seals(entry) if seal.epoch == epoch), None)
        if seal is None or kind not in KINDS:
            raise Refused(NOT_HERE)
        try:
            body = estimate_file(self._keeper.folder.sealed / seal.file, kind).read_bytes()
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
        conditions = self._ready()
        return _json(conditions, 200 if all(conditions.values()) else 503)

    def metrics(self, request: Request) -> Response:
        """Return the metrics for Prometheus."""
        self._holder(request, OPERATOR)
        text, kind = self._measures.exposition()
        return Response(text, headers={**_PRIVATE, **_SAFE}, media_type=kind)

    def _holder(self, request: Request, role: str) -> str:
        """Return the name of the token's holder, if the holder has a role.

        Raises:
            Refused: if not.
        """
        if self._demo:
            return "demo"
        token = _token_of(request.headers.getlist("authorization"))
        if not token:
            raise Refused(_NONE)
        try:
            row = self._keeper.tokens.holder(token, request.client.host if request.client else "")
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


def _json(content: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(json.dumps(content), status, {**_SAFE, **(headers or _PRIVATE)}, "application/json")


def _refused(request: Request, refusal: Refusal) -> Response:
    """Return a refusal; a page for people where there is nothing, except on paths that only programs know."""
    path = request.scope["path"]
    if refusal.status == 404 and not path.startswith("/v1/"):
        heading = f"There is no such {'survey' if path.startswith('/take/') else 'page'} here"
        return Response(render("front.html", TEMPLATES, heading=heading, missing=refusal.message), 404, page_headers())
    headers = {name.decode(): value.decode() for name, value in refusal.headers}
    if refusal.status == 401:
        # A browser asks for the token then, as a password under any name.
        headers["www-authenticate"] = 'Basic realm="discreet", charset="UTF-8"'
    return Response(refusal.body, refusal.status, {**headers, **_OPEN, **_PRIVATE, **_SAFE})
