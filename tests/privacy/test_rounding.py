"""Promises in digits: never below what is promised, and hardly above."""

from decimal import Decimal
from math import exp

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.core.guarantee import largest_posterior, rounded_down, rounded_up


@given(st.floats(1e-290, 1e9), st.integers(1, 12))
def test_promises_are_rounded_up_and_floors_down(number: float, digits: int) -> None:
    above, below = Decimal(rounded_up(number, digits)), Decimal(rounded_down(number, digits))
    assert below <= Decimal(repr(number)) <= above
    assert above - below <= Decimal(number) * Decimal(10) ** (1 - digits)


@given(st.integers(1, 9999), st.integers(-30, 3))
def test_numbers_that_have_so_many_digits_stay(whole: int, power: int) -> None:
    number = float(f"{whole}e{power}")
    assert float(rounded_up(number)) == float(rounded_down(number)) == number


def test_what_a_float_holds_above_a_round_number_counts() -> None:
    assert [rounded_up(number) for number in (0.0, 1.0, 1.0 + 2**-52, 12.00001)] == ["0", "1", "1.001", "12.01"]
    assert [rounded_down(number) for number in (0.0, 1.0, 1.0 - 2**-53, 11.99999)] == ["0", "1", "0.9999", "11.99"]
    assert [rounded_up(number, 2) for number in (1e-6, 1.0001e-6, 99.9, 12345)] == ["1e-06", "1.1e-06", "100", "13000"]


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 2.0, 30.0, 700.0, 1e4])
def test_sureness_starts_at_one_half(epsilon: float) -> None:
    odds = exp(-epsilon)
    assert 0.5 <= largest_posterior(epsilon) <= 1
    assert 1 - largest_posterior(epsilon) == pytest.approx(odds / (1 + odds), abs=2e-16)
