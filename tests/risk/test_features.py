"""Numbers for keys, and who has which: against dictionaries and loops."""

from collections import Counter
from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from discreet.risk.kernels.events import ABSENT, NOTHING, count_keys, group, invert, order_rows, transitions

ROWS = st.lists(st.lists(st.integers(0, 4), max_size=60), max_size=8)


def laid_out(rows: list[list[int]]) -> tuple[np.ndarray, np.ndarray]:
    offsets = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
    return offsets, np.array([x for row in rows for x in row], dtype=np.int64)


@given(ROWS, st.data())
def test_features_list_their_owners(rows: list[list[int]], data: st.DataObject) -> None:
    offsets, features = laid_out([sorted(set(row)) for row in rows])
    weights = np.array(data.draw(st.lists(st.integers(0, 3), min_size=len(features), max_size=len(features))), np.int64)
    features = np.where(features == 2, ABSENT, features).astype(np.int32)
    starts, owners, kept = invert(5, [(offsets, features, weights)])
    whose = np.repeat(np.arange(len(rows)), np.diff(offsets))
    for feature in range(5):
        chosen = (features == feature) & (weights > 0)
        assert owners[starts[feature] : starts[feature + 1]].tolist() == whose[chosen].tolist()
        assert kept[starts[feature] : starts[feature + 1]].tolist() == weights[chosen].tolist()


@given(ROWS)
def test_keys_of_rows_are_counted(rows: list[list[int]]) -> None:
    rows = [[NOTHING if x == 4 else x for x in row] for row in rows]
    offsets, keys, counts = count_keys(*laid_out(rows))
    for i, row in enumerate(rows):
        expected = sorted(Counter(x for x in row if x != NOTHING).items())
        found = slice(offsets[i], offsets[i + 1])
        assert list(zip(keys[found].tolist(), counts[found].tolist(), strict=True)) == expected


@given(ROWS)
def test_first_events_and_steps_are_keys(rows: list[list[int]]) -> None:
    offsets, events = laid_out(rows)
    keys = transitions(offsets, events, 5, start=True)
    expected = [k for row in rows for k in [*row[:1], *((x + 1) * 5 + y for x, y in pairwise(row))]]
    assert keys.tolist() == expected


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5)), max_size=80))
def test_rows_are_grouped_and_ordered(pairs: list[tuple[int, int]]) -> None:
    owners, times = (np.array(column, dtype=np.int64) for column in zip(*pairs, strict=True)) if pairs else ([], [])
    owners, times = np.asarray(owners, dtype=np.int32), np.asarray(times, dtype=np.int64)
    offsets, places = group(owners, 4)
    for i in range(4):
        assert places[offsets[i] : offsets[i + 1]].tolist() == [p for p, (who, _) in enumerate(pairs) if who == i]
    order_rows(offsets, places, times)
    for i in range(4):
        mine = [p for p, (who, _) in enumerate(pairs) if who == i]
        assert places[offsets[i] : offsets[i + 1]].tolist() == sorted(mine, key=lambda p: pairs[p][1])
