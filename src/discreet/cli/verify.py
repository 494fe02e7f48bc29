"""The verb ``verify``."""

from pathlib import Path

import click

from discreet.cli import options
from discreet.cli.group import Verb
from discreet.cli.output import show
from discreet.cli.output_files import InputFile
from discreet.cli.plans import allow_outside, load_plan
from discreet.cli.views.sealed import verify_sealed


@click.command(cls=Verb)
@click.argument("plan", type=InputFile())
@click.option(
    "--sealed", type=InputFile(urls=True), help="Check a sealed file of reports, or a folder of them, instead."
)
@allow_outside
@options.as_json
def verify(plan: Path, *, sealed: str | Path | None, as_json: bool) -> None:
    """Recompute the realised epsilon of PLAN from the sampler's integers; exit with 1 if the promise is broken."""
    from discreet.cli.views.verification import VerifiedPlan, verification_parts
    from discreet.privacy.verify import verify as verified

    mechanism = load_plan(plan).mechanism()
    if sealed is not None:
        verify_sealed(mechanism, sealed, as_json=as_json)
        return
    found = verified(mechanism)
    show(VerifiedPlan.of(found, mechanism), verification_parts(found, mechanism), as_json=as_json)
    if not found.holds:
        raise click.exceptions.Exit(1)
