"""A person's secret places: which bot stands for which of their values. They are in one table, and in nothing else."""

import hashlib
import json
import sqlite3
from collections.abc import Mapping
from typing import Any

from discreet.client.memory import one_row
from discreet.errors import DataError, ParameterError
from discreet.io.collection import Collection


def bots_of_places(collection: Collection, tagged: Any) -> dict[int, int]:
    """Return the bot of each secret value, by codes; values that are sensitive for everybody stay themselves.

    Args:
        collection: of a personalized plan.
        tagged: values by tag; where bots stand for cells, a list of values.

    Raises:
        ParameterError: if the plan has no bots, or tags are given in another form than it wants; tags are not quoted.
        DataError: if a value is not in the domain, or has two tags; values are not quoted.
    """
    bots, size = collection.bots, collection.domain.size
    if bots is None:
        raise ParameterError("the plan of this collection has no tags and no cells; leave secret places out.")
    if bots.cell_of is not None:
        if isinstance(tagged, Mapping | str) or not hasattr(tagged, "__iter__"):
            raise ParameterError("bots of this plan stand for cells; give the secret values themselves, without tags.")
        codes = [collection.code_of(value) for value in tagged]
        return {code: size + int(bots.cell_of[code]) for code in codes if not collection.sensitive[code]}
    if not isinstance(tagged, Mapping) or not set(tagged) <= set(bots.tags):
        raise ParameterError(f"secret values must be given by tag, {{tag: values}}; tags are {', '.join(bots.tags)}.")
    pairs = [(collection.code_of(value), bots.tags.index(tag)) for tag, values in tagged.items() for value in values]
    found = {code: size + rank for code, rank in pairs if not collection.sensitive[code]}
    if any(found.get(code, size + rank) != size + rank for code, rank in pairs):
        raise DataError("every secret value must carry one tag, and some carry two.")
    return found


def keep_places(database: sqlite3.Connection, collection: Collection, places: Mapping[int, int]) -> None:
    """Replace the places of a name; the values that they are places of are remembered by a digest."""
    database.execute("DELETE FROM places WHERE name = ?", (collection.name,))
    rows = [(collection.name, code, bot) for code, bot in places.items()]
    database.executemany("INSERT INTO places VALUES (?, ?, ?)", rows)
    database.execute("UPDATE names SET tagged = ? WHERE name = ?", (_domain(collection), collection.name))


def replaced(database: sqlite3.Connection, collection: Collection, code: int, tagged: str | None) -> int:
    """Return a code, or its bot if it is one of the person's secret places.

    Args:
        database: of the device.
        collection: that is answered.
        code: of the value.
        tagged: the digest of the domain for which places were given; None if none were.

    Raises:
        ParameterError: if the plan has bots, and places were not given, or given for other values.
    """
    if collection.bots is None:
        return code
    if tagged != _domain(collection):
        raise ParameterError(
            "a personalized plan needs the person's secret places, for these values; call tag first, with none if "
            "there are none."
        )
    row = one_row(database, "SELECT bot FROM places WHERE name = ? AND code = ?", collection.name, code)
    return code if row is None else int(row["bot"])


def _domain(collection: Collection) -> str:
    """Return a digest of the values and bots, and of what is sensitive for everybody.

    Such a value is kept as no place, and would go in clear under a version that protects it no longer.
    """
    bots = collection.bots
    domain = collection.domain.with_bots(() if bots is None else bots.tags)
    said = json.dumps([domain.fingerprint, collection.sampler.sensitive])
    return hashlib.sha256(said.encode()).hexdigest()
