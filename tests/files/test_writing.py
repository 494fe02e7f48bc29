"""A file appears whole or not at all, and nothing is overwritten by accident."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet import Domain, Reports, SeededRandom, UnaryEncoding, read_reports, write_reports
from discreet.errors import MismatchError, OutputExistsError, ParameterError
from discreet.formats.tallies import write_tally
from packing import each
from refusals import refused

MECHANISM = UnaryEncoding(Domain(range(9), sensitive=[1, 2, 7]), 1.0)
REPORTS = MECHANISM.obfuscate_codes(np.arange(90) % 9, random=SeededRandom(2))
OTHERS = UnaryEncoding(Domain(range(9), sensitive=[1, 2, 7]), 2.0).obfuscate_codes([1], random=SeededRandom(2))
formats = each("suffix", ["parquet", "arrow", "jsonl", "jsonl.gz"])


class Interrupted(BaseException):
    """Like a pressed Ctrl-C."""


def broken_off(error: BaseException | None) -> Iterator[Reports]:
    yield REPORTS
    if error is None:
        yield OTHERS
    else:
        raise error


def holds(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@formats
def test_an_existing_file_needs_force(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"reports.{suffix}"
    path.write_bytes(b"old")
    message = refused(OutputExistsError, lambda: write_reports(path, MECHANISM, REPORTS))
    assert str(path) in message
    assert "force" in message
    assert holds(tmp_path) == {path.name: b"old"}
    assert write_reports(path, MECHANISM, REPORTS, force=True) == 90
    assert read_reports(path, MECHANISM).n == 90
    assert len(holds(tmp_path)) == 1


def test_nothing_is_read_before_an_existing_file_is_refused(tmp_path: Path) -> None:
    path, asked = tmp_path / "reports.parquet", []
    path.touch()
    batches = (asked.append(1) for _ in range(3))
    refused(OutputExistsError, lambda: write_reports(path, MECHANISM, batches))  # type: ignore[arg-type]
    assert not asked


@formats
@each("error", [RuntimeError("no"), Interrupted(), KeyboardInterrupt(), None])
@each("old", [None, b"old"])
def test_an_interrupted_write_leaves_nothing_behind(
    suffix: str, error: BaseException | None, old: bytes | None, tmp_path: Path
) -> None:
    """Also where a batch of another plan turns up on the way."""
    path = tmp_path / f"reports.{suffix}"
    if old is not None:
        path.write_bytes(old)
    before = holds(tmp_path)
    with pytest.raises(MismatchError if error is None else type(error)):
        write_reports(path, MECHANISM, broken_off(error), force=True)
    assert holds(tmp_path) == before


@pytest.mark.parametrize("name", ["replace", "chmod"])
@pytest.mark.parametrize("write", [write_reports, write_tally], ids=lambda write: write.__name__)
def test_a_failed_rename_leaves_nothing_behind(
    write: Callable[..., Any], name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "some.parquet"
    path.write_bytes(b"old")

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, name, full)
    given = (MECHANISM, REPORTS) if write is write_reports else (MECHANISM.tally(REPORTS),)
    with pytest.raises(OSError, match="No space"):
        write(path, *given, force=True)
    assert holds(tmp_path) == {path.name: b"old"}


def test_of_two_writers_of_one_name_the_second_fails(tmp_path: Path) -> None:
    path = tmp_path / "reports.parquet"

    def meanwhile() -> Iterator[Reports]:
        yield REPORTS
        path.write_bytes(b"theirs")

    message = refused(OutputExistsError, lambda: write_reports(path, MECHANISM, meanwhile()))
    assert "output.exists" in message
    assert holds(tmp_path) == {path.name: b"theirs"}
    path.unlink()
    assert write_reports(path, MECHANISM, meanwhile(), force=True) == 90
    assert read_reports(path, MECHANISM).n == 90


def test_where_there_are_no_links_the_name_is_taken_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_links(*_: Any) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", no_links)
    test_of_two_writers_of_one_name_the_second_fails(tmp_path)
    write_reports(tmp_path / "other.parquet", MECHANISM, REPORTS)
    assert read_reports(tmp_path / "other.parquet", MECHANISM).n == 90


@pytest.mark.parametrize("force", [False, True])
def test_what_has_a_name_is_on_the_disk(force: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is synced whole and before it gets its name, the folder after it."""
    path, synced = tmp_path / "reports.parquet", []
    sync = os.fsync

    def watched(place: int) -> None:
        facts = os.fstat(place)
        synced.append((facts.st_ino, facts.st_size, path.exists()))
        sync(place)

    monkeypatch.setattr(os, "fsync", watched)
    write_reports(path, MECHANISM, REPORTS, force=force)
    file, folder = path.stat(), tmp_path.stat()
    assert [(inode, there) for inode, _, there in synced] == [(file.st_ino, False), (folder.st_ino, True)]
    assert synced[0][1] == file.st_size


def test_files_are_readable_by_those_whom_the_mask_allows(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_reports(tmp_path / "reports.parquet", MECHANISM, REPORTS)
    finally:
        os.umask(before)
    assert (tmp_path / "reports.parquet").stat().st_mode & 0o777 == 0o640


@formats
def test_a_missing_folder(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / "nowhere" / f"reports.{suffix}"
    message = refused(ParameterError, lambda: write_reports(path, MECHANISM, REPORTS))
    assert "[output.no-folder]" in message
    assert str(path) in message
    assert not list(tmp_path.iterdir())
