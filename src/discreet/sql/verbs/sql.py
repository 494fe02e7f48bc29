"""The command ``sql``: the query that counts reports in a warehouse."""

from dataclasses import dataclass
from pathlib import Path

import click

from discreet.cli.commands import Subcommand
from discreet.cli.options import OptionGroup, allow_outside, load_plan, option
from discreet.cli.output import InputFile
from discreet.formats.plan import Plan
from discreet.sql.dialects import DIALECTS
from discreet.sql.query import tally_sql


@dataclass(frozen=True, slots=True)
class ReportsTable(OptionGroup):
    """Options for the table of reports: its name, its columns, and how they are written."""

    dialect: str = option(
        "--dialect",
        type=click.Choice([*DIALECTS]),
        required=True,
        metavar="NAME",
        help=f"Database: {', '.join(DIALECTS)}.",
    )
    table: str = option(
        "--from", metavar="TABLE", default="reports", help="Table of reports, as in SQL after FROM. [reports]"
    )
    by: tuple[str, ...] = option("--by", multiple=True, metavar="COLUMN", help="Count each group of a public column.")
    count: str | None = option(
        "--count", metavar="COLUMN", help="Column with the number of reports of each row. [one report in each row]"
    )
    bits: str = option(
        "--bits",
        type=click.Choice(["bytes", "hex"]),
        default="bytes",
        help="Bits are bytes, or hexadecimal text. [bytes]",
    )
    lists: str = option(
        "--lists",
        type=click.Choice(["list", "text"]),
        default="list",
        help="Members are a list, or text such as 1 5 9. [list]",
    )
    upper: bool = option("--upper", is_flag=True, help="The names of the table's columns are in capitals.")

    def query(self, plan: Plan) -> str:
        """Return the query for the reports of a plan."""
        return tally_sql(
            plan,
            self.dialect,
            table=self.table,
            by=self.by,
            count=self.count,
            bits=self.bits,
            lists=self.lists,
            upper=self.upper,
        )


@click.command(
    cls=Subcommand, has_result=False, epilog="Example: discreet sql plan.toml --dialect duckdb --from reports"
)
@click.argument("plan", type=InputFile())
@ReportsTable.options
@allow_outside
def sql(plan: Path, reports: ReportsTable) -> None:
    """Print the query that counts reports in a warehouse.

    The query is one SELECT, which makes the tally of the reports of PLAN where the reports are. Run it, and save
    its whole result with the header. Then discreet estimate PLAN RESULT reads the counts.
    """
    click.echo(reports.query(load_plan(plan)), nl=False)
