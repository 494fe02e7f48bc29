"""Mechanisms are values: made alike they are equal, one can be made of another, and what is shown says how."""

import copy
import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from discreet.core.domain import Domain
from discreet.core.random import SeededRandom
from discreet.errors import ParameterError
from discreet.mechanisms import (
    BLOCK_MECHANISMS,
    BlockDesign,
    BlockMechanism,
    Channel,
    LocalHashing,
    PooledHashing,
    RandomizedResponse,
    SubsetSelection,
    UnaryEncoding,
)
from discreet.mechanisms.bits import IndependentBits
from discreet.mechanisms.law import LawMechanism
from laws import BUILDERS
from packing import each
from refusals import refused

DOMAIN, PLAIN = Domain(range(12), sensitive=range(8)), Domain(range(12))
OPTIONS: list[tuple[type[BlockMechanism], dict[str, Any], str]] = [
    (UnaryEncoding, {"theta": 0.5}, "theta=0.5"),
    (UnaryEncoding, {"theta": "optimal", "clear_bits": True}, "theta='optimal', clear_bits=True"),
    (SubsetSelection, {"k": 3}, "k=3"),
    (LocalHashing, {"g": 5}, "g=5"),
    (PooledHashing, {"g": 4, "functions": 8, "seed": 3}, "g=4, functions=8, seed=3"),
    (BlockDesign, {"sensitive_mass": 0.3}, "sensitive_mass=0.3"),
]


def all_of_them(domain: Domain, epsilon: float) -> list[BlockMechanism]:
    return [build(domain, epsilon) for build in BUILDERS.values()]


@each("name", BUILDERS)
def test_made_alike_they_are_equal(name: str) -> None:
    one, same = BUILDERS[name](DOMAIN, 1.0), BUILDERS[name](Domain(range(12), sensitive=range(8)), 1.0)
    assert one == same == BUILDERS[name](DOMAIN, 1) == BUILDERS[name](DOMAIN, np.float32(1))
    assert hash(one) == hash(same)
    assert one == pickle.loads(pickle.dumps(one)) == copy.deepcopy(one) == replace(one)
    assert one != BUILDERS[name](DOMAIN, 1.5)
    assert one != BUILDERS[name](Domain(range(12), sensitive=range(1, 9)), 1.0)
    assert one != one.fingerprint


def test_no_two_of_different_kinds_are_equal() -> None:
    # The subset of two is the one that is chosen.
    assert SubsetSelection(DOMAIN, 1.0) == SubsetSelection(DOMAIN, 1.0, k=2)
    assert len(set(all_of_them(DOMAIN, 1.0))) == len(BUILDERS) - 1


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


@pytest.mark.parametrize(("cls", "options", "shown"), OPTIONS, ids=lambda given: getattr(given, "__name__", ""))
def test_options_are_shown_and_kept(cls: type[BlockMechanism], options: dict[str, Any], shown: str) -> None:
    made: Any = cls(DOMAIN, 1.0, **options)
    assert repr(made) == f"{cls.__name__}({DOMAIN!r}, epsilon=1.0, {shown}, plan={made.fingerprint[:12]})"
    assert {name: getattr(made, name) for name in options} == options
    assert replace(made, epsilon=1.5) == cls(DOMAIN, 1.5, **options)
    assert replace(made, domain=Domain(range(20), sensitive=range(8))).domain.size == 20
    plain = replace(made, **dict.fromkeys(options, None) | {key: 0 for key in options if key == "seed"} | _no(options))
    assert plain == cls(DOMAIN, 1.0)
    assert repr(plain) == f"{cls.__name__}({DOMAIN!r}, epsilon=1.0, plan={plain.fingerprint[:12]})"


def _no(options: dict[str, Any]) -> dict[str, bool]:
    return {key: False for key, value in options.items() if value is True}


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


@pytest.mark.parametrize("name", [name for name, cls in BLOCK_MECHANISMS.items() if not cls.needs_options()])
def test_what_is_sent_is_what_was_sent(name: str) -> None:
    """The same plan's mechanism, made by replacement, sends the same reports from the same words."""
    made = BLOCK_MECHANISMS[name](PLAIN, 3.0)
    changed = replace(BLOCK_MECHANISMS[name](DOMAIN, 1.0), domain=PLAIN, epsilon=3.0)
    for column, other in zip(
        *(m.obfuscate_codes([1, 2, 3], random=SeededRandom(1)).blocks.values() for m in (made, changed)), strict=True
    ):
        assert (column == other).all()


def test_a_mechanism_is_a_key() -> None:
    found = {RandomizedResponse(DOMAIN, 1.0): "one"}
    assert found[RandomizedResponse(DOMAIN, 1.0)] == "one"
