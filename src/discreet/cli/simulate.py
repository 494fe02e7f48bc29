"""The verb ``simulate``."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from discreet.cli import options
from discreet.cli.group import Verb
from discreet.cli.output import Table, show
from discreet.cli.output_files import InputFile, OutputFolder
from discreet.cli.progress import progress_bar

if TYPE_CHECKING:
    from discreet.simulation.findings import Findings

_FOLDER = OutputFolder("page.html", "chart.png", "results.json")


def _folder(ctx: click.Context, _: click.Parameter, output: Path | None) -> Path:
    return Path("out") / ctx.params["study"].stem if output is None else output


@click.command(cls=Verb)
@click.argument("study", type=InputFile())
@click.option(
    "-o", "--output", type=_FOLDER, callback=_folder, help="Folder for page, picture and numbers [out/STUDY]."
)
@options.seed
@options.force
@options.as_json
def simulate(study: Path, *, output: Path, seed: int | None, force: bool, as_json: bool) -> None:
    """Obfuscate people whose values are known, estimate, and compare with the truth.

    STUDY is a TOML or JSON file such as examples/census.toml. Writes page.html, chart.png and results.json.
    """
    from discreet.core.random import SeededRandom
    from discreet.simulation.findings import Findings
    from discreet.simulation.saving import save_findings
    from discreet.simulation.study import Study, rows, run_study

    read = Study.load(study)
    random = None if seed is None else SeededRandom(seed)
    with progress_bar("starting") as progress:
        findings = Findings(read, run_study(read, random=random, progress=progress))
        progress("drawing", 1, 1)
        written = save_findings(findings, output, force=force)
    show(list(rows(read, findings.outcomes)), _parts(findings, written), as_json=as_json)


def _parts(findings: "Findings", written: Sequence[Path]) -> Iterator[str | Table]:
    from discreet.simulation.findings import table

    document = findings.study.document
    if document.about:
        yield document.about + "\n"
    yield from (f"  - {sentence}" for sentence in findings.sentences())
    yield ""
    yield Table(document.title, *table(findings), left=2)
    yield "MSE / expected: squared error of the linear estimate over its exact expectation. Worst s.e.: its largest"
    yield "standard error. TV: share of the people that an estimate puts in the wrong place, by estimator.\n"
    for run in findings.compared:
        yield f"{run.mechanism.name}: {run.mechanism.guarantee}\n"
    yield "Written: " + ", ".join(map(str, written))
