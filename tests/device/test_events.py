"""Devices go through scripts of events, the same in every language, and permanent answers are the same bytes."""

import hashlib
import hmac
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from scripted import ROOT, SCRIPTS, Scripted

from discreet import SeededRandom
from discreet.core.random import KeyedRandom
from discreet.device.answers import key_of_person
from discreet.device.protocol.frames import head
from discreet.device.protocol.sampler import Sampler
from packing import each


@each("script", SCRIPTS)
def test_scripts(tmp_path: Path, script: dict[str, Any]) -> None:
    run = Scripted(tmp_path / "device", script)
    for place, event in enumerate(script["events"]):
        assert run.step(event) == pytest.approx(event["expect"]), (place, event)
    frames = [frame for _, frame in run.posted]
    by_epoch = {head(frame)[:2]: frame for frame in frames}
    assert all(by_epoch[head(frame)[:2]] == frame for frame in frames)
    assert all(head(frame)[2] == 1 and origin == "https://collect.example.org" for origin, frame in run.posted)


def test_every_event_is_in_a_script() -> None:
    done = {event["do"] for script in SCRIPTS for event in script["events"]}
    assert done == {name for name in vars(Scripted) if not name.startswith("_")} - {"step", "collection"}
    expected = {event["expect"] for script in SCRIPTS for event in script["events"] if isinstance(event["expect"], str)}
    outcomes = {"recorded", "unasked", "already", "exhausted", "closed", "declined", "refused", "done"}
    assert expected == outcomes | {"rollback", "equivocation", "cap", "lifetime", "simulated"}


LINES = (ROOT / "js" / "vectors" / "permanent.jsonl").read_text().splitlines()


@each("line", LINES)
def test_permanent_streams(line: str) -> None:
    """From the standard library and AES alone."""
    said = json.loads(line)
    key = hmac.new(bytes.fromhex(said["person_secret"]), b"discreet person 1\0" + said["name"].encode(), hashlib.sha256)
    assert key.digest().hex() == said["key"]
    assert key_of_person(bytes.fromhex(said["person_secret"]), said["name"]) == key.digest()
    fixed = said["name"].encode() + b"\0" + bytes.fromhex(said["fingerprint"]) + said["code"].to_bytes(8, "little")
    memo = int(said["memo"]) if "memo" in said else None
    fixed += b"" if memo is None else memo.to_bytes(8, "little")
    derived = [
        hmac.new(key.digest(), b"discreet " + kind + b" 1\0" + fixed, hashlib.sha256).digest()
        for kind in (b"print", b"answer")
    ]
    assert [derived[0][:16].hex(), derived[1].hex()] == [said["print"], said["answer_key"]]
    stream = Cipher(algorithms.AES256(derived[1]), modes.CTR(bytes(16))).encryptor()
    assert stream.update(bytes(32)).hex() == said["words"]
    words = np.frombuffer(bytes.fromhex(said["words"]), dtype="<u8")
    assert (KeyedRandom(derived[1]).words(4) == words).all()
    sampler = Sampler.parse(said["sampler"])
    record = sampler.record(said["code"], KeyedRandom(derived[1]), memo)
    assert record.hex() == said["record"]
    if memo is not None:
        again = (sampler.truth << 64) // memo
        assert [sampler.round_record(record, again, SeededRandom(seed)).hex() for seed in range(4)] == said["sent"]
