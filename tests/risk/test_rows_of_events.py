"""Rows of events in one array: against readable loops."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from discreet.risk.kernels import events as kernels

# Longer than what is sorted by insertion, with ties.
ROWS = st.lists(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 99)), max_size=70), max_size=6)
TYPES = st.sampled_from([np.uint32, np.int64, np.float64])


@given(ROWS, TYPES)
def test_places_are_ordered_by_time_and_ties_stay(rows: list[list[tuple[int, int]]], dtype: type) -> None:
    offsets = np.cumsum([0, *map(len, rows)])
    times = np.array([time for row in rows for time, _ in row], dtype)
    events = np.array([event for row in rows for _, event in row], np.int32)
    places = np.arange(len(events))
    kernels.order_rows(offsets, places, times)
    expected = [sorted(row, key=lambda pair: pair[0]) for row in rows]
    found = zip(times[places].tolist(), events[places].tolist(), strict=True)
    assert list(found) == [pair for row in expected for pair in row]


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 9)), max_size=9), TYPES)
def test_parts_of_rows_are_copied_in_any_order(parts: list[tuple[int, int]], dtype: type) -> None:
    array = np.arange(100, 130).astype(dtype)
    starts, lengths = (np.array([part[i] for part in parts], np.int64) for i in (0, 1))
    copied = kernels.copy_rows(array, starts, np.append(0, np.cumsum(lengths)).astype(np.int64))
    assert copied.dtype == array.dtype
    assert copied.tolist() == [x for start, length in parts for x in array[start : start + length].tolist()]
