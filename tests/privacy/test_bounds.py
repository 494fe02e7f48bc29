"""Lower bounds: how they grow, against what mechanisms achieve, and where the theorem is silent."""

from math import sqrt

import pytest

from discreet import Domain, HadamardResponse, RandomizedResponse
from discreet.errors import ParameterError
from discreet.privacy.composition import l1_rate, squared_l2_rate
from refusals import refused


def test_rates() -> None:
    n, epsilon, size = 10**8, 0.5, 40
    assert l1_rate(n, epsilon, size).rate == pytest.approx(size / sqrt(n * epsilon**2))
    assert squared_l2_rate(n, epsilon, size).rate == pytest.approx(size / (n * epsilon**2))


def test_several_reports_make_them_larger() -> None:
    one, four = l1_rate(10**8, 0.5, 40), l1_rate(10**8, 0.5, 40, reports=4)
    assert four.rate == pytest.approx(2 * one.rate)
    assert squared_l2_rate(10**8, 0.5, 40, reports=4).rate == pytest.approx(4 * squared_l2_rate(10**8, 0.5, 40).rate)


def test_few_users_learn_nothing() -> None:
    assert l1_rate(100, 0.1, 40).rate == 1
    assert l1_rate(10**9, 0.0, 40).rate == squared_l2_rate(10**9, 0.0, 40).rate == 1
    # Between: 1/sqrt(n eps^2) is below d/(n eps^2) while n eps^2 < d^2.
    assert squared_l2_rate(1000, 0.5, 40).rate == pytest.approx(1 / sqrt(250))


@pytest.mark.parametrize("size", [4, 64, 1024])
@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_hadamard_response_is_of_the_order_of_the_bound_and_rr_is_not(size: int, epsilon: float) -> None:
    n = 10**12
    domain = Domain(range(2 * size), sensitive=range(size))
    rate = squared_l2_rate(n, epsilon, size).rate
    assert rate <= HadamardResponse(domain, epsilon).decoder.worst_case_mse(n) <= 10 * rate
    if size == 1024:
        assert RandomizedResponse(domain, epsilon).decoder.worst_case_mse(n) > 100 * rate


def test_a_single_sensitive_value_is_beyond_the_theorem() -> None:
    """Its error is of the order of 1/(n eps), below the rate with |X_S| = 1; so that is refused."""
    epsilon, n = 1e-3, 10**12
    achieved = RandomizedResponse(Domain(range(2), sensitive=[0]), epsilon).decoder.worst_case_mse(n)
    assert achieved < 0.01 / (n * epsilon**2)
    refused(ParameterError, lambda: squared_l2_rate(n, epsilon, 1))
