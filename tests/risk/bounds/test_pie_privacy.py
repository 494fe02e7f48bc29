"""What bounds on identification do under post-processing, random choice and for data alone [PIE, Thms 5 and 6]."""

import numpy as np
import pytest

import discreet as dc
from discreet.arrays import FloatArray
from discreet.risk.bounds import Bounds, identification_bounds
from packing import each

SIZE, ROUNDING = 4, 1e-6
GENERATOR = np.random.default_rng(20261126)
CASES = [tuple(GENERATOR.dirichlet(np.full(SIZE, 0.5), (3, SIZE))) for _ in range(8)]


def bounds(matrix: FloatArray, users: int) -> Bounds:
    return identification_bounds(dc.Channel(matrix, dc.Domain(range(SIZE))), users)


@each("users", [2, 3, 50])
@each("case", CASES)
def test_processing_never_tells_more(case: tuple[FloatArray, FloatArray, FloatArray], users: int) -> None:
    first, _, processing = case
    before, after = bounds(first, users), bounds(first @ processing, users)
    assert after.pie.value <= before.pie.value + ROUNDING
    assert after.identification.value <= before.identification.value + ROUNDING


@each("users", [2, 3, 50])
@each("case", CASES)
def test_a_random_choice_of_two_tells_no_more_than_their_mean(
    case: tuple[FloatArray, FloatArray, FloatArray], users: int
) -> None:
    first, second, _ = case
    one, other, mixed = (bounds(matrix, users) for matrix in (first, second, (first + second) / 2))
    assert mixed.pie.value <= (one.pie.value + other.pie.value) / 2 + ROUNDING
    assert mixed.identification.value <= (one.identification.value + other.identification.value) / 2 + ROUNDING


def test_few_values_hide_many_users_without_noise() -> None:
    """Prop. 9: with five incomes and 1e8 users nobody is found, by (10) and exactly."""
    incomes = dc.Domain(range(5), sensitive=[], allow_unprotected=True)
    found = identification_bounds(dc.RandomizedResponse(incomes, 1.0), 10**8)
    assert found.pie.value == pytest.approx(np.log2(5))
    assert found.paper_error is not None
    assert found.paper_error.value == pytest.approx(0.875, abs=5e-4)
    assert found.error == pytest.approx(1 - 5e-8)
    assert found.total_epsilon == np.inf
