"""The audit: strong enough to see what is broken, and never above the truth more often than it says."""

from typing import Any

import numpy as np
import pytest
from matrices import rr, urr, urr_matrix
from scipy.stats import binom

from discreet import (
    Channel,
    Domain,
    RandomizedResponse,
    Reports,
    SeededRandom,
)
from discreet.errors import ParameterError
from discreet.mechanisms import BlockMechanism
from discreet.privacy.audit import Audit, audit, epsilon_at_least
from laws import BUILDERS, SIZES, Case, cases, over
from packing import each

DRAWS = 100_000


def seeded(mechanism: Any, draws: int = DRAWS, **options: Any) -> Audit:
    return audit(mechanism, draws=draws, random=SeededRandom(options.pop("seed", 1)), **options)


def fresh(case: Case) -> BlockMechanism:
    """A mechanism of one's own, to be broken."""
    return BUILDERS[case.builder](case.domain, case.epsilon)


# What keeps its promise passes, and what is seen is nearly the promise


def kept(case: Case, draws: int) -> Audit:
    """Return an audit, which finds nothing wrong."""
    found = seeded(case.mechanism, draws)
    assert found.holds
    assert 0 <= found.lower_bound <= found.promised == case.epsilon
    assert found.simulated
    return found


FEW = {size: SIZES[size] for size in ("3of7", "5of5")}


@over(cases(FEW, (1.0,)))
def test_most_of_every_promise_is_seen(case: Case) -> None:
    found = kept(case, 60_000)
    assert found.lower_bound > 0.8 * found.promised


def test_real_randomness_unless_told_otherwise() -> None:
    found = audit(RandomizedResponse(Domain(range(3)), 1.0), draws=100_000)
    assert not found.simulated
    assert 0.8 < found.lower_bound < 1.1
    # Counts are equal by chance once in 10^5 times: then they are asked for again.
    again = (audit(RandomizedResponse(Domain(range(3)), 1.0), draws=100_000).counts for _ in range(2))
    assert any(counts != found.counts for counts in again)
    assert seeded(RandomizedResponse(Domain(range(3)), 1.0)) == seeded(RandomizedResponse(Domain(range(3)), 1.0))


def test_the_bound_is_above_the_truth_no_more_often_than_stated() -> None:
    """Small audits at 80%, of mechanisms that are exactly at their promise."""
    for size, draws in ((2, 4000), (8, 24_000)):
        mechanism = RandomizedResponse(Domain(range(size)), 0.5)
        found = [seeded(mechanism, draws, confidence=0.8, seed=seed) for seed in range(40)]
        assert sum(not one.holds for one in found) <= binom.isf(1e-6, 40, 0.2)
        assert np.median([one.lower_bound for one in found]) > 0.15


def test_the_bound_itself() -> None:
    assert epsilon_at_least((0, 0), (100, 100), 0.001) == 0
    assert epsilon_at_least((50, 50), (100, 100), 0.001) == 0
    assert epsilon_at_least((100, 0), (100, 100), 0.001) == pytest.approx(np.log(0.0005**0.01 / (1 - 0.0005**0.01)))


# What is broken is seen


@each("case", cases({"3of7": SIZES["3of7"]}, (1.0,)))
def test_twice_the_truth_is_flagged(case: Case) -> None:
    mechanism = fresh(case)
    mechanism.__dict__["threshold"] = min(2 * mechanism.threshold, (1 << 64) - 1)
    found = seeded(mechanism, 40_000)
    assert not found.holds
    assert found.lower_bound > found.promised == 1.0
    assert "THE PROMISE IS BROKEN" in str(found)


@pytest.mark.parametrize(("stuck", "draws"), [(1 << 62, 4_000), ((1 << 64) - 1, 400_000)], ids=["alone", "in batches"])
def test_predictable_words_are_flagged(stuck: int, draws: int) -> None:
    """A source that hands out the same words again and again makes no noise; it may hide that in its first ones."""

    class Stuck:
        secure = True

        def __init__(self) -> None:
            self._first = SeededRandom(1)

        def words(self, n: int) -> Any:
            words = np.full(n, stuck, dtype=np.uint64)
            words[:4] = self._first.words(4)[:n]
            return words

    assert not audit(RandomizedResponse(Domain(range(4)), 1.0), draws=draws, random=Stuck()).holds


@pytest.mark.parametrize("size", [1, 2, 17])
@pytest.mark.parametrize("fault", ["no noise", "a seed of its own"])
def test_faults_that_only_small_batches_have_are_found(size: int, fault: str) -> None:
    """A device draws one report; most of an audit's draws are in batches of thousands."""
    sound, broken = (RandomizedResponse(Domain(range(4)), 1.0) for _ in range(2))
    own = SeededRandom(9)

    def obfuscate(codes: Any, *, random: Any = None) -> Reports:
        if len(codes) != size:
            return sound.obfuscate_codes(codes, random=random)
        reports = sound.obfuscate_codes(codes, random=own)
        if fault == "a seed of its own":
            return reports
        blocks = {name: codes.astype(column.dtype) for name, column in reports.blocks.items()}
        return Reports(reports.fingerprint, reports.n, None, reports.clear, blocks, True)

    broken.__dict__["obfuscate_codes"] = obfuscate
    with pytest.raises(ParameterError) as caught:
        seeded(broken, 4_000)
    assert caught.value.code == "audit.words-not-followed"


# Explicit channels


def test_channels() -> None:
    for channel in (rr(5, 5, 1.0), rr(5, 2, 1.0), urr(5, 2, 1.0), urr(5, 1, 1.0)):
        found = seeded(channel)
        assert found.holds
        assert found.promised == pytest.approx(1.0)
        assert found.lower_bound > 0.85


def test_a_channel_that_draws_from_another_matrix_is_flagged() -> None:
    channel = urr(5, 2, 1.0)
    channel.__dict__["word_shares"] = urr(5, 2, 1.5).word_shares
    assert not seeded(channel).holds
    # A sensitive value that is told: the matrix it draws from calls one value fewer sensitive.
    leaky = urr(5, 2, 1.0)
    leaky.__dict__["word_shares"] = Channel(urr_matrix(5, 1, 1.0), leaky.domain).word_shares
    found = seeded(leaky)
    assert not found.holds
    assert (found.event.first.code, found.counts[1]) == (1, 0)
