"""Progress on the error stream."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def progress_bar(text: str) -> Iterator[Any]:
    """Show a progress bar on the error stream during the body; nothing if that is not a terminal.

    Yields:
        a function of (text, steps done, steps in all or None).
    """
    if sys.stderr is None or not sys.stderr.isatty():
        yield lambda *_: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn()
    shown = Console(file=sys.stderr)
    with Progress(*columns, console=shown, transient=True) as bar:
        task = bar.add_task(text, total=None)
        yield lambda what, done, total: bar.update(task, description=what, completed=done, total=total)
