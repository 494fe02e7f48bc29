"""The verb ``reproduce``."""

from pathlib import Path
from typing import Any

import click

from discreet.cli.lazily import given_options
from discreet.cli.outputs import OutputFolder, check_output
from discreet.cli.terminal import console, progress_bar, show_json, show_table
from discreet.errors import ParameterError
from papers.artefact import Artefact, Settings
from papers.data import sources
from papers.making import Made, Workshop, make, usable
from papers.registry import ARTEFACTS, family

_WITH_LIST = ("listed", "data", "as_json", "debug")


def run(names: tuple[str, ...], options: dict[str, Any]) -> None:
    """List artefacts or make them."""
    data, as_json = options["data"], options["as_json"]
    if options["listed"]:
        others = [option for name, option in given_options().items() if name not in _WITH_LIST]
        if names or others:
            what = "the artefacts" if names else others[0]
            raise ParameterError(
                f"--list goes alone, or with --data and --json; leave out {what}, or leave out --list."
            )
        list_artefacts(data, as_json=as_json)
        return
    check_only(options["only"], data)
    output = options["output"] or Path("out/reproduce")
    check_output(OutputFolder(), output, force=True)
    settings = Settings(**{name: options[name] for name in ("runs", "quick", "seed")})
    workshop = Workshop(output, options["jobs"], data, options["only"])
    reproduce_artefacts(names, settings, workshop, everything=options["everything"], as_json=as_json)


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


def list_artefacts(data: Path | None, *, as_json: bool) -> None:
    """Show every artefact, with the data sets it can use that are at hand and those that are not."""
    lacking = {name: sources.missing_files(name, data) for name in sources.NAMES}
    if as_json:
        show_json([_told(one, lacking) for one in ARTEFACTS.values()])
        return
    cells = []
    for one in ARTEFACTS.values():
        names = (*one.paper, *one.instead)
        ready, absent = ([name for name in names if bool(lacking[name]) == gone] for gone in (False, True))
        cells.append([one.name, one.title, ", ".join(ready), ", ".join(absent)])
    show_table("Artefacts", ["name", "what it is", "data at hand", "data not at hand"], cells, left=4)
    files = sorted({file for name in sources.NAMES for file in lacking[name]})
    if files:
        console().print(f"Files not at hand: {', '.join(files)}. --data or DISCREET_DATA names their folder.")


def _told(one: Artefact, lacking: dict[str, list[str]]) -> dict[str, object]:
    names = (*one.paper, *one.instead)
    return {"name": one.name, "title": one.title, "data": {name: not lacking[name] for name in names}}


def reproduce_artefacts(
    names: tuple[str, ...], settings: Settings, workshop: Workshop, *, everything: bool, as_json: bool
) -> None:
    """Make artefacts, and show for each of the papers' findings whether it holds."""
    if not everything and not names:
        raise ParameterError("name at least one artefact, or pass --all instead; --list shows them.")
    if everything and any("/" in name for name in names):
        raise ParameterError(
            "--all makes every artefact, or every one of a family such as pie; leave out one of the two."
        )
    if settings.runs is not None and settings.runs < 1:
        raise ParameterError(f"runs must be at least 1, got runs={settings.runs}.")
    chosen = list({one.name: one for name in names for one in family(name)}.values())
    if everything or any(name not in ARTEFACTS for name in names):
        wanted = chosen or list(ARTEFACTS.values())
        chosen = [one for one in wanted if one.name in names or usable(one, workshop)]
        _say_idle([one.name for one in wanted if one not in chosen])
    used = {name for one in chosen for name in (*one.paper, *one.instead)}
    if idle := [name for name in workshop.names if name not in used]:
        raise ParameterError(f"--only names {idle[0]}, which none of these artefacts uses; leave it out.")
    made = []
    for one in chosen:
        with progress_bar(one.name) as progress:
            made.append(make(one, settings, workshop, lambda what, *at: progress(f"{one.name}: {what}", *at)))  # noqa: B023
        if not as_json:
            _show(made[-1])
    if as_json:
        show_json([_facts(one) for one in made])
    else:
        console().print(f"Report: {workshop.report}")


def _say_idle(names: list[str]) -> None:
    if names:
        click.echo(f"Note: no data at hand for {', '.join(names)}.", err=True)


def _facts(made: Made) -> dict[str, object]:
    findings = [
        {
            "data": one.data,
            "claim": one.claim,
            "measured": one.measured,
            "number": one.number,
            "relation": one.relation,
            "threshold": one.threshold,
            "holds": one.holds,
        }
        for one in made.findings
    ]
    return {"artefact": made.artefact.name, "files": [str(file) for file in made.files], "findings": findings}


def _show(made: Made) -> None:
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
    title = f"{made.artefact.title}: {made.artefact.name}"
    if cells:
        show_table(title, headings, cells, left=3)
    else:
        console().print(title)
    for table in made.artefact.tables(made.results):
        show_table(table.caption, list(table.heads), [list(row) for row in table.rows], left=table.left)
    console().print("Written: " + ", ".join(str(file) for file in made.files))
