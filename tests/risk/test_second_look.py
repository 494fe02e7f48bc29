"""What a second look found: each of these was wrong once."""

from dataclasses import replace
from math import log2

import numpy as np
import pytest

from discreet.core.domain import Domain
from discreet.core.random import SeededRandom
from discreet.mechanisms import Channel, RandomizedResponse, UnaryEncoding
from discreet.risk.bounds import conditions, identification_bounds
from discreet.risk.bounds.calibration import Wanted, largest_epsilon
from discreet.risk.bounds.capacity import ANY_DATA, DATA_DO_NOT_REACT, NOT_ADAPTIVE
from discreet.risk.scores import Scores
from discreet.risk.scores.pse import pse_of_scores


@pytest.mark.parametrize("users", [2, 50])
def test_a_matrix_that_tells_nothing_tells_nothing(users: int) -> None:
    bounds = identification_bounds(Channel(np.full((2, 2), 0.5), Domain(range(2))), users, reports=3)
    assert bounds.pie.value == 0
    assert bounds.identification.value == pytest.approx(1 / users)


def test_the_exact_pie_says_for_which_prior() -> None:
    """Five equally likely users of four values cannot attain what four can."""
    bounds = identification_bounds(RandomizedResponse(Domain(range(4)), 2.0), 5)
    assert bounds.pie.exact
    assert "worst prior" in bounds.pie.condition


def test_the_figures_of_one_report_need_no_condition() -> None:
    """The prior that attains them is none, and the plural was wrong."""
    once, thrice = (identification_bounds(RandomizedResponse(Domain(range(4)), 2.0), 5, reports=t) for t in (1, 3))
    assert once.pie.condition
    assert once.condition_sentence == ""
    assert f"for 3 reports of a user holds if {ANY_DATA}." in thrice.condition_sentence
    assert conditions([once, thrice]) == thrice.condition_sentence


def test_conditions_say_which_figure_needs_which() -> None:
    """The strongest of several mechanisms suffices for all; log n bits for many reports need none."""
    domain = Domain(range(1000))
    few, more, many = (
        identification_bounds(RandomizedResponse(domain, epsilon), users, reports=reports)
        for epsilon, users, reports in ((6.0, 100, 2), (4.0, 5000, 2), (20.0, 100, 50))
    )
    identification = f"The bound on identification for 2 reports of a user holds if {ANY_DATA}."
    assert few.condition_sentence == (
        f"{identification} The bound on PIE for 2 reports of a user holds if {DATA_DO_NOT_REACT}."
    )
    assert conditions([few, more]) == (
        f"{identification} The bound on PIE for 2 reports of a user holds if {NOT_ADAPTIVE}."
    )
    assert many.pie.condition == ""
    assert many.condition_sentence == f"The bound on identification for 50 reports of a user holds if {ANY_DATA}."
    assert conditions([few, many]).startswith("The bound on identification for several reports of a user")
    pair = identification_bounds(RandomizedResponse(Domain(range(2)), 1.0), 2, reports=2)
    assert pair.condition_sentence == (
        f"The bounds on identification and PIE for 2 reports of a user hold if {NOT_ADAPTIVE}."
    )


def test_what_cannot_be_built_is_not_what_identification_limits() -> None:
    def build(epsilon: float) -> UnaryEncoding:
        return UnaryEncoding(Domain(range(10)), epsilon, theta=0.5)

    allowed = largest_epsilon(build, Wanted(20, error=0.31))
    assert allowed is not None
    assert allowed.bounds.error > 0.5
    assert not allowed.limited
    strict = largest_epsilon(build, Wanted(20, error=0.9))
    assert strict is not None
    assert strict.limited


@pytest.mark.parametrize(("users", "theta", "probes"), [(20, 0.5, 60), (30, 0.5, 100)])
def test_limits_from_the_counts_of_a_matrix_cover(users: int, theta: float, probes: int) -> None:
    """Scores say whether a report is a user's value; a probe that misses its own user hits somebody else."""
    generator, own = np.random.default_rng(11), theta + (1 - theta) / users
    other = (1 - theta) / users
    truth = own * log2(own * users) + (users - 1) * other * log2(other * users)
    missed, estimates, errors, repetitions = 0, [], [], 300
    for seed in range(repetitions):
        who = np.arange(probes) % users
        said = np.where(generator.random(probes) < theta, who, generator.integers(0, users, probes))
        hits = said[:, None] == np.arange(users)
        mine = hits[np.arange(probes), who]
        others = hits.sum() - mine.sum()
        impostors = np.r_[np.ones(others), np.zeros(probes * (users - 1) - others)]
        scores = replace(Scores.of_pairs(mine.astype(float), impostors), impostors=None)
        found = pse_of_scores(scores, users=users, random=SeededRandom(seed)).certified
        missed += (found.certified or 0) > truth
        assert found.interval is not None
        estimates.append(found.bits)
        errors.append((found.interval[1] - found.bits) / 1.96)
    # The stated error was 0.85 of the true one.
    assert np.mean(errors) > 0.93 * np.std(estimates)
    assert missed <= 0.025 * repetitions + 3 * (0.025 * 0.975 * repetitions) ** 0.5
