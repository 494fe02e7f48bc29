"""Loading of plans by verbs: their files must lie beside them or below, unless ``--allow-outside`` is given."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from discreet.io.plan import Plan

_ALLOWED = "discreet.allow_outside"


def _note(ctx: click.Context, _: click.Parameter, given: bool) -> None:
    ctx.meta[_ALLOWED] = given


allow_outside = click.option(
    "--allow-outside",
    is_flag=True,
    expose_value=False,
    callback=_note,
    help="Let the plan name files that are neither beside it nor below.",
)


def allows_outside() -> bool:
    """Return true if the running verb was given ``--allow-outside``."""
    ctx = click.get_current_context(silent=True)
    return ctx is not None and bool(ctx.meta.get(_ALLOWED, False))


def load_plan(path: Path) -> "Plan":
    """Read a plan, with files outside its folder if the running verb allows them.

    Raises:
        ParameterError: if it cannot be read or says what it may not; it names the place.
    """
    from discreet.io.plan import Plan

    return Plan.load(path, allow_outside=allows_outside())
