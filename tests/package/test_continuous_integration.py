"""CI installs what the tests ask for, and a program that is missing there is a failure, never a skip."""

import os
import re
import shutil
import subprocess
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
    assert asked >= {"java", "make"}
    installed = dict(re.findall(r"needs (\S+) (\S+)$", RUN.read_text(encoding="utf-8"), flags=re.MULTILINE))
    assert {name: installed.get(name) for name in asked} == {name: PACKAGES[name] for name in asked}
    skipped = [
        file.name
        for file in (ROOT / "tests").rglob("*.py")
        if re.search(r"skip[^\n]*which\(|which\([^\n]*skip", file.read_text(encoding="utf-8"))
    ]
    assert skipped == []


def _machine(folder: Path, *there: str, **programs: str) -> dict[str, str]:
    """Return the environment of a machine with these programs of the system and these scripts, and nothing else."""
    for name in there:
        (folder / name).symlink_to(shutil.which(name) or name)
    for name, text in programs.items():
        (folder / name.replace("_", "-")).write_text(f"#!{shutil.which('bash')}\n{text}\n")
        (folder / name.replace("_", "-")).chmod(0o755)
    return {"PATH": str(folder), "LOG": str(folder / "log")}


def _ran(environment: dict[str, str]) -> "subprocess.CompletedProcess[str]":
    bash = shutil.which("bash")
    assert bash is not None
    return subprocess.run([bash, str(RUN)], env=environment, capture_output=True, text=True, check=False, timeout=60)


MAKE = 'echo "make $*" >> "$LOG"'
MADE = ["make .venv/dev", "make lint", "make test"]
APT = """
echo "apt-get $*" >> "$LOG"
if [ "$1" = install ]; then
  printf "%s" "$MADE" > "${0%/*}/make"
  chmod 755 "${0%/*}/make"
fi
"""


@pytest.mark.skipif(os.name == "nt", reason="a script of Unix")
def test_a_bare_machine_gets_what_is_missing(tmp_path: Path) -> None:
    """Nothing is there but a Python that cannot make environments, and Debian's installer."""
    environment = _machine(tmp_path, "dirname", "env", "chmod", python3="exit 1", apt_get=APT, id="echo 0")
    environment["MADE"] = f"#!{shutil.which('bash')}\n{MAKE}\n"
    done = _ran(environment)
    assert done.returncode == 0, done.stderr
    update, install, *made = (tmp_path / "log").read_text().splitlines()
    assert update.startswith("apt-get update")
    assert install.endswith(" make default-jre-headless chromium nodejs build-essential python3-venv")
    assert (made[0], sorted(made[1:])) == ("make .venv/dev", ["make lint", "make test"])


@pytest.mark.skipif(os.name == "nt", reason="a script of Unix")
def test_a_machine_with_everything_installs_nothing_and_one_that_may_not_goes_on(tmp_path: Path) -> None:
    for folder in ("whole", "poor"):
        (tmp_path / folder).mkdir()
    refused = {"apt_get": 'echo "apt-get $*" >> "$LOG"; exit 100', "id": "echo 1000", "sudo": "exit 1"}
    whole = _machine(tmp_path / "whole", "dirname", make=MAKE, java="", chromium="", node="", python3="", **refused)
    assert _ran(whole).returncode == 0
    assert sorted(Path(whole["LOG"]).read_text().splitlines()) == MADE
    poor = _machine(tmp_path / "poor", "dirname", make=MAKE, python3="", **refused)
    done = _ran(poor)
    assert done.returncode == 0
    assert "default-jre-headless chromium nodejs" in done.stdout
    assert "could not be installed" in done.stdout
    assert sorted(Path(poor["LOG"]).read_text().splitlines()) == MADE


@pytest.mark.skipif(os.name == "nt", reason="a script of Unix")
@pytest.mark.parametrize("failing", [["lint"], ["test"], ["test", "lint"], [".venv/dev"]])
def test_whatever_fails_fails_the_run_and_the_other_is_heard_out(tmp_path: Path, failing: list[str]) -> None:
    make = f'{MAKE}\necho "said by $1"\ncase " {" ".join(failing)} " in *" $1 "*) exit 2 ;; esac'
    machine = _machine(tmp_path, "dirname", make=make, java="", chromium="", node="", python3="")
    done = _ran(machine)
    assert done.returncode != 0
    if failing == [".venv/dev"]:
        assert Path(machine["LOG"]).read_text() == "make .venv/dev\n"
        return
    assert sorted(Path(machine["LOG"]).read_text().splitlines()) == MADE
    assert "said by lint\n" in done.stdout
    assert "said by test\n" in done.stdout
    assert f"Failed: {' '.join(failing)}\n" in done.stderr
