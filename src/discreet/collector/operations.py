"""Operations on a collector's data, by name: verbs ask whoever holds the folder for them."""

import base64
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from discreet.collector.access import end_token, new_token
from discreet.collector.backups import backup
from discreet.collector.intake import LATE
from discreet.collector.invariants import check
from discreet.collector.keeper import Keeper, epochs_of
from discreet.collector.sealing import due_batches, seal_batch
from discreet.collector.settings import is_key
from discreet.collector.storage.catalogue import Entry
from discreet.collector.storage.store import CollectionRow, SealRow
from discreet.device.protocol.collection import open_envelope
from discreet.device.protocol.envelope import EquivocationError, RollbackError
from discreet.errors import ParameterError


def trusted(keys: Sequence[str]) -> tuple[bytes, ...]:
    """Return public keys from base64.

    Raises:
        ParameterError: if there are no keys, or one of them is wrong.
    """
    if not keys or not all(map(is_key, keys)):
        raise ParameterError("trust.not-keys", argument="trust")
    return tuple(map(base64.b64decode, keys))


def add(keeper: Keeper, envelope: bytes, trust: Sequence[bytes]) -> tuple[CollectionRow, bool]:
    """Add a collection, or a higher version of one, or the notice that it is withdrawn.

    Args:
        keeper: of the data.
        envelope: as it came.
        trust: public keys that may have signed it.

    Returns:
        Its row, and whether it is new here.

    Raises:
        CollectionError: if a device would refuse it (`discreet.device.protocol`); also if a higher version is here,
            or another document of this version.
        ParameterError: if a collection of this name was deleted, and its files are still here.
    """
    collection = open_envelope(envelope, list(trust))
    now = int(time.time())
    row = CollectionRow(
        0, collection.id, collection.name, collection.version, collection.state, envelope, tuple(trust), now
    )
    Entry.of_row(row)
    store = keeper.store
    # Not behind the upkeep: a withdrawal waits for no sealing and no backup.
    with store.transaction():
        others = [other for other in store.collections() if other.name == row.name]
        if (known := next((other for other in others if other.id == row.id), None)) is not None:
            return known, False
        if row.name in store.purges().values():
            raise ParameterError("name.not-purged", name=row.name)
        highest = max((other.version for other in others), default=0)
        if row.version == highest:
            raise EquivocationError("version.other-document", version=row.version, name=row.name)
        if row.version < highest:
            raise RollbackError("version.not-newer", highest=highest, name=row.name, version=row.version)
        store.add_collection(row)
    keeper.load()
    return next(other for other in store.collections() if other.id == row.id), True


def _add(keeper: Keeper, *, envelope: str, trust: list[str]) -> dict[str, Any]:
    row, fresh = add(keeper, base64.b64decode(envelope), trusted(trust))
    return {**_named(row), "new": fresh}


def _named(row: CollectionRow) -> dict[str, Any]:
    return {"name": row.name, "version": row.version, "id": row.id.hex(), "state": row.state}


def _status(keeper: Keeper) -> dict[str, Any]:
    """Return the collections, and counts by epoch: None for an epoch that has too few reports to be published."""
    least = {entry.key: entry.collection.least for entry in keeper.catalogue.by_id.values()}
    names = {row.key: (row.name, row.version) for row in keeper.store.collections()}
    none = {"waiting": 0, "sealed": 0, "duplicates": 0, "conflicts": 0}
    epochs = [
        {**_epoch(names, key, epoch, epoch), **none, "waiting": n if n >= least.get(key, n + 1) else None}
        for (key, epoch), n in sorted(keeper.pending().items())
    ]
    for sealed in keeper.store.seals():
        counts = {"sealed": sealed.n, "duplicates": sealed.duplicates, "conflicts": sealed.conflicts}
        epochs.append({**_epoch(names, sealed.collection, sealed.epoch, sealed.last), **none, **counts})
    return {"collections": [_named(row) for row in keeper.store.collections()], "epochs": epochs}


def _epoch(names: Mapping[int, tuple[str, int]], key: int, first: int, last: int) -> dict[str, Any]:
    name, version = names.get(key, ("?", 0))
    return {"name": name, "version": version, "epoch": first, "last": last}


def _seal(keeper: Keeper, *, name: str, epochs: list[int], version: int | None) -> dict[str, Any]:
    with keeper.upkeep:
        entry = keeper.entry(name, version)
        waiting = keeper.waiting(entry)
        sealed = {epoch for seal in keeper.seals(entry) for epoch in epochs_of(seal)}
        if missing := [epoch for epoch in epochs if epoch not in waiting]:
            code = "epoch.is-sealed" if missing[0] in sealed else "epoch.without-reports"
            raise ParameterError(code, epoch=missing[0], name=name)
        rows = list(_sealed(keeper, entry, epochs))
    done = {epoch for row in rows for epoch in epochs_of(row)}
    now = keeper.clock.now()
    over = [epoch for epoch in waiting if keeper.catalogue.is_closed(entry, epoch) or entry.when(epoch, now) == LATE]
    few = sorted(set(epochs or over) - done)
    return {"sealed": [_facts(row) for row in rows], "few": few, "least": entry.collection.least}


def _sealed(keeper: Keeper, entry: Entry, epochs: list[int]) -> Iterator[SealRow]:
    """Seal the batches that are due, and yield their seals; with named epochs only up to the last one.

    A batch that turns out to have too few different reports joins the next one. So they are listed anew each time, and
    none is left behind.
    """
    while batches := [b for b in due_batches(keeper, entry, epochs) if not epochs or b[0] <= max(epochs)]:
        row = seal_batch(keeper, entry, batches[0])
        if row is not None:
            yield row


def _facts(seal: SealRow) -> dict[str, Any]:
    return {name: getattr(seal, name) for name in ("epoch", "last", "file", "n", "duplicates", "conflicts")}


def _add_token(keeper: Keeper, *, name: str, role: str, days: int | None) -> dict[str, Any]:
    token = new_token(keeper.store, name, role, days=days)
    keeper.load()
    return {"name": name, "role": role, "token": token}


def _list_tokens(keeper: Keeper) -> dict[str, Any]:
    now = time.time()
    return {
        "tokens": [
            {"name": row.name, "role": row.role, "made": row.made, "ends": row.ends, "good": row.is_good(now)}
            for row in keeper.store.tokens()
        ]
    }


def _end_token(keeper: Keeper, *, name: str) -> dict[str, Any]:
    end_token(keeper.store, name)
    keeper.load()
    return {"name": name, "ended": True}


OPERATIONS: Mapping[str, Callable[..., dict[str, Any]]] = {
    "add": _add,
    "status": _status,
    "seal": _seal,
    "token add": _add_token,
    "token list": _list_tokens,
    "token end": _end_token,
    "backup": lambda keeper, target, sealed_only: {
        "target": target,
        "files": backup(keeper, Path(target), sealed_only=sealed_only),
    },
    "check": lambda keeper: {"flaws": check(keeper)},
    "purge": lambda keeper, name: {"name": name, **keeper.purge(name)},
}
_FREEING = frozenset({"purge", "seal", "token add", "token end"})
"""Operations that a full disk must not prevent."""


def run(keeper: Keeper, operation: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the answer of an operation; one that a full disk needs has the reserve.

    Raises:
        DiscreetError: if it is refused, or fails.
    """
    with keeper.room() if operation in _FREEING else nullcontext():
        return OPERATIONS[operation](keeper, **given)
