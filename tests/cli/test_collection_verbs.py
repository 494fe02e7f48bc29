"""The verbs ``collection``: what they write and print, and that each option is used or refused."""

import base64
import shutil
from importlib import resources
from pathlib import Path

import pytest
from asking import NOW, TERMS, document, options, prepare, public

from running import done, refusal, run, told
from signed import PUBLIC, resigned

SIGN = ["collection", "sign", "plan.toml", *TERMS]
RENEW = ["collection", "renew", "habits.json", "--key", "key.pem"]
TERM_OPTIONS: dict[str, str] = {
    "--title": "--title Other",
    "--purpose": "--purpose Other",
    "--contact": "--contact b@example.org",
    "--answers": "--answers once",
    "--start": "--start 2033-01-31",
    "--epoch": "--epoch 90m",
    "--epochs": "--epochs 50",
    "--lifetime": "--lifetime 5",
    "--late": "--late 60s",
    "--spread": "--spread 10m",
    "--least": "--least 1e3",
    "--retention": "--retention 90",
    "--collector": "--collector https://other.example.org",
    "--memo": "--answers permanent --people 40 --memo 2",
    "--people": "--answers permanent --people 40",
    "--linkable": "--answers permanent --linkable",
    "--listed": "--listed",
    "--texts": "--texts texts.toml",
}
GIVEN: dict[str, str] = {
    **TERM_OPTIONS,
    "--page": "--page --spread 10m",
    "--name": "--name other",
    "--plan": "--plan other.toml",
    "--simulated": "--simulated",
    "--language": "--language de",
    "--trust": "--trust KEY",
    "--key": "--key second.pem",
    "--output": "-o new.json",
    "--force": "--force",
    "--allow-outside": "--allow-outside",
    "--json": "--json",
}
OF_VERB = {
    ("collection show", "--trust"): "--trust SECOND",
    ("collection renew", "--allow-outside"): "--allow-outside --plan outside.toml",
}
BASES: dict[str, list[str]] = {
    "collection key": ["collection", "key", "show", "key.pem"],
    "collection show": ["collection", "show", "habits.json"],
    "collection sign": [*SIGN, "-o", "out.json"],
    "collection renew": [*RENEW, "-o", "out.json"],
    "collection withdraw": ["collection", "withdraw", "habits.json", "--key", "key.pem", "-o", "out.json"],
}


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


def test_every_option_is_entered() -> None:
    # The statement is on a folder of sealed reports: see tests/collector/test_publications.py.
    assert options("collection").keys() == {*BASES, "collection statement"}
    assert set().union(*(options("collection")[verb] for verb in BASES)) == {*GIVEN, "--debug"}


def outcome(*arguments: str) -> tuple[int, str, str, str]:
    Path("out.json").unlink(missing_ok=True)
    Path("new.json").unlink(missing_ok=True)
    result = run(*arguments)
    assert result.exit_code in {0, 2}, result.output
    written = [Path(name).read_text() for name in ("out.json", "new.json") if Path(name).exists()]
    return result.exit_code, result.stdout, result.stderr, "".join(written)


@pytest.mark.parametrize(
    ("verb", "option"), [(verb, option) for verb in BASES for option in GIVEN if option in options("collection")[verb]]
)
def test_it_is_used_or_refused(verb: str, option: str) -> None:
    given = (
        OF_VERB.get((verb, option), GIVEN[option]).replace("KEY", public()).replace("SECOND", public("second")).split()
    )
    base = BASES[verb]
    if option == "--allow-outside":
        given = [word for word in given if word != "outside.toml"] + (
            ["outside.toml"] if verb.endswith("renew") else []
        )
        base = [word.replace("plan.toml", "outside.toml") for word in base] if verb.endswith("sign") else base
        bare = [word for word in (*base, *given) if word != "--allow-outside"]
        assert "--allow-outside" in outcome(*bare)[2]
        assert outcome(*base, *given)[0] == 0
        return
    if option == "--force":
        Path("old.json").write_text("old")
        replaced = [word.replace("out.json", "old.json") for word in base]
        assert "output.exists" in run(*replaced).stderr
        assert run(*replaced, "--force").exit_code == 0
        return
    if option == "--trust" and verb != "collection show":
        base = [word.replace("key.pem", "second.pem") for word in base]
    without, with_it = outcome(*base), outcome(*base, *given)
    assert without != with_it
    assert without[0] == 0 or (option == "--trust" and "trusted" in without[2])


def test_what_is_signed_is_what_was_said() -> None:
    said = document("habits.json")
    assert said["title"] == "Habits"
    assert (said["purpose"], said["contact"], said["answers"]) == ("Why", "a@example.org", "fresh")
    assert said["epochs"] == {"start": NOW - 60, "seconds": 3600, "count": 48}
    assert (said["lifetime"], said["late"], said["collectors"]) == (4, 3600, ["https://collect.example.org"])
    facts = told("collection", "show", "habits.json", "--trust", public())
    assert (facts["trusted"], facts["keys"], facts["version"]) == (True, [public()], 1)
    assert facts["realised"] <= facts["epsilon"] == 1
    shown = done("collection", "show", "habits.json")
    assert "was not checked" in shown
    for sentence in facts["notice"]:
        assert sentence in shown
    assert "often; daily" in shown


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


def test_a_survey_is_signed_as_a_collection_for_each_question(tmp_path: Path) -> None:
    survey = str(resources.files("discreet") / "examples" / "health_survey.toml")
    people = str(resources.files("discreet") / "examples" / "people.csv")
    Path("by_question.toml").write_text('[questions.age]\nquestion = "How old are you?"\n')
    sign = ["collection", "sign", survey, *TERMS, "--simulated", "--texts", "by_question.toml", "-o", "health.json"]
    signed = told(*sign)["collections"]
    assert [facts["output"] for facts in signed] == [f"health-{number}.json" for number in range(1, 5)]
    assert "How old are you?" in signed[0]["notice"]
    assert {document(facts["output"])["survey"]["answers"] for facts in signed} == {1}
    assert not Path("health.json").exists()
    assert "health-1.json exists already" in run(*sign).stderr
    assert run(*sign, "--force").exit_code == 0
    Path("texts.toml").write_text('question = "How?"\n')
    assert "tables of texts by question" in run(*sign, "--texts", "texts.toml", "--force").stderr
    Path("texts.toml").write_text('[questions.income]\nquestion = "How?"\n')
    assert "income" in run(*sign, "--texts", "texts.toml", "--force").stderr
    # A simulated crowd draws too: each person answers one question.
    crowd = [["device", "simulate", facts["output"], people, "-o", str(tmp_path / facts["name"])] for facts in signed]
    assert sum(told(*verb, "--seed", "1")["devices"] for verb in crowd) == 300
