"""Permanent reports with a second coin (memos): the exact promise of several rounds.

A *memo* is a report that was drawn with the truth probability s_1 and is stored. In each round it is sent with
probability s_2, and otherwise fresh noise from the law of blocks Lambda, also in place of a value in clear. The truth
survives both coins with s = s_1 s_2, and all else is noise: so the reports of one round are those of the mechanism with
s, and as exact as those of any mechanism of its epsilon. (RAPPOR [Erlingsson et al. 2014] has two coins for every bit.)

After t rounds the most is known where all show one block A. With lambda = Lambda(A) and r = 1 + s_2/((1 - s_2) lambda)
every value has shown it with (1 - s_2)^t lambda^t (1 + P(A) (r^t - 1)), where P(A) is the probability of the memo, so

    e^eps_t = (1 + P_in (r^t - 1)) / (1 + P_out (r^t - 1)),
    P_in = lambda (1 - s_1 + s_1/pi),  P_out = lambda (1 - s_1).

Rounds that show several blocks reveal less: the sum over blocks of lambda (r^t - 1) grows with its convexity in t, and
is largest for the rarest one. It is e^eps_1 = 1 + s/((1 - s) pi) for t = 1, and rises to the memo's own.
"""

from fractions import Fraction

from discreet.core.random import WORD_RANGE

CHANGES_ARE_VISIBLE = (
    "A permanent report hides what the answer is, and not that it changes or when: the promise compares people whose "
    "answers change, and return to earlier ones, in the same rounds, each different answer costs it once more, and "
    "changes are hidden only where each person answers in rounds of her own (rotate)."
)
"""The sentence on what permanent reports do not hide."""


def second_threshold(truth: int, memo: int) -> int:
    """Return S_2, the largest with S_1 S_2 / 2^128 at most S / 2^64: the coin of every round, over 2^64.

    Args:
        truth: S, of one round.
        memo: S_1, of the memo, at least S.
    """
    return truth * WORD_RANGE // memo


def ratio_after(rounds: int, coins: tuple[Fraction, Fraction], chance: Fraction, inclusion: Fraction) -> Fraction:
    """Return the ratio of the probabilities that t rounds all show a block, of a value inside and outside, exactly.

    Args:
        rounds: t.
        coins: s_1 and s_2.
        chance: lambda, the probability of the block as noise.
        inclusion: pi, the probability that a noise block contains a given value.

    Example:
        >>> coins, chance = (Fraction(3, 5), Fraction(2, 3)), Fraction(1, 4)
        >>> [str(ratio_after(t, coins, chance, inclusion=chance)) for t in (1, 2)]
        ['11/3', '19/3']
    """
    memo, again = coins
    outside = 1 - memo
    inside = outside + memo / inclusion
    if again == 1:
        return inside / outside
    growth = chance * ((1 + again / ((1 - again) * chance)) ** rounds - 1)
    return (1 + inside * growth) / (1 + outside * growth)
