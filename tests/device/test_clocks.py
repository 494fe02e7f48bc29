"""Clocks: a day off, back by an epoch, at 2038, in a leap second, and clocks that are none."""

from pathlib import Path
from typing import Any

import pytest

from discreet.device import Device, Limits, Outcome, SendResult
from discreet.device.protocol.collection import Epochs
from discreet.device.protocol.frames import head
from discreet.device.sending import Answer
from signed import EPOCH, START, TRUST, envelope

DAY = 86_400
RECORDED, ALREADY, CLOSED = Outcome.RECORDED, Outcome.ALREADY, Outcome.CLOSED


class Clocked:
    """A device that shows what it does at any time."""

    def __init__(self, folder: Path, **terms: Any) -> None:
        self.now: Any = 0.0
        self.frames: list[bytes] = []
        self.deliver = self.post
        self.device = Device(
            folder,
            TRUST,
            Limits(2, 100, 100),
            clock=lambda: self.now,
            post=lambda *sent: self.deliver(*sent),  # noqa: PLW0108 - tests replace `deliver`
        )
        said = {"answers": "fresh", "lifetime": 100.0, "spread": 0, **terms}
        self.now = float(said.get("epochs", Epochs(START, EPOCH, 24)).start)
        self.found = self.device.accept(envelope(**said))
        self.device.agree(self.found)

    def post(self, _: str, frame: bytes) -> Answer:
        self.frames.append(frame)
        return Answer(202)

    def at(self, now: float) -> Outcome:
        self.now = now
        return self.device.answer(self.found, "daily")

    @property
    def epochs(self) -> list[int]:
        return [head(frame)[1] for frame in self.frames]


@pytest.mark.parametrize("back", [1, 61, EPOCH - 1, EPOCH, EPOCH + 1, DAY])
def test_a_clock_that_goes_back(tmp_path: Path, back: int) -> None:
    """By less than an epoch it may answer an epoch that it missed; never one that it answered."""
    one = Clocked(tmp_path / "d")
    answered = START + 30 * 60 + 5 * EPOCH
    assert one.at(answered) is RECORDED
    outcome = one.at(answered - back)
    assert outcome is (CLOSED if back > EPOCH else ALREADY if one.found.epoch_at(one.now) == 5 else RECORDED)
    assert one.at(answered) is ALREADY
    one.device.send()
    assert len(one.epochs) == len(set(one.epochs)) == 1 + (outcome is RECORDED)


@pytest.mark.parametrize("power", [31, 32])
def test_where_seconds_pass_a_power_of_two(tmp_path: Path, power: int) -> None:
    """January 2038, and February 2106."""
    border = 1 << power
    one = Clocked(tmp_path / "d", epochs=Epochs(border - 2 * 60, 60, 4), late=600)
    moments = [border - 61.0, border - 0.5, border + 0.0, border + 61.0]
    assert [one.at(moment) for moment in moments] == [RECORDED] * 4
    one.device.close()
    with Device(tmp_path / "d", TRUST, Limits(2, 100, 100), clock=lambda: border + 61.0, post=one.post) as again:
        assert again.answer("habits", "daily") is ALREADY
        assert again.send() == SendResult(4, 0, 0)
    assert one.epochs == [0, 1, 2, 3]


def test_the_last_epoch_of_all(tmp_path: Path) -> None:
    """The number of an epoch has 32 bits on the wire."""
    most = (1 << 32) - 1
    one = Clocked(tmp_path / "d", epochs=Epochs(0, 60, most))
    assert one.at(60.0 * (most - 1) + 59) is RECORDED
    one.device.send()
    assert one.epochs == [most - 1]
    assert one.at(60.0 * most) is CLOSED


def test_the_end_of_late_comes_while_another_is_sent(tmp_path: Path) -> None:
    """The clock is looked at before every report."""
    one = Clocked(tmp_path / "d", late=60)
    other = one.device.accept(envelope(answers="fresh", name="other", late=60, spread=0))
    one.device.agree(other)
    assert one.at(START + 10) is RECORDED
    assert one.device.answer(other, "daily") is RECORDED

    def slow(_: str, frame: bytes) -> Answer:
        one.now += 55
        return one.post(_, frame)

    one.deliver = slow
    one.now = START + EPOCH + 59.0
    assert one.device.send() == SendResult(1, 1, 0)
    assert sorted(entry.status or "" for entry in one.device.log()) == ["202", "late"]
    assert len(one.frames) == 1


def test_a_clock_that_goes_back_while_a_report_is_sent(tmp_path: Path) -> None:
    """It waits, by the time at which sending began; it is not sent again and again."""
    one = Clocked(tmp_path / "d")
    assert one.at(START + EPOCH + 10) is RECORDED

    def back(_: str, frame: bytes) -> Answer:
        assert len(one.frames) < 3
        one.now -= DAY
        one.frames.append(frame)
        return Answer(503)

    one.deliver = back
    one.now += 1
    assert one.device.send() == SendResult(0, 0, 1)
    assert len(one.frames) == 1


def test_slow_reports_are_not_sent_by_two_at_once(tmp_path: Path) -> None:
    """A report that is taken after others took their time is this process's for as long as any."""
    one = Clocked(tmp_path / "d", late=7 * DAY)
    moments = [START + 10.0 + epoch * EPOCH for epoch in range(4)]
    assert [one.at(moment) for moment in moments] == [RECORDED] * 4
    with Device(tmp_path / "d", TRUST, Limits(2, 100, 100), clock=lambda: one.now, post=one.post) as other:

        def slow(_: str, frame: bytes) -> Answer:
            one.now += 60
            before = len(one.frames)
            if before:
                other.send()
            assert frame not in one.frames[before:]
            one.frames.append(frame)
            return Answer(202)

        one.deliver = slow
        one.now += 1
        one.device.send()
    assert sorted(one.epochs) == [0, 1, 2, 3]
