"""Subsets that are repaired at drawn places: every word of small machines, and NumPy against the compiled form."""

from collections import Counter, defaultdict
from itertools import combinations, product
from math import comb
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from discreet.kernels import counting


@pytest.fixture(params=["NumPy", "compiled"], autouse=True)
def _form(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "compiled_pays", lambda _: request.param == "compiled")


def words(subsets: list[Any], lanes: int = 1) -> NDArray[np.uint64]:
    rows = [[sum(1 << p % 64 for p in subset if p // 64 == lane) for lane in range(lanes)] for subset in subsets]
    return np.array(rows, dtype=np.uint64).reshape(-1, lanes)


@pytest.mark.parametrize(("size", "count", "draws"), [(3, 1, 4), (4, 1, 4), (4, 2, 4), (5, 2, 3)])
def test_subsets_of_every_small_machine_are_uniform_whatever_time_shows(size: int, count: int, draws: int) -> None:
    """All subsets at first, all draws: given the size and what each draw did, every subset is as frequent."""
    subsets = [s for m in range(size + 1) for s in combinations(range(size), m)]
    cases = list(product(subsets, product(range(size), repeat=draws)))
    marks = words([subset for subset, _ in cases])
    places = np.array([drawn for _, drawn in cases], dtype=np.uint32)
    missing = np.array([count - len(subset) for subset, _ in cases])
    seen = [missing]
    for draw in range(draws):
        seen.append(counting.repair(marks, places[:, draw : draw + 1], seen[-1]))
    groups: dict[tuple[int, ...], Counter[int]] = defaultdict(Counter)
    for history, mark in zip(np.array(seen).T.tolist(), marks[:, 0].tolist(), strict=True):
        groups[tuple(history)][mark] += 1
    for history, found in groups.items():
        assert len(found) == comb(size, count - history[-1])
        assert len(set(found.values())) == 1
        assert all(mark.bit_count() == count - history[-1] for mark in found)
    assert {history[-1] for history in groups} >= {0}


def loop(subset: set[int], places: list[int], missing: int) -> tuple[set[int], int]:
    for place in places:
        if missing > 0 and place not in subset:
            subset, missing = subset | {place}, missing - 1
        elif missing < 0 and place in subset:
            subset, missing = subset - {place}, missing + 1
    return subset, missing


@settings(deadline=None, max_examples=30)  # The first call compiles.
@given(data=st.data(), size=st.sampled_from([1, 2, 63, 64, 65, 150, 300]), rows=st.integers(1, 4))
def test_repairs_equal_the_loop(data: st.DataObject, size: int, rows: int) -> None:
    place = st.one_of(st.integers(0, size - 1), st.integers(0, min(size - 1, 3)))
    subsets = [data.draw(st.sets(place, max_size=20)) for _ in range(rows)]
    drawn = data.draw(st.integers(1, 128))
    places = [data.draw(st.lists(place, min_size=drawn, max_size=drawn)) for _ in range(rows)]
    missing = [data.draw(st.integers(-len(subset), 25)) for subset in subsets]
    marks = words(subsets, -(-size // 64))
    left = counting.repair(marks, np.array(places, dtype=np.uint32), np.array(missing))
    expected = [loop(*case) for case in zip(subsets, places, missing, strict=True)]
    assert left.tolist() == [rest for _, rest in expected]
    np.testing.assert_array_equal(marks, words([subset for subset, _ in expected], -(-size // 64)))


@settings(deadline=None, max_examples=30)
@given(data=st.data(), lanes=st.integers(1, 5), dtype=st.sampled_from([np.uint8, np.uint16, np.uint32]))
def test_lists_ascend_and_hold_what_is_marked(data: st.DataObject, lanes: int, dtype: type) -> None:
    size = min(64 * lanes, int(np.iinfo(dtype).max) + 1)
    count = data.draw(st.integers(1, min(size, 80)))
    subsets = [data.draw(st.permutations(range(size)))[:count] for _ in range(3)]
    subsets += [list(range(count)), list(range(size - count, size))]
    out = np.zeros((7, count), dtype=dtype)
    counting.list_members(words(subsets, lanes), out[1:-1])
    assert out[1:-1].tolist() == [sorted(subset) for subset in subsets]
    assert not out[[0, -1]].any()
