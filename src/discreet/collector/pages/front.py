"""The page of a collector for people who came without a program, and the one that they see where there is nothing."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template

from discreet.io.collection import Collection

ABOUT = (
    "This server collects reports for surveys. Answers that a survey protects are obfuscated on your device before "
    "anything is sent; which these are, and how well they are protected, is said before you agree. From many reports "
    "together it is estimated how frequent each answer is."
)
"""What a collector is, in a few sentences."""
VARY = {"vary": "accept"}
_HEADERS = {
    **VARY,
    "content-type": "text/html; charset=utf-8",
    "content-security-policy": "default-src 'none'; style-src 'self'; img-src data:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'",
    "cross-origin-opener-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "cache-control": "no-cache",
}


def for_people(accept: str) -> bool:
    """Return true if a page is accepted, as browsers say; programs that say nothing take JSON."""
    for kind in accept.split(","):
        name, *parameters = [part.strip().lower() for part in kind.split(";")]
        if name == "text/html" and not any(one.replace(" ", "") in {"q=0", "q=0.0", "q=0.00"} for one in parameters):
            return True
    return False


def headers() -> dict[str, str]:
    """Return the headers of both pages: they run no script, and load nothing but their style."""
    return dict(_HEADERS)


def page(collections: Sequence[Collection]) -> str:
    """Return the page of a collector, HTML.

    Args:
        collections: open ones that their authors list.
    """
    return _template().render(
        heading="A collector of survey reports", about=ABOUT, collections=collections, missing=False
    )


def missing(path: str) -> str:
    """Return the page where there is nothing, HTML; the path only says whether a survey was looked for."""
    what = "survey" if path.startswith("/take/") else "page"
    return _template().render(heading=f"There is no such {what} here", missing=True)


@cache
def _template() -> Template:
    loader = FileSystemLoader(Path(__file__).parent)
    environment = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    return environment.get_template("front.html")
