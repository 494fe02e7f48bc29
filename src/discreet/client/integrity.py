"""Integrity of a device's memory: digests of all that an answer follows from, renewed with every change.

SQLite finds a page that is none, and not a bit that made one number of another. Consent that nobody gave, a charge that
is gone, or a second report for an epoch would follow; so a memory that is not what was written is refused. Whoever can
write the file can write the digests too: they are no protection from them.

The ledger grows for good, so its digest is a sum, to which a charge is added; it is compared when a memory is opened.
All else is little, and compared before every use.
"""

import hashlib
import sqlite3
from typing import Any

_SUM_BYTES = 16
# In orders that no version of SQLite chooses. The envelope is signed; what was sent or dropped is only shown.
_SEALED = (
    "SELECT name, rootpage, sql FROM sqlite_master WHERE type = 'table' ORDER BY name",
    "SELECT latest, charges FROM clock",
    "SELECT name, version, id, envelope IS NULL, declined, key, tagged, fingerprint, record FROM names ORDER BY name",
    "SELECT * FROM versions ORDER BY key",
    "SELECT * FROM reports WHERE status IS NULL ORDER BY version, epoch",
    "SELECT * FROM prints ORDER BY name, print",
    "SELECT * FROM places ORDER BY name, code",
)


def is_sound(database: sqlite3.Connection, *, whole: bool) -> bool:
    """Return true if a memory is as it was written last.

    Args:
        database: of the device, in a transaction.
        whole: whether to look at the ledger too.
    """
    kept = _rows(database, "SELECT seal, charges FROM clock")
    if len(kept) != 1 or kept[0][0] != _seal(database):
        return False
    return not whole or kept[0][1] == _sum(_rows(database, "SELECT version, epoch, start, stop, charge FROM ledger"))


def renew(database: sqlite3.Connection) -> None:
    """Write the digest of all but the ledger."""
    database.execute("UPDATE clock SET seal = ?", (_seal(database),))


def note_charge(database: sqlite3.Connection, row: tuple[Any, ...]) -> None:
    """Add a row to the digest of the ledger."""
    ((before,),) = _rows(database, "SELECT charges FROM clock")
    database.execute("UPDATE clock SET charges = ?", (_sum([row], before),))


def _seal(database: sqlite3.Connection) -> bytes:
    return hashlib.sha256(repr([_rows(database, query) for query in _SEALED]).encode()).digest()


def _sum(rows: list[tuple[Any, ...]], before: bytes = bytes(_SUM_BYTES)) -> bytes:
    """Return the sum of the digests of rows, in whatever order, and of what was added before."""
    digests = (hashlib.sha256(repr(row).encode()).digest()[:_SUM_BYTES] for row in rows)
    total = sum((int.from_bytes(one, "little") for one in digests), int.from_bytes(before, "little"))
    return (total % (1 << 8 * _SUM_BYTES)).to_bytes(_SUM_BYTES, "little")


def _rows(database: sqlite3.Connection, query: str) -> list[tuple[Any, ...]]:
    cursor = database.cursor()
    cursor.row_factory = None
    return cursor.execute(query).fetchall()
