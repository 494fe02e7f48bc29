"""Units of times: settled only where they are certain, asked for otherwise; and the attack by absolute times."""

import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from discreet import SeededRandom
from discreet.errors import DataError, ParameterError
from discreet.risk.assessment import assess
from discreet.risk.attacks.traces import strongest
from discreet.risk.clock import hours_of, seconds_of
from discreet.risk.events import read_traces
from discreet.risk.traces import Split, Traces, by_half
from refusals import refused
from running import done, refusal, run, told

START = 1_700_006_400
TAPS = START + np.arange(0, 40 * 3600, 1000)


def traces(times: Any, unit: str | None = None) -> Traces:
    return Traces.of(np.arange(len(times)) % 2, ["home"] * len(times), times, unit=unit)


def hours(found: Traces) -> Any:
    return hours_of(found.times, found.unit)


@pytest.mark.parametrize(
    ("times", "unit"),
    [
        (TAPS, "s"),
        (TAPS * 1000, "ms"),
        (TAPS * 10**6 + 5, "us"),
        (TAPS * 10**9, "ns"),
        (TAPS + 0.25, "s"),
        (TAPS.astype("datetime64[s]"), "ns"),
        ([datetime.date(1965, 3, 4), datetime.date(2150, 1, 1)], "ns"),
        (TAPS - TAPS[0], "unknown"),
        (TAPS // 60, "unknown"),
        (TAPS // 86_400, "unknown"),
        ([20_240_131, 20_240_201], "unknown"),
        (TAPS / 86_400 + 25_569, "unknown"),
        (np.append(TAPS, 0), "unknown"),
        (np.append(TAPS, TAPS[-1] * 1000), "unknown"),
        ([float("inf"), 1.0], "unknown"),
    ],
)
def test_a_unit_is_settled_only_if_all_times_agree(times: Any, unit: str) -> None:
    found = traces(times)
    assert found.unit == unit
    assert found.select([1]).unit == found.first(1).unit == by_half(found).target.unit == unit
    if unit == "unknown":
        assert "times.unknown-unit" in refused(DataError, lambda: seconds_of(found.times, found.unit))


@pytest.mark.parametrize(
    ("times", "unit"),
    [
        (TAPS // 60 - 28_333_440, "min"),
        (TAPS / 3600, "h"),
        (TAPS / 86_400, "d"),
        (TAPS / 86_400 + 25_569, "excel"),
        (TAPS, "s"),
        (TAPS * 10**9 + 7, "ns"),
    ],
)
def test_every_unit_says_the_same_hours(times: Any, unit: str) -> None:
    found, expected = hours(traces(times, unit)), hours(traces(TAPS))
    assert found is not None
    assert expected is not None
    apart = (found - expected + 40_000) % 86_400
    # Minutes are rounded down, and any origin rotates all hours alike.
    assert np.ptp(apart) < 60


def test_numbers_without_hours_have_none() -> None:
    assert hours(traces(TAPS // 86_400, "d")) is None
    assert hours(traces(TAPS, "order")) is None
    assert hours(traces([datetime.date(2024, 1, 1), datetime.date(2024, 1, 9)])) is None
    assert "hours" not in refused(ParameterError, lambda: traces(TAPS, "hours")).partition(", got")[0]
    assert "times.not-finite" in refused(DataError, lambda: traces([1.0, float("inf")], "min"))


def taps(users: int = 60, days: int = 16) -> tuple[np.ndarray, np.ndarray]:
    """People at one station, each at an hour of their own."""
    generator = np.random.default_rng(4)
    who = np.repeat(np.arange(users), days)
    hour = np.repeat(np.arange(users) * 24 / users, days) + generator.normal(0, 0.1, len(who))
    return who, START + np.tile(np.arange(days), users) * 86_400 + (hour * 3600).astype(np.int64)


def test_hours_in_any_unit_identify_and_are_asked_for_otherwise(tmp_path: Path) -> None:
    who, times = taps()
    tables = {"s": times, "min": (times - times.min()) // 60, "excel": times / 86_400 + 25_569}
    for unit, column in tables.items():
        path = tmp_path / f"{unit}.csv"
        path.write_text("user,event,at\n" + "".join(f"{u},gate,{t}\n" for u, t in zip(who, column, strict=True)))
        given = ("risk", path, "--time", "at", "--seed", 1)
        if unit != "s":
            assert "--time-unit" in refusal(*given, "--fail-above", 0.9)
        facts = told(*given, "--time-unit", unit)
        assert facts["success"]["value"] > 0.5
        assert facts["hours_not_used"] == ""
    facts = told(*given, "--time-unit", "order")
    assert facts["success"]["value"] < 0.1
    assert "no attack used hours" in " ".join(done(*given, "--time-unit", "order").split())
    days = tmp_path / "days.csv"
    days.write_text("user,event,at\n" + "".join(f"{u},gate,2024-01-{d + 1:02}\n" for u in range(9) for d in range(4)))
    assert "no hour" in told("risk", days, "--time", "at", "--seed", 1)["hours_not_used"]
    assert run("risk", days, "--time-unit", "s").exit_code == 2


def test_reports_need_no_unit(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("user,event,at\n" + "".join(f"{u},p{u % 3},{d}\n" for u in range(9) for d in range(4)))
    assert told("risk", path, "--time", "at", "--epsilon", 1, "--seed", 1)["users"] == 9
    assert read_traces(path, user="user", event="event", time="at", keep_times=True, unit="d").unit == "d"


def sittings(users: int = 200) -> Traces:
    """People who do everything in one sitting, at different times, and nothing of their own."""
    generator = np.random.default_rng(2)
    who = np.repeat(np.arange(users), 8)
    begins = START + generator.permutation(users) * 7200
    times = np.repeat(begins, 8) + np.tile(np.arange(8), users) * 300
    return Traces.of(who, generator.integers(0, 500, len(who)), times)


def test_a_trace_that_begins_where_known_events_end_is_identified() -> None:
    found = assess(by_half(sittings()), random=SeededRandom(1))
    assert {one.success.value for one in found.tried if one.attack == "when"} == {1}
    assert any("time:WHEN" in sentence for sentence in found.sentences)
    shuffled = by_half(sittings())
    moved = shuffled.target.select(np.roll(np.arange(200), 1))
    other = assess(type(shuffled)(shuffled.training, moved), attack="when", random=SeededRandom(1))
    assert other.success.value < 0.05


def test_equal_times_identify_a_copy() -> None:
    found = sittings()
    copy = Split(found, found, of_two_tables=True)
    assert strongest(copy, ["contained-times"], random=SeededRandom(1)).attempts[0].success.value == 1


def test_without_absolute_times_there_is_no_such_attack() -> None:
    split = by_half(Traces.of(np.arange(40) % 5, np.arange(40) % 3))
    assert "attack.needs-column" in refused(ParameterError, lambda: strongest(split, ["when"]))
    assert "when" not in {one.attack for one in strongest(split, random=SeededRandom(1)).attempts}


def test_files_of_dates_and_numbers_keep_their_unit(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    stamps = pa.array(TAPS.astype("datetime64[s]"))
    pq.write_table(pa.table({"user": [1, 2] * 72, "event": [1] * 144, "at": stamps}), tmp_path / "t.parquet")
    found = read_traces(tmp_path / "t.parquet", user="user", event="event", time="at", keep_times=True)
    assert found.unit == "ns"
    assert hours(found) is not None
