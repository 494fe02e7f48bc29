"""The result of a command: it can be written to files, printed, or combined with other results.

The last lines of a result state how an answer is protected. On request they state what publishing the result reveals.
"""

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from discreet.cli.output import SIMULATED_REPORTS, save_picture, save_table, show, write_results, written
from discreet.core.result_table import ResultTable
from discreet.errors import ParameterError
from discreet.files.paths import COLLECTION

if TYPE_CHECKING:
    from discreet.formats.sources import ScannedSources, Sources
    from discreet.privacy.publication import Publication

_ON_REQUEST = "Use --statement to see what publishing this reveals."

_MOST_CELLS = 100_000
VOUCHED = "With --trust-plan, you state that the files hold reports of this plan, and that no report is simulated."
_NOT_COUNTED = "Columns beside the reports are not counted here. Each published combination of their labels is a batch."


@dataclass(frozen=True, slots=True)
class Ending:
    """The last lines of a printed result: the protection of an answer, and the privacy statement.

    Attributes:
        protection: a function that returns the protection of one report, or of all answers of a person. It is a clause
            without a full stop.
        simulated: whether a report is simulated.
        trust_plan: whether the user states that the reports belong to the plan.
        statement: publications by their names in JSON; empty if no statement is asked for.
    """

    protection: Callable[[], str]
    simulated: bool
    trust_plan: bool = False
    statement: Mapping[str, Any] = field(default_factory=dict)

    def record(self) -> dict[str, Any]:
        """Return the privacy statement as a dictionary for JSON."""
        return {name: publication.to_dict() for name, publication in self.statement.items()}

    def figures(self, n: int) -> dict[str, Any]:
        """Return the privacy statement for one group of n reports, for JSON; empty if no statement is asked for."""
        if "publication" not in self.statement:
            return {}
        from discreet.privacy.publication import two_digits

        # n is rounded to two digits, so that groups of similar size need one computation.
        group = replace(self.statement["publication"], batches=(two_digits(n),))
        return {"publication": group.figures()}

    def lines(self) -> Iterator[str]:
        """Yield a line on the protection of an answer, or on simulated reports, and the privacy statement."""
        if self.simulated:
            yield SIMULATED_REPORTS
        else:
            clause = self.protection()
            clause = f"As you state, {clause[0].lower()}{clause[1:]}" if self.trust_plan else clause
            yield f"{clause}." if self.statement else f"{clause}. {_ON_REQUEST}"
        lines = [list(filter(None, publication.lines())) for publication in self.statement.values()]
        # The first line of each publication is about a person; all publications have the same conditions.
        yield from (person for person, *_ in lines)
        yield from lines[0][1:] if lines else ()


@dataclass(frozen=True, slots=True)
class CommandResult:
    """The result of a command, before it is written or printed.

    Attributes:
        record: a function that returns the result as a dictionary for JSON.
        parts: sentences and tables for people; they are iterated over once.
        table: a function that returns the Arrow table for files; None if the result has no table.
        picture: a function that draws the picture; None if the result has no picture.
        ending: the protection of an answer, and the statement; None if the command prints neither.
        page: a function that returns the HTML page with the sentences of the ending; None if the result has no page.
        code: the exit code of the command.
    """

    record: Callable[[], dict[str, Any]]
    parts: Iterable[str | ResultTable] = ()
    table: Callable[[], Any] | None = None
    picture: Callable[[], Any] | None = None
    ending: Ending | None = None
    page: Callable[[Sequence[str]], str] | None = None
    code: int = 0

    def facts(self) -> dict[str, Any]:
        """Return the result with the privacy statement as a dictionary for JSON."""
        return self.record() | ({} if self.ending is None else self.ending.record())

    def write(
        self,
        output: Path | None,
        plot: Path | None = None,
        writers: Mapping[Path | None, Any] | None = None,
        *,
        force: bool,
    ) -> None:
        """Write the table, the picture and other named files, or none of them; see `write_results`."""
        table = None if self.table is None else partial(save_table, self.table, self.facts)
        pictures = {} if self.picture is None else {plot: save_picture(self.picture)}
        write_results(output, table, {**pictures, **(writers or {})}, force=force)

    def save_page(self, path: Path) -> None:
        """Write the page to a path."""
        lines = () if self.ending is None else (line.removesuffix(_ON_REQUEST) for line in self.ending.lines())
        path.write_text(self.page(list(lines)) if self.page else "", encoding="utf-8")

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


def check_folders(sources: Iterable[Any]) -> None:
    """Raise an error for a privacy statement on a collector's folder. A document in that folder has the statement.

    Raises:
        ParameterError: if a source is a collector's folder.
    """
    for source in sources:
        if isinstance(source, Path) and (source / COLLECTION).exists():
            raise ParameterError("statement.of-collection", source=source)


def statement_of(
    publication: "Publication",
    sources: "Sources",
    *,
    known: Sequence[str] = (),
    left_out: int = 0,
    counted: bool = True,
) -> dict[str, "Publication"]:
    """Return the privacy statement of a result, and a second one in which public columns are published too.

    Args:
        publication: the publication of the result without other columns.
        sources: the files of the reports.
        known: the names of columns beside the reports that already divide the batches.
        left_out: the number of invalid rows; their cells are unknown.
        counted: whether this machine can read the columns beside the reports.
    """
    from discreet.mechanisms.personalized import common_of

    remarks = {VOUCHED: sources.trust_plan, _NOT_COUNTED: not counted}
    more = [remark for remark, holds in remarks.items() if holds]
    # The warnings about the files were issued when the reports were read.
    with warnings.catch_warnings(action="ignore"):
        scan = sources.scan(common_of(publication.mechanism), known)
    alone = replace(publication, remarks=(*publication.remarks, *more), named=publication.named or scan.all_batches)
    wider = _with_columns(alone, scan, known, left_out) if counted and not alone.simulated else None
    return {"publication": alone} | ({} if wider is None else {"publication_with_columns": wider})


def _with_columns(
    alone: "Publication", scan: "ScannedSources", known: Sequence[str], left_out: int
) -> "Publication | None":
    """Return the privacy statement of a result with the columns beside its reports; None without such columns."""
    beside = sorted({*scan.beside, *known})
    if not set(beside) - set(known):
        return None
    cells, names = scan.cells(beside, _MOST_CELLS), ", ".join(beside)
    shown = f"{alone.shown} with the columns beside the reports ({names}) or the files"
    if not cells:
        why = f"combinations of labels in the columns {names} are so rare that they identify people"
        return replace(alone, dependence=why, shown=shown)
    return replace(alone, batches=cells, shown=shown, not_trusted=alone.not_trusted + left_out)


def publication_of(
    maker: Any, result: Any, shown: str, *, weighed: Sequence[Sequence[Any]] = (), not_trusted: int = 0
) -> "Publication":
    """Return the privacy statement of a result. Its batches are the result's, or people with equal weights.

    Args:
        maker: the mechanism that made the reports.
        result: a tally, estimates by group, a comparison or a regression.
        shown: a noun phrase for the result.
        weighed: for each side the columns of weights and of groups; empty without weights.
        not_trusted: the number of reports in each batch that are fake or known to the reader.
    """
    from discreet.privacy.publication import WEIGHTS, published

    publication = published(maker, result, not_trusted=not_trusted, shown=shown)
    sizes = tuple(n for columns in weighed for n in _weighed_cells(columns))
    # A cell with one report identifies a person, so it is no batch.
    return replace(publication, batches=sizes, dependence=WEIGHTS if 1 in sizes else "") if weighed else publication


def _weighed_cells(columns: Sequence[Any]) -> list[int]:
    """Return the number of reports for each combination of weights and groups."""
    import pyarrow as pa

    table = pa.table(list(columns), names=[str(place) for place in range(len(columns))])
    cells: list[int] = table.group_by(table.column_names).aggregate([([], "count_all")])["count_all"].to_pylist()
    return cells
