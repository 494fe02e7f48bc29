"""Traces from tables of every kind, and the ways to split them."""

import datetime
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from discreet.errors import DataError
from discreet.risk.traces import Traces
from refusals import refused
from slow_matching import events_of

SECRET = 8_675_309
USERS = ["u2", "u1", "u2", "u3", "u1", "u2", "u2"]
EVENTS = ["cafe", "home", "bar", "home", "cafe", "bar", "gym"]
TIMES = [5, 1, 2, 9, 0, 2, 7]
CODES = {"cafe": 0, "home": 1, "bar": 2, "gym": 3}

tables = pytest.mark.parametrize("table", [dict, pd.DataFrame, pl.DataFrame, pa.table])


@tables
def test_the_same_from_every_kind_of_table(table: Callable[[dict[str, Any]], Any]) -> None:
    given = table({"who": USERS, "what": EVENTS, "when": TIMES})
    traces = Traces.from_table(given, user="who", event="what")
    assert events_of(traces) == [[0, 2, 2, 3], [1, 0], [1]]
    assert (traces.users, len(traces), traces.event_count) == (3, 7, 4)
    timed = Traces.from_table(given, user="who", event="what", time="when")
    assert events_of(timed) == [[2, 2, 0, 3], [0, 1], [1]]
    assert timed.times is not None
    assert timed.times.tolist() == [2, 2, 5, 7, 0, 1, 9]


@pytest.mark.parametrize(
    "times",
    [
        TIMES,
        np.array(TIMES, dtype=np.int16),
        [time + 0.5 for time in TIMES],
        [datetime.date(2020, 1, 1 + time) for time in TIMES],
        [datetime.datetime(2020, 1, 1, time) for time in TIMES],
        np.array(TIMES, dtype="datetime64[ns]"),
        pd.Series(pd.to_datetime(TIMES, unit="s")),
        pl.Series(TIMES),
        pa.array(TIMES, pa.timestamp("us")),
        pa.chunked_array([TIMES[:3], TIMES[3:]]),
    ],
)
def test_times_of_any_kind_and_equal_ones_in_the_order_of_rows(times: Any) -> None:
    assert events_of(Traces.of(USERS, EVENTS, times)) == [[2, 2, 0, 3], [0, 1], [1]]
    assert events_of(Traces.of([1] * 7, EVENTS, [0] * 7)) == [[CODES[event] for event in EVENTS]]


@pytest.mark.parametrize(
    ("users", "events"),
    [
        (np.array([7, 3, 7]), pd.Categorical(["b", "a", "b"], categories=["z", "a", "b"])),
        ((7, 3, 7), pa.chunked_array([pa.array(["b", "a"]).dictionary_encode(), pa.array(["b"]).dictionary_encode()])),
        (pd.Series([7, 3, 7], index=[5, 1, 9]), pl.Series(["b", "a", "b"], dtype=pl.Categorical)),
        (pa.array(["x", "y", "x"], pa.string_view()), np.array(["b", "a", "b"])),
        (pl.Series([7, 3, 7]), np.array(["b", "a", "b"], dtype=object)),
        (iter([7, 3, 7]), np.array([2**62, -5, 2**62])),
    ],
)
def test_names_of_any_kind(users: Any, events: Any) -> None:
    events = pd.Series(events) if isinstance(events, pd.Categorical) else events
    traces = Traces.of(users, events)
    assert events_of(traces) == [[0, 0], [1]]
    assert traces.event_count == 2


@pytest.mark.parametrize(
    "kind", [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())]
)
def test_an_empty_user_name_is_missing_in_any_type_of_text(kind: pa.DataType) -> None:
    users = pa.array(["ada", "", "bob"]).cast(kind)
    assert "1 of 3 users are missing (first in row 1)" in refused(DataError, lambda: Traces.of(users, [1, 2, 3]), "bob")


def test_nobody_writes_and_nobody_is_named() -> None:
    traces = Traces.of([SECRET, 1], ["secret", "b"], [SECRET, 2])
    assert repr(traces) == "Traces(2 users, 2 events, 2 different, timed)"
    for column in (traces.offsets, traces.events, traces.times):
        assert column is not None
        with pytest.raises(ValueError, match="read-only"):
            column[0] = 1
