"""Rows of events in one array: against readable loops."""

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from discreet.kernels import events as kernels

# Longer than what is sorted by insertion, with ties.
ROWS = st.lists(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 99)), max_size=70), max_size=6)
TYPES = st.sampled_from([np.uint32, np.int64, np.float64])


@given(ROWS, TYPES)
def test_events_are_ordered_by_time_and_ties_stay(rows: list[list[tuple[int, int]]], dtype: type) -> None:
    offsets = np.cumsum([0, *map(len, rows)])
    times = np.array([time for row in rows for time, _ in row], dtype)
    events = np.array([event for row in rows for _, event in row], np.int32)
    kernels.order_events(offsets, events, times)
    expected = [sorted(row, key=lambda pair: pair[0]) for row in rows]
    assert list(zip(times.tolist(), events.tolist(), strict=True)) == [pair for row in expected for pair in row]


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(-3, 3)), max_size=30), st.integers(0, 30))
def test_times_rise_or_fall_in_their_rows(pairs: list[tuple[int, int]], cut: int) -> None:
    latest = np.full(5, -9)
    said = True
    for part in (pairs[:cut], pairs[cut:]):
        owners, times = (np.array([pair[i] for pair in part], dtype) for i, dtype in ((0, np.int32), (1, np.int64)))
        said = said and kernels.rises_in_rows(owners, times, latest)
    of_rows = [[time for owner, time in pairs if owner == row] for row in range(5)]
    assert said == all(a <= b for times in of_rows for a, b in pairwise(times))


@given(st.lists(st.integers(0, 3), max_size=30), st.integers(0, 30), st.integers(0, 3))
def test_events_go_to_the_next_place_of_their_row(owners: list[int], cut: int, missing: int) -> None:
    counts = np.bincount(np.array(owners, np.int64), minlength=4)
    counts[missing] = max(counts[missing] - 1, 0)
    offsets = np.cumsum([0, *counts])
    next_place, stops = offsets[:-1].copy(), offsets[1:]
    free = {row: list(range(offsets[row], offsets[row + 1])) for row in range(4)}
    for part in (owners[:cut], owners[cut:]):
        places = np.empty(len(part), np.int64)
        enough = kernels.take_places(np.array(part, np.int32), next_place, stops, places)
        expected = [free[row].pop(0) if free[row] else None for row in part]
        assert enough == (None not in expected)
        if not enough:
            return
        assert places.tolist() == expected


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 9)), max_size=9), TYPES)
def test_parts_of_rows_are_copied_in_any_order(parts: list[tuple[int, int]], dtype: type) -> None:
    array = np.arange(100, 130).astype(dtype)
    starts, lengths = (np.array([part[i] for part in parts], np.int64) for i in (0, 1))
    copied = kernels.copy_rows(array, starts, np.append(0, np.cumsum(lengths)).astype(np.int64))
    assert copied.dtype == array.dtype
    assert copied.tolist() == [x for start, length in parts for x in array[start : start + length].tolist()]
