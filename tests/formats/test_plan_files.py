"""Files that a plan names: beside it or below, unless its reader allows others."""

from pathlib import Path

import pytest

from discreet import Plan
from discreet.errors import ParameterError
from refusals import refused


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "plans" / "below").mkdir(parents=True)
    for place in (tmp_path, tmp_path / "plans", tmp_path / "plans" / "below"):
        (place / "labels.csv").write_text("label\na\nb\n")
    return tmp_path / "plans"


def plan(folder: Path, path: str) -> Path:
    file = folder / "plan.toml"
    file.write_text(f'epsilon = 1.0\n[domain]\nfile = {{ path = "{path}" }}\n[mechanism]\nname = "rr"\n')
    return file


@pytest.mark.parametrize("path", ["labels.csv", "below/labels.csv", "./below/../labels.csv", "link.csv"])
def test_files_beside_or_below(path: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "link.csv").symlink_to(folder / "below" / "labels.csv")
    assert Plan.load(plan(folder, path)).domain.size == 2
    monkeypatch.chdir(folder)
    assert Plan.load("plan.toml").domain.size == 2
    assert Plan.load(plan(folder, str(folder / "labels.csv"))).domain.size == 2


@pytest.mark.parametrize(
    "path", ["../labels.csv", "below/../../labels.csv", "link.csv", "away/labels.csv", "away/../labels.csv", "ABSOLUTE"]
)
def test_files_elsewhere(path: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "link.csv").symlink_to(folder.parent / "labels.csv")
    (folder.parent / "other" / "deep").mkdir(parents=True)
    (folder.parent / "other" / "labels.csv").write_text("label\na\nb\n")
    (folder.parent / "other" / "deep" / "labels.csv").write_text("label\na\nb\n")
    # What follows a link to a folder leads up from where the link leads.
    (folder / "away").symlink_to(folder.parent / "other" / "deep")
    path = str(folder.parent / "labels.csv") if path == "ABSOLUTE" else path
    message = refused(ParameterError, lambda: Plan.load(plan(folder, path)).mechanism())
    assert "path.outside" in message
    assert "`allow_outside=True`" in message
    assert Plan.load(plan(folder, path), allow_outside=True).mechanism().domain.size == 2
    monkeypatch.chdir(folder)
    refused(ParameterError, Plan.load("plan.toml").mechanism)


def test_what_is_no_file(folder: Path) -> None:
    (folder / "loop.csv").symlink_to(folder / "loop.csv")
    (folder / "dir.csv").mkdir()
    for path in ("loop.csv", "dir.csv", "a\\u0000.csv"):
        refused(ParameterError, lambda path=path: Plan.load(plan(folder, path)).mechanism())
