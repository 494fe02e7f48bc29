"""CI installs what the tests ask for, and a program that is missing there is a failure, never a skip."""

import re
from pathlib import Path

import pytest

from programs import PACKAGES, program

ROOT = Path(__file__).parents[2]
RUN = ROOT / ".ci" / "run"


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A path with nothing on it."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.delenv("CI", raising=False)
    return tmp_path


@pytest.mark.parametrize("name", PACKAGES)
def test_a_missing_program_fails_in_ci_and_is_skipped_elsewhere(
    bare: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(pytest.skip.Exception, match=f"{name} is missing"):
        program(name)
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match=f"apt-get install {PACKAGES[name]}"):
        program(name)
    (bare / name).write_text("#!/bin/sh\n")
    (bare / name).chmod(0o755)
    assert program(name) == str(bare / name)


def test_ci_installs_every_program_that_a_test_asks_for() -> None:
    asked = {
        name
        for file in (ROOT / "tests").rglob("*.py")
        for name in re.findall(r"\bprogram\(\"(\w+)\"\)", file.read_text(encoding="utf-8"))
    }
    assert asked >= {"java", "chromium"}
    installed = dict(re.findall(r"needs (\S+) (\S+)$", RUN.read_text(encoding="utf-8"), flags=re.MULTILINE))
    assert {name: installed.get(name) for name in asked} == {name: PACKAGES[name] for name in asked}
    skipped = [
        file.name
        for file in (ROOT / "tests").rglob("*.py")
        if re.search(r"skip[^\n]*which\(|which\([^\n]*skip", file.read_text(encoding="utf-8"))
    ]
    assert skipped == []
