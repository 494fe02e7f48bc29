"""Signed collections for tests: one key, plans as JSON, and documents altered by whoever holds the key."""

import base64
import hashlib
import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from discreet import Plan
from discreet.collector.documents.signing import Terms, sign
from discreet.device.protocol.collection import Collection, Epochs, open_envelope
from discreet.device.protocol.envelope import public_key, signed
from discreet.formats.plan import PlanDocument

START, EPOCH = 1_800_000_000, 3600
PLAIN: dict[str, Any] = {
    "epsilon": 1.0,
    "domain": {"labels": ["never", "rarely", "often", "daily"], "sensitive": ["often", "daily"]},
    "mechanism": {"name": "rr"},
}


def key(seed: str = "a") -> Ed25519PrivateKey:
    """Return a key that everybody knows."""
    return Ed25519PrivateKey.from_private_bytes(hashlib.sha256(f"discreet tests {seed}".encode()).digest())


PUBLIC = public_key(key())
TRUST = [PUBLIC]


def plan_of(said: Mapping[str, Any], folder: Path = Path()) -> Plan:
    """Return the plan of JSON values."""
    return Plan(msgspec.convert(dict(said), PlanDocument), folder)


def terms(**changes: Any) -> Terms:
    """Return terms of answers given once, in 24 epochs of an hour."""
    said: dict[str, Any] = {
        "name": "habits",
        "title": "Habits",
        "purpose": "To know how many",
        "contact": "habits@example.org",
        "answers": "once",
        "epochs": Epochs(START, EPOCH, 24),
        "collectors": ("https://collect.example.org",),
        "lifetime": 4.0,
    }
    if changes.get("answers", "once") == "permanent":
        said["people"] = 1000
    return Terms(**{**said, **changes})


def envelope(plan: Mapping[str, Any] = PLAIN, *, version: int = 1, **changes: Any) -> bytes:
    """Return a signed envelope."""
    return _envelope(json.dumps(plan), version, tuple(sorted(changes.items())))


@cache
def _envelope(plan: str, version: int, changes: tuple[tuple[str, Any], ...]) -> bytes:
    return sign(plan_of(json.loads(plan)), terms(**dict(changes)), [key()], version=version)


def collection(plan: Mapping[str, Any] = PLAIN, **changes: Any) -> Collection:
    """Return an opened collection."""
    return open_envelope(envelope(plan, **changes), TRUST)


def document(written: bytes) -> dict[str, Any]:
    """Return the document in an envelope, unchecked."""
    return json.loads(base64.b64decode(json.loads(written)["document"]))


def resigned(said: Mapping[str, Any] | bytes, *signers: str) -> bytes:
    """Sign whatever document with the keys."""
    written = said if isinstance(said, bytes) else json.dumps(said).encode()
    return signed(written, [key(one) for one in signers or ("a",)])


def altered(written: bytes, **changes: Any) -> bytes:
    """Return an envelope with other fields, signed anew; a field of `...` is left out."""
    said = {**document(written), **changes}
    return resigned({name: part for name, part in said.items() if part is not ...})
