"""The verb ``attest``: a page on a plan, a signed collection or a survey, for privacy officers."""

import json
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import click

from discreet.cli.commands import Subcommand
from discreet.cli.options import Count, allow_outside, allows_outside, force, refuse_idle
from discreet.cli.output import InputFile, OutputFile, OutputPlace, written
from discreet.cli.results import CommandResult
from discreet.collector.documents.attestation import Attestation
from discreet.collector.documents.signing import plan_of
from discreet.collector.verbs.parameters import TRUST, opened_file, spelled_key
from discreet.device.protocol.envelope import signers
from discreet.files.paths import PAGES, checked_output
from discreet.files.writing import replacing
from discreet.formats.plan import Plan
from discreet.privacy.audit import audit
from discreet.surveys.documents import Questionnaire, load
from discreet.surveys.verbs.together import UNPROTECTED, each_file, files_in_folder, together

# Of audits: one page in a million denies what holds.
_SURE = 0.999999
# Of more values reports may take minutes.
_DRAWS, _MOST_DRAWN = 100_000, 1000


@click.command(cls=Subcommand, epilog="Example: discreet attest plan.toml -o attestation.html")
@click.argument("plan", metavar="PLAN|SURVEY|COLLECTION", type=InputFile())
@click.option(
    "-o",
    "--output",
    required=True,
    type=OutputFile("attestations", PAGES, folders=True),
    help="File for the page: .html. For a survey: folder for a page on each question.",
)
@click.option("--users", type=Count(1), help="Number of people in the crowd. [a collection's least, or 1000]")
@click.option(
    "--draws",
    type=Count(0),
    help=f"Number of reports drawn to test the promise. [{_DRAWS}, or 0 for more than {_MOST_DRAWN} values]",
)
@TRUST
@force
@allow_outside
def attest(
    plan: Path, output: Path, *, users: int | None, draws: int | None, trust: tuple[bytes, ...], force: bool
) -> None:
    """Write a page on a plan or collection for privacy officers.

    PLAN may be a signed collection. The exit code is 1 if the promise does not hold.

    The page lists the question and the protected answers, the promised and the realised epsilon, the effect of
    publishing, the risk of identification, and the limits of the protection. It ends with a place to sign and all
    sensitive values. A survey gets a page for each question.
    """
    if _is_collection(plan):
        refuse_idle(["allow_outside"], "a collection names no files")
        collection = opened_file(plan, trust)
        keys = [spelled_key(key) for key in signers(collection.envelope) if key in trust or not trust]
        known = "trusted by whoever made this page" if trust else "nobody checked whose keys these are"
        attested = Attestation(plan_of(collection), collection, tuple(keys), known, users=users)
    else:
        refuse_idle(["trust"], "a plan is not signed")
        document = load(plan, allow_outside=allows_outside())
        if not isinstance(document, Plan):
            _attest_survey(document, output, users, draws, force=force)
            return
        attested = Attestation(document, users=users)
    checked_output(output, PAGES, "attestations")
    with replacing(output, force=force) as beside:
        result = _page(attested, draws, beside, output)
    result.show()


def _page(attested: Attestation, draws: int | None, beside: Path, output: Path) -> CommandResult:
    """Write the page of an attestation beside its place, and return what the page says."""
    if draws is None:
        draws = _DRAWS if attested.mechanism.domain.size <= _MOST_DRAWN else 0
    if draws and attested.holds:
        attested = replace(attested, audit=audit(attested.mechanism, draws=draws, confidence=_SURE))
    beside.write_text(attested.page(), encoding="utf-8")
    parts = [attested.heading, *attested.answer, *written(output)]
    return CommandResult(attested.to_dict, parts, code=0 if attested.holds else 1)


def _attest_survey(document: Questionnaire, output: Path, users: int | None, draws: int | None, *, force: bool) -> None:
    """Write a page on each question of a survey that protects something into a folder."""
    survey = document.survey()
    names = [question.name for question in survey.questions if question.epsilon]
    places = files_in_folder(survey, output, OutputPlace("attestations", PAGES), names)

    def attested(plan: Plan, _: str, target: Path, beside: Path) -> CommandResult:
        return _page(Attestation(plan, users=users, survey=survey), draws, beside, target)

    results = each_file(document, {name: name for name in names}, places, attested, force=force)
    together(document, results, lacking=UNPROTECTED).show()


def _is_collection(path: Path) -> bool:
    """Return true for a signed collection; whatever cannot be read is taken for a plan, whose reader says why."""
    with suppress(OSError, ValueError):
        return "signatures" in json.loads(path.read_bytes())
    return False
