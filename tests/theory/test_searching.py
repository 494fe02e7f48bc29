"""Searches against readable ones: they find the place, ask at fixed places, and stop."""

from math import inf, nextafter, sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.theory.arithmetic import bisected, bisected_each, golden_section, last_positive, last_whole

UNIT = st.floats(0, 1)
FINITE = st.floats(-1e300, 1e300)


class Asked:
    """A function that keeps where it was asked."""

    def __init__(self, function: Any) -> None:
        self.function, self.places = function, []

    def __call__(self, place: Any) -> Any:
        self.places.append(place)
        return self.function(place)


@given(st.lists(FINITE, min_size=3, max_size=3, unique=True).map(sorted))
def test_bisection_ends_at_two_neighbours(places: list[float]) -> None:
    low, border, high = places
    holds = Asked(lambda x: x <= border)
    assert bisected(holds, low, high, 2100) == (border, nextafter(border, inf))
    assert len(set(holds.places)) >= len(holds.places) - 1


@given(borders=st.lists(UNIT, min_size=1, max_size=20), halvings=st.integers(0, 50))
def test_each_entry_is_bisected_like_one(borders: list[float], halvings: int) -> None:
    border = np.array(borders)
    found = bisected_each(lambda x: x <= border, np.zeros(len(border)), np.ones(len(border)), halvings)
    for one, low, high in zip(borders, *found, strict=True):
        assert (low, high) == bisected(lambda x, one=one: x <= one, 0.0, 1.0, halvings)  # type: ignore[misc]


@given(low=st.integers(), size=st.integers(1, 10**30), place=st.integers(0, 10**30), upper=st.booleans())
def test_the_last_integer_up_to_which_it_holds(low: int, size: int, place: int, upper: bool) -> None:
    high, border = low + size, low + place
    holds = Asked(lambda n: n <= border)
    assert last_whole(holds, low, high, upper=upper) == min(border, high - 1)
    assert all(low < n < high for n in holds.places)
    assert len(holds.places) <= size.bit_length()


@given(root=UNIT)
def test_where_a_falling_function_crosses_zero(root: float) -> None:
    slope = Asked(lambda x: root - x)
    found = last_positive(slope)
    # The last number at which it is positive, or one so close to 0 that 200 halvings tell no difference.
    assert found == pytest.approx(root, abs=2.0**-199, rel=2.0**-52)
    assert 1.0 not in slope.places


@given(top=st.floats(-5, 5), width=st.floats(0.1, 10), steps=st.integers(0, 60))
def test_golden_section_keeps_the_maximum_between(top: float, width: float, steps: int) -> None:
    low, high = golden_section(lambda x: -abs(x - top) / width, -5.0, 5.0, steps)
    assert low - 1e-12 <= top <= high + 1e-12
    assert high - low == pytest.approx(10 * ((sqrt(5) - 1) / 2) ** steps, rel=1e-3, abs=1e-11)
