"""Scripts and styles under ``/static``, and the page on which people take part in a survey."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from discreet.collector.pages import survey
from discreet.collector.pages.access import DeniedError
from discreet.collector.refusals import Refusal

if TYPE_CHECKING:
    from discreet.collector.app import Application

_PACKAGE = Path(__file__).parents[2]
# In the wheel scripts lie in the package, in the repository beside it: one source.
_SCRIPTS = (_PACKAGE / "js", _PACKAGE.parents[1] / "js")


def scripts() -> Path | None:
    """Return the folder of the device's scripts."""
    return next((place for place in _SCRIPTS if (place / "index.js").is_file()), None)


def routes(of: "Application") -> list[Any]:
    """Return the routes of scripts, and of the survey page that needs them."""
    place = scripts()
    if place is None:
        return []

    def take(request: Request) -> Response:
        """Return the survey page of a collection; of a withdrawn one it erases what a browser kept for it."""
        entry = of.catalogue.newest.get(request.path_params["name"])
        if entry is None:
            raise DeniedError(Refusal(404, "collection", "no such collection is here."))
        return Response(survey.page(entry.collection, entry.row.trust), headers=survey.headers(entry.collection))

    return [Route("/take/{name}", take), Mount("/static", _Scripts(directory=place))]


class _Scripts(StaticFiles):
    """Files that browsers take for what they are said to be."""

    def file_response(self, *given: Any, **named: Any) -> Response:
        """Return a file."""
        response = super().file_response(*given, **named)
        response.headers["x-content-type-options"] = "nosniff"
        return response
