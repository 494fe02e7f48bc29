"""Options that several verbs have."""

import click

from discreet.cli.output_files import OutputFile
from discreet.io.suffixes import PICTURES

PICTURE = OutputFile("pictures", PICTURES)

as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")
force = click.option("--force", is_flag=True, help="Replace output files that exist.")
seed = click.option("--seed", type=int, help="Seed for a simulation; such reports are marked and protect nobody.")
plain_parquet = click.option(
    "--plain-parquet",
    is_flag=True,
    help="Let pyarrow decode all of Parquet, where dictionaries' indices could be counted. Only time differs.",
)
bad_rows = click.option(
    "--bad-rows",
    type=click.FloatRange(0, 1),
    default=0.0,
    show_default=True,
    metavar="SHARE",
    help="Share of rows that no device can have sent and that may be left out; they are counted.",
)
engine = click.option(
    "--engine",
    type=click.Choice(["local", "spark"]),
    default="local",
    show_default=True,
    help="What goes through the reports: this machine, or a Spark cluster whose executors see the same files.",
)
master = click.option("--master", metavar="URL", help="For --engine spark: where it runs. [what Spark is set up for]")
trust_plan = click.option(
    "--trust-plan",
    is_flag=True,
    help="Read files that another tool rewrote and that no longer say their plan: you vouch that all are of PLAN.",
)
manifest = click.option(
    "--manifest", is_flag=True, help="Refuse folders that hold other files or bytes than their manifests say."
)
