"""Moments of what a report is worth to a sum of sensitive values: by enumeration, and the coverage that follows."""

from itertools import combinations

import numpy as np
import pytest

from discreet import BlockDesign, Domain, SeededRandom, SubsetSelection, UnaryEncoding, estimate
from discreet.mechanisms import BlockMechanism, LawMechanism
from discreet.mechanisms.laws.subsets import MixedSubsets
from discreet.testing import spell_out
from discreet.theory.binomial import ValueSets, sum_moment

SOME, ALL = Domain(range(6), sensitive=[0, 1, 3, 5]), Domain(range(5))
P = {6: np.array([0.3, 0.05, 0.2, 0.15, 0.2, 0.1]), 5: np.array([0.4, 0.3, 0.2, 0.1, 0.0])}
MECHANISMS = [
    UnaryEncoding(SOME, 1.0),
    UnaryEncoding(ALL, 2.0),
    SubsetSelection(SOME, 0.7, k=2),
    SubsetSelection(ALL, 1.0, k=3),
    BlockDesign(Domain(range(6), sensitive=[0, 1, 3, 5]), 0.9),
    LawMechanism(ALL, 1.0, MixedSubsets(5, 2, 1 << 62)),
]


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)
@pytest.mark.parametrize("control", [0.0, 0.4])
def test_moments_of_every_set_are_those_of_every_report(mechanism: BlockMechanism, control: float) -> None:
    """Sets of sensitive values and of others, less lambda times what all estimates exceed 1 by."""
    domain, p = mechanism.domain, P[mechanism.domain.size]
    outputs = spell_out(mechanism)
    chances, worths = p @ outputs.matrix, mechanism.decoder.worth(outputs.reports)
    tally = mechanism.tally(mechanism.obfuscate(list(range(domain.size)) * 9, random=SeededRandom(1)))
    law = mechanism.decoder.sum_law(tally, p)
    assert law is not None
    if not law.parts:
        return  # a design beside values in clear: by its covariance
    mass, clear = float(p[domain.sensitive].sum()), np.where(domain.sensitive, 0.0, p)
    for size in range(1, domain.size):
        for chosen in combinations(range(domain.size), size):
            rows = list(chosen)
            whole = worths[:, rows].sum(axis=1) - control * (worths.sum(axis=1) - 1)
            covered, told = (np.array([float(each[rows].sum())]) for each in (domain.sensitive, clear))
            sets = ValueSets(covered, told, np.array([control]), domain.sensitive_count, mass)
            for power in (2, 3):
                wanted, moment = float(chances @ whole**power), sum_moment(law.parts, sets, power)
                found = moment.at(np.array([p[rows].sum()]), (told, told + mass))
                assert found == pytest.approx([wanted], abs=1e-11 * max(abs(whole).max() ** power, 1))


@pytest.mark.parametrize("mechanism", [one for one in MECHANISMS if one.domain.clear_count == 0], ids=repr)
def test_intervals_of_sums_are_skewed(mechanism: BlockMechanism) -> None:
    tally = mechanism.tally(mechanism.obfuscate([0] * 100 + [1] * 8 + [4] * 40, random=SeededRandom(1)))
    found = estimate(mechanism, tally).total([0, 1])
    low, high = found.interval()
    assert high - low <= 2 * 1.97 * found.standard_error
    assert abs(low + high - 2 * found.estimate) > 1e-4
