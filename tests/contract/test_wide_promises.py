"""A promise to each of millions of values: what it takes to make, and how wide rows are drawn."""

import time
import tracemalloc
from typing import Any

import numpy as np
import pytest

from discreet.core.domain import Domain
from discreet.core.random import SeededRandom
from discreet.mechanisms import PerValueEncoding
from discreet.mechanisms.block_law import tallied
from discreet.mechanisms.per_value import GroupEpsilons, WeightedBits, picked

MANY = 8_000_000


def two_groups(size: int) -> list[dict[str, Any]]:
    first = np.arange(size) < size // 2
    return [{"values": first, "epsilon": 1.0}, {"values": ~first, "epsilon": 2.0}]


def seconds(work: Any) -> float:
    """Time of this process alone: others may be busy."""
    start = time.process_time()
    work()
    return time.process_time() - start


def test_eight_million_values_take_a_second_a_few_milliseconds_and_few_bytes() -> None:
    domain, groups = Domain(range(MANY)), two_groups(MANY)
    assert domain.fingerprint
    made: list[PerValueEncoding] = []
    # Three times what is wanted of a quiet machine; before, it was thirty times as much.
    assert seconds(lambda: made.append(PerValueEncoding(domain, 2.0, epsilons=groups))) < 3.0
    mechanism, codes = made.pop(), np.array([17])
    assert seconds(lambda: mechanism.obfuscate_codes(codes, random=SeededRandom(1))) < 0.06


def test_eight_million_values_take_little_beside_the_domain() -> None:
    domain, groups = Domain(range(MANY)), two_groups(MANY)
    PerValueEncoding(Domain(range(9)), 2.0, epsilons=two_groups(9)).obfuscate_codes([1])
    tracemalloc.start()
    try:
        mechanism = PerValueEncoding(domain, 2.0, epsilons=groups)
        mechanism.obfuscate_codes(np.array([17]), random=SeededRandom(1))
        assert tracemalloc.get_traced_memory()[1] < 100e6
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("size", [100_003, 800_011])
def test_wide_rows_are_drawn_with_their_own_thresholds(size: int) -> None:
    """By a readable loop: from the last digit to the first, a bit takes its threshold's where its word has a 0."""
    levels, depth = np.arange(size) % 3, 11
    law = WeightedBits(levels, (300, 1400, 2047), depth)
    out = {"bits": np.empty((2, law._row_bytes), dtype=np.uint8)}
    law.draw(np.array([-1, size - 1]), SeededRandom(5), out)
    found = np.unpackbits(out["bits"], axis=1, count=size, bitorder="little")
    random, lanes = SeededRandom(5), -(-law._row_bytes // 8)
    assert law._wide
    for row, members in enumerate(([], [size - 1])):
        pieces = [min(law._piece_lanes, lanes - first) for first in range(0, lanes, law._piece_lanes)]
        words = [random.words(count * depth).reshape(depth, count).view(np.uint8) for count in pieces]
        drawn = np.concatenate([np.unpackbits(one, axis=1, bitorder="little") for one in words], axis=1)[:, :size]
        bits = np.zeros(size, dtype=np.uint8)
        for digit in range(depth):
            bits = np.where(drawn[digit] == 0, np.array(law.thresholds)[levels] >> digit & 1, bits)
        bits[members] = 1
        assert (found[row] == bits).all()


def test_bits_beyond_the_last_value_stay_unset() -> None:
    law = WeightedBits(np.zeros(100_003, dtype=int), (1024,), 11)
    out = {"bits": np.empty((3, law._row_bytes), dtype=np.uint8)}
    law.draw(np.full(3, -1), SeededRandom(1), out)
    assert not law.flaws(out).any()


def test_levels_are_read_the_same_from_groups_and_from_labels() -> None:
    domain = Domain(range(100), sensitive=range(90))
    epsilons = {code: [0.5, 1.0, 1.0, 2.0][code % 4] for code in range(90)}
    groups = [{"values": [c for c in range(90) if c % 4 == rest], "epsilon": epsilons[rest]} for rest in range(4)]
    by_label, by_group = GroupEpsilons.of(domain, 2.0, epsilons), GroupEpsilons.of(domain, 2.0, groups)
    assert by_label == by_group == (0.5, 1.0, 2.0)
    assert by_label.groups.tolist() == by_group.groups.tolist() == [(code % 4 + 1) // 2 for code in range(90)]
    assert by_label.counts == by_group.counts == [23, 45, 22]


def test_ranges_are_groups_too() -> None:
    domain = Domain(range(5, 25))
    groups = [{"values": range(5, 12), "epsilon": 1.0}, {"values": range(12, 25), "epsilon": 2.0}]
    assert GroupEpsilons.of(domain, 2.0, groups).counts == [7, 13]
    assert Domain(range(5, 25), sensitive=range(20, 25)).sensitive_codes.tolist() == [15, 16, 17, 18, 19]
    assert Domain(range(5, 25), sensitive=range(20, 4, -5)).sensitive_codes.tolist() == [0, 5, 10, 15]


@pytest.mark.parametrize("size", [1, 65_536, 65_537, 200_000])
def test_long_columns_are_counted_and_looked_up_in_stretches(size: int) -> None:
    levels = (np.arange(size) * 7 % 5).astype(np.uint8)
    assert tallied(levels).tolist() == np.bincount(levels).tolist()
    assert (picked(np.arange(5) ** 2, levels) == (np.arange(5) ** 2)[levels]).all()
