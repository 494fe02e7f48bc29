"""Uniqueness, against loops over all pairs and all choices of events."""

from itertools import combinations
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import Domain, SeededRandom
from discreet.risk.assessment import assess
from discreet.risk.traces import Traces, maximum_knowledge
from discreet.risk.uniqueness import MOST_EVENTS, uniqueness

ROWS = st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=5), min_size=1, max_size=7)


def laid_out(rows: list[list[int]], times: bool = False) -> Traces:
    offsets = np.cumsum([0, *map(len, rows)])
    events = np.array([event for row in rows for event in row], np.int32)
    return Traces(offsets, events, 4, np.arange(len(events)) if times else None)


@given(ROWS)
@settings(max_examples=40)
def test_traces_that_nobody_else_has(rows: list[list[int]]) -> None:
    found = uniqueness(laid_out(rows), random=SeededRandom(1))
    assert found.traces == len(rows)
    assert found.different == len({tuple(row) for row in rows})
    assert found.unique == sum(rows.count(row) == 1 for row in rows)
    sets = [set(row) for row in rows]
    assert found.unique_sets == sum(sets.count(one) == 1 for one in sets)
    assert found.limit == found.different / len(rows)
    # All events of everybody.
    having = [sum(one <= other for other in sets) for one in sets]
    assert found.singled_out[-1].value == pytest.approx(np.mean([count == 1 for count in having]))
    assert len(found.singled_out) == MOST_EVENTS


def test_random_events_single_out_as_often_as_all_choices_of_them() -> None:
    generator, places = np.random.default_rng(3), 12
    sets = [sorted(generator.choice(places, 6, replace=False).tolist()) for _ in range(1500)]
    traces = Traces(np.arange(1501) * 6, np.array(sets, np.int32).ravel(), places)
    found = uniqueness(traces, level=0.999, random=SeededRandom(2))
    for events in (1, 3, 5, 6):
        counts: dict[tuple[int, ...], int] = {}
        for one in sets:
            for some in combinations(one, events):
                counts[some] = counts.get(some, 0) + 1
        exact = sum(count == 1 for count in counts.values()) / (len(sets) * comb(6, events))
        rate = found.singled_out[events - 1]
        assert rate.low <= exact <= rate.high


def test_no_attack_names_more_than_there_are_different_traces() -> None:
    generator = np.random.default_rng(4)
    kinds = generator.integers(0, 30, 400)
    traces = Traces.of(np.repeat(np.arange(400), 3), np.repeat(kinds, 3), domain=Domain(range(30)))
    found = assess(maximum_knowledge(traces), random=SeededRandom(1))
    assert found.risk <= 30 / 400
    assert found.success.value == pytest.approx(30 / 400, abs=1e-9)
    assert "identical traces cannot be distinguished" in " ".join(found.sentences)
    assert found.consistent
