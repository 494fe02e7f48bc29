"""The verb ``init``: it looks at a table, asks at a terminal what was not said, and proposes a plan."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click
from msgspec import structs

from discreet.cli import options
from discreet.cli.commands import Verb
from discreet.cli.options import Count, OptionGroup, option
from discreet.cli.output import InputFile, OutputFile
from discreet.cli.proposing import (
    Found,
    Labels,
    Promise,
    Proposal,
    TableLook,
    proposal_facts,
    refuse_unsaid,
    show_proposal,
)
from discreet.core.domain import Domain
from discreet.core.guarantee import in_odds
from discreet.errors import ParameterError
from discreet.files.paths import PLANS, spelled
from discreet.formats.plan import Plan, plan_text, without_defaults
from discreet.planning.compare import best
from discreet.tables.labels import ColumnLook, proposed_ends


@dataclass(frozen=True, slots=True)
class _Columns(OptionGroup):
    """The columns, and the bins of a column of numbers."""

    columns: tuple[str, ...] = option(
        "--column", multiple=True, help="Column of values; several make a plan of all combinations."
    )
    bins: int | None = option(
        "--bins",
        type=Count(2),
        bars={
            "labels": "--bins and --labels: say one of the two.",
            "cuts": "--bins and --cuts: say one of the two.",
        },
        help="A column of numbers in so many bins, between round ends; --sensitive LOW:HIGH,...",
    )


@click.command(cls=Verb)
@click.argument("tables", nargs=-1, required=True, type=InputFile(urls=True), metavar="TABLE...")
@_Columns.options
@Labels.options
@Promise.options
@click.option("--title", default="", help="Title of the plan, for people.")
@click.option("-o", "--output", type=OutputFile("plans", PLANS), help=f"The plan: {spelled(PLANS)}. [printed]")
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
    """Propose a plan for columns of TABLE: their labels, what you call sensitive, and the mechanism that errs least.

    Without --column the columns are listed. What is not said is asked for at a terminal. Numbers and dates are cut into
    ranges. Without -o the plan is printed, and nothing else on standard output.

    A plan is public. Labels that are read from the table are those that many rows hold; columns with mostly different
    values, such as names, are refused. With --labels or --cuts nothing of the table gets into the plan.

    Labels that read like a sensitive one are sensitive too, such as Krank and krank. Texts that differ by spaces and
    invisible characters alone are one label.
    """
    if len({*of.columns}) < len(of.columns):
        raise ParameterError("--column must name different columns, got one twice.")
    table = TableLook.of(tables, of.columns, labels)
    unnamed = "" if of.columns else "--column must name the column of values, or several of them"
    refuse_unsaid(unnamed, promise, asking=table.way.asking)
    names = of.columns or table.chosen()
    if of.bins is not None:
        numbers = _of_numbers(table.looks, names, promise, of.bins, table.way.least, title)
        _init_numbers(tables, names[0], numbers, output, force=force)
        return
    proposal = table.proposal(names, promise)
    plan = _with_cuts(Plan.of(best(_domain(proposal), proposal.epsilon), title=title), proposal.columns)
    heading = list(_heading(plan))
    if output is not None:
        plan.save(output, force=force)
    where = f" written to {output}." if output else "."
    words, named = proposal.sensitive.said(proposal.labels, {"": plan.domain})
    missing = "obfuscate --missing drop leaves them out"
    sentences = [heading[0] + where, *heading[1:], *words, *proposal.sentences(missing)]
    sizes = {"values": plan.domain.size, "sensitive": plan.domain.sensitive_count}
    facts = proposal_facts(plan.fingerprint, without_defaults(plan.document), sizes, proposal.columns, output)
    show_proposal(plan_text(plan), facts | named, sentences, _next(tables, names, proposal.columns, output))


def _of_numbers(
    looks: Mapping[str, ColumnLook], names: Sequence[str], promise: Promise, bins: int, least: int, title: str
) -> tuple[Plan, list[str]]:
    """Return a plan of numbers in bins, and sentences on it."""
    if len(names) != 1 or promise.epsilon is None or not (promise.sensitive or promise.all_sensitive):
        raise ParameterError("--bins needs one --column, --epsilon, and --sensitive LOW:HIGH or --all-sensitive.")
    look = looks[names[0]]
    low, high = proposed_ends(look, least=least)
    ranges = [text.split(":") for part in promise.sensitive for text in part.split(",")]
    try:
        pairs = [[float(first), float(last)] for first, last in ranges]
    except ValueError:
        raise ParameterError("--sensitive must name ranges of numbers as LOW:HIGH,... for --bins.") from None
    # What is said to be sensitive is in the range, whoever holds it.
    low, high = min([low, *(pair[0] for pair in pairs)]), max([high, *(pair[1] for pair in pairs)])
    domain = Domain.number(low, high, bins=bins, clip=True, sensitive=pairs if promise.sensitive else None)
    plan = Plan.of(best(domain, promise.epsilon), title=title)
    beyond = sum(count for value, count in look.counts.items() if not low <= value <= high)
    sentences = [
        *_heading(plan),
        f"Sensitive: {plan.mechanism().guarantee.sensitive_names}.",
        f"Numbers from {low:g} to {high:g}; beyond: {beyond:,} of {look.rows:,} rows, which count as the nearest end.",
        f"A plan is public: it tells that {least} rows or more of {look.name} reach about {low:g}, and about {high:g}.",
    ]
    if look.missing:
        sentences.append(f"No value of {look.name}: {look.missing:,} rows; obfuscate --missing drop leaves them out.")
    return plan, sentences


def _init_numbers(
    tables: Sequence[str | Path], column: str, proposed: tuple[Plan, list[str]], output: Path | None, *, force: bool
) -> None:
    """Write or print a plan of numbers."""
    plan, (first, *others) = proposed
    if output is not None:
        plan.save(output, force=force)
    sentences = [first + (f" written to {output}." if output else "."), *others]
    sizes = {"values": plan.domain.size, "sensitive": plan.domain.sensitive_count}
    facts = proposal_facts(plan.fingerprint, without_defaults(plan.document), sizes, {}, output)
    following = _next(tables, [column], {}, output)
    show_proposal(plan_text(plan), facts, sentences, [*following[:-1], f"{following[-1]} --method smooth"])


def _domain(proposal: Proposal) -> Domain:
    """Return the domain; every value is sensitive if nothing is marked."""
    labels, sensitive = proposal.labels, proposal.sensitive
    if sensitive.marks is not None and not sensitive.marks:
        raise ParameterError("some labels must be sensitive, and none were said to be.")
    marks = {name: sensitive.among(name, values) for name, values in labels.items()}
    exact = sensitive.join == "exact"
    if len(labels) > 1:
        patterns = [{name: some} for name, some in marks.items() if some]
        return Domain.product(labels, sensitive=patterns or None, exact=exact)
    ((name, values),) = labels.items()
    if len(values) == 1:
        raise ParameterError("there must be at least two labels, got one, of which a report tells nothing.")
    some = marks[name]
    return Domain(values, sensitive=None if some is None else [label in some for label in values], exact=exact)


def _with_cuts(plan: Plan, proposals: Mapping[str, Found]) -> Plan:
    """Return a plan that says where ranges begin; its fingerprint is the same."""
    cut = {name: proposal.cuts for name, proposal in proposals.items() if proposal.cuts is not None}
    if not cut:
        return plan
    cuts: Any = cut if len(proposals) > 1 else next(iter(cut.values()))
    document = plan.document
    return replace(plan, document=structs.replace(document, domain=structs.replace(document.domain, cuts=cuts)))


def _heading(plan: Plan) -> Iterator[str]:
    domain, document = plan.domain, plan.document
    yield (
        f"{domain.size:,} values, {domain.sensitive_count:,} of them sensitive, under {plan.mechanism().name} at "
        f"epsilon {document.epsilon:g}; plan {plan.fingerprint[:12]}"
    )
    if odds := in_odds(document.epsilon):
        yield odds


def _next(
    tables: Sequence[str | Path], names: Sequence[str], proposals: Mapping[str, Found], output: Path | None
) -> list[str]:
    """Return the commands that lead on from a plan to an estimate."""
    column = f"--column {shlex.quote(names[0])} " if len(names) == 1 else ""
    missing = "--missing drop " if any(proposal.labels.missing for proposal in proposals.values()) else ""
    unknown = "--unknown drop " if any(proposal.labels.other_rows for proposal in proposals.values()) else ""
    read = "--as-read " if any(proposal.labels.read_rows for proposal in proposals.values()) else ""
    table = shlex.quote(str(tables[0])) if len(tables) == 1 else "TABLE"
    plan = shlex.quote(str(output))
    return [
        "Next:",
        f"  discreet obfuscate {plan} {table} {column}{read}{missing}{unknown}-o reports.parquet",
        f"  discreet estimate {plan} reports.parquet",
    ]
