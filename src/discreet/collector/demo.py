"""A collection for a demonstration: signed with a key of its own, simulated, with epochs as short as may be."""

import time
from dataclasses import dataclass
from pathlib import Path

import msgspec

from discreet.collector.folder import DataFolder
from discreet.collector.keeper import Keeper
from discreet.collector.operations import add
from discreet.io.collection import Collection, open_envelope
from discreet.io.collection_fields import OPEN, SHORTEST_EPOCH, Epochs
from discreet.io.envelope import public_key
from discreet.io.plan import Plan, PlanDocument
from discreet.io.signing import Terms, new_key, read_key, sign

NAME = "demo"
_EPOCHS = 7 * 24 * 60
_LATE = 5
_LEAST = 50
_PLAN = {
    "title": "How did you come here today?",
    "epsilon": 1.0,
    "domain": {
        "labels": ["on foot", "bicycle", "bus", "train", "car", "in an ambulance", "in a police car"],
        "sensitive": ["in an ambulance", "in a police car"],
    },
    "mechanism": {"name": "rr"},
}


@dataclass(frozen=True)
class Demo:
    """A demonstration.

    Attributes:
        collection: that is asked for.
        key: the public key that signed it.
    """

    collection: Collection
    key: bytes


def prepare(folder: DataFolder, origin: str) -> Demo:
    """Return the collection of a demonstration at an origin; the one of before, if it still runs there."""
    place = folder.path / "demo-key.pem"
    key = public_key(read_key(place)) if place.exists() else new_key(place)
    with Keeper(folder) as keeper:
        rows = [row for row in keeper.store.collections() if row.name == NAME]
        newest = max(rows, key=lambda row: row.version, default=None)
        if newest is not None:
            known = open_envelope(newest.envelope, newest.trust)
            if (
                known.state == OPEN
                and known.listed
                and known.collectors == (origin,)
                and known.epochs.end > time.time() + SHORTEST_EPOCH
            ):
                return Demo(known, key)
        envelope = _signed(place, origin, 1 if newest is None else newest.version + 1)
        add(keeper, envelope, [key], actor="demo")
        return Demo(open_envelope(envelope, [key]), key)


def _signed(key: Path, origin: str, version: int) -> bytes:
    terms = Terms(
        name=NAME,
        title="How did you come here today?",
        purpose="To show how a collection works; nothing is done with it.",
        contact="whoever started this demonstration",
        answers="once",
        epochs=Epochs(int(time.time()), SHORTEST_EPOCH, _EPOCHS),
        collectors=(origin,),
        lifetime=20.0,
        late=_LATE,
        least=_LEAST,
        simulated=True,
        listed=True,
    )
    return sign(Plan(msgspec.convert(_PLAN, PlanDocument)), terms, [read_key(key)], version=version)
