"""The verb ``risk reports``: the identification risk of reports beside public columns."""

from pathlib import Path

import click
import pyarrow as pa

from discreet.cli import options
from discreet.cli.commands import Subcommand
from discreet.cli.options import load_plan, progress_bar
from discreet.cli.output import InputFile, built_ins, show
from discreet.core.result_table import ResultColumn, ResultTable, text_column
from discreet.risk.classes import ClassRisk, class_risk, written_cells
from discreet.risk.verbs.gates import FAIL_ABOVE, end_above
from discreet.tables.columns import read_columns
from discreet.tables.scan import table_files
from discreet.tables.text import Cells, Kind


@click.command("reports", cls=Subcommand, epilog="Example: discreet risk reports plan.toml people.csv --by age,sex")
@click.argument("plan", type=InputFile())
@click.argument("table", type=InputFile(urls=True))
@click.option("--by", required=True, metavar="A,B", help="Public columns that are published beside the reports.")
@FAIL_ABOVE
@options.allow_outside
def risk_of_reports(plan: Path, table: str | Path, *, by: str, fail_above: float | None) -> None:
    """Bound the risk of reports beside public columns.

    TABLE has a row for each person, who sends one report under PLAN.

    People with the same values in all columns of --by are a class. The adversary knows these columns and sees the
    reports of a class.
    """
    mechanism = load_plan(plan).mechanism()
    names = [name.strip() for name in by.split(",")]
    asked = dict.fromkeys(names, Cells(Kind.TEXT))
    with progress_bar("reading the people"):
        parts = [read_columns(file, lambda _: asked, names) for file in table_files(table)]
        risk = class_risk(mechanism, pa.concat_tables([written_cells(part.select(names)) for part in parts]))
    words = (risk.answer, *risk.sentences)
    record = {"plan": mechanism.fingerprint, **built_ins(risk), "limit": fail_above, "in_words": words}
    show(record, [risk.answer, _table(risk)])
    if fail_above is not None and risk.worst > fail_above:
        end_above(f"The identification risk in the smallest class is at most {risk.worst:.4g}, above {fail_above:g}.")


def _table(risk: ClassRisk) -> ResultTable:
    columns = [
        text_column("adversary knows", ["the columns", "the columns and the reports"]),
        ResultColumn("identified", [risk.guessed, risk.identified], "probability", "identified, mean"),
        ResultColumn("worst", [1 / risk.smallest, risk.worst], "probability", "worst class"),
    ]
    return ResultTable(risk.heading, columns, risk.sentences)
