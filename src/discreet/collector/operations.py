"""Operations on a collector's data, by name: verbs ask them of whoever holds the folder, in built-ins."""

import base64
import binascii
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from discreet.collector import backup as backups
from discreet.collector.catalogue import Entry
from discreet.collector.keeper import Keeper, epochs_of
from discreet.collector.sealing import due_batches, seal_batch
from discreet.collector.store import CollectionRow
from discreet.collector.tokens import end_token, new_token
from discreet.errors import ParameterError
from discreet.io.collection import open_envelope
from discreet.io.collection_errors import EquivocationError, RollbackError

_ACTOR = "command line"


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


def add(keeper: Keeper, envelope: bytes, trust: Sequence[bytes], *, actor: str) -> tuple[CollectionRow, bool]:
    """Add a collection, or a higher version of one, or the notice that it is withdrawn.

    Args:
        keeper: of the data.
        envelope: as it came.
        trust: public keys that may have signed it.
        actor: who, for the audit.

    Returns:
        Its row, and whether it is new here.

    Raises:
        CollectionError: if a device would refuse it: see `discreet.io.collection`; also if a higher version is here, or
            another document of this version.
        ParameterError: if a collection of this name was deleted, and its files are still here.
    """
    collection = open_envelope(envelope, list(trust))
    now = int(time.time())
    row = CollectionRow(
        0, collection.id, collection.name, collection.version, collection.state, envelope, tuple(trust), now
    )
    Entry.of(row)
    store = keeper.store
    # Not behind the upkeep: a withdrawal waits for no sealing and no backup.
    with store.transaction():
        others = [other for other in store.collections() if other.name == row.name]
        if (known := next((other for other in others if other.id == row.id), None)) is not None:
            return known, False
        if row.name in store.purges().values():
            raise ParameterError(f"files of a deleted collection {row.name} are still here; purge it again first.")
        _check_version(row, others)
        store.add_collection(row)
        what = "added" if row.state == "open" else "withdrawn"
        store.note(now, actor, f"collection {what}", f"{row.name} version {row.version} ({row.id.hex()})")
    keeper.load()
    return next(other for other in store.collections() if other.id == row.id), True


def _check_version(row: CollectionRow, others: Sequence[CollectionRow]) -> None:
    highest = max((other.version for other in others), default=0)
    if row.version == highest:
        raise EquivocationError(
            f"version {row.version} of {row.name} is here already with another document; sign a higher version."
        )
    if row.version < highest:
        raise RollbackError(f"version {highest} of {row.name} is here, and this is {row.version}; add a higher one.")


def _add(keeper: Keeper, *, envelope: str, trust: list[str]) -> dict[str, Any]:
    row, fresh = add(keeper, base64.b64decode(envelope), trusted(trust), actor=_ACTOR)
    return {**_named(row), "new": fresh}


def _named(row: CollectionRow) -> dict[str, Any]:
    return {"name": row.name, "version": row.version, "id": row.id.hex(), "state": row.state}


def _list(keeper: Keeper) -> dict[str, Any]:
    return {"collections": [{**_named(row), "added": row.added} for row in keeper.store.collections()]}


def _status(keeper: Keeper) -> dict[str, Any]:
    names = {row.key: (row.name, row.version) for row in keeper.store.collections()}
    none = {"waiting": 0, "sealed": 0, "duplicates": 0, "conflicts": 0}
    epochs = [
        {**_epoch(names, key, epoch, epoch), **none, "waiting": n}
        for (key, epoch), n in sorted(keeper.pending().items())
    ]
    for one in keeper.store.seals():
        counts = {"sealed": one.n, "duplicates": one.duplicates, "conflicts": one.conflicts}
        epochs.append({**_epoch(names, one.collection, one.epoch, one.last), **none, **counts})
    refusals: dict[str, int] = {}
    for (_, _, reason), count in keeper.refusals().items():
        refusals[reason] = refusals.get(reason, 0) + count
    return {"epochs": epochs, "refusals": refusals}


def _epoch(names: Mapping[int, tuple[str, int]], key: int, first: int, last: int) -> dict[str, Any]:
    name, version = names.get(key, ("?", 0))
    return {"name": name, "version": version, "epoch": first, "last": last}


def _seal(keeper: Keeper, *, name: str, epochs: list[int], version: int | None) -> dict[str, Any]:
    with keeper.upkeep:
        entry = keeper.entry(name, version)
        waiting = {epoch: n for (key, epoch), n in keeper.pending().items() if key == entry.key}
        sealed = {one for seal in keeper.store.seals() if seal.collection == entry.key for one in epochs_of(seal)}
        if missing := [epoch for epoch in epochs if epoch not in waiting]:
            why = "is sealed already" if missing[0] in sealed else "has no reports; there is nothing to seal"
            raise ParameterError(f"epoch {missing[0]} of {name} {why}.")
        batches = due_batches(keeper, entry, epochs)
        if epochs:
            batches = [batch for batch in batches if set(batch) & set(epochs)]
        rows = [(batch, seal_batch(keeper, entry, batch, _ACTOR)) for batch in batches]
    done = {epoch for batch, row in rows for epoch in batch if row is not None}
    few = sorted(set(epochs or _over(keeper, entry, waiting)) - done)
    made = [
        {
            "epoch": row.epoch,
            "last": row.last,
            "file": row.file,
            "n": row.n,
            "duplicates": row.duplicates,
            "conflicts": row.conflicts,
        }
        for _, row in rows
        if row is not None
    ]
    return {"sealed": made, "few": few, "least": entry.collection.least}


def _over(keeper: Keeper, entry: Entry, waiting: Mapping[int, int]) -> list[int]:
    now = keeper.clock.now()
    return [one for one in waiting if keeper.catalogue.is_closed(entry, one) or entry.when(one, now) == "late"]


def _seals(keeper: Keeper, *, id: str) -> dict[str, Any]:  # noqa: A002
    keys = {row.key for row in keeper.store.collections() if row.id.hex() == id}
    seals = [one for one in keeper.store.seals() if one.collection in keys]
    return {"seals": [{"epoch": one.epoch, "last": one.last, "file": one.file} for one in seals]}


def _add_token(keeper: Keeper, *, name: str, role: str, days: int | None) -> dict[str, Any]:
    made = new_token(keeper.store, name, role, days=days, actor=_ACTOR)
    keeper.load()
    return {"name": name, "role": role, "token": made}


def _list_tokens(keeper: Keeper) -> dict[str, Any]:
    now = time.time()
    return {
        "tokens": [
            {"name": row.name, "role": row.role, "made": row.made, "ends": row.ends, "good": row.is_good(now)}
            for row in keeper.store.tokens()
        ]
    }


def _end_token(keeper: Keeper, *, name: str) -> dict[str, Any]:
    end_token(keeper.store, name, actor=_ACTOR)
    keeper.load()
    return {"name": name, "ended": True}


def _backup(keeper: Keeper, *, target: str, sealed_only: bool) -> dict[str, Any]:
    return {"target": target, "files": backups.backup(keeper, Path(target), sealed_only=sealed_only)}


def _check(keeper: Keeper) -> dict[str, Any]:
    flaws = backups.check(keeper)
    return {"holds": not flaws, "flaws": flaws}


def _purge(keeper: Keeper, *, name: str) -> dict[str, Any]:
    return {"name": name, **keeper.purge(name, _ACTOR)}


OPERATIONS: Mapping[str, Callable[..., dict[str, Any]]] = {
    "add": _add,
    "list": _list,
    "status": _status,
    "seal": _seal,
    "seals": _seals,
    "token add": _add_token,
    "token list": _list_tokens,
    "token end": _end_token,
    "backup": _backup,
    "check": _check,
    "purge": _purge,
}
