"""The verb ``audit``."""

from pathlib import Path

import click

from discreet.cli import options
from discreet.cli.group import Verb
from discreet.cli.output import show
from discreet.cli.output_files import InputFile
from discreet.cli.parameters import Count
from discreet.cli.plans import allow_outside, load_plan


@click.command(cls=Verb)
@click.argument("plan", type=InputFile())
@click.option("--draws", type=Count(), default=1_000_000, show_default=True, help="How many reports to draw.")
@click.option("--confidence", type=float, default=0.999, show_default=True, help="Of the lower bound on epsilon.")
@options.seed
@allow_outside
@options.as_json
def audit(plan: Path, *, draws: int, confidence: float, seed: int | None, as_json: bool) -> None:
    """Draw reports under PLAN and bound epsilon from below by what they show; exit with 1 if the promise is broken."""
    from discreet.cli.views.audit import AuditedPlan, audit_parts
    from discreet.core.random import SeededRandom
    from discreet.privacy.audit import audit as audited

    mechanism = load_plan(plan).mechanism()
    random = None if seed is None else SeededRandom(seed)
    found = audited(mechanism, draws=draws, confidence=confidence, random=random)
    show(AuditedPlan.of(found, mechanism), audit_parts(found, mechanism), as_json=as_json)
    if not found.holds:
        raise click.exceptions.Exit(1)
