"""The spelled-out channel: rows, invertible outputs, and epsilon recomputed by a stranger."""

from decimal import Decimal, localcontext
from fractions import Fraction
from math import exp, log, nextafter

import numpy as np
import pytest

from discreet.core.domain import Domain
from discreet.errors import ParameterError
from discreet.mechanisms import (
    BLOCK_MECHANISMS,
    HadamardResponse,
    LocalHashing,
    RandomizedResponse,
    SubsetSelection,
    UnaryEncoding,
)
from laws import BUILDERS, POOLS, Case, every, in_whole_numbers, of_each, rounding, small, spelled

RANGE = 1 << 64


def test_every_registered_mechanism_is_on_the_list() -> None:
    domain = Domain(range(7), sensitive=[0, 4, 6])
    assert {type(build(domain, 1.0)) for build in BUILDERS.values()} == set(BLOCK_MECHANISMS.values())


@small
def test_rows_sum_to_one_exactly(case: Case) -> None:
    channel = spelled(case)
    assert (channel.numerators.sum(axis=1) == channel.denominator).all()
    assert channel.numerators.min() >= 0


@small
def test_the_mechanism_spells_itself_out_alike(case: Case) -> None:
    if case.mechanism.clear_blocks:
        with pytest.raises(ParameterError, match="clear_bits"):
            case.mechanism.channel()
        return
    matrix = case.mechanism.channel().matrix
    assert abs(matrix.sum(axis=1) - 1).max() < 1e-12
    np.testing.assert_allclose(matrix, spelled(case).matrix, rtol=1e-12, atol=0)


@small
def test_epsilon_of_the_channel_is_the_promise(case: Case) -> None:
    """Protected outputs are those that a sensitive value can cause; every value must be able to cause them."""
    channel = spelled(case)
    reached = (channel.numerators[case.domain.sensitive_codes] > 0).any(axis=0)
    protected = channel.numerators[:, reached]
    worst = max(Fraction(max(column), min(column)) for column in set(map(tuple, protected.T)))
    odds = Fraction(case.mechanism.threshold, RANGE - case.mechanism.threshold)
    assert worst == max(1 + odds / inclusion for inclusion in _inclusions(case))
    assert case.epsilon * (1 - rounding(case)) <= log(worst) <= case.epsilon * (1 + 1e-15)
    if not case.mechanism.clear_blocks:
        floats = case.mechanism.channel().matrix[:, reached]
        assert log((floats.max(axis=0) / floats.min(axis=0)).max()) == pytest.approx(log(worst), rel=1e-11)


def _inclusions(case: Case) -> list[Fraction]:
    blocks, weights = case.mechanism.law.alphabet()
    noise, denominator = in_whole_numbers(weights)
    contained = case.mechanism.law.contains(blocks)
    return [Fraction(int(noise[contained[:, x]].sum()), denominator) for x in range(case.mechanism.law.size)]


@small
def test_other_outputs_tell_one_value_that_is_not_sensitive(case: Case) -> None:
    channel = spelled(case)
    possible = channel.numerators > 0
    invertible = possible[:, ~possible[case.domain.sensitive_codes].any(axis=0)]
    assert invertible.shape[1] >= case.domain.clear_count
    assert (invertible.sum(axis=0) == 1).all()


@every
def test_epsilon_of_the_integers_never_exceeds_the_promise(case: Case) -> None:
    """From the threshold and pi alone, in high precision; one step more of truth would break the promise."""
    promises = list(zip(case.mechanism.promises, case.mechanism.law.inclusions, strict=True))
    assert max(case.mechanism.promises) == case.epsilon
    assert type(case.mechanism.threshold) is int
    broken = False
    with localcontext() as context:
        context.prec = 60
        for epsilon, inclusion in promises:
            assert type(inclusion) is Fraction
            promised = Decimal(epsilon)
            realised = _ratio(case.mechanism.threshold, inclusion)
            assert realised <= promised.exp()
            assert realised.ln() >= promised * (1 - Decimal(rounding(case)))
            broken |= _ratio(case.mechanism.threshold + 1, inclusion) > promised.exp()
    assert broken


def _ratio(threshold: int, inclusion: Fraction) -> Decimal:
    ratio = 1 + Fraction(threshold, RANGE - threshold) / inclusion
    return Decimal(ratio.numerator) / Decimal(ratio.denominator)


@every
def test_guarantee_states_what_is_realised(case: Case) -> None:
    guarantee = case.mechanism.guarantee
    with localcontext() as context:
        context.prec = 60
        ratios = [_ratio(case.mechanism.threshold, inclusion) for inclusion in case.mechanism.law.inclusions]
        exact, realised = max(ratios).ln(), guarantee.realised
        assert Decimal(nextafter(realised, 0)) < exact <= Decimal(realised)
    assert guarantee.realised <= guarantee.promised == case.epsilon
    assert guarantee.notion == ("ULDP" if case.domain.clear_count else "LDP")
    assert (guarantee.sensitive_count, guarantee.size) == (case.domain.sensitive_count, case.domain.size)
    assert case.mechanism.contrast == pytest.approx(exp(realised) - 1, rel=1e-12)
    assert realised == pytest.approx(case.epsilon, rel=rounding(case))


@small
def test_pi_and_rho_equal_enumeration(case: Case) -> None:
    law = case.mechanism.law
    blocks, weights = law.alphabet()
    contained = law.contains(blocks)
    noise, denominator = in_whole_numbers(weights)
    assert contained.shape == (law.alphabet_size, law.size)
    assert noise.sum() == denominator
    assert law.size == case.domain.sensitive_count
    assert (law.conditional_variation != (0, 0)) == (case.builder in POOLS)
    for x in range(law.size):
        held = int(noise[contained[:, x]].sum())
        assert Fraction(held, denominator) == of_each(law.inclusions, law)[x]
        for other in set(range(law.size)) - {x}:
            both = Fraction(int(noise[contained[:, x] & contained[:, other]].sum()), held)
            # A pool's is a share of its functions; over all pools see test_pools.
            shared = case.builder in POOLS and (both * law.functions).denominator == 1
            assert shared or both == of_each(law.conditional_inclusions, law)[other]


@small
def test_blocks_of_the_alphabet_are_written_as_the_columns_say(case: Case) -> None:
    law = case.mechanism.law
    blocks, _ = law.alphabet()
    assert not law.flaws(blocks).any()
    assert set(blocks) == {column.name for column in law.columns}
    for column in law.columns:
        assert blocks[column.name].dtype == np.dtype(column.dtype)
        assert blocks[column.name].shape[1:] == (() if column.width is None else (column.width,))
        assert column.bound is None or blocks[column.name].max() < column.bound
    rows = np.hstack([blocks[column.name].reshape(law.alphabet_size, -1) for column in law.columns])
    assert len(np.unique(rows, axis=0)) == law.alphabet_size


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
