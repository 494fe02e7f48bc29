"""The collector's clock: where it jumps ahead, no epoch is closed for good before somebody can set it right."""

from pathlib import Path

import pytest
from collectors import added, frame, ids, keeping, kept, put, records, serving, total

from discreet.collector.storage.clock import DOUBT_SECONDS, Clock


class Times:
    """A clock of the day, and time that passes."""

    def __init__(self) -> None:
        self.day, self.passed = 1_000_000.0, 50.0

    def go(self, seconds: float, jump: float = 0.0) -> None:
        self.day += seconds + jump
        self.passed += seconds


def clock_of(times: Times, seen: float | None = None) -> Clock:
    return Clock(seen, clock=lambda: times.day, passed=lambda: times.passed)


def test_a_clock_that_goes_evenly_or_is_set_by_little_is_believed() -> None:
    times = Times()
    clock = clock_of(times, seen=times.day - 3000)
    for jump in (0, 0, 59, -59, -5000):
        times.go(1, jump)
        assert clock.look() == (jump if abs(jump) > 60 else 0)
        assert not clock.doubted


def test_a_jump_ahead_is_doubted_for_ten_minutes() -> None:
    times = Times()
    clock = clock_of(times)
    times.go(1, 86_400)
    assert clock.look() == 86_400
    assert clock.doubted
    times.go(DOUBT_SECONDS - 1)
    assert clock.look() == 0
    assert clock.doubted
    times.go(2)
    assert not clock.doubted


def test_a_clock_that_is_set_right_again_is_believed_at_once() -> None:
    times = Times()
    clock = clock_of(times)
    times.go(1, 86_400)
    clock.look()
    times.go(5, -86_390)
    clock.look()
    assert not clock.doubted


def test_a_collector_that_was_away_for_long_doubts_the_clock() -> None:
    times = Times()
    assert not clock_of(times, seen=times.day - 3599).doubted
    assert clock_of(times, seen=times.day - 3601).doubted
    assert clock_of(times, seen=times.day + 86_400).doubted
    assert not clock_of(times, seen=times.day + 59).doubted


def test_nothing_is_closed_for_good_while_the_clock_is_doubted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reports of the epoch that runs are to be sent again, not dropped; nothing is sealed; health says why."""
    entry = added(tmp_path)
    put(tmp_path, entry, [(ids(60), records(entry, 60))])
    with keeping(tmp_path) as keeper, keeper.store.transaction():
        # A month ago: as if the clock had jumped while nobody looked.
        keeper.store.see_clock(int(entry.collection.window(0)[0]) - 30 * 86_400)
    with serving(tmp_path, sealing="auto") as served:
        clock = served.app.keeper.clock
        assert clock.doubted
        assert served.client.get("/health/ready").json["clock"] is False
        answer = served.client.post(frame(entry, epoch=0))
        assert (answer.status, answer.json["error"], answer.headers["retry-after"]) == (503, "clock", "60")
        assert served.client.post(frame(entry)).status == 202
        served.app.housekeeper.look()
        assert total(served.app.measures.sealed) == 0
        monkeypatch.setattr(Clock, "doubted", False)
        assert served.client.post(frame(entry, epoch=0)).json["error"] == "late"
    assert len(kept(tmp_path)) == 61
