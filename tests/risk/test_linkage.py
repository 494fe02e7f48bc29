"""A release and a known table: whose traces are named, how surely, and what says so honestly."""

from math import inf, log

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import binom

from discreet import Domain, RandomizedResponse, SeededRandom, UnaryEncoding
from discreet.risk.attacks.learned import Logit, Pairs, Posterior
from discreet.risk.bounds.identification import identification_bounds
from discreet.risk.kernels.matching import scores_of_pairs
from discreet.risk.linkage import SURE, Claims, fill_users, leads_of, link, matcher_of, threshold_on_halves
from discreet.risk.scores.pse import generator_of
from discreet.risk.traces import Split, Traces, by_half

PLACES = 40


def world(users: int = 90, *, seed: int = 1, both: float = 0.4, own: float = 0.7) -> Split:
    """People with favourite places, two thirds of them known and two thirds in the release."""
    generator = np.random.default_rng(seed)
    who = np.repeat(np.arange(users), 16)
    favourite = generator.integers(0, PLACES, (users, 3))[who, generator.integers(0, 3, len(who))]
    where = np.where(generator.random(len(who)) < own, favourite, generator.integers(0, PLACES, len(who)))
    halves, kind = by_half(Traces.of(who, where, domain=Domain(range(PLACES)))), generator.random(users)
    return Split(without(halves.training, kind > (1 + both) / 2), without(halves.target, kind < (1 - both) / 2))


def without(traces: Traces, gone: np.ndarray) -> Traces:
    """The traces in which some users have no event."""
    lengths = np.where(gone, 0, traces.lengths)
    events = traces.events[np.repeat(~gone, traces.lengths)]
    return Traces(np.append(0, np.cumsum(lengths)).astype(np.int64), events, traces.event_count)


def planted(users: int = 120) -> Split:
    """Everybody has a place of their own; a third are known only, a third in both tables, a third in the release."""
    who, third = np.repeat(np.arange(users), 4), users // 3
    codes = Traces.of_numbers((who, users), (who, users))
    return Split(without(codes, np.arange(users) >= 2 * third), without(codes, np.arange(users) < third))


@pytest.mark.parametrize("reports", [0, 1, 3])
def test_claims_are_those_of_all_pairs(reports: int) -> None:
    """Best score, ties, and the odds of the best, from a matrix of all scores."""
    split, mechanism = world(40), RandomizedResponse(Domain(range(PLACES)), 3.0)
    found = link(split, mechanism=mechanism if reports else None, reports=max(reports, 1), random=SeededRandom(7))
    known, probes = np.flatnonzero(split.training.lengths), np.flatnonzero(split.target.lengths)
    source = SeededRandom(7)
    # The words for the permutation come first.
    generator_of(source)
    sides = split.training.select(known), split.target.select(probes)
    if reports:
        matcher = matcher_of(*sides, mechanism, reports, source)
        pairs = [np.repeat(np.arange(len(probes)), len(known)), np.tile(np.arange(len(known)), len(probes))]
        nats = scores_of_pairs(matcher.problem, *pairs).reshape(len(probes), len(known)) * matcher.unit
    else:
        both = Split(*(fill_users(one, max(len(known), len(probes))) for one in sides))
        assert len(probes) <= len(known)
        posterior = Logit.taught(both, source).posterior(Pairs(both, np.arange(len(probes)), source))
        nats = np.array(
            [
                posterior.logs[row][np.searchsorted(users, range(len(known)))]
                for row, users in enumerate(posterior.lists)
            ]
        )
    odds, right, blind = [], [], []
    for row, user in zip(nats, probes.tolist(), strict=True):
        own = np.flatnonzero(known == user)
        odds.append(row.max() - logsumexp(np.delete(row, row.argmax())))
        right.append(np.mean(np.isin(np.flatnonzero(row > row.max() - 1e-6), own)))
        blind += [row[own[0]] <= -log(len(known))] if len(own) else []
    np.testing.assert_allclose(found.claims.sureness, odds, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(found.claims.right, right)
    assert found.claims.inside.tolist() == np.isin(probes, known).tolist()
    nothing = 1.0 if found.recall.low <= 1 / found.known else np.mean(blind)
    assert found.unlearned == (0 if reports else nothing)
    assert (found.known, found.inside + found.outside) == (len(known), len(probes))


def test_users_who_are_not_listed_are_counted_one_by_one() -> None:
    """Of 6 users 2 are listed; the other four share what is left, and may be the best or the right one."""
    logs = np.log([[0.5, 0.1], [0.05, 0.15], [0.2, 0.2]])
    rest = np.log([0.1, 0.2, 0.15])
    posterior = Posterior(np.zeros(3, np.int64), np.array([[0, 3]] * 3), logs, rest, np.zeros(6), np.zeros(3, np.bool_))
    odds, ties, holds, own = leads_of(posterior, np.array([[0, 1, 5], [3, -1, 3]]))
    np.testing.assert_allclose(np.exp(odds), [1, 0.2 / 0.8, 0.2 / 0.8], rtol=1e-4)
    assert ties.tolist() == [1, 4, 2]
    assert holds.tolist() == [[True, True, False], [False, False, True]]
    np.testing.assert_allclose(np.exp(own), [0.5, 0.2, 0.15], rtol=1e-4)


def test_outcomes_by_counting() -> None:
    generator = np.random.default_rng(3)
    sureness, right = generator.integers(-3, 4, 50) / 2, generator.choice([0, 0, 0.5, 1], 50)
    inside = (right > 0) | (generator.random(50) < 0.4)
    claims = Claims(sureness, right, inside)
    thresholds, precision, recall = claims.curve()
    assert thresholds.tolist() == sorted(set(sureness.tolist()), reverse=True)
    for place, least in enumerate(thresholds):
        rows = [row for row in range(50) if sureness[row] >= least]
        hits = sum(right[row] for row in rows)
        found = claims.naming("some", least, 0.95)
        assert found.precision is not None
        assert found.false is not None
        assert found.named == len(rows)
        assert found.precision.value == pytest.approx(hits / len(rows)) == precision[place]
        assert found.recall.value == pytest.approx(hits / inside.sum()) == recall[place]
        assert found.false.value == sum(not inside[row] for row in rows) / (~inside).sum()
    nothing = claims.naming("none", inf, 0.95)
    assert (nothing.named, nothing.precision, nothing.recall.value) == (0, None, 0)
    assert claims.at(np.flatnonzero(inside)).naming("all", -inf, 0.95).false is None


def test_who_has_a_place_of_their_own_is_named_and_strangers_are_not() -> None:
    found = link(planted(), random=SeededRandom(1))
    assert (found.known, found.inside, found.outside) == (80, 40, 40)
    everything, sure, surest = found.namings[0], found.namings[2], found.namings[1 + len(SURE)]
    assert (everything.named, everything.recall.value) == (80, 1)
    assert everything.precision is not None
    assert 0.5 <= everything.precision.value < 0.6
    assert sure.rule == "sureness of 0.9"
    for one in (sure, found.namings[-1]):
        assert one.precision is not None
        assert one.false is not None
        assert (one.precision.value, one.recall.value, one.false.value) == (1, 1, 0)
    assert surest.precision is not None
    assert surest.precision.value == 1
    assert 1 <= surest.named <= 40
    assert (found.unlearned, found.risk) == (0, 1)
    text = repr(found) + found._repr_html_() + " ".join(found.sentences)
    assert "80 traces, 40 of them of the 80 known users" in text
    assert found.to_arrow().column("recall").to_pylist()[0] == 1


def test_permuted_names_are_named_by_chance() -> None:
    """Over 40 runs; a test that the true names, or names permuted for one half only, do not pass."""
    right = trials = true = 0.0
    for seed in range(40):
        found = link(planted(60), random=SeededRandom(seed))
        right += found.chance.recall.value * found.inside
        true += found.recall.value * found.inside
        trials += found.inside
    low, high = binom.ppf([1e-6, 1 - 1e-6], trials, 1 / found.known)
    assert low <= right <= high
    assert true == trials > 10 * high
    assert found.chance.named == found.namings[0].named


def test_a_thresholdthreshold_on_halves_on_one_half_is_honest_on_the_other() -> None:
    """Of a sureness that says nothing: the best threshold seems to reach 60% on its own half, where 50% are right."""
    generator, goal, covered, seeming = np.random.default_rng(5), 0.6, 0, 0
    for _ in range(400):
        claims = Claims(generator.random(80), generator.integers(0, 2, 80).astype(float), np.ones(80, np.bool_))
        order = generator.permutation(80)
        found = threshold_on_halves(claims, goal, order, 0.95)
        covered += found.precision is None or found.precision.low <= 0.5 <= found.precision.high
        _, precision, _ = claims.at(order[:40]).curve()
        seeming += precision.max() >= goal
    assert covered >= binom.ppf(1e-6, 400, 0.95)
    assert seeming > 250
    halves = Claims(np.tile(np.arange(10.0), 2), np.repeat([1.0, 0.0], 10), np.ones(20, np.bool_))
    other = threshold_on_halves(halves, goal, np.arange(20), 0.95)
    assert other.precision is not None
    assert (other.named, other.precision.value) == (10, 0)
    none = threshold_on_halves(Claims(np.arange(8.0), np.zeros(8), np.ones(8, np.bool_)), 0.95, np.arange(8), 0.95)
    assert (none.named, none.precision) == (0, None)


@pytest.mark.parametrize("epsilon", [0.5, 2.0, 5.0])
@pytest.mark.parametrize("law", [RandomizedResponse, UnaryEncoding])
def test_no_release_of_reports_is_named_above_its_bound(law: type, epsilon: float) -> None:
    split, mechanism = world(200, own=1.0), law(Domain(range(PLACES)), epsilon)
    found = link(split, mechanism=mechanism, reports=2, random=SeededRandom(2))
    bound = identification_bounds(mechanism, found.inside, reports=2).identification
    assert found.bound == bound
    assert found.risk == bound.value >= found.recall.low
    assert "No attack, whatever it knows" in " ".join(found.sentences) or bound.value > 0.99
    assert found.attack == "likelihood of reports"


def test_the_risk_is_the_upper_limit_and_what_was_not_learned() -> None:
    found = link(world(300, own=0.3), random=SeededRandom(1))
    assert found.recall.value < found.recall.high < found.risk
    assert found.risk == min(found.recall.high + found.unlearned, 1)
    assert "Nothing was learned about" in " ".join(found.sentences)
    once = Traces.of_numbers((np.repeat(range(60), 4), 60), (np.arange(240), 480))
    later = Traces.of_numbers((np.repeat(range(60), 4), 60), (np.arange(240, 480), 480))
    blind = link(Split(once, later), random=SeededRandom(1))
    assert (blind.unlearned, blind.risk) == (1, 1)
    assert blind.outside == 0
    assert "-" in blind.view().cells()[1]
