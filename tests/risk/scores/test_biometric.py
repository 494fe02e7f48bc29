"""Biometric matchers: marks of failure, distances, several matchers."""

import numpy as np
import pytest

from discreet import SeededRandom
from discreet.risk.scores import Scores
from discreet.risk.scores.biometric import biometric
from discreet.risk.scores.rates import det


def matrix(users: int = 60) -> np.ndarray:
    rng = np.random.default_rng(1)
    return np.round(100 + rng.normal(0, 10, (users, users)) + 40 * np.eye(users), 2)


def test_a_matcher() -> None:
    scores = matrix()
    found = biometric({"face": scores}, random=SeededRandom(1))["face"]
    own = np.eye(60, dtype=bool)
    assert found.det.equal_error_rate == det(Scores.of_pairs(scores[own], scores[~own])).equal_error_rate
    assert found.ranks.rates[0].value == np.mean(scores.diagonal() == scores.max(axis=1))
    assert found.bse.certified.bits < found.bse.info_nce.bits < np.log2(60)
    assert (found.users, found.dropped) == (60, 0)
    assert str(found).startswith("face, 60 users: Among 60 users")


def test_distances_and_several_matchers() -> None:
    scores = matrix()
    near = biometric({"a": scores, "b": scores.T}, random=SeededRandom(1))
    far = biometric({"a": -scores, "b": -scores.T}, distances=True, random=SeededRandom(1))
    assert list(near) == list(far) == ["a", "b"]
    for name in near:
        assert near[name].bse == far[name].bse
        assert near[name].det.equal_error_rate == far[name].det.equal_error_rate


@pytest.mark.parametrize("mark", [-1, np.nan])
@pytest.mark.parametrize("distances", [False, True])
def test_failed_enrolments(mark: float, distances: bool) -> None:
    scores = matrix()
    marked = scores.copy()
    marked[7], marked[:, 20], marked[33, 33] = mark, mark, mark
    kept = np.delete(np.arange(60), [7, 20, 33])
    without = scores[np.ix_(kept, kept)]
    found = biometric({"m": marked}, failed=mark, distances=distances, random=SeededRandom(1))["m"]
    expected = biometric({"m": without}, distances=distances, random=SeededRandom(1))["m"]
    assert (found.users, found.dropped) == (57, 3)
    assert found.bse == expected.bse
    assert "3 left out" in str(found)
