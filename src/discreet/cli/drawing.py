"""Print tables and sentences on a terminal with the library rich, for any width of the terminal."""

import os
from collections.abc import Sequence
from io import StringIO
from typing import Any, TextIO

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table

from discreet.core.result_table import ResultTable

# Columns of the terminal: a table's border, the least width of folded text, and the longest word never broken.
_BORDERS, _FOLDED, _WHOLE = 3, 12, 20


class _PlainConsole(Console):
    def on_broken_pipe(self) -> None:
        """Raise BrokenPipeError for the command to handle. The exit code of rich, 1, would mean a broken promise."""
        raise BrokenPipeError


def console(out: TextIO | None, most: int) -> Console:
    """Return a console for a stream. It has `most` columns if the width of the stream is unknown."""
    # A program without streams discards its output. Markup and emoji are off: labels and file names are shown as is.
    out = out or StringIO()
    plain: dict[str, Any] = {"file": out, "highlight": False, "markup": False, "emoji": False}
    looked_at = out.isatty() or os.environ.get("COLUMNS", "").isdecimal()
    return _PlainConsole(**plain) if looked_at else _PlainConsole(**plain, width=most)


def print_line(out: Console, line: str) -> None:
    """Print a sentence on one line of any length, so that it can be copied from the terminal.

    It may quote an unchecked document, so characters that control the terminal are replaced by a mark.
    """
    out.print("".join(character if character.isprintable() else "\ufffd" for character in line), soft_wrap=True)


def show_table(out: Console, table: ResultTable) -> None:
    """Print a table without its notes.

    On a narrow terminal text is folded, but numbers are not. Columns of numbers that do not fit go into further tables.
    If a single column does not fit, the table becomes a list: the text of a row, and one line for each number.
    """
    (headings, *cells), title, left = table.cells(), table.title, table.text_columns
    least = _least_widths(headings, cells, left)
    text, columns = range(left), list(range(left, len(headings)))
    parts: list[list[int]] = [[]]
    for place in columns:
        if parts[-1] and _across(least, [*text, *parts[-1], place]) > out.width:
            parts.append([])
        parts[-1].append(place)
    if any(_across(least, [*text, *part]) > out.width for part in parts):
        _show_list(out, title, headings, cells, left)
        return
    for number, part in enumerate(parts):
        drawn = Table(title=title if not number else f"{title}, continued", title_justify="left", title_style="bold")
        shown = [*text, *part]
        for place, width in zip(shown, _widths(least, shown, headings, cells, out.width), strict=True):
            justify: Any = "left" if place < left else "right"
            drawn.add_column(headings[place], justify=justify, overflow="fold", width=width)
        for row in cells:
            drawn.add_row(*(row[place] for place in shown))
        out.print(drawn)


def _across(widths: Sequence[int], shown: Sequence[int]) -> int:
    return sum(widths[place] for place in shown) + _BORDERS * len(shown) + 1


def _least_widths(headings: Sequence[str], cells: Sequence[Sequence[str]], left: int) -> list[int]:
    """Return the least width of each column: the widest number, or the narrowest folded text."""
    widths = []
    for place, heading in enumerate(headings):
        words = max(cell_len(word) for word in heading.split() or [""])
        widest = max((cell_len(row[place]) for row in cells), default=0)
        if place < left:
            longest = max((cell_len(word) for row in cells for word in row[place].split()), default=0)
            widest = min(widest, max(_FOLDED, min(longest, _WHOLE)))
        widths.append(max(words, widest))
    return widths


def _widths(
    least: Sequence[int], shown: Sequence[int], headings: Sequence[str], cells: Sequence[Sequence[str]], most: int
) -> list[int]:
    """Return the width of each column. Columns from left to right take the free width, up to the widest cell."""
    widths, room = [], most - _across(least, shown)
    for place in shown:
        widest = max(cell_len(headings[place]), *(cell_len(row[place]) for row in cells), 0)
        more = min(max(widest - least[place], 0), room)
        widths.append(least[place] + more)
        room -= more
    return widths


def _show_list(out: Console, title: str, headings: Sequence[str], cells: Sequence[Sequence[str]], left: int) -> None:
    out.print(title, style="bold")
    for row in cells:
        # The terminal folds a long line, so that the line can be copied whole.
        out.print(", ".join(cell for cell in row[:left] if cell) or "-", soft_wrap=True)
        for heading, cell in zip(headings[left:], row[left:], strict=True):
            out.print(f"  {heading}: {cell}", soft_wrap=True)
