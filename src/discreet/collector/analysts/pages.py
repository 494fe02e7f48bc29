"""Pages for analysts, under ``/analyst``: a list of collections, and panels for each, for people who are signed in.

Pages have no scripts. Their numbers come from the same releases as the numbers for programs, under the same conditions.
Each look is a line of the audit.
"""

import io
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from discreet.collector.analysts.panels import (
    MOST_BATCHES,
    CollectionPanel,
    Drawing,
    Look,
    audit,
    intake,
    panels_of,
    protection,
)
from discreet.collector.analysts.sessions import ALLOWED, Sessions, is_own
from discreet.collector.intake import Refusal, Refused
from discreet.collector.keeper import ANALYST, Entry, Keeper, TooManyTriesError
from discreet.collector.releases import EstimateQuery, Once, Releases, asked_entry, covering, facts_of
from discreet.collector.working import JobError, Workers
from discreet.errors import DiscreetError, ParameterError
from discreet.pictures.pages import drawn, render

_PAGES = Path(__file__).parents[1] / "pages"
_KINDS = {"svg": "image/svg+xml", "png": "image/png", "csv": "text/csv; charset=utf-8"}
# Of what a browser opens by itself: a picture is drawn, and loads and runs nothing.
_PART = {
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "cache-control": "no-store",
}
_LARGEST_FORM = 4096
_MOST_LOOKS, _MOST_PICTURES, _MOST_SEEN = 10, 300, 1000
_DRAWING_SECONDS, _SEEN_SECONDS = 60.0, 3600.0


class Gallery:
    """Pictures, drawn in processes of their own and kept: all that a page lacks are drawn at once.

    Args:
        workers: that draw.
    """

    def __init__(self, workers: Workers) -> None:
        self._workers, self._turn = workers, threading.Lock()
        self._known: dict[tuple[str, str], bytes] = {}

    def picture(self, wanted: Drawing, beside: Sequence[Drawing], kind: str) -> bytes:
        """Return a picture.

        Args:
            wanted: the picture to return.
            beside: other pictures of its page, which are asked for next.
            kind: ``"svg"`` or ``"png"``.

        Raises:
            JobError: if it cannot be drawn in time.
        """
        marked = {(drawing.mark, kind): drawing for drawing in [wanted, *(beside if kind == "svg" else [])]}
        key = wanted.mark, kind
        with self._turn:
            if key not in self._known:
                lacking = {mark: drawing for mark, drawing in marked.items() if mark not in self._known}
                jobs = [(drawing.chart, drawing.content) for drawing in lacking.values()]
                pictures = self._workers.run(drawn, jobs, kind, seconds=_DRAWING_SECONDS)
                self._known.update(zip(lacking, pictures, strict=True))
            picture = self._known[key]
            while len(self._known) > _MOST_PICTURES:
                del self._known[next(iter(self._known))]
        return picture


@cache
def _file(name: str) -> str:
    return render(name, _PAGES)


class AnalystPages:
    """The pages.

    Args:
        keeper: of the data.
        releases: of estimates.
        workers: that draw pictures.
        secure: whether browsers come by TLS.
        demo: whether everybody on this machine may see them.
        headers: of every page.
        disk: a function that returns bytes that are free, and seconds that the oldest epoch waits to be sealed.
    """

    def __init__(
        self,
        keeper: Keeper,
        releases: Releases,
        workers: Workers,
        *,
        secure: bool,
        demo: bool,
        headers: Mapping[str, str],
        disk: Callable[[], tuple[float, float]],
    ) -> None:
        self._keeper, self._releases, self._demo = keeper, releases, demo
        self._headers, self._disk = headers, disk
        self.sessions = Sessions(keeper.store.tokens, secure=secure)
        self._gallery, self._looks = Gallery(workers), Once[list[CollectionPanel]](_MOST_LOOKS)
        self._seen: dict[tuple[str, Any], float] = {}

    def routes(self) -> list[Route]:
        """Return the paths of all pages and of what they load."""
        return [
            Route("/analyst", self.index),
            Route("/analyst", self.sign, methods=["POST"]),
            Route("/analyst/{name}", self.collection),
            Route("/analyst/{name}/{panel}.{kind}", self.part),
            Route("/static/analyst.css", lambda _: Response(_file("analyst.css"), media_type="text/css")),
        ]

    # Signing in and out

    def _who(self, request: Request) -> str | None:
        """Return the name of who is signed in."""
        if self._demo:
            return "demo"
        row = self.sessions.holder(request.headers.get("cookie", ""))
        return None if row is None or row.role not in ALLOWED[ANALYST] else row.name

    def _page(self, template: str, status: int = 200, more: Mapping[str, str] | None = None, **values: Any) -> Response:
        values = {"who": None, "demo": self._demo, **values}
        return Response(render(template, _PAGES, **values), status, {**self._headers, **(more or {})})

    def _sign_in(self, status: int, why: str = "", to: str = "", **more: str) -> Response:
        return self._page("sign_in.html", status, more, why=why, to=to)

    async def sign(self, request: Request) -> Response:
        """Begin a session with the token of a form, or end the one that there is."""
        if not is_own(request.headers.get("origin"), request.headers.get("host", "")):
            return self._sign_in(403, "That form came from elsewhere, or nothing said from where; use this one.")
        body = b""
        async for piece in request.stream():
            body += piece
            if len(body) > _LARGEST_FORM:
                return self._sign_in(413, "That is longer than any token.")
        form = parse_qs(body.decode("ascii", "replace"))
        cookies = request.headers.get("cookie", "")
        if "token" not in form:
            gone = await run_in_threadpool(self.sessions.end, cookies)
            return RedirectResponse("/analyst", 303, {"set-cookie": gone, **_PRIVATE})
        to = form.get("to", [""])[0]
        try:
            row = self._keeper.tokens.holder(form["token"][0].strip(), request.client.host if request.client else "")
        except TooManyTriesError:
            return self._sign_in(
                429, "Too many tokens that are none came from here; try again in a minute.", to, **_RETRY
            )
        if row is None:
            return self._sign_in(401, "That is no token that is in use; ask whoever runs this collector for one.", to)
        path = f"/analyst/{to}" if to in self._keeper.catalogue.newest else "/analyst"
        cookie = self.sessions.begin(row)
        return RedirectResponse(path, 303, {"set-cookie": cookie, **_PRIVATE})

    # Pages

    def index(self, request: Request) -> Response:
        """Return the list of collections, or the form that signs in."""
        if (who := self._who(request)) is None:
            return self._sign_in(200, to=request.query_params.get("to", ""))
        entries = sorted(self._keeper.catalogue.newest.values(), key=lambda entry: entry.row.name)
        rows = [(entry.collection, entry.row.state, self._releases.counts(entry)) for entry in entries]
        return self._page("collections.html", who=who, rows=rows)

    async def collection(self, request: Request) -> Response:
        """Return the page of a collection."""
        who = await run_in_threadpool(self._who, request)
        name = request.path_params["name"]
        if who is None:
            return RedirectResponse(f"/analyst?to={quote(name)}", 303, _PRIVATE)
        try:
            return await self._releases.aside(lambda: self._collection(request, who))
        except Refused as error:
            if error.refusal.status == 404:
                raise
            status, why = error.refusal.status, error.refusal.message
        except DiscreetError as error:
            status, why = 400, error.sentence()
        return self._page("refused.html", status, who=who, why=why, name=name)

    def _collection(self, request: Request, who: str) -> Response:
        entry = self._entry(request)
        query, wanted = _asked(request)
        panels, why = self._panels(entry, query, wanted, who, is_page=True)
        with self._releases.turns:
            return self._page(
                "collection.html",
                who=who,
                collection=entry.collection,
                questions=self._questions(entry),
                state=entry.row.state,
                panels=panels,
                first=[panel for panel in panels if panel.name in _FIRST],
                why=why,
                query=request.url.query,
                wanted=request.query_params.get("points", ""),
                kept=[pair for pair in request.query_params.multi_items() if pair[0] != "points"],
            )

    def _questions(self, entry: Entry) -> list[tuple[str, str]]:
        """Return names and questions of the collections of a survey that are here; none of one that asks alone."""
        survey, newest = entry.collection.survey, self._keeper.catalogue.newest
        names = [] if survey is None else [name for name in survey.questions if name in newest]
        return [(name, newest[name].collection.question or name) for name in names]

    def _entry(self, request: Request) -> Entry:
        version = request.query_params.get("version")
        return asked_entry(self._keeper.catalogue, request.path_params["name"], version)

    def _panels(
        self, entry: Entry, query: EstimateQuery, wanted: float | None, who: str, *, is_page: bool = False
    ) -> tuple[list[CollectionPanel], str]:
        """Return the panels of a collection, and why there is no estimate among them; empty if there is one.

        A look at a page is a line of the audit. Pictures and files that follow within an hour belong to the same look.
        """
        counts, waiting = self._releases.counts(entry), self._keeper.waiting(entry)
        try:
            seals = covering(self._keeper.seals(entry), query.epochs)
            release = self._releases.of(entry, seals, query.method)
        except Refused as error:
            if error.refusal.status != 409:
                raise
            panels, why = [protection(facts_of(entry, counts))], error.refusal.message
        else:
            batches = tuple((batch["epoch"], batch["n"]) for batch in counts.epochs)
            key = entry.key, release.epochs, batches, tuple(waiting), query, wanted
            if is_page or time.monotonic() > self._seen.get((who, key), 0.0):
                self._releases.note(entry, release, query, who, what="page")
                self._remember((who, key))

            def look() -> list[CollectionPanel]:
                apart = self._releases.apart(entry, seals[-MOST_BATCHES:])
                with self._releases.turns:
                    facts = facts_of(entry, counts)
                    return panels_of(Look(entry, query, release, apart, counts, tuple(waiting), facts, wanted))

            panels, why = self._looks(key, look), ""
        with self._releases.turns:
            came, looks = intake(counts, waiting, self._disk()), audit(self._keeper.store.audit(), entry.row.name)
        return [*panels, came, looks], why

    def _remember(self, look: tuple[str, Any]) -> None:
        # Copied, as other threads remember looks too.
        self._seen = {look: ends for look, ends in self._seen.copy().items() if ends > time.monotonic()}
        while len(self._seen) >= _MOST_SEEN:
            del self._seen[next(iter(self._seen))]
        self._seen[look] = time.monotonic() + _SEEN_SECONDS

    # Pictures and files of a page

    async def part(self, request: Request) -> Response:
        """Return the picture or the numbers of a panel."""
        who = await run_in_threadpool(self._who, request)
        if who is None:
            raise Refused(Refusal(401, "session", "this needs somebody who is signed in at /analyst."))
        try:
            body = await self._releases.aside(lambda: self._part(request, who))
        except JobError as error:
            raise Refused(Refusal(503, "time", error.sentence(), retry=60)) from None
        except DiscreetError as error:
            raise Refused(Refusal(400, "request", error.sentence())) from None
        return Response(body, headers={**_PART, "content-type": _KINDS[request.path_params["kind"]]})

    def _part(self, request: Request, who: str) -> bytes:
        query, wanted = _asked(request)
        panels, _ = self._panels(self._entry(request), query, wanted, who)
        name, kind = request.path_params["panel"], request.path_params["kind"]
        panel = {panel.name: panel for panel in panels}.get(name)
        if panel is None or kind not in _KINDS or (kind != "csv" and panel.drawing is None):
            raise Refused(Refusal(404, "path", "there is nothing under this path."))
        if kind == "csv" or panel.drawing is None:
            sink = io.BytesIO()
            panel.whole.to_csv(sink)
            return sink.getvalue()
        drawings = [panel.drawing for panel in panels if panel.drawing is not None]
        return self._gallery.picture(panel.drawing, drawings, kind)


_FIRST = ("shares", "precision", "protection")
"""Panels whose findings stand at the top: what, how sure, how protected."""
_RETRY, _PRIVATE = {"retry-after": "60"}, {"cache-control": "no-store"}


def _asked(request: Request) -> tuple[EstimateQuery, float | None]:
    """Return the query of a request, and the standard error that is wanted.

    Raises:
        ParameterError: if a parameter is unknown, or cannot be used.
    """
    pairs = request.query_params.multi_items()
    points = [text for name, text in pairs if name == "points" and text]
    try:
        # Many people write a comma.
        wanted = [float(text.replace(",", ".")) / 100 for text in points]
    except ValueError:
        wanted = [0.0]
    if len(wanted) > 1 or not all(0 < number <= 1 for number in wanted):
        raise ParameterError("points.out-of-range", argument="points")
    return EstimateQuery.of(pair for pair in pairs if pair[0] != "points"), wanted[0] if wanted else None
