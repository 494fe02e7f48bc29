"""Texts of a collection in several languages: in the signed document, complete, and no part of the plan."""

from typing import Any

import pytest

from discreet.device.protocol.collection import open_envelope
from discreet.device.protocol.envelope import CollectionError, FieldError, PlanError
from refusals import refused
from signed import TRUST, altered, collection, envelope

LABELS = {"never": "nie", "rarely": "selten", "often": "oft", "daily": "täglich"}
GERMAN: dict[str, Any] = {"title": "Gewohnheiten", "purpose": "Um zu wissen, wie viele", "labels": LABELS}


def with_german(**changes: Any) -> bytes:
    """Return a collection with a language, as whoever holds the key may write it; a part of `...` is left out."""
    said = {name: part for name, part in {**GERMAN, **changes}.items() if part is not ...}
    return altered(envelope(), languages={"de": said})


def test_texts_are_those_of_the_language_or_of_the_document() -> None:
    found = open_envelope(with_german(), TRUST)
    german, english = found.texts("de"), found.texts("fr")
    assert (german.language, german.title, german.question) == ("de", "Gewohnheiten", "Gewohnheiten")
    assert german.labels["daily"] == "täglich"
    assert (english.language, english.title, english.question, english.labels) == ("en", "Habits", "Habits", {})
    assert found.fingerprint == collection().fingerprint
    assert found.id != collection().id


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({"languages": {}}, FieldError),
        ({"languages": []}, FieldError),
        ({"languages": {"DE": GERMAN}}, FieldError),
        ({"languages": {"en": GERMAN}}, FieldError),
        ({"languages": {"de": {**GERMAN, "question": "Wie oft?"}}}, FieldError),
        ({"languages": {"de": GERMAN}, "question": "How often?"}, FieldError),
        ({"languages": {"de": GERMAN}, "language": "de"}, FieldError),
        ({"languages": {"de": {**GERMAN, "titel": "?"}}}, FieldError),
        ({"languages": {"de": {**GERMAN, "title": " "}}}, FieldError),
        ({"languages": {"de": {**GERMAN, "labels": list(LABELS)}}}, FieldError),
        ({"languages": {"de": {**GERMAN, "labels": {**LABELS, "never": ""}}}}, FieldError),
        ({"languages": {"de": {**GERMAN, "title": "a\u202eb"}}}, FieldError),
        ({"language": "English"}, FieldError),
        ({"question": ""}, FieldError),
        ({"languages": {"de": {**GERMAN, "labels": {}}}}, PlanError),
        ({"languages": {"de": {**GERMAN, "labels": {**LABELS, "always": "immer"}}}}, PlanError),
        ({"languages": {"de": {**GERMAN, "labels": {**LABELS, "daily": "nie"}}}}, PlanError),
    ],
    ids=str,
)
def test_refusals(changes: dict[str, Any], kind: type[CollectionError]) -> None:
    refused(kind, lambda: open_envelope(altered(envelope(), **changes), TRUST))
