"""Risk in a population: published figures, sums, and populations whose truth is known."""

import random
from math import comb

import numpy as np
import pytest
from scipy.stats import binom

import discreet as dc
from discreet.errors import DataError, ParameterError
from discreet.risk.population import Spread, individual_risk, population_estimate

# sdcMicro's tests of indivRisk, method "exact": class sizes, estimated population sizes and risks of eight people.
SIZES = [3, 1, 3, 1, 2, 2, 1, 3]
POPULATION = [108.0, 45.5, 108.0, 17.0, 100.0, 100.0, 123.5, 108.0]
RISKS = [0.01355297, 0.08579129, 0.01355297, 0.17707583, 0.01877883, 0.01877883, 0.03931625, 0.01355297]


def test_individual_risks_of_the_tests_of_sdcmicro() -> None:
    risks = individual_risk(SIZES, np.array(SIZES) / POPULATION)
    assert risks == pytest.approx(RISKS, rel=3e-7)


@pytest.mark.parametrize("size", [1, 2, 7])
@pytest.mark.parametrize("fraction", [0.05, 0.3, 0.9])
def test_individual_risk_is_the_mean_over_the_negative_binomial(size: int, fraction: float) -> None:
    sizes = range(size, 900)
    chances = [comb(F - 1, size - 1) * fraction**size * (1 - fraction) ** (F - size) for F in sizes]
    assert sum(chances) == pytest.approx(1, abs=1e-9)
    wanted = sum(chance / F for chance, F in zip(chances, sizes, strict=True))
    assert individual_risk([size], fraction)[0] == pytest.approx(wanted, rel=1e-8)


def test_individual_risk_at_its_ends() -> None:
    assert individual_risk([1, 5], 1.0) == pytest.approx([1, 1 / 5])
    # Alone in the sample and alpha = 1: alone for sure.
    assert individual_risk([1], 1e-4, 1.0) == pytest.approx([1])
    risks = individual_risk([1, 10, 4000, 10**6], 1e-6, 0.3)
    assert np.all((risks > 0) & (risks <= 1 / np.array([1, 10, 4000, 10**6])))


def drawn(people: int, alpha: float, theta: float, chance: random.Random) -> tuple[np.ndarray, np.ndarray]:
    """Draw a population of Pitman's model, a person after the other: classes of people, and their sizes."""
    classes, sizes = list[int](), list[int]()
    for person in range(people):
        if chance.random() * (theta + person) < theta + alpha * len(sizes):
            classes.append(len(sizes))
            sizes.append(1)
            continue
        while True:
            one = classes[int(chance.random() * person)]
            if chance.random() * sizes[one] >= alpha:
                break
        classes.append(one)
        sizes[one] += 1
    return np.array(classes), np.array(sizes)


@pytest.mark.parametrize(("alpha", "theta"), [(0.1, 50.0), (0.5, 20.0), (0.8, 5.0)])
def test_limits_hold_in_populations_that_are_as_the_model_says(alpha: float, theta: float) -> None:
    """The truth is known: 95% limits hold it in nearly all of 60 populations, and limits half as wide do not."""
    chance, generator, runs, people, fraction = random.Random(5), np.random.default_rng(6), 60, 2000, 0.1
    misses, narrow = np.zeros(3, dtype=int), np.zeros(3, dtype=int)
    for run in range(runs):
        classes, F = drawn(people, alpha, theta, chance)
        f = np.bincount(classes[generator.permutation(people)[: int(people * fraction)]], minlength=len(F))
        there = f > 0
        estimate = population_estimate(f[there], fraction, random=dc.SeededRandom(run))
        truths = [((f == 1) & (F == 1)).sum(), (F == 1).sum(), (f[there] / F[there]).sum() / f.sum()]
        for at, (truth, limits) in enumerate(
            zip(truths, (estimate.uniques, estimate.population_uniques, estimate.risk), strict=True)
        ):
            misses[at] += not limits.low <= truth <= limits.high
            quarter = (limits.high - limits.low) / 8
            narrow[at] += abs(truth - limits.value) > quarter
    assert all(binom.sf(count - 1, runs, 0.07) > 1e-6 for count in misses), misses
    assert narrow.sum() > 30


def test_a_sample_in_which_nobody_is_like_anybody_else_says_nothing_to_calm() -> None:
    estimate = population_estimate([1] * 30, 0.01, random=dc.SeededRandom(2))
    assert (estimate.alpha, estimate.worst, estimate.above) == (1, pytest.approx(1), 1)
    assert estimate.uniques == Spread(30, 30, 30)
    assert estimate.risk.value == pytest.approx(1)


def test_pitman_is_above_the_negative_binomial_and_the_same_with_one_seed() -> None:
    sizes = [1] * 50 + [2] * 15 + [3] * 6 + [20]
    one, other = (population_estimate(sizes, 0.05, random=dc.SeededRandom(3)) for _ in range(2))
    assert one == other
    assert one.plain[0] == pytest.approx(np.average(individual_risk(sizes, 0.05), weights=sizes))
    assert one.risk.value > one.plain[0]
    assert one != population_estimate(sizes, 0.05)


def test_a_table_without_its_rare_classes_is_judged_by_the_whole_sample() -> None:
    sizes, shown = [1] * 50 + [2] * 15 + [3] * 6 + [20], [3] * 6 + [20]
    whole, rare = (population_estimate(sizes, 0.05, suppress=k, random=dc.SeededRandom(3)) for k in (1, 3))
    assert (rare.alpha, rare.theta, rare.population_uniques) == (whole.alpha, whole.theta, whole.population_uniques)
    assert rare.uniques == Spread(0, 0, 0)
    assert rare.plain[0] == pytest.approx(np.average(individual_risk(shown, 0.05), weights=shown))
    assert rare.plain[1] == pytest.approx(individual_risk([3], 0.05)[0])
    assert rare.risk.value < whole.risk.value


def test_what_is_no_sample_is_refused() -> None:
    for sizes in ([], [0, 3]):
        with pytest.raises(DataError, match="somebody in every class"):
            population_estimate(sizes, 0.1)
    for fraction in (0, 1, -1, float("nan")):
        with pytest.raises(ParameterError, match="fraction must be a number between 0 and 1"):
            population_estimate([1, 2], fraction)
    with pytest.raises(ParameterError, match="fraction must be larger"):
        population_estimate([1, 2], 1e-15)
    assert population_estimate([1, 2] * 500, 1e-8).uniques.high <= 500
