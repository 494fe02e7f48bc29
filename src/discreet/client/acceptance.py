"""The acceptance of a collection: refusals before consent is asked, and what a device writes down of it."""

import sqlite3

from discreet.client.ledger import Limits, within
from discreet.client.memory import erase_name, one_row, written_origins
from discreet.io.collection import Collection
from discreet.io.collection_errors import CapError, EquivocationError, LifetimeError, RollbackError, SimulatedError
from discreet.io.collection_fields import OPEN


def refuse_old(database: sqlite3.Connection, name: str, version: int, id_: bytes) -> None:
    """Refuse a version below one that was seen, or another document of the same version.

    Raises:
        RollbackError: if a later version was seen before.
        EquivocationError: if another document was this version before.
    """
    row = one_row(database, "SELECT version, id FROM names WHERE name = ?", name)
    if row is not None and version < row["version"]:
        raise RollbackError(f"version {row['version']} of this collection was seen before, and this is {version}.")
    if row is not None and version == row["version"] and id_ != row["id"]:
        raise EquivocationError(
            f"another document was version {version} of this collection before; who signs must be asked why."
        )


def refuse_unaffordable(collection: Collection, limits: Limits, *, simulated: bool) -> None:
    """Refuse a collection of another kind than the device, or one that costs more than a person spends.

    Raises:
        SimulatedError: if one of the two is simulated and the other is not.
        CapError: if a report costs too much.
        LifetimeError: if all reports, or those of one epoch, cost too much.
    """
    if collection.simulated != simulated:
        raise SimulatedError("a simulated collection is for devices of a simulation alone, and they answer no other.")
    if not within(collection.epsilon, limits.report):
        raise CapError(f"a report may cost {limits.report:g} nats, and this one costs {collection.epsilon:g}.")
    if not within(collection.lifetime, limits.lifetime):
        raise LifetimeError(
            f"all reports may cost {limits.lifetime:g} nats, and this collection asks for {collection.lifetime:g}."
        )
    if not within(collection.epsilon, limits.epoch):
        raise LifetimeError(
            f"reports of one epoch may cost {limits.epoch:g} nats, and this one costs {collection.epsilon:g}."
        )


def keep(database: sqlite3.Connection, collection: Collection) -> None:
    """Write a collection down as the current one of its name; of one that is withdrawn what was kept is erased."""
    kept = collection.name, collection.version, collection.id, collection.envelope
    database.execute(
        "INSERT INTO names (name, version, id, envelope) VALUES (?, ?, ?, ?) ON CONFLICT (name) DO UPDATE "
        "SET version = excluded.version, id = excluded.id, envelope = excluded.envelope",
        kept,
    )
    origins = written_origins(collection.collectors)
    if not database.execute("UPDATE versions SET origins = ? WHERE id = ?", (origins, collection.id)).rowcount:
        database.execute(
            "INSERT INTO versions (id, name, version, stop, origins) VALUES (?, ?, ?, ?, ?)",
            (collection.id, collection.name, collection.version, collection.epochs.end, origins),
        )
    if collection.state != OPEN:
        erase_name(database, collection.name)
