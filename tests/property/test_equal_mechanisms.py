"""Mechanisms are values: made alike they are equal, one can be made of another, and what is shown says how."""

import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest

from discreet import BlockDesign, Channel, Domain, SubsetSelection, UnaryEncoding
from discreet.errors import ParameterError
from discreet.mechanisms import LawMechanism
from discreet.mechanisms.laws.bits import IndependentBits
from laws import BUILDERS
from packing import each
from refusals import refused

DOMAIN, PLAIN = Domain(range(12), sensitive=range(8)), Domain(range(12))


@each("name", BUILDERS)
def test_made_alike_they_are_equal(name: str) -> None:
    one, same = BUILDERS[name](DOMAIN, 1.0), BUILDERS[name](Domain(range(12), sensitive=range(8)), 1.0)
    assert one == same == BUILDERS[name](DOMAIN, 1) == BUILDERS[name](DOMAIN, np.float32(1))
    assert hash(one) == hash(same)
    assert one == pickle.loads(pickle.dumps(one)) == copy.deepcopy(one) == replace(one)
    assert one != BUILDERS[name](DOMAIN, 1.5)
    assert one != BUILDERS[name](Domain(range(12), sensitive=range(1, 9)), 1.0)
    assert one != one.fingerprint


def test_designs_of_one_law_with_different_decoders_are_different() -> None:
    # With one law, the reports are the same; what is made of them is not.
    one, other = (BlockDesign(DOMAIN, 4.0, sensitive_mass=mass) for mass in (0.3, 0.301))
    assert one.fingerprint == other.fingerprint
    assert one != other


def test_channels_of_one_matrix_are_equal() -> None:
    assert Channel(np.eye(3)) == Channel(np.eye(3).tolist())
    assert hash(Channel(np.eye(3))) == hash(Channel(np.eye(3)))
    assert Channel(np.eye(3)) != Channel(np.eye(3)[::-1])
    assert Channel(np.eye(3)) != Channel(np.eye(3), Domain("abc" and ["a", "b", "c"]))
    assert replace(Channel(np.eye(3)), domain=Domain(["a", "b", "c"])).domain.names() == ["a", "b", "c"]


def test_changed_options_are_checked() -> None:
    made = SubsetSelection(DOMAIN, 1.0, k=3)
    refused(ParameterError, lambda: replace(made, k=8))
    refused(ParameterError, lambda: replace(made, epsilon=-1.0))
    refused(ParameterError, lambda: replace(made, domain="x"))  # type: ignore[arg-type]
    refused(ParameterError, lambda: replace(UnaryEncoding(DOMAIN, 1.0, clear_bits=True), domain=PLAIN))
    refused(ParameterError, lambda: UnaryEncoding(DOMAIN, 1.0, clear_bits="no"))  # type: ignore[arg-type]
    for name in ("law", "clear_blocks"):
        with pytest.raises(TypeError, match=name):
            replace(made, **{name: None})


def test_a_law_of_ones_own_is_kept_as_it_is() -> None:
    made = LawMechanism(DOMAIN, 1.0, IndependentBits(8, 1, 2))
    assert replace(made, epsilon=2.0).law == made.law
    assert made == replace(made)
    assert made != UnaryEncoding(DOMAIN, 1.0)
