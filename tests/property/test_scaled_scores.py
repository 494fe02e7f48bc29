"""What is no argument is refused when it is given, by name and in one sentence; what is one is taken as it is meant."""

from typing import Any

import numpy as np
import pytest

from discreet import (
    Domain,
    RandomizedResponse,
    SeededRandom,
    estimate,
)
from discreet.errors import ParameterError
from discreet.mechanisms import BLOCK_MECHANISMS
from discreet.risk.scores.pse import pse_of_matrix
from packing import each
from refusals import refused

DOMAIN = Domain(["a", "b", "c", "d"], sensitive=["a", "b"])
PLAIN = Domain(["a", "b", "c", "d"])
MECHANISM = RandomizedResponse(DOMAIN, 1.0)
REPORTS = MECHANISM.obfuscate(["a", "b", "c", "d"] * 50, random=SeededRandom(1))


# Epsilon and theta at their ends


@each("epsilon", [5e-324, 1e-300, 1e-30, 5e-20])
@each("name", [name for name, cls in BLOCK_MECHANISMS.items() if not cls.needs_options()])
def test_an_epsilon_too_small_for_any_truth(name: str, epsilon: float) -> None:
    for domain in (DOMAIN, PLAIN, Domain(["a", "b"], sensitive=["a"])):
        message = refused(ParameterError, lambda given=domain: BLOCK_MECHANISMS[name](given, epsilon))
        assert "epsilon.too-small" in message


@pytest.mark.parametrize("given", [10**5000, "x" * 5000], ids=["number", "text"])
def test_what_is_very_long_is_not_quoted(given: Any) -> None:
    assert len(refused(ParameterError, lambda: RandomizedResponse(DOMAIN, given))) < 200
    assert len(refused(ParameterError, lambda: MECHANISM.obfuscate_batches([0], size=given))) < 200
    assert len(refused(ParameterError, lambda: estimate(MECHANISM, REPORTS, method=given))) < 200


# Scores


@pytest.mark.parametrize("power", [1019, 1020, 1021, 1022])
def test_scores_of_any_size_tell_the_same(power: int) -> None:
    scores = np.random.default_rng(1).uniform(-1, 1, (8, 8)) + np.eye(8) / 2
    small, large = (pse_of_matrix(scores * scale, halves=4, random=SeededRandom(1)) for scale in (1.0, 2.0**power))
    assert large.certified == small.certified
    assert large.info_nce == small.info_nce
    assert large.paper is not None
    assert large.paper.bits == pytest.approx(small.paper.bits)
