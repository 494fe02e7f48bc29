"""Memos with a second coin: one round is the mechanism, and t rounds tell what enumeration says."""

from fractions import Fraction
from math import log

import numpy as np
import pytest

from discreet import Domain, Memo, RandomizedResponse, SeededRandom, SubsetSelection, UnaryEncoding
from discreet.arrays import AnyArray
from discreet.core.random import BATCH, WORD_RANGE
from discreet.errors import DataError, ParameterError
from discreet.mechanisms import BlockMechanism
from discreet.privacy.audit import audit_rounds
from discreet.privacy.verify import verify_memo
from histories import listed, of_blocks
from laws import BUILDERS
from packing import each

SIZES = {"5of5": (5, None), "2of2": (2, None), "3of5": (5, [0, 2, 4])}
MOST = {3: 12, 2: 40}
"""Outputs of a mechanism whose histories of so many rounds are listed."""


def built(sizes: str, builder: str, epsilon: float = 0.7) -> BlockMechanism | None:
    size, sensitive = SIZES[sizes]
    try:
        return BUILDERS[builder](Domain(range(size), sensitive=sensitive), epsilon)
    except ParameterError:
        return None


def largest(laws: AnyArray) -> Fraction:
    """The largest ratio of two rows of chances, in any column."""
    return max(Fraction(max(column), min(column)) for column in set(map(tuple, laws.T)))


@each("builder", BUILDERS)
def test_rounds_tell_what_enumeration_says(builder: str) -> None:
    """Exactly, for every law, LDP and ULDP: one round, several, and no end of them."""
    for sizes in SIZES:
        mechanism = built(sizes, builder)
        if mechanism is None:
            continue
        memo, law = Memo(mechanism, 1.4), mechanism.law
        rounds = max([t for t, most in MOST.items() if law.alphabet_size <= most], default=1)
        for t in range(1, rounds + 1):
            assert largest(listed(memo, t)) == memo.ratio(t), (sizes, t)
        curve = [memo.ratio(t) for t in (1, 2, 3, 4, 50, None)]
        assert curve == sorted(curve)
        assert memo.epsilon(1) <= mechanism.epsilon
        assert memo.epsilon() <= 1.4
        assert memo.epsilon(1) == pytest.approx(mechanism.guarantee.realised, rel=1e-15)


def test_the_printed_numbers_of_rounds() -> None:
    memo = Memo(RandomizedResponse(Domain(range(10)), 1.0), 2.0)
    assert [memo.epsilon(t) for t in (1, 2, 3, 5)] == pytest.approx([1, 1.753, 1.960, 1.999], abs=5e-4)


@pytest.mark.parametrize(("size", "anyhow"), [(3, 1.2508), (4, 1.3560)])
def test_changes_are_not_hidden(size: int, anyhow: float) -> None:
    """Of histories with the same changes each value costs its own; between any two the ratio is larger."""
    memo = Memo(RandomizedResponse(Domain(range(size)), 0.5), 1.0)
    told, sent = of_blocks(memo)
    one, same = told @ sent, listed(memo, 2)
    changed = np.array([np.outer(one[a], one[b]).reshape(-1) for a in range(size) for b in range(size) if a != b])
    assert log(largest(changed)) == pytest.approx(2 * memo.epsilon(1), abs=1e-12)
    scale = Fraction(int(changed[0].sum()), int(same[0].sum()))
    assert log(largest(np.vstack([changed, same * scale]))) == pytest.approx(anyhow, abs=5e-5)


@each("builder", BUILDERS)
def test_one_round_is_the_mechanism(builder: str) -> None:
    """Its matrix is that of the mechanism, so that decoder, errors, likelihood and limits are too."""
    for sizes in SIZES:
        mechanism = built(sizes, builder)
        if mechanism is None or mechanism.clear_blocks:
            continue
        memo = Memo(mechanism, 1.4)
        told, sent = of_blocks(memo)
        round_ = told @ sent
        total = round_[mechanism.domain.sensitive_codes[0]].sum()
        matrix = mechanism.channel().matrix[:, : mechanism.law.alphabet_size]
        assert np.abs((round_ / total).astype(np.float64) - matrix).max() < 1e-15
        shares = [
            Fraction(threshold, WORD_RANGE) for threshold in (memo.truth, memo.coin_threshold, mechanism.threshold)
        ]
        assert 0 <= shares[2] - shares[0] * shares[1] < Fraction(1, WORD_RANGE)


@each("builder", BUILDERS)
def test_two_rounds_are_drawn_as_the_coins_say(builder: str) -> None:
    """Both hold a value, or show it in clear, as often as two coins on one memo make them; five standard errors."""
    mechanism = built("3of5", builder, 1.0)
    assert mechanism is not None
    memo, n = Memo(mechanism, 2.0), 2 * BATCH
    s, again = memo.truth / WORD_RANGE, memo.coin_threshold / WORD_RANGE
    for code in (0, 1):
        codes, rounds = np.full(2 * n, code), np.repeat([9, 3], n)
        drawn = memo.obfuscate_rounds(codes, np.tile(np.arange(n), 2), rounds, random=SeededRandom(code))
        assert [(each, drawn[each].n, drawn[each].simulated) for each in drawn] == [(3, n, True), (9, n, True)]
        marks = np.zeros((2, n), np.bool_)
        for mark, reports in zip(marks, drawn.values(), strict=True):
            mechanism.checked_reports(reports)
            clear = np.zeros(n, np.bool_) if reports.in_clear is None else reports.in_clear
            mark[:] = clear
            if code == 0:
                with_block = slice(None) if reports.block_count == n else ~clear
                mark[with_block] = mechanism.law.contains(reports.blocks)[:, 0]
        pi = float(mechanism.law.inclusion)
        fresh, held = (0.0, s) if code else (pi, s + (1 - s) * pi)
        likely = held * (again + (1 - again) * fresh) ** 2 + (1 - held) * ((1 - again) * fresh) ** 2
        assert (marks[0] & marks[1]).mean() == pytest.approx(likely, abs=5 * np.sqrt(likely / n))
        one = held * again + (1 - again) * fresh
        assert marks.mean(axis=1) == pytest.approx(one, abs=5 * np.sqrt(one / n))


def test_a_memo_is_the_same_wherever_it_is_sent() -> None:
    """Without a second coin a person repeats a report for each value, also after another one."""
    mechanism = SubsetSelection(Domain(range(12), sensitive=range(6)), 1.0, k=3)
    codes, people = np.tile([[0], [8], [0]], 300).reshape(-1), np.tile(np.arange(300), 3)
    drawn = Memo(mechanism).obfuscate_rounds(codes, people, np.repeat([1, 2, 3], 300), random=SeededRandom(1))
    assert np.array_equal(drawn[1].blocks["members"], drawn[3].blocks["members"])
    assert drawn[2].in_clear is not None
    assert 0 < len(drawn[2].clear) < 300
    far = Memo(mechanism).obfuscate_rounds(
        codes, people * 10**12 - 7, np.repeat([1, 2, 3], 300), random=SeededRandom(1)
    )
    assert np.array_equal(far[2].clear, drawn[2].clear)


def test_where_blocks_are_too_many_the_bound_is_that_of_all_rounds() -> None:
    memo = Memo(UnaryEncoding(Domain(range(100_000)), 1.0), 2.0)
    assert memo.ratio(2) == memo.ratio()


def test_several_rounds_of_blocks_that_are_not_counted_are_bounded_by_the_memo() -> None:
    """Only one round is known without the blocks: two rounds already may reveal all that the memo reveals."""
    memo = Memo(SubsetSelection(Domain(range(60)), 1.0), 2.0)
    verification = verify_memo(memo)
    one, *more = verification.ratios.values()
    assert 0.999 < log(one) <= 1.0
    assert set(more) == {verification.ratio} == {memo.ratio()}


def test_bad_memos_are_refused() -> None:
    mechanism = RandomizedResponse(Domain(range(3)), 1.0)
    for infinity in (1.0, 0.5, -1.0, 1e9):
        with pytest.raises(ParameterError, match="epsilon"):
            Memo(mechanism, infinity)
    with pytest.raises(ParameterError, match=r"memo.nothing-sensitive"):
        Memo(RandomizedResponse(Domain(range(3), sensitive=[], allow_unprotected=True), 1.0))
    memo = Memo(mechanism, 2.0)
    with pytest.raises(DataError, match=r"rounds.repeated-person"):
        memo.obfuscate_rounds([0, 1, 2], [1, 2, 1], [5, 5, 5])
    with pytest.raises(DataError, match=r"rounds.different-lengths"):
        memo.obfuscate_rounds([0, 1], [1, 2, 1], [5, 5, 5])
    assert memo.obfuscate_rounds([], np.zeros(0, int), np.zeros(0, int)) == {}


@pytest.mark.parametrize("builder", ["rr", "subset", "unary", "hadamard", "design", "translates"])
def test_verification_comes_to_the_same_and_denies_coins_that_are_too_good(
    builder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It sums over all memos, by another formula; a second coin or a memo with a little more truth breaks a promise."""
    for sizes in ("5of5", "3of5"):
        mechanism = built(sizes, builder)
        assert mechanism is not None
        memo = Memo(mechanism, 1.4)
        found = verify_memo(memo, (1, 2, 12))
        assert found.holds
        assert found.ratios == {t: memo.ratio(t) for t in (1, 2, 12)}
        assert (found.ratio, found.promised) == (memo.ratio(), 1.4)
        for part, more in (("coin_threshold", memo.coin_threshold + (1 << 40)), ("truth", memo.truth + (1 << 40))):
            with monkeypatch.context() as patched:
                patched.setattr(Memo, part, more)
                assert not verify_memo(memo).holds


@pytest.mark.parametrize("builder", ["rr", "subset", "hadamard", "translates"])
def test_an_audit_of_histories_comes_near_and_denies_a_second_coin_that_is_too_good(
    builder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two rounds of people whose answer stays: at least two thirds of epsilon are shown, and never more than all."""
    for sizes in ("5of5", "3of5"):
        mechanism = built(sizes, builder)
        assert mechanism is not None
        memo = Memo(mechanism, 1.4)
        found = audit_rounds(memo, 2, draws=60_000, random=SeededRandom(1))
        assert found.holds
        assert 2 / 3 * memo.epsilon(2) < found.lower_bound <= found.promised == memo.epsilon(2)
        with monkeypatch.context() as patched:
            patched.setattr("discreet.mechanisms.memo.resent_reports", lambda sampling, memos, *_: memos)
            assert not audit_rounds(memo, 1, draws=60_000, random=SeededRandom(1)).holds
    with pytest.raises(ParameterError, match="confidence"):
        audit_rounds(memo, 2, confidence=2)
