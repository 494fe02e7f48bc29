"""The verb ``attest``: a page on a plan or on a collection, and a page that denies."""

import json
from pathlib import Path
from typing import Any

import pytest

from discreet import Plan
from discreet.collector.documents.attestation import Attestation
from discreet.collector.documents.signing import plan_of
from discreet.collector.verbs.parameters import spelled_key
from discreet.device.protocol.collection import open_envelope
from running import Files, done, refusal, run, told
from signed import PUBLIC, TRUST, envelope

KEY = spelled_key(PUBLIC)


@pytest.fixture
def signed(tmp_path: Path) -> Path:
    place = tmp_path / "habits.json"
    place.write_bytes(envelope())
    return place


def test_a_plan_is_attested(files: Files) -> None:
    page = files.plan.with_name("page.html")
    text = done("attest", files.plan, "-o", page, "--draws", 0)
    attested = Attestation(Plan.load(files.plan))
    assert "The promise holds." in text
    assert f"Written: {page}." in " ".join(text.split())
    assert page.read_text() == attested.page()
    assert told("attest", files.plan, "-o", page, "--draws", 0, "--force") == json.loads(json.dumps(attested.to_dict()))
    told("attest", files.plan, "-o", page, "--draws", 0, "--force", "--users", 70)
    assert "one of 70 users" in page.read_text()


def test_a_broken_plan_is_denied(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    sound = Plan.mechanism

    def broken(self: Plan) -> Any:
        mechanism = sound(self)
        mechanism.__dict__["threshold"] = mechanism.threshold + 1
        return mechanism

    monkeypatch.setattr(Plan, "mechanism", broken)
    page = files.plan.with_name("page.html")
    result = run("attest", files.plan, "-o", page)
    assert result.exit_code == 1
    assert "THE PROMISE IS BROKEN" in result.stdout
    assert "<h1>DENIED" in page.read_text()
    assert "signature" not in page.read_text().partition("<body>")[2]


def test_a_collection_is_attested_with_its_key(signed: Path) -> None:
    page = signed.with_name("page.html")
    one = open_envelope(envelope(), TRUST)
    done("attest", signed, "-o", page, "--draws", 0)
    assert f"{KEY} (nobody checked whose keys these are)" in page.read_text()
    done("attest", signed, "-o", page, "--draws", 0, "--trust", KEY, "--force")
    trusted = Attestation(plan_of(one), one, (KEY,), "trusted by whoever made this page")
    assert page.read_text() == trusted.page()


def test_what_goes_with_what(files: Files, signed: Path) -> None:
    page = files.plan.with_name("page.html")
    assert "--trust does nothing here: a plan is not signed" in refusal(
        "attest", files.plan, "-o", page, "--trust", KEY
    )
    assert "a collection names no files" in refusal("attest", signed, "-o", page, "--allow-outside")
    assert "signature.not-trusted" in refusal("attest", signed, "-o", page, "--trust", spelled_key(bytes(32)))
    assert ".html" in refusal("attest", files.plan, "-o", page.with_suffix(".pdf"))
    assert "draws must be" in refusal("attest", files.plan, "-o", page, "--draws", 7)
    assert not page.exists()
