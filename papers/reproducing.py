"""Figures of the papers: their list, and the findings of those that were made."""

from collections.abc import Iterator
from pathlib import Path

import click

from discreet.cli.options import progress_bar
from discreet.cli.output import Table, prints_json, say, show
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
    for one in FIGURES.values():
        names = (*one.paper, *one.instead)
        ready, absent = ([name for name in names if bool(lacking[name]) == gone] for gone in (False, True))
        cells.append([one.name, one.title, _listed(ready), _listed(absent)])
    parts: list[str | Table] = [
        Table("Figures and tables", ["name", "what it is", "data at hand", "data not at hand"], cells, left=4)
    ]
    files = sorted({file for name in sources.NAMES for file in lacking[name]})
    if files:
        parts.append(f"Files not at hand: {', '.join(files)}. --data or DISCREET_DATA names their folder.")
    show([_told(one, lacking) for one in FIGURES.values()], parts)


def _listed(names: list[str]) -> str:
    """Return names in a line; those with attributes added one by one once, with the numbers of these."""
    added: dict[str, list[str]] = {}
    for name in names:
        base, *numbers = name.split("+")
        added.setdefault(base, []).extend(numbers)
    return ", ".join(
        f"{base} (+{numbers[0]} to +{numbers[-1]})" if numbers else base for base, numbers in added.items()
    )


def _told(one: Figure, lacking: dict[str, list[str]]) -> dict[str, object]:
    names = (*one.paper, *one.instead)
    return {"name": one.name, "title": one.title, "data": {name: not lacking[name] for name in names}}


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
    chosen = list({one.name: one for name in names for one in family(name)}.values())
    if everything or any(name not in FIGURES for name in names):
        wanted = chosen or list(FIGURES.values())
        chosen = [one for one in wanted if one.name in names or usable(one, environment)]
        _say_idle([one.name for one in wanted if one not in chosen])
    used = {name for one in chosen for name in (*one.paper, *one.instead)}
    if idle := [name for name in environment.names if name not in used]:
        raise ParameterError(f"--only names {idle[0]}, which none of these figures uses; leave it out.")
    made = []
    for one in chosen:
        with progress_bar(one.name) as progress:
            made.append(make(one, settings, environment, lambda what, *at: progress(f"{one.name}: {what}", *at)))  # noqa: B023
        if not prints_json():
            say(_parts(made[-1]))
    show([_record(one) for one in made], [f"Report: {environment.report}"])


def _say_idle(names: list[str]) -> None:
    if names:
        click.echo(f"Note: no data at hand for {', '.join(names)}.", err=True)


def _record(made: Made) -> dict[str, object]:
    names = ("data", "claim", "measured", "number", "relation", "threshold", "holds")
    findings = [{name: getattr(finding, name) for name in names} for finding in made.findings]
    return {"figure": made.figure.name, "files": made.files, "findings": findings}


def _parts(made: Made) -> Iterator[str | Table]:
    cells = [
        [
            one.data,
            one.claim,
            "holds" if one.holds else "DOES NOT HOLD",
            f"{one.number:.4g}",
            f"{one.relation} {one.threshold:.4g}",
        ]
        for one in made.findings
    ]
    headings = ["data", "finding", "on these data", "number", "threshold"]
    title = f"{made.figure.title}: {made.figure.name}"
    if cells:
        yield Table(title, headings, cells, left=3)
    else:
        yield title
    for table in made.figure.tables(made.results):
        yield Table(table.caption, list(table.heads), [list(row) for row in table.rows], left=table.left)
    yield "Written: " + ", ".join(str(file) for file in made.files)
