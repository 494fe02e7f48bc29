"""File names: paths, URLs, patterns and endings; and functions that open a file.

A file at a URL is read like a local file: by pyarrow (s3, gs, abfss, hdfs), or by fsspec. Credentials come from the
environment variables of each service. Messages never repeat credentials in a URL. Readers call `ending` for the format
of a file, and open texts, compressed or not, with `opened_text`.
"""

import gzip
import io
import os
import re
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

# The device number of a file that is on no local disk.
_NOWHERE = -1
# Schemes that pyarrow opens itself. If pyarrow raises an error for them, fsspec is not tried.
_ARROWS = frozenset({"s3", "gs", "gcs", "abfs", "abfss", "hdfs", "viewfs"})
_OF_ONE_PROCESS = frozenset({"memory"})
HIDDEN = (".", "_")
"""First letters of the names of files without data: files of other tools, and files that are being written."""
COLLECTION = "_collection.json"
"""The signed terms of a collection, in a collector's folder of its sealed reports."""
_PATTERN = re.compile(r"[*?[]")
# The text for a missing cell in the name of a folder.
_NO_CELL = "__HIVE_DEFAULT_PARTITION__"
# A file with at most this many bytes is read by one request, which takes as long as reading some megabytes.
_SMALL = 1 << 23


def is_url(source: object) -> bool:
    """Return true if a source is a URL."""
    return isinstance(source, str) and "://" in source


def shown(url: str) -> str:
    """Return a URL for messages, without its credentials and options."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RemoteFile:
    """A file at a URL, with the methods of `pathlib.Path` that readers use.

    Requests to services are few: one for a file's size and time, until `forget`; and one for the content of a small
    file, if `hold` keeps it in memory.

    Attributes:
        url: the complete URL, which may have credentials.
        known: the size and time, and the content while it is in memory.
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
        """The path in the URL."""
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
        """Return the path of this file relative to a folder; "." if the file is the folder."""
        return self.path.relative_to(folder.path)

    def resolve(self) -> "RemoteFile":
        """Return the object itself, because URLs have no links."""
        return self

    def exists(self) -> bool:
        """Return true if the file exists; errors as for `opened`."""
        return bool(self._facts().type.name == "File")

    def is_dir(self) -> bool:
        """Return true if this is a folder; errors as for `opened`."""
        return bool(self._facts().type.name == "Directory")

    def stat(self) -> os.stat_result:
        """Return the size and the time of the last change. A hash of the URL serves as the inode.

        Raises:
            FileNotFoundError: if the file does not exist.
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
        """Delete the cached size and time of the last change, so that the service is asked again."""
        self.known.pop("facts", None)

    @property
    def held(self) -> int:
        """The number of bytes of the file that are in memory: the size of the file, or 0."""
        return len(self.known.get("content", b""))

    def hold(self) -> None:
        """Read a small file into memory. Until `release`, it is read from memory; errors as for `opened`."""
        size = self.stat().st_size
        if "content" in self.known or size > _SMALL:
            return
        self.known["content"] = _asked(self.url, lambda system, path: system.open_input_file(path).read())
        if self.held != size:
            raise DataError("file.changed")

    def release(self) -> None:
        """Remove the content from memory."""
        self.known.pop("content", None)

    def opened(self) -> Any:
        """Return the file as an object that Arrow's readers accept.

        Raises:
            FileNotFoundError: if the file does not exist.
            DataError: if the file cannot be opened.
        """
        if "content" in self.known:
            from pyarrow import BufferReader

            return BufferReader(self.known["content"])
        return _asked(self.url, lambda system, path: system.open_input_file(path))

    def open(self, mode: str = "rb", buffering: int = -1) -> Any:
        """Return the file as a binary Python file object."""
        del buffering
        if mode != "rb":
            raise DataError("file.not-writable", file=self)
        return io.BufferedReader(self.opened())


File: TypeAlias = Path | RemoteFile
"""A local file, or a file at a URL."""


@contextmanager
def held(file: File) -> Iterator[None]:
    """Keep the content of a small file at a URL in memory during the body. Local files are read as usual."""
    if not isinstance(file, RemoteFile):
        yield
        return
    file.hold()
    try:
        yield
    finally:
        file.release()


def file_of(source: "str | Path | RemoteFile") -> File:
    """Return the file that a path or a URL names."""
    if isinstance(source, RemoteFile):
        return source
    if not isinstance(source, str) or not is_url(source):
        return Path(source)
    parts = urlsplit(source)
    return Path(parts.path) if parts.scheme == "file" else RemoteFile(source)


def output_of(target: str | Path, wanted: str) -> Path:
    """Return the path of an output file, or raise an error for a URL.

    Raises:
        ParameterError: if the output is a URL.
    """
    file = file_of(target)
    if isinstance(file, RemoteFile):
        raise ParameterError("output.remote", wanted=wanted, file=file)
    return file


def shared_files(files: Iterable[object]) -> None:
    """Raise an error for files that only one process can open.

    Raises:
        ParameterError: if only one process can open a file.
    """
    for file in files:
        if isinstance(file, RemoteFile) and urlsplit(file.url).scheme in _OF_ONE_PROCESS:
            raise ParameterError("file.not-shared", file=file)


def arrow_source(file: File) -> Any:
    """Return a file as an object that Arrow's readers accept."""
    return file.opened() if isinstance(file, RemoteFile) else os.fspath(file)


def listed(folder: RemoteFile, *, below: bool) -> Iterator[RemoteFile]:
    """Yield the files and folders in a folder at a URL, also in its subfolders if `below` is true; any order.

    Args:
        folder: the folder.
        below: whether files in folders of the folder are listed too.
    """
    from pyarrow import fs

    def asked(system: Any, path: str) -> tuple[str, list[Any]]:
        return path, system.get_file_info(fs.FileSelector(path, recursive=below))

    base, entries = _asked(folder.url, asked)
    parts = urlsplit(folder.url)
    for facts in entries:
        inside = facts.path.removeprefix(base.rstrip("/")).strip("/")
        yield RemoteFile(urlunsplit(parts._replace(path=f"{parts.path.rstrip('/')}/{inside}")), {"facts": facts})


def files_below(folder: RemoteFile) -> Iterator[RemoteFile]:
    """Yield all files in a folder at a URL and below, in any order; errors as for `RemoteFile.opened`."""
    return (file for file in listed(folder, below=True) if file.exists())


def matched(source: str | File) -> list[File]:
    """Return the files and folders that match a path, a URL or a pattern of names, sorted by name.

    In a part of the path, * stands for any characters, ? for one character (not in URLs), and [..] for one of the
    characters in it. Patterns do not match names that start with a dot or an underscore. A file with exactly the given
    name comes first.

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
    """Return the files and folders in a local folder, or raise DataError if it cannot be searched."""
    try:
        with os.scandir(folder) as entries:
            return [folder / entry.name for entry in entries]
    except OSError as error:
        raise DataError("folder.not-searchable", folder=folder, kind=type(error).__name__) from None


def path_of(file: File) -> PurePath:
    """Return the path of a file; for a URL, the path in the URL."""
    return file.path if isinstance(file, RemoteFile) else file


def folder_columns(file: File) -> dict[str, str | None]:
    """Return the columns in the names of a file's folders, with their values: column date for ``date=2026-01-31``.

    A name that occurs in several folders of one path is no column, because its value would not be unique.

    Example:
        >>> folder_columns(Path("reports/date=2026-01-31/place=New%20York/part.parquet"))
        {'date': '2026-01-31', 'place': 'New York'}
    """
    pairs = [name.split("=", 1) for name in path_of(file).parts[:-1] if name.find("=") > 0]
    often = Counter(unquote(name) for name, _ in pairs)
    named = {unquote(name): None if cell == _NO_CELL else unquote(cell) for name, cell in pairs}
    return {name: cell for name, cell in named.items() if often[name] == 1}


def _asked(url: str, question: Callable[[Any, str], Any]) -> Any:
    """Call a function with the file system of a URL and the URL's path in it. Return the function's result."""
    parts, failed = urlsplit(url), ""
    try:
        system, base = file_system(urlunsplit(parts._replace(path="")))
        return question(system, f"{base}{parts.path}".rstrip("/"))
    except (FileNotFoundError, DataError, MissingExtraError):
        raise
    except Exception as error:
        # The error is not chained, because libraries quote the URL with its credentials.
        failed = type(error).__name__
    raise DataError("url.not-opened", url=shown(url), failed=failed)


@lru_cache(maxsize=64)
def file_system(root: str) -> tuple[Any, str]:
    """Return the file system of a URL that has no path, and the root folder in that file system."""
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
TEXTS = (".csv", ".tsv", ".txt")
TABLES = (*COLUMNS, *TEXTS, *(f"{ending}.gz" for ending in TEXTS), *LINES, ".ndjson", ".ndjson.gz")
TALLIES = tuple(f".tally{ending}" for ending in COLUMNS)
ESTIMATES = (".csv", *COLUMNS, ".json")
COLLECTIONS = (".json",)
PLANS = (".toml", ".json")
PICTURES = (".png", ".svg", ".html")
PAGES = (".html",)


def any_of(endings: Sequence[str]) -> str:
    """Return a list of endings as text for a message."""
    *others, last = endings
    return f"{', '.join(others)} or {last}" if others else last


def checked(path: File, endings: Sequence[str], what: str) -> str:
    """Return the ending of a file, in lower case.

    Args:
        path: the file.
        endings: the allowed endings.
        what: the content of such files, in the plural, for the message.

    Raises:
        ParameterError: if the file has another ending. The error names all allowed endings.
    """
    for suffix in endings:
        if path.name.lower().endswith(suffix):
            return suffix
    code = "file.spreadsheet" if path.suffix.lower() in (".xlsx", ".xls", ".ods") else "file.unknown-ending"
    raise ParameterError(code, what=what, endings=any_of(endings), name=path.name, stem=path.stem)


def checked_output(path: File, endings: Sequence[str], what: str) -> str:
    """Return the ending of an output file, as `checked`. Only tallies may have the ending of a tally."""
    if is_tally(path) and endings != TALLIES:
        raise ParameterError("output.named-as-tally", what=what, name=path.name)
    return checked(path, endings, what)


def is_tally(path: File) -> bool:
    """Return true if a file's name has the ending of a tally."""
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
    """Raise EOFError if a compressed file has no bytes. `gzip` would read it as an empty text."""
    if packed.stat().st_size == 0:
        raise EOFError("a compressed text has bytes, even if it is empty.")


@contextmanager
def opened(path: File) -> Iterator[BinaryIO]:
    """Open a file for reading, decompressed. Only the requested part of the file is in memory."""
    if path.suffix.lower() != GZIP:
        with path.open("rb") as source:
            yield source
        return
    refuse_nothing(path)
    with path.open("rb") as source, gzip.open(source, "rb") as packed:
        yield cast(BinaryIO, packed)


def text_bytes(path: File) -> int:
    """Return the size of a text after decompression. Compressed text is read in pieces."""
    if path.suffix.lower() != GZIP:
        return path.stat().st_size
    with opened(path) as source:
        return sum(len(piece) for piece in iter(lambda: source.read(_PIECE), b""))


@contextmanager
def opened_text(path: File) -> Iterator[TextIO]:
    """Open a file as UTF-8 text, decompressed like `opened`."""
    with opened(path) as source, io.TextIOWrapper(source, encoding="utf-8") as text:
        yield text


@contextmanager
def written_text(path: Path, *, compressed: bool) -> Iterator[TextIO]:
    """Open a new file for UTF-8 text. `compressed` decides about gzip, not the name of the file."""
    if not compressed:
        with path.open("w", encoding="utf-8") as text:
            yield text
        return
    # The compressed file has no name and no time, so that the same text gives the same bytes.
    with (
        path.open("wb") as file,
        gzip.GzipFile("", "wb", _LEVEL, file, mtime=0) as packed,
        io.TextIOWrapper(cast(BinaryIO, packed), encoding="utf-8") as text,
    ):
        yield text


def lines_of(text: TextIO, longest: int) -> Iterator[str]:
    """Yield the lines of a text. A line longer than `longest` is replaced by an empty line.

    Args:
        text: the text.
        longest: the largest number of characters of a line. Longer lines are never whole in memory, so that a small
            compressed file cannot fill it.
    """
    while line := text.readline(longest + 1):
        if len(line) <= longest:
            yield line
            continue
        while not line.endswith("\n") and (line := text.readline(longest)):
            pass
        yield ""
