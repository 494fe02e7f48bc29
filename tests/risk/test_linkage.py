"""A release and a known table: copies, samples, strangers, and reports."""

import numpy as np
import pytest

from discreet import Domain, RandomizedResponse, SeededRandom, UnaryEncoding
from discreet.errors import DataError
from discreet.risk.attacks.contained import CONTAINED
from discreet.risk.bounds.identification import identification_bounds
from discreet.risk.linkage import SURE, link
from discreet.risk.traces import Split, Traces
from refusals import refused

PLACES = 30


def people(users: int = 150, *, clock: bool = True, seed: int = 1) -> Traces:
    """Users at few places, which many share, so that what they do on average says little."""
    generator = np.random.default_rng(seed)
    who = np.repeat(np.arange(users), 40)
    times = np.sort(generator.integers(1_700_000_000, 1_710_000_000, (users, 40)), axis=1).ravel()
    return Traces.of(who, generator.integers(0, PLACES, len(who)), times if clock else None)


def without(traces: Traces, gone: np.ndarray) -> Traces:
    """The traces in which some users have no event."""
    return traces.only(np.repeat(~gone, traces.lengths))


@pytest.mark.parametrize("clock", [True, False])
@pytest.mark.parametrize("share", [1.0, 0.3])
def test_copies_and_samples_of_rows_are_identified(share: float, *, clock: bool) -> None:
    known = people(clock=clock)
    release = known.only(np.random.default_rng(2).random(len(known)) < share)
    found = link(Split(known, release), random=SeededRandom(1)).assessment
    tried = {one.attack: one.success.value for one in found.tried}
    assert set(CONTAINED[: 3 if clock else 2]) < set(tried)
    assert found.success.value >= 0.99
    assert found.risk == 1 or share < 1


def test_containment_is_the_likelihood_of_a_random_sample() -> None:
    """By counting subsets: u1 has x three times and y once, u2 both twice; the trace is x, x."""
    rows = ["u1"] * 4 + ["u2"] * 4 + ["u3"] * 3, list("xxxy") + list("xxyy") + list("xxz")
    known = Traces.of(*rows)
    release = known.only(np.array([1, 1, 0, 0, 1, 0, 1, 0, 1, 1, 1], bool))
    found = link(Split(known, release), attack="contained", random=SeededRandom(1)).assessment
    # x, x: 3 of 6 pairs of u1, 1 of 6 of u2, 1 of 3 of u3. x, y: 3 of 6 of u1, 4 of 6 of u2.
    assert found.places.greater.tolist() == [0, 0, 0]
    assert found.places.ties.tolist() == [1, 1, 1]


def test_strangers_are_counted_and_not_identified_surely() -> None:
    """Everybody has a place of their own; a third are known only, a third in both tables, a third in the release."""
    who = np.repeat(np.arange(120), 4)
    codes = Traces.of_numbers((who, 120), (who, 120))
    split = Split(without(codes, np.arange(120) >= 80), without(codes, np.arange(120) < 40))
    found = link(split, random=SeededRandom(1))
    everything, *sure = found.claims
    assert (found.assessment.users, len(found.assessment.places.users), found.strangers) == (80, 40, 40)
    assert (everything.count, everything.known.value, everything.strangers.value) == (80, 1, 1)
    assert 0.5 <= everything.right.value < 0.6
    assert [claim.rule for claim in sure] == [f"sureness of {least:g}" for least in SURE]
    assert (sure[1].right.value, sure[1].known.value, sure[1].strangers.value) == (1, 1, 0)
    assert found.table().cells()[1][0] == "all"


@pytest.mark.parametrize("law", [RandomizedResponse, UnaryEncoding])
def test_no_release_of_reports_is_identified_above_its_bound(law: type) -> None:
    split, mechanism = Split(people(), people(seed=1).first(2)), law(Domain(range(PLACES)), 2.0)
    found = link(split, mechanism=mechanism, reports=2, random=SeededRandom(2))
    bound = identification_bounds(mechanism, 150, reports=2).identification
    assert found.assessment.risk == bound.value >= found.assessment.success.low
    assert found.claims == ()


def test_two_tables_need_two_people_in_both() -> None:
    apart = Split(without(people(), np.arange(150) >= 76), without(people(), np.arange(150) < 75))
    message = refused(DataError, lambda: link(apart, random=SeededRandom(1)))
    assert "[linked-tables.too-few-users]" in message


def test_a_function_gets_traces_without_names_in_random_order() -> None:
    """Its scores count for the right users nevertheless, and what is no number is the lowest score."""
    order = []

    def by_counts(known: Traces, released: Traces) -> np.ndarray:
        assert released.names is None
        sides = [np.array([np.bincount(row, minlength=PLACES) for row in rows_of(side)]) for side in (known, released)]
        scores = -np.abs(sides[1][:, None] - sides[0]).sum(axis=2).astype(float)
        order.extend(scores.argmax(axis=1).tolist())
        scores[scores < -5] = np.nan
        return scores

    split = Split(people(), people().first(40))
    found = link(split, attack=["event", by_counts], random=SeededRandom(1)).assessment
    tried = {one.attack.rpartition(".")[2]: one.success.value for one in found.tried}
    assert tried["by_counts"] == 1
    assert sorted(order) == list(range(150)) != order
    message = refused(DataError, lambda: link(split, attack=lambda *_: np.zeros(3), random=SeededRandom(1)))
    assert "[attack.wrong-scores]" in message


def rows_of(traces: Traces) -> list[np.ndarray]:
    return np.split(traces.events, traces.offsets[1:-1])
