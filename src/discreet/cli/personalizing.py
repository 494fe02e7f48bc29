"""What the verbs do differently under a personalized plan."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from discreet.arrays import IntArray
from discreet.cli.terminal import console, show_table
from discreet.errors import DataError, ParameterError
from discreet.estimators.tags import DROP, IN_CLEAR, TagEstimate
from discreet.io.plan import Plan
from discreet.io.tables import read_distribution, read_owned, read_values
from discreet.mechanisms.personalized import Personalized
from discreet.mechanisms.secret_tags import SimulatedTags

TAG = "tag"
"""The column of a file of tags that says what a value is to its user."""


@contextmanager
def notes() -> Iterator[None]:
    """Say warnings of what is done inside on the error stream, one line each."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        yield
    for warning in caught:
        click.echo(f"Note: {warning.message}", err=True)


def codes_of(plan: Plan, values: Path, *, column: str | None, user: str | None, tags: Path | None) -> IntArray:
    """Return the codes that the plan's mechanism is to obfuscate, users' secret values replaced by bots."""
    if not plan.is_personalized:
        if user is not None or tags is not None:
            raise ParameterError("--user and --tags are for personalized plans; this one has no tags and no cells.")
        return plan.domain.encode(read_values(values, plan.domain, column))
    if user is None or tags is None:
        raise ParameterError(
            "this plan is personalized, so --user must say which column tells whose value it is, and --tags which file "
            "holds users' secret values; without them secrets would go in clear."
        )
    personalized, domain = plan.personalized(), plan.domain
    found, users, _ = read_owned(values, domain, user, column)
    codes = domain.encode(found)
    with notes():
        return _secrets(personalized, tags, user, column).replaced(personalized, codes, users)


def _secrets(personalized: Personalized, path: Path, user: str, column: str | None) -> SimulatedTags:
    tag = TAG if personalized.cell_of is None else None
    values, users, tags = read_owned(path, personalized.domain, user, column, tag)
    try:
        return SimulatedTags(personalized, users, personalized.domain.encode(values), tags)
    except (DataError, ParameterError) as error:
        raise type(error)(f"{path}: {error}") from None


def backgrounds(plan: Plan, given: tuple[str, ...]) -> Any:
    """Return what ``--background`` says, for `estimate_personalized`."""
    if not plan.is_personalized:
        if given:
            raise ParameterError("--background is for personalized plans; this one has no tags and no cells.")
        return None
    if len(given) == 1 and given[0] in (DROP, IN_CLEAR):
        return given[0]
    known: dict[str, Any] = {}
    for one in given:
        tag, what = _tag_and_rest(plan.personalized(), one)
        if tag in known:
            raise ParameterError(f"--background must be given once for a tag, got {tag!r} again.")
        known[tag] = what if what in (DROP, IN_CLEAR) else read_distribution(what, plan.domain)
    return known


def _tag_and_rest(personalized: Personalized, given: str) -> tuple[str, str]:
    # The longest: a tag may hold an equals sign.
    fitting = [tag for tag in personalized.tags if given.startswith(f"{tag}=")]
    if not fitting:
        tags = ", ".join(personalized.tags[:10])
        raise ParameterError(f"--background must be TAG=FILE with a tag of the plan, such as {tags}; got {given!r}.")
    tag = max(fitting, key=len)
    return tag, given[len(tag) + 1 :]


def bot_facts(found: TagEstimate) -> dict[str, Any]:
    """Return what is known of the bots, ready for JSON."""
    errors = found.intermediate.standard_errors[found.estimate.domain.size :]
    return {
        "bots": {"tag": list(found.bots), "frequency": list(found.bots.values()), "standard_error": errors.tolist()},
        "worst_case_l1": found.worst_case,
    }


def show_bots(found: TagEstimate, largest: int) -> None:
    """Show the largest bots and what not knowing what is behind them may cost."""
    errors = found.intermediate.standard_errors[found.estimate.domain.size :]
    ranked = sorted(zip(found.bots.items(), errors, strict=True), key=lambda one: -one[0][1])
    cells = [[tag, f"{mass:.4%}", f"{error:.4%}"] for (tag, mass), error in ranked[: max(largest, 1)]]
    show_table(f"{len(cells)} largest of {len(ranked)} bots", ["secret of its user", "estimate", "std. error"], cells)
    console().print(
        f"What is behind the bots is assumed, not measured: at worst that misplaces {found.worst_case / 2:.4%} "
        "of the people."
    )
