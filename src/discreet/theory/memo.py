"""Memoized reports ("memos") with a second coin in every round: the exact epsilon of several rounds.

A *memo* is a stored report, drawn with truth probability s_1. In each round the device sends it with probability s_2,
and otherwise fresh noise from the block law Lambda, which may also replace a value in clear. The truth passes both
coins with probability s = s_1 s_2, and everything else is noise. So the reports of one round are reports of the
mechanism with truth probability s, and as exact. (RAPPOR [Erlingsson et al. 2014] has two coins for every bit.)

After t rounds, the most revealing outcome is one block A in all rounds. Let lambda = Lambda(A),
r = 1 + s_2/((1 - s_2) lambda), and P(A) the probability of the memo A. Then every value has this outcome with
probability (1 - s_2)^t lambda^t (1 + P(A) (r^t - 1)), so

    e^eps_t = (1 + P_in (r^t - 1)) / (1 + P_out (r^t - 1)),
    P_in = lambda (1 - s_1 + s_1/pi),  P_out = lambda (1 - s_1).

Rounds with several blocks reveal less, because lambda (r^t - 1) is convex in t. The ratio is largest for the rarest
block. It is e^eps_1 = 1 + s/((1 - s) pi) for t = 1, and rises to the memo's own e^eps.
"""

from fractions import Fraction

from discreet.core.random import WORD_RANGE

CHANGES_ARE_VISIBLE = (
    "A permanent report hides the answer, but not when it changes. The promise compares people whose answers change, "
    "and return to earlier answers, in the same rounds. Each different answer costs the epsilon once more. Changes are "
    "hidden only if each person answers in rounds of their own (rotate)."
)
"""The sentence on the limits of permanent reports."""


def second_threshold(truth: int, memo: int) -> int:
    """Return S_2, the threshold of the second coin: the largest integer with S_1 S_2 / 2^128 at most S / 2^64.

    Args:
        truth: S, the truth threshold of one round.
        memo: S_1, the truth threshold of the memo, at least S.
    """
    return truth * WORD_RANGE // memo


def ratio_after(rounds: int, coins: tuple[Fraction, Fraction], chance: Fraction, inclusion: Fraction) -> Fraction:
    """Return e^epsilon of t rounds if all rounds show the same block: an exact likelihood ratio.

    It compares a value inside the block with a value outside.

    Args:
        rounds: t, the number of rounds.
        coins: the probabilities s_1 and s_2.
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
