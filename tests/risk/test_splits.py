"""Splits by their words: what the attacker knows, what is attributed, and who is left out."""

from functools import cache

import numpy as np
import pytest

from discreet.errors import DataError, ParameterError
from discreet.risk.traces import Traces, by_count, by_half, leave_out, maximum_knowledge, split_of

LENGTHS = {"u1": 6, "u2": 5, "u3": 3, "u4": 2, "u5": 1}


@cache
def traces() -> Traces:
    """Events of five users; not made while tests are collected, as that starts a compiler."""
    return Traces.of(
        [user for user, length in LENGTHS.items() for _ in range(length)],
        [f"place {place % 3}" for length in LENGTHS.values() for place in range(length)],
    )


@pytest.mark.parametrize(
    ("kind", "least", "split", "words"),
    [
        ("half", 2, by_half, "the first half of each user's events; the second half is attributed"),
        ("half", 5, by_half, "the first half"),
        ("all", 1, maximum_knowledge, "each user's events themselves; only the names are unknown"),
        ("first:2", 1, lambda kept: by_count(kept, 2), "the first 2 events of each user; the others are attributed"),
        ("rest:1", 4, lambda kept: leave_out(kept, 1), "all but the first 1 events of each user"),
    ],
)
def test_kinds_are_the_splits_of_these_names(kind: str, least: int, split: object, words: str) -> None:
    number = int(kind.partition(":")[2] or 0)
    kept = traces().with_least(max(least, number + 1 if number else least))
    found, knowledge = split_of(traces(), kind, least=least)
    expected = split(kept)  # type: ignore[operator]
    assert knowledge.startswith(words)
    for mine, theirs in ((found.training, expected.training), (found.target, expected.target)):
        assert mine.lengths.tolist() == theirs.lengths.tolist()
        assert mine.events.tolist() == theirs.events.tolist()


def test_a_time_parts_what_is_known_from_what_is_attributed() -> None:
    days = np.array(["2024-01-01", "2024-01-03", "2024-01-02", "2024-02-01", "2024-02-02"], "datetime64[ns]")
    timed = Traces.of(["a", "a", "b", "b", "c"], ["x", "y", "x", "z", "x"], times=days)
    split, words = split_of(timed, "time:2024-01-03", least=1)
    # Of c nothing is known before: left out.
    assert split.training.lengths.tolist() == [1, 1]
    assert split.target.lengths.tolist() == [1, 1]
    assert words == "each user's events before 2024-01-03; those from then on are attributed"
    numbered = Traces.of(["a", "a", "b", "b"], list("xyxz"), times=[1, 5, 2, 3])
    assert split_of(numbered, "time:3")[0].target.lengths.tolist() == [1, 1]
    assert split_of(numbered, "time:2.5")[0].training.lengths.tolist() == [1, 1]
    with pytest.raises(ParameterError, match=r"split.too-early"):
        split_of(numbered, "time:1")
    with pytest.raises(ParameterError, match="needs a number or a date"):
        split_of(numbered, "time:soon")
    with pytest.raises(DataError, match="no times"):
        split_of(Traces.of(["a", "a"], ["x", "y"]), "time:3")
