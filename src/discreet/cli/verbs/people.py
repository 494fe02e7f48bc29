"""The verb ``risk people``: the risk of being found in a table of people by their quasi-identifiers."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import click
import pyarrow as pa

from discreet.cli import options
from discreet.cli.commands import RuledOption, Verb
from discreet.cli.options import Count, Writing, load_plan, option, progress_bar, refuse_idle
from discreet.cli.output import (
    InputFile,
    OutputFile,
    SavedTable,
    Table,
    built_ins,
    refuse_replacing,
    show,
    write_results,
    written,
)
from discreet.core.random import SecureRandom, SeededRandom
from discreet.core.result_table import rows_of
from discreet.errors import DataError, ParameterError
from discreet.files.paths import COLUMNS, PLANS, ending
from discreet.formats.plan import document_text, read_document
from discreet.mechanisms import Mechanism
from discreet.risk.generalisation import Generalisation, Step, Suppression, columns_of, noun_of, proposed
from discreet.risk.people import PeopleRisk, WhatIf, people_risk
from discreet.risk.people import what_if as every_way
from discreet.risk.people_table import PeopleTable, written_table
from discreet.tables.columns import read_columns
from discreet.tables.scan import table_files
from discreet.tables.text import ANYTHING

_NOT_TRIED = "--what-if shows the risk of each way of writing the columns, and no more"


@dataclass(frozen=True, slots=True)
class _Columns(Writing):
    """The columns of the table, how they are written, the population, and what is written."""

    quasi: str = option(
        "--quasi", default="", metavar="A,B", help="Columns that others may know of somebody.  [those of --generalise]"
    )
    sensitive: str = option(
        "--sensitive",
        default="",
        metavar="A,B",
        bars={"what_if": _NOT_TRIED},
        help="Columns of which others shall learn nothing: l-diversity, t-closeness.",
    )
    population: str | Path | None = option(
        "--population",
        type=InputFile(urls=True),
        bars={"fraction": "{} says more than --fraction; give one of the two."},
        help="Table of everybody among whom somebody is looked for.",
    )
    fraction: float | None = option(
        "--fraction",
        type=float,
        bars={"what_if": _NOT_TRIED},
        help="Instead: how much of the population is in TABLE, drawn at random; models estimate the rest.",
    )
    generalise: str = option(
        "--generalise",
        default="",
        metavar="A=STEP,...|FILE",
        help="Write columns more coarsely: age=5-year,zip=3,born=month,sex=*, or age=5-year/10-year, of which the one "
        "is chosen that loses least; or a file (TOML, JSON) that says it.",
    )
    suppress: int = option("--suppress", type=Count(1), default=1, help="Leave out people in classes of fewer. [1]")
    limit: float = option(
        "--limit", type=float, default=0.2, help="Risk that nobody is to exceed; who does is counted. [0.2]"
    )
    plan: str | None = option(
        "--plan", metavar="COLUMN=PLAN", help="This column is published as reports under a plan: their exact bound."
    )
    output: Path | None = option(
        "-o",
        "--output",
        type=OutputFile("generalisations and the tables that they make", (*PLANS, *COLUMNS, ".csv")),
        help="Write the table so (.csv, .parquet, .arrow), if nobody in it exceeds the limit; or the file that says "
        "how (.toml, .json), with --what-if as it is recommended.",
    )

    @property
    def writes_plan(self) -> bool:
        """True if the generalisation is written, not the table."""
        return self.output is not None and ending(self.output) in PLANS

    def asked(self) -> Generalisation:
        """Return the generalisation of the file, or of the options."""
        if ending(Path(self.generalise)) in PLANS:
            refuse_idle(["suppress", "limit"], f"{self.generalise} says it")
            refuse_replacing([] if self.output is None else [self.output], [Path(self.generalise)])
            return read_document(self.generalise, Generalisation)
        columns = columns_of(self.generalise) if self.generalise else {}
        return Generalisation(limit=self.limit, columns=columns, suppress=Suppression(self.suppress))

    def names(self, asked: Generalisation) -> tuple[list[str], list[str]]:
        """Return the quasi-identifiers and the sensitive columns.

        Raises:
            ParameterError: if there is no quasi-identifier.
        """
        quasi = _listed(self.quasi) or list(asked.columns)
        if not quasi:
            raise ParameterError("--quasi must name the columns that others may know of somebody, as in age,zip,sex.")
        return quasi, _listed(self.sensitive)

    def reported(self, quasi: Sequence[str], sensitive: Sequence[str]) -> tuple[str, Mechanism] | None:
        """Return the column that is published as reports, and the mechanism; None if there is none."""
        if self.plan is None:
            return None
        column, _, path = self.plan.partition("=")
        if not path or column not in {*quasi, *sensitive}:
            raise ParameterError(
                "--plan must name a column of --quasi or --sensitive and its plan, as in --plan zip=plan.toml, "
                f"got {self.plan!r}."
            )
        if [column] == quasi:
            raise ParameterError(f"--plan leaves no column in --quasi but {column!r}; name another one there.")
        return column, load_plan(Path(path)).mechanism()

    def read(self, table: str | Path, quasi: Sequence[str], sensitive: Sequence[str]) -> tuple[Any, Any]:
        """Return the columns of the table and of the population in Arrow."""
        with progress_bar("reading the people"):
            population = None if self.population is None else _read(self.population, quasi)
            return _read(table, [*quasi, *sensitive]), population

    def save(self, choice: Generalisation, table: Callable[[], Any]) -> list[Path]:
        """Write the generalisation, or the table that it makes; return the files that were written."""
        if self.output is None:
            return []
        text = document_text(built_ins(choice), self.output)
        write: Any = partial(Path.write_text, data=text, encoding="utf-8")
        write_results(self.output, write if self.writes_plan else SavedTable(table, dict), {}, force=self.force)
        return [self.output]


def _listed(names: str) -> list[str]:
    return [name.strip() for name in names.split(",") if name.strip()]


def _read(table: str | Path, names: Sequence[str]) -> Any:
    parts = {file: read_columns(file, lambda _: dict.fromkeys(names, ANYTHING), names) for file in table_files(table)}
    first, *others = parts
    for name, file in product(names, others):
        kinds = [parts[source][name].type for source in (file, first)]
        here, there = map(noun_of, kinds)
        if here != there and pa.null() not in kinds:
            raise DataError(
                f"{file}: the column {name!r} holds {here} here and {there} in {first}; write it alike in all files."
            )
    return pa.concat_tables(
        [part.select([*dict.fromkeys(names)]) for part in parts.values()], promote_options="permissive"
    )


@click.command(cls=Verb)
@click.argument("table", type=InputFile(urls=True))
@_Columns.options
@click.option("--what-if", is_flag=True, help="Instead: risk beside what is lost, for steps of each column.")
@options.fail_above
@click.option(
    "--seed",
    type=int,
    cls=RuledOption,
    needs={"fraction": "only estimates with --fraction draw numbers"},
    help="Seed of the draws with --fraction; they are fresh otherwise.",
)
@options.outside(needs={"plan": "{} goes with --plan; leave it out."})
def people(table: str | Path, columns: _Columns, *, what_if: bool, fail_above: float | None, seed: int | None) -> None:
    """Assess the risk of being found in TABLE, a row per person, by what others may know of somebody.

    People who are alike in all columns of --quasi are a class; who is alone in a class is found for sure. A missing
    cell is a value of its own.
    """
    if what_if:
        refuse_idle(["fail_above"], _NOT_TRIED)
    if columns.output is not None and not columns.writes_plan and (what_if or columns.plan):
        why = "--what-if writes no table" if what_if else "no table has the reports of --plan"
        raise ParameterError(f"{why}; let {columns.output} end in .toml, and then apply that.")
    asked = columns.asked()
    named = columns.names(asked)
    reported = columns.reported(*named)
    quasi, sensitive = ([name for name in part if not reported or name != reported[0]] for part in named)
    source, population = columns.read(table, quasi, sensitive)
    keys = PeopleTable.of(source, quasi, sensitive, population)
    if what_if:
        _show_ways(_ways(keys, asked, reported), columns)
        return
    choice = _choice(keys, asked, reported)
    steps, least = choice.chosen or {}, choice.suppress.below
    random = SecureRandom() if seed is None else SeededRandom(seed)
    assessed = people_risk(
        keys.written(steps),
        limit=choice.limit,
        suppress=least,
        fraction=columns.fraction,
        reported=reported,
        random=random,
    )
    refusals = list(_refusals(assessed, choice, columns, fail_above))
    release = partial(written_table, source, steps, sensitive, least=least, population=population)
    files = [] if refusals else columns.save(choice, release)
    headings, *cells = rows_of(assessed.stated())
    record = built_ins(assessed) | {"risk": assessed.risk, "in_words": assessed.sentences, "generalisation": choice}
    show(record | {"files": files}, [Table(assessed.heading, headings, cells), *assessed.sentences, *written(*files)])
    for sentence in refusals:
        click.echo(sentence, err=True)
    if refusals:
        raise click.exceptions.Exit(1)


def _refusals(
    assessed: PeopleRisk, choice: Generalisation, columns: _Columns, fail_above: float | None
) -> Iterator[str]:
    """Yield sentences on what is not as it was asked for."""
    worst = f"The identification risk in the riskiest class is {assessed.risk:.4g}, above"
    if fail_above is not None and assessed.risk > fail_above:
        yield f"{worst} {fail_above:g}."
    if columns.output is None or columns.writes_plan:
        return
    if assessed.risk > choice.limit:
        yield f"{worst} the limit of {choice.limit:g}: {columns.output} is not written; generalise, or leave more out."
    lost = assessed.suppressed / (assessed.suppressed + assessed.people)
    if lost > choice.suppress.share:
        yield f"{lost:.2%} of the people would be left out, above {choice.suppress.share:.2%}: nothing is written."


def _ways(
    keys: PeopleTable, asked: Generalisation, reported: tuple[str, Mechanism] | None, *, compared: bool = True
) -> WhatIf:
    """Return all combinations of the named steps, or of those that are proposed if none is named."""
    if not asked.columns:
        ladders = zip(keys.names, map(proposed, keys.values), strict=True)
        asked = asked.choosing({name: [step.text for step in ladder] for name, ladder in ladders})
    with progress_bar("trying every way of writing the columns"):
        return every_way(keys, asked, reported=reported, compared=compared)


def _choice(keys: PeopleTable, asked: Generalisation, reported: tuple[str, Mechanism] | None) -> Generalisation:
    """Return the generalisation with one step a column: that which is asked for, or loses least of several."""
    if (steps := asked.chosen) is not None:
        return asked.choosing({name: Step().text for name in keys.names} | {name: s.text for name, s in steps.items()})
    return _wanted(_ways(keys, asked, reported, compared=False))


def _wanted(ways: WhatIf) -> Generalisation:
    if ways.choice is None:
        raise DataError(f"{ways.sentences[-1][:-1]}; allow coarser steps, or leave more people out.")
    return ways.choice


def _show_ways(ways: WhatIf, columns: _Columns) -> None:
    files = [] if columns.output is None else columns.save(_wanted(ways), dict)
    headings, *cells = ways.cells
    record = {
        "names": ways.names,
        **{column.name: column.values for column in ways.stated()},
        "generalisation": ways.choice,
        "in_words": ways.sentences,
        "files": files,
    }
    show(record, [Table(ways.heading, headings, cells, len(ways.names)), *ways.sentences, *written(*files)])
