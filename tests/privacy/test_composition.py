"""Composition: the product spelled out must keep the sum of the epsilons, and types must be as Prop. 1 says."""

from fractions import Fraction
from math import exp, sqrt

import numpy as np
import pytest
from matrices import first_are_sensitive, rr, urr, urr_matrix

from discreet import Channel, Domain, HadamardResponse, RandomizedResponse
from discreet.errors import MismatchError, ParameterError
from discreet.privacy.composition import Derived, integrated, l1_rate, sequential, split_epsilon, squared_l2_rate
from discreet.privacy.notions import smallest_epsilon
from packing import each
from refusals import refused


def recomputed(found: Derived) -> Fraction:
    """The promise, from the product alone; the types are checked on the way."""
    sensitive = found.channel.domain.sensitive
    exact = smallest_epsilon(found.weights, found.notion, sensitive=sensitive)
    assert exact.ratio is not None
    assert exact.ratio <= found.ratio
    occurs = (found.weights > 0).any(axis=0)
    assert exact.protected.tolist() == (found.protected & occurs).tolist()
    spelled = smallest_epsilon(found.channel, found.notion)
    assert spelled.epsilon == pytest.approx(exact.epsilon, abs=1e-9)
    assert found.epsilon == pytest.approx(float(np.log(float(found.ratio))), rel=1e-12)
    return exact.ratio


@pytest.mark.parametrize(("size", "k"), [(2, 1), (5, 2), (4, 4), (3, 0)])
def test_two_reports(size: int, k: int) -> None:
    domain = Domain(range(size), sensitive=range(k), allow_unprotected=True)
    first = Channel(urr_matrix(size, k, 0.4) if k else np.eye(size), domain)
    second = Channel(urr_matrix(size, k, 1.1) if k else np.eye(size), domain)
    found = sequential(first, second)
    ratio = recomputed(found)
    assert found.epsilon == pytest.approx(1.5 if k else 0.0)
    # The sum is attained: the same pair of values is the worst for both.
    assert float(ratio) == pytest.approx(exp(1.5) if k > 1 else exp(1.5 * k), rel=1e-9)
    pairs = found.protected.reshape(size, size)
    assert pairs.tolist() == [[y < k and z < k for z in range(size)] for y in range(size)]
    expected = np.einsum("xy,xz->xyz", first.matrix, second.matrix).reshape(size, -1)
    assert found.channel.matrix == pytest.approx(expected, abs=1e-15)


def test_the_second_report_may_depend_on_the_first() -> None:
    first = urr(4, 2, 0.5)
    seconds = [urr(4, 2, epsilon) for epsilon in (0.1, 1.3, 0.2, 0.7)]
    found = sequential(first, seconds)
    assert float(recomputed(found)) == pytest.approx(exp(1.8), rel=1e-9)
    assert found.epsilon == pytest.approx(1.8)
    joint = found.channel.matrix.reshape(4, 4, 4)
    for y, second in enumerate(seconds):
        assert joint[:, y] == pytest.approx(first.matrix[:, [y]] * second.matrix, abs=1e-15)


def test_types_may_differ_between_the_second_channels() -> None:
    """A pair is protected if both parts are, whichever output of the second is which."""
    flipped = Channel(urr_matrix(3, 1, 1.0)[:, ::-1], first_are_sensitive(3, 1))
    found = sequential(urr(3, 1, 1.0), [flipped, urr(3, 1, 1.0), urr(3, 1, 1.0)])
    recomputed(found)
    assert np.flatnonzero(found.protected).tolist() == [2]


@each("reports", [1, 2, 3, 7, 10, 49, 1000])
@each("epsilon", [0.1, 0.3, 1.0, 2.7])
def test_shares_never_add_up_to_more(epsilon: float, reports: int) -> None:
    each = split_epsilon(epsilon, reports)
    assert Fraction(each) * reports <= Fraction(epsilon)
    assert each == pytest.approx(epsilon / reports, rel=1e-15)


def test_an_ldp_collector_beside_a_uldp_collector() -> None:
    found = integrated(urr(5, 2, 0.6), rr(5, 2, 0.9))
    assert float(recomputed(found)) == pytest.approx(exp(1.5), rel=1e-9)
    assert found.epsilon == pytest.approx(1.5)
    assert found.protected.reshape(5, 5).tolist() == [[y < 2] * 5 for y in range(5)]


def test_what_does_not_compose_is_refused() -> None:
    good = urr(4, 2, 1.0)
    tells = Channel(urr_matrix(4, 2, 1.0), first_are_sensitive(4, 3))
    assert "first" in refused(ParameterError, lambda: sequential(tells, tells))
    honest = Channel(np.eye(4), first_are_sensitive(4, 2))
    assert "after output 2" in refused(ParameterError, lambda: sequential(good, [good, good, honest, good]))
    refused(ParameterError, lambda: sequential(good, [good, good, good]))
    refused(ParameterError, lambda: sequential(good, []))
    wide = Channel(np.hstack([good.matrix, np.zeros((4, 1))]), good.domain)
    refused(ParameterError, lambda: sequential(good, [good, good, good, wide]))
    refused(MismatchError, lambda: sequential(good, urr(4, 1, 1.0)))
    # Both are ULDP, but what the second collector gets is not LDP.
    assert "LDP" in refused(ParameterError, lambda: integrated(good, good))
    large = Channel(np.full((2, 1100), 1 / 1100))
    refused(ParameterError, lambda: sequential(large, large))


# Rates of errors that follow from the sum


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
