"""What a device keeps: nothing of what it refuses, little after forgetting, on disk at once, and in no error."""

import base64
import json
import pickle
import sqlite3
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import planted
from discreet.device import Device, Limits, Outcome
from discreet.device.memory import Memory
from discreet.device.protocol.envelope import MOST_ENVELOPE_BYTES, REFUSALS, CollectionError, opened
from discreet.device.sending import Answer, Proxy
from discreet.errors import DiscreetError, ParameterError
from refusals import refused
from signed import PLAIN, START, TRUST, altered, document, envelope, resigned

LIMITS = Limits(report=2.0, epoch=4.0, lifetime=20.0)
SECRET = b"a secret of one person"
LABELS = ["never", "rarely", "often", planted.VALUE, planted.TAGGED]
TAGS = {**PLAIN, "domain": {"labels": LABELS, "sensitive": ["often"]}, "tags": ["home"]}


def device(folder: Path, **named: Any) -> Device:
    said = {"clock": lambda: START + 10.0, "post": lambda *_: Answer(503), **named}
    return Device(folder, TRUST, LIMITS, **said)


def dump(folder: Path) -> list[str]:
    """Return everything that a memory holds, but what was left out of it."""
    with sqlite3.connect(folder / "device.db") as database:
        return list(database.iterdump())


def _plan_of_others() -> bytes:
    return altered(envelope(), plan={**document(envelope())["plan"], "domain": {"labels": ["a", "b"]}})


def _unsigned() -> bytes:
    whole = json.loads(envelope())
    whole["document"] = base64.b64encode(opened(envelope(), TRUST) + b" ").decode()
    return json.dumps(whole).encode()


REFUSED: dict[str, Callable[[], bytes]] = {
    "size": lambda: b" " * (MOST_ENVELOPE_BYTES + 1),
    "envelope": lambda: b"{}",
    "untrusted": lambda: resigned(document(envelope()), "b"),
    "signature": _unsigned,
    "format": lambda: altered(envelope(), format="discreet collection 2"),
    "field": lambda: altered(envelope(), least=0),
    "rollback": lambda: envelope(name="seen"),
    "equivocation": lambda: envelope(name="seen", version=2, contact="other@example.org"),
    "promise": lambda: altered(envelope(), sampler={**document(envelope())["sampler"], "truth": str(1 << 63)}),
    "law": lambda: altered(envelope(), sampler={**document(envelope())["sampler"], "law": {"law": "of tomorrow"}}),
    "cap": lambda: envelope({**PLAIN, "epsilon": 2.5}),
    "lifetime": lambda: envelope(lifetime=21.0),
    "plan": _plan_of_others,
    "rebuilt": lambda: altered(envelope(), fingerprint="0" * 32),
    "simulated": lambda: envelope(simulated=True),
}


def test_every_refusal_is_tried() -> None:
    assert set(REFUSED) == {kind.reason for kind in REFUSALS}


@pytest.mark.parametrize("code", REFUSED)
def test_nothing_of_what_is_refused_is_kept(tmp_path: Path, code: str) -> None:
    """Not the version, not the time, and the name can still be another's."""
    now = [START + 10.0]
    one = device(tmp_path / "d", clock=lambda: now[0])
    one.accept(envelope(name="seen", version=2))
    before = dump(tmp_path / "d")
    now[0] = START + 1e6
    with pytest.raises(CollectionError) as caught:
        one.accept(REFUSED[code](), rebuild=True)
    assert caught.value.reason == code
    assert dump(tmp_path / "d") == before
    now[0] = START + 10.0
    assert one.accept(envelope()).version == 1


def test_checks_come_in_their_order(tmp_path: Path) -> None:
    """Of a document with every fault from one check on, that check's refusal is what comes."""
    one = device(tmp_path / "d")
    one.accept(envelope(name="seen", version=2))
    said = document(envelope({**PLAIN, "epsilon": 2.5}, name="seen", simulated=True))
    said["fingerprint"], said["plan"]["domain"] = "0" * 32, {"labels": ["a"]}
    said["sampler"] = {**said["sampler"], "truth": str((1 << 64) - 1)}
    faults: list[tuple[str, dict[str, Any]]] = [
        ("format", {"format": "x", "least": 0}),
        ("field", {"least": 0}),
        ("rollback", {}),
        ("promise", {"version": 3}),
        ("simulated", {"version": 3, "sampler": document(envelope())["sampler"]}),
        ("cap", {"version": 3, "sampler": document(envelope())["sampler"], "simulated": False}),
        ("plan", {"version": 3, "sampler": document(envelope())["sampler"], "simulated": False, "epsilon": 1.0}),
    ]
    for code, changes in faults:
        with pytest.raises(CollectionError) as caught:
            one.accept(resigned({**said, **changes}), rebuild=True)
        assert caught.value.reason == code
    with pytest.raises(CollectionError) as caught:
        one.accept(resigned({**said, "format": "x"}, "b"))
    assert caught.value.reason == "untrusted"


def test_forgetting_leaves_versions_and_charges(tmp_path: Path) -> None:
    one = device(tmp_path / "d")
    found = one.accept(envelope(TAGS, answers="permanent", linkable=True, people=None))
    one.agree(found)
    one.tag(found, {"home": [planted.TAGGED]})
    assert one.answer(found, planted.TAGGED) is Outcome.RECORDED
    (report,) = one.log()
    one.forget()
    files = b"".join(path.read_bytes() for path in (tmp_path / "d").iterdir())
    for erased in (found.envelope[:200], found.envelope[-200:], b"collect.example.org"):
        assert erased not in files
    with sqlite3.connect(tmp_path / "d" / "device.db") as database:
        rows = {
            name: database.execute(f"SELECT * FROM {name}").fetchall()
            for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        }
    assert {name for name, of in rows.items() if of} == {"names", "versions", "ledger", "clock"}
    assert rows["names"] == [("habits", 1, found.id, None, 0, None, None, None, None)]
    assert [row[1:4] + row[5:] for row in rows["versions"]] == [(found.id, "habits", 1, 0, "[]")]
    assert [row[4] for row in rows["ledger"]] == [1.0]
    assert rows["clock"][0][0] == 0
    assert report.record


def test_what_was_erased_is_no_more_in_the_answer_to_the_next_epoch(tmp_path: Path) -> None:
    """Who forgets and joins again has a new key: the permanent report is drawn anew, and charged."""
    now = [START + 10.0]
    one = device(tmp_path / "d", clock=lambda: now[0])
    plan = {**PLAIN, "domain": {"range": [0, 5000]}, "mechanism": {"name": "subset"}}
    written = envelope(plan, answers="permanent", linkable=True, people=None)
    records = []
    for epoch in range(2):
        now[0] = START + 10.0 + epoch * 3600
        one.agree(one.accept(written))
        assert one.answer("habits", 17) is Outcome.RECORDED
        assert one.answer("habits", 17) is Outcome.ALREADY
        records.append(one.log()[0].record)
        one.forget()
    assert records[0] != records[1]
    assert one.budget().spent == 2


def test_what_is_committed_is_on_disk(tmp_path: Path) -> None:
    """No kill shows it, and the loss of power would: every commit waits for the disk."""
    memory = Memory(tmp_path / "d")
    with memory.transaction() as database:
        found = {
            name: database.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("journal_mode", "synchronous", "secure_delete", "temp_store", "locking_mode")
        }
    assert found == {
        "journal_mode": "truncate",
        "synchronous": 3,
        "secure_delete": 1,
        "temp_store": 2,
        "locking_mode": "normal",
    }


def test_a_report_leaves_when_its_charge_is_in_the_database_itself(tmp_path: Path) -> None:
    """In the file itself, with no log beside it: whoever copies or loses another file loses no charge."""
    charged: list[Any] = []

    def post(_: str, __: bytes) -> Answer:
        copy = tmp_path / "copy.db"
        copy.write_bytes((tmp_path / "d" / "device.db").read_bytes())
        with sqlite3.connect(copy) as database:
            charged.extend(database.execute("SELECT epoch, charge FROM ledger"))
        return Answer(202)

    one = device(tmp_path / "d", post=post)
    one.agree(one.accept(envelope()))
    assert one.answer("habits", "daily") is Outcome.RECORDED
    assert one.send().sent == 1
    assert charged == [(0, 1.0)]


# Errors and objects


ATTEMPTS: dict[str, Callable[[Device], Any]] = {
    "a value": lambda one: one.answer("tagged", planted.VALUE + "x"),
    "parts": lambda one: one.answer("tagged", {planted.VALUE: planted.VALUE}),
    "a place": lambda one: one.tag("tagged", {"home": [planted.TAGGED + "x"]}),
    "a tag": lambda one: one.tag("tagged", {planted.TAGGED: ["never"]}),
    "two tags": lambda one: one.tag("tagged", {"home": [planted.TAGGED], "others": [planted.TAGGED]}),
    "a name": lambda one: one.decline(planted.VALUE),
    "a name of nothing": lambda one: one.answer(planted.VALUE, "never"),
    "an envelope": lambda one: one.accept(f'{{"document": "{planted.VALUE}"}}'.encode()),
    "an envelope as text": lambda one: one.accept(planted.VALUE),  # type: ignore[arg-type]
    "no envelope": lambda one: one.accept(None),  # type: ignore[arg-type]
    "no collection": lambda one: one.answer([planted.VALUE], "never"),  # type: ignore[arg-type]
    "no collection to agree to": lambda one: one.agree(3),  # type: ignore[arg-type]
    "a proxy": lambda one: Proxy.parse(f"ftp://me:{planted.VALUE}@x"),
    "a shared secret": lambda one: Device("x", TRUST, LIMITS, person_secret=planted.VALUE),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("attempt", ATTEMPTS)
def test_no_error_holds_what_somebody_said(tmp_path: Path, attempt: str) -> None:
    """Not in its text, its parts, its spelling, a copy in bytes, or what a log would show."""
    one = device(tmp_path / "d", person_secret=SECRET)
    one.agree(one.accept(envelope(TAGS, answers="fresh", name="tagged")))
    one.tag("tagged", {"home": []})
    with pytest.raises(DiscreetError) as caught:
        ATTEMPTS[attempt](one)
    error = caught.value
    refused(type(error), lambda: ATTEMPTS[attempt](one))
    shown = "".join(traceback.format_exception_only(error)) + repr(error) + repr(vars(error)) + repr(error.args)
    planted.clean(shown)
    planted.clean(pickle.dumps(error))
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_objects_show_no_secret(tmp_path: Path) -> None:
    one = Device(tmp_path / "d", TRUST, LIMITS, person_secret=SECRET)
    found = one.accept(envelope(answers="permanent", linkable=True, people=None))
    for part in (one, one.budget(), one.log(), one.export(), found, found.sampler):
        assert SECRET.decode() not in repr(part) + str(part)
    with pytest.raises((TypeError, ParameterError)):
        pickle.dumps(one)
