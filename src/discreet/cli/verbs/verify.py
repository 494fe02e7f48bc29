"""``discreet verify`` and ``discreet audit``.

The verb ``verify``.

The verb ``audit``.
"""

from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import click

from discreet.cli import options
from discreet.cli.group import Verb, given_options
from discreet.cli.options import Count, allow_outside, load_plan
from discreet.cli.output import InputFile, show, written
from discreet.cli.views.verification import verify_sealed
from discreet.errors import ParameterError
from discreet.files.paths import PICTURES, spelled

if TYPE_CHECKING:
    from discreet.formats.plan import Plan
    from discreet.privacy.publication import Answers, Publication

_OF_BATCHES = ("delta", "rounds", "not_trusted", "plot", "force")


@click.command(cls=Verb)
@click.argument("plan", type=InputFile())
@click.option("--shuffled", type=Count(1), metavar="N", help="Also state what N reports without names and order tell.")
@click.option(
    "--delta",
    type=float,
    help="With --shuffled: what is left out, as delta and as a chance, below 1/N. [1e-6, or 0.1/N]",
)
@click.option(
    "--rounds",
    type=Count(1),
    default=1,
    show_default=True,
    help="With --shuffled: batches that hold a report of the same person, with fresh noise each.",
)
@click.option(
    "--not-trusted",
    type=Count(0),
    default=0,
    show_default=True,
    help="With --shuffled: reports of the N that hide nobody (known, faked, made elsewhere).",
)
@click.option("--plot", type=options.PICTURE, help=f"With --shuffled: picture of the curve: {spelled(PICTURES)}.")
@click.option(
    "--sealed", type=InputFile(urls=True), help="Check a sealed file of reports, or a folder of them, instead."
)
@options.force
@allow_outside
@options.as_json
def verify(
    plan: Path,
    *,
    shuffled: int | None,
    delta: float | None,
    rounds: int,
    not_trusted: int,
    plot: Path | None,
    sealed: str | Path | None,
    force: bool,
    as_json: bool,
) -> None:
    """Recompute the realised epsilon of PLAN from the sampler's integers; exit with 1 if the promise is broken.

    With --shuffled, also the central guarantee of a batch of so many reports without names and order.
    """
    from discreet.cli.views.verification import VerifiedPlan, verification_parts
    from discreet.privacy.verify import verify as verified

    document, publication = load_plan(plan), None
    mechanism = document.mechanism()
    if sealed is not None:
        _refuse_given(("shuffled", *_OF_BATCHES), "does not go with --sealed")
        verify_sealed(mechanism, sealed, as_json=as_json)
        return
    found = verified(mechanism)
    if shuffled is None:
        _refuse_given(_OF_BATCHES, "goes with --shuffled; name a number of reports")
    elif found.holds:
        # A broken plan promises nothing of its batches either.
        publication = _publication(document, shuffled, rounds, not_trusted, delta)
    _write(publication, plot, force=force)
    parts = chain(verification_parts(found, mechanism, publication), written(None if publication is None else plot))
    show(VerifiedPlan.of(found, mechanism, publication), parts, as_json=as_json)
    if not found.holds:
        raise click.exceptions.Exit(1)


def _refuse_given(names: tuple[str, ...], why: str) -> None:
    given = given_options()
    for name in names:
        if name in given:
            raise ParameterError(f"{given[name]} {why}.")


def _publication(plan: "Plan", n: int, rounds: int, not_trusted: int, delta: float | None) -> "Publication":
    """Return the publication of batches of n reports.

    Raises:
        ParameterError: if nothing is to be stated of them.
    """
    from discreet.privacy.publication import Publication

    mechanism = plan.personalized() if plan.is_personalized else plan.mechanism()
    shown = "the reports without names and order, or anything made of them"
    answers: Answers = "unknown" if rounds == 1 else "fresh"
    made = Publication(mechanism, (n,) * rounds, answers, not_trusted=not_trusted, delta=delta, shown=shown)
    if made.central is None:
        raise ParameterError(f"--shuffled has nothing to state: {made.none}.")
    return made


def _write(publication: "Publication | None", picture: Path | None, *, force: bool) -> None:
    central = None if publication is None else publication.central
    if central is None or picture is None:
        return
    from discreet.files.writing import replacing
    from discreet.pictures.curves import picture_options

    with replacing(picture, force=force) as beside:
        central.plot().save(str(beside), **picture_options(picture))


@click.command(cls=Verb)
@click.argument("plan", type=InputFile())
@click.option("--draws", type=Count(), default=1_000_000, show_default=True, help="How many reports to draw.")
@click.option("--confidence", type=float, default=0.999, show_default=True, help="Of the lower bound on epsilon.")
@options.seed
@allow_outside
@options.as_json
def audit(plan: Path, *, draws: int, confidence: float, seed: int | None, as_json: bool) -> None:
    """Draw reports under PLAN and bound epsilon from below by what they show; exit with 1 if the promise is broken."""
    from discreet.cli.views.verification import AuditedPlan, audit_parts
    from discreet.core.random import SeededRandom
    from discreet.privacy.audit import audit as audited

    mechanism = load_plan(plan).mechanism()
    random = None if seed is None else SeededRandom(seed)
    found = audited(mechanism, draws=draws, confidence=confidence, random=random)
    show(AuditedPlan.of(found, mechanism), audit_parts(found, mechanism), as_json=as_json)
    if not found.holds:
        raise click.exceptions.Exit(1)
