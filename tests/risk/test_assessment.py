"""The answer: what is measured below, what bounds it above, in words."""

from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from discreet.core.domain import Domain
from discreet.core.random import SeededRandom
from discreet.core.traces import Traces, by_half, maximum_knowledge
from discreet.errors import ParameterError
from discreet.mechanisms import LocalHashing, RandomizedResponse, UnaryEncoding
from discreet.risk.assessment import REPORTS, SWEPT, YARDSTICK_USERS, YARDSTICKS, Assessment, _best_among, assess, sweep
from discreet.risk.attacks.strongest import ALL, ATTACKS, strongest
from discreet.risk.scores.rates import rank_curve, rate
from refusals import refused

PLACES = 40


def traces(users: int = 60, seed: int = 1) -> Traces:
    """People with favourite places."""
    generator = np.random.default_rng(seed)
    who = np.repeat(np.arange(users), 20)
    favourite = generator.integers(0, PLACES, (users, 3))[who, generator.integers(0, 3, len(who))]
    where = np.where(generator.random(len(who)) < 0.7, favourite, generator.integers(0, PLACES, len(who)))
    return Traces.of(who, where, domain=Domain(range(PLACES)))


@pytest.mark.parametrize("attack", ATTACKS)
def test_attacks_beat_guessing_and_stay_below_what_there_is_to_know(attack: str) -> None:
    found = assess(by_half(traces()), attack=attack, random=SeededRandom(1))
    assert found.success.value > 10 / 60
    assert found.success.value <= found.listed.value
    assert 0 < found.certified < found.alpha
    assert found.consistent
    assert found.risk == found.success.high
    assert [one.attack for one in found.tried] == [found.attack] == [attack]
    assert found.singled_out <= 60
    assert found.yardstick == ""
    assert len(found.sentences) == 2


@pytest.mark.parametrize(
    "mechanism",
    [
        RandomizedResponse(Domain(range(PLACES)), 1.0),
        RandomizedResponse(Domain(range(PLACES), sensitive=range(10)), 3.0),
        UnaryEncoding(Domain(range(PLACES)), 4.0),
        LocalHashing(Domain(range(PLACES)), 2.0),
        RandomizedResponse(Domain(range(PLACES)), 1.0).channel(),
    ],
)
@pytest.mark.parametrize("reports", [1, 3])
def test_nothing_measured_exceeds_its_bound(mechanism: Any, reports: int) -> None:
    split = maximum_knowledge(traces(200))
    found = assess(split, mechanism=mechanism, reports=reports, random=SeededRandom(2))
    assert found.consistent
    assert found.bounds is not None
    assert found.list_bound is not None
    assert found.success.low <= found.bounds.identification.value <= found.list_bound.value + 1e-12
    assert found.listed.low <= found.list_bound.value
    assert found.certified <= found.bounds.pie.value
    assert found.risk == found.bounds.identification.value
    assert found.attack == REPORTS
    said = " ".join(found.sentences)
    assert "Attribute risk" in said
    assert "no attack, whatever it knows" in said


def test_less_noise_tells_more() -> None:
    split = maximum_knowledge(traces(200))
    found = [
        assess(split, mechanism=RandomizedResponse(Domain(range(PLACES)), e), random=SeededRandom(3)).alpha
        for e in (0.5, 2.0, 6.0)
    ]
    assert found == sorted(found)


def test_other_epsilons_from_one_pass() -> None:
    split, domain = maximum_knowledge(traces(200)), Domain(range(PLACES))
    swept = sweep(split, RandomizedResponse(domain, 1.0))
    assert [one[0] for one in swept] == list(SWEPT)
    for epsilon, success, bound in swept:
        assert 1 / 200 - 1e-12 <= success <= bound
        mechanism, seeds = RandomizedResponse(domain, epsilon), range(8)
        seen = [assess(split, mechanism=mechanism, random=SeededRandom(seed)).success.value for seed in seeds]
        assert np.mean(seen) == pytest.approx(success, abs=5 * np.sqrt(max(success, 1e-3) / 200 / 8))


def test_a_random_part_of_the_users_by_enumeration() -> None:
    """Above, tied and below: every choice of the others counts the same."""
    for users, above, same in ((6, 0, 1), (6, 2, 1), (7, 1, 3), (5, 0, 5), (8, 3, 2)):
        others = [2] * above + [1] * (same - 1) + [0] * (users - above - same)
        for chosen in range(1, users + 1):
            every = [0.0 if 2 in some else 1 / (1 + some.count(1)) for some in combinations(others, chosen - 1)]
            assert _best_among(chosen, users, above, same) == pytest.approx(np.mean(every), abs=1e-12)


@pytest.mark.parametrize(
    ("users", "above", "same", "wanted"),
    [(10**7, 0, 2, 0.9999742), (10**7, 0, 5, 0.999896805), (1_370_637, 3, 1, 0.998871022)],
)
def test_many_users_cost_no_digits(users: int, above: int, same: int, wanted: float) -> None:
    assert _best_among(517, users, above, same) == pytest.approx(wanted, abs=1e-9)


def test_no_more_users_than_there_are() -> None:
    found = assess(by_half(traces()), random=SeededRandom(1))
    for users in (0, -1, 61):
        refused(ParameterError, lambda users=users: found.success_among(users))  # type: ignore[misc]


def test_enough_users_are_compared_with_biometrics() -> None:
    found = assess(by_half(traces(600)), random=SeededRandom(4))
    assert f"Among {YARDSTICK_USERS} users" in found.yardstick
    assert found.success.value <= found.success_among(YARDSTICK_USERS).value <= 1
    assert found.success_among(600).value == pytest.approx(found.success.value, abs=1e-12)


def namers(named: int, users: int = 600) -> Assessment:
    """Of so many users the first ones are named for sure, all others never."""
    found = assess(by_half(traces(users)), attack="markov", random=SeededRandom(4))
    greater = np.where(np.arange(users) < named, 0, users - 1)
    scores = replace(found.scores, greater=greater, ties=np.ones(users, dtype=np.int64))
    return replace(found, scores=scores, ranks=rank_curve(greater, scores.ties, ks=[1, 10], users=users))


@pytest.mark.parametrize("named", [0, 100, 450, 520, 540, 560, 590, 600])
def test_what_one_attack_finds_is_never_called_less_identifiable(named: int) -> None:
    found = namers(named)
    assert "less" not in " ".join(found.sentences).replace("nothing limits", "")
    said = [name for name, _ in YARDSTICKS if f"at least as identifiable as {name}" in found.yardstick]
    beaten = [name for name, success in YARDSTICKS if found.success_among(YARDSTICK_USERS).low >= success]
    assert said == beaten[-1:]
    assert ("better attacks may name more" in found.yardstick) == (not beaten)


def test_an_estimate_above_a_matcher_is_not_enough_to_be_compared_with_it() -> None:
    """87% named of 600, with 84% as the lower limit, are not yet as many as the 86.1% of the left finger."""
    found = namers(522)
    assert found.success_among(YARDSTICK_USERS).value > YARDSTICKS[0][1] > found.success_among(YARDSTICK_USERS).low
    assert "at least as" not in found.yardstick


def test_the_strongest_of_all_attacks_is_the_default() -> None:
    split = by_half(traces(300))
    alone = {name: assess(split, attack=name, random=SeededRandom(1)) for name in ATTACKS}
    found = assess(split, random=SeededRandom(1))
    assert {one.attack: one.success.value for one in found.tried} == {
        name: pytest.approx(one.success.value, abs=1e-12) for name, one in alone.items()
    }
    assert found.attack == found.tried[0].attack
    assert found.success.value == max(one.success.value for one in alone.values()) > alone["markov"].success.value
    assert found.scores.genuine.tolist() == alone[found.attack].scores.genuine.tolist()
    assert f"the strongest of {len(ATTACKS)} attacks ({found.attack})" in found.sentences[0]
    assert "others not tried" in alone["markov"].sentences[0]
    assert assess(split, attack=ALL, random=SeededRandom(1)).sentences == found.sentences


def test_the_choice_costs_confidence() -> None:
    split = by_half(traces(300))
    found = assess(split, level=0.9, random=SeededRandom(1))
    alone = assess(split, attack=found.attack, level=0.9, random=SeededRandom(1))
    assert found.level == alone.level == alone.success.level == 0.9
    for one in (found.success, found.listed, *(attempt.success for attempt in found.tried), found.pse.certified):
        assert one.level == pytest.approx(0.98)
    assert found.rank_pse.level == pytest.approx(0.98)
    assert found.success.value == alone.success.value
    assert found.success.low < alone.success.low < alone.success.high < found.success.high
    assert found.success == rate(found.success.value * 300, 300, level=0.98)
    assert "90% interval" in found.sentences[0]


def test_the_alarm_is_about_the_upper_limit() -> None:
    found = assess(by_half(traces()), random=SeededRandom(1))
    assert found.risk == found.success.high > found.success.value


def test_the_same_seed_gives_the_same_answer() -> None:
    split, mechanism = maximum_knowledge(traces()), RandomizedResponse(Domain(range(PLACES)), 3.0)
    found = [assess(split, mechanism=mechanism, random=SeededRandom(7)) for _ in range(2)]
    assert found[0].sentences == found[1].sentences
    assert found[0].certified == found[1].certified


def test_what_cannot_be_assessed_is_refused() -> None:
    split = by_half(traces())
    rr = RandomizedResponse(Domain(range(PLACES)), 1.0)
    assert "smoothed" in refused(ParameterError, lambda: assess(split, attack="oracle"))
    refused(ParameterError, lambda: strongest(split, []))
    assert "by their likelihood" in refused(ParameterError, lambda: assess(split, attack="visits", mechanism=rr))
    assert "needs a mechanism" in refused(ParameterError, lambda: assess(split, reports=2))
    refused(ParameterError, lambda: assess(split, largest_list=0))
    refused(ParameterError, lambda: assess(split, mechanism=rr, reports=0))
    assert repr(assess(split, random=SeededRandom(1))).startswith("Assessment(60 users")
