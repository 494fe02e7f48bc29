"""Texts of a collection in several languages: in the signed document, complete, and no part of the plan."""

from typing import Any

from discreet.device.protocol.collection import open_envelope
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
