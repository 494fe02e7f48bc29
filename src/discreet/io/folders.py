"""Files named directly or by their folders: each one once, and none ignored silently."""

import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from hashlib import file_digest
from pathlib import Path

from discreet.errors import DataError, ParameterError
from discreet.io.endings import ending
from discreet.io.remote import File, RemoteFile, file_of, files_below

# What says which files of a folder hold: Delta Lake, Spark's streams and Hudi.
_LOGS = ("_delta_log", "_spark_metadata", ".hoodie")


def files_in(sources: Iterable[str | File], suffixes: Sequence[str], wanted: str) -> list[File]:
    """Return the files named, and those in the folders named, in order of their names.

    In a folder, names that begin with a dot or an underscore are passed over, and folders are searched too.

    Args:
        sources: files and folders.
        suffixes: how files in folders may end.
        wanted: what they hold, for messages.

    Raises:
        DataError: if a folder holds none of them, or anything else: other files, a link to a folder or to nothing, a
            pipe, a folder that cannot be searched, a log that says which of its files hold.
        ParameterError: if a file is named that is none, or is meant twice: by its name, by its folder's, or by a link
            to either.
    """
    found: list[File] = []
    for source in map(file_of, sources):
        if source.is_dir():
            found += _matching(source, _files_in(source), suffixes, wanted)
        elif source.exists() and not stat.S_ISREG(source.stat().st_mode):
            raise ParameterError(f"{source} is a pipe, a socket or a device; write what it gives to a file first.")
        else:
            found.append(source)
    _refuse_repeated(found)
    return found


def _refuse_repeated(paths: Sequence[File]) -> None:
    seen: dict[tuple[int, int], File] = {}
    for path in paths:
        if not path.exists():
            continue
        facts = path.stat()
        first = seen.setdefault((facts.st_dev, facts.st_ino), path)
        if first is not path:
            how = "by itself or with its folder" if first.resolve() == path.resolve() else f"also as {first}"
            raise ParameterError(f"{path} is named twice, {how}; name it once.")


def _files_in(folder: File) -> list[File]:
    if isinstance(folder, RemoteFile):
        return list[File](_remote_files(folder))
    for place in (folder, *folder.resolve().parents):
        _refuse_log(place)
    return list[File](sorted(_walk(folder)))


def _remote_files(folder: RemoteFile) -> list[RemoteFile]:
    """Return the files below a folder at a URL, by name, without those whose names begin with a dot or underscore."""
    files = sorted(files_below(folder))
    below = {file: file.url.removeprefix(folder.url.partition("?")[0]).split("/") for file in files}
    for names in below.values():
        _refuse_logs(folder, names)
    return [file for file, names in below.items() if not any(name.startswith((".", "_")) for name in names)]


def _matching(folder: File, files: Sequence[File], suffixes: Sequence[str], wanted: str) -> Sequence[File]:
    """Return files of some endings; refuse a folder that holds none, or others."""
    if not files:
        raise DataError(f"{folder} holds no {wanted}.")
    others = [path for path in files if ending(path) not in suffixes]
    if others:
        kinds = ", ".join(suffixes)
        raise DataError(
            f"{folder} must hold {wanted} ({kinds}) only, got {len(others)} other files ({others[0].name} first)."
        )
    return files


def _refuse_log(folder: Path) -> None:
    _refuse_logs(folder, [name for name in _LOGS if os.path.lexists(folder / name)])


def _refuse_logs(folder: File, names: Iterable[str]) -> None:
    for name in _LOGS:
        if name in names:
            raise DataError(
                f"{folder} has a log, {name}, that says which of its files hold, and discreet does not read it; write "
                "the reports that hold into a folder of their own."
            )


def _walk(folder: Path) -> Iterator[Path]:
    try:
        with os.scandir(folder) as entries:
            found = [entry for entry in entries if not entry.name.startswith((".", "_"))]
    except OSError as error:
        raise DataError(f"{folder} cannot be searched ({type(error).__name__}); see who may read it.") from None
    for entry in found:
        path = folder / entry.name
        if entry.is_dir(follow_symlinks=False):
            _refuse_log(path)
            yield from _walk(path)
        elif _is_file(path):
            yield path
        else:
            raise DataError(
                f"{path} is a link to a folder or to nothing, a pipe, a socket or a device; folders of data hold files "
                "and folders only."
            )


def _is_file(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except OSError:
        return False


def digest(path: File) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()
