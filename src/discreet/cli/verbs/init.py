"""The command ``init``: propose a plan from a table, and ask for missing options at a terminal."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click
from msgspec import structs

from discreet.cli import options
from discreet.cli.commands import Subcommand
from discreet.cli.options import Count, OptionGroup, option
from discreet.cli.output import InputFile, OutputFile, in_words
from discreet.cli.proposing import (
    FoundLabels,
    Labels,
    Promise,
    Proposal,
    ScannedTable,
    check_complete,
    proposal_facts,
    show_proposal,
)
from discreet.core.domain import Domain
from discreet.core.guarantee import odds_sentence
from discreet.errors import ParameterError
from discreet.files.paths import PLANS, any_of
from discreet.formats.plan import Plan, plan_text, without_defaults
from discreet.planning.compare import best
from discreet.tables.labels import ColumnSummary, proposed_ends

_DROPPED = "obfuscate --missing drop leaves them out"


@dataclass(frozen=True, slots=True)
class _Columns(OptionGroup):
    """Options for the columns, and for the bins of a numeric column."""

    columns: tuple[str, ...] = option(
        "--column", multiple=True, help="Column of values. Repeat it for a plan of all combinations of several columns."
    )
    bins: int | None = option(
        "--bins",
        type=Count(2),
        bars={
            "labels": "Give either --bins or --labels, and not both.",
            "cuts": "Give either --bins or --cuts, and not both.",
        },
        help="Number of bins for a column of numbers. Protect ranges with --sensitive LOW:HIGH,...",
    )


@click.command(
    cls=Subcommand,
    epilog="Example: discreet init people.csv --column diagnosis --sensitive diabetes --epsilon 1 -o plan.toml",
)
@click.argument("tables", nargs=-1, required=True, type=InputFile(urls=True), metavar="TABLE...")
@_Columns.options
@Labels.options
@Promise.options
@click.option("--title", default="", help="Title of the plan. People read it.")
@click.option("-o", "--output", type=OutputFile("plans", PLANS), help=f"Plan file: {any_of(PLANS)}. [standard output]")
@options.force
def init(
    tables: tuple[str | Path, ...],
    of: _Columns,
    labels: Labels,
    promise: Promise,
    *,
    title: str,
    output: Path | None,
    force: bool,
) -> None:
    """Propose a plan for columns of TABLE.

    The plan lists the labels, marks the sensitive ones, and names the most precise mechanism.

    Without --column, the command lists the columns. At a terminal it asks for missing options. Numbers and dates are
    cut into ranges. Without -o, it prints the plan on standard output.

    A plan is public. Labels are read from the table if enough rows have them. Columns in which most values differ, such
    as names, are refused. With --labels or --cuts, the plan has nothing from the table.

    Labels that read like a sensitive label, such as Krank and krank, are sensitive too. Texts that differ only by
    spaces and invisible characters are one label.
    """
    if len({*of.columns}) < len(of.columns):
        raise ParameterError("column.twice")
    table = ScannedTable.of(tables, of.columns, labels)
    unnamed = "" if of.columns else "Name the column of values with --column."
    check_complete(unnamed, promise, asking=table.rules.asking)
    names = of.columns or table.chosen()
    columns: Mapping[str, FoundLabels] = {}
    named: dict[str, Any] = {}
    if of.bins is not None:
        plan, sentences = _of_numbers(table.columns, names, promise, of.bins, table.rules.least, title)
    else:
        proposal = table.proposal(names, promise)
        columns = proposal.columns
        plan = _with_cuts(Plan.of(best(_domain(proposal), proposal.epsilon), title=title), columns)
        words, named = proposal.sensitive.sentences_and_record(proposal.labels, {"": plan.domain})
        sentences = [*words, *proposal.sentences(_DROPPED)]
    if output is not None:
        plan.save(output, force=force)
    odds, more = odds_sentence(plan.document.epsilon), "" if of.bins is None else " --method smooth"
    sizes = {"values": plan.domain.size, "sensitive": plan.domain.sensitive_count}
    facts = proposal_facts(plan.fingerprint, without_defaults(plan.document), sizes, columns, output)
    sentences = [_heading(plan, output), *filter(None, [odds]), *sentences]
    show_proposal(
        plan_text(plan),
        facts | named,
        sentences,
        _next(tables, [table.columns[name] for name in names], columns, output, labels.repeated, more),
    )


def _heading(plan: Plan, output: Path | None) -> str:
    """Return a line with the output file, the number of values, the mechanism and epsilon."""
    return f"{'Plan' if output is None else f'Wrote {output}'}: {in_words(plan.mechanism())}."


def _of_numbers(
    summaries: Mapping[str, ColumnSummary], names: Sequence[str], promise: Promise, bins: int, least: int, title: str
) -> tuple[Plan, list[str]]:
    """Return a plan for a numeric column in bins, and sentences on the plan."""
    if len(names) != 1 or promise.epsilon is None or not (promise.sensitive or promise.all_sensitive):
        raise ParameterError("bins.incomplete")
    summary = summaries[names[0]]
    low, high = proposed_ends(summary, least=least)
    ranges = [text.split(":") for part in promise.sensitive for text in part.split(",")]
    try:
        pairs = [[float(first), float(last)] for first, last in ranges]
    except ValueError:
        raise ParameterError("bins.not-ranges") from None
    # The range of the plan contains every sensitive range, even where the table has no values.
    low, high = min([low, *(pair[0] for pair in pairs)]), max([high, *(pair[1] for pair in pairs)])
    domain = Domain.number(low, high, bins=bins, clip=True, sensitive=pairs if promise.sensitive else None)
    plan = Plan.of(best(domain, promise.epsilon), title=title)
    beyond = sum(count for value, count in summary.counts.items() if not low <= value <= high)
    sentences = [
        f"Protected: {plan.mechanism().guarantee.sensitive_names}.",
        f"Numbers outside {low:g} to {high:g} count as the nearest end: {beyond:,} of {summary.rows:,} rows.",
        f"The plan is public: it reveals that at least {least} rows of {summary.name} are about {low:g} or below, "
        f"and as many about {high:g} or above.",
    ]
    if summary.missing:
        sentences.append(
            f"{summary.missing:,} rows have no value of {summary.name}; obfuscate --missing drop leaves them out."
        )
    return plan, sentences


def _domain(proposal: Proposal) -> Domain:
    """Return the domain of a proposal. Every value is sensitive if no label is marked."""
    labels, sensitive = proposal.labels, proposal.sensitive
    if sensitive.marks is not None and not sensitive.marks:
        raise ParameterError("sensitive.none")
    marks = {name: sensitive.among(name, values) for name, values in labels.items()}
    exact = sensitive.join == "exact"
    if len(labels) > 1:
        patterns = [{name: some} for name, some in marks.items() if some]
        return Domain.product(labels, sensitive=patterns or None, exact=exact)
    ((name, values),) = labels.items()
    if len(values) == 1:
        raise ParameterError("labels.only-one")
    some = marks[name]
    return Domain(values, sensitive=None if some is None else [label in some for label in values], exact=exact)


def _with_cuts(plan: Plan, proposals: Mapping[str, FoundLabels]) -> Plan:
    """Return the plan with the lower bounds of ranges. Its fingerprint stays the same."""
    cut = {name: proposal.cuts for name, proposal in proposals.items() if proposal.cuts is not None}
    if not cut:
        return plan
    cuts: Any = cut if len(proposals) > 1 else next(iter(cut.values()))
    document = plan.document
    return replace(plan, document=structs.replace(document, domain=structs.replace(document.domain, cuts=cuts)))


def _next(
    tables: Sequence[str | Path],
    summaries: Sequence[ColumnSummary],
    columns: Mapping[str, FoundLabels],
    output: Path | None,
    table_options: str,
    more: str,
) -> list[str]:
    """Return the next commands, from the plan to an estimate. ``table_options`` are for the table's cells."""
    column = f"--column {shlex.quote(summaries[0].name)} {table_options}" if len(summaries) == 1 else table_options
    missing = "--missing drop " if any(summary.missing for summary in summaries) else ""
    unknown = "--unknown drop " if any(proposal.labels.other_rows for proposal in columns.values()) else ""
    read = "--as-read " if any(proposal.labels.read_rows for proposal in columns.values()) else ""
    table = shlex.quote(str(tables[0])) if len(tables) == 1 else "TABLE"
    plan = shlex.quote(str(output))
    return [
        "Next:",
        f"  discreet obfuscate {plan} {table} {column}{read}{missing}{unknown}-o reports.parquet",
        f"  discreet estimate {plan} reports.parquet{more}",
    ]
