"""Values from tables and terminals, and backgrounds of secret tags.

Tables of values for verbs: their columns, and secret values that become bots.

Background knowledge of the values behind tags, from the options of verbs.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from discreet.errors import DataError, ParameterError
from discreet.estimators.tags import DROP, IN_CLEAR
from discreet.files.reading import Piped, piped_table
from discreet.formats.plan import Plan
from discreet.mechanisms.personalized import Personalized
from discreet.tables.columns import read_distribution
from discreet.tables.values import ValueColumns

if TYPE_CHECKING:
    from discreet.engines.obfuscation import Replace
    from discreet.mechanisms.personalized import Personalized, SimulatedTags

TAG = "tag"
"""The column of a file of tags that holds the tag of a value."""


def value_columns(
    plan: Plan,
    *,
    column: str | None,
    user: str | None,
    tags: Path | None,
    missing: str,
    keep: tuple[str, ...] = (),
    unknown: str = "refuse",
) -> ValueColumns:
    """Return the columns of a table of values.

    Raises:
        ParameterError: if users and tags are named and the plan is not personalized, or the other way round; if columns
            are to be kept and it is personalized.
    """
    if plan.is_personalized and keep:
        raise ParameterError("--keep does not go with personalized plans, whose bots belong to all groups.")
    if not plan.is_personalized and (user is not None or tags is not None):
        raise ParameterError("--user and --tags are for personalized plans; this one has no tags and no cells.")
    if plan.is_personalized and (user is None or tags is None):
        raise ParameterError(
            "this plan is personalized, so --user must say which column tells whose value it is, and --tags which file "
            "holds users' secret values; without them secrets would go in clear."
        )
    said = plan.document.domain
    return ValueColumns(
        plan.domain, column, user, said.missing, missing == "drop", keep, said.cuts, known=unknown == "drop"
    )


def secrets(plan: Plan, tags: Path | None, columns: ValueColumns) -> "Replace | None":
    """Return the replacement of secret values in a file of tags; None if the plan has no bots.

    Raises:
        DataError, ParameterError: if the file's rows are no secrets under this plan; it names the file.
    """
    if tags is None or columns.user is None:
        return None
    personalized = plan.personalized()
    people = _tagged(personalized, tags, columns.user, columns.column)
    return lambda codes, users: people.replaced(personalized, codes, users)


def _tagged(personalized: "Personalized", path: Path, user: str, column: str | None) -> "SimulatedTags":
    from discreet.mechanisms.personalized import SimulatedTags
    from discreet.tables.values import read_owned

    tag = TAG if personalized.cell_of is None else None
    values, users, tags = read_owned(path, personalized.domain, user, column, tag)
    try:
        return SimulatedTags(personalized, users, personalized.domain.encode(values), tags)
    except (DataError, ParameterError) as error:
        raise type(error)(f"{path}: {error}") from None


def value_source(values: str | Path) -> str | Path | Piped:
    """Return the source of a table of values; - is standard input, whose form is noted on the error stream."""
    if str(values) != "-":
        return values
    piped = piped_table()
    click.echo(f"Standard input is read as {'CSV' if piped.suffix == '.csv' else 'JSON lines'}.", err=True)
    return piped


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
