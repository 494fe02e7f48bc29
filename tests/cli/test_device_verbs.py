"""The verbs ``device``: a person's device in a folder, from joining to forgetting; and simulated devices."""

import json
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from asking import PLAN, TERMS, prepare, public
from click.testing import CliRunner

import planted
from collector_double import Double, collector
from discreet.cli import main
from discreet.device.protocol.frames import Frame, head
from running import done, refusal, run, told


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("devices")
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(folder)
        prepare(folder)
        done("device", "join", "habits.json", "--trust", public(), "--agree", "--store", "store")
    return folder


@pytest.fixture(autouse=True)
def _folder(prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(prepared, tmp_path / "here")
    (tmp_path / "here" / "store").chmod(0o700)
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.fixture
def double() -> Iterator[Double]:
    with collector() as made:
        yield made


def signed_for(double: Double, plan: str = PLAN, *more: str) -> None:
    Path("asked.toml").write_text(plan)
    terms = [word.replace("https://collect.example.org", double.origin) for word in TERMS]
    done("collection", "sign", "asked.toml", *terms, "-o", "asked.json", *more)
    double.says = [(200, {}, Path("asked.json").read_bytes())]


def device(*arguments: str, text: str = "", code: int = 0) -> Any:
    command = ["device", *arguments, "--store", "mine", "--json"]
    result = CliRunner().invoke(main, command, input=text)
    assert result.exit_code == code, result.output
    return json.loads(result.stdout)


def test_from_joining_to_forgetting(double: Double) -> None:
    signed_for(double, PLAN.replace('"daily"', f'"{planted.VALUE}"'))
    joined = device("join", f"{double.origin}/v1/collections/habits", "--trust", public(), "--agree")
    assert joined["agreed"]
    assert "epsilon = 1" in " ".join(joined["notice"])
    assert stat.S_IMODE(Path("mine").stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in Path("mine").iterdir()} == {0o600}
    assert device("answer", "habits", "-", text=f"{planted.VALUE}\n") == {"name": "habits", "outcome": "recorded"}
    assert device("answer", "habits", "never", code=2)["outcome"] == "already"
    double.says = [(503, {}, b""), (202, {}, b"")]
    assert device("send") == {"sent": 0, "dropped": 0, "waiting": 1, "reason": "The collector's answer is 503."}
    assert device("status")["spent"] == 1
    (report,) = device("log")["reports"]
    (frame,) = double.frames
    assert Frame.parse(frame, len(frame) - 60).records.tobytes().hex() == report["record"]
    assert head(frame)[0].hex() == joined["id"]
    planted.clean_files(Path("mine"))
    assert device("decline", "habits")["declined"]
    assert device("answer", "habits", "never", code=2)["outcome"] == "declined"
    assert device("log")["reports"] == []
    assert device("forget")["forgotten"]
    assert device("status")["left"] == 19
    assert "accept" in refusal("device", "answer", "habits", "never", "--store", "mine")


def test_a_signed_collection_is_not_verified_as_a_plan() -> None:
    assert "`discreet attest`" in refusal("verify", "habits.json")
    assert done("attest", "habits.json", "-o", "page.html", "--draws", "0")


def test_limits_trust_and_consent_are_the_persons() -> None:
    join = ["device", "join", "habits.json", "--store", "first"]
    assert "--trust" in run(*join, "--agree").stderr
    assert "signature.not-trusted" in refusal(*join, "--trust", public("second"), "--agree")
    assert not told(*join, "--trust", public())["agreed"]
    result = run("device", "answer", "habits", "never", "--store", "first", "--json")
    assert (result.exit_code, json.loads(result.stdout)["outcome"]) == (2, "declined")
    for limit in ("report", "epoch", "lifetime"):
        said = refusal(*join[:3], "--trust", public(), "--agree", "--store", "new", f"--{limit}", "0.5")
        assert f"[cost.above-{limit}-limit]" in said
    # tests/device/test_proxies.py sends through proxies.
    assert "[proxy.with-file]" in refusal(*join, "--trust", public(), "--agree", "--proxy", "http://127.0.0.1:9")
    assert "proxy" in refusal("device", "send", "--store", "first", "--proxy", "socks5://127.0.0.1:9")


PRODUCT = '[domain.product]\nsex = ["f", "m\'s"]\nage = [1, 2]'
GRID = "grid = { lat = [0, 1], lon = [-1, 0], rows = 3, cols = 3 }"
ANSWERS: list[tuple[str, str, str, list[str | bytes]]] = [
    ('labels = ["a b", "c"]', "one of a b; c", "a b", ["c\na b\n", "", b"\xff\xfe\n", "a", planted.VALUE]),
    ("range = [-5, 5]", "one of -5; -4; -3; -2; -1; 0; 1; 2; 3; 4", "-3", ["9", "1.0", "9" * 5000]),
    (
        PRODUCT,
        "sex=LABEL age=LABEL (sex: f; m's, age: 1; 2)",
        'age=2 sex="m\'s"',
        ["age=2", "age=2 sex=f x=1", "age=1 sex=f age=2", f"age=1 sex={planted.VALUE}'s\n"],
    ),
    (GRID, "a latitude and a longitude within the map", "0.5 -0.5", ["0.5 west", "0.5", f"0.5 {planted.VALUE}"]),
]


@pytest.mark.parametrize(("domain", "said", "value", "wrong"), ANSWERS)
def test_answers_are_typed_as_people_are_told(
    double: Double, domain: str, said: str, value: str, wrong: list[str | bytes]
) -> None:
    """Of what is no value nothing is quoted, and nothing is charged."""
    signed_for(double, f'epsilon = 1.0\ntitle = "T"\n[mechanism]\nname = "rr"\n[domain]\n{domain}\n')
    shown = done("device", "join", "asked.json", "--trust", public(), "--agree", "--store", "mine")
    assert f"`discreet device answer habits VALUE`. VALUE is {said}." in shown
    for text in wrong:
        command = ["device", "answer", "habits", "-", "--store", "mine"]
        results = [CliRunner().invoke(main, command, input=text)]
        if isinstance(text, str) and len(text.splitlines()) == 1 and "'" not in text:
            results.append(run("device", "answer", "habits", *text.split(), "--store", "mine"))
        for result in results:
            assert (result.exit_code, result.stdout) == (2, "")
            planted.clean(result.output)
            assert "99999" not in result.output
    assert device("status")["spent"] == 0
    assert device("answer", "habits", "-", text=f"{value}\n")["outcome"] == "recorded"


def test_places(double: Double) -> None:
    signed_for(double, PLAN.replace('"Habits"', '"Habits"\ntags = ["home"]'))
    shown = done("device", "join", "asked.json", "--trust", public(), "--agree", "--store", "mine")
    assert "`discreet device tag habits TAG=VALUE...`" in shown
    assert "TAG is one of home; others." in shown
    assert "tag" in refusal("device", "answer", "habits", "never", "--store", "mine")
    assert device("tag", "habits", "home=never", "home=rarely", "home=never")["places"] == 2
    assert device("answer", "habits", "never")["outcome"] == "recorded"
    assert "tagged.after-answer" in refusal("device", "tag", "habits", "home=daily", "--store", "mine")
    cells = PLAN.replace('"Habits"', '"Habits"\ncells = { rows = 1, cols = 1 }').replace(
        'labels = ["never", "rarely", "often", "daily"]\nsensitive = ["often", "daily"]',
        "grid = { lat = [0, 1], lon = [-1, 0], rows = 3, cols = 3 }\nsensitive = [[0.1, -0.9]]",
    )
    signed_for(double, cells, "--force", "--name", "map")
    device("join", "asked.json", "--trust", public(), "--agree")
    assert device("tag", "map", "0.5,-0.5")["places"] == 1
    assert device("answer", "map", "0.5", "-0.5")["outcome"] == "recorded"


def test_devices_of_simulations(double: Double) -> None:
    """They answer simulated collections alone, and no folder is both."""
    signed_for(double, PLAN, "--simulated")
    assert device("join", "asked.json", "--trust", public(), "--agree", "--simulated")["agreed"]
    assert device("answer", "habits", "never")["outcome"] == "recorded"
    message = refusal("device", "join", "habits.json", "--trust", public(), "--agree", "--store", "mine")
    assert "--store" in message
    assert "collection.other-kind" in refusal(
        "device", "join", "habits.json", "--trust", public(), "--agree", "--simulated", "--store", "third"
    )


@pytest.mark.parametrize("settings", ["", "[]", "{}", '{"trust": ["x"], "limits": {}}', '{"trust": [], "limits": 3}'])
def test_damaged_settings(settings: str) -> None:
    Path("store/settings.json").write_text(settings)
    assert "device.damaged-settings" in refusal("device", "status", "--store", "store")
    done("device", "join", "habits.json", "--trust", public(), "--agree", "--store", "store")
    done("device", "status", "--store", "store")


def test_simulated_devices_send_frames(double: Double) -> None:
    signed_for(double, PLAN, "--simulated")
    double.says = [(202, {}, b"")]
    facts = told("device", "simulate", "asked.json", "plain.csv", "--devices", "1e4", "--epoch", "2")
    assert (facts["devices"], facts["frames"], facts["simulated"]) == (10_000, 3, True)
    heads = [head(frame) for frame in double.frames]
    assert [n for _, _, n in heads] == [4096, 4096, 1808]
    assert {epoch for _, epoch, _ in heads} == {2}
    told("device", "simulate", "asked.json", "plain.csv", "--devices", "1e4", "--epoch", "2", "-o", "frames")
    assert [path.read_bytes() for path in sorted(Path("frames").iterdir())] == double.frames
    simulate = ["device", "simulate", "asked.json", "plain.csv", "--epoch", "2", "-o"]
    for name, seed in (("first", 1), ("second", 1), ("third", 2)):
        done(*simulate, name, "--seed", str(seed))
    first, second, third = (next(Path(name).iterdir()).read_bytes() for name in ("first", "second", "third"))
    assert first == second != third
    Path("upper.csv").write_text(Path("plain.csv").read_text(encoding="utf-8").upper(), encoding="utf-8")
    asked = ["device", "simulate", "asked.json", "upper.csv", "-o", "read"]
    assert "--as-read" in refusal(*asked)
    assert told(*asked, "--as-read")["devices"] == 120
    tagged = ["device", "simulate", "tags.json", "values.csv", "--column", "habit", "-o", "tagged"]
    assert "--tags" in refusal(*tagged, "--user", "who")
    assert told(*tagged, "--user", "who", "--tags", "secret.csv")["devices"] == 120
    double.says = [(422, {}, b"")]
    assert "422" in refusal("device", "simulate", "asked.json", "plain.csv", "--epoch", "2")
