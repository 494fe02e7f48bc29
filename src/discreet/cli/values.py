"""Tables of values as codes of a plan's mechanism, and what is known of the values behind tags."""

from pathlib import Path
from typing import Any

import click
import numpy as np

from discreet.arrays import IntArray
from discreet.cli.notes import notes_on_errors
from discreet.core.columns import missing_message
from discreet.errors import DataError, ParameterError
from discreet.estimators.tags import DROP, IN_CLEAR
from discreet.io.missing import absent_rows, filled, left_out
from discreet.io.piped import Piped, piped_table
from discreet.io.plan import Plan
from discreet.io.tables import read_distribution, read_owned
from discreet.mechanisms.personalized import Personalized
from discreet.mechanisms.secret_tags import SimulatedTags

TAG = "tag"
"""The column of a file of tags that holds the tag of a value."""


def read_codes(
    plan: Plan, values: Path, *, column: str | None, user: str | None, tags: Path | None, missing: str
) -> tuple[IntArray, dict[str, int]]:
    """Return the codes for the plan's mechanism, users' secret values replaced by bots.

    Returns:
        the codes, and how many rows were left out for which reason.
    """
    if not plan.is_personalized and (user is not None or tags is not None):
        raise ParameterError("--user and --tags are for personalized plans; this one has no tags and no cells.")
    if plan.is_personalized and (user is None or tags is None):
        raise ParameterError(
            "this plan is personalized, so --user must say which column tells whose value it is, and --tags which file "
            "holds users' secret values; without them secrets would go in clear."
        )
    with notes_on_errors():
        rows, counts = _rows_of(plan, values, user, column, drop=missing == "drop")
        codes = plan.domain.encode(rows["value"])
        if user is None or tags is None:
            return codes, counts
        personalized = plan.personalized()
        return _secrets(personalized, tags, user, column).replaced(personalized, codes, rows["user"]), counts


def _rows_of(
    plan: Plan, values: Path, user: str | None, column: str | None, *, drop: bool
) -> tuple[dict[str, Any], dict[str, int]]:
    """Return values and their users, missing values filled in as the plan says, and the number of rows left out."""
    source = _piped() if str(values) == "-" else values
    found, users, _ = read_owned(source, plan.domain, user, column)
    rows = {"value": filled(found, plan.document.domain.missing)} | ({} if users is None else {"user": users})
    if drop:
        return left_out(rows)
    gone = np.flatnonzero(absent_rows(rows["user"])) if "user" in rows else np.empty(0, dtype=np.int64)
    if len(gone):
        raise DataError(f"{source}: {missing_message(len(gone), len(users), int(gone[0]), 'users')}")
    return rows, {}


def _piped() -> Piped:
    piped = piped_table()
    click.echo(f"Standard input is read as {'CSV' if piped.suffix == '.csv' else 'JSON lines'}.", err=True)
    return piped


def _secrets(personalized: Personalized, path: Path, user: str, column: str | None) -> SimulatedTags:
    tag = TAG if personalized.cell_of is None else None
    values, users, tags = read_owned(path, personalized.domain, user, column, tag)
    try:
        return SimulatedTags(personalized, users, personalized.domain.encode(values), tags)
    except (DataError, ParameterError) as error:
        raise type(error)(f"{path}: {error}") from None


def backgrounds(plan: Plan, given: tuple[str, ...]) -> Any:
    """Return the backgrounds of ``--background``, as `estimate_personalized` takes them."""
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
