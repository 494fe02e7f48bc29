"""The verbs ``simulate`` and ``examples``."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from discreet.cli import options
from discreet.cli.commands import Verb
from discreet.cli.options import load_plan_or_survey, progress_bar, refuse_idle
from discreet.cli.output import InputFile, OutputFolder, Table, check_output, show
from discreet.cli.readings import read_as_record, read_as_table
from discreet.core.random import SeededRandom
from discreet.errors import ParameterError
from discreet.simulation.pages import save_findings
from discreet.simulation.study import Findings, Study, copy_examples, rows, run_study, table
from discreet.surveys.documents import Questionnaire, is_survey, question_files
from discreet.surveys.obfuscation import survey_codes
from discreet.surveys.studies import survey_studies
from discreet.surveys.verbs.surveys import survey_facts
from discreet.tables.values import ReadAs

_FOLDER = OutputFolder("page.html", "chart.png", "results.json")


def _folder(ctx: click.Context, _: click.Parameter, output: Path | None) -> Path:
    return Path("out") / ctx.params["study"].stem if output is None else output


@click.command(cls=Verb)
@click.argument("study", type=InputFile())
@click.option(
    "-o", "--output", type=_FOLDER, callback=_folder, help="Folder for page, picture and numbers [out/STUDY]."
)
@click.option(
    "--people", type=InputFile(urls=True), help="STUDY is a survey, and this the table of its people: draw who answers."
)
@click.option("--as-read", is_flag=True, help="With --people: take a text for the only label that reads alike.")
@options.seed
@options.force
def simulate(
    study: Path, people: str | Path | None, *, output: Path, as_read: bool, seed: int | None, force: bool
) -> None:
    """Obfuscate people whose values are known, estimate, and compare with the truth.

    STUDY is a TOML or JSON file such as examples/census.toml. Writes page.html, chart.png and results.json; of a survey
    into a folder for each question.
    """
    random = None if seed is None else SeededRandom(seed)
    if people is not None:
        _simulate_survey(study, people, output, random, ReadAs() if as_read else None, force=force)
        return
    refuse_idle(["as_read"], "it is for the table of --people")
    try:
        read = Study.load(study)
    except ParameterError:
        if is_survey(study):
            raise ParameterError(f"{study} is a survey; --people must name the table of its people.") from None
        raise
    with progress_bar("starting") as progress:
        findings = Findings(read, run_study(read, random=random, progress=progress))
        progress("drawing", 1, 1)
        written = save_findings(findings, output, force=force)
    show(list(rows(read, findings.outcomes)), _parts(findings, written))


def _simulate_survey(
    path: Path, people: str | Path, output: Path, random: SeededRandom | None, read_as: ReadAs | None, *, force: bool
) -> None:
    """Draw who of some people answers which question, and print and write what comes of each."""
    document = load_plan_or_survey(path)
    if not isinstance(document, Questionnaire):
        raise ParameterError(f"--people goes with a survey, and {path} is a plan; examples/census.toml is a study.")
    survey = document.survey()
    folders = {name: output / file for name, file in question_files([q.name for q in survey.questions], "").items()}
    for folder in folders.values():
        check_output(_FOLDER, folder, force=force)
    results, cells, written = {}, [], list[Path]()
    with progress_bar("starting") as progress:
        for name, study, codes in survey_studies(document, survey_codes(people, document, read_as=read_as), random):
            findings = Findings(study, run_study(study, codes=codes, random=random, progress=progress))
            written += save_findings(findings, folders[name], force=force)
            (results[name],), (headings, (row,)) = list(rows(study, findings.outcomes)), table(findings)
            cells.append([name, f"{results[name]['users']:,}", *row[1:]])
    show(
        {"plan": survey.fingerprint, **survey_facts(survey), "questions": results, **read_as_record(read_as or {})},
        [
            *read_as_table(read_as or {}),
            Table(document.document.title or "Survey", ["question", "answered", *headings[1:]], cells),
            "MSE / expected: squared error of the linear estimate over its exact expectation for those who were drawn.",
            str(survey.guarantee),
            "Written: " + ", ".join(map(str, written)),
        ],
    )


def _parts(findings: Findings, written: Sequence[Path]) -> Iterator[str | Table]:
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


@click.command(cls=Verb)
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@options.force
def examples(folder: Path, *, force: bool) -> None:
    """Copy the examples of the documentation into FOLDER: plans, a study of real people, and small tables."""
    files = copy_examples(folder, force=force)
    sentences = [
        f"Copied {len(files)} files to {folder}: {', '.join(file.name for file in files)}.",
        f"For a start: discreet init {folder / 'answers.csv'} --column age --all-sensitive --epsilon 1 -o plan.toml",
        f"With charts (pip install 'discreet[plot]'): discreet simulate {folder / 'census.toml'}",
    ]
    show({"files": files}, sentences)
