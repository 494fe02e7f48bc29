"""The verb ``examples``: every example arrives whole, nothing is replaced unasked, and they are what the wheel has."""

from pathlib import Path

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
