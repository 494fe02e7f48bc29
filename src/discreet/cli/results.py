"""The result of a verb, which its command writes and prints, or puts together with others."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import click

from discreet.cli.output import save_picture, save_table, show, write_results, written
from discreet.cli.statements import Ending
from discreet.core.result_table import ResultTable


@dataclass(frozen=True, slots=True)
class VerbResult:
    """The result of a verb, before anything of it is written or printed.

    Attributes:
        record: a function that returns its figures, for programs.
        parts: sentences and tables, for people; they are read once.
        table: a function that returns its table, for files; None if it has none.
        picture: a function that draws it; None if it has no picture.
        ending: what protects an answer, and the statement; None of a verb whose result has none.
        code: with which the verb ends.
    """

    record: Callable[[], dict[str, Any]]
    parts: Iterable[str | ResultTable] = ()
    table: Callable[[], Any] | None = None
    picture: Callable[[], Any] | None = None
    ending: Ending | None = None
    code: int = 0

    def facts(self) -> dict[str, Any]:
        """Return the figures with the statement, for programs."""
        return self.record() | ({} if self.ending is None else self.ending.record())

    def write(
        self,
        output: Path | None,
        plot: Path | None = None,
        writers: Mapping[Path | None, Any] | None = None,
        *,
        force: bool,
    ) -> None:
        """Write the table, the picture and other files that are named, or none of them; see `write_results`."""
        table = None if self.table is None else partial(save_table, self.table, self.facts)
        pictures = {} if self.picture is None else {plot: save_picture(self.picture)}
        write_results(output, table, {**pictures, **(writers or {})}, force=force)

    def finish(self, output: Path | None = None, plot: Path | None = None, *, force: bool) -> None:
        """Write the table and the picture, print the result, and exit; see `write` and `show`."""
        plot = None if self.picture is None else plot
        self.write(output, plot, force=force)
        self.show(output, plot)

    def show(self, *files: Path | None) -> None:
        """Print the result, name the files that were written, and exit with the code if it is not 0."""
        ending = () if self.ending is None else self.ending.lines()
        show(self.facts, chain(self.parts, written(*files), ending))
        if self.code:
            raise click.exceptions.Exit(self.code)
