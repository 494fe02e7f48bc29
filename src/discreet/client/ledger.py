"""The ledger: what a person has spent, and whether another report is within every budget.

Budgets are sums of epsilon: of one report, of all reports whose epochs overlap, and of all reports ever, over all
collections of the application; and the lifetime of a name, over all its versions.
"""

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from discreet.client.integrity import note_charge
from discreet.client.memory import one_row
from discreet.core.checks import checked_positive
from discreet.io.collection import Collection

# What sums of doubles may add.
_MARGIN = 1 + 1e-9


@dataclass(frozen=True, slots=True)
class Limits:
    """The most that an application lets a person spend, in nats; a collection can only ask for less.

    Attributes:
        report: epsilon of one report.
        epoch: sum over all reports whose epochs overlap.
        lifetime: sum over all reports ever, of all collections.

    Raises:
        ParameterError: if one is not a finite number above 0.

    Example:
        >>> Limits(report=1.0, epoch=2.0, lifetime=8.0)
        Limits(report=1.0, epoch=2.0, lifetime=8.0)
    """

    report: float
    epoch: float
    lifetime: float

    def __post_init__(self) -> None:
        """Refuse what is no limit."""
        for name in self.__slots__:
            object.__setattr__(self, name, checked_positive(name, getattr(self, name)))


@dataclass(frozen=True, slots=True)
class Budget:
    """The nats that a person has spent, and those that are left.

    Attributes:
        spent: over all collections.
        left: of the application's lifetime limit.
        names: spent by name of collection.
    """

    spent: float
    left: float
    names: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))


def within(spent: float, limit: float) -> bool:
    """Return true if a sum is within a limit."""
    return spent <= limit * _MARGIN


def affordable(database: sqlite3.Connection, collection: Collection, epoch: int, limits: Limits) -> bool:
    """Return true if one more report of a collection is within every budget."""
    start, stop, _ = collection.window(epoch)
    epsilon = collection.epsilon
    overlapping = _sum(database, "SELECT total(charge) FROM ledger WHERE start < ? AND stop > ?", stop, start)
    return (
        within(epsilon, limits.report)
        and within(overlapping + epsilon, limits.epoch)
        and within(spent_in_all(database) + epsilon, limits.lifetime)
        and within(spent_by_name(database).get(collection.name, 0.0) + epsilon, collection.lifetime)
    )


def charge(database: sqlite3.Connection, version: int, collection: Collection, epoch: int, epsilon: float) -> None:
    """Write what a report costs; it fails if there is one of this version and epoch."""
    start, stop, _ = collection.window(epoch)
    row = version, epoch, start, stop, float(epsilon)
    database.execute("INSERT INTO ledger VALUES (?, ?, ?, ?, ?)", row)
    note_charge(database, row)


def is_answered(database: sqlite3.Connection, version: int, epoch: int | None) -> bool:
    """Return true if there was a report of this version in the epoch; in any epoch if it is None."""
    query = "SELECT 1 FROM ledger WHERE version = ? AND (? IS NULL OR epoch = ?) LIMIT 1"
    return one_row(database, query, version, epoch, epoch) is not None


def spent_in_all(database: sqlite3.Connection) -> float:
    """Return the sum of all charges, in nats."""
    return _sum(database, "SELECT total(charge) FROM ledger")


def spent_by_name(database: sqlite3.Connection) -> dict[str, float]:
    """Return the sum of the charges of every name, over all its versions, in nats."""
    rows = database.execute(
        "SELECT name, total(charge) AS spent FROM ledger JOIN versions ON key = ledger.version GROUP BY name"
    )
    return {row["name"]: row["spent"] for row in rows}


def _sum(database: sqlite3.Connection, query: str, *given: int) -> float:
    return float(database.execute(query, given).fetchone()[0])
