"""Options that several verbs have."""

import click

from discreet.cli.output_files import OutputFile
from discreet.io.suffixes import PICTURES

PICTURE = OutputFile("pictures", PICTURES)

as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")
force = click.option("--force", is_flag=True, help="Replace output files that exist.")
seed = click.option("--seed", type=int, help="Seed for a simulation; such reports are marked and protect nobody.")
bad_rows = click.option(
    "--bad-rows",
    type=click.FloatRange(0, 1),
    default=0.0,
    show_default=True,
    metavar="SHARE",
    help="Share of rows that no device can have sent and that may be left out; they are counted.",
)
