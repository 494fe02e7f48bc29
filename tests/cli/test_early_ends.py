"""How verbs end before their time: defects, signals, readers that go; and what they leave behind."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from discreet.cli import main
from discreet.cli.commands import ended_by_signals
from running import Files, done, run, told

SECRET = "alice-has-asthma"


@pytest.fixture
def defect(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: Any) -> None:
        try:
            {}[SECRET]
        except KeyError as error:
            raise ValueError(f"nobody foresaw {SECRET}") from error

    monkeypatch.setattr("discreet.cli.verbs.verify.verified", broken)


def started(folder: Path, *arguments: object, **options: Any) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "discreet", *map(str, arguments)]
    return subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True, **options)


# Defects


def test_a_defect_says_where_and_never_what(files: Files, defect: None) -> None:
    result = run("verify", files.plan)
    assert result.exit_code == 70
    assert result.stdout == ""
    assert SECRET not in result.stderr
    assert "ValueError at test_early_ends, line " in result.stderr
    assert "from discreet.cli.verbs.verify, line " in result.stderr
    assert "--debug FILE" in result.stderr
    assert "Traceback" not in result.stderr


def test_debug_keeps_the_whole_traceback_for_its_owner(files: Files, defect: None) -> None:
    kept = files.folder / "trace.txt"
    result = run("verify", files.plan, "--debug", kept)
    assert result.exit_code == 70
    assert SECRET not in result.stderr
    assert str(kept) in result.stderr
    text = kept.read_text()
    assert f"KeyError: '{SECRET}'" in text
    assert f"ValueError: nobody foresaw {SECRET}" in text
    assert "Traceback (most recent call last)" in text
    assert kept.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("place", ["there.txt", "no folder/trace.txt", "", "x" * 300])
def test_debug_is_refused_before_any_work(files: Files, defect: None, place: str) -> None:
    (files.folder / "there.txt").write_text("old")
    result = run("verify", files.plan, "--debug", files.folder / place)
    assert result.exit_code == 2
    assert "--debug" in result.stderr
    assert (files.folder / "there.txt").read_text() == "old"


# Signals


def hidden(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if path.name.startswith(".")]


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_leaves_no_half_file(tmp_path: Path, number: signal.Signals) -> None:
    if signal.getsignal(number) is signal.SIG_IGN:
        pytest.skip("whoever started the tests, such as nohup, had it ignored, and so it is")
    (tmp_path / "plan.toml").write_text('epsilon = 1.0\n[domain]\nrange = [0, 500]\n[mechanism]\nname = "subset"\n')
    (tmp_path / "values.csv").write_text("x\n" + "7\n" * 2_000_000)
    process = started(tmp_path, "obfuscate", "plan.toml", "values.csv", "-o", "r.parquet", stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 100
    while not hidden(tmp_path) and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    assert hidden(tmp_path), "the signal would come too late"
    process.send_signal(number)
    _, errors = process.communicate(timeout=100)
    assert process.returncode == 128 + number
    assert errors == f"Ended by {number.name}.\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["plan.toml", "values.csv"]


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_what_ignores_a_signal_goes_on_ignoring_it() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with ended_by_signals():
            assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
            assert signal.getsignal(signal.SIGTERM) not in {signal.SIG_DFL, signal.SIG_IGN}
        assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    finally:
        signal.signal(signal.SIGHUP, before)


# Readers that go


@pytest.mark.skipif(os.name == "nt", reason="pipes of POSIX")
@pytest.mark.parametrize("options", [[], ["--json"]])
@pytest.mark.parametrize("promise", ["kept", "broken"])
def test_a_reader_that_goes_is_no_error(tmp_path: Path, options: list[str], promise: str) -> None:
    files = Files(tmp_path)
    code = "import sys\nfrom discreet.cli import main\nfrom discreet.privacy import verify\n"
    if promise == "broken":
        code += "from dataclasses import replace\nreal = verify.verify\n"
        code += "verify.verify = lambda mechanism: replace(real(mechanism), holds=False)\n"
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-c", code + "main(sys.argv[1:])", "verify", str(files.plan), *options]
    result = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True, timeout=100, check=False)
    os.close(writing)
    assert result.stderr == ""
    assert result.returncode in ({141} if promise == "kept" else {141, 1})


# Beside the endings: the module, and names of verbs


@pytest.mark.parametrize(("name", "meant"), [("estimat", "estimate"), ("obfscate", "obfuscate"), ("zzz", None)])
def test_an_unknown_verb_names_the_known_ones(name: str, meant: str | None) -> None:
    result = run(name)
    assert result.exit_code == 2
    assert all(verb in result.stderr for verb in main.commands)
    assert (f"did you mean '{meant}'?" in result.stderr) == (meant is not None)
    assert meant is not None or "did you mean" not in result.stderr


# Numbers that JSON does not have


def test_an_infinite_epsilon_is_a_text_in_json(files: Files) -> None:
    files.plan.write_text(
        files.plan.read_text().replace('sensitive = ["[/often]", "daily"]', "sensitive = []\nallow_unprotected = true")
    )
    assert told("verify", files.plan)["realised"] == "Infinity"
    (ranked,) = told("risk", "compare", files.plan, "--users", 100)["plans"]
    assert ranked["epsilon"] == "Infinity"
    files.reports.unlink(missing_ok=True)
    done("obfuscate", files.plan, files.values, "-o", files.reports)
    facts = told("estimate", files.plan, files.reports, "--level", 0.9, "-o", files.folder / "e.json")
    assert json.loads((files.folder / "e.json").read_text(), parse_constant=pytest.fail) == facts


def test_letters_that_an_encoding_has_not_are_escaped(files: Files) -> None:
    files.plan.write_text(
        files.plan.read_text(encoding="utf-8").replace("daily", "t\u00e4glich \u2603"), encoding="utf-8"
    )
    running = started(
        files.folder, "verify", files.plan, stdout=subprocess.PIPE, env={**os.environ, "PYTHONIOENCODING": "ascii"}
    )
    shown, said = running.communicate(timeout=60)
    assert (running.returncode, said) == (0, "")
    assert "t\\xe4glich \\u2603" in shown
