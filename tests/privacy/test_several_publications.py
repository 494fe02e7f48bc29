"""Publications of different mechanisms that hold reports of the same person: their privacy losses are composed."""

from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

import discreet as dc
from chances import law
from discreet.privacy.publication import joint_epsilon
from discreet.privacy.shuffling_rounds import joint_epsilons_at_chance


def losses(epsilon: float, n: int) -> tuple[Any, Any]:
    """Return losses among two protected values and their probabilities, where all others' values are known.

    The others' truths are reported in clear: their noise alone, of each of two values, is beside hers.
    """
    ratio, noise = law(epsilon, 2)
    own, found = ratio / (1 + ratio), list[tuple[float, float]]()
    for others in range(n):
        weight = binom.pmf(others, n - 1, noise)
        first = np.arange(others + 1)
        chances = weight * binom.pmf(first, others, 0.5)
        for hers, chance in ((1, own), (0, 1 - own)):
            a, b = first + hers, others - first + 1 - hers
            found += zip(np.log((ratio * a + b) / (a + ratio * b)).tolist(), (chance * chances).tolist(), strict=True)
    values, places = np.unique(np.round([loss for loss, _ in found], 12), return_inverse=True)
    return values, np.bincount(places, weights=[chance for _, chance in found])


def beyond(parts: list[tuple[Any, Any]], epsilon: float) -> float:
    """Return the chance that the sum of two losses exceeds an epsilon."""
    (first, shares), (second, others) = parts
    # The chance that the second loss is above what is left.
    above = np.append(np.cumsum(others[::-1])[::-1], 0.0)
    return float(shares @ above[np.searchsorted(second, epsilon - first, side="right")])


@pytest.mark.parametrize("chance", [1e-2, 1e-4, 1e-6])
@pytest.mark.parametrize("cases", [((1.0, 60), (2.0, 40)), ((0.5, 90), (0.5, 90)), ((2.0, 30), (0.5, 120))])
def test_the_chance_to_get_further_is_the_one_stated(cases: tuple[tuple[float, int], ...], chance: float) -> None:
    parts, curves = [losses(*case) for case in cases], []
    for epsilon, n in cases:
        mechanism = dc.RandomizedResponse(dc.Domain(range(6), sensitive=[0, 1]), epsilon)
        curves.append(dc.shuffled(mechanism, n).curve_among)
    for values, shares in parts:
        assert shares.sum() == pytest.approx(1, abs=1e-9)
        assert shares @ np.exp(-values) == pytest.approx(1, abs=1e-9)
    ((stated,),) = [joint_epsilons_at_chance(curves, [[0, 1]], chance)]
    assert beyond(parts, stated) <= chance
    # Not much more than the least that holds.
    assert beyond(parts, stated / (1.1 if chance <= 1e-4 else 1.25)) > chance
    assert stated < sum(curve.epsilon_at_chance(chance / 2) for curve in curves)
    # The largest loss of either alone is exceeded more often.
    assert stated > max(curve.epsilon_at_chance(chance) for curve in curves)


def test_alike_parts_are_rounds() -> None:
    mechanism = dc.RandomizedResponse(dc.Domain(range(8), sensitive=range(3)), 1.0)
    once = dc.published(mechanism, 2000, answers="once")
    rounds = dc.published(mechanism, [2000] * 3, answers="fresh").figures()
    names = ["a", "b", "c"]
    reach = joint_epsilon(dict.fromkeys(names, (once, 1.0)), [names], 1e-6)
    assert reach == pytest.approx(max(rounds[way]["epsilon"] for way in ("among", "versus_clear")), rel=0.005)


def test_the_worst_draw_counts_and_parts_that_are_not_there_do_not() -> None:
    parts = {
        name: (dc.published(dc.RandomizedResponse(dc.Domain(range(4)), epsilon), n, answers="once"), epsilon)
        for name, (epsilon, n) in {"a": (1.0, 1000), "b": (2.0, 1000), "c": (0.5, 4000)}.items()
    }
    alone = joint_epsilon(parts, [["a"], ["b"], ["c"]], 1e-6)
    assert alone == parts["b"][0].figures()["among"]["epsilon"]
    worst = joint_epsilon(parts, [["a", "b"]], 1e-6)
    assert worst > 1.05 * alone
    assert joint_epsilon(parts, [["a", "c"], ["a", "b"], ["b", "c"], ["a"]], 1e-6) == pytest.approx(worst, rel=0.005)
    assert joint_epsilon(parts, [["b", "gone"], ["gone"]], 1e-6) == alone
    assert joint_epsilon(parts, [["gone"]], 1e-6) == joint_epsilon({}, [["gone"]], 1e-6) == 0


def test_a_part_without_a_statement_counts_with_its_local_epsilon() -> None:
    mechanism = dc.RandomizedResponse(dc.Domain(range(4)), 1.0)
    many, one = dc.published(mechanism, 1000), dc.published(mechanism, 1)
    alone = joint_epsilon({"a": (many, 1.0)}, [["a"]], 1e-6)
    for none in (None, one):
        parts = {"a": (many, 1.0), "b": (none, 0.75)}
        assert joint_epsilon(parts, [["a", "b"]], 1e-6) == alone + 0.75
    # Never above all local epsilons together.
    few = dc.published(mechanism, 2)
    assert joint_epsilon({"a": (few, 0.3), "b": (few, 0.2)}, [["a", "b"]], 1e-6) == 0.5
