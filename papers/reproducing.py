"""Figures of the papers: their list, and the findings of those that were made."""

from collections.abc import Iterator
from pathlib import Path

import click

from discreet.cli.options import progress_bar
from discreet.cli.output import prints_json, say, show
from discreet.core.result_table import ResultTable
from discreet.errors import ParameterError
from papers.data import sources
from papers.figure import Figure, Settings
from papers.making import Environment, Made, make, usable
from papers.registry import FIGURES, family


def check_only(names: tuple[str, ...], data: Path | None) -> None:
    """Refuse data sets that are unknown, or whose files are not at hand.

    Raises:
        ParameterError: if one is unknown, or its files are not at hand; it names them.
    """
    for name in names:
        if missing := sources.missing_files(name, data):
            raise ParameterError(
                f"--only names {name}, whose files are not at hand ({', '.join(missing)}); say with --data or "
                "DISCREET_DATA which folder holds them, or leave it out."
            )


def list_figures(data: Path | None) -> None:
    """Show every figure, with the data sets it can use that are at hand and those that are not."""
    lacking = {name: sources.missing_files(name, data) for name in sources.NAMES}
    cells = []
    for figure in FIGURES.values():
        names = (*figure.paper, *figure.instead)
        ready, absent = ([name for name in names if bool(lacking[name]) == gone] for gone in (False, True))
        cells.append([figure.name, figure.title, _listed(ready), _listed(absent)])
    parts: list[str | ResultTable] = [
        ResultTable.of("Figures and tables", ["name", "what it is", "data at hand", "data not at hand"], cells, left=4)
    ]
    files = sorted({file for name in sources.NAMES for file in lacking[name]})
    if files:
        parts.append(f"Files not at hand: {', '.join(files)}. --data or DISCREET_DATA names their folder.")
    show([_figure_facts(figure, lacking) for figure in FIGURES.values()], parts)


def _listed(names: list[str]) -> str:
    """Return names in a line; those with attributes added one by one once, with the numbers of these."""
    added: dict[str, list[str]] = {}
    for name in names:
        base, *numbers = name.split("+")
        added.setdefault(base, []).extend(numbers)
    return ", ".join(
        f"{base} (+{numbers[0]} to +{numbers[-1]})" if numbers else base for base, numbers in added.items()
    )


def _figure_facts(figure: Figure, lacking: dict[str, list[str]]) -> dict[str, object]:
    names = (*figure.paper, *figure.instead)
    return {"name": figure.name, "title": figure.title, "data": {name: not lacking[name] for name in names}}


def make_figures(names: tuple[str, ...], settings: Settings, environment: Environment, *, everything: bool) -> None:
    """Make figures, and show for each of the papers' findings whether it holds."""
    if not everything and not names:
        raise ParameterError("name at least one figure, or pass --all instead; --list shows them.")
    if everything and any("/" in name for name in names):
        raise ParameterError(
            "--all makes every figure, or every one of a family such as pie; leave out one of the two."
        )
    if settings.runs is not None and settings.runs < 1:
        raise ParameterError(f"runs must be at least 1, got runs={settings.runs}.")
    chosen = list({candidate.name: candidate for name in names for candidate in family(name)}.values())
    if everything or any(name not in FIGURES for name in names):
        wanted = chosen or list(FIGURES.values())
        chosen = [candidate for candidate in wanted if candidate.name in names or usable(candidate, environment)]
        _say_idle([candidate.name for candidate in wanted if candidate not in chosen])
    used = {name for candidate in chosen for name in (*candidate.paper, *candidate.instead)}
    if idle := [name for name in environment.names if name not in used]:
        raise ParameterError(f"--only names {idle[0]}, which none of these figures uses; leave it out.")
    outcomes = []
    for figure in chosen:
        with progress_bar(figure.name) as progress:
            outcomes.append(
                make(figure, settings, environment, lambda what, *at: progress(f"{figure.name}: {what}", *at))  # noqa: B023
            )
        if not prints_json():
            say(_parts(outcomes[-1]))
    show([_record(candidate) for candidate in outcomes], [f"Report: {environment.report}"])


def _say_idle(names: list[str]) -> None:
    if names:
        click.echo(f"Note: no data at hand for {', '.join(names)}.", err=True)


def _record(outcome: Made) -> dict[str, object]:
    names = ("data", "claim", "measured", "number", "relation", "threshold", "holds")
    findings = [{name: getattr(finding, name) for name in names} for finding in outcome.findings]
    return {"figure": outcome.figure.name, "files": outcome.files, "findings": findings}


def _parts(outcome: Made) -> Iterator[str | ResultTable]:
    cells = [
        [
            finding.data,
            finding.claim,
            "holds" if finding.holds else "DOES NOT HOLD",
            f"{finding.number:.4g}",
            f"{finding.relation} {finding.threshold:.4g}",
        ]
        for finding in outcome.findings
    ]
    headings = ["data", "finding", "on these data", "number", "threshold"]
    title = f"{outcome.figure.title}: {outcome.figure.name}"
    if cells:
        yield ResultTable.of(title, headings, cells, left=3)
    else:
        yield title
    yield from outcome.figure.tables(outcome.results)
    yield "Written: " + ", ".join(str(file) for file in outcome.files)
