"""The strongest attack and its interval, against what is spelled out."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.core.random import SeededRandom
from discreet.core.traces import Split, Traces, by_count, by_half
from discreet.errors import DataError, ParameterError
from discreet.risk.attacks.traces import ATTACKS, Attacker, level_of_each, strongest
from discreet.risk.scores.rates import rate
from refusals import refused

ROWS = st.lists(st.lists(st.integers(0, 5), max_size=9), min_size=2, max_size=9)


def laid_out(rows: list[list[int]]) -> Traces:
    offsets = np.cumsum([0, *map(len, rows)])
    return Traces(offsets, np.array([event for row in rows for event in row], np.int32), 6)


def regulars(users: int, seed: int, visited: int = 12, places: int = 30) -> Traces:
    """People with favourite places among many."""
    generator = np.random.default_rng(seed)
    who = np.repeat(np.arange(users), visited)
    favourite = generator.integers(0, places, (users, 3))[who, generator.integers(0, 3, len(who))]
    return Traces.of(
        who, np.where(generator.random(len(who)) < 0.6, favourite, generator.integers(0, places, len(who)))
    )


# The strongest


def test_the_strongest_is_first_and_its_outcome_is_its_own() -> None:
    split = by_half(regulars(200, 9))
    found = strongest(split, random=SeededRandom(1))
    assert {one.attack for one in found.attempts} == set(ATTACKS)
    values = [one.success.value for one in found.attempts]
    assert values == sorted(values, reverse=True)
    attacker = Attacker(split, SeededRandom(1))
    for one in found.attempts:
        exact = ATTACKS[one.attack].outcome(attacker).ranks.hits().sum()
        assert one.success == rate(float(exact), 200, level=level_of_each(0.95, len(ATTACKS)))
    best = ATTACKS[found.attempts[0].attack].outcome(attacker)
    assert found.outcome.ranks.greater.tolist() == best.ranks.greater.tolist()


def test_attacks_that_are_named_only() -> None:
    split = by_half(regulars(60, 2))
    for names in (["markov"], ["learned", "markov"], ["jointly", "learned"]):
        attempts = strongest(split, names, level=0.9).attempts
        assert {one.attack for one in attempts} == set(names)
        assert all(one.success.level == pytest.approx(1 - 0.1 / len(names)) for one in attempts)
    refused(ParameterError, lambda: strongest(split, ["oracle"]))
    refused(ParameterError, lambda: strongest(split, []))
    refused(DataError, lambda: strongest(by_count(regulars(5, 1), 100)))


@given(ROWS, ROWS)
@settings(max_examples=8)
def test_blind_is_who_shares_nothing_with_oneself(known: list[list[int]], target: list[list[int]]) -> None:
    """And is not found otherwise."""
    users = min(len(known), len(target))
    target[0] = target[0] or [3]
    split = Split(laid_out(known[:users]), laid_out(target[:users]))
    found = strongest(split, random=SeededRandom(1))
    there = [user for user in range(users) if target[user]]
    shares = [bool(set(known[user]) & set(target[user])) for user in there]
    assert not (found.blind & shares).any()
    own = Attacker(split, SeededRandom(1)).posterior.own
    assert found.blind.tolist() == (~np.array(shares) & (own <= -np.log(users))).tolist()


def test_chosen_among_equals_the_corrected_interval_keeps_its_level() -> None:
    """Five useless attacks: the luckiest one's own interval misses 1/2 far too often, the corrected one does not."""
    generator, trials, repeats, level = np.random.default_rng(3), 400, 2000, 0.9
    best = generator.binomial(trials, 0.5, (repeats, 5)).max(axis=1)
    missed = {}
    for name, used in (("corrected", level_of_each(level, 5)), ("as if alone", level)):
        known = {count: rate(float(count), trials, level=used).low > 0.5 for count in np.unique(best)}
        missed[name] = np.mean([known[count] for count in best])
    assert missed["corrected"] < 0.1 < missed["as if alone"]
