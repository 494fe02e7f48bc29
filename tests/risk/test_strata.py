"""Who is named: by strata and by probability, as a reader concludes from it."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from discreet.core.random import SeededRandom
from discreet.core.traces import Traces, by_half
from discreet.risk.assessment import CHANCES, TraceAssessment, assess, even_groups
from discreet.risk.attacks.traces import level_of_each
from discreet.risk.scores.rates import rank_curve
from discreet.risk.scores.scores import Ranks
from discreet.risk.strata import FEWEST, TraceStrata, trace_strata

USERS = 240


@pytest.fixture(scope="module")
def assessed() -> TraceAssessment:
    """Half of the users have a place of their own, the others one place for all."""
    who = np.repeat(np.arange(USERS), 4)
    found = assess(by_half(Traces.of(who, np.minimum(who, USERS // 2))), attack="learned", random=SeededRandom(1))
    assert isinstance(found, TraceAssessment)
    return found


def with_hits(found: TraceAssessment, hits: np.ndarray) -> TraceAssessment:
    """The same with others named."""
    greater = np.where(hits, 0, 1)
    places = Ranks(greater, np.ones_like(greater), found.places.users, found.users)
    return replace(found, places=places, ranks=rank_curve(greater, places.ties, ks=[1], level=found.success.level))


def test_a_stratum_that_is_worse_is_said_to_be(assessed: TraceAssessment) -> None:
    towns = ["own" if user < USERS // 2 else "shared" for user in assessed.places.users]
    found = trace_strata(assessed, "town", pa.array(towns))
    assert [one.name for one in found.worse] == ["own"] == [found.shown[0].name]
    assert found.sentences == ("Shown to be named more often than all traces together, by town: own.",)
    assert found.cells[1][:3] == ["own", "120", "100.00%"]
    assert found.shown[0].success.level == pytest.approx(level_of_each(assessed.success.level, 2))


def test_few_people_are_not_shown_and_nobody_is_lost(assessed: TraceAssessment) -> None:
    towns = ["few"] * (FEWEST - 1) + ["enough"] * FEWEST + [None] * 30 + ["rest"] * (USERS - 69)
    found = trace_strata(assessed, "town", pa.array(towns))
    assert {one.name for one in found.shown} == {"enough", "no single value", "rest"}
    assert found.hidden == FEWEST - 1
    assert found.hidden + sum(one.success.trials for one in found.shown) == USERS
    assert "19 traces are in strata of fewer than 20, which are not shown." in found.sentences
    nobody = trace_strata(assessed, "user", pa.array([f"u{user}" for user in range(USERS)]))
    assert (nobody.shown, nobody.hidden) == ((), USERS)
    assert nobody.cells == [["user", "traces", "named", "interval"]]


def test_many_numbers_become_ranges(assessed: TraceAssessment) -> None:
    ages = np.arange(USERS) // 3
    found = trace_strata(assessed, "age", pa.array(ages))
    assert len(found.shown) == 10
    ends = [
        tuple(map(int, one.name.split(" to "))) for one in sorted(found.shown, key=lambda one: int(one.name.split()[0]))
    ]
    assert [start for start, _ in ends] == [0, *(end + 1 for _, end in ends[:-1])]
    # Those under 40 have a place of their own.
    assert {one.name for one in found.worse} == {f"{start} to {end}" for start, end in ends if end < 40}
    assert {one.name for one in trace_strata(assessed, "age", pa.array(ages // 20)).shown} == set("0123")
    assert even_groups(np.zeros(5)).tolist() == [0] * 5


def test_words_about_strata_are_true_as_often_as_they_say(assessed: TraceAssessment) -> None:
    """Columns that have nothing to do with it call no stratum worse; all intervals of a column hold at once."""
    generator = np.random.default_rng(4)
    chances = {"a": 0.3, "b": 0.35, "c": 0.5, "d": 0.8}
    false = missed = 0
    for _ in range(100):
        towns = generator.choice(list(chances), USERS)
        even = trace_strata(with_hits(assessed, generator.random(USERS) < 0.5), "town", pa.array(towns))
        false += bool(even.worse)
        hits = generator.random(USERS) < np.array([chances[town] for town in towns])
        uneven = trace_strata(with_hits(assessed, hits), "town", pa.array(towns))
        missed += any(not one.success.low <= chances[one.name] <= one.success.high for one in uneven.shown)
        assert {one.name for one in uneven.worse} <= {"c", "d"}
    # Of 100 at 5% at most, 20 or more come once in 5e7.
    assert false < 20
    assert missed < 20


def test_probabilities_of_the_right_user(assessed: TraceAssessment) -> None:
    groups = assessed.by_chance
    assert [(one.least, one.below) for one in groups[::-1]] == list(zip(CHANCES, (*CHANCES[1:], 1.0), strict=True))
    assert sum(one.share.value for one in groups) == pytest.approx(1)
    assert assessed.chances is not None
    for one in groups:
        inside = (assessed.chances >= one.least) & ((assessed.chances < one.below) | (one.below == 1))
        assert one.share.value == pytest.approx(inside.mean())
    assert (assessed.places.hits()[assessed.chances > 0.5] == 1).all()
    # Half of the users are told, and the others one as well as the next.
    assert np.mean(assessed.chances > 0.5) == 0.5
    tenth = np.quantile(assessed.chances, 0.9, method="higher")
    stated = assessed.chance_sentence.partition("a probability of ")[2].partition(
        "% or more for a tenth of the traces"
    )[0]
    assert float(stated) / 100 <= min(tenth, 0.9999) < float(stated) / 100 + 1.01e-4


def test_an_attack_without_probabilities_has_none(assessed: TraceAssessment) -> None:
    plain = replace(assessed, chances=None)
    assert (plain.by_chance, plain.chance_sentence) == ((), "")


def test_the_group_with_most_events_named_has_an_interval_for_the_choice(assessed: TraceAssessment) -> None:
    """Whichever group is the worst, its interval holds: nobody is named more often than with probability 1/2."""
    generator, missed = np.random.default_rng(2), 0
    for _ in range(100):
        lengths = generator.integers(1, 100, USERS)
        found = replace(with_hits(assessed, generator.random(USERS) < 0.5), events=lengths)
        worst = max(found.by_events, key=lambda one: one.success.value)
        missed += worst.success.low > 0.5
    assert missed < 20


def test_nothing_is_said_of_no_strata(assessed: TraceAssessment) -> None:
    assert TraceStrata("town", (), 0, assessed.success).sentences[0].endswith("by town: none.")
