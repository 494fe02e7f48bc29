"""The same question in several rounds: schedules, and the exact promise of permanent reports with a second coin.

A *memo* is a report that was drawn with the truth probability s_1 and is kept. In each round it is sent with
probability s_2, and otherwise fresh noise from the law of blocks Lambda, also in place of a value in clear. The truth
survives both coins with s = s_1 s_2, and all else is noise: so the reports of one round are those of the mechanism with
s, and as exact as those of any mechanism of its epsilon. (RAPPOR [Erlingsson et al. 2014] has two coins for every bit.)

After t rounds the most is known where all show one block A. With lambda = Lambda(A) and r = 1 + s_2/((1 - s_2) lambda)
every value has shown it with (1 - s_2)^t lambda^t (1 + P(A) (r^t - 1)), where P(A) is the probability of the memo, so

    e^eps_t = (1 + P_in (r^t - 1)) / (1 + P_out (r^t - 1)),
    P_in = lambda (1 - s_1 + s_1/pi),  P_out = lambda (1 - s_1).

Rounds that show several blocks tell less: the sum over blocks of lambda (r^t - 1) grows with its convexity in t, and
is largest for the rarest one. It is e^eps_1 = 1 + s/((1 - s) pi) for t = 1, and rises to that of the memo.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, NamedTuple, get_args

from discreet.core.checks import checked_choice, checked_epsilon, checked_flag, checked_whole
from discreet.core.random import WORD_RANGE
from discreet.errors import ParameterError

How = Literal["memo", "rotate", "fresh"]
"""Ways to ask in several rounds: a permanent report, each person in one round alone, or a new report every time."""

NOT_HIDDEN = (
    "A permanent report hides what the answer is, and not that it changes or when: the promise compares people whose "
    "answers change, and return to earlier ones, in the same rounds, each different answer costs it once more, and "
    "changes are hidden only where each person answers in rounds of her own (rotate)."
)
"""The sentence on what permanent reports do not hide."""

MOST_ROUNDS = 1000
"""Rounds of a survey."""

ROUND = "round"
"""The column of rounds beside reports of surveys that have some."""


@dataclass(frozen=True, slots=True)
class Rounds:
    """The rounds in which a survey asks the same people, with all of its epsilon for all of them together.

    Attributes:
        number: T, the number of rounds.
        how: ``"memo"``, ``"rotate"`` or ``"fresh"``.
        first: of memos, the epsilon that one round tells at most, below that of all rounds; None without a second coin.
        answers: of rotate, the number of rounds in which each person answers, drawn beforehand.
        redrawn: whether a person's questions are drawn anew in each round. Memos of all questions are then made.

    Raises:
        ParameterError: if a number is out of range, or does not go with the way to ask.

    Example:
        >>> Rounds(12, first=1.8).each(2.0), Rounds(12, how="fresh").each(2.0), Rounds(12, how="rotate").turns
        (Fraction(8106479329266893, 4503599627370496), Fraction(1, 6), 1)
    """

    number: int
    how: How = "memo"
    first: float | None = None
    answers: int = 1
    redrawn: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "number", checked_whole("number", self.number, 2, MOST_ROUNDS))
        checked_choice("how", self.how, get_args(How))
        object.__setattr__(self, "answers", checked_whole("answers", self.answers, 1, self.number))
        checked_flag("redrawn", self.redrawn)
        if self.first is not None:
            object.__setattr__(self, "first", checked_epsilon(self.first))
        if self.first is not None and not self.keeps:
            raise ParameterError(f"first is for how = 'memo', the epsilon of one of its rounds; got how={self.how!r}.")
        if self.answers > 1 and self.how != "rotate":
            raise ParameterError(f"answers in rounds is for how = 'rotate'; got how={self.how!r}, which asks in all.")

    @property
    def keeps(self) -> bool:
        """True if reports are kept and sent again."""
        return self.how == "memo"

    @property
    def turns(self) -> int:
        """The number of rounds in which a person answers."""
        return self.answers if self.how == "rotate" else self.number

    def each(self, epsilon: float) -> Fraction:
        """Return the most that a person's answers in one round may promise, of epsilon in all.

        Raises:
            ParameterError: if that of one round is not below epsilon.
        """
        if not self.keeps:
            return Fraction(epsilon) / self.turns
        if self.first is not None and self.first >= epsilon:
            raise ParameterError(
                f"first must be below the epsilon of all rounds, {epsilon:g}, got {self.first:g}; leave it out to send "
                "the memo itself in every round."
            )
        return Fraction(epsilon if self.first is None else self.first)

    def facts(self) -> list[Any]:
        """Return all of it, for a fingerprint."""
        return [self.number, self.how, None if self.first is None else self.first.hex(), self.answers, self.redrawn]


def most_together(curves: Sequence[Sequence[float]], reports: int) -> Fraction:
    """Return the largest sum of epsilons of memos that have so many reports together.

    Args:
        curves: of each memo the epsilon of 0, 1, 2, ... reports, ascending.
        reports: of all memos.

    Example:
        >>> most_together([[0, 1, 1.5], [0, 1, 1.75]], 3)
        Fraction(11, 4)
    """
    best = [Fraction(0)] * (reports + 1)
    for curve in curves:
        exact = [Fraction(epsilon) for epsilon in curve[: reports + 1]]
        best = [max(best[n - k] + part for k, part in enumerate(exact[: n + 1])) for n in range(reports + 1)]
    return best[-1]


def second_threshold(truth: int, memo: int) -> int:
    """Return S_2, the largest with S_1 S_2 / 2^128 at most S / 2^64: the coin of every round, over 2^64.

    Args:
        truth: S, of one round.
        memo: S_1, of the memo, at least S.
    """
    return truth * WORD_RANGE // memo


class RareBlock(NamedTuple):
    """A block that tells as much in several rounds as any other of its kind.

    Attributes:
        chance: lambda, the probability of the block as noise.
        inside: pi of a value that it contains.
        beside: pi of the value that it is compared with; None for one that the block does not contain.
    """

    chance: Fraction
    inside: Fraction
    beside: Fraction | None = None


def ratio_after(rounds: int, coins: tuple[Fraction, Fraction], block: RareBlock) -> Fraction:
    """Return the ratio of the probabilities that t rounds all show a block, of a value inside and of another, exactly.

    Args:
        rounds: t.
        coins: s_1 and s_2.
        block: what they show.

    Example:
        >>> coins, block = (Fraction(3, 5), Fraction(2, 3)), RareBlock(Fraction(1, 4), Fraction(1, 4))
        >>> [str(ratio_after(t, coins, block)) for t in (1, 2)]
        ['11/3', '19/3']
    """
    memo, again = coins
    inside = 1 - memo + memo / block.inside
    outside = 1 - memo + (0 if block.beside is None else memo / block.beside)
    if again == 1:
        return inside / outside
    growth = block.chance * ((1 + again / ((1 - again) * block.chance)) ** rounds - 1)
    return (1 + inside * growth) / (1 + outside * growth)
