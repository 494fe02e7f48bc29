"""Documents that a trusted key has signed and that are hostile all the same: opened, or refused by type.

DISCREET_HOSTILE says how many are tried.
"""

import copy
import json
import os
import random
from typing import Any

import pytest

from discreet.device.protocol.collection import Collection, open_envelope, rebuild
from discreet.device.protocol.envelope import CollectionError
from discreet.device.protocol.notice import notice
from signed import PLAIN, TRUST, document, envelope, resigned

COUNT = int(os.environ.get("DISCREET_HOSTILE", "2000"))
GRID = {
    **PLAIN,
    "domain": {"grid": {"lat": [40, 41], "lon": [-74, -73], "rows": 6, "cols": 5}, "sensitive": [[40.05, -73.95]]},
}
PLANS: dict[str, dict[str, Any]] = {
    "labels": PLAIN,
    "range": {**PLAIN, "domain": {"range": [-3, 40]}},
    "product": {**PLAIN, "domain": {"product": {"sex": ["f", "m"], "age": [1, 2, 3]}}, "mechanism": {"name": "unary"}},
    "cells": {**GRID, "cells": {"rows": 2, "cols": 3}, "mechanism": {"name": "hadamard"}},
    "tags": {**PLAIN, "tags": ["home"], "mechanism": {"name": "subset"}},
    "hash": {**PLAIN, "mechanism": {"name": "hashing"}},
}
ODD: list[Any] = [
    *(None, True, False, 0, 1, -1, 2, 0.5, -0.5, 1e308, 1 << 31, 1 << 53, 1 << 64, 10**400),
    *("", "0", "1", "-1", "1e3", "\ud800", "x" * 300, "rr", "often", "9" * 5000, "٣", "\0"),
    *([], {}, [[]], [None], {"": None}, [0, 1], [[0, 1]], [[0, 4]], {"law": "bits"}, {"name": "rr"}, [[["a", ["b"]]]]),
]


def places(said: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the path of everything in a document."""
    inner = said.items() if isinstance(said, dict) else enumerate(said) if isinstance(said, list) else ()
    return [path, *(found for key, part in inner for found in places(part, (*path, key)))]


def mutated(said: Any, chance: random.Random) -> Any:
    """Return a copy of a document in which one to three things are odd, gone, doubled or another's."""
    made = copy.deepcopy(said)
    for _ in range(chance.choice([1, 1, 1, 2, 3])):
        path = chance.choice(places(made)[1:] or [()])
        if not path:
            continue
        holder = made
        for key in path[:-1]:
            holder = holder[key]
        what = chance.random()
        if what < 0.55:
            holder[path[-1]] = copy.deepcopy(chance.choice(ODD))
        elif what < 0.7:
            del holder[path[-1]]
        elif what < 0.85:
            other = said
            for key in chance.choice(places(said)[1:]):
                other = other[key]
            holder[path[-1]] = copy.deepcopy(other)
        elif isinstance(holder, list):
            holder.append(copy.deepcopy(holder[path[-1]]))
        else:
            holder[chance.choice(["more", "", "law", "levels"])] = chance.choice(ODD)
    return made


def spelled(said: Any) -> bytes:
    """Write JSON as it comes, half characters and long integers too."""
    return json.dumps(said).encode()


@pytest.mark.parametrize("name", PLANS)
def test_hostile_documents(name: str) -> None:
    chance, opened = random.Random(name), 0
    extra: dict[str, Any] = {"answers": "permanent", "people": None, "linkable": True} if name == "labels" else {}
    said = document(envelope(PLANS[name], **extra))
    for _ in range(COUNT // len(PLANS)):
        try:
            found = open_envelope(resigned(spelled(mutated(said, chance))), TRUST)
        except CollectionError:
            continue
        opened += 1
        assert isinstance(found, Collection)
        assert found.sampler.realised <= found.epsilon * (1 + 1e-9)
        assert len(notice(found)) >= 8
        try:
            rebuild(found)
        except CollectionError:
            continue
    assert 0 < opened < COUNT // len(PLANS) / 2


def test_hostile_bytes() -> None:
    """Bytes of a signed envelope, replaced, cut and doubled; none is opened as anything but what was signed."""
    chance, good = random.Random(1), envelope()
    same = open_envelope(good, TRUST).id
    for _ in range(COUNT):
        data = bytearray(good)
        for _ in range(chance.randrange(1, 4)):
            start = chance.randrange(len(data) + 1)
            stop = min(start + chance.randrange(12), len(data))
            data[start:stop] = chance.choice(
                [b"", chance.randbytes(chance.randrange(9)), data[chance.randrange(len(data)) :][:9], b"\\u0041", b" "]
            )
        try:
            assert open_envelope(bytes(data), TRUST).id == same
        except CollectionError:
            continue
