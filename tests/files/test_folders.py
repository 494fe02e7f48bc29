"""Everything in a folder is counted once or named in a refusal."""

import os
import shutil
from pathlib import Path

import pytest

from damage import MECHANISM, written
from discreet import SeededRandom, write_reports
from discreet.engines import tally
from discreet.errors import DataError, ParameterError
from packing import each
from refusals import refused


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "reports"
    (place / "more").mkdir(parents=True)
    written(place / "a.parquet")
    other = MECHANISM.obfuscate_codes(range(50), random=SeededRandom(99))
    write_reports(place / "more" / "b.parquet", MECHANISM, other)
    return place


def test_what_a_folder_holds_is_counted_once(folder: Path) -> None:
    assert tally(MECHANISM, folder).tally.n == 2150
    (folder / "_temporary").mkdir()
    (folder / "_SUCCESS").touch()
    shutil.copy(folder / "a.parquet", folder / ".a.parquet.crc")
    assert tally(MECHANISM, folder).tally.n == 2150


def linked_folder(folder: Path, outside: Path) -> None:
    outside.mkdir()
    written(outside / "c.parquet")
    (folder / "linked").symlink_to(outside)


def dead_link(folder: Path, outside: Path) -> None:
    (folder / "c.parquet").symlink_to(outside)


def circle(folder: Path, _: Path) -> None:
    (folder / "more" / "again").symlink_to(folder)


def pipe(folder: Path, _: Path) -> None:
    os.mkfifo(folder / "c.jsonl")


@pytest.mark.parametrize("add", [linked_folder, dead_link, circle, pipe], ids=lambda add: add.__name__)
def test_what_cannot_be_counted_is_refused(add, folder: Path, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    add(folder, tmp_path / "outside")
    told = refused(DataError, lambda: tally(MECHANISM, folder))
    assert "folder.not-a-file" in told


def test_a_link_to_a_file_is_that_file(folder: Path, tmp_path: Path) -> None:
    outside = tmp_path / "c.parquet"
    write_reports(outside, MECHANISM, MECHANISM.obfuscate_codes(range(7), random=SeededRandom(7)))
    (folder / "c.parquet").symlink_to(outside)
    assert tally(MECHANISM, folder).tally.n == 2157
    assert "file.twice" in refused(ParameterError, lambda: tally(MECHANISM, [folder, outside]))


def test_a_folder_that_cannot_be_searched_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even who may read everything meets it so."""
    scan = os.scandir

    def guarded(place: Path):  # type: ignore[no-untyped-def]
        if Path(place).name == "more":
            raise PermissionError(13, "Permission denied")
        return scan(place)

    monkeypatch.setattr(os, "scandir", guarded)
    told = refused(DataError, lambda: tally(MECHANISM, folder))
    assert f"{folder / 'more'} " in told
    assert "folder.not-searchable" in told


@each("log", ["_delta_log", "_spark_metadata", ".hoodie", "_manifest.json"])
def test_a_folder_with_a_list_of_its_files_is_refused(log: str, tmp_path: Path) -> None:
    """The list says which files hold; what is left out of it would be counted."""
    inside = tmp_path / "reports" / "more"
    inside.mkdir(parents=True)
    written(inside / "a.parquet")
    (inside / log).mkdir()
    for named in (inside, inside.parent, tmp_path):
        said = refused(DataError, lambda named=named: tally(MECHANISM, named))
        assert said.startswith(f"{inside} contains {log}, a list of files that discreet does not read.")
    assert tally(MECHANISM, inside / "a.parquet").tally.n == 2100


def test_one_file_named_twice(folder: Path) -> None:
    one = folder / "a.parquet"
    hard = folder / "more" / "hard.parquet"
    for named in ([one, one], [folder, one], [str(one), folder / "more" / ".." / "a.parquet"]):
        assert "file.twice" in refused(ParameterError, lambda named=named: tally(MECHANISM, named))  # type: ignore[misc]
    os.link(one, hard)
    assert f"{hard} is given twice: also as {one}" in refused(ParameterError, lambda: tally(MECHANISM, folder))
