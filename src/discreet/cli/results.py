"""The result of a verb, which its command writes and prints, or puts together with others, and its ending.

The ending of a result says what protects an answer and, on request, what publishing the result reveals.
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
VOUCHED = "That the files hold reports of this plan, and that none is simulated, is your statement: --trust-plan."
_NOT_COUNTED = "Columns beside the reports are not counted here: each cell of them that is published is a batch."


@dataclass(frozen=True, slots=True)
class Ending:
    """The end of a result.

    Attributes:
        protection: a function that returns the protection of one report, or of all answers of a person together, as a
            clause without a full stop.
        simulated: whether any report is simulated.
        trust_plan: whether the caller vouches that the reports are of the plan.
        statement: publications by their names in JSON; empty if no statement is asked for.
    """

    protection: Callable[[], str]
    simulated: bool
    trust_plan: bool = False
    statement: Mapping[str, Any] = field(default_factory=dict)

    def record(self) -> dict[str, Any]:
        """Return the statement ready for JSON."""
        return {name: publication.to_dict() for name, publication in self.statement.items()}

    def figures(self, n: int) -> dict[str, Any]:
        """Return the figures of one group of n reports, ready for JSON; nothing if no statement is asked for."""
        if "publication" not in self.statement:
            return {}
        from discreet.privacy.publication import two_digits

        # Two digits of n, so that many groups have the same figures.
        group = replace(self.statement["publication"], batches=(two_digits(n),))
        return {"publication": group.figures()}

    def lines(self) -> Iterator[str]:
        """Yield the line on what protects an answer, or the mark of simulated reports, and the statement."""
        if self.simulated:
            yield SIMULATED_REPORTS
        else:
            clause = self.protection()
            clause = f"As you state, {clause[0].lower()}{clause[1:]}" if self.trust_plan else clause
            yield f"{clause}." if self.statement else f"{clause}. {_ON_REQUEST}"
        lines = [list(filter(None, publication.lines())) for publication in self.statement.values()]
        # Each publication has a line on a person; the conditions are the same for all.
        yield from (person for person, *_ in lines)
        yield from lines[0][1:] if lines else ()


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


def check_folders(sources: Iterable[Any]) -> None:
    """Refuse a statement on a collector's folder, whose own document says how often a person answers.

    Raises:
        ParameterError: if a source is a folder of a collector.
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
    """Return a publication, and the same if the columns beside the reports, or the files, are published too.

    Args:
        publication: of the result alone.
        sources: of its reports.
        known: names of columns beside the reports that made its batches.
        left_out: rows that are no reports, in whichever cell they are.
        counted: whether this machine can read the columns beside the reports.
    """
    from discreet.mechanisms.personalized import common_of

    remarks = {VOUCHED: sources.trust_plan, _NOT_COUNTED: not counted}
    more = [remark for remark, holds in remarks.items() if holds]
    # Whoever read the reports was warned of what the files do not say.
    with warnings.catch_warnings(action="ignore"):
        scan = sources.scan(common_of(publication.mechanism), known)
    alone = replace(publication, remarks=(*publication.remarks, *more), named=publication.named or scan.all_batches)
    wider = _with_columns(alone, scan, known, left_out) if counted and not alone.simulated else None
    return {"publication": alone} | ({} if wider is None else {"publication_with_columns": wider})


def _with_columns(
    alone: "Publication", scan: "ScannedSources", known: Sequence[str], left_out: int
) -> "Publication | None":
    """Return a publication with the columns beside its reports; None if there are no others than those known."""
    beside = sorted({*scan.beside, *known})
    if not set(beside) - set(known):
        return None
    cells, names = scan.cells(beside, _MOST_CELLS), ", ".join(beside)
    shown = f"{alone.shown} and the columns beside the reports too ({names}), or the files"
    if not cells:
        why = f"the columns {names} have many values, and a cell of one report is a name"
        return replace(alone, beside=why, shown=shown)
    return replace(alone, batches=cells, shown=shown, not_trusted=alone.not_trusted + left_out)


def publication_of(
    maker: Any, result: Any, shown: str, *, weighed: Sequence[Sequence[Any]] = (), not_trusted: int = 0
) -> "Publication":
    """Return the publication of a result: its own batches, or the people of each side who weigh alike.

    Args:
        maker: what made the reports.
        result: a tally, estimates by group, a comparison or a regression.
        shown: the result, in words.
        weighed: for each side the columns of weights and of groups; none if people count alike.
        not_trusted: reports of each batch that hide nobody.
    """
    from discreet.privacy.publication import WEIGHTS, published

    publication = published(maker, result, not_trusted=not_trusted, shown=shown)
    sizes = tuple(n for columns in weighed for n in _weighed_cells(columns))
    # A cell of one report is a name, and no batch.
    return replace(publication, batches=sizes, beside=WEIGHTS if 1 in sizes else "") if weighed else publication


def _weighed_cells(columns: Sequence[Any]) -> list[int]:
    """Return the number of reports of each combination of weights and groups."""
    import pyarrow as pa

    table = pa.table(list(columns), names=[str(place) for place in range(len(columns))])
    cells: list[int] = table.group_by(table.column_names).aggregate([([], "count_all")])["count_all"].to_pylist()
    return cells
