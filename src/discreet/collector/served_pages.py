"""Pages that a collector serves, their headers, and the scripts of the survey page.

The survey page, on which people take part in a browser, is a frame: its scripts make the notice and the question from
the envelope that the device has checked. The scripts come from the collector. People who do not trust the collector
need an application that others have looked at.
"""

import base64
import hashlib
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.staticfiles import StaticFiles

from discreet.collector.documents.attestation import Attestation
from discreet.collector.documents.publications import sentences_on_published
from discreet.collector.documents.signing import plan_of
from discreet.collector.storage.catalogue import Entry
from discreet.device.protocol.collection import Collection
from discreet.device.protocol.envelope import signers
from discreet.device.protocol.notice import notice
from discreet.pictures.pages import render

TEMPLATES = Path(__file__).parent / "pages"
_PACKAGE = Path(__file__).parents[1]
# In the wheel scripts lie in the package, in the repository beside it: one source.
_SCRIPTS = (_PACKAGE / "js", _PACKAGE.parents[1] / "js")


def scripts() -> Path | None:
    """Return the folder of the device's scripts."""
    return next((place for place in _SCRIPTS if (place / "index.js").is_file()), None)


class Scripts(StaticFiles):
    """The device's scripts and their style, which browsers take for nothing else."""

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


def page_headers(style: str = "'self'", **sources: str) -> dict[str, str]:
    """Return the headers of a page that loads from these sources alone, and is shown in no other page.

    Args:
        style: the source of its style.
        sources: further sources, by directive of the policy, with _ for -.
    """
    none = dict.fromkeys(("base_uri", "form_action", "frame_ancestors"), "'none'")
    policy = {"default_src": "'none'", "style_src": style, "img_src": "data:", **sources, **none}
    return {
        "content-type": "text/html; charset=utf-8",
        "content-security-policy": "; ".join(f"{name.replace('_', '-')} {origins}" for name, origins in policy.items()),
        "cross-origin-opener-policy": "same-origin",
        "referrer-policy": "no-referrer",
        "x-content-type-options": "nosniff",
        "cache-control": "no-cache",
    }


def styled_headers(page: str) -> dict[str, str]:
    """Return the headers of a page that has its style inside: that style is allowed, and no other."""
    style = page.partition("<style>")[2].partition("</style>")[0]
    return page_headers(f"'sha256-{base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()}'")


def survey_headers(collection: Collection) -> dict[str, str]:
    """Return the headers of a survey page, which may send to the collection's own origins only."""
    headers = page_headers(script_src="'self'", connect_src=" ".join(["'self'", *collection.collectors]))
    return {**headers, "permissions-policy": "geolocation=(self), camera=(), microphone=()"}


def survey_page(collection: Collection, trust: Sequence[bytes], others: tuple[Collection, ...] = ()) -> str:
    """Return the survey page of a collection, HTML.

    Args:
        collection: the collection that people are asked about.
        trust: public keys, 32 bytes each, of signers that the page accepts.
        others: the collections of the other questions of its survey.
    """
    published = sentences_on_published(collection, others=others)
    facts = {"collection": collection, "notice": notice(collection), "published": published}
    return render("survey.html", TEMPLATES, trust=keys_text(trust), **facts)


def keys_text(keys: Sequence[bytes]) -> str:
    """Return public keys in base64, with blanks between them."""
    return " ".join(base64.b64encode(key).decode() for key in keys)


@lru_cache(maxsize=64)
def attestation_page(entry: Entry, others: tuple[Collection, ...] = ()) -> tuple[str, dict[str, str]]:
    """Return the attestation of a collection, as a page, and the page's headers; worked out once.

    Args:
        entry: the collection.
        others: the collections of the other questions of its survey.
    """
    keys = tuple(keys_text([key]) for key in signers(entry.row.envelope) if key in entry.row.trust)
    collection = entry.collection
    attested = Attestation(plan_of(collection), collection, keys, "trusted by this collector", others=others)
    page = attested.page(base="")
    return page, styled_headers(page)
