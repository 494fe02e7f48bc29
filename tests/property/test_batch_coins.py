"""Coins and noise of batches, exactly: every word of small machines is counted; the tests hand out the real ones."""

from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet import SeededRandom
from discreet.core.random import WORD_RANGE, WordShares, bernoulli32, joint
from packing import each

HALF = 1 << 32
THRESHOLDS = (
    st.integers(1, WORD_RANGE - 1) | st.integers(1, 1 << 20) | st.integers(WORD_RANGE - (1 << 40), WORD_RANGE - 1)
)


class Halves:
    """Hands out the given half words, in order, and counts the requests."""

    secure = False

    def __init__(self, halves: list[int]) -> None:
        self.left, self.calls = list(halves), 0

    def words(self, n: int) -> Any:
        assert 2 * n <= len(self.left) + 1, "more words taken than the specification needs"
        given_now, self.left = self.left[: 2 * n], self.left[2 * n :]
        self.calls += 1
        return np.array(given_now + [0] * (2 * n - len(given_now)), dtype="<u4").view("<u8")


def first_parts(bits: int) -> Any:
    return np.arange(1 << bits, dtype=np.uint32)


@each("bits, rest", [(3, 3), (4, 2), (2, 4), (6, 0)])
@each("symbols", [1, 2, 3, 5, 8])
def test_every_word_of_a_small_machine(bits: int, rest: int, symbols: int) -> None:
    """Words of 6 bits, for every threshold: the truth has the rest of N / 64, and every symbol the same share of N."""
    for noise in range(1, 64):
        if symbols > noise and rest == 0:
            continue
        shares = WordShares.of(noise, symbols, rest)
        words = first_parts(bits)
        truth, drawn, undecided = shares.decide(words)
        assert len(undecided) <= symbols + 1
        decided = np.setdiff1d(words, undecided)
        told = Fraction(int(truth[decided].sum()) << rest)
        counts = Counter(drawn[decided][~truth[decided]].tolist())
        # What is not decided draws the second part, and the symbol anew, uniform.
        for word in undecided:
            seconds = np.arange(1 << rest, dtype=np.uint32)
            settled = shares.truth_of(np.full(1 << rest, word, dtype=np.uint32), seconds)
            assert settled.tolist() == [(int(word) << rest) + second >= noise for second in range(1 << rest)]
            told += int(settled.sum())
        assert told == 64 - noise
        assert set(counts) <= set(range(symbols))
        assert len(set(counts.values())) <= 1, "symbols have different shares"
        assert sum(counts.values()) in (0, symbols * shares.width)


@given(threshold=THRESHOLDS, symbols=st.integers(1, 1 << 16) | st.integers((1 << 16) + 1, 1 << 40))
def test_the_shares_of_real_words(threshold: int, symbols: int) -> None:
    """Words before ``end`` have W < N with any second part, those from ``top`` on W >= N; few lie between."""
    noise, rest = WORD_RANGE - threshold, 32 if symbols <= 1 << 16 else 0
    shares = WordShares.of(noise, symbols, rest)
    assert shares.end == shares.width * symbols
    assert shares.end << rest <= noise <= shares.top << rest
    assert (shares.top - 1) << rest < noise
    assert shares.top - shares.end <= symbols + 1


@given(threshold=THRESHOLDS, symbols=st.integers(1, 1 << 16), data=st.data())
def test_joint_follows_the_words(threshold: int, symbols: int, data: st.DataObject) -> None:
    noise = WORD_RANGE - threshold
    shares = WordShares.of(noise, symbols, 32)
    edges = [shares.end - 1, shares.end, shares.top - 1, shares.top, shares.width - 1, shares.width]
    half = st.sampled_from([edge for edge in edges if 0 <= edge < HALF]) | st.integers(0, HALF - 1)
    first = data.draw(st.lists(half, min_size=4, max_size=4))
    open_rows = [row for row, word in enumerate(first) if shares.end <= word < shares.top]
    even = len(open_rows) % 2
    second = [data.draw(st.sampled_from([0, noise % HALF, HALF - 1, max(noise % HALF - 1, 0)])) for _ in open_rows]
    again = [data.draw(st.integers(0, HALF // symbols * symbols - 1)) for _ in open_rows]
    script = first + second + [0] * even + (again + [0] * even if symbols > 1 else [])
    source = Halves(script)
    found = joint(4, threshold, symbols, source)
    assert not source.left
    assert found.noise is not None
    for row, word in enumerate(first):
        if row not in open_rows:
            assert bool(found.truth[row]) == (word >= shares.top)
            if word < shares.end:
                assert found.noise[row] == word // shares.width
            continue
        place = open_rows.index(row)
        assert bool(found.truth[row]) == ((word << 32) + second[place] >= noise)
        assert found.noise[row] == (again[place] // (HALF // symbols) if symbols > 1 else 0)


def test_whole_words_between_noise_and_truth_are_noise_anew() -> None:
    """With many symbols a word decides the coin alone, and the symbol but for the last words below N."""
    noise, symbols = 1 << 63, 70_000
    end, share = noise // symbols * symbols, WORD_RANGE // symbols
    words = [end, noise - 1, noise, end - 1, 5 * share, 69_999 * share]
    source = Halves([part for word in words for part in (word % HALF, word >> 32)])
    found = joint(4, WORD_RANGE - noise, symbols, source)
    assert found.truth.tolist() == [False, False, True, False]
    assert found.noise is not None
    assert found.noise[[0, 1, 3]].tolist() == [5, 69_999, symbols - 1]


@given(threshold=THRESHOLDS, data=st.data())
def test_half_coins_are_whole_coins(threshold: int, data: st.DataObject) -> None:
    """A tie draws the other half: the coin is that of the whole word."""
    high, low = divmod(threshold, HALF)
    near = st.sampled_from([half for half in (high - 1, high, high + 1) if 0 <= half < HALF])
    first = data.draw(st.lists(near | st.integers(0, HALF - 1), min_size=6, max_size=6))
    tied = [row for row, half in enumerate(first) if half == high]
    other = data.draw(
        st.lists(st.sampled_from([0, max(low - 1, 0), low, HALF - 1]), min_size=len(tied), max_size=len(tied))
    )
    source = Halves(first + other + [0] * (len(tied) % 2))
    found = bernoulli32(6, threshold, source).tolist()
    assert not source.left
    halves = dict(zip(tied, other, strict=True))
    assert found == [(half << 32) + halves.get(row, 0) < threshold for row, half in enumerate(first)]


@pytest.mark.parametrize("draw", [bernoulli32, lambda n, s, random: joint(n, s, 3, random).truth])
def test_certain_coins(draw: Any) -> None:
    random = SeededRandom(1)
    assert not draw(5, 0, random).any()
    assert draw(5, WORD_RANGE, random).all()


@pytest.mark.parametrize("symbols", [2, 300])
def test_slow_ways_alone_have_the_same_law(symbols: int) -> None:
    """So little noise that no first part is noise with a symbol: every report of noise goes the slow way."""
    threshold, n = WORD_RANGE - 3 * HALF // 2, 1 << 21
    seeded = SeededRandom(5)

    class LowFirst:
        """Words whose first halves are 0 and 1 in turn; the others are seeded."""

        secure = False
        calls = 0

        def words(self, count: int) -> Any:
            self.calls += 1
            return seeded.words(count) if self.calls > 1 else np.tile(np.array([0, 1], "<u4"), count).view("<u8")

    coins = joint(n, threshold, symbols, LowFirst())
    assert coins.noise is not None
    noise = coins.noise[~coins.truth]
    # First halves 0 are noise; of those with 1 half are.
    assert abs((~coins.truth).mean() - 0.75) < 0.003
    assert abs(noise.mean() / (symbols - 1) - 0.5) < 0.003
