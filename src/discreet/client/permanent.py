"""Permanent answers: what a device derives from a name's key K, so that a value's report is drawn once and for all.

The print of a code counts different values and is useless without K; the words of a code are the library's own stream
under another key. Both are bound to the name and the mechanism, not to the version: one that changes only a contact
costs nothing new. Once and fresh answers derive nothing from K.
"""

import hashlib
import hmac

from discreet.core.random import KeyedRandom
from discreet.errors import ParameterError
from discreet.io.collection import Collection

PRINT_BYTES = 16
SHORTEST_SECRET = 16


def key_of_person(secret: bytes, name: str) -> bytes:
    """Return K of a name, the same on all devices that share a person's secret.

    Args:
        secret: at least 16 bytes, secret and unpredictable.
        name: of the collection.
    """
    return _digest(secret, b"discreet person 1", name.encode())


def checked_secret(secret: object) -> bytes | None:
    """Return a person's secret, or None if there is none.

    Raises:
        ParameterError: if it is too short, or no bytes; it is not quoted.
    """
    if secret is None or (isinstance(secret, bytes) and len(secret) >= SHORTEST_SECRET):
        return secret
    raise ParameterError(f"person_secret must be at least {SHORTEST_SECRET} unpredictable bytes.")


def print_of(key: bytes, collection: Collection, code: int) -> bytes:
    """Return the print of a code, 16 bytes."""
    return _digest(key, b"discreet print 1", *_parts(collection, code))[:PRINT_BYTES]


def words_of(key: bytes, collection: Collection, code: int) -> KeyedRandom:
    """Return the words with which a code's report is drawn, the same every time."""
    return KeyedRandom(_digest(key, b"discreet answer 1", *_parts(collection, code)))


def _parts(collection: Collection, code: int) -> tuple[bytes, bytes]:
    fixed = bytes.fromhex(collection.fingerprint) + code.to_bytes(8, "little")
    return collection.name.encode(), fixed


def _digest(key: bytes, *parts: bytes) -> bytes:
    """Return HMAC-SHA256 of the parts, with a zero byte between them."""
    return hmac.new(key, b"\0".join(parts), hashlib.sha256).digest()
