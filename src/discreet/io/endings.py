"""Endings of file names, in any case, and texts that may be compressed.

The one place that says what a name stands for: readers ask `ending`, and open lines of text with `lines_of`.
"""

import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, TextIO, cast

from discreet.io.remote import File

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


def is_lines(path: File) -> bool:
    """Return true if a file is one of JSON lines, compressed or not."""
    return ending(path) in {".jsonl", ".jsonl" + GZIP}


@contextmanager
def opened(path: File) -> Iterator[BinaryIO]:
    """Open a file for reading, decompressed; never more of it in memory than requested."""
    if path.suffix.lower() != GZIP:
        with path.open("rb") as source:
            yield source
        return
    import gzip

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
    import gzip

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
