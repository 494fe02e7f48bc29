"""Reading of input files and of standard input, with one sentence for each error.

Each file is read once, and no file is ignored silently. Standard input stays in memory, because it may hold values that
must not be stored on disk.
"""

import gzip
import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from hashlib import file_digest
from io import RawIOBase, TextIOWrapper
from itertools import chain, islice
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TextIO, TypeVar

import pyarrow as pa

from discreet.errors import DataError, DiscreetError, MissingFileError, ParameterError
from discreet.files import paths
from discreet.files.paths import (
    BROKEN,
    GZIP,
    HIDDEN,
    File,
    RemoteFile,
    arrow_source,
    ending,
    files_below,
    folder_columns,
    inside,
    matched,
    refuse_nothing,
)
from discreet.kernels.parallel import thread_count


class PipedTable(RemoteFile):
    """The bytes of standard input, with the same methods as a downloaded file.

    Args:
        suffix: the ending of a file with this content.
        content: the bytes.
    """

    __slots__ = ()

    def __init__(self, suffix: str, content: bytes) -> None:
        super().__init__(f"piped:standard input{suffix}", {"content": content})

    def __str__(self) -> str:
        return "standard input"

    __repr__ = __str__

    def _facts(self) -> Any:
        return SimpleNamespace(type=SimpleNamespace(name="File"), size=self.held, mtime_ns=0)


def piped_table() -> PipedTable:
    """Read a table from standard input: JSON lines if it begins with a brace, CSV otherwise.

    Raises:
        ParameterError: if the input is a Parquet or Arrow file.
    """
    content = sys.stdin.buffer.read()
    if content.startswith((b"PAR1", b"ARROW1")):
        raise ParameterError("standard-input.not-text")
    return PipedTable(".jsonl" if content[:1024].lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{") else ".csv", content)


def opened(source: File) -> Any:
    """Return a file, decompressed, in a form that Arrow's readers accept."""
    return pa.PythonFile(_Unpacked(source), mode="r") if source.suffix.lower() == GZIP else arrow_source(source)


@contextmanager
def opened_text(source: File, encoding: str = "utf-8") -> Iterator[TextIO]:
    """Open a file as text, decompressed. Its line endings stay unchanged."""
    with paths.opened(source) as file, TextIOWrapper(file, encoding, errors="replace", newline="") as text:
        yield text


def pieces(source: File, size: int) -> Iterator[bytes]:
    """Yield the bytes of a file, decompressed, in pieces of at most `size` bytes."""
    with _Unpacked(source) if source.suffix.lower() == GZIP else source.open("rb") as file:
        while piece := file.read(size):
            yield piece


def beginning(source: File, size: int) -> bytes:
    """Return at most `size` first bytes of a file, decompressed."""
    return next(pieces(source, size), b"")[:size]


_MOST_TIMES, FEW_BYTES = 200, 1 << 24


class _Unpacked(RawIOBase):
    """A compressed file as a stream of decompressed text, which may be at most 200 times as long as the file."""

    def __init__(self, packed: File) -> None:
        refuse_nothing(packed)
        self._size, self._done, self._file = packed.stat().st_size, 0, packed.open("rb")
        self._text = gzip.GzipFile(fileobj=self._file)

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1, /) -> bytes:
        """Return at most `size` bytes of the text; fewer at its end.

        Raises:
            DataError: if the text is more than 200 times longer than the file.
        """
        piece = self._text.read(min(size, FEW_BYTES) if size >= 0 else FEW_BYTES)
        self._done += len(piece)
        if self._done > FEW_BYTES + _MOST_TIMES * self._size:
            raise DataError("file.expands-too-much", most=_MOST_TIMES)
        return piece

    def close(self) -> None:
        """Close the stream and the file."""
        self._file.close()
        super().close()


# Files and folders in which Delta Lake, Spark's streams and Hudi list the valid files of a folder.
_LOGS = ("_delta_log", "_spark_metadata", ".hoodie")
# Earlier versions wrote lists of the files of a folder.
_LISTS = (*_LOGS, "_manifest.json")


def files_in(sources: Iterable[str | File], suffixes: Sequence[str], wanted: str) -> list[File]:
    """Return the files among the sources, and the files in their folders, sorted by name in each folder.

    Paths may be patterns (`matched`). In a folder, names that start with a dot or an underscore are skipped, and
    folders inside it are searched too. Folders may have names of columns (`folder_columns`): all of them, or none.

    Args:
        sources: files and folders.
        suffixes: the allowed endings of files in folders.
        wanted: the content of the files, for messages.

    Raises:
        DataError: if nothing matches a pattern, or a folder has no such files; or if it has other files, a link to a
            folder or to nothing, a pipe, a folder that cannot be searched, a log that lists its valid files, or
            folders with the names of different columns.
        ParameterError: if a named file is not a regular file, or is named twice: by its name, its folder's name, or a
            link.
    """
    files: list[File] = []
    for source in chain.from_iterable(map(matched, sources)):
        if source.is_dir():
            files += _matching(source, _files_in(source), suffixes, wanted)
        elif source.exists() and not stat.S_ISREG(source.stat().st_mode):
            raise ParameterError("file.not-regular", path=source)
        else:
            files.append(source)
    _refuse_repeated(files)
    return files


def _refuse_repeated(paths: Sequence[File]) -> None:
    by_node: dict[tuple[int, int], File] = {}
    for path in paths:
        if not path.exists():
            continue
        facts = path.stat()
        first = by_node.setdefault((facts.st_dev, facts.st_ino), path)
        if first is not path:
            how = "by itself or with its folder" if first.resolve() == path.resolve() else f"also as {first}"
            raise ParameterError("file.twice", path=path, how=how)


def _files_in(folder: File) -> list[File]:
    if isinstance(folder, RemoteFile):
        return list[File](_remote_files(folder))
    for place in folder.resolve().parents:
        _refuse_logs(place, [name for name in _LOGS if os.path.lexists(place / name)])
    return list[File](sorted(_walk(folder)))


def _remote_files(folder: RemoteFile) -> list[RemoteFile]:
    """Return the files below a folder at a URL, sorted by name, except names that start with a dot or underscore."""
    files = sorted(files_below(folder))
    start = folder.url.partition("?")[0]
    below = {file: file.url.partition("?")[0].removeprefix(start).split("/") for file in files}
    for names in below.values():
        _refuse_logs(folder, names)
    return [file for file, names in below.items() if not any(name.startswith(HIDDEN) for name in names)]


def _matching(folder: File, files: Sequence[File], suffixes: Sequence[str], wanted: str) -> Sequence[File]:
    """Return the files, or raise an error if a folder is empty or has files with other endings."""
    if not files:
        raise DataError("folder.empty", folder=folder, wanted=wanted)
    others = [path for path in files if ending(path) not in suffixes]
    if others:
        kinds = ", ".join(suffixes)
        raise DataError(
            "folder.other-files", folder=folder, wanted=wanted, kinds=kinds, n=len(others), name=others[0].name
        )
    named = [folder_columns(path).keys() for path in files]
    other = next((place for place, names in enumerate(named) if names != named[0]), 0)
    if other:
        shown = " and ".join(", ".join(names) or "no column" for names in (named[0], named[other]))
        raise DataError("folder.different-columns", folder=folder, shown=shown, first=files[other])
    return files


def _refuse_logs(folder: File, names: Iterable[str]) -> None:
    for name in _LISTS:
        if name in names:
            raise DataError("folder.has-list", folder=folder, name=name)


def _walk(folder: Path) -> Iterator[Path]:
    there = inside(folder)
    _refuse_logs(folder, [path.name for path in there])
    for path in (path for path in there if not path.name.startswith(HIDDEN)):
        if path.is_dir() and not path.is_symlink():
            yield from _walk(path)
        elif _is_file(path):
            yield path
        else:
            raise DataError("folder.not-a-file", path=path)


def _is_file(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except OSError:
        return False


def digest(path: File) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


@contextmanager
def readable(path: object) -> Iterator[None]:
    """Turn errors of libraries about a file, standard input or a table into a DataError that names it."""
    try:
        yield
    except DiscreetError as error:
        # An error from a nested `readable` names the source already.
        named = str(path) in error.sentence()
        raise (error if named else error.at(path)) from None
    except FileNotFoundError:
        raise MissingFileError("file.not-found", path=path) from None
    except PermissionError:
        raise DataError("file.forbidden", path=path) from None
    except (pa.ArrowException, OSError, UnicodeDecodeError, *BROKEN) as error:
        raise DataError("file.unreadable", path=path, kind=type(error).__name__) from None


Progress = Callable[[int, int | None], None]
"""A function that is called repeatedly with the rows done and the number of all rows (None if not known)."""


Item = TypeVar("Item")


def prefetched(items: Iterator[Item], threads: int | None = None) -> Iterator[Item]:
    """Yield the same items in the same order. A thread makes the next item while the current one is in use.

    Args:
        items: the items.
        threads: as for `thread_count`. With one thread each item is made when it is requested.
    """
    if thread_count(threads) == 1:
        yield from items
        return
    with ThreadPoolExecutor(1) as pool:
        following = pool.submit(_next, items)
        while batch := following.result():
            following = pool.submit(_next, items)
            yield from batch


def _next(items: Iterator[Item]) -> tuple[Item, ...]:
    """Return a tuple with the next item; an empty tuple at the end."""
    return tuple(islice(items, 1))
