"""A site with survey pages, on this machine alone: collections of every kind of domain, and what was posted."""

import json
import mimetypes
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from msgspec import structs

from collector_double import served
from discreet import Domain, Question, Questionnaire, RandomizedResponse, Survey
from discreet.collector import served_pages
from discreet.collector.documents.publications import facts_on_published
from discreet.collector.documents.signing import Terms, sign, sign_survey, withdraw
from discreet.core.random import WORD_RANGE
from discreet.device.protocol.collection import Collection, Epochs, open_envelope
from discreet.device.protocol.envelope import public_key
from planted import TAGGED, VALUE
from programs import JS
from signed import plan_of

_PLACES = ["clinic", VALUE, "park", TAGGED]
_LONG = [
    "in a place that can only be described in a great many words, of which none may be cut off on a narrow screen",
    "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft",
    "https://example.org/a/place/whose/address/has/no/space/in/it/and/goes/on/and/on/and/on/index.html",
    "here",
]
_GERMAN = {
    "title": "Wo waren Sie?",
    "purpose": "Um <Praxen> & Parks zu planen",
    "question": "Welcher Ort?",
    "labels": dict(zip(_PLACES, ["Praxis", "Wache", "Park", "Zuhause"], strict=True)),
}
_ARABIC = {
    "title": "أين كنت؟",
    "purpose": "لتخطيط العيادات والحدائق",
    "question": "أي مكان؟",
    "labels": dict(zip(_PLACES, ["عيادة", "مركز", "حديقة", "بيت"], strict=True)),
}
_MAP = {"lat": [40.7, 40.9], "lon": [-74.0, -73.9], "rows": 25, "cols": 25}
_PRODUCT = {"marital": ["single", "divorced"], "age": ["20s", "30s", "40s"]}
PLANS: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "labels": ("once", {"domain": {"labels": _PLACES, "sensitive": ["clinic", VALUE]}}, {}),
    "many": ("once", {"domain": {"labels": [f"place {n}" for n in range(50)]}}, {}),
    "range": ("fresh", {"domain": {"range": [0, 100], "sensitive": list(range(18))}}, {"lifetime": 5.0}),
    "product": ("once", {"domain": {"product": _PRODUCT, "sensitive": [{"marital": "divorced"}]}}, {}),
    "grid": ("once", {"domain": {"grid": _MAP, "sensitive": [[40.75, -73.95]]}, "cells": {"rows": 5, "cols": 5}}, {}),
    "tags": (
        "permanent",
        {"domain": {"labels": _PLACES, "sensitive": ["clinic"]}, "tags": ["home"], "mechanism": {"name": "hadamard"}},
        {"people": 10_000, "lifetime": 3.0},
    ),
    "memo": (
        "permanent",
        {"domain": {"labels": _PLACES, "sensitive": ["clinic", VALUE]}},
        {"people": 1000, "lifetime": 6.0, "memo": 2.0},
    ),
    "simulated": ("once", {"domain": {"labels": ["a", "b"]}}, {"simulated": True}),
    "later": ("once", {"domain": {"labels": ["a", "b"]}}, {"spread": 3600}),
    "long": ("once", {"domain": {"labels": _LONG, "sensitive": _LONG[:2]}}, {}),
    "daily": ("fresh", {"domain": {"labels": _PLACES, "sensitive": ["clinic", VALUE]}}, {"lifetime": 10.0}),
    "spent": ("fresh", {"domain": {"range": [0, 3]}}, {"lifetime": 1.0}),
    "early": ("once", {"domain": {"labels": ["a", "b"]}}, {"start": 7200}),
    "over": ("once", {"domain": {"labels": ["a", "b"]}}, {"start": -100 * 3600}),
    "withdrawn": ("once", {"domain": {"labels": ["a", "b"]}}, {}),
    "listed": ("once", {"domain": {"labels": ["a", "b"]}}, {"listed": True}),
    "languages": (
        "once",
        {"domain": {"labels": _PLACES, "sensitive": ["clinic", VALUE]}},
        {"question": "Which place?", "languages": {"de": _GERMAN, "ar": _ARABIC}},
    ),
    "number": (
        "once",
        {"domain": {"number": {"low": 0, "high": 1, "bins": 10}, "sensitive": [[0, 0.3], [0.9, 1]]}},
        {},
    ),
    "dear": ("once", {"domain": {"labels": ["a", "b"]}, "epsilon": 5.0}, {}),
}


@dataclass
class SurveySite:
    """A server of survey pages.

    Attributes:
        origin: its address.
        posted: headers and body of every report.
        asked: the path of every request.
        altered: names of collections whose envelope is altered on its way.
        instead: envelopes that devices are given in the place of those of the pages, by name.
        status: of answers to reports.
        shown: status of answers to whoever asks for an envelope.
    """

    origin: str = ""
    posted: list[tuple[dict[str, str], bytes]] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    altered: set[str] = field(default_factory=set)
    instead: dict[str, bytes] = field(default_factory=dict)
    status: int = 202
    shown: int = 200
    envelopes: dict[str, bytes] = field(default_factory=dict)
    notice: bytes = b""
    key: Ed25519PrivateKey = field(default_factory=Ed25519PrivateKey.generate)

    def collection(self, name: str) -> Collection:
        """Return a collection by its name."""
        return open_envelope(self.envelopes[name], [public_key(self.key)])

    def make(self) -> None:
        """Sign the collections."""
        for name, (answers, plan, terms) in PLANS.items():
            more = {"start": 0, **terms}
            epochs = Epochs(int(time.time()) - 10 + more.pop("start"), 3600, 24)
            said = {"epsilon": 1.0, "mechanism": {"name": "rr"}, **plan}
            words = {"title": "Where were you?", "purpose": "To plan <clinics> & parks", "contact": "us@example.org"}
            agreed = Terms(name=name, answers=answers, epochs=epochs, collectors=(self.origin,), **words, **more)
            self.envelopes[name] = sign(plan_of(said), agreed, [self.key])
        self._make_survey()
        self.notice = withdraw(self.envelopes["withdrawn"], [self.key])

    def _make_survey(self) -> None:
        """Sign a survey of two questions, of which the first has a label for whoever does not answer."""
        attributes = {"place": Domain([*_PLACES, "no answer"]), "means": Domain(["on foot", "by bus"])}
        questions = [
            Question((name,), RandomizedResponse(domain.for_attribute(name), 1.0), WORD_RANGE)
            for name, domain in attributes.items()
        ]
        document = Questionnaire.of(Survey(attributes, questions, 2.0, promise="record", answers=2)).document
        labels = document.attributes["place"]
        asked = structs.replace(
            document, attributes={**document.attributes, "place": structs.replace(labels, missing="no answer")}
        )
        words = {"title": "Getting about", "purpose": "To plan buses", "contact": "us@example.org"}
        epochs = Epochs(int(time.time()) - 10, 3600, 24)
        terms = Terms(name="survey", answers="once", epochs=epochs, collectors=(self.origin,), **words)
        for number, envelope in enumerate(sign_survey(Questionnaire(asked), terms, [self.key]), 1):
            self.envelopes[f"survey-{number}"] = envelope

    def answer(self, path: str) -> tuple[int, bytes, dict[str, str]]:
        """Return status, body and headers of what is asked for."""
        kind, _, name = path.strip("/").partition("/")
        if kind == "take" and name in self.envelopes:
            collection = self.collection(name)
            return (
                200,
                served_pages.survey_page(collection, [public_key(self.key)]).encode(),
                served_pages.survey_headers(collection),
            )
        if kind == "static" and (JS / name).is_file():
            return 200, (JS / name).read_bytes(), {"content-type": mimetypes.guess_type(name)[0] or ""}
        if kind == "collections" and name in self.envelopes:
            facts = {"published": facts_on_published(self.collection(name))}
            return 200, json.dumps(facts).encode(), {"content-type": "application/json"}
        known = self.envelopes | self.instead
        envelope = known.get(name.removeprefix("collections/"))
        if kind != "v1" or envelope is None:
            return 404, b"", {}
        if name.removeprefix("collections/") in self.altered:
            place = envelope.index(b'"document":"') + 200
            envelope = (
                envelope[:place] + (b"A" if envelope[place : place + 1] != b"A" else b"B") + envelope[place + 1 :]
            )
        return self.shown, envelope, {"content-type": "application/vnd.discreet.collection+json"}


@contextmanager
def served_site() -> Iterator[SurveySite]:
    """Serve a site with every collection."""
    site = SurveySite()

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            pass

        def do_GET(self) -> None:
            site.asked.append(self.path)
            self._said(*site.answer(self.path))

        def do_POST(self) -> None:
            site.asked.append(self.path)
            site.posted.append((dict(self.headers), self.rfile.read(int(self.headers["Content-Length"]))))
            self._said(site.status, b"", {})

        def _said(self, status: int, body: bytes, headers: dict[str, str]) -> None:
            self.send_response(status)
            for name, value in {**headers, "content-length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    site.origin = f"http://127.0.0.1:{server.server_port}"
    site.make()
    with served(server):
        yield site
