"""Users by the probability of the right user."""

import numpy as np
import pytest

from discreet import SeededRandom
from discreet.risk.assessment import TraceAssessment, assess
from discreet.risk.traces import Traces, by_half

USERS = 240


@pytest.fixture(scope="module")
def assessed() -> TraceAssessment:
    """Half of the users have a place of their own, the others one place for all."""
    who = np.repeat(np.arange(USERS), 4)
    found = assess(by_half(Traces.of(who, np.minimum(who, USERS // 2))), attack="learned", random=SeededRandom(1))
    assert isinstance(found, TraceAssessment)
    return found


def test_probabilities_of_the_right_user(assessed: TraceAssessment) -> None:
    assert assessed.chances is not None
    assert (assessed.places.hits()[assessed.chances > 0.5] == 1).all()
    # Half of the users are told, and the others one as well as the next.
    assert np.mean(assessed.chances > 0.5) == 0.5
    tenth = np.quantile(assessed.chances, 0.9, method="higher")
    stated = assessed.chance_sentence.partition("a probability of at least ")[2].partition(
        "% for a tenth of the traces"
    )[0]
    assert float(stated) / 100 <= min(tenth, 0.9999) < float(stated) / 100 + 1.01e-4
