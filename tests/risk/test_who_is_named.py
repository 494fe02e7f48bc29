"""Users by the probability of the right user and by their number of events."""

from dataclasses import replace

import numpy as np
import pytest

from discreet import SeededRandom
from discreet.risk.assessment import TraceAssessment, assess
from discreet.risk.scores.rates import rank_curve
from discreet.risk.scores.scores import Ranks
from discreet.risk.traces import Traces, by_half

USERS = 240


@pytest.fixture(scope="module")
def assessed() -> TraceAssessment:
    """Half of the users have a place of their own, the others one place for all."""
    who = np.repeat(np.arange(USERS), 4)
    found = assess(by_half(Traces.of(who, np.minimum(who, USERS // 2))), attack="learned", random=SeededRandom(1))
    assert isinstance(found, TraceAssessment)
    return found


def with_hits(found: TraceAssessment, hits: np.ndarray) -> TraceAssessment:
    """The same with others named."""
    greater = np.where(hits, 0, 1)
    places = Ranks(greater, np.ones_like(greater), found.places.users, found.users)
    return replace(found, places=places, ranks=rank_curve(greater, places.ties, ks=[1], level=found.success.level))


def test_probabilities_of_the_right_user(assessed: TraceAssessment) -> None:
    assert assessed.chances is not None
    assert (assessed.places.hits()[assessed.chances > 0.5] == 1).all()
    # Half of the users are told, and the others one as well as the next.
    assert np.mean(assessed.chances > 0.5) == 0.5
    tenth = np.quantile(assessed.chances, 0.9, method="higher")
    stated = assessed.chance_sentence.partition("a probability of ")[2].partition(
        "% or more for a tenth of the traces"
    )[0]
    assert float(stated) / 100 <= min(tenth, 0.9999) < float(stated) / 100 + 1.01e-4


def test_the_group_with_most_events_named_has_an_interval_for_the_choice(assessed: TraceAssessment) -> None:
    """Whichever group is the worst, its interval holds: nobody is named more often than with probability 1/2."""
    generator, missed = np.random.default_rng(2), 0
    for _ in range(100):
        lengths = generator.integers(1, 100, USERS)
        found = replace(with_hits(assessed, generator.random(USERS) < 0.5), events=lengths)
        worst = max(found.by_events, key=lambda one: one.success.value)
        missed += worst.success.low > 0.5
    assert missed < 20
