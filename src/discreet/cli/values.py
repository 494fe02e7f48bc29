"""Tables of values for verbs: their columns, and secret values that become bots."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from discreet.cli.options import PeopleColumns
from discreet.errors import DataError, ParameterError
from discreet.files.reading import Piped, piped_table
from discreet.formats.plan import Plan
from discreet.mechanisms.personalized import Personalized, SimulatedTags
from discreet.tables.values import ValueColumns, read_owned

if TYPE_CHECKING:
    from discreet.tables.values import Bots

TAG = "tag"
"""The column of a file of tags that holds the tag of a value."""


def value_columns(
    plan: Plan, people: PeopleColumns, *, missing: str = "refuse", keep: tuple[str, ...] = (), unknown: str = "refuse"
) -> ValueColumns:
    """Return the columns of a table of values.

    Raises:
        ParameterError: if users and tags are named and the plan is not personalized, or the other way round; if
            columns are to be kept and it is personalized.
    """
    if plan.is_personalized and keep:
        raise ParameterError("--keep does not go with personalized plans, whose bots belong to all groups.")
    if not plan.is_personalized and (people.user is not None or people.tags is not None):
        raise ParameterError("--user and --tags are for personalized plans; this one has no tags and no cells.")
    if plan.is_personalized and (people.user is None or people.tags is None):
        raise ParameterError(
            "this plan is personalized, so --user must say which column tells whose value it is, and --tags which "
            "file holds users' secret values; without them secrets would go in clear."
        )
    said = plan.document.domain
    drop, known = missing == "drop", unknown == "drop"
    return ValueColumns(plan.domain, people.column, people.user, said.missing, drop, keep, said.cuts, known=known)


def secrets(plan: Plan, tags: Path | None, columns: ValueColumns) -> "Bots | None":
    """Return the replacement of secret values in a file of tags; None if the plan has no bots.

    Raises:
        DataError, ParameterError: if the file's rows are no secrets under this plan; it names the file.
    """
    if tags is None or columns.user is None:
        return None
    personalized = plan.personalized()
    people = _tagged(personalized, tags, columns.user, columns.column)
    return lambda codes, users: people.replaced(personalized, codes, users)


def _tagged(personalized: Personalized, path: Path, user: str, column: str | None) -> SimulatedTags:
    from discreet.mechanisms.personalized import SimulatedTags

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
