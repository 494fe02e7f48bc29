"""Standard input, held in memory because it may hold values that must not be stored."""

import sys
from dataclasses import dataclass
from typing import Any, TypeAlias

import pyarrow as pa

from discreet.errors import ParameterError
from discreet.io.remote import File, arrow_source


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Piped:
    """The content of standard input.

    Attributes:
        suffix: how a file of this kind would end.
        content: the bytes.
    """

    suffix: str
    content: bytes

    def __str__(self) -> str:
        return "standard input"

    __repr__ = __str__

    @property
    def name(self) -> str:
        """Name in messages."""
        return str(self)


Source: TypeAlias = File | Piped
"""A source of a table: a file, or standard input."""


def piped_table() -> Piped:
    """Read a table from standard input: JSON lines if it begins with a brace, CSV otherwise.

    Raises:
        ParameterError: if it is a table that only a file can hold.
    """
    content = sys.stdin.buffer.read()
    if content.startswith((b"PAR1", b"ARROW1")):
        raise ParameterError("standard input must be CSV or JSON lines, got Parquet or Arrow; name the file.")
    return Piped(".jsonl" if content[:1024].lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{") else ".csv", content)


def opened(source: Source) -> Any:
    """Return a source in the form that Arrow's readers of whole files accept."""
    return pa.BufferReader(source.content) if isinstance(source, Piped) else arrow_source(source)


def beginning(source: Source, size: int) -> bytes:
    """Return the first bytes of a source."""
    if isinstance(source, Piped):
        return source.content[:size]
    with source.open("rb") as file:
        return file.read(size)
