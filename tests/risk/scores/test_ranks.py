"""The PSE by ranks: a lower bound, however the ranks come about."""

from math import log2
from typing import Any

import numpy as np
import pytest

from discreet import SeededRandom
from discreet.risk.scores.rates import pse_of_ranks

N = 1_000


def found(above: Any, same: Any = None, users: int = N, seed: int = 1) -> Any:
    same = np.ones(len(above), dtype=np.int64) if same is None else same
    return pse_of_ranks(above, same, users=users, random=SeededRandom(seed))


def test_guessing_tells_nothing() -> None:
    ranks = np.random.default_rng(3).integers(0, N, 5_000)
    assert abs(found(ranks).bits) < 0.02
    assert found(ranks).certified == 0.0
    # All scores are the same.
    tied = found(np.zeros(500, dtype=np.int64), np.full(500, N))
    assert tied.bits == pytest.approx(0, abs=0.02)


def test_certainty_tells_all_but_what_few_probes_cannot_show() -> None:
    sure = found(np.zeros(5_000, dtype=np.int64))
    assert log2(N) - 0.1 < sure.bits <= log2(N)
    assert sure.certified < sure.bits
    few = found(np.zeros(5, dtype=np.int64))
    assert few.certified < 0.6 * log2(N)


@pytest.mark.parametrize("share", [0.02, 0.2, 0.7])
def test_what_the_ranks_hold_is_bounded_and_nearly_reached(share: float) -> None:
    """Named with some probability, else at any rank: what the rank tells is D(law of the rank || even)."""
    first = share + (1 - share) / N
    truth = first * log2(N * first) + (1 - first) * log2(N * (1 - share) / N)
    generator, estimates = np.random.default_rng(5), []
    for seed in range(20):
        ranks = np.where(generator.random(2_000) < share, 0, generator.integers(0, N, 2_000))
        estimates.append(found(ranks, seed=seed))
    mean = np.mean([one.bits for one in estimates])
    assert truth - 0.05 < mean < truth + 3 * np.std([one.bits for one in estimates]) / 20**0.5
    assert sum((one.certified or 0) <= truth for one in estimates) >= 18
    assert all(one.bounds_pie for one in estimates)


def test_ties_are_shared() -> None:
    """Two users tied at the top: half of the time each is first."""
    tied = found(np.zeros(4_000, dtype=np.int64), np.full(4_000, 2))
    assert tied.bits == pytest.approx(log2(N) - 1, abs=0.05)
