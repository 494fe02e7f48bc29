"""One way to print a result: built-ins for programs (JSON), sentences and tables for people."""

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from discreet.io.json_text import json_text

# What draws is dear to import, and help needs none of it.
if TYPE_CHECKING:
    from rich.console import Console

_MOST_COLUMNS = 200
SIMULATED_REPORTS = "These reports are simulated with a known seed: they protect nobody."

# Beside each column of a table; and how narrow text may be folded.
_BORDERS, _FOLDED = 3, 12


@cache
def _console() -> "type[Console]":
    from rich.console import Console

    class PlainConsole(Console):
        def on_broken_pipe(self) -> None:
            """Raise the error for the verb to handle; exit code 1, which rich would give, means a broken promise."""
            raise BrokenPipeError

    return PlainConsole


def console() -> "Console":
    """Return the console of tables; of a width that suffices where neither a terminal nor COLUMNS gives one.

    That is the error stream where standard output takes a file (``-o -``).
    """
    # A program without them discards what it prints.
    out = (sys.stderr if _output_is_piped() else sys.stdout) or StringIO()
    # No markup, no emoji: labels and file names are shown as they are.
    plain: dict[str, Any] = {"file": out, "highlight": False, "markup": False, "emoji": False}
    looked_at = out.isatty() or os.environ.get("COLUMNS", "").isdecimal()
    return _console()(**plain) if looked_at else _console()(**plain, width=_MOST_COLUMNS)


def _output_is_piped() -> bool:
    ctx = click.get_current_context(silent=True)
    return ctx is not None and str(ctx.params.get("output")) == "-"


@dataclass(frozen=True, slots=True)
class Table:
    """A table for people.

    Attributes:
        title: above it.
        headings: of its columns.
        cells: a row each.
        left: how many columns, from the left, are text; the others are numbers.
    """

    title: str
    headings: Sequence[str]
    cells: Sequence[Sequence[str]]
    left: int = 1


def show(result: Any, parts: Iterable[str | Table], *, as_json: bool, whole: bool = False) -> None:
    """Print a result: its built-ins as JSON, or its sentences and tables in order.

    Args:
        result: anything that `built_ins` takes.
        parts: sentences and tables; read only if they are printed.
        as_json: whether JSON is printed.
        whole: whether sentences longer than the terminal are left to it, so that they can be copied.
    """
    if as_json:
        click.echo(json_text(built_ins(result), indent=2))
        return
    for part in parts:
        if isinstance(part, Table):
            show_table(part.title, part.headings, part.cells, left=part.left)
        elif whole:
            print_lines([part])
        else:
            _print_sentence(part)


def _print_sentence(sentence: str) -> None:
    """Print a sentence; rich, which folds long ones, is imported if it has to."""
    out, plain = sys.stderr if _output_is_piped() else sys.stdout, sentence.isascii() and len(sentence) <= _MOST_COLUMNS
    if not plain or out is None or out.isatty() or "COLUMNS" in os.environ:
        console().print(sentence)
        return
    click.echo(sentence, file=out)


def built_ins(result: Any) -> Any:
    """Return a result as mappings, lists, texts and numbers: of dataclasses, structs, arrays, paths and fractions."""
    from msgspec import to_builtins

    return to_builtins(result, enc_hook=_built_in, str_keys=True)


def _built_in(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Fraction):
        return f"{value.numerator}/{value.denominator}"
    # NumPy's arrays and numbers.
    return value.tolist() if hasattr(value, "tolist") else str(value)


def left_out_sentences(left_out: Mapping[str, int]) -> list[str]:
    """Return a sentence for each reason for which rows were left out."""
    return [f"Left out: {count:,} rows that {reason}." for reason, count in left_out.items()]


def written(*files: Path | None) -> list[str]:
    """Return a sentence that names the files that were written, if any were; standard output is none."""
    named = [str(file) for file in files if file is not None and str(file) != "-"]
    return [f"Written: {', '.join(named)}."] if named else []


def print_lines(lines: Sequence[str]) -> None:
    """Print sentences, a line each; what is longer than the terminal is left to it, so that it can be copied whole.

    They may quote a document that nobody has checked, so that what would steer the terminal is shown as a mark.
    """
    for line in lines:
        console().print("".join(one if one.isprintable() else "\ufffd" for one in line), soft_wrap=True)


def show_table(title: str, headings: Sequence[str], cells: Sequence[Sequence[str]], *, left: int = 1) -> None:
    """Print a table; the first ``left`` columns are text, the others numbers.

    Where the terminal is narrow, text is folded; a number never is. Numbers that find no room go into further tables;
    if not one does, the table is a list: a row's text, and below it a line for each number.
    """
    from rich.table import Table

    out, least = console(), _least_widths(headings, cells, left)
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
    """Return the least width of each column: of its widest number, or of text as it may be folded."""
    from rich.cells import cell_len

    widths = []
    for place, heading in enumerate(headings):
        words = max(cell_len(word) for word in heading.split() or [""])
        widest = max((cell_len(row[place]) for row in cells), default=0)
        widths.append(max(words, min(widest, _FOLDED) if place < left else widest))
    return widths


def _widths(
    least: Sequence[int], shown: Sequence[int], headings: Sequence[str], cells: Sequence[Sequence[str]], most: int
) -> list[int]:
    """Return the width of each column: in turn they take the room that is left, up to their widest."""
    from rich.cells import cell_len

    widths, room = [], most - _across(least, shown)
    for place in shown:
        widest = max(cell_len(headings[place]), *(cell_len(row[place]) for row in cells), 0)
        more = min(max(widest - least[place], 0), room)
        widths.append(least[place] + more)
        room -= more
    return widths


def _show_list(out: "Console", title: str, headings: Sequence[str], cells: Sequence[Sequence[str]], left: int) -> None:
    out.print(title, style="bold")
    for row in cells:
        # Longer than the terminal, a line is left to it: it can be copied whole.
        out.print(", ".join(cell for cell in row[:left] if cell) or "-", soft_wrap=True)
        for heading, cell in zip(headings[left:], row[left:], strict=True):
            out.print(f"  {heading}: {cell}", soft_wrap=True)
