"""The device: what it refuses, keeps, erases and never keeps, and what happens when its surroundings fail."""

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import planted
from discreet import SeededRandom
from discreet.device import Device, Limits, Outcome, RandomnessError, StoreError
from discreet.device.answers import print_of, words_of
from discreet.device.memory import Memory
from discreet.device.outbox import Keys
from discreet.device.protocol.collection import Epochs
from discreet.device.protocol.envelope import public_key
from discreet.device.protocol.frames import Frame
from discreet.device.protocol.sampler import Sampler
from discreet.device.sending import Answer
from discreet.errors import DataError, ParameterError
from refusals import refused
from signed import EPOCH, PLAIN, START, TRUST, altered, collection, envelope, key

LIMITS = Limits(report=2.0, epoch=4.0, lifetime=20.0)
LABELS = ["never", "rarely", "often", planted.VALUE]
PLAN = {**PLAIN, "domain": {"labels": LABELS, "sensitive": ["often", planted.VALUE]}}
TAGS = {**PLAN, "domain": {"labels": [*LABELS, planted.TAGGED], "sensitive": ["often"]}, "tags": ["home"]}


class Fixture:
    """A device with a clock of its own, whose collector takes everything."""

    def __init__(self, folder: Path, **named: Any) -> None:
        self.folder, self.now, self.frames = folder, float(START + 10), []
        self.device = Device(
            folder, TRUST, named.pop("limits", LIMITS), clock=lambda: self.now, post=self.post, **named
        )

    def post(self, _: str, frame: bytes) -> Answer:
        self.frames.append(frame)
        return Answer(202)

    def join(self, written: bytes) -> Any:
        found = self.device.accept(written)
        self.device.agree(found)
        return found


@pytest.fixture
def fixture(tmp_path: Path) -> Fixture:
    return Fixture(tmp_path / "device")


def contents(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.iterdir())


def table(folder: Path, query: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(folder / "device.db")) as database, database:
        return [tuple(row) for row in database.execute(query)]


# What it is made with


def test_seeded_words_are_for_simulations_alone(tmp_path: Path) -> None:
    said = envelope(simulated=True, answers="fresh")
    runs = []
    for name in ("a", "b"):
        one = Fixture(tmp_path / name, simulated=True, random=SeededRandom(7))
        found = one.join(said)
        for hour in range(4):
            one.now = START + 10 + hour * EPOCH
            one.device.answer(found, "daily")
        runs.append([entry.record for entry in one.device.log()])
        with pytest.raises(DataError, match=r"collection.other-kind"):
            one.device.accept(envelope(name="real"))
    assert runs[0] == runs[1]


# Files


def test_a_folder_that_others_see_is_refused(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir(mode=0o755)
    (tmp_path / "open").chmod(0o755)
    assert "folder.not-private" in refused(ParameterError, lambda: Memory(tmp_path / "open"))
    (tmp_path / "file").write_text("")
    refused(ParameterError, lambda: Memory(tmp_path / "file"))
    refused(ParameterError, lambda: Memory(tmp_path / "file" / "below"))


@pytest.mark.parametrize(("version", "which"), [(1, "older"), (3, "older"), (5, "newer")])
def test_a_memory_of_another_version_is_refused(fixture: Fixture, version: int, which: str) -> None:
    fixture.device.close()
    with closing(sqlite3.connect(fixture.folder / "device.db")) as database, database:
        database.execute(f"PRAGMA user_version={version}")
    assert f"memory.{which}-version" in refused(StoreError, lambda: Memory(fixture.folder))


def test_no_value_and_no_tag_is_anywhere(fixture: Fixture, caplog: pytest.LogCaptureFixture) -> None:
    """The envelope is there in base64; values that were answered are nowhere, in no spelling."""
    plain = fixture.join(envelope(PLAN, answers="fresh"))
    tagged = fixture.join(envelope(TAGS, answers="permanent", name="tagged"))
    fixture.device.tag(tagged, {"home": [planted.TAGGED]})
    assert fixture.device.answer(plain, planted.VALUE) is Outcome.RECORDED
    assert fixture.device.answer(tagged, planted.TAGGED) is Outcome.RECORDED
    fixture.device.send()
    planted.clean_files(fixture.folder)
    planted.clean(repr(fixture.device) + str(fixture.device.export()) + str(fixture.device.log()) + caplog.text)
    (places,) = table(fixture.folder, "SELECT name, code, bot FROM places")
    assert places == ("tagged", 4, 5)
    assert "places" not in str(fixture.device.export())
    columns = {
        name: {row[1] for row in table(fixture.folder, f"PRAGMA table_info({name})")}
        for (name,) in table(fixture.folder, "SELECT name FROM sqlite_master WHERE type = 'table'")
    }
    assert {name for name, of in columns.items() if {"code", "value", "label"} & of} == {"places"}


def test_a_secret_place_of_a_map_has_the_bot_of_its_cell(fixture: Fixture) -> None:
    grid = {"grid": {"lat": [0, 2], "lon": [0, 2], "rows": 2, "cols": 2}, "sensitive": [[0.5, 0.5]]}
    found = fixture.join(envelope({**PLAIN, "domain": grid, "cells": {"rows": 2, "cols": 2}}))
    fixture.device.tag(found, [(0.5, 0.5), (1.5, 1.5)])
    assert table(fixture.folder, "SELECT code, bot FROM places") == [(3, 4 + int(found.placeholders.cell_of[3]))]


def test_fresh_answers_do_not_follow_from_what_is_kept(tmp_path: Path) -> None:
    """With one secret and one value, permanent devices agree, and fresh ones draw anew."""
    plan = {**PLAIN, "domain": {"range": [0, 5000]}, "mechanism": {"name": "subset"}}
    reports: dict[str, set[bytes]] = {"fresh": set(), "permanent": set()}
    for kind, found in reports.items():
        for number in range(5):
            one = Fixture(tmp_path / f"{kind}{number}", person_secret=b"s" * 16)
            extra = {"linkable": True, "people": None} if kind == "permanent" else {}
            one.device.answer(one.join(envelope(plan, answers=kind, **extra)), 17)
            found.add(one.device.log()[0].record)
            keys = table(one.folder, "SELECT key FROM names")
            assert keys == [(None,)]
    assert (len(reports["fresh"]), len(reports["permanent"])) == (5, 1)


def test_ids_are_erased_when_reports_are_sent(fixture: Fixture) -> None:
    fixture.device.answer(fixture.join(envelope()), "daily")
    assert fixture.device.send().sent == 1
    (frame,) = fixture.frames
    assert frame[44:60] not in contents(fixture.folder)
    assert Frame.parse(frame, len(frame) - 60).records.tobytes() == fixture.device.log()[0].record


# Erasing


def over(one: Fixture) -> None:
    one.now = START + 24 * EPOCH
    one.device.send()


def over_unsent(one: Fixture) -> None:
    one.now = START + 24 * EPOCH
    assert one.device.answer("habits", "daily") is Outcome.CLOSED


@pytest.mark.parametrize("end", [over, over_unsent])
def test_keys_are_erased_at_the_end(fixture: Fixture, end: Callable[[Fixture], None]) -> None:
    found = fixture.join(envelope(answers="permanent"))
    fixture.device.answer(found, "daily")
    ((kept,),) = table(fixture.folder, "SELECT key FROM names")
    trace = print_of(kept, found, 3)
    assert len(kept) == 32
    assert kept in contents(fixture.folder)
    end(fixture)
    left = contents(fixture.folder)
    assert kept not in left
    assert trace not in left
    derived = "SELECT count(*) FROM prints UNION ALL SELECT count(*) FROM names WHERE record IS NOT NULL"
    assert table(fixture.folder, derived) == [(0,), (0,)]
    assert fixture.device.budget().spent == 1


def test_secret_places_do_not_go_in_clear_after_they_were_erased(fixture: Fixture) -> None:
    found = fixture.join(envelope(TAGS, answers="fresh"))
    refused(ParameterError, lambda: fixture.device.answer(found, "never"))
    fixture.device.tag(found, {"home": [planted.TAGGED]})
    fixture.device.answer(found, planted.TAGGED)
    fixture.device.decline("habits")
    fixture.device.agree(found)
    fixture.now += EPOCH
    refused(ParameterError, lambda: fixture.device.answer(found, planted.TAGGED))
    refused(ParameterError, lambda: fixture.device.tag(found, {"home": []}))


def test_places_of_another_domain_are_refused(fixture: Fixture) -> None:
    found = fixture.join(envelope(TAGS, answers="fresh"))
    fixture.device.tag(found, {"home": [planted.TAGGED]})
    moved = {**TAGS, "domain": {"labels": [planted.TAGGED, *LABELS], "sensitive": ["often"]}}
    newer = fixture.join(envelope(moved, answers="fresh", version=2))
    refused(ParameterError, lambda: fixture.device.answer(newer, planted.TAGGED))
    fixture.device.tag(newer, {"home": [planted.TAGGED]})
    assert fixture.device.answer(newer, planted.TAGGED) is Outcome.RECORDED


def test_a_secret_that_a_version_protects_no_longer_does_not_go_in_clear(fixture: Fixture) -> None:
    """What is sensitive for everybody is kept as no place, and so must be said anew when it is not."""
    found = fixture.join(envelope(TAGS, answers="fresh"))
    fixture.device.tag(found, {"home": ["often"]})
    less = {**TAGS, "domain": {"labels": TAGS["domain"]["labels"], "sensitive": [LABELS[0]]}}
    newer = fixture.join(envelope(less, answers="fresh", version=2))
    refused(ParameterError, lambda: fixture.device.answer(newer, "often"))
    fixture.device.tag(newer, {"home": ["often"]})
    assert fixture.device.answer(newer, "often") is Outcome.RECORDED


# Randomness


@pytest.mark.parametrize(
    "broken",
    [
        lambda n: b"",
        bytes,
        lambda n: b"x" * n,
        lambda n: b"x" * (n - 1),
        lambda n: bytearray(b"x" * n),
        lambda n: None,
        OSError("broken"),
        NotImplementedError(),
    ],
    ids=["nothing", "zeros", "the same", "short", "another type", "none", "broken", "not there"],
)
@pytest.mark.parametrize("kind", ["fresh", "permanent"])
def test_failing_randomness(fixture: Fixture, monkeypatch: pytest.MonkeyPatch, broken: Any, kind: str) -> None:
    """No report, nothing charged, from the first draw on and from any later one on."""
    found = fixture.join(envelope(answers=kind))
    real, calls = os.urandom, [0]
    # The last of six draws may be any bytes; only those that nobody draws are known for what they are.
    for good in range(5 if callable(broken) and broken(32) == b"x" * 32 else 6):
        calls[0] = 0

        def urandom(n: int, good: int = good) -> Any:
            calls[0] += 1
            if calls[0] > good and isinstance(broken, Exception):
                raise broken
            return real(n) if calls[0] <= good else broken(n)

        monkeypatch.setattr("discreet.device.outbox.os.urandom", urandom)
        refused(RandomnessError, lambda: fixture.device.answer(found, "daily"), "broken")
        assert fixture.device.log() == []
        assert fixture.device.budget().spent == 0
        monkeypatch.undo()
    assert table(fixture.folder, "SELECT key FROM names") == [(None,)]
    assert fixture.device.answer(found, "daily") is Outcome.RECORDED


def test_the_same_key_again_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a machine does that was restored from a snapshot with its generator's state."""
    keys, drawn = Keys(), iter([b"a" * 32, b"b" * 32, b"a" * 32, b"c" * 32, b"d" * 32, b"e" * 32])
    monkeypatch.setattr("discreet.device.outbox.os.urandom", lambda _: next(drawn))
    assert keys.key() == b"a" * 32
    with pytest.raises(RandomnessError):
        keys.key()
    assert keys.key() == b"d" * 32


# Many at once


def test_keys_are_pinned_anew_when_a_device_is_opened(tmp_path: Path) -> None:
    one = Fixture(tmp_path / "device")
    one.join(envelope())
    one.device.close()
    with Device(tmp_path / "device", [public_key(key("b"))], LIMITS) as other:
        with pytest.raises(DataError, match="trusted"):
            other.answer("habits", "daily")
        assert other.budget().spent == 0


def test_smaller_limits_hold_for_what_was_accepted_before(tmp_path: Path) -> None:
    one = Fixture(tmp_path / "device")
    found = one.join(envelope())
    one.device.close()
    small = Fixture(tmp_path / "device", limits=Limits(0.5, 4, 20))
    assert small.device.answer(found, "daily") is Outcome.EXHAUSTED


def test_delays(tmp_path: Path) -> None:
    one = Fixture(tmp_path / "device", limits=Limits(2, 1e9, 1e9))
    found = one.join(envelope(answers="fresh", lifetime=1e6, spread=30, epochs=Epochs(START, 60, 1000)))
    for epoch in range(60):
        one.now = START + 60 * epoch + 50
        one.device.answer(found, "daily")
    dues = [due - (START + 60 * epoch + 50) for due, epoch in table(one.folder, "SELECT due, epoch FROM reports")]
    # Ten seconds of the epoch are left.
    assert 0 <= min(dues) < 2
    assert 8 < max(dues) <= 10


def test_a_collection_object_of_a_caller_is_not_believed(fixture: Fixture) -> None:
    """What was accepted is answered, whatever the caller's object with its id says."""
    found = fixture.join(envelope(answers="fresh"))
    weaker = collection({**PLAIN, "epsilon": 1.9}, answers="fresh").sampler
    fixture.device.answer(replace(found, sampler=weaker, epsilon=0.0001), "daily")
    assert fixture.device.budget().spent == 1
    wrong = altered(envelope(), version=9)
    assert fixture.device.accept(wrong).version == 9


def test_a_second_coin_is_tossed_for_every_report(fixture: Fixture, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is kept is the memo; what leaves is the coin's, of fresh words, also when nothing is left to spend."""
    tossed: list[tuple[bytes, int, bytes]] = []
    again = Sampler.round_record

    def noted(self: Sampler, memo: bytes, threshold: int, random: Any) -> bytes:
        tossed.append((memo, threshold, sent := again(self, memo, threshold, random)))
        return sent

    monkeypatch.setattr(Sampler, "round_record", noted)
    found = fixture.join(envelope(PLAN, answers="permanent", memo=2.0, epochs=Epochs(START, EPOCH, 24)))
    assert found.memo is not None
    for answered in (3, 3, 0, 2, 3):
        assert fixture.device.answer(found, LABELS[answered]) is Outcome.RECORDED
        fixture.now += EPOCH
        assert table(fixture.folder, "SELECT record FROM names") == [(tossed[-1][0],)]
    ((raw,),) = table(fixture.folder, "SELECT key FROM names")
    often, never = (found.sampler.record(code, words_of(raw, found, code), found.memo.truth) for code in (3, 0))
    # The lifetime of 4 is spent by two answers, so that a third one repeats the second.
    assert [memo for memo, _, _ in tossed] == [often, often, never, never, often]
    assert {threshold for _, threshold, _ in tossed} == {(found.sampler.truth << 64) // found.memo.truth}
    assert [entry.record for entry in fixture.device.log()] == [sent for _, _, sent in tossed]
    assert fixture.device.budget().spent == 4.0
