"""Files at URLs, read like files of this machine: by pyarrow (s3, gs, abfss, hdfs), or by fsspec.

Credentials come from the environment, as each service names them. If a URL holds some, no message repeats them.
"""

import io
import stat
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from os import fspath, stat_result
from pathlib import Path, PurePosixPath
from typing import Any, TypeAlias
from urllib.parse import urlsplit, urlunsplit

from discreet.errors import DataError, MissingExtraError, ParameterError
from discreet.extras import optional

# What stands for the device of a file that is on no disk of this machine.
_NOWHERE = -1
# Schemes that pyarrow opens itself; what it refuses of them is refused.
_ARROWS = frozenset({"s3", "gs", "gcs", "abfs", "abfss", "hdfs", "viewfs"})
_OF_ONE_PROCESS = frozenset({"memory"})


def is_url(source: object) -> bool:
    """Return True for a URL."""
    return isinstance(source, str) and "://" in source


def shown(url: str) -> str:
    """Return a URL without credentials and options."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RemoteFile:
    """A file at a URL, with those methods of `pathlib.Path` that readers use.

    Attributes:
        url: the URL, with whatever it holds.
    """

    url: str

    def __str__(self) -> str:
        return shown(self.url)

    __repr__ = __str__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RemoteFile) and self.url == other.url

    def __hash__(self) -> int:
        return hash(self.url)

    def __lt__(self, other: "RemoteFile") -> bool:
        return self.url < other.url

    @property
    def _path(self) -> PurePosixPath:
        return PurePosixPath(urlsplit(self.url).path)

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self._path.name

    @property
    def stem(self) -> str:
        """The name without its ending."""
        return self._path.stem

    @property
    def suffix(self) -> str:
        """The ending of the name."""
        return self._path.suffix

    def relative_to(self, folder: "RemoteFile") -> PurePosixPath:
        """Return the path from a folder to this file; "." from the file itself."""
        return self._path.relative_to(folder._path)

    def resolve(self) -> "RemoteFile":
        """Return the file itself: URLs have no links."""
        return self

    def exists(self) -> bool:
        """Return True if there is such a file; errors as for `opened`."""
        return bool(self._facts().type.name == "File")

    def is_dir(self) -> bool:
        """Return True if this is a folder; errors as for `opened`."""
        return bool(self._facts().type.name == "Directory")

    def stat(self) -> stat_result:
        """Return size and time of the last change; the URL stands for device and inode.

        Raises:
            FileNotFoundError: if there is no such file.
        """
        facts = self._facts()
        if facts.type.name != "File":
            raise FileNotFoundError
        modified, inode = facts.mtime_ns or 0, hash(self.url)
        plain = (stat.S_IFREG, inode, _NOWHERE, 1, 0, 0, facts.size, 0, modified // 10**9, 0)
        return stat_result(plain, {"st_mtime_ns": modified})

    def _facts(self) -> Any:
        return _asked(self.url, lambda system, path: system.get_file_info(path))

    def opened(self) -> Any:
        """Return the file as Arrow's readers accept it.

        Raises:
            FileNotFoundError: if there is no such file.
            DataError: if it cannot be opened.
        """
        return _asked(self.url, lambda system, path: system.open_input_file(path))

    def open(self, mode: str = "rb", buffering: int = -1) -> Any:
        """Return the file as Python reads it, in bytes."""
        del buffering
        if mode != "rb":
            raise DataError(f"{self} is read in bytes, and cannot be written.")
        return io.BufferedReader(_Raw(self.opened()))


class _Raw(io.RawIOBase):
    """The face of Python's files for one of Arrow's."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        return int(self._file.seek(offset, whence))

    def tell(self) -> int:
        return int(self._file.tell())

    def readinto(self, target: Any) -> int:
        return int(self._file.readinto(target))

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()


File: TypeAlias = Path | RemoteFile
"""A file of this machine, or at a URL."""


def file_of(source: "str | Path | RemoteFile") -> File:
    """Return the file that is named by a path or by a URL."""
    if isinstance(source, RemoteFile):
        return source
    if not isinstance(source, str) or not is_url(source):
        return Path(source)
    parts = urlsplit(source)
    return Path(parts.path) if parts.scheme == "file" else RemoteFile(source)


def local_files(files: Iterable[File], wanted: str) -> list[Path]:
    """Return files of this machine.

    Raises:
        ParameterError: if one is at a URL; it says what they are.
    """
    found = []
    for file in files:
        if isinstance(file, RemoteFile):
            raise ParameterError(f"{wanted} must be files of this machine, got {file}; copy it here first.")
        found.append(file)
    return found


def output_of(target: str | Path, wanted: str) -> Path:
    """Return the place of an output.

    Raises:
        ParameterError: if it is at a URL; it says what would be written.
    """
    file = file_of(target)
    if isinstance(file, RemoteFile):
        raise ParameterError(f"{wanted} are written on this machine, got {file}; write them here and copy them there.")
    return file


def shared_files(files: Iterable[File]) -> None:
    """Refuse files that only one process can open.

    Raises:
        ParameterError: if there is one.
    """
    for file in files:
        if isinstance(file, RemoteFile) and urlsplit(file.url).scheme in _OF_ONE_PROCESS:
            raise ParameterError(
                f"{file} is seen by this process alone, and the machines of a cluster must all see it; put it on a "
                "service or a shared disk."
            )


def arrow_source(file: File) -> Any:
    """Return a file in the form that Arrow's readers of whole files accept."""
    return file.opened() if isinstance(file, RemoteFile) else fspath(file)


def files_below(folder: RemoteFile) -> Iterator[RemoteFile]:
    """Yield the files below a folder at a URL, in no order; errors as for `RemoteFile.opened`."""
    from pyarrow import fs

    def listed(system: Any, path: str) -> tuple[str, list[Any]]:
        return path, system.get_file_info(fs.FileSelector(path, recursive=True))

    base, found = _asked(folder.url, listed)
    parts = urlsplit(folder.url)
    for facts in found:
        if facts.type == fs.FileType.File:
            below = facts.path.removeprefix(base.rstrip("/")).lstrip("/")
            yield RemoteFile(urlunsplit(parts._replace(path=f"{parts.path.rstrip('/')}/{below}")))


def _asked(url: str, question: Callable[[Any, str], Any]) -> Any:
    """Return the answer of a file system, given it and a path in it."""
    parts, failed = urlsplit(url), ""
    try:
        system, base = _system(urlunsplit(parts._replace(path="")))
        return question(system, f"{base}{parts.path}".rstrip("/"))
    except (FileNotFoundError, DataError, MissingExtraError):
        raise
    except Exception as error:
        # Not chained: libraries quote the URL, and what it holds.
        failed = type(error).__name__
    raise DataError(
        f"{shown(url)} cannot be opened ({failed}); see that it exists, and that the environment has the credentials "
        "and the region that its service asks for."
    )


@lru_cache(maxsize=64)
def _system(root: str) -> tuple[Any, str]:
    """Return the file system of a URL without its path, and the path of its root there."""
    import pyarrow as pa
    from pyarrow import fs

    try:
        system, base = fs.FileSystem.from_uri(root)
        return system, base.rstrip("/")
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, NotImplementedError) as error:
        if isinstance(error, pa.ArrowInvalid) and urlsplit(root).scheme in _ARROWS:
            raise
        optional("fsspec")
        system, base = import_module("fsspec.core").url_to_fs(root)
        return fs.PyFileSystem(fs.FSSpecHandler(system)), base.rstrip("/")
