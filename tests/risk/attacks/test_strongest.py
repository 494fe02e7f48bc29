"""Smoothed visits and the strongest attack, against what is spelled out in loops."""

from collections import Counter
from fractions import Fraction
from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.core.traces import Split, Traces, by_count, by_half, maximum_knowledge
from discreet.errors import DataError, ParameterError
from discreet.kernels import matching
from discreet.kernels.matching import scores_of_pairs
from discreet.risk.attacks import features
from discreet.risk.attacks.features import Visited
from discreet.risk.attacks.traces import (
    ATTACKS,
    SHARES,
    UNIT,
    cosine,
    foretelling_share,
    level_of_each,
    markov,
    match,
    smoothed,
    strongest,
    tf_idf,
    visits,
)
from discreet.risk.scores.rates import rate
from refusals import refused
from slow_matching import assert_agrees, events_of, table

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


# Smoothed visits


def spelled_out(split: Split, share: float) -> tuple[np.ndarray, np.ndarray]:
    """sum ln((1 - lambda) pi / p + lambda), each term as its floor and what is above it, rounded."""
    anybody = Counter(split.training.events.tolist())
    total = len(split.training)

    def score(known: list[int], trace: list[int]) -> int:
        counts, floor = Counter(known), round(log(share) / UNIT)
        gains = 0
        for x in trace:
            if counts[x]:
                ratio = Fraction(counts[x], len(known)) / Fraction(anybody[x], total)
                gains += round(log(1 + (1 - share) / share * float(ratio)) / UNIT)
        return len(trace) * floor + gains

    return table(split, score)


@given(ROWS, ROWS, st.sampled_from([0.05, 0.5, 0.9]), st.integers(1, 30))
def test_smoothed_visits_by_their_definition(
    known: list[list[int]], target: list[list[int]], share: float, most: int
) -> None:
    users = min(len(known), len(target))
    target[0] = target[0] or [3]
    split = Split(laid_out(known[:users]), laid_out(target[:users]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(features, "_EVENTS_PER_PART", most)
        assert_agrees(match(smoothed(split, share=share)), *spelled_out(split, share))


def test_smoothed_visits_rank_by_the_smoothed_likelihood() -> None:
    """ln((1 - lambda) pi + lambda p) and what is computed differ by what is the same for all users."""
    split, share = by_half(regulars(80, 3)), 0.3
    shares = np.bincount(split.training.events, minlength=split.training.event_count) / len(split.training)
    known = [np.bincount(row, minlength=len(shares)) / len(row) for row in events_of(split.training)]
    found = match(smoothed(split, share=share))
    for user, trace in enumerate(events_of(split.target)):
        seen = [x for x in trace if shares[x] > 0]
        logs = np.array([np.log((1 - share) * one[seen] + share * shares[seen]).sum() for one in known])
        assert abs(int((logs > logs[user] + 1e-4).sum()) - found.ranks.greater[user]) == 0


def foretold(rows: list[list[int]], share: float) -> float:
    """The leave-one-out log-likelihood, event by event."""
    everybody = [x for row in rows for x in row]
    total = 0.0
    for row in rows:
        for place, x in enumerate(row):
            others = row[:place] + row[place + 1 :]
            anybody = (everybody.count(x) - 1) / max(len(everybody) - 1, 1)
            own = others.count(x) / len(others) if others else 0.0
            if anybody:
                total += log((1 - share) * own + share * anybody)
    return total


@given(ROWS, st.integers(1, 30))
def test_the_share_of_anybody_is_the_one_that_foretells_best(rows: list[list[int]], most: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(features, "_EVENTS_PER_PART", most)
        found = foretelling_share(Visited(laid_out(rows)))
    values = [foretold(rows, share) for share in SHARES]
    if max(Counter(x for row in rows for x in row).values(), default=1) == 1:
        assert found == 0.5
    else:
        assert found in SHARES
        assert values[SHARES.index(found)] == pytest.approx(max(values), abs=1e-9)


def test_the_share_follows_what_people_do() -> None:
    generator = np.random.default_rng(1)
    anywhere = Traces.of(np.repeat(np.arange(200), 30), generator.integers(0, 20, 6000))
    assert foretelling_share(Visited(anywhere)) >= 0.95
    loyal = Traces.of(np.repeat(np.arange(200), 30), np.repeat(generator.integers(0, 20, 200), 30))
    assert foretelling_share(Visited(loyal)) == min(SHARES)
    assert foretelling_share(Visited(regulars(200, 2, 40))) not in (min(SHARES), max(SHARES))


def test_the_share_does_not_depend_on_the_answers() -> None:
    whole = regulars(100, 4)
    split = by_half(whole)
    generator = np.random.default_rng(5)
    other = Traces(split.target.offsets, generator.permutation(split.target.events), split.target.event_count)
    first, second = (match(smoothed(Split(split.training, target))) for target in (split.target, other))
    share = foretelling_share(Visited(split.training))
    floors = round(log(share) / UNIT) * split.target.lengths
    for found in (first, second):
        assert (found.genuine >= floors).all()
    assert match(smoothed(split, share=share)).genuine.tolist() == first.genuine.tolist()


def test_a_share_outside_its_range_is_refused() -> None:
    for share in (0.0, 1.0, -0.1, 2.0):
        refused(ParameterError, lambda share=share: smoothed(by_half(regulars(4, 1)), share=share))  # type: ignore[misc]


# One guess


@pytest.mark.parametrize("model", [markov, visits, smoothed, cosine, tf_idf])
@pytest.mark.parametrize("split", [by_half, maximum_knowledge, lambda traces: by_count(traces, 2)])
@pytest.mark.parametrize("places", [12, 3000])
def test_chances_are_those_of_all_pairs(model, split, places) -> None:  # type: ignore[no-untyped-def]
    """Where many share a place and sums are gone through, and where few do and they are listed."""
    matcher = model(split(regulars(300, 7, 8, places)))
    found = match(matcher)
    genuine = scores_of_pairs(matcher.problem, np.arange(matcher.probes), matcher.problem.users)
    for threads in (1, 3):
        chances = matching.chances_of_own(matcher.problem, genuine, threads=threads)
        assert chances.tolist() == found.ranks.hits().tolist()


@given(ROWS, ROWS)
def test_chances_of_small_traces(known: list[list[int]], target: list[list[int]]) -> None:
    users = min(len(known), len(target))
    target[0] = target[0] or [3]
    split = Split(laid_out(known[:users]), laid_out(target[:users]))
    for model in ATTACKS.values():
        matcher = model(split)
        genuine = scores_of_pairs(matcher.problem, np.arange(matcher.probes), matcher.problem.users)
        assert matching.chances_of_own(matcher.problem, genuine).tolist() == match(matcher).ranks.hits().tolist()


# The strongest


def test_the_strongest_is_first_and_its_scores_are_its_own() -> None:
    split = by_half(regulars(200, 9))
    matcher, attempts, _ = strongest(split)
    assert {one.attack for one in attempts} == set(ATTACKS)
    values = [one.success.value for one in attempts]
    assert values == sorted(values, reverse=True)
    alone = match(ATTACKS[attempts[0].attack](split))
    assert match(matcher).genuine.tolist() == alone.genuine.tolist()
    for one in attempts:
        exact = match(ATTACKS[one.attack](split)).ranks.hits().sum()
        assert one.success == rate(float(exact), 200, level=0.99)


def test_attacks_that_are_named_only() -> None:
    split = by_half(regulars(60, 2))
    for names in (["cosine"], ["tf-idf", "markov"], ["visits", "smoothed"]):
        _, attempts, _ = strongest(split, names, level=0.9)
        assert {one.attack for one in attempts} == set(names)
        assert all(one.success.level == pytest.approx(1 - 0.1 / len(names)) for one in attempts)
    refused(ParameterError, lambda: strongest(split, ["oracle"]))
    refused(DataError, lambda: strongest(by_count(regulars(5, 1), 100)))


@given(ROWS, ROWS)
def test_blind_is_who_shares_nothing_with_oneself(known: list[list[int]], target: list[list[int]]) -> None:
    users = min(len(known), len(target))
    target[0] = target[0] or [3]
    split = Split(laid_out(known[:users]), laid_out(target[:users]))
    *_, blind = strongest(split)
    there = [user for user in range(users) if target[user]]
    assert blind.tolist() == [not set(known[user]) & set(target[user]) for user in there]


def test_chosen_among_equals_the_corrected_interval_keeps_its_level() -> None:
    """Five useless attacks: the luckiest one's own interval misses 1/2 far too often, the corrected one does not."""
    generator, trials, repeats, level = np.random.default_rng(3), 400, 2000, 0.9
    best = generator.binomial(trials, 0.5, (repeats, 5)).max(axis=1)
    missed = {}
    for name, used in (("corrected", level_of_each(level, 5)), ("as if alone", level)):
        known = {count: rate(float(count), trials, level=used).low > 0.5 for count in np.unique(best)}
        missed[name] = np.mean([known[count] for count in best])
    assert missed["corrected"] < 0.1 < missed["as if alone"]
