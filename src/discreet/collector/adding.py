"""Collections are added, listed and deleted: every check that a device makes, and the mechanism rebuilt."""

import base64
import binascii
import shutil
import time
from collections.abc import Sequence

from discreet.collector.catalogue import Entry
from discreet.collector.folder import DataFolder
from discreet.collector.store import CollectionRow, Store
from discreet.errors import ParameterError
from discreet.io.collection import open_envelope
from discreet.io.collection_errors import EquivocationError, RollbackError


def trusted(keys: Sequence[str]) -> tuple[bytes, ...]:
    """Return public keys from base64.

    Raises:
        ParameterError: if there is none, or one is no key.
    """
    try:
        found = tuple(base64.b64decode(key, validate=True) for key in keys)
    except (binascii.Error, ValueError):
        found = (b"",)
    if not found or any(len(key) != 32 for key in found):
        raise ParameterError(
            "trust must name the public keys of those who may sign, base64 of 32 bytes each, at least one "
            "(--trust, or trust in the settings)."
        )
    return found


def add(store: Store, envelope: bytes, trust: Sequence[bytes], *, actor: str) -> tuple[CollectionRow, bool]:
    """Add a collection, or a higher version of one, or the notice that it is withdrawn.

    Args:
        store: where.
        envelope: as it came.
        trust: public keys that may have signed it.
        actor: who, for the audit.

    Returns:
        Its row, and whether it is new here.

    Raises:
        CollectionError: if a device would refuse it: see `discreet.io.collection`; also if a higher version is here, or
            another document of this version.
    """
    collection = open_envelope(envelope, list(trust))
    now = int(time.time())
    row = CollectionRow(
        0, collection.id, collection.name, collection.version, collection.state, envelope, tuple(trust), now
    )
    Entry.of(row)
    with store.transaction():
        others = [other for other in store.collections() if other.name == row.name]
        if (known := next((other for other in others if other.id == row.id), None)) is not None:
            return known, False
        _check_version(row, others)
        store.add_collection(row)
        what = "added" if row.state == "open" else "withdrawn"
        store.note(now, actor, f"collection {what}", f"{row.name} version {row.version} ({row.id.hex()})")
    return next(other for other in store.collections() if other.id == row.id), True


def _check_version(row: CollectionRow, others: Sequence[CollectionRow]) -> None:
    highest = max((other.version for other in others), default=0)
    if row.version == highest:
        raise EquivocationError(
            f"version {row.version} of {row.name} is here already with another document; sign a higher version."
        )
    if row.version < highest:
        raise RollbackError(f"version {highest} of {row.name} is here, and this is {row.version}; add a higher one.")


def purge(store: Store, folder: DataFolder, name: str, *, actor: str) -> dict[str, int]:
    """Delete all versions of a collection, with their reports and files; return how many of what there were.

    Raises:
        ParameterError: if there is none of this name, or its files cannot be deleted.
    """
    rows = [row for row in store.collections() if row.name == name]
    if not rows:
        raise ParameterError(f"no collection is called {name!r}.")
    keys = {row.key for row in rows}
    with folder.sealing():
        waiting = sum(n for (key, _), n in store.waiting().items() if key in keys)
        seals = [seal for seal in store.seals() if seal.collection in keys]
        gone = {"versions": len(rows), "reports": waiting, "sealed": sum(seal.n for seal in seals)}
        with store.transaction():
            detail = ", ".join(f"{count} {what}" for what, count in gone.items())
            store.note(int(time.time()), actor, "purged", f"{name}: {detail}")
            for key in keys:
                store.remove_collection(key)
        files = folder.sealed / name
        shutil.rmtree(files, ignore_errors=True)
        if files.exists():
            raise ParameterError(
                f"{files} must be deleted too, and could not be; mend its rights and delete it by hand."
            )
    return gone
