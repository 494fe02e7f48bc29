"""The verbs ``device``: a person's device in a folder, and that each option is used or refused."""

import json
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from asking import PLAN, TERMS, options, prepare, public
from click.testing import CliRunner

import planted
from collector_double import Double, collector
from discreet.cli import main
from discreet.device.protocol.frames import Frame, head
from running import done, refusal, run, told

SIMULATE = ["device", "simulate", "simulated.json", "plain.csv"]
GIVEN: dict[str, str] = {
    "--trust": "--trust SECOND",
    "--report": "--report 0.5",
    "--epoch": "--epoch 0.5",
    "--lifetime": "--lifetime 0.5",
    "--agree": "--agree",
    "--simulated": "--simulated",
    # Joined by in tests/collector/test_log.py.
    "--log": "--log none",
    "--proxy": "--proxy http://127.0.0.1:9",
    "--store": "--store none",
    "--devices": "--devices 7",
    "--column": "--column more values.csv",
    "--user": "--user who",
    "--tags": "--tags secret.csv",
    "--as-read": "--as-read",
    "--float32": "--float32",
    "--seed": "--seed 2",
    "--output": "-o other",
    "--json": "--json",
}
OF_VERB = {
    ("device join", "--store"): "--store elsewhere",
    ("device send", "--proxy"): "--proxy socks5://127.0.0.1:9",
    ("device simulate", "--epoch"): "--epoch 3",
}
BASES: dict[str, list[str]] = {
    "device join": ["device", "join", "habits.json", "--trust", "KEY", "--agree", "--store", "new"],
    "device answer": ["device", "answer", "habits", "daily", "--store", "store"],
    "device tag": ["device", "tag", "tagged", "--store", "store"],
    "device send": ["device", "send", "--store", "store"],
    "device status": ["device", "status", "--store", "store"],
    "device log": ["device", "log", "--store", "store"],
    "device decline": ["device", "decline", "habits", "--store", "store"],
    "device forget": ["device", "forget", "--store", "store"],
    "device simulate": [*SIMULATE, "-o", "frames"],
}


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("devices")
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(folder)
        prepare(folder)
        for name in ("habits", "tagged"):
            done("device", "join", f"{name}.json", "--trust", public(), "--agree", "--store", "store")
    return folder


@pytest.fixture(autouse=True)
def _folder(prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(prepared, tmp_path / "here")
    (tmp_path / "here" / "store").chmod(0o700)
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("HOME", str(tmp_path))


def test_every_option_is_entered() -> None:
    assert options("device").keys() == BASES.keys()
    assert set().union(*options("device").values()) == {*GIVEN, "--debug"}


def outcome(*arguments: str) -> tuple[int, str, str, list[tuple[str, bytes]]]:
    for name in ("new", "elsewhere", "frames", "other"):
        shutil.rmtree(name, ignore_errors=True)
    result = run(*arguments)
    assert result.exit_code in {0, 2}, result.output
    written = [(str(path), path.read_bytes()) for path in sorted(Path().rglob("*.bin"))]
    written += [(name, b"") for name in ("new", "elsewhere") if Path(name).exists()]
    return result.exit_code, result.stdout, result.stderr, written


@pytest.mark.parametrize(
    ("verb", "option"), [(verb, option) for verb in BASES for option in GIVEN if option in options("device")[verb]]
)
def test_it_is_used_or_refused(verb: str, option: str) -> None:
    given = OF_VERB.get((verb, option), GIVEN[option]).replace("SECOND", public("second")).split()
    base = [word.replace("KEY", public()) for word in BASES[verb]]
    if option == "--trust":
        base = [word for word in base if word not in {"--trust", public()}]
    if option == "--agree":
        base.remove("--agree")
    if option in {"--user", "--tags"}:
        base[2:4] = ["tags.json", "values.csv"]
        given = ["--user", "who", "--tags", "secret.csv", "--column", "habit"]
        without = outcome(*base, *given[:2], "--column", "habit") if option == "--tags" else outcome(*base, *given[2:])
        assert option in without[2]
        assert outcome(*base, *given)[0] == 0
        return
    if option == "--column":
        base[3] = "values.csv"
        given = ["--column", "habit"]
    if option == "--as-read":
        Path("upper.csv").write_text(Path("plain.csv").read_text(encoding="utf-8").upper(), encoding="utf-8")
        base[3] = "upper.csv"
    shutil.copytree("store", "kept")
    without = outcome(*base)
    shutil.rmtree("store")
    shutil.copytree("kept", "store")
    assert without != outcome(*base, *given)


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


TYPED = {
    "labels": "one of a b; c",
    "range": "one of -5; -4; -3; -2; -1; 0; 1; 2; 3; 4",
    "[domain.product]": "sex=LABEL age=LABEL (sex: f; m, age: 1; 2)",
    "grid": "a latitude and a longitude within the map",
}


@pytest.mark.parametrize(
    ("domain", "value", "fits"),
    [
        ('labels = ["a b", "c"]', ["a", "b"], True),
        ("range = [-5, 5]", ["-3"], True),
        ("range = [-5, 5]", ["9"], False),
        ("range = [-5, 5]", ["1.0"], False),
        ("range = [-5, 5]", ["9" * 5000], False),
        ('[domain.product]\nsex = ["f", "m"]\nage = [1, 2]', ["age=2", "sex=m"], True),
        ('[domain.product]\nsex = ["f", "m"]\nage = [1, 2]', ["age=2"], False),
        ('[domain.product]\nsex = ["f", "m"]\nage = [1, 2]', ["age=2", "sex=m", "x=1"], False),
        ("grid = { lat = [0, 1], lon = [-1, 0], rows = 3, cols = 3 }", ["0.5", "-0.5"], True),
        ("grid = { lat = [0, 1], lon = [-1, 0], rows = 3, cols = 3 }", ["0.5", "west"], False),
        ("grid = { lat = [0, 1], lon = [-1, 0], rows = 3, cols = 3 }", ["0.5"], False),
    ],
)
def test_values_as_they_are_typed(double: Double, domain: str, value: list[str], fits: bool) -> None:
    """And people are told how."""
    said = TYPED[domain.partition(" ")[0].partition("\n")[0]]
    plan = f'epsilon = 1.0\ntitle = "T"\n[mechanism]\nname = "rr"\n[domain]\n{domain}\n'
    signed_for(double, plan)
    device("join", "asked.json", "--trust", public(), "--agree")
    shown = done("device", "join", "asked.json", "--trust", public(), "--agree", "--store", "mine")
    assert f"`discreet device answer habits VALUE`. VALUE is {said}." in shown
    if fits:
        assert device("answer", "habits", *value)["outcome"] == "recorded"
    else:
        message = refusal("device", "answer", "habits", *value, "--store", "mine")
        assert not any(part in message for part in value if len(part) > 2)


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
    assert "simulat" in refusal(
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
    double.says = [(422, {}, b"")]
    assert "422" in refusal("device", "simulate", "asked.json", "plain.csv", "--epoch", "2")


@pytest.mark.parametrize(
    ("domain", "text", "words"),
    [
        ('labels = ["a b", "c"]', "c\na b\n", "got 2 lines"),
        ('labels = ["a b", "c"]', "", "got 0 lines"),
        ('labels = ["a b", "c"]', b"\xff\xfe\n", "standard-input.not-utf-8"),
        ("range = [0, 5]", "9" * 5000, "one of the 5 values"),
        (
            '[domain.product]\nsex = ["f", "m\'s"]\nage = [1, 2]',
            f"age=1 sex={planted.VALUE}'s\n",
            "quotation.not-closed",
        ),
        ('[domain.product]\nsex = ["f", "m"]\nage = [1, 2]', "age=1 sex=f age=2", "attribute.named-twice"),
    ],
)
def test_lines_that_are_no_value(double: Double, domain: str, text: str | bytes, words: str) -> None:
    """Each is refused, none is quoted, and nothing is charged."""
    signed_for(double, f'epsilon = 1.0\ntitle = "T"\n[mechanism]\nname = "rr"\n[domain]\n{domain}\n')
    device("join", "asked.json", "--trust", public(), "--agree")
    result = CliRunner().invoke(main, ["device", "answer", "habits", "-", "--store", "mine"], input=text)
    assert result.exit_code == 2, result.output
    assert words in result.output
    planted.clean(result.output)
    assert device("status")["spent"] == 0
