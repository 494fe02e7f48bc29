"""The verb ``reproduce``, which this package registers with `discreet`."""

from pathlib import Path

import click

from discreet.cli.commands import Subcommand
from discreet.cli.options import Count
from discreet.cli.output import InputFile, OutputFolder, given_options
from discreet.errors import ParameterError

_WITH_LIST = ("listed", "data", "as_json", "debug")


@click.command(cls=Subcommand)
@click.argument("figures", nargs=-1)
@click.option("--list", "listed", is_flag=True, help="Show every figure and which data sets are at hand.")
@click.option("--all", "everything", is_flag=True, help="Make every figure.")
@click.option("--runs", type=Count(), help="Runs per point. [as many as in the paper]")
@click.option("--quick", is_flag=True, help="Fewer points and runs, to see that all works.")
@click.option("--seed", type=int, default=20190814, show_default=True, help="The same seed gives the same numbers.")
@click.option("--jobs", type=Count(), default=1, show_default=True, help="How many processes measure.")
@click.option("--data", type=InputFile(), help="Folder of the data sets. [DISCREET_DATA]")
@click.option("--only", "only", multiple=True, metavar="DATASET", help="Use only this data set; may be repeated.")
@click.option("-o", "--output", type=OutputFolder(), help="Folder for everything that is written. [out/reproduce]")
def reproduce(
    figures: tuple[str, ...],
    *,
    listed: bool,
    everything: bool,
    runs: int | None,
    quick: bool,
    seed: int,
    jobs: int,
    data: Path | None,
    only: tuple[str, ...],
    output: Path | None,
) -> None:
    """Make figures and tables of the papers again, and check the papers' findings.

    FIGURES are names such as uldp/fig5, or families: uldp, beyond, pie.

    Writes CSV, SVG and PNG, and one report.html. What was measured before is read from the output folder, so a run that
    was interrupted goes on where it stopped.
    """
    from papers.figure import Settings
    from papers.making import Environment
    from papers.reproducing import check_only, list_figures, make_figures

    if listed:
        others = [option for name, option in given_options().items() if name not in _WITH_LIST]
        if figures or others:
            what = "the figures" if figures else others[0]
            raise ParameterError(
                f"--list goes alone, or with --data and --json; leave out {what}, or leave out --list."
            )
        list_figures(data)
        return
    check_only(only, data)
    folder = output or Path("out/reproduce")
    OutputFolder().check(folder, force=True)
    settings, environment = Settings(runs=runs, quick=quick, seed=seed), Environment(folder, jobs, data, only)
    make_figures(figures, settings, environment, everything=everything)
