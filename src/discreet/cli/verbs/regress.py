"""The command ``regress``."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from discreet.cli.commands import Subcommand
from discreet.cli.options import OptionGroup, ReadOptions, TableOptions, WriteOptions, allow_outside, load_plan, option
from discreet.cli.output import InputFile, OutputFile, file_notes, notes_of
from discreet.cli.results import CommandResult, Ending, publication_of
from discreet.core.batches import NamedBatch
from discreet.core.result_table import ResultTable
from discreet.errors import ParameterError
from discreet.estimators.regression import regress as regressed
from discreet.files.paths import ESTIMATES, any_of
from discreet.formats.plan import Plan
from discreet.formats.reports import read_public
from discreet.formats.sources import Sources
from discreet.kernels.parallel import memory_limit
from discreet.results.regression import Regression


@dataclass(frozen=True, slots=True)
class Model(OptionGroup):
    """Options for the regression: values, covariates and method."""

    on: tuple[str, ...] = option(
        "--on", multiple=True, required=True, metavar="COLUMN", help="Public column that explains. May be repeated."
    )
    value: tuple[str, ...] = option("--value", multiple=True, help="With --method linear: value to be explained. [all]")
    method: str = option(
        "--method",
        type=click.Choice(["linear", "logistic"]),
        default="linear",
        help="Explain shares by least squares, or log odds by maximum likelihood.",
    )
    reference: tuple[str, ...] = option(
        "--reference",
        multiple=True,
        metavar="COLUMN=LABEL",
        help="Reference label of a column of --on. May be repeated. [the first label]",
    )
    baseline: str | None = option(
        "--baseline", metavar="VALUE", help="With --method logistic: reference value of the odds. [the most frequent]"
    )
    weights: str | None = option("--weights", metavar="COLUMN", help="Public column with the weight of each person.")

    @property
    def names(self) -> list[str]:
        """The names of the public columns that the regression reads."""
        return list(dict.fromkeys([*self.on, *filter(None, [self.weights])]))

    def fit(self, mechanism: Any, sources: Sources) -> tuple[Regression, Sequence[NamedBatch]]:
        """Return the regression, and the batches of its reports."""
        if len(set(self.on)) < len(self.on):
            raise ParameterError("on.twice")
        against = dict(word.partition("=")[::2] for word in self.reference)
        if len(against) < len(self.reference) or not all(against.values()):
            raise ParameterError("reference.not-column-and-label")
        evidence, public = read_public(mechanism, sources, self.names, memory=memory_limit())
        regression = regressed(
            mechanism,
            evidence,
            public.select(list(self.on)),
            values=list(self.value) or None,
            method=self.method,  # type: ignore[arg-type]
            reference=against,
            baseline=self.baseline,
            weights=None if self.weights is None else public[self.weights],
        )
        return regression, evidence.batches


LEVEL = click.option("--level", type=float, default=0.95, help="Confidence level of the intervals.")


@dataclass(frozen=True, slots=True)
class CoefficientFile(WriteOptions):
    """Options for the output file, and for replacing it."""

    output: Path | None = option(
        "-o", "--output", type=OutputFile("estimates", ESTIMATES), help=f"File of results: {any_of(ESTIMATES)}."
    )


@click.command(cls=Subcommand, epilog="Example: discreet regress plan.toml reports.parquet --on age")
@click.argument("plan", type=InputFile())
@click.argument("reports", nargs=-1, required=True, type=InputFile(urls=True))
@Model.options
@LEVEL
@CoefficientFile.options
@TableOptions.only("statement")
@ReadOptions.only("trust_plan")
@allow_outside
def regress(
    plan: Path,
    reports: tuple[Path, ...],
    model: Model,
    out: CoefficientFile,
    *,
    level: float,
    statement: bool,
    trust_plan: bool,
) -> None:
    """Explain answers by public columns, by a regression.

    REPORTS are Parquet or Arrow files of reports with the public columns, or folders of such files. They must be made
    under PLAN.
    """
    result = regression(load_plan(plan), reports, model, level=level, statement=statement, trust_plan=trust_plan)
    result.finish(out.output, force=out.force)


def regression(
    document: Plan, reports: Sequence[Any], model: Model, *, level: float, statement: bool, trust_plan: bool
) -> CommandResult:
    """Return the regression of answers on public columns, from reports."""
    if document.is_personalized:
        raise ParameterError("regress.personalized")
    mechanism, sources = document.mechanism(), Sources(reports, trust_plan=trust_plan)
    with file_notes() as notes:
        fit, batches = model.fit(mechanism, sources)
    stated = {}
    if statement:
        publication = publication_of(mechanism, fit, "this regression")
        stated = {"publication": replace(publication, named=tuple(batches))}
    ending = Ending(lambda: mechanism.guarantee.brief, fit.simulated, trust_plan, stated)
    facts = {"method": fit.method, "n": fit.n, "baseline": fit.baseline, "level": level, "simulated": fit.simulated}
    table = fit.table(level)
    record = {**facts, "remark": fit.remark, "notes": notes, "coefficients": table.records()}
    against = "" if fit.baseline is None else f"; odds against {fit.baseline}"
    title = f"{fit.method} regression, {fit.n:,} reports{against}"
    parts: list[str | ResultTable] = [replace(table, title=title), *notes_of(notes)]
    return CommandResult(lambda: record, parts, table.to_arrow, ending=ending)
