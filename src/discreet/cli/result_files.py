"""Files that results are written to: all that are named, or none."""

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from discreet.cli.piping import sent
from discreet.io.endings import ending


def write_results(
    output: Path | None, writers: Mapping[Path | None, Callable[[Path], None]], write: Any, force: bool
) -> None:
    """Write files.

    Args:
        output: the file of the result, ``-`` for standard output; None for none.
        writers: functions that write the other files, by name; None for those that are not named.
        write: a function that writes the result.
        force: whether files that exist are replaced.

    Raises:
        OutputExistsError: if a file exists and is not to be replaced.
    """
    from discreet.io.atomic import replacing_all

    with ExitStack() as stack:
        target = None if output is None else stack.enter_context(sent(output, ".csv"))
        named = [(path, one) for path, one in {target: write, **writers}.items() if path is not None]
        besides = stack.enter_context(replacing_all([path for path, _ in named], force=force))
        for (_, one), beside in zip(named, besides, strict=True):
            one(beside)


def write_table(path: Path, table: Any, facts: Callable[[], Any]) -> None:
    """Write a table as CSV, Parquet or Arrow, or facts as JSON, by the file's name."""
    from pyarrow import csv

    from discreet.io.estimates import write_columns
    from discreet.io.json_text import json_text

    if ending(path) == ".csv":
        csv.write_csv(table, str(path))
    elif ending(path) == ".json":
        path.write_text(json_text(facts()) + "\n", encoding="utf-8")
    else:
        write_columns(path, table)
