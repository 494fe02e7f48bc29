"""Plain attacks, numbers, places, two columns of events, and lessons that do not carry."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from discreet import SeededRandom
from discreet.risk.assessment import TraceAssessment, assess
from discreet.risk.attacks.columns import PLAIN, plain_views
from discreet.risk.attacks.traces import Attacker, strongest
from discreet.risk.traces import Split, Traces, by_half

START = 1_700_006_400


def meters(users: int = 300, *, shuffled: bool = False) -> Traces:
    """Readings around a level of one's own at an hour of the day; shuffled, the numbers are only names."""
    generator = np.random.default_rng(1)
    who, hours = np.repeat(np.arange(users), 20), np.tile(np.arange(20), users)
    level = np.repeat(generator.integers(10_000, 90_000, users), 20)
    readings = level + generator.integers(-400, 401, len(who))
    labels, codes = np.unique(readings, return_inverse=True)
    names = generator.permutation(labels) if shuffled else labels
    columns = (who, users), (codes.astype(np.int32), len(labels))
    return Traces.of_numbers(*columns, START + hours * 3600, labels=pa.array(names))


def places(users: int = 150) -> Traces:
    """People around homes of their own, at coordinates that never come twice."""
    generator = np.random.default_rng(1)
    who, homes = np.repeat(np.arange(users), 20), generator.uniform(0, 0.3, (users, 2))
    points = [40.5, -74.2] + homes[who] + generator.normal(0, 0.002, (len(who), 2))
    return Traces.of_numbers(
        (who, users),
        (np.arange(len(who)).astype(np.int32), len(who)),
        labels=pa.array([f"{lat:.6f},{lon:.6f}" for lat, lon in points]),
    )


def as_pairs(traces: Traces) -> Traces:
    """The same with latitudes and longitudes in two columns."""
    rows = np.array([label.split(",") for label in traces.labels.to_pylist()], float).T
    return replace(traces, labels=pa.StructArray.from_arrays([pa.array(row) for row in rows], ["lat", "lon"]))


@pytest.mark.parametrize(
    ("traces", "plain"), [(meters(), "number-hour"), (places(), "place"), (as_pairs(places()), "place")]
)
def test_close_numbers_and_close_places_are_alike(traces: Traces, plain: str) -> None:
    tried = {one.attack: one.success.value for one in strongest(by_half(traces), random=SeededRandom(1)).attempts}
    assert tried["learned"] > 0.12 > tried["event"]
    assert tried[plain] > 0.1
    assert ("number" in tried) == (plain == "number-hour")


def test_numbers_that_are_only_names_do_no_harm() -> None:
    """The same readings, whose numbers are permuted among them, with and without labels."""
    named = by_half(meters(shuffled=True))
    found = [strongest(split, "learned", random=SeededRandom(1)) for split in (named, unlabelled(named))]
    first, second = (one.attempts[0].success.value for one in found)
    assert first > second - 0.02


def unlabelled(split: Split) -> Split:
    return Split(replace(split.training, labels=None), replace(split.target, labels=None))


@pytest.mark.parametrize(
    "labels", [["12", "34", "5x"], ["40.1,-74.2", "40.2"], ["1,2", "3,4", "5,6"], ["95.5,3.1", "40.1,2.2", "1.5,2"]]
)
def test_labels_that_are_no_numbers_and_no_places_have_no_views(labels: list[str]) -> None:
    split = by_half(replace(Traces.of(np.repeat([0, 1, 2], 4), np.arange(12) % len(labels)), labels=pa.array(labels)))
    assert {*plain_views(split)} == {"event"}


def test_each_of_two_columns_is_compared() -> None:
    """The first column says nothing, and the second who it is."""
    who = np.repeat(np.arange(60), 10)
    first, second = np.random.default_rng(1).integers(0, 300, len(who)), who * 2 + np.arange(len(who)) % 2
    pairs, codes = np.unique(first * 1000 + second, return_inverse=True)
    labels = pa.StructArray.from_arrays(
        [pa.array(pairs // 1000).cast(pa.string()), pa.array([f"x{row % 1000}" for row in pairs])], ["a", "b"]
    )
    traces = Traces.of_numbers((who, 60), (codes.astype(np.int32), len(pairs)), labels=labels)
    tried = {one.attack: one.success.value for one in strongest(by_half(traces), random=SeededRandom(1)).attempts}
    assert tried["second-column"] == tried["learned"] == 1
    assert tried["first-column"] < 0.2


def test_every_plain_attack_is_tried_and_the_headline_is_the_best() -> None:
    found = assess(by_half(meters()), random=SeededRandom(1))
    assert isinstance(found, TraceAssessment)
    tried = {one.attack: one.success.value for one in found.tried}
    assert set(PLAIN[:7]) < set(tried)
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
