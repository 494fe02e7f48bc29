"""The spelled-out channel: rows, invertible outputs, and epsilon recomputed by a stranger."""

from decimal import Decimal, localcontext
from fractions import Fraction
from math import exp, nextafter

import numpy as np
import pytest

from discreet import Domain, HadamardResponse, LocalHashing, RandomizedResponse, SubsetSelection, UnaryEncoding
from discreet.errors import ParameterError
from discreet.mechanisms import BLOCK_MECHANISMS
from laws import BUILDERS, Case, every, small

RANGE = 1 << 64


def test_every_registered_mechanism_is_on_the_list() -> None:
    domain = Domain(range(7), sensitive=[0, 4, 6])
    assert {type(build(domain, 1.0)) for build in BUILDERS.values()} == set(BLOCK_MECHANISMS.values())


@small
def test_a_mechanism_of_two_parts_does_not_spell_itself_out(case: Case) -> None:
    if case.mechanism.clear_blocks:
        with pytest.raises(ParameterError, match="clear_bits"):
            case.mechanism.channel()


@every
def test_epsilon_of_the_integers_never_exceeds_the_promise(case: Case) -> None:
    """From the threshold and pi alone, in high precision; one step more of truth would break the promise."""
    threshold, inclusion = case.mechanism.threshold, case.mechanism.law.inclusion
    assert (type(threshold), type(inclusion)) == (int, Fraction)
    with localcontext() as context:
        context.prec = 60
        promised, realised = Decimal(case.epsilon), _ratio(threshold, inclusion)
        assert realised <= promised.exp() < _ratio(threshold + 1, inclusion)
        assert realised.ln() >= promised * (1 - Decimal("1e-12"))


def _ratio(threshold: int, inclusion: Fraction) -> Decimal:
    ratio = 1 + Fraction(threshold, RANGE - threshold) / inclusion
    return Decimal(ratio.numerator) / Decimal(ratio.denominator)


@every
def test_guarantee_states_what_is_realised(case: Case) -> None:
    guarantee = case.mechanism.guarantee
    with localcontext() as context:
        context.prec = 60
        exact = _ratio(case.mechanism.threshold, case.mechanism.law.inclusion).ln()
        realised = guarantee.realised
        assert Decimal(nextafter(realised, 0)) < exact <= Decimal(realised)
    assert guarantee.realised <= guarantee.promised == case.epsilon
    assert guarantee.notion == ("ULDP" if case.domain.clear_count else "LDP")
    assert (guarantee.sensitive_count, guarantee.size) == (case.domain.sensitive_count, case.domain.size)
    assert case.mechanism.contrast == pytest.approx(exp(realised) - 1, rel=1e-12)
    assert realised == pytest.approx(case.epsilon, rel=1e-12)


@pytest.mark.parametrize("build", [RandomizedResponse, UnaryEncoding, SubsetSelection, LocalHashing, HadamardResponse])
def test_without_sensitive_values_everything_goes_in_clear(build: type) -> None:
    mechanism = build(Domain(range(4), sensitive=[], allow_unprotected=True), 1.0)
    codes = np.array([3, 0, 3, 1])
    tally = mechanism.tally(mechanism.obfuscate_codes(codes))
    assert tally.clear.tolist() == [1, 1, 0, 2]
    assert tally.support.tolist() == []
    assert mechanism.decoder.estimate(tally).tolist() == [0.25, 0.25, 0, 0.5]
    assert mechanism.guarantee.notion == "none"
    assert mechanism.guarantee.realised == float("inf")
    assert mechanism.guarantee.promised is None
    p = np.array([0.1, 0.2, 0.3, 0.4])
    assert mechanism.decoder.mse(10, p) == pytest.approx((1 - p @ p) / 10, rel=1e-12)
    assert mechanism.decoder.worst_case_mse(10) == pytest.approx(0.75 / 10, rel=1e-12)
    assert (mechanism.channel().matrix[:, -4:] == np.eye(4)).all()
