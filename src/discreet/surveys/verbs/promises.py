"""The commands ``survey verify`` and ``survey risk``: epsilon and identification from all answers of a person."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from math import log2
from pathlib import Path
from typing import Any

import click

from discreet.cli.commands import Subcommand
from discreet.cli.options import Count, allow_outside
from discreet.cli.output import InputFile, alike_in
from discreet.cli.results import CommandResult
from discreet.cli.verbs.verify import (
    MEMO,
    SEALED,
    Batches,
    check_sealed_files,
    verification,
)
from discreet.core.result_table import ResultColumn, ResultTable, number_of
from discreet.engines import LocalEngine
from discreet.formats.sources import Sources
from discreet.privacy.notions import logarithm
from discreet.privacy.verify import epsilon_text
from discreet.risk.bounds.identification import Bound, at_most
from discreet.risk.verbs.gates import FAIL_ABOVE, end_above
from discreet.surveys.answers import Answers
from discreet.surveys.estimating import estimate_survey
from discreet.surveys.guarantees import verify_survey
from discreet.surveys.risk import ClearInformation, clear_information, survey_bounds
from discreet.surveys.sources import files_by_question
from discreet.surveys.survey import Survey
from discreet.surveys.verbs.together import SURVEY, SurveyOptions, load_survey
from discreet.theory.memo import CHANGES_ARE_VISIBLE


@click.command(cls=Subcommand, epilog="Example: discreet survey verify survey.toml")
@SurveyOptions.options
@Batches.options
@MEMO
@SEALED
@allow_outside
def verify(asked: SurveyOptions, batches: Batches, *, memo: float | None, sealed: str | Path | None) -> None:
    """Recompute the epsilons of SURVEY, and check its promise.

    The epsilon of every question is recomputed from the integers of its sampler. So is the epsilon of all answers of a
    person together.

    The exit code is 1 if a promise is broken. --memo and --statement need --question.
    """
    document = asked.document(["memo", "statement"])
    if sealed is not None:
        result = asked.result(document, asked.files(document, [sealed]), check_sealed_files)
    elif asked.question is not None:
        result = verification(document.plan(asked.question), batches, memo)
    else:
        result = _verification(document.survey())
    result.finish(None, batches.plot, force=batches.force)


def _verification(survey: Survey) -> CommandResult:
    """Return the verification of all questions and of the survey's promise. Exit code 1 means a broken promise."""
    verification = verify_survey(survey)
    rows = verification.questions.items()
    column = partial(ResultColumn.of, verification.questions.values())
    columns = [
        ResultColumn("question", list(verification.questions), "text"),
        column("promised", "promised", "promised", ".17g"),
        column("realised", "realised", "realised", ".17g"),
        column("from_matrix", "from_matrix"),
        column("", "from_matrix", "from the matrix", epsilon_text),
        column("holds", "holds"),
    ]
    table = ResultTable("The integers of the samplers, question by question", columns)
    record, each = logarithm(verification.record), {n: logarithm(r) for n, r in verification.attributes.items()}
    names = {"promise": survey.promise, "promised": survey.epsilon, "record": record, "attributes": each}
    result = {"plan": survey.fingerprint, **names, "questions": table.records()}
    if survey.rounds is not None:
        result["rounds"] = [{"rounds": t, "epsilon": logarithm(ratio)} for t, ratio in verification.rounds.items()]
    verdict = "holds" if verification.holds else "is broken"
    sentences: list[str | ResultTable] = [
        table,
        *(f"Broken: {name}: {fault}" for name, row in rows for fault in row.faults),
        f"Epsilon of all answers of one person: {record:.17g}.",
        f"For records that differ in one attribute: {', '.join(f'{name} {e:.12g}' for name, e in each.items())}.",
        f"The promise of epsilon {survey.epsilon:g} per {survey.promise} {verdict}.",
        *(
            f"Epsilon of all answers of one person in {number_of(t, 'round')}: {logarithm(r):.17g}."
            for t, r in verification.rounds.items()
        ),
        *([CHANGES_ARE_VISIBLE] if survey.memos else []),
    ]
    alike, named = alike_in({question.name: question.mechanism.domain for question in survey.questions})
    record_of_all = {**result, **named, "holds": verification.holds}
    return CommandResult(lambda: record_of_all, [*sentences, *alike], code=0 if verification.holds else 1)


@click.command(cls=Subcommand, epilog="Example: discreet survey risk survey.toml reports --users 100000")
@SURVEY
@click.argument("reports", nargs=-1, type=InputFile(urls=True))
@click.option("--users", type=Count(1), required=True, help="Number of people, one of whom is to be identified.")
@click.option("--limit", type=float, default=0.1, help="Warn if values in clear reveal more than this, in bits.")
@FAIL_ABOVE
@allow_outside
def risk(survey: Path, reports: tuple[str | Path, ...], *, users: int, limit: float, fail_above: float | None) -> None:
    """Bound the identification risk of all answers to SURVEY.

    With REPORTS, the command also estimates how much values in clear reveal about other attributes.

    REPORTS are files of reports or tallies. Attributes that one question asks together are estimated by method joint.
    """
    asked = load_survey(survey).survey()
    (pie, named), answers = survey_bounds(asked, users), _joint_answers(asked, reports)

    def table(names: tuple[str, ...]) -> Any:
        with suppress(KeyError):
            return None if answers is None else answers[names].frequencies
        return None

    clear = list(clear_information(asked, table))
    bounds = {"users": users, "pie_at_most_bits": pie.value, "identification_at_most": named.value}
    record = {"plan": asked.fingerprint, **asked.guarantee.to_dict(), **bounds, "limit": limit}
    record |= {"in_clear": _clear_table(clear).records()}
    CommandResult(lambda: record, _risk_parts(asked, pie, named, users, clear, limit)).show()
    if fail_above is not None and named.value > fail_above:
        end_above(f"The identification risk, at most {named.value:.4g}, is above {fail_above:g}.")


def _joint_answers(survey: Survey, reports: Sequence[str | Path]) -> Answers | None:
    """Return the joint estimate from the reports; None without reports."""
    if not reports:
        return None
    engine, data = LocalEngine(), {}
    for name, files in files_by_question(survey, reports).items():
        mechanism, read = survey.question(name).mechanism, Sources(files)
        suffices = mechanism.tally_suffices
        data[name] = engine.tally(mechanism, read).tally if suffices else engine.evidence(mechanism, read)[0]
    return estimate_survey(survey, data, method="joint")


def _clear_table(clear: Sequence[ClearInformation]) -> ResultTable:
    """Return the table of the information about attributes in values in clear."""
    column = partial(ResultColumn.of, clear)
    columns = [
        column("attribute", "attribute", "attribute", kind="text"),
        column("question", "question", "question, in clear", kind="text"),
        column("share", "share", "asked", ".2%"),
        column("bits", "bits", "bits", ".3g"),
        column("entropy", "entropy", "of bits", ".3g"),
    ]
    return ResultTable("Estimated information about attributes in values in clear, per person asked", columns)


def _risk_parts(
    survey: Survey, pie: Bound, named: Bound, users: int, clear: Sequence[ClearInformation], limit: float
) -> Iterator[str | ResultTable]:
    """Yield the bounds on identification, the table of information in clear, and warnings about questions."""
    yield str(survey.guarantee)
    yield (
        f"An adversary who sees all reports of one of {users:,} people identifies this person with probability "
        f"{at_most(named.value)} ({1 / users:.4g} for a blind guess). The reports reveal "
        f"{at_most(pie.value, log2(users), otherwise='perhaps all')} of the {log2(users):.4g} bits that identify a "
        "person. Noise must be fresh in each report."
    )
    known = [each for each in clear if each.bits is not None]
    if clear and not known:
        yield "To estimate what values in clear reveal about other attributes, give REPORTS too."
    if known:
        yield _clear_table(known)
    above = [f"{each.question} about {each.attribute}" for each in known if (each.bits or 0.0) > limit]
    yield from [f"MORE THAN {limit:g} BITS in values in clear: {'; '.join(above)}."] if above else []
    unknown = [f"{each.question} about {each.attribute}" for each in clear if each.bits is None]
    yield from ([f"Unknown, as no answered question has both: {'; '.join(unknown)}."] if unknown and known else [])
