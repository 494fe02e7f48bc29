"""The commands ``survey obfuscate`` and ``survey simulate``, which draw the questions that each person answers."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path

import click

from discreet.cli import options
from discreet.cli.commands import Subcommand
from discreet.cli.options import AS_READ, FLOAT32, Written, allow_outside, option, progress_bar, refuse_idle
from discreet.cli.output import (
    SIMULATED_REPORTS,
    InputFile,
    OutputFile,
    OutputPlace,
    read_as_record,
    read_as_table,
    show,
)
from discreet.cli.verbs.obfuscate import KEEP, checked_float32, kept_sentences, value_source
from discreet.cli.verbs.simulate import FOLDER
from discreet.core.random import SeededRandom
from discreet.core.result_table import ResultTable
from discreet.errors import ParameterError
from discreet.files.paths import REPORTS
from discreet.simulation.pages import save_findings
from discreet.simulation.study import Findings, run_study
from discreet.surveys.documents import question_files
from discreet.surveys.obfuscation import obfuscate_survey, survey_codes, survey_columns
from discreet.surveys.studies import survey_studies
from discreet.surveys.survey import Survey
from discreet.surveys.verbs.together import SURVEY, check_folder_name, load_survey
from discreet.tables.values import ReadAs


@dataclass(frozen=True, slots=True)
class _Columns(Written):
    """Options for reading the table, and for columns that are not attributes."""

    user: str | None = option("--user", metavar="COLUMN", help="For surveys in rounds: column of the people.")
    round: str | None = option("--round", metavar="COLUMN", help="For surveys in rounds: column of the rounds.")
    keep: tuple[str, ...] = option("--keep", **KEEP)
    as_read: bool = option("--as-read", **AS_READ)
    float32: bool = option("--float32", **FLOAT32)

    def of_rounds(self, survey: Survey) -> tuple[str, str] | None:
        """Return the columns of people and of rounds; None for a survey without rounds."""
        if survey.rounds is None:
            refuse_idle(["user", "round"], "this survey has no rounds")
            return None
        if self.user is None or self.round is None:
            raise ParameterError("rounds.without-columns")
        return self.user, self.round


@click.command(cls=Subcommand, epilog="Example: discreet survey obfuscate survey.toml people.csv -o reports")
@SURVEY
@click.argument("people", type=InputFile(urls=True))
@click.option(
    "-o",
    "--output",
    required=True,
    type=OutputFile("reports", REPORTS, piped=True, folders=True),
    help="Folder for the reports, with a file for each question.",
)
@_Columns.options
@options.seed
@options.force
@allow_outside
def obfuscate(survey: Path, people: Path, columns: _Columns, *, output: Path, seed: int | None, force: bool) -> None:
    """Obfuscate a table of PEOPLE under SURVEY.

    Each person answers the questions that are drawn. Each question has a file of reports.

    PEOPLE is a table with a column for each attribute, on this machine or at a URL. - reads CSV or JSON lines from
    standard input. Each row is a person; in a survey in rounds, a person in one round. Rows without a value cannot be
    left out: the survey must name a label for missing values (its field missing).

    Columns of --keep are for --by and --weights of discreet survey estimate. They are public and not protected. Many of
    them together can identify people.
    """
    document = load_survey(survey)
    asked = document.survey()
    rounds = columns.of_rounds(asked)
    check_folder_name(output, OutputPlace("reports", REPORTS))
    read_as, beside = ReadAs(), (*columns.keep, *(rounds or ()))
    reading = {"as_read": columns.as_read, "float32": columns.float32, "spelling": columns.spelling}
    with progress_bar("obfuscating") as progress:
        written = obfuscate_survey(
            asked,
            value_source(people),
            output,
            checked_float32(survey_columns(document, beside, **reading)),
            rounds=rounds,
            seed=seed,
            force=force,
            progress=partial(progress, "obfuscating"),
            read_as=read_as,
        )
    count = sum(written.values()) // asked.answers
    counted = {"people" if rounds is None else "answers": count, "reports": written}
    result = {**counted, "output": output, "plan": asked.fingerprint}
    cells = [[name, file, f"{written[name]:,}"] for name, file in question_files(written).items()]
    whose = "people" if rounds is None else "people and rounds"
    title = f"{count:,} {whose}, {asked.answers} of {len(written)} questions each"
    sentences: list[str | ResultTable] = [
        *read_as_table(read_as),
        f"Reports of survey {asked.fingerprint[:12]} written to {output}.",
        str(asked.guarantee),
        "Do this once: if you obfuscate the same people again, both epsilons add up.",
        *kept_sentences(columns.keep),
        *([SIMULATED_REPORTS] if seed is not None else []),
    ]
    listed = ResultTable.of(title, ["question", "file", "reports"], cells, left=2)
    result |= {"simulated": seed is not None, "kept": list(columns.keep), **read_as_record(read_as)}
    show(result, [listed, *sentences])


def _folder(ctx: click.Context, _: click.Parameter, output: Path | None) -> Path:
    return Path("out") / ctx.params["survey"].stem if output is None else output


@click.command(cls=Subcommand, epilog="Example: discreet survey simulate survey.toml people.csv -o out")
@SURVEY
@click.argument("people", type=InputFile(urls=True))
@click.option(
    "-o", "--output", type=FOLDER, callback=_folder, help="Folder for a folder of each question. [out/SURVEY]"
)
@_Columns.only("as_read")
@_Columns.only("float32")
@options.seed
@options.force
@allow_outside
def simulate(
    survey: Path, people: str | Path, *, output: Path, as_read: bool, float32: bool, seed: int | None, force: bool
) -> None:
    """Obfuscate known PEOPLE, estimate, compare with the truth.

    Every question of SURVEY is estimated.

    PEOPLE is a table with a column for each attribute. The questions of each person are drawn. The command writes
    page.html, chart.png and results.json into a folder for each question.
    """
    random, read_as = None if seed is None else SeededRandom(seed), ReadAs() if as_read else None
    document = load_survey(survey)
    asked = document.survey()
    folders = {name: output / file for name, file in question_files([q.name for q in asked.questions], "").items()}
    for folder in folders.values():
        FOLDER.check(folder, force=force)
    results, cells, written = {}, [], list[Path]()
    columns = checked_float32(survey_columns(document, as_read=as_read, float32=float32))
    with progress_bar("starting") as progress:
        for name, study, codes in survey_studies(document, survey_codes(people, columns, read_as=read_as), random):
            findings = Findings(study, run_study(study, codes=codes, random=random, progress=progress))
            written += save_findings(findings, folders[name], force=force)
            table = findings.table()
            (results[name],), (headings, row) = table.records(), table.cells()
            cells.append([name, f"{results[name]['users']:,}", *row[1:]])
    show(
        {"plan": asked.fingerprint, **asked.guarantee.to_dict(), "questions": results, **read_as_record(read_as or {})},
        [
            *read_as_table(read_as or {}),
            ResultTable.of(document.document.title or "Survey", ["question", "answered", *headings[1:]], cells),
            "MSE / expected: squared error of the linear estimate over its exact expectation for those who were drawn.",
            str(asked.guarantee),
            "Written: " + ", ".join(map(str, written)),
        ],
    )
