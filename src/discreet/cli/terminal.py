"""Tables, numbers and progress for people; JSON for programs."""

import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from discreet.errors import RewrittenFileWarning
from discreet.io.json_text import json_text

_MOST_COLUMNS = 200


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Say so to the verb, instead of exiting with 1, which says that a promise is broken."""
        raise BrokenPipeError


def console() -> Console:
    """Return where tables go; wide enough for them when nobody looks."""
    # No markup, no emoji: labels and file names are shown as they are.
    plain: dict[str, Any] = {"highlight": False, "markup": False, "emoji": False}
    return _Console(**plain) if sys.stdout.isatty() else _Console(**plain, width=_MOST_COLUMNS)


def show_json(facts: Any) -> None:
    """Print facts as JSON."""
    click.echo(json_text(facts, indent=2))


def show_table(title: str, headings: Sequence[str], cells: Sequence[Sequence[str]], *, left: int = 1) -> None:
    """Print a table; the first ``left`` columns are text, the others numbers."""
    drawn = Table(title=title, title_justify="left", title_style="bold")
    for place, heading in enumerate(headings):
        drawn.add_column(heading, justify="left" if place < left else "right", overflow="fold")
    for row in cells:
        drawn.add_row(*row)
    console().print(drawn)


@contextmanager
def said_of_files() -> Iterator[list[str]]:
    """Collect what is said of files that another tool rewrote; other warnings go their way.

    Yields:
        a list, which holds the sentences afterwards.
    """
    said: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", RewrittenFileWarning)
        yield said
    for warning in caught:
        if issubclass(warning.category, RewrittenFileWarning):
            said.append(str(warning.message))
        else:
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)


@contextmanager
def progress_bar(text: str) -> Iterator[Any]:
    """Show a bar on the error stream while work is done; nothing if that is not a terminal.

    Yields:
        a function of (text, steps done, steps in all or None).
    """
    columns = TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn()
    shown = Console(file=sys.stderr)
    with Progress(*columns, console=shown, transient=True, disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task(text, total=None)
        yield lambda what, done, total: bar.update(task, description=what, completed=done, total=total)
