"""Files by their names: paths and URLs, patterns of names, endings, and how a file is opened.

A file at a URL is read like one of this machine: by pyarrow (s3, gs, abfss, hdfs), or by fsspec. Credentials come from
the environment, as each service names them; if a URL holds some, no message repeats them. Readers ask `ending` for the
kind of a file, in lower case, and open texts, compressed or not, with `opened_text`.
"""

import gzip
import hashlib
import io
import os
import re
import shutil
import stat
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import lru_cache
from importlib import import_module
from pathlib import Path, PurePath, PurePosixPath
from typing import Any, BinaryIO, TextIO, TypeAlias, cast
from urllib.parse import unquote, urlsplit, urlunsplit

from discreet.errors import DataError, MissingExtraError, ParameterError
from discreet.extras import optional

# What stands for the device of a file that is on no disk of this machine.
_NOWHERE = -1
# Schemes that pyarrow opens itself; what it refuses of them is refused.
_ARROWS = frozenset({"s3", "gs", "gcs", "abfs", "abfss", "hdfs", "viewfs"})
_OF_ONE_PROCESS = frozenset({"memory"})
HIDDEN = (".", "_")
"""First letters of names of files without data: notes of other tools, and files that are being written."""
COLLECTION = "_collection.json"
"""The signed terms of a collection, in a collector's folder of its sealed reports."""
_PATTERN = re.compile(r"[*?[]")
# What stands for a missing cell in the name of a folder.
_NO_CELL = "__HIVE_DEFAULT_PARTITION__"
# Bytes of a file that is read at once: each request takes as long as some megabytes.
_SMALL = 1 << 23


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

    Services are asked as seldom as may be: of a file's size and time once, until they are to be compared (`forget`),
    and for the content of a small file once, if it is to be held.

    Attributes:
        url: the URL, with whatever it holds.
        known: size and time, and the content while it is held.
    """

    url: str
    known: dict[str, Any] = field(default_factory=dict)

    def __reduce__(self) -> tuple[Any, ...]:
        return RemoteFile, (self.url,)

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
    def path(self) -> PurePosixPath:
        """The path, without all else."""
        return PurePosixPath(urlsplit(self.url).path)

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.name

    @property
    def stem(self) -> str:
        """The name without its ending."""
        return self.path.stem

    @property
    def suffix(self) -> str:
        """The ending of the name."""
        return self.path.suffix

    def __truediv__(self, below: str | PurePosixPath) -> "RemoteFile":
        parts = urlsplit(self.url)
        return RemoteFile(urlunsplit(parts._replace(path=str(PurePosixPath(parts.path or "/") / below))))

    def relative_to(self, folder: "RemoteFile") -> PurePosixPath:
        """Return the path from a folder to this file; "." from the file itself."""
        return self.path.relative_to(folder.path)

    def resolve(self) -> "RemoteFile":
        """Return the file itself: URLs have no links."""
        return self

    def exists(self) -> bool:
        """Return True if the file exists; errors as for `opened`."""
        return bool(self._facts().type.name == "File")

    def is_dir(self) -> bool:
        """Return True if this is a folder; errors as for `opened`."""
        return bool(self._facts().type.name == "Directory")

    def stat(self) -> os.stat_result:
        """Return size and time of the last change; the URL stands for device and inode.

        Raises:
            FileNotFoundError: if there is no such file.
        """
        facts = self._facts()
        if facts.type.name != "File":
            raise FileNotFoundError
        modified, inode = facts.mtime_ns or 0, hash(self.url)
        plain = (stat.S_IFREG, inode, _NOWHERE, 1, 0, 0, facts.size, 0, modified // 10**9, 0)
        return os.stat_result(plain, {"st_mtime_ns": modified})

    def _facts(self) -> Any:
        if "facts" not in self.known:
            self.known["facts"] = _asked(self.url, lambda system, path: system.get_file_info(path))
        return self.known["facts"]

    def forget(self) -> None:
        """Ask the service anew for size and time, when they are needed next."""
        self.known.pop("facts", None)

    @property
    def held(self) -> int:
        """The number of bytes that are held in memory: all of the file, or none."""
        return len(self.known.get("content", b""))

    def hold(self) -> None:
        """Read a small file into memory, from where it is read until it is released; errors as for `opened`."""
        size = self.stat().st_size
        if "content" in self.known or size > _SMALL:
            return
        self.known["content"] = _asked(self.url, lambda system, path: system.open_input_file(path).read())
        if self.held != size:
            raise DataError("file.changed")

    def release(self) -> None:
        """Hold the content no longer."""
        self.known.pop("content", None)

    def opened(self) -> Any:
        """Return the file as Arrow's readers accept it.

        Raises:
            FileNotFoundError: if there is no such file.
            DataError: if it cannot be opened.
        """
        if "content" in self.known:
            from pyarrow import BufferReader

            return BufferReader(self.known["content"])
        return _asked(self.url, lambda system, path: system.open_input_file(path))

    def open(self, mode: str = "rb", buffering: int = -1) -> Any:
        """Return the file as Python reads it, in bytes."""
        del buffering
        if mode != "rb":
            raise DataError("file.not-writable", file=self)
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


@contextmanager
def held(file: File) -> Iterator[None]:
    """Hold the content of a small file at a URL during the body; a file of this machine is read as it is."""
    if not isinstance(file, RemoteFile):
        yield
        return
    file.hold()
    try:
        yield
    finally:
        file.release()


def file_of(source: "str | Path | RemoteFile") -> File:
    """Return the file that is named by a path or by a URL."""
    if isinstance(source, RemoteFile):
        return source
    if not isinstance(source, str) or not is_url(source):
        return Path(source)
    parts = urlsplit(source)
    return Path(parts.path) if parts.scheme == "file" else RemoteFile(source)


def output_of(target: str | Path, wanted: str) -> Path:
    """Return the place of an output.

    Raises:
        ParameterError: if it is at a URL; it says what would be written.
    """
    file = file_of(target)
    if isinstance(file, RemoteFile):
        raise ParameterError("output.remote", wanted=wanted, file=file)
    return file


def shared_files(files: Iterable[object]) -> None:
    """Refuse files that only one process can open.

    Raises:
        ParameterError: if there is one.
    """
    for file in files:
        if isinstance(file, RemoteFile) and urlsplit(file.url).scheme in _OF_ONE_PROCESS:
            raise ParameterError("file.not-shared", file=file)


def arrow_source(file: File) -> Any:
    """Return a file in the form that Arrow's readers of whole files accept."""
    return file.opened() if isinstance(file, RemoteFile) else os.fspath(file)


def listed(folder: RemoteFile, *, below: bool) -> Iterator[RemoteFile]:
    """Yield the files and folders in a folder at a URL, in no order; errors as for `RemoteFile.opened`.

    Args:
        folder: the folder.
        below: whether those in its folders are listed too.
    """
    from pyarrow import fs

    def asked(system: Any, path: str) -> tuple[str, list[Any]]:
        return path, system.get_file_info(fs.FileSelector(path, recursive=below))

    base, entries = _asked(folder.url, asked)
    parts = urlsplit(folder.url)
    for facts in entries:
        inside = facts.path.removeprefix(base.rstrip("/")).strip("/")
        yield RemoteFile(urlunsplit(parts._replace(path=f"{parts.path.rstrip('/')}/{inside}")), {"facts": facts})


def copy_to(file: Path, target: RemoteFile) -> None:
    """Copy a file of this machine to a URL, and read the copy again.

    Raises:
        DataError: if it cannot be written, or has other bytes than the file.
    """

    def sent(system: Any, path: str) -> None:
        with file.open("rb") as source, system.open_output_stream(path, compression=None) as out:
            shutil.copyfileobj(source, out, _SMALL)

    _asked(target.url, sent)
    with file.open("rb") as source, target.open() as copy:
        if hashlib.file_digest(source, "sha256").digest() != hashlib.file_digest(copy, "sha256").digest():
            raise DataError("copy.other-bytes", target=target)


def delete_at(target: RemoteFile) -> None:
    """Delete a file or a folder at a URL, if it is there; errors as for `RemoteFile.opened`."""
    target.forget()
    if target.is_dir():
        _asked(target.url, lambda system, path: system.delete_dir(path))
    elif target.exists():
        _asked(target.url, lambda system, path: system.delete_file(path))


def files_below(folder: RemoteFile) -> Iterator[RemoteFile]:
    """Yield the files below a folder at a URL, in no order; errors as for `RemoteFile.opened`."""
    return (file for file in listed(folder, below=True) if file.exists())


def matched(source: str | File) -> list[File]:
    """Return the files and folders that a path or a URL names, by name.

    In the names of its parts, * stands for any letters, ? for one (not in URLs), and [..] for one of those in it; none
    of them for a name that begins with a dot or an underscore. What exists under the very name is meant by it.

    Raises:
        DataError: if nothing matches, or a folder cannot be searched.
    """
    file = file_of(source)
    names = path_of(file).parts
    if not any(map(_PATTERN.search, names)):
        return [file]
    places: list[File] = [file if isinstance(file, RemoteFile) else Path()]
    for name in names:
        named = [place / name for place in places]
        if _PATTERN.search(name) is None or any(map(_is_there, named)):
            places = named
            continue
        there = list[File]()
        for place in [place for place in places if place.is_dir()]:
            there += listed(place, below=False) if isinstance(place, RemoteFile) else inside(place)
        hidden = name.startswith(HIDDEN)
        places = [entry for entry in there if fnmatchcase(entry.name, name) and hidden >= entry.name.startswith(HIDDEN)]
    paths = sorted(filter(_is_there, places))
    if not paths:
        raise DataError("file.no-match", file=file)
    return paths


def _is_there(place: File) -> bool:
    return place.exists() or place.is_dir()


def inside(folder: Path) -> list[Path]:
    """Return the files and folders in a folder of this machine; a folder that cannot be searched is a DataError."""
    try:
        with os.scandir(folder) as entries:
            return [folder / entry.name for entry in entries]
    except OSError as error:
        raise DataError("folder.not-searchable", folder=folder, kind=type(error).__name__) from None


def path_of(file: File) -> PurePath:
    """Return the path of a file; of a URL, without all else."""
    return file.path if isinstance(file, RemoteFile) else file


def folder_columns(file: File) -> dict[str, str | None]:
    """Return the columns that a file's folders are named by, as ``date=2026-01-31``, with their one cell.

    A name that several folders of one path have is no column: nothing says which of them is meant.

    Example:
        >>> folder_columns(Path("reports/date=2026-01-31/place=New%20York/part.parquet"))
        {'date': '2026-01-31', 'place': 'New York'}
    """
    pairs = [name.split("=", 1) for name in path_of(file).parts[:-1] if name.find("=") > 0]
    often = Counter(unquote(name) for name, _ in pairs)
    named = {unquote(name): None if cell == _NO_CELL else unquote(cell) for name, cell in pairs}
    return {name: cell for name, cell in named.items() if often[name] == 1}


def _asked(url: str, question: Callable[[Any, str], Any]) -> Any:
    """Return the answer of a file system, given it and a path in it."""
    parts, failed = urlsplit(url), ""
    try:
        system, base = file_system(urlunsplit(parts._replace(path="")))
        return question(system, f"{base}{parts.path}".rstrip("/"))
    except (FileNotFoundError, DataError, MissingExtraError):
        raise
    except Exception as error:
        # Not chained: libraries quote the URL, and what it holds.
        failed = type(error).__name__
    raise DataError("url.not-opened", url=shown(url), failed=failed)


@lru_cache(maxsize=64)
def file_system(root: str) -> tuple[Any, str]:
    """Return the file system of a URL without its path, and the path of its root there."""
    from pyarrow import ArrowInvalid, ArrowNotImplementedError, fs

    try:
        system, base = fs.FileSystem.from_uri(root)
        return system, base.rstrip("/")
    except (ArrowInvalid, ArrowNotImplementedError, NotImplementedError) as error:
        if isinstance(error, ArrowInvalid) and urlsplit(root).scheme in _ARROWS:
            raise
        optional("fsspec")
        system, base = import_module("fsspec.core").url_to_fs(root)
        return fs.PyFileSystem(fs.FSSpecHandler(system)), base.rstrip("/")


ARROW = (".arrow", ".feather", ".ipc")
COLUMNS = (".parquet", *ARROW)
LINES = (".jsonl", ".jsonl.gz")
REPORTS = (*COLUMNS, *LINES)
TABLES = (*COLUMNS, ".csv", ".csv.gz", *LINES)
TALLIES = tuple(f".tally{ending}" for ending in COLUMNS)
ESTIMATES = (".csv", *COLUMNS, ".json")
COLLECTIONS = (".json",)
PLANS = (".toml", ".json")
PICTURES = (".png", ".svg", ".html")
PAGES = (".html",)


def any_of(endings: Sequence[str]) -> str:
    """Return endings as text for a message."""
    *others, last = endings
    return f"{', '.join(others)} or {last}" if others else last


def checked(path: File, endings: Sequence[str], what: str) -> str:
    """Return the ending of a file, in lower case.

    Args:
        path: the file.
        endings: those that there are.
        what: what it holds, in the plural, for the message.

    Raises:
        ParameterError: if it ends otherwise; it names all endings.
    """
    for suffix in endings:
        if path.name.lower().endswith(suffix):
            return suffix
    raise ParameterError("file.unknown-ending", what=what, endings=any_of(endings), name=path.name)


def checked_output(path: File, endings: Sequence[str], what: str) -> str:
    """Return the ending of an output, as `checked`; names of tallies are for tallies only."""
    if is_tally(path) and endings != TALLIES:
        raise ParameterError("output.named-as-tally", what=what, name=path.name)
    return checked(path, endings, what)


def is_tally(path: File) -> bool:
    """Return true if a file's name ends as a tally's name does."""
    return path.name.lower().endswith(TALLIES)


GZIP = ".gz"
_PIECE, _LEVEL = 1 << 20, 6

BROKEN = (EOFError, zlib.error)
"""Exceptions from reading a damaged compressed file, besides OSError."""


def ending(path: File) -> str:
    """Return the ending of a file's name, in lower case: ``.parquet``, or ``.jsonl.gz`` for compressed text.

    Example:
        >>> ending(Path("a.b.PARQUET")), ending(Path("a.b.JSONL.gz")), ending(Path("a.gz"))
        ('.parquet', '.jsonl.gz', '.gz')
    """
    last = path.suffix.lower()
    return Path(path.stem).suffix.lower() + last if last == GZIP else last


def refuse_nothing(packed: File) -> None:
    """Raise EOFError if a compressed file has no bytes: `gzip` reads it as an empty text, whatever was lost."""
    if packed.stat().st_size == 0:
        raise EOFError("a compressed text has bytes, even if it is empty.")


@contextmanager
def opened(path: File) -> Iterator[BinaryIO]:
    """Open a file for reading, decompressed; never more of it in memory than requested."""
    if path.suffix.lower() != GZIP:
        with path.open("rb") as source:
            yield source
        return
    refuse_nothing(path)
    with path.open("rb") as source, gzip.open(source, "rb") as packed:
        yield cast(BinaryIO, packed)


def text_bytes(path: File) -> int:
    """Return the size of a text after decompression; a compressed one is read in pieces."""
    if path.suffix.lower() != GZIP:
        return path.stat().st_size
    with opened(path) as source:
        return sum(len(piece) for piece in iter(lambda: source.read(_PIECE), b""))


@contextmanager
def opened_text(path: File) -> Iterator[TextIO]:
    """Open a text in UTF-8 as `opened` does."""
    with opened(path) as source, io.TextIOWrapper(source, encoding="utf-8") as text:
        yield text


@contextmanager
def written_text(path: Path, *, compressed: bool) -> Iterator[TextIO]:
    """Open a new text in UTF-8 for writing, whatever its name."""
    if not compressed:
        with path.open("w", encoding="utf-8") as text:
            yield text
        return
    # No name and no time: the same text gives the same bytes.
    with (
        path.open("wb") as file,
        gzip.GzipFile("", "wb", _LEVEL, file, mtime=0) as packed,
        io.TextIOWrapper(cast(BinaryIO, packed), encoding="utf-8") as text,
    ):
        yield text


def lines_of(text: TextIO, longest: int) -> Iterator[str]:
    """Yield the lines of a text; an empty one for each line that is too long.

    Args:
        text: what holds them.
        longest: how many letters a line may have; of a longer one no more is ever in memory, so that a small
            compressed file cannot take all of it.
    """
    while line := text.readline(longest + 1):
        if len(line) <= longest:
            yield line
            continue
        while not line.endswith("\n") and (line := text.readline(longest)):
            pass
        yield ""
