"""Manifests of folders of reports: files, numbers of reports, digests of bytes.

A manifest lies in its folder, where readers of reports ignore it as every name with a leading underscore; whoever reads
the folder compares it. It shows what files themselves cannot: that no file is missing, and that none was cut at the end
of a line.
"""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath
from typing import Literal

import msgspec

from discreet.errors import DataError, ParameterError
from discreet.files.paths import (
    REPORTS,
    File,
    RemoteFile,
    file_of,
    files_below,
    is_lines,
    is_tally,
    lines_of,
    opened_text,
    path_below,
)
from discreet.files.reading import digest, files_in, readable
from discreet.files.stored import StoredTable, look
from discreet.files.writing import replacing

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
        >>> from discreet.formats.reports import write_reports
        >>> from tempfile import TemporaryDirectory
        >>> mechanism = dc.RandomizedResponse(dc.Domain(["yes", "no"]), epsilon=1.0)
        >>> with TemporaryDirectory() as folder:
        ...     written = write_reports(f"{folder}/monday.parquet", mechanism, mechanism.obfuscate(["yes", "no"]))
        ...     write_manifest(folder).rows
        2
    """
    place = Path(folder)
    if not place.is_dir():
        raise ParameterError(f"a manifest belongs to a folder, got {place}.")
    with replacing(place / NAME, force=force) as beside:
        manifest = Manifest(tuple(_entry(place, path) for path in files_in([place], REPORTS, "reports")))
        text = msgspec.json.format(msgspec.json.encode(manifest), indent=1)
        beside.write_bytes(text + b"\n")
    return manifest


def _entry(folder: Path, path: File) -> ManifestEntry:
    with readable(path):
        rows = _lines_in(path) if is_lines(path) else _rows_in(path, look(path))
        return ManifestEntry(str(path_below(path, folder)), path.stat().st_size, rows, digest(path))


def _lines_in(path: File) -> int:
    with opened_text(path) as text:
        return sum(1 for _ in lines_of(text, _LONGEST_LINE))


def _rows_in(path: File, table: StoredTable) -> int:
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


def read_manifest(folder: str | Path | RemoteFile) -> Manifest:
    """Return the manifest of a folder, checked.

    Raises:
        DataError: if there is none, or it is not of this form.

    Example:
        >>> import discreet as dc
        >>> from discreet.formats.tallies import write_tally
        >>> from tempfile import TemporaryDirectory
        >>> tally = dc.RandomizedResponse(dc.Domain(["yes", "no"]), epsilon=1.0).empty_tally()
        >>> with TemporaryDirectory() as folder:
        ...     write_tally(f"{folder}/monday.tally.parquet", tally)
        ...     write_manifest(folder) == read_manifest(folder)
        True
    """
    place = file_of(folder)
    path: File = place / NAME
    with readable(path), path.open("rb") as file:
        try:
            return msgspec.json.decode(file.read(), type=Manifest)
        except (msgspec.DecodeError, RecursionError):
            raise DataError("this is no manifest of discreet; write it anew with discreet manifest.") from None


def promised_rows(folders: Iterable[File], files: Sequence[File]) -> dict[File, int]:
    """Return the number of reports that files must hold, after comparing those of folders with their manifests.

    Args:
        folders: those that were named; a manifest that lies in one, or in a folder below where files are, is compared.
        files: all that are read.

    Raises:
        DataError: if a file is missing, not in a manifest, or has other bytes; it says how many and names the first.
    """
    rows = dict[File, int]()
    for folder in folders:
        inside = {path: below for path in files if (below := path_below(path, folder)) is not None}
        for place in _places(folder, set(inside.values())) if inside else ():
            home: File = folder / place
            expected: dict[File, ManifestEntry] = {home / entry.path: entry for entry in read_manifest(home).files}
            present = [path for path, below in inside.items() if below.is_relative_to(place)]
            _refuse([path for path in expected if path not in present], "in the manifest are not there")
            _refuse([path for path in present if path not in expected], "are not in the manifest")
            _refuse(
                [path for path in present if not _is(path, expected[path])], "have other bytes than the manifest says"
            )
            rows |= {path: entry.rows for path, entry in expected.items()}
    return rows


def _places(folder: File, files: Iterable[PurePosixPath]) -> list[PurePosixPath]:
    """Return the places in a folder where manifests lie: the folder itself, and folders of files below."""
    if isinstance(folder, RemoteFile):
        return sorted(file.relative_to(folder).parent for file in files_below(folder) if file.name == NAME)
    return sorted(
        place for place in {parent for file in files for parent in file.parents} if (folder / place / NAME).is_file()
    )


def _refuse(wrong: Sequence[File], why: str) -> None:
    if wrong:
        raise DataError(
            f"{len(wrong)} files {why} ({wrong[0]} first); see what became of them, and if all is well, list the "
            "folder anew with discreet manifest --force."
        )


def _is(path: File, entry: ManifestEntry) -> bool:
    with readable(path):
        return path.stat().st_size == entry.bytes and digest(path) == entry.sha256
