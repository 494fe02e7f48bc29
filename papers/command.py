"""The verb ``reproduce``, which this package registers with `discreet`."""

from typing import Any

import click

from discreet.cli.counts import Count
from discreet.cli.lazily import Verb
from discreet.cli.outputs import InputFile, OutputFolder


@click.command(cls=Verb)
@click.argument("artefacts", nargs=-1)
@click.option("--list", "listed", is_flag=True, help="Show every artefact and which data sets are at hand.")
@click.option("--all", "everything", is_flag=True, help="Make every artefact.")
@click.option("--runs", type=Count(), help="Runs per point. [as many as in the paper]")
@click.option("--quick", is_flag=True, help="Fewer points and runs, to see that all works.")
@click.option("--seed", type=int, default=20190814, show_default=True, help="The same seed gives the same numbers.")
@click.option("--jobs", type=Count(), default=1, show_default=True, help="How many processes measure.")
@click.option("--data", type=InputFile(), help="Folder of the data sets. [DISCREET_DATA]")
@click.option("--only", "only", multiple=True, metavar="DATASET", help="Use only this data set; may be repeated.")
@click.option("-o", "--output", type=OutputFolder(), help="Folder for everything that is written. [out/reproduce]")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")
def reproduce(artefacts: tuple[str, ...], **options: Any) -> None:
    """Make figures and tables of the papers again, and check the papers' findings.

    ARTEFACTS are names such as uldp/fig5, or families: uldp, beyond, pie.

    Writes CSV, SVG and PNG, and one report.html. What was measured before is read from the output folder, so a run that
    was interrupted goes on where it stopped.
    """
    from papers.reproducing import run

    run(artefacts, options)
