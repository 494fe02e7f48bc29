"""Features are counted some users at a time: how many must not matter."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.risk.attacks import traces
from discreet.risk.attacks.traces import markov, match
from discreet.risk.traces import Split, Traces
from slow_matching import assert_agrees, fixed, markov_factors, table

ROWS = st.lists(st.lists(st.integers(0, 5), max_size=9), min_size=2, max_size=9)


def laid_out(rows: list[list[int]]) -> Traces:
    offsets = np.cumsum([0, *map(len, rows)])
    return Traces(offsets, np.array([event for row in rows for event in row], np.int32), 6)


def drawn(data: st.DataObject) -> Split:
    known, target = data.draw(ROWS), data.draw(ROWS)
    users = min(len(known), len(target))
    target[0] = target[0] or [3]
    return Split(laid_out(known[:users]), laid_out(target[:users]))


@given(st.data(), st.integers(1, 20))
def test_scores_of_parts_are_those_of_pairs(data: st.DataObject, most: int) -> None:
    split = drawn(data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(traces, "EVENTS_PER_PART", most)
        expected = table(split, lambda known, trace: fixed(markov_factors(known, trace)))
        assert_agrees(match(markov(split)), *expected)
