"""Integrity of a device's memory: one digest of all that an answer follows from, renewed with every change.

SQLite finds a page that is none, and not a bit that made one number of another. Consent that nobody gave, a charge that
is gone, or a second report for an epoch would follow; so a memory that is not what was written is refused. Whoever can
write the file can write the digest too: it is no protection from them.
"""

import hashlib
import sqlite3

# The envelope is signed; what was sent or dropped is there to be shown, and its records are not sent again.
_SEALED = (
    "SELECT name, rootpage, sql FROM sqlite_master WHERE type = 'table'",
    "SELECT latest FROM clock",
    "SELECT name, version, id, envelope IS NULL, declined, key, tagged, fingerprint, record FROM names",
    "SELECT * FROM versions",
    "SELECT * FROM ledger",
    "SELECT * FROM reports WHERE status IS NULL",
    "SELECT * FROM prints",
    "SELECT * FROM places",
)


def is_sound(database: sqlite3.Connection) -> bool:
    """Return whether a memory is what was written last."""
    kept = database.execute("SELECT seal FROM clock").fetchall()
    return len(kept) == 1 and kept[0][0] == _seal(database)


def renew(database: sqlite3.Connection) -> None:
    """Write the digest of what is in a transaction."""
    database.execute("UPDATE clock SET seal = ?", (_seal(database),))


def _seal(database: sqlite3.Connection) -> bytes:
    digest, cursor = hashlib.sha256(), database.cursor()
    cursor.row_factory = None
    for query in _SEALED:
        digest.update(repr(cursor.execute(query).fetchall()).encode())
    return digest.digest()
