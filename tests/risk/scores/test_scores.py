"""Scores from matrices and from plain numbers, and ranks that are fair where scores tie."""

from collections.abc import Callable
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from discreet.errors import DataError, DiscreetError, ParameterError
from discreet.risk.scores import Scores
from refusals import refused
from slow_matching import assert_agrees

SECRET = 8_675_309


def found_by_luck(row: np.ndarray, own: int, k: int) -> float:
    """Break ties in every way there is."""
    orders = list(permutations(range(len(row))))
    found = [own in sorted(range(len(row)), key=lambda i, order=order: (-row[i], order[i]))[:k] for order in orders]
    return sum(found) / len(orders)


@given(arrays(np.int64, st.tuples(st.integers(1, 4), st.just(4)), elements=st.integers(0, 2)))
def test_success_is_that_of_breaking_ties_at_random(matrix: np.ndarray) -> None:
    scores = Scores.from_matrix(matrix)
    for k in (1, 2, 3, 4, 5):
        expected = [found_by_luck(row, own, k) for own, row in enumerate(matrix)]
        np.testing.assert_allclose(scores.ranks.hits(k), expected, atol=1e-15)
        assert scores.success(k) == pytest.approx(np.mean(expected), abs=1e-15)


@given(
    arrays(
        np.float64,
        st.tuples(st.integers(1, 5), st.integers(5, 7)),
        elements=st.sampled_from([-np.inf, -1.5, 0.0, 0.25, 3.0, np.inf]),
    ),
)
def test_a_matrix_by_hand(matrix: np.ndarray) -> None:
    users = np.arange(len(matrix))[::-1]
    found = Scores.from_rows(lambda start, stop: matrix[start:stop], users, matrix.shape[1])
    assert_agrees(found, users, matrix)


def test_more_probes_than_candidates() -> None:
    matrix = np.array([[3.0, 1.0], [2.0, 2.0], [0.0, 5.0]])
    users = np.array([0, 0, 1])
    assert_agrees(Scores.from_rows(lambda start, stop: matrix[start:stop], users, 2), users, matrix)
    assert "no diagonal" in refused(DataError, lambda: Scores.from_matrix(matrix))


def test_many_rows_in_several_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = np.random.default_rng(1).integers(0, 9, (50, 60))
    monkeypatch.setattr("discreet.risk.scores.scores.ENTRIES_PER_BLOCK", 200)
    assert_agrees(Scores.from_matrix(matrix), np.arange(50), matrix)


@pytest.mark.parametrize(
    ("kind", "attempt"),
    [
        (DataError, lambda: Scores.from_matrix([[SECRET, np.nan], [1, 2]])),
        (DataError, lambda: Scores.from_matrix([SECRET])),
        (DataError, lambda: Scores.from_matrix([["8675309"]])),
        (ParameterError, lambda: Scores.from_matrix([[SECRET]]).success(0)),
        (ParameterError, lambda: Scores.from_matrix([[SECRET]]).success(True)),
        (DataError, lambda: Scores.of_pairs([SECRET, None], [1])),
        (DataError, lambda: Scores.of_pairs([SECRET], ["a"])),
    ],
)
def test_refusals(kind: type[DiscreetError], attempt: Callable[[], Any]) -> None:
    refused(kind, attempt, SECRET)
