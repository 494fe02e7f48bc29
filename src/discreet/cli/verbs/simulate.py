"""The commands ``simulate`` and ``examples``."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from discreet.cli import options
from discreet.cli.commands import Subcommand
from discreet.cli.options import progress_bar
from discreet.cli.output import InputFile, OutputFolder, show
from discreet.core.random import SeededRandom
from discreet.core.result_table import ResultTable
from discreet.simulation.pages import save_findings
from discreet.simulation.study import Findings, Study, copy_examples, run_study

FOLDER = OutputFolder("page.html", "chart.png", "results.json")
"""The folder of a study's findings."""


def _folder(ctx: click.Context, _: click.Parameter, output: Path | None) -> Path:
    return Path("out") / ctx.params["study"].stem if output is None else output


@click.command(cls=Subcommand, epilog="Example: discreet simulate examples/census.toml")
@click.argument("study", type=InputFile())
@click.option("-o", "--output", type=FOLDER, callback=_folder, help="Folder for page, picture and numbers. [out/STUDY]")
@options.seed
@options.force
def simulate(study: Path, *, output: Path, seed: int | None, force: bool) -> None:
    """Obfuscate known values, estimate, and compare with the truth.

    STUDY is a TOML or JSON file such as examples/census.toml. The command writes page.html, chart.png and results.json.
    """
    random = None if seed is None else SeededRandom(seed)
    read = Study.load(study)
    with progress_bar("starting") as progress:
        findings = Findings(read, run_study(read, random=random, progress=progress))
        progress("drawing", 1, 1)
        written = save_findings(findings, output, force=force)
    show(findings.table().records(), _parts(findings, written))


def _parts(findings: Findings, written: Sequence[Path]) -> Iterator[str | ResultTable]:
    document = findings.study.document
    if document.about:
        yield document.about + "\n"
    yield from (f"  - {sentence}" for sentence in findings.sentences())
    yield ""
    yield findings.table()
    yield ""
    for run in findings.compared:
        yield f"{run.mechanism.name}: {run.mechanism.guarantee}\n"
    yield "Written: " + ", ".join(map(str, written))


@click.command(cls=Subcommand, epilog="Example: discreet examples examples")
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@options.force
def examples(folder: Path, *, force: bool) -> None:
    """Copy the examples of the documentation into FOLDER.

    The examples are plans, a study of real people, and small tables.
    """
    files = copy_examples(folder, force=force)
    sentences = [
        f"Copied {len(files)} files to {folder}: {', '.join(file.name for file in files)}.",
        f"For a start: discreet init {folder / 'answers.csv'} --column age --all-sensitive --epsilon 1 -o plan.toml",
        f"With charts (pip install 'discreet[plot]'): discreet simulate {folder / 'census.toml'}",
    ]
    show({"files": files}, sentences)
