"""The verb ``init``."""

import csv
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from discreet.cli import options
from discreet.cli.group import Verb
from discreet.cli.output import show
from discreet.cli.output_files import InputFile, OutputFile
from discreet.cli.parameters import Count
from discreet.core.checks import meant
from discreet.errors import ParameterError
from discreet.io.suffixes import PLANS, spelled

if TYPE_CHECKING:
    from discreet.core.domain import Domain
    from discreet.io.column_labels import ColumnLabels
    from discreet.io.plan import Plan

_PUBLIC = (
    "A plan is public: the labels of {columns} were read from the table, so the plan tells that each of them occurs in "
    "it, in {least} rows or more. List them with --labels if that must not be told."
)


@click.command(cls=Verb)
@click.argument("tables", nargs=-1, required=True, type=InputFile(urls=True), metavar="TABLE...")
@click.option("--column", "columns", multiple=True, help="Column of values; several make a plan of all combinations.")
@click.option(
    "--labels",
    multiple=True,
    metavar="[COLUMN=]A,B,...",
    help="Labels of a column, instead of those found in the table.",
)
@click.option(
    "--sensitive",
    multiple=True,
    metavar="[COLUMN=]A,B,...",
    help="Labels that are sensitive; nobody but you knows which.",
)
@click.option("--all-sensitive", is_flag=True, help="Every value is sensitive (plain LDP).")
@click.option("--epsilon", type=float, help="Privacy promise, in nats; asked for at a terminal.")
@click.option("--least", type=Count(1), help="Leave out labels that fewer rows of the table hold. [20]")
@click.option("--title", default="", help="Title of the plan, for people.")
@click.option("-o", "--output", type=OutputFile("plans", PLANS), help=f"The plan: {spelled(PLANS)}. [only shown]")
@options.force
@options.as_json
def init(
    tables: tuple[str | Path, ...],
    *,
    columns: tuple[str, ...],
    labels: tuple[str, ...],
    sensitive: tuple[str, ...],
    all_sensitive: bool,
    epsilon: float | None,
    least: int | None,
    title: str,
    output: Path | None,
    force: bool,
    as_json: bool,
) -> None:
    """Propose a plan for columns of TABLE: their labels, what you call sensitive, and the mechanism that errs least.

    A plan is public. Labels that are read from the table are those that many rows hold; columns with mostly different
    values, such as names, are refused. With --labels nothing of the table gets into the plan.
    """
    _check_together(columns, sensitive, all_sensitive=all_sensitive)
    from discreet.io.column_labels import LEAST, labels_of
    from discreet.io.plan import Plan
    from discreet.planning.best import best

    listed = dict(_by_column("--labels", labels, columns))
    if least is not None and len(listed) == len(columns):
        raise ParameterError("--least is for labels that are found in the table; all are listed, so leave it out.")
    least = LEAST if least is None else least
    promise = _asked_epsilon(as_json=as_json) if epsilon is None else epsilon
    found = labels_of(tables, {name: listed.get(name) for name in columns}, least=least)
    marked = [*_by_column("--sensitive", sensitive, columns)]
    plan = Plan.of(best(_domain(found, None if all_sensitive else marked), promise), title=title)
    if output is not None:
        plan.save(output, force=force)
    show(_facts(plan, found, output), _parts(plan, found, least, output), as_json=as_json)


def _check_together(columns: Sequence[str], sensitive: Sequence[str], *, all_sensitive: bool) -> None:
    if not columns:
        raise ParameterError("--column must name the column of values, or several of them.")
    if len({*columns}) < len(columns):
        raise ParameterError("--column must name different columns, got one twice.")
    if bool(sensitive) == all_sensitive:
        raise ParameterError(
            "say which values are sensitive, by --sensitive A,B or by --all-sensitive: it is never guessed."
        )


def _asked_epsilon(*, as_json: bool) -> float:
    """Return epsilon as a person at a terminal gives it."""
    if as_json or not _at_a_terminal():
        raise ParameterError("--epsilon must be given: the privacy promise, in nats.")
    return float(click.prompt("epsilon, the privacy promise in nats", type=float, err=True))


def _at_a_terminal() -> bool:
    return sys.stdin is not None and sys.stdin.isatty()


def _by_column(option: str, texts: Sequence[str], columns: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield the column and the labels of each use of an option."""
    seen = set()
    for text in texts:
        name, mark, rest = text.partition("=")
        if not (mark and name in columns):
            name, rest = columns[0], text
            if len(columns) > 1:
                raise ParameterError(f"{option} must say which column it is about, as in {option} {name}=A,B.")
        if option == "--labels" and name in seen:
            raise ParameterError(f"{option} must list the labels of column {name!r} once.")
        seen.add(name)
        yield name, next(csv.reader([rest]), [])


def _domain(found: "Mapping[str, ColumnLabels]", marked: Sequence[tuple[str, list[str]]] | None) -> "Domain":
    """Return the domain; every value is sensitive if nothing is marked."""
    from discreet.core.domain import Domain

    patterns = None if marked is None else [{name: _known(name, one, found[name].labels)} for name, one in marked]
    if len(found) > 1:
        return Domain.product({name: column.labels for name, column in found.items()}, sensitive=patterns)
    (labels,) = [column.labels for column in found.values()]
    if len(labels) == 1:
        raise ParameterError("there must be at least two labels, got one, of which a report tells nothing.")
    sensitive = None if patterns is None else {label for one in patterns for some in one.values() for label in some}
    return Domain(labels, sensitive=None if sensitive is None else [label in sensitive for label in labels])


def _known(name: str, texts: Sequence[str], labels: Sequence[Any]) -> list[Any]:
    by_text = {str(label): label for label in labels}
    unknown = [text for text in texts if text not in by_text]
    if unknown or not texts:
        got = f"{unknown[0]!r}{meant(unknown[0], by_text)}" if unknown else "none"
        raise ParameterError(
            f"--sensitive must name labels of column {name!r}, got {got}; where few rows or none hold one, list all "
            "labels with --labels."
        )
    return [by_text[text] for text in texts]


def _facts(plan: "Plan", found: "Mapping[str, ColumnLabels]", output: Path | None) -> dict[str, Any]:
    from discreet.io.written_plan import without_defaults

    columns = [
        {"column": name, **{key: value for key, value in asdict(one).items() if key != "labels"}}
        for name, one in found.items()
    ]
    return {
        "plan": plan.fingerprint,
        "document": without_defaults(plan.document),
        "values": plan.domain.size,
        "sensitive": plan.domain.sensitive_count,
        "columns": columns,
        "output": output,
    }


def _parts(plan: "Plan", found: "Mapping[str, ColumnLabels]", least: int, output: Path | None) -> Iterator[str]:
    from discreet.core.guarantee import in_odds
    from discreet.io.written_plan import plan_text

    domain, document = plan.domain, plan.document
    name = plan.mechanism().name
    if output is None:
        yield plan_text(plan) + "\n"
    yield (
        f"{domain.size:,} values, {domain.sensitive_count:,} of them sensitive, under {name} at epsilon "
        f"{document.epsilon:g}; plan {plan.fingerprint[:12]}" + (f" written to {output}." if output else ".")
    )
    if odds := in_odds(document.epsilon):
        yield odds
    for column, one in found.items():
        if one.missing:
            yield f"No value of {column}: {one.missing:,} of {one.rows:,} rows; obfuscate has --missing for them."
        if one.other_rows:
            yield (
                f"Not in the plan: {one.others:,} different values of {column}, in {one.other_rows:,} of {one.rows:,} "
                "rows; obfuscate refuses these rows."
            )
    read = [column for column, one in found.items() if one.found]
    if read:
        yield _PUBLIC.format(columns=", ".join(read), least=least)
