"""The sentences of the survey page and of notices: complete in every language, the same in both programs, and easy."""

import json
import re
from typing import Any

import pytest
from survey_site import SurveySite

from discreet.collector.documents.publications import facts_on_published, sentences_on_published
from discreet.device.protocol.envelope import public_key
from discreet.device.protocol.notice import sections
from discreet.device.protocol.wording import LANGUAGES, wording
from programs import JS, node

CATALOGUES = {path.stem: json.loads(path.read_text()) for path in (JS / "languages").glob("*.json")}
ENGLISH = CATALOGUES["en"]
MADE = ("heading", "left", "outcome", "refused", "published")
"""Beginnings of keys of which the rest is put together when the page is shown."""


@pytest.fixture(scope="module")
def site() -> SurveySite:
    found = SurveySite(origin="https://collect.example.org")
    found.make()
    return found


@pytest.fixture(scope="module")
def read_by_scripts(site: SurveySite, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the scripts of the page make of every collection, in every language."""
    path = tmp_path_factory.mktemp("notices") / "envelopes.jsonl"
    lines = [
        {
            "envelope": envelope.decode(),
            "trusted": [public_key(site.key).hex()],
            "facts": facts_on_published(site.collection(name)),
        }
        for name, envelope in site.envelopes.items()
    ]
    path.write_text("\n".join(map(json.dumps, lines)))
    return dict(json.loads(node("tests/notices.js", path)))


def parts(sentence: str) -> list[str]:
    return sorted(re.findall(r"\{\w+\}", sentence))


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_language_is_complete(language: str, read_by_scripts: dict[str, Any]) -> None:
    catalogue = CATALOGUES[language]
    assert list(catalogue) == list(ENGLISH)
    assert list(catalogue["sentences"]) == list(ENGLISH["sentences"])
    for key, sentence in catalogue["sentences"].items():
        assert parts(sentence) == parts(ENGLISH["sentences"][key]), key
        assert sentence == sentence.strip() != "", key
    categories = set(read_by_scripts["plurals"][language])
    assert list(catalogue["units"]) == list(ENGLISH["units"])
    for unit, forms in catalogue["units"].items():
        assert set(forms) == categories | {"other"}, unit
        assert "{n}" in forms["other"]
    assert catalogue["dir"] == ("rtl" if language == "ar" else "ltr")
    assert len(catalogue["separators"]) == 2
    # Only the English text was reviewed by somebody who speaks it; whoever reviews another one changes this.
    assert catalogue["reviewed"] is (language == "en")


def test_there_are_no_other_languages_and_no_idle_sentences(read_by_scripts: dict[str, Any]) -> None:
    assert set(CATALOGUES) == set(LANGUAGES) == set(read_by_scripts["plurals"])
    texts = [path.read_text() for path in (JS / "survey").glob("*.js")]
    package = JS.parent / "src" / "discreet"
    texts += [
        (package / place).read_text() for place in ("device/protocol/notice.py", "collector/documents/publications.py")
    ]
    named = set(re.findall(r'["`](\w+\.\w+)["`]', "\n".join(texts)))
    assert {key for key in ENGLISH["sentences"] if key not in named and key.split(".")[0] not in MADE} == set()
    known = {key.split(".")[0] for key in ENGLISH["sentences"]}
    assert {key for key in named if key.split(".")[0] in known and key not in ENGLISH["sentences"]} == set()


def test_notices_are_the_same_byte_for_byte(site: SurveySite, read_by_scripts: dict[str, Any]) -> None:
    for name, found in zip(site.envelopes, read_by_scripts["collections"], strict=True):
        collection = site.collection(name)
        for language in LANGUAGES:
            assert found[language]["sections"] == [list(one) for one in sections(collection, wording(language)).items()]
            assert found[language]["published"] == list(sentences_on_published(collection, language))
            texts = collection.texts(language)
            shown = {"language": texts.language, "title": texts.title, "question": texts.question}
            assert shown.items() <= found[language]["texts"].items()


@pytest.mark.parametrize(
    ("language", "number", "spelled"),
    [("en", 1234567, "1,234,567"), ("de", 1234.5, "1.235"), ("fr", 10000, "10\u202f000"), ("pl", 0.0123401, "0,01235")],
)
def test_numbers_are_spelled_in_the_language_and_never_too_small(language: str, number: float, spelled: str) -> None:
    assert wording(language).number(number) == spelled


@pytest.mark.parametrize(
    ("share", "spelled"),
    [
        (0.5, "50%"),
        (0.55, "55%"),
        (0.57, "57%"),
        (0.7311, "74%"),
        (0.99, "99%"),
        (0.9911, "99.2%"),
        (0.9991, "99.91%"),
        (0.9999, "99.99%"),
        (0.99991, "99.99…%"),
        (1.0, "99.99…%"),
    ],
)
def test_shares_are_rounded_up(share: float, spelled: str) -> None:
    assert wording().percent(share) == spelled
