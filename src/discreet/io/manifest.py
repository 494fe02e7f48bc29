"""Manifests of folders of reports: files, numbers of reports, digests of bytes.

A manifest lies in its folder, where readers of reports ignore it as every name with a leading underscore. It shows what
files themselves cannot: that no file is missing, and that none was cut at the end of a line.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from discreet.errors import DataError, ParameterError
from discreet.io.atomic import replacing
from discreet.io.endings import is_lines, lines_of, opened_text
from discreet.io.folders import digest
from discreet.io.partitions import report_files
from discreet.io.read_errors import readable
from discreet.io.remote import local_files
from discreet.io.stored import StoredTable, look
from discreet.io.suffixes import is_tally

NAME = "_manifest.json"
_LONGEST_LINE = 1 << 20


class ManifestEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The entry of one file in a manifest.

    Attributes:
        path: relative to the folder, with slashes.
        bytes: size of the file.
        rows: number of reports in the file, or in its tally.
        sha256: digest of its bytes, in hexadecimal.

    Example:
        >>> ManifestEntry(path="monday.parquet", bytes=2048, rows=100, sha256="ab12").rows
        100
    """

    path: str
    bytes: int
    rows: int
    sha256: str


class Manifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The manifest of a folder of reports.

    Attributes:
        files: all files of reports and tallies in the folder, in order.
        kind: what it is.
        format: of manifests.

    Example:
        >>> Manifest((ManifestEntry("monday.parquet", 2048, 100, "ab12"),)).rows
        100
    """

    files: tuple[ManifestEntry, ...]
    kind: Literal["discreet manifest"] = "discreet manifest"
    format: Literal[1] = 1

    @property
    def rows(self) -> int:
        """Number of reports in all files."""
        return sum(entry.rows for entry in self.files)


def write_manifest(folder: str | Path, *, force: bool = False) -> Manifest:
    """Write the manifest of a folder of reports into the folder.

    Args:
        folder: with files of reports and tallies, and folders of them.
        force: whether a manifest that is there is replaced.

    Raises:
        DataError: if the folder holds anything else, or a file is damaged; it names the file.
        ParameterError: if this is no folder.
        OutputExistsError: if there is a manifest and ``force`` is not set.

    Example:
        >>> import discreet as dc
        >>> from discreet.io.reports import write_reports
        >>> from tempfile import TemporaryDirectory
        >>> mechanism = dc.RandomizedResponse(dc.Domain(["yes", "no"]), epsilon=1.0)
        >>> with TemporaryDirectory() as folder:
        ...     written = write_reports(f"{folder}/monday.parquet", mechanism, mechanism.obfuscate(["yes", "no"]))
        ...     write_manifest(folder).rows
        2
    """
    place = _checked_folder(folder)
    with replacing(place / NAME, force=force) as beside:
        found = Manifest(tuple(_entry(place, path) for path in local_files(report_files([place]), NAME)))
        text = msgspec.json.format(msgspec.json.encode(found), indent=1)
        beside.write_bytes(text + b"\n")
    return found


def _checked_folder(source: str | Path) -> Path:
    place = Path(source)
    if not place.is_dir():
        raise ParameterError(f"a manifest belongs to a folder, got {place}.")
    return place


def _entry(folder: Path, path: Path) -> ManifestEntry:
    with readable(path):
        rows = _lines_in(path) if is_lines(path) else _rows_in(path, look(path))
        return ManifestEntry(path.relative_to(folder).as_posix(), path.stat().st_size, rows, digest(path))


def _lines_in(path: Path) -> int:
    with opened_text(path) as text:
        return sum(1 for _ in lines_of(text, _LONGEST_LINE))


def _rows_in(path: Path, table: StoredTable) -> int:
    for place in range(len(table.rows)):
        table.check(place)
    if not is_tally(path):
        return sum(table.rows)
    try:
        counted = json.loads(table.schema.metadata[b"discreet"])["n"]
    except (KeyError, TypeError, ValueError, RecursionError):
        counted = None
    if type(counted) is not int or counted < 0:
        raise DataError("this is not a tally of discreet.")
    return counted


def read_manifest(folder: str | Path) -> Manifest:
    """Return the manifest of a folder, checked.

    Raises:
        DataError: if there is none, or it is not of this form.
        ParameterError: if this is no folder.

    Example:
        >>> import discreet as dc
        >>> from discreet.io.tallies import write_tally
        >>> from tempfile import TemporaryDirectory
        >>> tally = dc.RandomizedResponse(dc.Domain(["yes", "no"]), epsilon=1.0).empty_tally()
        >>> with TemporaryDirectory() as folder:
        ...     write_tally(f"{folder}/monday.tally.parquet", tally)
        ...     write_manifest(folder) == read_manifest(folder)
        True
    """
    path = _checked_folder(folder) / NAME
    with readable(path):
        try:
            return msgspec.json.decode(path.read_bytes(), type=Manifest)
        except (msgspec.DecodeError, RecursionError):
            raise DataError("this is no manifest of discreet; write it anew with discreet manifest.") from None


def promised_rows(folders: Iterable[str | Path], files: Sequence[Path]) -> Mapping[Path, int]:
    """Return the number of reports that each file must hold, after comparing files with their manifests.

    Args:
        folders: each with a manifest.
        files: all that were found in them.

    Raises:
        DataError: if a file is missing, not in a manifest, or has other bytes; it says how many and names the first.
        ParameterError: if a source is no folder.
    """
    expected = {folder / entry.path: entry for folder in map(Path, folders) for entry in read_manifest(folder).files}
    _refuse([path for path in expected if path not in set(files)], "in the manifest are not there")
    _refuse([path for path in files if path not in expected], "are not in the manifest")
    _refuse([path for path in files if not _is(path, expected[path])], "have other bytes than the manifest says")
    return {path: entry.rows for path, entry in expected.items()}


def _refuse(wrong: Sequence[Path], why: str) -> None:
    if wrong:
        raise DataError(f"{len(wrong)} files {why} ({wrong[0]} first); see what became of them.")


def _is(path: Path, entry: ManifestEntry) -> bool:
    with readable(path):
        return path.stat().st_size == entry.bytes and digest(path) == entry.sha256
