"""Checks of what is drawn, with seeded words: blocks follow the law, reports the channel, and words tell nothing.

Counts are judged by Pearson's chi-square, with bounds of its tails that need no table [Laurent and Massart 2000,
lemma 1; Birge 2001, lemma 8.1]: a false alarm has a probability of about 1e-12. A check that would miss its rival with
more than 1e-6 is refused as too weak. Under the rival, one draw in ten comes from every second of the outcomes instead.
"""

from math import log, sqrt

import numpy as np

from discreet.arrays import AnyArray, FloatArray, IntArray, WordArray
from discreet.core.random import SeededRandom
from discreet.core.reports import Blocks
from discreet.errors import ParameterError
from discreet.mechanisms import BlockMechanism
from discreet.mechanisms.enumeration import found_among, keys
from discreet.testing.broken import hold
from discreet.testing.outputs import spell_out

DRAWS = 1 << 17
_FALSE_ALARM, _MISSED = log(1e12), log(1e6)
# So many that chi-square's law holds far out.
_LEAST_EXPECTED = 200
_SEED = 31


def blocks_follow_the_law(mechanism: BlockMechanism) -> None:
    """Noise follows Lambda, and a block drawn for a value follows Lambda given that it contains the value."""
    law = mechanism.law
    blocks, weights = law.alphabet()
    chances, contained, alphabet = weights.astype(np.float64), law.contains(blocks), keys(blocks)
    for member in range(-1, law.size):
        drawn = keys(_drawn(mechanism, np.full(DRAWS, member), SeededRandom(_SEED + member)))
        given = chances if member < 0 else np.where(contained[:, member], chances, 0.0)
        name = "blocks of noise" if member < 0 else f"blocks drawn for value {member}"
        _follow(name, found_among(drawn, alphabet), given / given.sum())


def members_and_noise_keep_their_rows(mechanism: BlockMechanism) -> None:
    """In a batch of both, every block that is drawn for a value contains it, and noise beside it follows Lambda."""
    law = mechanism.law
    blocks, weights = law.alphabet()
    rows = np.arange(2 * DRAWS)
    members = np.where(rows % 2 == 0, rows // 2 % law.size, -1)
    places = found_among(keys(_drawn(mechanism, members, SeededRandom(_SEED))), keys(blocks))
    inside = law.contains(blocks)[places[::2], members[::2]]
    hold(bool(inside.all()), f"a block must contain its member, {np.count_nonzero(~inside)} of {len(inside)} do not.")
    _follow("blocks of noise between members", places[1::2], weights.astype(np.float64))


def reports_follow_the_channel(mechanism: BlockMechanism) -> None:
    """Reports of each value come as often as the spelled-out channel says."""
    outputs = spell_out(mechanism)
    for code in range(mechanism.domain.size):
        reports = mechanism.obfuscate_codes(np.full(DRAWS, code), random=SeededRandom(_SEED + code))
        _follow(f"reports of value {code}", outputs.places(reports), outputs.matrix[code])


def words_tell_nothing(mechanism: BlockMechanism) -> None:
    """From the same words, drawing takes the same calls for as many words, whatever is to be contained, or nothing."""
    law, n = mechanism.law, 4096
    wanted = [np.full(n, member) for member in range(-1, law.size)]
    wanted.append(np.random.default_rng(1).integers(-1, law.size, n))
    calls = []
    for members in wanted:
        source = _Counted()
        _drawn(mechanism, members, source)
        calls.append(source.calls)
    other = sum(one != calls[0] for one in calls)
    hold(other == 0, f"draws must take the same words for any member, {other} of {len(calls) - 1} take others.")
    calls = [_calls_of_batch(mechanism, members) for members in wanted]
    other = sum(one != calls[0] for one in calls)
    hold(other == 0, f"batches must take the same words for any member, {other} of {len(calls) - 1} take others.")


def _calls_of_batch(mechanism: BlockMechanism, members: IntArray) -> list[int]:
    """Return the calls for the coins and the blocks of a batch, whose coins are then as the members say."""
    source, law = _Counted(), mechanism.law
    coins = law.coins(len(members), mechanism.threshold, source)
    law.fill(np.maximum(members, 0), coins._replace(truth=members >= 0), source, _empty(mechanism, len(members)))
    return source.calls


class _Counted:
    """Seeded words; how many were asked for, call by call."""

    secure = False

    def __init__(self) -> None:
        self.calls: list[int] = []
        self._random = SeededRandom(_SEED)

    def words(self, n: int) -> WordArray:
        """Return ``(n,)`` fresh words."""
        self.calls.append(n)
        return self._random.words(n)


def _drawn(mechanism: BlockMechanism, members: IntArray, random: SeededRandom | _Counted) -> Blocks:
    out = _empty(mechanism, len(members))
    mechanism.law.draw(members, random, out)
    return out


def _empty(mechanism: BlockMechanism, n: int) -> dict[str, AnyArray]:
    """Return columns full of what hardly any bound allows: what a law forgets to write must not look like a block."""
    return {
        column.name: np.full(column.shape(n), np.iinfo(column.dtype).max, dtype=column.dtype)
        for column in mechanism.law.columns
    }


def _follow(name: str, places: IntArray, chances: FloatArray) -> None:
    """Accept ``(n,)`` draws, by their place among outcomes, if they have these chances."""
    impossible = np.count_nonzero(places < 0) + np.count_nonzero(chances[np.maximum(places, 0)] == 0)
    hold(impossible == 0, f"{name} must be possible ones, {impossible} of {len(places)} are not.")
    counts = np.bincount(places, minlength=len(chances))
    counts, expected = _grouped(counts[chances > 0], len(places) * chances[chances > 0])
    if np.count_nonzero(chances) == 1:
        return
    freedom = len(counts) - 1
    critical = freedom + 2 * sqrt(freedom * _FALSE_ALARM) + 2 * _FALSE_ALARM
    shift = _shift_of_rival(expected)
    if freedom + shift - 2 * sqrt((freedom + 2 * shift) * _MISSED) < critical:
        raise ParameterError(
            f"{name} cannot be judged by {len(places)} draws, as nearly all of them are alike; take a smaller epsilon."
        )
    found = float(((counts - expected) ** 2 / expected).sum())
    hold(found <= critical, f"{name} must follow the law, got a chi-square of {found:.1f}, above {critical:.1f}.")


def _grouped(counts: IntArray, expected: FloatArray) -> tuple[IntArray, FloatArray]:
    """Put rare outcomes together, the likeliest first, so that each group is expected often enough."""
    order, starts, gathered = np.argsort(-expected, kind="stable"), [0], 0.0
    for place, one in enumerate(expected[order]):
        if gathered >= _LEAST_EXPECTED:
            starts.append(place)
            gathered = 0.0
        gathered += one
    if gathered < _LEAST_EXPECTED and len(starts) > 1:
        starts.pop()
    return np.add.reduceat(counts[order], starts), np.add.reduceat(expected[order], starts)


def _shift_of_rival(expected: FloatArray) -> float:
    """Return the noncentrality of chi-square under the rival."""
    second = np.arange(len(expected)) % 2 == 1
    if not second.any():
        return 0.0
    rival = 0.9 * expected + 0.1 * expected.sum() * second / np.count_nonzero(second)
    return float(((rival - expected) ** 2 / expected).sum())
