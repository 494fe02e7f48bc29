"""Every probe against every candidate, compared with the spelled-out scores to the last tie."""

from collections.abc import Callable
from math import log
from operator import attrgetter

import numpy as np
import pytest

from discreet.errors import DataError
from discreet.risk.attacks.traces import SMALLEST, UNIT, markov, match
from discreet.risk.traces import Split, Traces, by_count, by_half, leave_out, maximum_knowledge
from refusals import refused
from slow_matching import assert_agrees, fixed, markov_factors, scored, table

SPLITS = [by_half, lambda t: by_count(t, 1), lambda t: leave_out(t, 2), maximum_knowledge, lambda t: by_count(t, 0)]
splits = pytest.mark.parametrize("split", SPLITS, ids=["half", "one", "leave", "maximum", "nothing"])


def draw(seed: int, users: int = 40, places: int = 12, longest: int = 9) -> Traces:
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, longest + 1, users)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    events = np.minimum(rng.geometric(0.25, offsets[-1]) - 1, places - 1)
    return Traces(offsets, events.astype(np.int32), places)


@splits
def test_likelihoods_equal_the_spelled_out_ones(split: Callable[[Traces], Split]) -> None:
    for seed in range(3):
        whole = split(draw(seed))
        users, matrix = table(whole, lambda known, trace: fixed(markov_factors(known, trace)))
        found = match(markov(whole))
        assert_agrees(found, users, matrix)
        assert found.unit == UNIT


def test_users_without_a_shared_feature_tie_at_the_floor() -> None:
    traces = Traces.of([0, 0, 1, 1, 2, 2, 3], [0, 0, 1, 1, 2, 3, 4])
    scores = match(markov(by_half(traces)))
    floors = round(log(SMALLEST) / UNIT)
    assert scores.genuine.tolist() == [0, 0, floors, floors]
    assert scores.ranks.ties.tolist() == [1, 1, 4, 4]
    assert scores.ranks.greater.tolist() == [0, 0, 0, 0]
    assert scores.success() == (1 + 1 + 1 / 4 + 1 / 4) / 4
    assert scores.impostor_counts.tolist() == [0, 12, 0]
    assert scores.impostor_ties.tolist() == [12, 0]


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_nothing_depends_on_the_threads(threads: int) -> None:
    whole = by_half(draw(11, users=300, places=40, longest=30))
    first, found = (match(markov(whole), threads=several) for several in (1, threads))
    for name in ("genuine", "ranks.greater", "ranks.ties", "thresholds", "impostor_counts", "impostor_ties"):
        assert attrgetter(name)(found).tolist() == attrgetter(name)(first).tolist()


def test_long_traces_and_many_thresholds() -> None:
    """Scores far apart and close together, so that the search among thresholds sees every kind of cell."""
    rng = np.random.default_rng(23)
    lengths = np.minimum(2 + rng.pareto(0.6, 60), 3000).astype(np.int64)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    whole = by_half(Traces(offsets, rng.integers(0, 5, offsets[-1]), 5))
    users, matrix = table(whole, lambda known, trace: fixed(markov_factors(known, trace)))
    assert_agrees(match(markov(whole)), users, matrix)


@pytest.mark.parametrize("places", [5, 150, 3000])
def test_ranks_of_a_crowd_and_of_a_few(places: int) -> None:
    """Whether all sums are gone through or those begun are listed, ranks are those of single pairs."""
    rng = np.random.default_rng(places)
    matcher = markov(by_half(Traces.of(np.repeat(np.arange(120), 10), rng.integers(0, places, 1200))))
    assert_agrees(match(matcher), matcher.users, scored(matcher))


def test_a_target_without_events_is_refused() -> None:
    refused(DataError, lambda: markov(by_count(draw(1), 1000)))
