"""The verbs ``collection``: from a signature to a withdrawal, and what they refuse and print."""

import base64
import shutil
from importlib import resources
from pathlib import Path

import pytest
from asking import TERMS, document, prepare, public

from running import done, refusal, run, told
from signed import PUBLIC, resigned

SIGN = ["collection", "sign", "plan.toml", *TERMS]
KEY_OF_NOBODY = "A" * 43 + "="


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("asking")
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(folder)
        prepare(folder)
    return folder


@pytest.fixture(autouse=True)
def _folder(prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(prepared, tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")


def test_from_a_signature_to_a_withdrawal() -> None:
    """Each term that is given stands in the document, and is the same in later versions unless it is given anew."""
    terms = (
        "--title Other --answers permanent --people 400 --memo 2 --linkable --start 2033-01-31 --epoch 90m --epochs 50 "
        "--lifetime 5 --late 60s --spread 10m --least 1e3 --retention 90 --listed --texts texts.toml --simulated"
    )
    done(*SIGN, *terms.split(), "--key", "second.pem", "-o", "all.json")
    wanted = {
        **{"name": "habits", "title": "Other", "purpose": "Why", "contact": "a@example.org", "answers": "permanent"},
        **{"lifetime": 5, "late": 60, "spread": 600, "least": 1000, "retention": 90, "linkable": True, "listed": True},
        **{"epochs": {"start": 1990742400, "seconds": 5400, "count": 50}, "question": "How often?", "version": 1},
        **{"collectors": ["https://collect.example.org"], "simulated": True, "state": "open"},
    }
    said = document("all.json")
    assert {name: said[name] for name in wanted} == wanted
    assert (said["memo"]["epsilon"], said["languages"]["de"]["question"]) == (2, "Wie oft?")
    facts = told("collection", "show", "all.json", "--trust", public(), "--language", "de")
    assert (facts["trusted"], facts["keys"]) == (True, [public(), public("second")])
    assert facts["realised"] <= facts["epsilon"]
    shown = done("collection", "show", "all.json", "--language", "de")
    assert "was not checked" in shown
    assert "Wie oft?" in shown
    assert "signature.not-trusted" in refusal("collection", "show", "all.json", "--trust", KEY_OF_NOBODY)
    renew = ["collection", "renew", "all.json", "--key", "key.pem", "-o", "next.json"]
    done(*renew, "--plan", "other.toml", "--unlisted", "--contact", "b@example.org", "--spread", "0s")
    later = document("next.json")
    changed = {"version": 2, "contact": "b@example.org", "spread": 0, "listed": False}
    assert {name: later.get(name, False) for name in wanted} == {**wanted, **changed}
    assert later["fingerprint"] != said["fingerprint"]
    assert "output.exists" in refusal(*renew)
    assert "--allow-outside" in refusal(*renew, "--plan", "outside.toml", "--force")
    done(*renew, "--plan", "outside.toml", "--force", "--allow-outside")
    second = ["collection", "renew", "habits.json", "--key", "second.pem", "-o", "other.json"]
    assert "signature.not-trusted" in refusal(*second)
    done("collection", "withdraw", "next.json", "--key", "key.pem", "-o", "gone.json")
    assert (document("gone.json")["state"], document("gone.json")["version"]) == ("withdrawn", 3)


def test_a_document_does_not_steer_the_terminal() -> None:
    title = "\x1b[2J\x1b]0;quiet\x07 \u202e"
    shown = [refusal(*SIGN, "-o", "x.json", "--title", title, "--force")]
    # A notice of withdrawal is shown whatever it is called.
    Path("x.json").write_bytes(resigned({**document("habits.json"), "title": title, "state": "withdrawn"}))
    shown.append(done("collection", "show", "x.json"))
    for text in shown:
        assert not any(ord(one) < 32 and one != "\n" for one in text)
        assert "\u202e" not in text


def test_an_old_collection_with_invisible_characters_can_be_renewed_and_withdrawn() -> None:
    """Whoever signed it before they were refused can sign another title, and end it."""
    Path("old.json").write_bytes(resigned({**document("habits.json"), "title": "Hab\u202eits"}))
    old = ["old.json", "--trust", base64.b64encode(PUBLIC).decode(), "--key", "key.pem", "-o"]
    assert "U+202E" in refusal("collection", "show", "old.json")
    assert "U+202E" in refusal("collection", "renew", *old, "new.json")
    done("collection", "renew", *old, "new.json", "--title", "Habits")
    done("collection", "withdraw", *old, "gone.json")
    assert (document("new.json")["title"], document("gone.json")["state"]) == ("Habits", "withdrawn")


def test_a_survey_is_signed_as_a_collection_for_each_question() -> None:
    survey = str(resources.files("discreet") / "examples" / "health_survey.toml")
    Path("by_question.toml").write_text('[questions.age]\nquestion = "How old are you?"\n')
    sign = ["collection", "sign", survey, *TERMS, "--simulated", "--texts", "by_question.toml", "-o", "health.json"]
    signed = told(*sign)["collections"]
    assert [facts["output"] for facts in signed] == [f"health-{number}.json" for number in range(1, 5)]
    assert "How old are you?" in signed[0]["notice"]
    assert {document(facts["output"])["survey"]["answers"] for facts in signed} == {1}
    assert not Path("health.json").exists()
    assert "[output.exists]" in run(*sign).stderr
    assert run(*sign, "--force").exit_code == 0
    Path("texts.toml").write_text('question = "How?"\n')
    assert "tables of texts by question" in run(*sign, "--texts", "texts.toml", "--force").stderr
    Path("texts.toml").write_text('[questions.income]\nquestion = "How?"\n')
    assert "income" in run(*sign, "--texts", "texts.toml", "--force").stderr


def test_a_signed_collection_is_not_verified_as_a_plan() -> None:
    assert "discreet attest" in refusal("verify", "habits.json")
    assert done("attest", "habits.json", "-o", "page.html", "--draws", "0")
