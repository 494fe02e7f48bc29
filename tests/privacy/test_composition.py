"""Composition: the product spelled out must keep the sum of the epsilons, and types must be as Prop. 1 says."""

from fractions import Fraction
from math import exp

import numpy as np
import pytest
from matrices import first_are_sensitive, rr, urr, urr_matrix

from discreet import Channel, Domain, RandomizedResponse, UnaryEncoding
from discreet.errors import MismatchError, ParameterError
from discreet.privacy.composition import Derived, integrated, repeated_epsilon, sequential, split_epsilon
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


def test_the_largest_second_epsilon_counts_even_if_it_is_not_attained() -> None:
    found = sequential(urr(4, 2, 0.5), [urr(4, 2, epsilon) for epsilon in (0.1, 0.1, 0.1, 2.0)])
    assert found.epsilon == pytest.approx(2.5)
    assert float(recomputed(found)) == pytest.approx(exp(0.6), rel=1e-9)


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


def test_repeated_reports_of_any_mechanism() -> None:
    for mechanism in (UnaryEncoding(Domain(range(500)), 0.5), RandomizedResponse(Domain(range(9), sensitive=[4]), 0.5)):
        assert repeated_epsilon(mechanism, 4) == pytest.approx(2.0)


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
