"""The verb ``regress``."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from discreet.cli import options
from discreet.cli.group import Verb
from discreet.cli.options import allow_outside, load_plan
from discreet.cli.output import SIMULATED_REPORTS, InputFile, OutputFile, Table, file_notes, show
from discreet.cli.publications import Statement
from discreet.core.result_table import rows_of
from discreet.errors import ParameterError
from discreet.files.paths import ESTIMATES, spelled

if TYPE_CHECKING:
    from discreet.results.regression import Regression


@click.command(cls=Verb)
@click.argument("plan", type=InputFile())
@click.argument("reports", nargs=-1, required=True, type=InputFile(urls=True))
@click.option(
    "--on", multiple=True, required=True, metavar="COLUMN", help="Covariate: a public column beside the reports."
)
@click.option("--value", multiple=True, help="Value to be explained, for --method linear. [all]")
@click.option(
    "--method",
    type=click.Choice(["linear", "logistic"]),
    default="linear",
    show_default=True,
    help="Shares by least squares, or log odds by maximum likelihood.",
)
@click.option(
    "--reference",
    multiple=True,
    metavar="COLUMN=LABEL",
    help="Label that the others of a covariate are against. [the first]",
)
@click.option(
    "--baseline", metavar="VALUE", help="For --method logistic, the value that odds are against. [the largest]"
)
@click.option("--weights", metavar="COLUMN", help="Weigh people by this public column beside the reports.")
@click.option("--level", type=float, default=0.95, show_default=True, help="Confidence of the intervals.")
@click.option("-o", "--output", type=OutputFile("estimates", ESTIMATES), help=f"Coefficients: {spelled(ESTIMATES)}.")
@click.option(
    "--trust-plan", is_flag=True, help="Read files that no longer say their plan: you vouch that all are of PLAN."
)
@options.force
@allow_outside
@options.as_json
def regress(
    plan: Path,
    reports: tuple[Path, ...],
    *,
    on: tuple[str, ...],
    value: tuple[str, ...],
    method: str,
    reference: tuple[str, ...],
    baseline: str | None,
    weights: str | None,
    level: float,
    output: Path | None,
    trust_plan: bool,
    force: bool,
    as_json: bool,
) -> None:
    """Regress what people reported under PLAN on public columns beside REPORTS.

    REPORTS are Parquet and Arrow files of reports, and folders of such files, that have these columns.
    """
    from discreet.cli.output import write_results, write_table
    from discreet.engines.evidence import memory_limit
    from discreet.estimators.regression import regress as regressed
    from discreet.formats.public_columns import read_public
    from discreet.formats.tallies import objects
    from discreet.privacy.publication import REGRESSION, Publication

    document = load_plan(plan)
    if document.is_personalized:
        raise ParameterError("regress does not go with personalized plans, whose bots are no values.")
    if len(set(on)) < len(on):
        raise ParameterError("--on must name each column once.")
    against = _references(reference)
    names = [*on, *([] if weights is None or weights in on else [weights])]
    mechanism = document.mechanism()
    with file_notes() as notes:
        found, public = read_public(mechanism, list(reports), names, memory=memory_limit(), trust_plan=trust_plan)
    asked = list(value) or None
    fit = regressed(
        mechanism,
        found,
        public.select(list(on)),
        values=asked,
        method=method,  # type: ignore[arg-type]
        reference=against,
        baseline=baseline,
        weights=None if weights is None else public[weights],
    )
    columns = {name: column.tolist() for name, column in fit.columns(level).items()}
    facts = {"method": fit.method, "n": fit.n, "baseline": fit.baseline, "level": level, "simulated": fit.simulated}
    publication = Publication(mechanism, (fit.n,), beside=REGRESSION, simulated=fit.simulated, shown="this regression")
    said = Statement(publication)
    record = {**facts, **said.record(), "remark": fit.remark, "notes": notes, "coefficients": objects(columns)}
    write_results(output, {}, lambda path: write_table(path, fit.to_arrow(level), lambda: record), force=force)
    remarks = [
        fit.remark,
        *said.parts(),
        SIMULATED_REPORTS if fit.simulated else None,
        *(f"Note: {note}" for note in notes),
    ]
    show(record, [_table(fit, level), *filter(None, remarks)], as_json=as_json)


def _references(words: tuple[str, ...]) -> dict[str, str]:
    """Return the label that the others of a column are against, by column."""
    against = dict(one.partition("=")[::2] for one in words)
    if len(against) < len(words) or not all(against.values()):
        raise ParameterError("--reference must be COLUMN=LABEL, once for a column.")
    return against


def _table(fit: "Regression", level: float) -> Table:
    """Return the coefficients as a table."""
    against = "" if fit.baseline is None else f"; odds against {fit.baseline}"
    headings, *cells = rows_of(fit.stated(level), "page")
    return Table(f"{fit.method} regression, {fit.n:,} reports{against}", headings, cells, left=2)
