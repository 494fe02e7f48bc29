"""The strongest attack and its interval, against what is spelled out."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import SeededRandom
from discreet.risk.attacks import traces as attacks
from discreet.risk.attacks.traces import ATTACKS, Attacker, level_of_each, markov, match, strongest
from discreet.risk.scores.rates import rate
from discreet.risk.traces import Split, Traces, by_half

ROWS = st.lists(st.lists(st.integers(0, 5), max_size=9), min_size=2, max_size=9)


def laid_out(rows: list[list[int]], events: int = 6) -> Traces:
    offsets = np.cumsum([0, *map(len, rows)])
    return Traces(offsets, np.array([event for row in rows for event in row], np.int32), events)


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
    assert {one.attack for one in found.attempts} == {"markov", "learned", "jointly", "event"}
    values = [one.success.value for one in found.attempts]
    assert values == sorted(values, reverse=True)
    attacker = Attacker(split, SeededRandom(1))
    # The lesson takes the first random words.
    assert len(attacker.learned.ranks.users) == 200
    for one in found.attempts:
        exact = ATTACKS[one.attack].outcome(attacker).ranks.hits().sum()
        assert one.success == rate(float(exact), 200, level=level_of_each(0.95, 4))
    best = ATTACKS[found.attempts[0].attack].outcome(attacker)
    assert found.outcome.ranks.greater.tolist() == best.ranks.greater.tolist()


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


def test_a_sample_of_the_traces_has_the_ranks_of_all_of_them() -> None:
    matcher = markov(by_half(regulars(300, 4)))
    most = float(matcher.seconds.sum()) / 3
    some, whole = match(matcher.within(most, SeededRandom(1))).ranks, match(matcher).ranks
    assert some.users.tolist() == sorted(set(some.users.tolist()))
    assert len(some.users) == 100
    assert some.candidates == 300
    assert some.greater.tolist() == whole.greater[some.users].tolist()
    assert some.ties.tolist() == whole.ties[some.users].tolist()
    others = matcher.within(most, SeededRandom(2)).users
    assert others.tolist() != some.users.tolist()
    assert matcher.within(4 * most, SeededRandom(1)) is matcher


@pytest.mark.parametrize("names", [["markov"], ["learned", "markov"]])
def test_a_sample_is_named_wherever_its_figures_are(names: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Also of users of whom some have no trace, and whichever attack is the strongest."""
    traces = regulars(300, 9)
    halves = by_half(traces)
    split = Split(halves.training, laid_out([[], *([int(x) for x in row] for row in rows_of(halves.target)[1:])], 30))
    monkeypatch.setattr(attacks, "LONGEST", float(markov(split).seconds.sum()) / 3)
    found = strongest(split, names, random=SeededRandom(1))
    trials = {one.attack: one.success.trials for one in found.attempts}
    assert trials == {name: 99 if name == "markov" else 299 for name in names}
    assert len(found.blind) == len(found.outcome.ranks.users) == trials[found.attempts[0].attack]
    named = [one.success.value for one in found.attempts]
    assert named == sorted(named, reverse=True)


def rows_of(traces: Traces) -> list[np.ndarray]:
    return np.split(traces.events, traces.offsets[1:-1])
