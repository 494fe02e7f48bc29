"""What the project says of itself to installers: which Pythons, which locked requirements."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from programs import program

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
LOCKED = sorted((ROOT / "requirements").glob("*.txt")) + sorted((ROOT / "bench" / "peers").glob("*.txt"))


def test_no_python_is_too_new() -> None:
    assert PROJECT["requires-python"] == ">=3.11"
    versions = [name.rpartition(" ")[2] for name in PROJECT["classifiers"] if "Python :: 3." in name]
    assert versions == ["3.11", "3.12", "3.13", "3.14", "3.15"]


def test_make_takes_the_first_python_that_fits(tmp_path: Path) -> None:
    """A name that is too old is passed over for a newer one; where none is left, what is needed is said."""
    for name, line in {"python3": "exit 1", "python3.15": f'exec "{sys.executable}" "$@"'}.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{line}\n")
        (tmp_path / name).chmod(0o755)
    shown = _make("--eval=shown: ; @echo $(PYTHON)", "shown", PATH=f"{tmp_path}:/usr/bin:/bin")
    assert shown.stdout == "python3.15\n", shown
    missing = _make("--dry-run", "test", "PYTHON=", f"VENV={tmp_path / 'none'}")
    assert "discreet needs Python 3.11 or newer" in missing.stdout


def test_the_demo_says_what_it_installs_and_shows_how_far_it_is(tmp_path: Path) -> None:
    for target, said in {"demo": r"\d+ MB to download, \d+ MB on disk, a minute", "test": "takes some minutes"}.items():
        steps = _make("--dry-run", target, f"PYTHON={sys.executable}", f"VENV={tmp_path / 'none'}").stdout.splitlines()
        (installing,) = (place for place, step in enumerate(steps) if "--require-hashes" in step)
        assert re.search(said, steps[installing - 1])
        assert "--quiet" not in steps[installing]


def _make(*arguments: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS", "PYTHON"))}
    command = [program("make"), "--no-print-directory", *arguments]
    return subprocess.run(
        command, cwd=ROOT, env=clean | variables, capture_output=True, text=True, check=False, timeout=60
    )


@pytest.mark.parametrize("file", LOCKED, ids=lambda file: file.name)
def test_requirements_are_locked_by_hash_and_name_no_host(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    assert "://" not in text
    assert "--index" not in text
    assert "--find-links" not in text
    pinned = [block for block in re.split(r"\n(?=\S)", text) if not block.startswith(("#", "--"))]
    assert len(pinned) >= 2
    for block in pinned:
        assert re.match(r"[\w.\[\]-]+==\S+", block), block[:80]
        assert "--hash=sha256:" in block, block[:80]


def test_what_is_locked_covers_what_is_needed() -> None:
    """Every dependency of the project is pinned in the file that a demo installs, or in the developers'."""
    pinned = {
        file.stem: set(re.findall(r"^([\w.-]+)(?:\[[\w,-]+\])?==", file.read_text(), flags=re.MULTILINE))
        for file in LOCKED
    }
    for group, names in {"run": ("fast", "plot"), "dev": ("fast", "plot", "pandas", "polars", "spark", "dev")}.items():
        extras = [need for name in names for need in PROJECT["optional-dependencies"][name]]
        wanted = {re.match(r"[\w-]+", need)[0] for need in (*PROJECT["dependencies"], *extras)} - {"discreet"}
        assert not wanted - pinned[group]
