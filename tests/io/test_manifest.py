"""A folder whose manifest is checked holds the files, the rows and the bytes that it held."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from damage import MECHANISM, flipped, written

from discreet.engines import gather, tally
from discreet.errors import DataError, OutputExistsError, ParameterError
from discreet.formats.manifest import NAME, read_manifest, write_manifest
from discreet.formats.tallies import write_tally
from refusals import refused


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "more").mkdir()
    for place, name in enumerate(("a.parquet", "b.arrow", "c.jsonl", "more/d.jsonl.gz", "e.parquet")):
        _, counts = written(tmp_path / name, seed=10 * place)
    write_tally(tmp_path / "e.tally.parquet", counts)
    (tmp_path / "e.parquet").unlink()
    return tmp_path


def test_a_manifest_lists_files_rows_and_digests(folder: Path) -> None:
    found = write_manifest(folder)
    assert read_manifest(folder) == found
    assert [entry.path for entry in found.files] == [
        "a.parquet",
        "b.arrow",
        "c.jsonl",
        "e.tally.parquet",
        "more/d.jsonl.gz",
    ]
    assert [entry.rows for entry in found.files] == [2100] * 5
    assert found.rows == 10_500
    assert found.files[2].bytes == (folder / "c.jsonl").stat().st_size
    files = [folder / entry.path for entry in found.files]
    assert tally(MECHANISM, folder).tally == tally(MECHANISM, files).tally
    refused(OutputExistsError, lambda: write_manifest(folder))
    assert write_manifest(folder, force=True) == found


def lose(folder: Path) -> None:
    (folder / "c.jsonl").unlink()


def add(folder: Path) -> None:
    shutil.copy(folder / "c.jsonl", folder / "f.jsonl")


def rename(folder: Path) -> None:
    (folder / "c.jsonl").rename(folder / "z.jsonl")


def cut(folder: Path) -> None:
    """End where a line ends."""
    lines = (folder / "c.jsonl").read_bytes().splitlines(keepends=True)
    (folder / "c.jsonl").write_bytes(b"".join(lines[:-1]))


def flip(folder: Path) -> None:
    path = folder / "c.jsonl"
    path.write_bytes(flipped(path.read_bytes(), 8 * path.stat().st_size - 30))


CHANGES: dict[Callable[[Path], None], str] = {
    lose: "1 files in the manifest are not there",
    add: "1 files are not in the manifest",
    rename: "1 files in the manifest are not there",
    cut: "1 files have other bytes than the manifest says",
    flip: "1 files have other bytes than the manifest says",
}


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_a_folder_that_changed_is_refused(change: Callable[[Path], None], folder: Path) -> None:
    write_manifest(folder)
    change(folder)
    for through in (tally, gather):
        told = refused(DataError, lambda through=through: through(MECHANISM, folder))  # type: ignore[misc]
        assert CHANGES[change] in told
        assert ".jsonl first" in told


@pytest.mark.parametrize("place", range(5))
def test_the_rows_are_compared(place: int, folder: Path) -> None:
    write_manifest(folder)
    facts = json.loads((folder / NAME).read_text())
    facts["files"][place]["rows"] += 1
    (folder / NAME).write_text(json.dumps(facts))
    assert "where its manifest says 2101" in refused(DataError, lambda: tally(MECHANISM, folder))


@pytest.mark.parametrize("text", ["", "{}", "[]", "[" * 100_000, '{"files": [], "kind": "other"}', "\xff"])
def test_what_is_no_manifest_is_refused(text: str, folder: Path) -> None:
    (folder / NAME).write_text(text, encoding="latin-1")
    assert "no manifest of discreet" in refused(DataError, lambda: tally(MECHANISM, folder))


def test_a_manifest_is_of_its_folder(folder: Path) -> None:
    """A folder below has its own; one file alone is not the folder; and a folder without one is read as it is."""
    file = folder / "a.parquet"
    assert "belongs to a folder" in refused(ParameterError, lambda: write_manifest(file))
    write_manifest(folder / "more")
    whole = tally(MECHANISM, folder).tally
    shutil.copy(folder / "c.jsonl", folder / "more" / "f.jsonl")
    (folder / "c.jsonl").unlink()
    message = refused(DataError, lambda: tally(MECHANISM, folder))
    assert message.startswith(f"1 files are not in the manifest ({folder / 'more' / 'f.jsonl'} first)")
    assert "discreet manifest --force" in message
    named = [path for path in folder.rglob("*") if path.is_file() and not path.name.startswith("_")]
    assert tally(MECHANISM, named).tally == whole
    write_manifest(folder / "more", force=True)
    write_manifest(folder)
    assert tally(MECHANISM, folder).tally == whole


def test_a_damaged_file_gets_no_manifest(folder: Path) -> None:
    whole = (folder / "a.parquet").read_bytes()
    (folder / "a.parquet").write_bytes(flipped(whole, 8 * 300))
    assert "is damaged" in refused(DataError, lambda: write_manifest(folder))
    assert not (folder / NAME).exists()
