"""Scripts and styles under ``/static``, and the page on which people take part in a survey."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.routing import Mount
from starlette.staticfiles import StaticFiles

if TYPE_CHECKING:
    from discreet.collector.app import Application

_PACKAGE = Path(__file__).parents[2]
# In the wheel scripts lie in the package, in the repository beside it: one source.
_SCRIPTS = (_PACKAGE / "js", _PACKAGE.parents[1] / "js")


def scripts() -> Path | None:
    """Return the folder of the device's scripts."""
    return next((place for place in _SCRIPTS if (place / "index.js").is_file()), None)


def routes(_: "Application") -> list[Any]:
    """Return the routes of scripts."""
    place = scripts()
    return [] if place is None else [Mount("/static", StaticFiles(directory=place))]
