"""The verb ``risk people``: the risk of being found in a table of people by their quasi-identifiers."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import click
import pyarrow as pa

from discreet.cli import options
from discreet.cli.commands import RuledOption, Verb
from discreet.cli.options import Count, OptionGroup, load_plan, option, progress_bar, refuse_idle
from discreet.cli.output import InputFile, Table, built_ins, show
from discreet.core.random import SecureRandom, SeededRandom
from discreet.core.result_table import rows_of
from discreet.errors import DataError, ParameterError
from discreet.mechanisms import Mechanism
from discreet.risk.generalisation import Step, noun_of, proposed, steps_of
from discreet.risk.people import PeopleRisk, WhatIf, people_risk, what_if
from discreet.risk.people_table import PeopleTable
from discreet.tables.columns import read_columns
from discreet.tables.scan import table_files
from discreet.tables.text import ANYTHING

_NOT_TRIED = "--what-if shows the risk of each way of writing the columns, and no more"


@dataclass(frozen=True, slots=True)
class _Columns(OptionGroup):
    """The columns of the table, how they are written, and the population."""

    quasi: str = option("--quasi", required=True, metavar="A,B", help="Columns that others may know of somebody.")
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
        metavar="A=STEP,...",
        help="Write columns more coarsely: age=5-year,zip=3,born=month,sex=*; with --what-if age=5-year/10-year too.",
    )
    suppress: int = option("--suppress", type=Count(1), default=1, help="Leave out people in classes of fewer. [1]")
    plan: str | None = option(
        "--plan", metavar="COLUMN=PLAN", help="This column is published as reports under a plan: their exact bound."
    )

    def reported(self) -> tuple[str, Mechanism] | None:
        """Return the column that is published as reports, and the mechanism; None if there is none."""
        if self.plan is None:
            return None
        column, _, path = self.plan.partition("=")
        if not path or column not in {*_listed(self.quasi), *_listed(self.sensitive)}:
            raise ParameterError(
                "--plan must name a column of --quasi or --sensitive and its plan, as in --plan zip=plan.toml, "
                f"got {self.plan!r}."
            )
        if [column] == _listed(self.quasi):
            raise ParameterError(f"--plan leaves no column in --quasi but {column!r}; name another one there.")
        return column, load_plan(Path(path)).mechanism()

    def read(self, table: str | Path, reported: str) -> PeopleTable:
        """Return the people of the table, and those of the population, without the column that is reported."""
        columns = _listed(self.quasi), _listed(self.sensitive)
        quasi, sensitive = ([name for name in names if name != reported] for names in columns)
        with progress_bar("reading the people"):
            people = _read(table, [*quasi, *sensitive])
            population = None if self.population is None else _read(self.population, quasi)
            return PeopleTable.of(people, quasi, sensitive, population)


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
@click.option("--limit", type=float, default=0.2, help="Risk, of which the share of people above it is said. [0.2]")
@options.fail_above
@click.option(
    "--seed",
    type=int,
    cls=RuledOption,
    needs={"fraction": "only estimates with --fraction draw numbers"},
    help="Seed of the draws with --fraction; they are fresh otherwise.",
)
@options.outside(needs={"plan": "{} goes with --plan; leave it out."})
def people(
    table: str | Path,
    columns: _Columns,
    *,
    what_if: bool,
    limit: float,
    fail_above: float | None,
    seed: int | None,
) -> None:
    """Assess the risk of being found in TABLE, a row per person, by what others may know of somebody.

    People who are alike in all columns of --quasi are a class; who is alone in a class is found for sure. A missing
    cell is a value of its own.
    """
    if what_if:
        refuse_idle(["fail_above"], _NOT_TRIED)
    reported = columns.reported()
    steps = steps_of(columns.generalise) if columns.generalise else {}
    keys = columns.read(table, reported[0] if reported else "")
    asked: dict[str, Any] = {"limit": limit, "suppress": columns.suppress, "reported": reported}
    if what_if:
        _show_ways(_ways(keys, steps, asked))
        return
    if several := [name for name, ladder in steps.items() if len(ladder) > 1]:
        raise ParameterError(f"several steps of {several[0]!r} go with --what-if; name one.")
    random = SecureRandom() if seed is None else SeededRandom(seed)
    written = keys.written({name: ladder[0] for name, ladder in steps.items()})
    assessed = people_risk(written, fraction=columns.fraction, random=random, **asked)
    headings, *cells = rows_of(assessed.stated())
    record = built_ins(assessed) | {"risk": assessed.risk, "in_words": assessed.sentences}
    show(record, [Table(assessed.heading, headings, cells), *assessed.sentences])
    _gate(assessed, fail_above)


def _gate(assessed: PeopleRisk, fail_above: float | None) -> None:
    """Exit with 1 if the risk in some class is above the limit."""
    if fail_above is not None and assessed.risk > fail_above:
        click.echo(
            f"The identification risk in the riskiest class is {assessed.risk:.4g}, above {fail_above:g}.", err=True
        )
        raise click.exceptions.Exit(1)


def _ways(keys: PeopleTable, steps: dict[str, tuple[Step, ...]], asked: dict[str, Any]) -> WhatIf:
    """Return all combinations of the named steps, or of those that are proposed if none is named."""
    named = {name: (Step(), *ladder) for name, ladder in steps.items()}
    ladders = named or {name: proposed(values) for name, values in zip(keys.names, keys.values, strict=True)}
    with progress_bar("trying every way of writing the columns"):
        return what_if(keys, ladders, **asked)


def _show_ways(ways: WhatIf) -> None:
    rows = ways.best.nonzero()[0]
    headings, *cells = rows_of([column.at(rows) for column in ways.stated()])
    record = {
        "names": ways.names,
        **{column.name: column.values for column in ways.stated()},
        "in_words": ways.sentence,
    }
    show(record, [Table(ways.heading, headings, cells, len(ways.names)), ways.sentence])
