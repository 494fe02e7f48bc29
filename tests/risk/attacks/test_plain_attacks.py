"""Plain attacks, numbers that no attack uses, and lessons that do not carry: what a gate must not pass."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from discreet import SeededRandom
from discreet.risk.assessment import TraceAssessment, assess
from discreet.risk.attacks.plain import PLAIN, numbers_say_more
from discreet.risk.attacks.traces import Attacker, strongest
from discreet.risk.traces import Split, Traces, by_half
from running import run, told

START = 1_700_006_400


def meters(users: int = 300, *, shuffled: bool = False) -> Traces:
    """Readings around a level of one's own at an hour of the day; shuffled, the numbers are only names."""
    generator = np.random.default_rng(1)
    who, hours = np.repeat(np.arange(users), 20), np.tile(np.arange(20), users)
    level = np.repeat(generator.integers(100, 900, users), 20)
    readings = level + generator.integers(-15, 16, len(who))
    labels, codes = np.unique(readings, return_inverse=True)
    names = generator.permutation(labels) if shuffled else labels
    columns = (who, users), (codes.astype(np.int32), len(labels))
    return Traces.of_numbers(*columns, START + hours * 3600, labels=pa.array(names))


def test_numbers_count_only_if_their_order_says_more_than_names() -> None:
    assert numbers_say_more(by_half(meters()), SeededRandom(1))
    assert not numbers_say_more(by_half(meters(shuffled=True)), SeededRandom(1))
    noise = np.random.default_rng(2)
    false = 0
    for seed in range(20):
        codes = noise.integers(0, 40, 4000).astype(np.int32)
        traces = Traces.of_numbers((np.repeat(np.arange(200), 20), 200), (codes, 40), labels=pa.array(np.arange(40)))
        false += numbers_say_more(by_half(traces), SeededRandom(seed))
    assert false == 0


def test_a_gate_does_not_pass_numbers_that_no_learned_attack_used(tmp_path: Path) -> None:
    exits = {}
    for shuffled in (False, True):
        traces = meters(shuffled=shuffled)
        path = tmp_path / f"{shuffled}.csv"
        values = [traces.labels[int(code)].as_py() for code in traces.events]
        who = np.repeat(np.arange(traces.users), traces.lengths)
        path.write_text("user,event\n" + "".join(f"{u},{v}\n" for u, v in zip(who, values, strict=True)))
        facts = told("risk", path, "--seed", 1)
        assert facts["numbers_not_used"] == (not shuffled)
        assert shuffled or facts["in_words"][0].startswith("The order of the numbers")
        exits[shuffled] = run("risk", path, "--seed", 1, "--fail-above", 0.9).exit_code
    assert exits == {False: 1, True: 0}


def test_every_plain_attack_is_tried_and_the_headline_is_the_best() -> None:
    found = assess(by_half(meters()), random=SeededRandom(1))
    assert isinstance(found, TraceAssessment)
    tried = {one.attack: one.success.value for one in found.tried}
    assert set(PLAIN) < set(tried)
    assert found.success.value == max(tried.values())


def test_the_place_and_the_hour_identify_together() -> None:
    """Everybody is at both of two places, at hours of their own."""
    generator = np.random.default_rng(3)
    who, places = np.repeat(np.arange(100), 24), np.tile([0, 1], 1200)
    hours = generator.uniform(0, 24, (100, 2))[who, places] + generator.normal(0, 0.2, len(who))
    times = START + np.tile(np.arange(24) // 2 * 86_400, 100) + (hours * 3600).astype(np.int64)
    split = by_half(Traces.of(who, places, times))
    tried = {one.attack: one.success.value for one in strongest(split, random=SeededRandom(1)).attempts}
    assert tried["event-hour"] > 0.95
    assert tried["jointly"] > 0.95
    assert tried["event"] < 0.1


def decoys(users: int = 120) -> Split:
    """People first do what another one does next: the known events teach that sharing speaks against a user."""
    own = np.arange(users)
    known = np.repeat(np.column_stack([np.roll(own, -1), own]), 4, axis=1)
    sides = [(known, 8), (np.repeat(own[:, None], 4, axis=1), 4)]
    return Split(*(Traces(np.arange(users + 1) * size, rows.ravel().astype(np.int32), users) for rows, size in sides))


def test_true_answers_are_tried_where_a_lesson_does_not_carry() -> None:
    attacker = Attacker(decoys(), SeededRandom(1))
    assert attacker.lesson_fails
    assert attacker.told.ranks.hits().mean() > attacker.learned.ranks.hits().mean() + 0.3
    tried = {one.attack: one.success.value for one in strongest(decoys(), random=SeededRandom(1)).attempts}
    assert tried["told"] > tried["learned"] + 0.3


@pytest.mark.parametrize("seed", range(3))
def test_a_lesson_that_carries_is_not_replaced(seed: int) -> None:
    generator = np.random.default_rng(seed)
    who = np.repeat(np.arange(150), 16)
    mine = generator.integers(0, 60, (150, 3))[who, generator.integers(0, 3, len(who))]
    events = np.where(generator.random(len(who)) < 0.5, mine, generator.integers(0, 60, len(who)))
    assert not Attacker(by_half(Traces.of(who, events)), SeededRandom(seed)).lesson_fails
