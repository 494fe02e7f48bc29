"""The papers' closed forms, written out here from their equations."""

from collections.abc import Callable
from math import exp, expm1, log, tanh
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
@each("theta", [0.01, 0.3, 0.5, 0.9, 0.999])
def test_theta_is_the_probability_of_the_own_bit(theta: float, epsilon: float) -> None:
    mechanism = UnaryEncoding(domain_of(9, 4), epsilon, theta=theta)
    s, d1 = mechanism.coefficients.truth, float(mechanism.law.inclusion)
    d2 = 1 - theta + theta * exp(-epsilon)
    assert s + (1 - s) * d1 == pytest.approx(theta, rel=2**-11)
    assert d1 == pytest.approx(theta * exp(-epsilon) / d2, rel=2**-12)
    assert 1 - s == pytest.approx(d2, rel=2**-11)


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


@epsilons
@each("size", [2, 3, 4])
@each("theta", [None, 0.5])
def test_all_sensitive_is_rappor(size: int, epsilon: float, theta: float | None) -> None:
    """Every bit on its own: theta for one's own, psi for the others; outputs counted in binary, value 0 first."""
    mechanism = UnaryEncoding(Domain(range(size)), epsilon, theta=theta)
    matrix = mechanism.channel().matrix
    psi = float(mechanism.law.inclusion)
    own = exp(epsilon) * psi / (1 - psi + exp(epsilon) * psi)
    assert own == pytest.approx(theta or exp(epsilon / 2) / (exp(epsilon / 2) + 1), rel=2**-12)
    assert matrix.shape == (size, 2**size)
    for x in range(size):
        for y in range(2**size):
            wanted = 1.0
            for bit in range(size):
                chance = own if bit == x else psi
                wanted *= chance if y >> bit & 1 else 1 - chance
            assert matrix[x, y] == pytest.approx(wanted, rel=1e-10)


@epsilons
def test_one_of_two_is_mangat(epsilon: float) -> None:
    """The sensitive value always says so; the other one does with q = e^-eps."""
    q = exp(-epsilon)
    mechanism = RandomizedResponse(Domain(["no", "yes"], sensitive=["yes"]), epsilon)
    np.testing.assert_allclose(mechanism.channel().matrix, [[q, 1 - q], [1, 0]], rtol=1e-12, atol=0)
    assert mechanism.guarantee.realised == pytest.approx(log(1 / q), rel=1e-12)


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


@epsilons
@sizes
@each("count", [1, 2, 4, 30])
def test_loss_of_block_designs(size: int, k: int, epsilon: float, count: int) -> None:
    """uBD(count): g_S and g_N, and what a report is worth."""
    if count >= k:
        return
    mechanism = SubsetSelection(domain_of(size, k), epsilon, k=count)
    tau = 1 / expm1(epsilon)
    q = count / (count + k * tau)
    g_s = (count + (k - 1) * tau) ** 2 / count + (count - 1 + (k - 1) * tau) ** 2 / (k - count)
    g_n = (1 - q) * g_s + 1 / q + q * k * tau**2 / count**2
    agrees(mechanism, lambda a, squares: g_s * a + g_n * (1 - a) - squares)
    assert mechanism.coefficients.worth == pytest.approx(
        (1 + (k - 1) * tau / count, -((count - 1) + (k - 1) * tau) / (k - count), -tau / count), rel=1e-10
    )


@epsilons
@sizes
def test_loss_of_hadamard_response(size: int, k: int, epsilon: float) -> None:
    c = 1 / tanh(epsilon / 2)
    mechanism = HadamardResponse(domain_of(size, k), epsilon)
    agrees(mechanism, lambda a, squares: k * c**2 * a + (k * c * (c - 1) + c) * (1 - a) - squares)
    assert mechanism.coefficients.worth == pytest.approx((c, -c, 0), rel=1e-12)


@epsilons
def test_loss_of_local_hashing_when_the_prime_is_the_number_of_buckets(epsilon: float) -> None:
    """g = P: no two values collide, so a bucket is a symbol; with v = P this is randomized response itself."""
    for size, k in ((7, 7), (12, 7)):
        hashing = LocalHashing(domain_of(size, k), epsilon, g=7)
        assert hashing.law.conditional_inclusion == 0
        p = skewed(size)
        assert hashing.decoder.mse(N, p) == pytest.approx(
            RandomizedResponse(domain_of(size, k), epsilon).decoder.mse(N, p), rel=1e-12
        )


@pytest.mark.parametrize(("size", "k"), [(400, 76), (625, 15), (9, 4), (60, 60)])
@pytest.mark.parametrize("epsilon", [0.1, 0.5])
def test_default_subsets_reach_the_optimum_in_the_high_privacy_regime(size: int, k: int, epsilon: float) -> None:
    """M* = (v-1)^2 (kE+v-k)^2 / (v k (v-k) (E-1)^2) for the best k, where E^2 <= (v-1)(v-2)/2."""
    e = exp(epsilon)
    assert e**2 <= (k - 1) * (k - 2) / 2
    best = min((k - 1) ** 2 * (c * e + k - c) ** 2 / (k * c * (k - c) * (e - 1) ** 2) for c in range(1, k))
    assert SubsetSelection(domain_of(size, k), epsilon).decoder.worst_case_mse(1) == pytest.approx(best, rel=1e-9)


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
