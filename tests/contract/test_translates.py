"""Blocks that are translates of a set: drawn as their law says, one by one and in batches, and counted exactly."""

import time
from typing import Any

import numpy as np
import pytest

from discreet.core.domain import Domain
from discreet.core.random import SeededRandom
from discreet.mechanisms import BlockMechanism, PaleyResponse
from discreet.mechanisms.paley import PaleyTranslates
from discreet.mechanisms.translates import TranslatesLaw
from evidence import multinomial

ALL = {"paley": (PaleyResponse(Domain(range(9)), 1.0), {1, 3, 4, 5, 9})}
every = pytest.mark.parametrize(("mechanism", "base"), ALL.values(), ids=ALL)


@every
@pytest.mark.parametrize("together", [True, False])
def test_draws_follow_the_law(mechanism: BlockMechanism, base: set[int], together: bool) -> None:
    """Noise is any translate; the truth is a translate with the value, each as likely: so each index has its share."""
    law: Any = mechanism.law
    assert isinstance(law, TranslatesLaw)
    n, step, modulus = 60_000, 20_000 if together else 4_000, law.alphabet_size
    truth = mechanism.threshold / 2**64
    for code in (0, law.size - 1):
        reports = mechanism.obfuscate_batches(np.full(n, code), size=step, random=SeededRandom(code))
        counts = sum(np.bincount(one.blocks["translate"], minlength=modulus) for one in reports)
        has = np.array([(code - t) % modulus in base for t in range(modulus)])
        right = (1 - truth) / modulus + truth * has / len(base)
        # The rival tells a translate that has the value next to it.
        multinomial(f"value {code}", counts, right, rival=(1 - truth) / modulus + truth * np.roll(has, -1) / len(base))


@every
def test_counts_of_any_size_give_exact_supports(mechanism: BlockMechanism, base: set[int]) -> None:
    law: Any = mechanism.law
    counts = np.random.default_rng(1).integers(0, 1 << 58, law.alphabet_size)
    contained = law.contains(law.alphabet()[0])
    assert law.support_of(counts).tolist() == [int(counts[row].sum()) for row in contained.T]
    assert contained.tolist() == [
        [(x - t) % law.alphabet_size in base for x in range(law.size)] for t in range(law.alphabet_size)
    ]


def test_a_million_values_are_decoded_within_two_seconds() -> None:
    law = PaleyTranslates(1_000_000)
    counts = np.zeros(law.alphabet_size, dtype=np.int64)
    random = np.random.default_rng(2)
    came, times = random.integers(0, law.prime, 50), random.integers(1, 1 << 40, 50)
    np.add.at(counts, came, times)
    start = time.process_time()
    support = law.support_of(counts)
    assert time.process_time() - start < 2
    some = random.integers(0, law.size, 400)
    assert support[some].tolist() == (law.contains({"translate": came}).T[some] @ times).tolist()
