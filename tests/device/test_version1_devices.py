"""Memories of both devices of version 1, left by a kill: later versions go on where they ended."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from discreet.device import Device, Limits
from discreet.device.sending import Answer
from programs import program
from signed import EPOCH, START
from version1_files import FACTS, FOLDER, copied, python_device_of

ENVELOPES = json.loads((FOLDER / "devices" / "envelopes.json").read_text())
ASKED = ("fresh", "permanent", "tagged", "left")
STATES = {None: "waiting", "202": "sent", "422": "dropped"}
OUTCOMES = {"fresh": "already", "permanent": "already", "tagged": "already", "left": "declined"}


class Posting:
    """A device over a copy of a folder, which keeps the frames that it sends."""

    def __init__(self, folder: Path) -> None:
        self.now, self.frames = START + 20.0 + 2 * EPOCH, []
        trust = [bytes.fromhex(ENVELOPES["trust"])]
        self.device = Device(folder, trust, Limits(2.0, 8.0, 50.0), clock=lambda: self.now, post=self.post)

    def post(self, _: str, frame: bytes) -> Answer:
        self.frames.append(frame)
        return Answer(202)


@pytest.fixture
def python(tmp_path: Path) -> Any:
    posting = Posting(copied("devices/python", tmp_path / "device"))
    yield posting
    posting.device.close()


def log_of(rows: list[Any]) -> list[Any]:
    """Return what a log must say, of rows of (name, epoch, id, record, status, ...)."""
    return sorted([name, epoch, record, STATES[status]] for name, epoch, _, record, status, *_ in rows)


def test_the_ledger_and_the_log_are_those_that_were_written(python: Posting) -> None:
    kept = FACTS["python"]
    log = [[one.name, one.epoch, one.record.hex(), one.state] for one in python.device.log()]
    assert sorted(log) == log_of(kept["reports"])
    budget = python.device.budget()
    assert (budget.spent, budget.left) == (kept["spent"], 50.0 - kept["spent"]) == (7.0, 43.0)
    assert budget.names == {name: sum(row[2] for row in kept["ledger"] if row[0] == name) for name in ASKED}


def test_nothing_is_answered_twice_and_what_waits_is_sent_as_it_was_drawn(python: Posting) -> None:
    assert {name: str(python.device.answer(name, "never")) for name in ASKED} == OUTCOMES
    python.now += 900
    python.device.send()
    waiting = {(row[0], bytes.fromhex(row[2] + row[3])) for row in FACTS["python"]["reports"] if row[4] is None}
    assert len(waiting) == 2
    assert {frame[44:] for frame in python.frames} == {report for _, report in waiting}
    python.now += EPOCH
    assert python.device.answer("permanent", "often") == "recorded"
    drawn = [one.record for one in python.device.log() if one.name == "permanent"]
    # Epoch 0 had the same value, and what was drawn for it is permanent and free.
    first = next(row[3] for row in FACTS["python"]["reports"] if row[0] == "permanent")
    assert drawn[0] == drawn[-1] == bytes.fromhex(first)
    assert python.device.answer("fresh", "often") == "recorded"
    assert python.device.budget().spent == FACTS["python"]["spent"] + 1.0


def test_versions_secret_places_and_permanent_answers_are_remembered(python: Posting, tmp_path: Path) -> None:
    """Nothing of them is another one once a later version has opened the memory."""
    assert python.device.answer("fresh", "daily") == "already"
    python.device.close()
    found = json.loads(json.dumps(python_device_of(tmp_path / "device")))
    assert found == FACTS["python"]
    assert (found["prints"], [name for name, *_ in found["places"]]) == (2, ["tagged"])


def test_the_device_of_javascript_goes_on_too(tmp_path: Path) -> None:
    folder = copied("devices/javascript", tmp_path / "device")
    command = [
        program("node"),
        "--no-warnings",
        FOLDER / "device.mjs",
        "read",
        folder,
        FOLDER / "devices" / "envelopes.json",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found, kept = json.loads(done.stdout), FACTS["javascript"]
    log = sorted([one["name"], one["epoch"], one["record"], one["state"]] for one in found["log"])
    assert log == log_of(kept["answers"])
    assert found["budget"]["spent"] == kept["spent"] == 7
    assert (found["tagged"], found["outcomes"], found["again"]) == (True, OUTCOMES, "recorded")
    first, *_ = (row[3] for row in kept["answers"] if row[:2] == ["permanent", 0])
    assert found["last"] == [first]
    waiting = {row[2] + row[3] for row in kept["answers"] if row[4] is None}
    assert len(waiting) == 2
    assert {frame[88:] for frame in found["posted"]} >= waiting
