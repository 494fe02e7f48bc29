"""The verb ``examples``: every example arrives whole, nothing is replaced unasked, and they are what the wheel has."""

from pathlib import Path

import pytest

from discreet.simulation import study
from papers.data.sources import missing_files
from running import done, refusal, told

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_examples_are_copied(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "examples"
    shown = done("examples", folder)
    there = {file.name: file.read_bytes() for file in EXAMPLES.iterdir() if file.is_file()}
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == there
    assert len(there) >= 8
    assert f"discreet init {folder / 'answers.csv'} --column age" in shown
    assert f"discreet simulate {folder / 'census.toml'}" in shown
    assert "replaced" in refusal("examples", folder) or "exists" in refusal("examples", folder)
    assert told("examples", folder, "--force") == {"files": [str(folder / name) for name in sorted(there)]}


def test_one_file_that_is_there_stops_all(tmp_path: Path) -> None:
    (tmp_path / "survey.toml").write_text("mine")
    assert "survey.toml" in refusal("examples", tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["survey.toml"]
    assert (tmp_path / "survey.toml").read_text() == "mine"


def test_an_installation_without_examples_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(study.resources, "files", lambda _: tmp_path)
    assert "not part of this installation" in refusal("examples", tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_the_census_needs_no_folder_of_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its counts are shipped; other data sets are looked for in the working folder unless a variable names one."""
    monkeypatch.delenv("DISCREET_DATA", raising=False)
    monkeypatch.chdir(tmp_path)
    assert missing_files("acs-and") == []
    assert missing_files("bssr1") != []
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / missing_files("bssr1")[0]).touch()
    assert missing_files("bssr1") == []
