"""Blocks that are translates of a set: drawn as their law says, one by one and in batches, and counted exactly."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from discreet import Domain, Plan, RandomizedResponse, SecureRandom, TranslateResponse
from discreet.device.protocol.sampler import Sampler
from discreet.errors import ParameterError
from discreet.mechanisms import BlockMechanism
from discreet.mechanisms.laws.translates import SetTranslates
from laws import PLANES
from refusals import refused

LINE = (0, 1, 4, 14, 16)
ALL = {
    "squares": (TranslateResponse(Domain(range(9)), 1.0, modulus=11, base=(1, 3, 4, 5, 9)), {1, 3, 4, 5, 9}),
    "plane": (TranslateResponse(Domain(range(20)), 1.0, modulus=21, base=LINE), {*LINE}),
    "all but one": (TranslateResponse(Domain(range(4)), 0.5, modulus=4, base=(0, 1, 2)), {0, 1, 2}),
}
every = pytest.mark.parametrize(("mechanism", "base"), ALL.values(), ids=ALL)


@every
def test_counts_of_any_size_give_exact_supports(mechanism: BlockMechanism, base: set[int]) -> None:
    law: Any = mechanism.law
    counts = np.random.default_rng(1).integers(0, 1 << 58, law.alphabet_size)
    contained = law.contains(law.alphabet()[0])
    assert law.support_of(counts).tolist() == [int(counts[row].sum()) for row in contained.T]
    assert contained.tolist() == [
        [(x - t) % law.alphabet_size in base for x in range(law.size)] for t in range(law.alphabet_size)
    ]


def test_randomized_response_is_an_instance() -> None:
    """A set of one element has the numbers, errors and guarantee of randomized response."""
    known = RandomizedResponse(Domain(range(9)), 1.0)
    same = TranslateResponse(known.domain, 1.0, modulus=9, base=(0,))
    assert same.law.inclusion == known.law.inclusion
    assert same.law.conditional_inclusion == known.law.conditional_inclusion
    assert (same.threshold, same.guarantee) == (known.threshold, known.guarantee)
    assert same.decoder.worst_case_mse(50) == known.decoder.worst_case_mse(50)
    assert same.fingerprint != known.fingerprint


@pytest.mark.parametrize("points", PLANES)
def test_planes_are_planes(points: int) -> None:
    line = PLANES[points]
    law = SetTranslates(points, points, line)
    assert len(line) * (len(line) - 1) == points - 1
    assert law.conditional_inclusion * len(line) == 1
    contained = law.contains(law.alphabet()[0]).astype(int)
    assert (contained.T @ contained == len(line) * np.eye(points) + 1 - np.eye(points)).all()


def test_rho_must_be_constant_where_something_is_planned() -> None:
    """Devices draw any set; nothing is promised of estimates under one whose values share unequally many blocks."""
    domain = Domain(range(7))
    message = refused(ParameterError, lambda: TranslateResponse(domain, 1.0, modulus=7, base=(0, 1, 2)))
    assert "base.not-difference-set" in message
    law = {"law": "translates", "size": 7, "modulus": 7, "base": [0, 1, 2]}
    sampler = Sampler(7, ((0, 7),), 1 << 63, False, law)
    assert len(sampler.record(3, SecureRandom())) == 2
    assert sampler.realised == pytest.approx(np.log(1 + 7 / 3))
    # Of fewer values only their own differences count.
    assert TranslateResponse(Domain(range(2)), 1.0, modulus=7, base=(0, 1, 2)).law.conditional_inclusion.numerator == 2


@pytest.mark.parametrize(
    ("modulus", "base"),
    [
        (7, ()),
        (7, (2, 1, 4)),
        (7, (1, 2, 7)),
        (7, (-1, 2, 4)),
        (7, (1.0, 2, 4)),
        (7, (True, 2, 4)),
        (7, tuple(range(7))),
        (7, {1, 2, 4}),
        (6, (0,)),
        (5000, tuple(range(4097))),
        ((1 << 24) + 1, (0,)),
        (None, (1, 2, 4)),
    ],
)
def test_what_is_no_set_modulo_a_number_is_refused(modulus: Any, base: Any) -> None:
    refused(ParameterError, lambda: TranslateResponse(Domain(range(7)), 1.0, modulus=modulus, base=base))


def test_a_plan_has_the_set_and_everybody_reads_it(tmp_path: Any) -> None:
    mechanism = TranslateResponse(Domain(range(15), sensitive=range(2, 15)), 1.0, modulus=13, base=[0, 1, 3, 9])
    for name in ("plan.toml", "plan.json"):
        assert Plan.of(mechanism).save(tmp_path / name).mechanism() == mechanism
    assert "base=(0, 1, 3, 9)" in repr(mechanism)
    again = replace(mechanism, modulus=np.int64(13), base=tuple(np.array([0, 1, 3, 9])))
    assert again == mechanism
