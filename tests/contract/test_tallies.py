"""Batches and tallies: splitting, merging, zeros and strangers."""

from typing import Any

import numpy as np
import pytest

from discreet import (
    Channel,
    Domain,
    RandomizedResponse,
    Reports,
    SecureRandom,
    SeededRandom,
    UnaryEncoding,
)
from discreet.errors import MismatchError
from discreet.mechanisms import LawMechanism
from discreet.mechanisms.laws.singletons import Singletons
from laws import BUILDERS, Case, by_kind, counted, one_epsilon, sampled


@one_epsilon
def test_tally_counts_what_the_reports_contain(case: Case) -> None:
    mechanism, reports = case.mechanism, sampled(case)
    tally = mechanism.tally(reports)
    contained = mechanism.law.contains(reports.blocks)
    assert tally.support.tolist() == counted(mechanism, reports.blocks)
    assert mechanism.law.counts.support_of(tally.support).tolist() == by_kind(mechanism, contained)
    assert tally.clear.tolist() == [int((reports.clear == code).sum()) for code in case.domain.clear_codes]
    assert tally.n == len(reports) == 3001
    assert tally.clear_total == len(reports.clear)
    assert len(contained) == (3001 if mechanism.clear_blocks else 3001 - len(reports.clear))
    assert tally.support.dtype == tally.clear.dtype == np.int64
    assert not mechanism.law.flaws(reports.blocks).any()


@one_epsilon
def test_clear_values_are_the_reporters_own(case: Case) -> None:
    """Row i speaks for value i: what is in clear is its value, and no sensitive value is ever in clear."""
    codes = np.random.default_rng(11).integers(0, case.domain.size, 3001)
    reports = sampled(case)
    if case.domain.clear_count == 0:
        assert reports.in_clear is None
        assert len(reports.clear) == 0
        return
    assert (reports.clear == codes[reports.in_clear]).all()
    assert not case.domain.sensitive[reports.clear].any()
    assert reports.in_clear.sum() > 0


@one_epsilon
def test_batches_agree_with_one_batch(case: Case) -> None:
    codes = np.random.default_rng(4).integers(0, case.domain.size, 1000)
    batches = list(case.mechanism.obfuscate_batches(codes, size=300, random=SeededRandom(1)))
    assert [len(batch) for batch in batches] == [300, 300, 300, 100]
    random = SeededRandom(1)
    for batch, start in zip(batches, range(0, 1000, 300), strict=True):
        alone = case.mechanism.obfuscate_codes(codes[start : start + 300], random=random)
        assert case.mechanism.tally(alone) == case.mechanism.tally(batch)


@one_epsilon
def test_the_same_seed_gives_the_same_reports_and_says_so(case: Case) -> None:
    first, second, other = sampled(case), sampled(case), sampled(case, seed=12)
    assert first.simulated
    assert _same(first, second)
    assert not _same(first, other)
    secure = case.mechanism.obfuscate_codes([0, 1])
    assert not secure.simulated
    assert not case.mechanism.obfuscate_codes([0], random=SecureRandom()).simulated
    assert (case.mechanism.tally(secure) + case.mechanism.tally(first)).simulated
    assert Reports.concatenate([secure, first]).simulated


def _same(one: Reports, other: Reports) -> bool:
    return one.clear.tolist() == other.clear.tolist() and all(
        np.array_equal(column, other.blocks[name]) for name, column in one.blocks.items()
    )


@one_epsilon
def test_codes_of_every_integer_type_mean_the_same(case: Case) -> None:
    codes = np.random.default_rng(2).integers(0, case.domain.size, 500)
    expected = case.mechanism.obfuscate_codes(codes, random=SeededRandom(8))
    for kind in (np.int8, np.uint8, np.int16, np.uint32, np.uint64, ">i4", ">u8"):
        assert _same(case.mechanism.obfuscate_codes(codes.astype(kind), random=SeededRandom(8)), expected)
    assert _same(case.mechanism.obfuscate_codes(codes.tolist(), random=SeededRandom(8)), expected)
    spread = np.repeat(codes, 2)[::2]
    assert not spread.flags.c_contiguous
    assert _same(case.mechanism.obfuscate_codes(spread, random=SeededRandom(8)), expected)
    assert _same(case.mechanism.obfuscate(codes, random=SeededRandom(8)), expected)


def test_different_mechanisms_do_not_mix() -> None:
    domain = Domain(range(7), sensitive=[0, 4, 6])
    built = [build(domain, 1.0) for build in BUILDERS.values()]
    for mechanism in built:
        for other in built:
            if mechanism is not other and mechanism.law != other.law:
                with pytest.raises(MismatchError, match=r"plan\.different"):
                    mechanism.empty_tally() + other.empty_tally()


def test_reports_of_a_part_without_blocks() -> None:
    mechanism = RandomizedResponse(Domain(range(9), sensitive=[0]), 20.0)
    reports = mechanism.obfuscate_codes(np.full(40, 3), random=SeededRandom(2))
    part = reports.part(10, 20)
    assert part.clear.tolist() == [3] * 10
    assert mechanism.tally(part).clear[2] == 10


def test_fingerprints_follow_the_plan_and_nothing_else() -> None:
    domain = Domain(range(7), sensitive=[0, 4, 6])
    for build in BUILDERS.values():
        again = build(Domain(np.arange(7), sensitive=lambda x: x in (0, 4, 6)), 1)
        assert build(domain, 1.0).fingerprint == again.fingerprint
    plans = [
        *(build(domain, 1.0) for build in BUILDERS.values()),
        *(build(domain, np.nextafter(1.0, 2)) for build in BUILDERS.values()),
        *(build(Domain(range(7), sensitive=[0, 4, 5]), 1.0) for build in BUILDERS.values()),
        *(build(Domain(range(8), sensitive=[0, 4, 6]), 1.0) for build in BUILDERS.values()),
        *(build(Domain(list("abcdefg"), sensitive=list("aeg")), 1.0) for build in BUILDERS.values()),
        UnaryEncoding(domain, 1.0, theta=0.51),
        UnaryEncoding(domain, 1.0, theta=0.51, clear_bits=True),
        BUILDERS["hashing-g2"].func(domain, 1.0, g=7),
        BUILDERS["subset-k2"].func(domain, 1.0, k=1),
    ]
    meanings = {(m.domain, m.epsilon, m.clear_blocks, m.law) for m in plans}
    assert len({m.fingerprint for m in plans}) == len(meanings)
    assert len(meanings) >= 5 * (len(BUILDERS) - 2) + 3


def test_a_law_cannot_speak_for_the_plan() -> None:
    """What it says of itself stands in a place of its own: it must not replace epsilon or the domain."""

    class Loud(Singletons):
        def describe(self) -> dict[str, Any]:
            return {"format": 0, "domain": "", "epsilon": "", "truth": 0, "clear_blocks": False, "epsilons": []}

    domains = [Domain(range(3)), Domain(list("abc"))]
    plans = [LawMechanism(domain, epsilon, Loud(3)) for domain in domains for epsilon in (1.0, 2.0)]
    assert len({plan.fingerprint for plan in plans}) == 4


def test_channels_refuse_strangers() -> None:
    channel, other = Channel([[0.75, 0.25], [0.25, 0.75]]), Channel([[0.75, 0.25], [0.2, 0.8]])
    reports = channel.obfuscate_codes(np.arange(1000) % 2, random=SeededRandom(3))
    tally = channel.tally(reports)
    assert channel.tally(reports.part(0, 300)) + channel.tally(reports.part(300, 1000)) == tally
    for attempt in (lambda: other.tally(reports), lambda: other.decoder.estimate(tally)):
        with pytest.raises(MismatchError, match=r"plan\.different"):
            attempt()
