"""Noise bits of few digits: the same promise, nearly the same error, and another plan."""

from typing import Any

import pytest

from discreet import Domain, UnaryEncoding
from discreet.mechanisms import LawMechanism
from discreet.privacy.verify import verify
from packing import each

TABLE = [
    (0.5, None, 4, -0.02),
    (2.0, None, 6, -0.8),
    (6.0, None, 6, -1.1),
    (0.5, 0.5, 3, 0.003),
    (6.0, 0.5, 14, -0.14),
]
"""Epsilon, theta, the digits, and the change of the worst-case error in percent, for 625 values, all sensitive."""


@pytest.mark.parametrize(("epsilon", "theta", "digits", "percent"), TABLE)
def test_digits_and_errors_are_those_of_the_specification(
    epsilon: float, theta: float | None, digits: int, percent: float
) -> None:
    usual, few = _both(Domain(range(625)), epsilon, theta=theta)
    assert few.law.depth == digits
    change = few.decoder.worst_case_mse(1) / usual.decoder.worst_case_mse(1) - 1
    assert 100 * change == pytest.approx(percent, abs=0.06)


@each("clear_bits", [False, True])
@each("theta", [None, 0.3, 0.5, "optimal"])
@each("epsilon", [0.01, 0.5, 1.0, 3.0, 8.0, 20.0, 40.0])
def test_no_promise_is_broken_and_little_changes(epsilon: float, theta: Any, *, clear_bits: bool) -> None:
    for domain in (Domain(range(40), sensitive=[17]), Domain(range(40), sensitive=range(11))):
        usual, few = _both(domain, epsilon, theta=theta, clear_bits=clear_bits)
        assert verify(few).holds
        assert few.guarantee.realised <= epsilon
        assert few.guarantee.realised == pytest.approx(usual.guarantee.realised, rel=1e-9)
        assert few.law.depth <= usual.law.depth
        wanted = float(usual.law.inclusion)
        assert abs(float(few.law.inclusion) - wanted) <= min(wanted, 1 - wanted) / 32 * 1.02
        assert few.decoder.worst_case_mse(1) <= usual.decoder.worst_case_mse(1) * (1 + 2**-10)


@pytest.mark.parametrize("theta", [None, 0.5, "optimal"])
def test_no_fewer_digits_would_do(theta: Any) -> None:
    """Every law of fewer digits is too far from d1, or has too large an error."""
    domain = Domain(range(40), sensitive=range(11))
    for epsilon in (0.5, 1.0, 2.0, 5.0):
        usual, few = _both(domain, epsilon, theta=theta)
        wanted, limit = float(usual.law.inclusion), usual.decoder.worst_case_mse(1) * (1 + 2**-10)
        for depth in range(1, few.law.depth):
            for threshold in range(1, 1 << depth, 2):
                near = abs(threshold / 2**depth - wanted) <= min(wanted, 1 - wanted) / 32 * 0.99
                assert not near or _error(usual, threshold, depth) > limit


def _both(domain: Domain, epsilon: float, **options: Any) -> tuple[UnaryEncoding, UnaryEncoding]:
    return UnaryEncoding(domain, epsilon, **options), UnaryEncoding(domain, epsilon, **options, digits="few")


def _error(like: UnaryEncoding, threshold: int, depth: int) -> float:
    law = type(like.law)(like.law.size, threshold, depth)
    return LawMechanism(like.domain, like.epsilon, law).decoder.worst_case_mse(1)
