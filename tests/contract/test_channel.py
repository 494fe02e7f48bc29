"""The list of mechanisms is whole, and those without a channel or without protection say so."""

import numpy as np
import pytest

from discreet import Domain, HadamardResponse, LocalHashing, RandomizedResponse, SubsetSelection, UnaryEncoding
from discreet.errors import ParameterError
from discreet.mechanisms import BLOCK_MECHANISMS
from laws import BUILDERS, Case, small


def test_every_registered_mechanism_is_on_the_list() -> None:
    domain = Domain(range(7), sensitive=[0, 4, 6])
    assert {type(build(domain, 1.0)) for build in BUILDERS.values()} == set(BLOCK_MECHANISMS.values())


@small
def test_a_mechanism_of_two_parts_does_not_spell_itself_out(case: Case) -> None:
    if case.mechanism.clear_blocks:
        with pytest.raises(ParameterError, match="clear_bits"):
            case.mechanism.channel()


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
