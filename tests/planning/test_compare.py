"""The comparison says what the mechanisms say, and recommends the least error."""

from fractions import Fraction
from functools import cache
from itertools import product
from math import sqrt
from typing import Any

import numpy as np
import pytest

from discreet import Domain, SeededRandom, UnaryEncoding, best
from discreet.errors import DataError, ParameterError
from discreet.mechanisms import BLOCK_MECHANISMS
from discreet.planning.compare import MechanismComparison, compare_mechanisms, recommended
from discreet.planning.losses import reports_for_standard_error, worst_variance
from discreet.theory.optimum import optimal_design, optimal_theta
from refusals import refused

DOMAINS = {
    "some": Domain(range(30), sensitive=[1, 2, 3, 5, 8, 13, 21]),
    "one": Domain(range(30), sensitive=[4]),
    "all": Domain(range(30)),
    "most": Domain(range(30), sensitive=range(1, 30)),
}
every = pytest.mark.parametrize("domain", DOMAINS.values(), ids=DOMAINS)
several_epsilons = pytest.mark.parametrize("epsilon", [0.05, 0.5, 2.0, 6.0])


@cache
def compared(domain: Domain, epsilon: float, mass: float) -> MechanismComparison:
    return compare_mechanisms(domain, epsilon, 1000, target="worst-case", sensitive_mass=mass, within=0)


def masses(domain: Domain) -> list[float]:
    return [0.0, 0.05, 0.6, 1.0] if domain.clear_count else [1.0]


@every
@several_epsilons
def test_numbers_are_those_of_the_mechanisms(domain: Domain, epsilon: float) -> None:
    n = 1000
    for mass in masses(domain):
        found = compared(domain, epsilon, mass)
        even = np.where(domain.sensitive, mass / domain.sensitive_count, (1 - mass) / max(domain.clear_count, 1))
        bound = optimal_design(domain.sensitive_count, domain.size, epsilon).value / n
        for one in found.candidates:
            mechanism, errors = one.mechanism, one.mechanism.decoder.standard_errors(n, even)
            assert mechanism.domain == domain
            assert mechanism.epsilon == epsilon
            assert one.worst_mse == mechanism.decoder.worst_case_mse(n)
            assert one.excess == pytest.approx(one.worst_mse / bound, rel=1e-12)
            assert one.standard_error == sqrt(worst_variance(mechanism) / n)
            assert one.assumed_mse == pytest.approx(mechanism.decoder.mse(n, even), rel=1e-12, abs=1e-18)
            assert one.bytes == mechanism.bytes_per_report(mass)
            assert one.sensitive_error == errors[domain.sensitive].max()
            assert one.clear_error == (errors[~domain.sensitive].max() if domain.clear_count else None)


@every
def test_every_mechanism_is_there_once(domain: Domain) -> None:
    found = compare_mechanisms(domain, 1.0, 1000)
    elsewhere = {"translates", "windows", "hadamard", "projective"}
    enough = [name for name in BLOCK_MECHANISMS if name not in elsewhere]
    short = ["subset, 4-byte"] if domain.sensitive_count > 16 else []
    names = [*enough, "unary, theta=1/2", "unary, best theta", *short, "projective"]
    assert [one.name for one in found.candidates] == names
    for one in found.candidates[: len(enough)]:
        cls = BLOCK_MECHANISMS[one.name]
        wanted = cls(domain, 1.0, **cls.proposed)  # type: ignore[call-arg]
        assert one.mechanism.fingerprint == wanted.fingerprint
    half, tuned = found.candidates[len(enough) :][:2]
    assert half.mechanism.fingerprint == UnaryEncoding(domain, 1.0, theta=0.5, digits="few").fingerprint
    theta = optimal_theta(domain.sensitive_count, domain.size, 1.0).theta
    assert tuned.mechanism.fingerprint == UnaryEncoding(domain, 1.0, theta=theta, digits="few").fingerprint


@every
@several_epsilons
def test_recommendations_are_the_smallest_reports_of_little_error(domain: Domain, epsilon: float) -> None:
    """What is near the least error is all that changes the choice: the candidates are the same, and made once."""
    for mass in masses(domain):
        found = compared(domain, epsilon, mass)
        assert recommended(found.candidates, 0, worst=True) is found.best
        for within, worst in product((0.0, 0.01, 0.05, 0.5), (True, False)):
            chosen = recommended(found.candidates, within, worst=worst)
            name = "worst_mse" if worst else "assumed_mse"
            least = min(getattr(one, name) for one in found.candidates)
            near = [one for one in found.candidates if getattr(one, name) <= least * (1 + within) * (1 + 1e-9)]
            assert chosen in near
            assert chosen.largest_bytes == min(one.largest_bytes for one in near)
            small = [one for one in near if one.largest_bytes == chosen.largest_bytes]
            assert getattr(chosen, name) <= min(getattr(one, name) for one in small) * (1 + 1e-9)


def test_a_single_value() -> None:
    found = compare_mechanisms(Domain(["only"]), 1.0, 10)
    assert all(np.isfinite(one.worst_mse) for one in found.candidates)
    assert all(one.excess is None for one in found.candidates)
    assert found.recommendation.startswith("Use rr. ")


# Losses


def given(domain: Domain) -> Any:
    return np.random.default_rng(2).dirichlet(np.full(domain.size, 0.5))


@every
def test_nothing_has_less_than_the_bound_at_its_mass(domain: Domain) -> None:
    for mass in masses(domain):
        found = compare_mechanisms(domain, 1.0, 50, target="sensitive-mass", sensitive_mass=mass)
        if found.least_possible:
            assert all(one.excess >= 1 - 1e-9 for one in found.candidates)  # type: ignore[operator]
            bound = optimal_design(domain.sensitive_count, domain.size, 1.0, sensitive_mass=mass).value / 50
            assert found.best.excess == pytest.approx(found.best.assumed_mse / bound, rel=1e-12)


# Targets


def test_parameters_are_tuned_for_the_mass() -> None:
    """Block sizes near v/(1 + sqrt(E)) if hardly anybody is sensitive, near v/(1 + E) in the worst case."""
    domain = Domain(range(400), sensitive=range(76))
    worst = compare_mechanisms(domain, 2.0, 100, within=0)
    tuned = compare_mechanisms(domain, 2.0, 100, target="sensitive-mass", sensitive_mass=0.0, within=0)
    sizes = [one.mechanism.law.describe()["count"] for one in tuned.candidates if one.mechanism.name == "design"]
    assert sizes[0] in (9, 10)
    assert sizes[1] in (20, 21)
    assert (tuned.best.name, tuned.best.options) == ("design, known mass", "sensitive_mass=0")
    assert tuned.best.excess == pytest.approx(1, rel=1e-6)
    assert tuned.best.assumed_mse < min(one.assumed_mse for one in worst.candidates)
    assert tuned.best.worst_mse > worst.best.worst_mse
    thetas = [one.options for found in (worst, tuned) for one in found.candidates if one.name == "unary, best theta"]
    assert thetas[0] != thetas[1]


def test_best_is_that_of_the_comparison() -> None:
    domain = Domain(range(400), sensitive=range(76))
    p = np.where(domain.sensitive, 0.05 / 76, 0.95 / 324)
    for known, target in (
        ({}, "worst-case"),
        ({"sensitive_mass": 0.05}, "sensitive-mass"),
        ({"p": p}, "distribution"),
        ({"largest_report": 4}, "worst-case"),
        ({"within": 0}, "worst-case"),
        ({"within": 1.0, "sensitive_mass": 0.05}, "sensitive-mass"),
    ):
        wanted = compare_mechanisms(domain, 2.0, 10**9, target=target, **known).best.mechanism  # type: ignore[arg-type]
        assert best(domain, 2.0, **known).fingerprint == wanted.fingerprint  # type: ignore[arg-type]
    assert best(domain, 2.0, p=p).fingerprint == best(domain, 2.0, sensitive_mass=0.05).fingerprint


@pytest.mark.parametrize(
    "options",
    [
        {"target": "distribution"},
        {"target": "sensitive-mass", "p": np.full(30, 1 / 30)},
        {"target": "best"},
        {"sensitive_mass": 0.1, "p": np.full(30, 1 / 30)},
        {"target": "distribution", "p": np.full(30, 1 / 29)},
        {"target": "distribution", "p": [1.0]},
        {"largest_report": 0},
        {"largest_report": float("nan")},
        {"largest_report": "4"},
        {"standard_error": -1.0},
        {"standard_error": float("inf")},
        {"standard_error": 1e-300},
        {"reports_per_user": 0},
        {"reports_per_user": 1.5},
        {"reports_per_user": True},
        {"reports_per_user": 1 << 62},
    ],
    ids=str,
)
def test_what_cannot_be_answered_is_refused(options: Any) -> None:
    refused(ParameterError, lambda: compare_mechanisms(DOMAINS["some"], 1.0, 100, **options))


# Size of a report


@every
def test_no_report_is_larger_than_the_largest(domain: Domain) -> None:
    for one in compare_mechanisms(domain, 1.0, 100).candidates:
        reports = one.mechanism.obfuscate(domain.sensitive_codes[[0] * 50], random=SeededRandom(1))
        assert sum(column.nbytes for column in reports.blocks.values()) / 50 <= one.largest_bytes
        assert one.bytes <= one.largest_bytes


# Several reports


@pytest.mark.parametrize("t", [2, 3, 7])
def test_several_reports_share_epsilon(t: int) -> None:
    domain, epsilon = DOMAINS["some"], 1.0
    found = compare_mechanisms(domain, epsilon, 100, reports_per_user=t, standard_error=0.01)
    each = found.candidates[0].mechanism.epsilon
    assert each == pytest.approx(epsilon / t)
    assert Fraction(each) * t <= Fraction(epsilon)
    alone = compare_mechanisms(domain, each, 100 * t, standard_error=0.01)
    for one, other in zip(found.candidates, alone.candidates, strict=True):
        assert (one.worst_mse, one.assumed_mse, one.bytes) == (other.worst_mse, other.assumed_mse, other.bytes)
        assert one.users_needed is not None
        assert other.users_needed is not None
        assert 0 <= one.users_needed * t - other.users_needed < t


# Users needed


@every
def test_users_needed(domain: Domain) -> None:
    assert all(one.users_needed is None for one in compare_mechanisms(domain, 1.0, 10).candidates)
    for one in compare_mechanisms(domain, 1.0, 10, standard_error=0.01).candidates:
        assert one.users_needed == reports_for_standard_error(one.mechanism, 0.01)
    p = given(domain)
    found = compare_mechanisms(domain, 1.0, 10, target="distribution", p=p, standard_error=0.01)
    for one in found.candidates:
        again = one.mechanism.decoder.standard_errors(one.users_needed, p).max()
        assert again <= 0.01 * (1 + 1e-9)
    assert (
        f"{found.best.users_needed:,} users give every value a standard error of at most 0.01." in found.recommendation
    )


# One question, asked in two ways, and what its answer costs the collector


def test_a_distribution_may_be_a_mapping() -> None:
    domain, p = Domain(["bus", "car", "walk"], sensitive=["car"]), {"walk": 0.7, "car": 0.3}
    listed = [0.0, 0.3, 0.7]
    assert domain.check_distribution(p).tolist() == listed
    assert best(domain, 1.0, p=p) == best(domain, 1.0, p=listed)
    decoder = best(domain, 1.0).decoder
    assert decoder.mse(100, p) == decoder.mse(100, listed)
    refused(DataError, lambda: domain.check_distribution({"tram": 1.0}))
    refused(ParameterError, lambda: domain.check_distribution({"bus": 0.5}))


def test_what_costs_the_collector_long_is_said_or_not_recommended() -> None:
    domain, users = Domain(range(400)), 50_000_000_000
    found = compare_mechanisms(domain, 4.0, users)
    assert (found.best.name, found.best.seconds > 300) == ("hashing", True)
    time = "Counting 50,000,000,000 reports and decoding their tally takes about 6 minutes of one core."
    assert time in found.recommendation
    with pytest.warns(UserWarning, match="about 6 minutes of one core"):
        assert best(domain, 4.0, users) == found.best.mechanism
    quick = compare_mechanisms(domain, 4.0, users, most_seconds=100)
    assert (quick.best.name, quick.best.seconds <= 100) == ("projective", True)
    assert best(domain, 4.0, users, most_seconds=100) == quick.best.mechanism
    assert compare_mechanisms(domain, 0.5).best.seconds == pytest.approx(
        compare_mechanisms(domain, 0.5, 100_000).best.seconds
    )
    assert "of one core" not in compare_mechanisms(domain, 0.5).recommendation
    message = refused(
        ParameterError, lambda: compare_mechanisms(domain, 4.0, users, largest_report=2, most_seconds=1e-6)
    )
    assert "reports of at most 2 bytes and at most 1e-06 s" in message
