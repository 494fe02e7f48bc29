"""The limit of identification risk above which a verb exits with 1."""

from math import isfinite

import click

from discreet.errors import ParameterError


def _checked_limit(_: click.Context, __: click.Parameter, limit: float | None) -> float | None:
    if limit is not None and not (isfinite(limit) and 0 <= limit < 1):
        raise ParameterError("fail-above.out-of-range", argument="fail_above", limit=limit)
    return limit


FAIL_ABOVE = click.option(
    "--fail-above",
    type=float,
    callback=_checked_limit,
    help="Exit with 1 if the identification risk may be above this.",
)


def end_above(sentence: str) -> None:
    """Print a sentence on a risk above the limit on the error stream, and exit with 1."""
    click.echo(sentence, err=True)
    raise click.exceptions.Exit(1)
