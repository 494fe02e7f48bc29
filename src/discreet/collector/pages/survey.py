"""The survey page: people take part in a collection on it, in a browser and without an application.

The page is a frame: what it says of the collection, and how people answer, its scripts make from the envelope that the
device has checked. They come from the collector all the same: who does not trust it takes an application that others
have looked at.
"""

import base64
import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template

from discreet.io.collection import Collection
from discreet.io.notice import notice
from discreet.io.publications import sentences_on_published

LIMITS = {"report": 4.0, "epoch": 8.0, "lifetime": 20.0}
"""The most that a person may spend on one site, in nats; see `discreet.client.Limits`."""


def headers(collection: Collection) -> dict[str, str]:
    """Return the headers that a survey page is sent with.

    Args:
        collection: that is asked about; its origins are the only ones that the page may send to.
    """
    policy = {
        "default-src": "'none'",
        "script-src": "'self'",
        "style-src": "'self'",
        "img-src": "data:",
        "connect-src": " ".join(["'self'", *collection.collectors]),
        "base-uri": "'none'",
        "form-action": "'none'",
        "frame-ancestors": "'none'",
    }
    return {
        "content-type": "text/html; charset=utf-8",
        "content-security-policy": "; ".join(f"{name} {said}" for name, said in policy.items()),
        "permissions-policy": "geolocation=(self), camera=(), microphone=()",
        "cross-origin-opener-policy": "same-origin",
        "referrer-policy": "no-referrer",
        "x-content-type-options": "nosniff",
        "cache-control": "no-cache",
    }


def page(collection: Collection, trust: Sequence[bytes]) -> str:
    """Return the survey page of a collection, HTML.

    Args:
        collection: that people are asked about.
        trust: public keys, 32 bytes each, that the page takes collections of.
    """
    return _template().render(
        collection=collection,
        notice=notice(collection),
        published=sentences_on_published(collection),
        trust=" ".join(base64.b64encode(key).decode() for key in trust),
        limits=json.dumps(LIMITS),
    )


@cache
def _template() -> Template:
    loader = FileSystemLoader(Path(__file__).parent)
    environment = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    return environment.get_template("survey.html")
