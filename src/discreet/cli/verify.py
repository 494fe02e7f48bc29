"""The verb ``verify``."""

from pathlib import Path

import click

from discreet.cli import options
from discreet.cli.group import Verb
from discreet.cli.output import show
from discreet.cli.output_files import InputFile
from discreet.cli.plans import allow_outside, load_plan


@click.command(cls=Verb)
@click.argument("plan", type=InputFile())
@allow_outside
@options.as_json
def verify(plan: Path, *, as_json: bool) -> None:
    """Recompute the realised epsilon of PLAN from the sampler's integers; exit with 1 if the promise is broken."""
    from discreet.cli.views.verification import VerifiedPlan, verification_parts
    from discreet.privacy.verify import verify as verified

    mechanism = load_plan(plan).mechanism()
    found = verified(mechanism)
    show(VerifiedPlan.of(found, mechanism), verification_parts(found, mechanism), as_json=as_json)
    if not found.holds:
        raise click.exceptions.Exit(1)
