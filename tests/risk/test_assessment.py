"""The answer: what is measured below, what bounds it above, in words."""

import re
from functools import cache
from typing import Any

import numpy as np
import pytest

from discreet import Domain, LocalHashing, RandomizedResponse, SeededRandom, UnaryEncoding
from discreet.errors import DataError
from discreet.risk.assessment import (
    REPORTS,
    ReportAssessment,
    TraceAssessment,
    assess,
)
from discreet.risk.attacks.traces import ALL, level_of_each
from discreet.risk.pages import measured, risk_page
from discreet.risk.scores.rates import rate
from discreet.risk.traces import Split, Traces, by_half, maximum_knowledge
from refusals import refused

PLACES = 40
UNTIMED = ["markov", "learned", "jointly", "event"]


def traces(users: int = 60, seed: int = 1) -> Traces:
    """People with favourite places."""
    generator = np.random.default_rng(seed)
    who = np.repeat(np.arange(users), 20)
    favourite = generator.integers(0, PLACES, (users, 3))[who, generator.integers(0, 3, len(who))]
    where = np.where(generator.random(len(who)) < 0.7, favourite, generator.integers(0, PLACES, len(who)))
    return Traces.of(who, where, domain=Domain(range(PLACES)))


@pytest.mark.parametrize("attack", UNTIMED)
def test_attacks_beat_guessing_and_stay_below_what_there_is_to_know(attack: str) -> None:
    found = assess(by_half(traces()), attack=attack, random=SeededRandom(1))
    assert found.success.value > 10 / 60
    assert found.success.value <= found.listed.value
    assert 0 < found.certified < found.alpha
    assert found.consistent
    # The upper limit of one attack's success is no risk.
    assert found.risk is None
    assert "risk" not in " ".join((*found.sentences, repr(found), found._repr_html_(), risk_page(found, "all")))
    assert [one.attack for one in found.tried] == [found.attack] == [attack]
    assert found.singled_out <= 60


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
    assert isinstance(found, ReportAssessment)
    assert found.success.low <= found.bounds.identification.value <= found.list_bound.value + 1e-12
    assert found.listed.low <= found.list_bound.value
    assert found.certified <= found.bounds.pie.value
    assert found.risk == found.bounds.identification.value
    assert found.attack == REPORTS
    said = " ".join(found.sentences)
    assert "Attribute risk" in said
    assert "No attack, whatever it knows" in said


def test_the_strongest_of_all_attacks_is_the_default() -> None:
    split = by_half(traces(300))
    alone = {name: assess(split, attack=name, random=SeededRandom(1)) for name in UNTIMED}
    found = assess(split, random=SeededRandom(1))
    tried = {one.attack: one.success.value for one in found.tried}
    assert {name: tried[name] for name in UNTIMED} == {
        name: pytest.approx(one.success.value, abs=1e-12) for name, one in alone.items()
    }
    assert found.attack == found.tried[0].attack
    assert found.success.value == max(one.success.value for one in alone.values()) > alone["markov"].success.value
    assert found.scores.genuine.tolist() == alone[found.attack].scores.genuine.tolist()
    assert found.risk == min(found.success.high + found.unlearned, found.unique.limit)
    assert f"Attacks tried: {found.attack} {found.success.value:.1%}, " in " ".join(found.headline)
    assert "Only the attack markov was tried." in alone["markov"].sentences
    assert assess(split, attack=ALL, random=SeededRandom(1)).sentences == found.sentences


def test_the_choice_costs_confidence() -> None:
    split = by_half(traces(300))
    found = assess(split, level=0.9, random=SeededRandom(1))
    alone = assess(split, attack=found.attack, level=0.9, random=SeededRandom(1))
    assert found.level == alone.level == alone.success.level == 0.9
    for one in (found.success, found.listed, *(attempt.success for attempt in found.tried), found.pse.certified):
        assert one.level == pytest.approx(level_of_each(0.9, len(found.tried)))
    assert found.rank_pse.level == pytest.approx(level_of_each(0.9, len(found.tried)))
    assert found.success.value == alone.success.value
    assert found.success.low < alone.success.low < alone.success.high < found.success.high
    assert found.success == rate(found.success.value * 300, 300, level=level_of_each(0.9, len(found.tried)))
    assert "90% interval" in found.sentences[0]


# What says nothing gives no comfort


def halves(known: Any, target: Any) -> Split:
    """A split of ``(users, events)`` codes of both halves."""
    known, target = np.asarray(known), np.asarray(target)
    count = 1 + int(max(known.max(), target.max()))
    offsets = [np.arange(len(one) + 1) * one.shape[1] for one in (known, target)]
    return Split(*(Traces(at, one.ravel(), count) for at, one in zip(offsets, (known, target), strict=True)))


def shared(known: np.ndarray, target: np.ndarray) -> np.ndarray:
    """How many events each target shares with what is known of each user."""
    has = [np.zeros((len(rows), 1 + int(max(known.max(), target.max()))), np.int64) for rows in (target, known)]
    for there, rows in zip(has, (target, known), strict=True):
        np.put_along_axis(there, rows, 1, axis=1)
    return has[0] @ has[1].T


def tastes(groups: int = 60, each: int = 5, films: int = 40) -> tuple[Split, float]:
    """People rate a film once, most of them those of their group; how many are named by sharing none, and by group."""
    generator, users = np.random.default_rng(7), groups * each
    own = np.arange(users) // each * films
    rated = own[:, None] + np.array([generator.permutation(films)[:32] for _ in range(users)])
    known, target = rated[:, :16], rated[:, 16:]
    candidates = (shared(known, target) == 0) & (own[:, None] == own)
    return halves(known, target), float(np.mean(1 / candidates.sum(axis=1)))


def neighbours(users: int = 300) -> tuple[Split, float]:
    """Coordinates that never repeat and hardly move: whoever compares numbers names everybody."""
    places = np.random.default_rng(8).permutation(users)[:, None] * 10
    return halves(places + np.arange(5), places + np.arange(5, 10)), 1.0


def one_repeat(users: int = 300) -> tuple[Split, float]:
    """A mark of one's own, which the attacker knows of a half of the people; the others have a neighbouring one."""
    marks = 2 * np.arange(users)[:, None]
    return halves(marks, marks + (np.arange(users) % 2)[:, None]), 1.0


def popular(users: int = 300) -> tuple[Split, float]:
    """Films of a group of six and one that is seen twice: others, who saw more of the same, look more alike."""
    generator, groups = np.random.default_rng(9), users // 50
    own = (np.arange(users) % groups * 24)[:, None]
    rated = own + np.array([generator.permutation(24) for _ in range(users)])
    known, target = rated[:, :12], rated[:, 12:].copy()
    target[:, 0] = known[:, 0]
    candidates = (shared(known, target) == 1) & (own == own.T)
    return halves(known, target), float(np.mean(1 / candidates.sum(axis=1)))


def anybody(users: int = 300) -> tuple[Split, float]:
    """Events of no one in particular, but each person's own number of them in order: the last digit tells who."""
    drawn = np.random.default_rng(10).integers(0, 50, (users, 8))
    return halves(drawn[:, :4], drawn[:, 4:]), 1 / users


WORLDS = {one.__name__: one for one in (neighbours, one_repeat, anybody)}


@cache
def assessed(world: str) -> tuple[TraceAssessment, float]:
    """Return the assessment of a world by all attacks, and the share of its users that its own attack names."""
    split, named = WORLDS[world]()
    found = assess(split, random=SeededRandom(1))
    assert isinstance(found, TraceAssessment)
    return found, named


def test_where_nothing_is_done_twice_sharing_nothing_is_learned_to_speak_for_a_user() -> None:
    split, named = tastes()
    found = assess(split, random=SeededRandom(1))
    assert isinstance(found, TraceAssessment)
    assert found.success.value >= named
    assert found.unlearned == 0
    assert assess(split, attack="markov", random=SeededRandom(1)).success.value < 0.02


@pytest.mark.parametrize("world", WORLDS)
def test_an_attack_of_another_kind_stays_below_the_risk_that_is_told(world: str) -> None:
    found, named = assessed(world)
    assert found.unlearned > 0
    assert found.risk >= named
    if world != "anybody":
        assert found.success.high < named, "this world fools nobody"
    first = found.sentences[0] if found.is_mostly_blind else found.sentences[1]
    assert first == found.unlearned_sentence
    assert first.startswith("Nothing was learned")
    assert f"{found.success.high:.1%}" not in " ".join(found.sentences) or not found.is_mostly_blind
    assert "identifies more than" not in " ".join(found.sentences)


def test_films_that_look_like_those_of_others_stay_below_the_risk() -> None:
    split, named = popular()
    assert assess(split, random=SeededRandom(1)).risk >= named


@pytest.mark.parametrize("world", ["neighbours", "anybody"])
def test_where_no_attack_rewards_what_the_data_hold_the_answer_is_that_nothing_was_learned(world: str) -> None:
    found, _ = assessed(world)
    assert (found.unlearned, found.risk) == (1, 1)
    assert found.headline[0].startswith("Nothing was learned: ")
    assert found.sentences[1].endswith(" and more).")
    assert "Nothing limits a better attack." in " ".join(found.sentences)
    assert "nothing learned of 100.00%" in repr(found)
    assert "no limit" in found._repr_html_()


def test_traces_that_are_all_the_same_are_told_apart_by_nobody_who_has_them() -> None:
    same = Traces.of(np.repeat(range(300), 4), [0] * 1200)
    found = assess(maximum_knowledge(same), random=SeededRandom(1))
    assert found.unlearned == 0
    assert 1 / 300 <= found.risk < 0.03
    halved = assess(by_half(same), random=SeededRandom(1))
    assert isinstance(halved, TraceAssessment)
    # Nothing was learned, and nothing can be: equal traces stay together.
    assert (halved.unlearned, halved.risk) == (1, 1 / 300)


@pytest.mark.parametrize("mechanism", [None, RandomizedResponse(Domain(range(3)), 1.0)])
def test_an_attacker_who_knows_nothing_of_many_is_refused(mechanism: Any) -> None:
    def assessed(unknown: int) -> Any:
        lengths = np.where(np.arange(40) < unknown, 1, 4)
        rows = Traces.of(np.repeat(range(40), lengths), np.arange(lengths.sum()) % 3, domain=Domain(range(3)))
        return assess(by_half(rows), mechanism=mechanism, random=SeededRandom(1))

    message = refused(DataError, lambda: assessed(5))
    assert "traces.mostly-unknown" in message
    found = assessed(4)
    if isinstance(found, TraceAssessment):
        assert found.unlearned >= 0.1


@pytest.mark.parametrize(
    "mechanism", [RandomizedResponse(Domain(range(PLACES)), 30.0), UnaryEncoding(Domain(range(PLACES)), 90.0)]
)
@pytest.mark.parametrize("reports", [1, 2])
def test_a_bound_that_limits_nothing_is_not_told_as_one(mechanism: Any, reports: int) -> None:
    found = assess(maximum_knowledge(traces(20)), mechanism=mechanism, reports=reports, random=SeededRandom(1))
    assert isinstance(found, ReportAssessment)
    assert found.risk > 0.9999
    told = [
        *found.sentences,
        found._repr_html_(),
        str(found.bounds),
        found.bounds._repr_html_(),
        risk_page(found, "all"),
    ]
    for text in told:
        assert not re.search(r"(at most|<=|probability|identification:) 1(\.0*)?([ ,;)<]|\.?$)", text, re.MULTILINE)
    assert "Nothing limits how many people a better attack identifies." in " ".join(found.sentences)
    assert "an adversary identifies this user in one guess perhaps always" in found.bounds.identification_sentence
    assert [row[2] for row in measured(found, "").cells()[1:3]] == ["no limit", "no limit"]
