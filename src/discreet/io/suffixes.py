"""Endings of file names by content: reports, tallies, tables."""

from collections.abc import Sequence

from discreet.errors import ParameterError
from discreet.io.remote import File

ARROW = (".arrow", ".feather", ".ipc")
COLUMNS = (".parquet", *ARROW)
LINES = (".jsonl", ".jsonl.gz")
REPORTS = (*COLUMNS, *LINES)
TABLES = (*COLUMNS, ".csv", ".jsonl")
TALLIES = tuple(f".tally{ending}" for ending in COLUMNS)
ESTIMATES = (".csv", *COLUMNS, ".json")
COLLECTIONS = (".json",)
PLANS = (".toml", ".json")
PICTURES = (".png", ".svg", ".html")


def spelled(endings: Sequence[str]) -> str:
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
    for one in endings:
        if path.name.lower().endswith(one):
            return one
    raise ParameterError(f"{what} are kept as {spelled(endings)}, got {path.name!r}.")


def checked_output(path: File, endings: Sequence[str], what: str) -> str:
    """Return the ending of an output, as `checked`; names of tallies are for tallies only."""
    if is_tally(path) and endings != TALLIES:
        raise ParameterError(f"{what} must not be named as tallies are, got {path.name!r}; leave out .tally.")
    return checked(path, endings, what)


def is_tally(path: File) -> bool:
    """Return true if a file's name is that of a tally."""
    return path.name.lower().endswith(TALLIES)
