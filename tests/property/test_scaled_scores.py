"""Scores in any unit: what they tell of identities does not depend on it, up to the largest floats."""

import numpy as np
import pytest

from discreet import SeededRandom
from discreet.risk.scores.pse import pse_of_matrix


@pytest.mark.parametrize("power", [1019, 1020, 1021, 1022])
def test_scores_of_any_size_tell_the_same(power: int) -> None:
    scores = np.random.default_rng(1).uniform(-1, 1, (8, 8)) + np.eye(8) / 2
    small, large = (pse_of_matrix(scores * scale, random=SeededRandom(1)) for scale in (1.0, 2.0**power))
    assert large.certified == small.certified
    assert large.info_nce == small.info_nce
    assert large.paper is not None
    assert large.paper.bits == pytest.approx(small.paper.bits)
