"""The papers' closed forms, written out here from their equations."""

from collections.abc import Callable
from math import exp, expm1, tanh
from typing import Any

import numpy as np
import pytest

from discreet import Domain, HadamardResponse, LocalHashing, RandomizedResponse, SubsetSelection, UnaryEncoding
from discreet.mechanisms import BlockMechanism
from packing import each

N = 1000
epsilons = each("epsilon", [0.1, 1.0, 3.0, 8.0])
sizes = each("size, k", [(2, 1), (9, 1), (9, 4), (9, 9), (400, 76)])


def domain_of(size: int, k: int) -> Domain:
    """The last k of ``size`` values are sensitive."""
    return Domain(range(size), sensitive=list(range(size - k, size)))


def skewed(size: int) -> Any:
    p = np.random.default_rng(size).dirichlet(np.ones(size))
    return p / p.sum()


def agrees(mechanism: BlockMechanism, loss: Callable[[float, float], float], rel: float = 1e-10) -> None:
    """Compare expected_mse with n E |p_hat - p|^2 = loss(p(X_S), |p|^2) at several p."""
    domain = mechanism.domain
    for p in (skewed(domain.size), np.full(domain.size, 1 / domain.size), np.eye(domain.size)[0]):
        a = p[domain.sensitive].sum()
        assert mechanism.decoder.mse(N, p) == pytest.approx(loss(a, p @ p) / N, rel=rel)


# Probabilities


@epsilons
@sizes
def test_urr_tells_the_truth_as_printed(size: int, k: int, epsilon: float) -> None:
    """[ULDP, Def. 3]: c1, c2, c3."""
    e = exp(epsilon)
    c1, c2, c3 = e / (k + e - 1), 1 / (k + e - 1), (e - 1) / (k + e - 1)
    matrix = RandomizedResponse(domain_of(size, k), epsilon).channel().matrix
    clear = size - k
    expected = np.zeros((size, size))
    expected[:, :k] = c2
    expected[clear:, :k] += (c1 - c2) * np.eye(k)
    expected[:clear, k:] = c3 * np.eye(clear)
    np.testing.assert_allclose(matrix, expected, rtol=1e-12, atol=0)
    assert abs(1 - k * c2 - c3) < 1e-15


@epsilons
@pytest.mark.parametrize(("size", "k"), [(1, 1), (3, 3), (9, 2), (400, 76)])
def test_urap_probabilities_as_printed(size: int, k: int, epsilon: float) -> None:
    """[ULDP, Def. 4]: d1 and d2 from theta, with theta = e^(eps/2)/(e^(eps/2)+1) within the sampler's 12 digits."""
    mechanism = UnaryEncoding(domain_of(size, k), epsilon)
    s, d1 = mechanism.coefficients.truth, float(mechanism.law.inclusion)
    theta = s + (1 - s) * d1
    e = exp(epsilon)
    assert theta == pytest.approx(exp(epsilon / 2) / (exp(epsilon / 2) + 1), rel=2**-12)
    assert d1 == pytest.approx(1 / (exp(epsilon / 2) + 1), rel=2**-12)
    assert d1 == pytest.approx(theta / ((1 - theta) * e + theta), rel=1e-12)
    assert 1 - s == pytest.approx(((1 - theta) * e + theta) / e, rel=1e-12)


@epsilons
@sizes
def test_truth_of_subsets_and_hadamard_as_printed(size: int, k: int, epsilon: float) -> None:
    domain, tau = domain_of(size, k), 1 / expm1(epsilon)
    for count in {1, 2, k // 2} & set(range(1, k)):
        s = SubsetSelection(domain, epsilon, k=count).coefficients.truth
        assert s == pytest.approx(count / (count + k * tau), rel=1e-12)
    assert HadamardResponse(domain, epsilon).coefficients.truth == pytest.approx(tanh(epsilon / 2), rel=1e-12)
    assert RandomizedResponse(domain, epsilon).coefficients.truth == pytest.approx(1 / (1 + k * tau), rel=1e-12)
    for g in (2, 5, 17):
        keep = exp(epsilon) / (exp(epsilon) + g - 1)  # [Wang 2017]: the reported bucket is the value's own
        s = LocalHashing(domain, epsilon, g=g).coefficients.truth
        assert s + (1 - s) / g == pytest.approx(keep, rel=1e-12)


# Errors


@epsilons
@sizes
def test_loss_of_urr(size: int, k: int, epsilon: float) -> None:
    """[ULDP, arXiv (46)]."""
    u = expm1(epsilon)
    agrees(
        RandomizedResponse(domain_of(size, k), epsilon),
        lambda a, squares: (2 * u * (k - a) + k * (k - 1)) / u**2 + 1 - squares,
    )


@epsilons
@sizes
@each("clear_bits", [True, False])
@each("theta", [None, 0.5, 0.2])
def test_loss_of_urap_for_every_theta_and_decoder(
    size: int, k: int, epsilon: float, theta: float | None, clear_bits: bool
) -> None:
    """(c0/theta + B/(1 - theta))/(E - 1)^2, at the theta that the sampler realises."""
    mechanism = UnaryEncoding(domain_of(size, k), epsilon, theta=theta, clear_bits=clear_bits and k < size)
    e, d1 = exp(epsilon), float(mechanism.law.inclusion)
    own = e * d1 / (1 - d1 + e * d1)

    def loss(a: float, squares: float) -> float:
        b = e * (k - a) + a if clear_bits else k + a * (e - 1) * (k - 1)
        return (e * (k + e - 1) / own + b / (1 - own)) / (e - 1) ** 2 - squares

    agrees(mechanism, loss, rel=1e-9)


@pytest.mark.parametrize("k", [3, 20, 76])
@epsilons
def test_default_choices_beat_every_other_choice(k: int, epsilon: float) -> None:
    domain = domain_of(k + 30, k)
    chosen = SubsetSelection(domain, epsilon).decoder.worst_case_mse(1)
    assert chosen <= min(SubsetSelection(domain, epsilon, k=c).decoder.worst_case_mse(1) for c in range(1, k)) * (
        1 + 1e-12
    )
    hashing = LocalHashing(domain, epsilon).decoder.worst_case_mse(1)
    assert hashing <= 1.02 * min(
        LocalHashing(domain, epsilon, g=g).decoder.worst_case_mse(1) for g in range(2, 4 * k + 16)
    )
