"""The comparison says what the mechanisms say, and recommends the least error."""

from typing import Any

import numpy as np
import pytest

from discreet.core.domain import Domain
from discreet.errors import ParameterError
from discreet.mechanisms import BLOCK_MECHANISMS, UnaryEncoding
from discreet.planning.compare import compare
from refusals import refused

DOMAINS = {
    "some": Domain(range(30), sensitive=[1, 2, 3, 5, 8, 13, 21]),
    "one": Domain(range(30), sensitive=[4]),
    "all": Domain(range(30)),
    "most": Domain(range(30), sensitive=range(1, 30)),
}
every = pytest.mark.parametrize("domain", DOMAINS.values(), ids=DOMAINS)


def masses(domain: Domain) -> list[float]:
    return [0.0, 0.05, 0.6, 1.0] if domain.clear_count else [1.0]


@every
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_numbers_are_those_of_the_mechanisms(domain: Domain, epsilon: float) -> None:
    n = 12_345
    for mass in masses(domain):
        found = compare(domain, epsilon, n, sensitive_mass=mass)
        even = np.where(domain.sensitive, mass / domain.sensitive_count, (1 - mass) / max(domain.clear_count, 1))
        rare = even.copy()
        lost, *others = domain.sensitive_codes
        rare[others] += rare[lost] / max(len(others), 1)
        rare[lost] = 0
        for one in found.prospects:
            mechanism = one.mechanism
            assert mechanism.domain == domain
            assert mechanism.epsilon == epsilon
            assert one.worst_mse == mechanism.worst_case_mse(n)
            assert one.assumed_mse == pytest.approx(mechanism.expected_mse(n, even), rel=1e-12)
            assert one.bytes == mechanism.bytes_per_report(mass)
            if others:
                errors = mechanism.expected_standard_errors(n, rare)
                assert one.sensitive_error == pytest.approx(errors[lost], rel=1e-12)
            if domain.clear_count:
                errors = mechanism.expected_standard_errors(n, even)
                assert one.clear_error == pytest.approx(errors[domain.clear_codes[0]], rel=1e-12, abs=1e-12)
            else:
                assert one.clear_error is None


@every
def test_every_mechanism_is_there_once(domain: Domain) -> None:
    found = compare(domain, 1.0, 1000)
    assert [one.name for one in found.prospects] == [*BLOCK_MECHANISMS, "unary, theta=1/2"]
    for one in found.prospects[:-1]:
        wanted = BLOCK_MECHANISMS[one.name](domain, 1.0)  # type: ignore[call-arg]
        assert one.mechanism.fingerprint == wanted.fingerprint
    assert found.prospects[-1].mechanism.fingerprint == UnaryEncoding(domain, 1.0, theta=0.5).fingerprint


@every
@pytest.mark.parametrize("epsilon", [0.05, 0.5, 2.0, 6.0])
def test_recommendations_have_the_least_error(domain: Domain, epsilon: float) -> None:
    for mass in masses(domain):
        found = compare(domain, epsilon, 1000, sensitive_mass=mass)
        assert found.best_worst in found.prospects
        assert found.best_assumed in found.prospects
        assert found.best_worst.worst_mse == min(one.worst_mse for one in found.prospects)
        assert found.best_assumed.assumed_mse == min(one.assumed_mse for one in found.prospects)


def test_recommendations_differ_where_they_should() -> None:
    """As the theory has it: subsets in the worst case at small epsilon, singletons at large."""
    domain = DOMAINS["all"]
    assert compare(domain, 0.1, 1000).best_worst.name in ("subset", "hadamard")
    assert compare(domain, 8.0, 1000).best_worst.name in ("rr", "subset")
    assert compare(domain, 0.1, 1000).best_worst is not compare(domain, 8.0, 1000).best_worst


@every
def test_errors_fall_with_the_number_of_people(domain: Domain) -> None:
    few, many = compare(domain, 1.0, 100), compare(domain, 1.0, 10_000)
    for one, other in zip(few.prospects, many.prospects, strict=True):
        assert one.worst_mse == pytest.approx(100 * other.worst_mse)
        assert one.sensitive_error == pytest.approx(10 * other.sensitive_error)
        assert one.bytes == other.bytes


def test_the_mass_that_nobody_gave() -> None:
    found = compare(DOMAINS["some"], 1.0, 1000)
    assert (found.sensitive_mass, found.assumed) == (0.05, True)
    given = compare(DOMAINS["some"], 1.0, 1000, sensitive_mass=0.05)
    assert not given.assumed
    assert [one.assumed_mse for one in given.prospects] == [one.assumed_mse for one in found.prospects]
    plain = compare(DOMAINS["all"], 1.0, 1000)
    assert (plain.sensitive_mass, plain.assumed) == (1.0, True)


@pytest.mark.parametrize("mass", [-0.01, 1.01, float("nan"), float("inf")])
def test_masses(mass: float) -> None:
    assert "sensitive_mass" in refused(ParameterError, lambda: compare(DOMAINS["some"], 1.0, 100, sensitive_mass=mass))


@pytest.mark.parametrize("mass", [0.0, 0.5])
def test_masses_where_every_value_is_sensitive(mass: float) -> None:
    refused(ParameterError, lambda: compare(DOMAINS["all"], 1.0, 100, sensitive_mass=mass))


@pytest.mark.parametrize("users", [0, -5, 1.5, "100", None, True, float("nan")])
def test_users(users: Any) -> None:
    refused(ParameterError, lambda: compare(DOMAINS["some"], 1.0, users))


@pytest.mark.parametrize("epsilon", [0, -1.0, float("nan"), float("inf"), "1", None, 1e-25, 1000])
def test_epsilon(epsilon: Any) -> None:
    assert "epsilon" in refused(ParameterError, lambda: compare(DOMAINS["some"], epsilon, 100))


def test_nothing_to_protect() -> None:
    domain = Domain(range(3), sensitive=[], allow_unprotected=True)
    assert "nothing to compare" in refused(ParameterError, lambda: compare(domain, 1.0, 100))
    refused(ParameterError, lambda: compare(domain, 1.0, 100, sensitive_mass=0.0))


def test_a_single_value() -> None:
    found = compare(Domain(["only"]), 1.0, 10)
    assert all(np.isfinite(one.worst_mse) for one in found.prospects)
