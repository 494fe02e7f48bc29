"""Defences: what they change and lose, by loops, and the order that a reader may take from them."""

from collections import Counter
from math import log2

import numpy as np
import pyarrow as pa
import pytest

from discreet import Domain, RandomizedResponse, SeededRandom
from discreet.risk.bounds.identification import identification_bounds
from discreet.risk.defences import (
    AS_THEY_ARE,
    DefenceComparison,
    DefenceRisk,
    coarser_events,
    coarser_times,
    combined,
    compare_defences,
    entropy_bits,
    first_events,
    reported,
    without_rare,
)
from discreet.risk.generalisation import Step
from discreet.risk.scores.rates import Rate
from discreet.risk.traces import Split, Traces, by_half, maximum_knowledge

USERS, PLACES, DAY = 40, 30, 86_400
HOUR_0 = 1_700_000_000 // DAY * DAY


def split(times: bool = True) -> Split:
    """People with favourite places; places are written p00 to p29."""
    generator = np.random.default_rng(3)
    who = np.repeat(np.arange(USERS), 12)
    mine = generator.integers(0, PLACES, (USERS, 2))[who, generator.integers(0, 2, len(who))]
    codes = np.where(generator.random(len(who)) < 0.8, mine, generator.integers(0, PLACES, len(who))).astype(np.int32)
    whens = HOUR_0 + np.tile(np.arange(12), USERS) * 7 * 3600
    labels = pa.array([f"p{code:02}" for code in range(PLACES)])
    return by_half(Traces.of_numbers((who, USERS), (codes, PLACES), whens, keep_times=times, labels=labels))


def rows(traces: Traces) -> list[list[int]]:
    return [traces.events[start:stop].tolist() for start, stop in zip(traces.offsets, traces.offsets[1:], strict=False)]


def test_fewer_events_as_in_a_loop() -> None:
    before = split()
    after = first_events(2).apply(before)
    assert rows(after.target) == [row[:2] for row in rows(before.target)]
    assert after.training is before.training
    having = Counter(event for row in rows(before.target) for event in set(row))
    rare = without_rare(3).apply(before).target
    assert rows(rare) == [[event for event in row if having[event] >= 3] for row in rows(before.target)]
    assert len(rare.times if rare.times is not None else []) == len(rare) < len(before.target)


def test_coarser_events_as_in_a_loop() -> None:
    before = split()
    after = coarser_events("place", Step("2")).apply(before)
    for side, coarse in ((before.training, after.training), (before.target, after.target)):
        pairs = {(fine // 10, new) for fine, new in zip(side.events.tolist(), coarse.events.tolist(), strict=True)}
        assert len(pairs) == len({fine for fine, _ in pairs}) == len({new for _, new in pairs})
    assert after.target.event_count == 3
    same = coarser_events("place", Step("2")).apply(maximum_knowledge(before.target))
    assert same.training is same.target


def test_coarser_times_tell_no_order() -> None:
    """Whatever the order within a day was, the release is the same; a day's first hour stands for it."""
    before, generator = split().target, np.random.default_rng(1)
    assert before.times is not None
    who = np.repeat(np.arange(USERS), before.lengths)
    shuffled = np.lexsort((generator.random(len(before)), before.times // DAY, who))
    other = Traces(before.offsets, before.events[shuffled], PLACES, before.times)
    for step in ("day", "*"):
        one, two = (coarser_times("at", Step(step)).apply(maximum_knowledge(side)).target for side in (before, other))
        if step == "day":
            assert one.events.tolist() == two.events.tolist()
            assert one.times is not None
            assert {*one.times} <= {*before.times}
            assert len({*one.times}) == len({*(one.times // DAY)}) == len({*(before.times // DAY)})
            assert (one.times // DAY == before.times // DAY).all()
            assert one.unit == "s"
        else:
            assert one.times is None
            assert [sorted(row) for row in rows(before)] == rows(one)


def test_entropy_bits_as_in_a_loop() -> None:
    before = split().target

    def bits(column: list[int]) -> float:
        return sum(-log2(count / len(column)) * count for count in Counter(column).values())

    assert before.times is not None
    assert entropy_bits(before) == pytest.approx(bits(before.events.tolist()) + bits(before.times.tolist()))
    assert entropy_bits(coarser_times("at", Step("*")).apply(maximum_knowledge(before)).target) == pytest.approx(
        bits(before.events.tolist())
    )
    assert entropy_bits(before.first(0)) == 0


def test_what_is_measured_under_each() -> None:
    """Doing nothing is shown as idle and loses nothing; losing everything leaves no more than guessing."""
    mechanism = RandomizedResponse(Domain([f"p{code:02}" for code in range(PLACES)]), 1.0)
    defences = [first_events(99), first_events(1), coarser_events("place", Step("*")), reported("a plan", mechanism)]
    found = compare_defences(split(times=False), defences, random=SeededRandom(1))
    rows = {one.name: one for one in found.rows}
    nothing, plain, plan, gone = (
        rows[name] for name in ("first 99 events of each user", AS_THEY_ARE.name, "a plan", "no place")
    )
    assert nothing.name in found.idle
    assert nothing.name in found.sentences[0]
    assert (nothing.loss, plain.loss) == (0, 0)
    assert plain.identified.value > 0.5
    bound = identification_bounds(mechanism, USERS).identification.value
    assert (plan.risk, plan.most) == (bound, bound)
    assert plan.identified.low <= bound < plain.identified.low
    assert 0.9 < plan.loss < 1
    assert gone.loss == pytest.approx(1)
    assert gone.unlearned == 1
    assert gone.most == gone.risk < plain.identified.low
    assert not {plan.name, gone.name} & {*found.idle}
    assert 0 < rows["first event of each user"].loss < 1
    assert [one.risk for one in found.rows] == sorted(one.risk for one in found.rows)
    assert len({one.identified.level for one in found.rows if one.name != "a plan"}) == 1


def test_combinations_apply_one_after_the_other() -> None:
    before = split()
    rare, two = without_rare(3), first_events(2)
    having = Counter(event for row in rows(before.target) for event in set(row))
    common = [[event for event in row if having[event] >= 3] for row in rows(before.target)]
    assert rows(combined(rare, two).apply(before).target) == [row[:2] for row in common]
    first = [row[:2] for row in rows(before.target)]
    among = Counter(event for row in first for event in set(row))
    assert rows(combined(two, rare).apply(before).target) == [[e for e in row if among[e] >= 3] for row in first]


def test_a_defence_helps_only_if_its_risk_is_below_the_success_without_it() -> None:
    def row(name: str, low: float, risk: float) -> DefenceRisk:
        return DefenceRisk(name, Rate(low, low, min(risk, 0.3), 99, 0.95), 0.0, risk, 1.0, 0.0)

    rows = (row("good", 0.1, 0.39), row("unsure", 0.1, 0.4), row(AS_THEY_ARE.name, 0.4, 0.6), row("worse", 0.7, 0.8))
    assert DefenceComparison(rows, 0.95).idle == ("unsure", "worse")
