"""Memos: permanent reports with a second coin, and the exact promise of several rounds of them.

The theory is in `discreet.theory.memo`.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.core.checks import checked_epsilon, checked_whole
from discreet.core.columns import integers, numbered
from discreet.core.guarantee import likelihood_ratio, logarithm
from discreet.core.random import WORD_RANGE, RandomSource, checked_source
from discreet.core.reports import Reports
from discreet.errors import DataError, ParameterError
from discreet.mechanisms.block_law import BlockLaw
from discreet.mechanisms.law import BlockMechanism, LawMechanism, truth_threshold
from discreet.mechanisms.obfuscation import obfuscated, sent_again
from discreet.theory.memo import ratio_after, second_threshold

# Members of blocks that are looked at one by one.
_MOST_LISTED = 1 << 16


def rare_chances(law: BlockLaw, has_others: bool) -> list[Fraction] | None:
    """Return probabilities of noise blocks, the one that reveals most in several rounds among them.

    None if there are too many blocks.

    Args:
        law: of the blocks.
        has_others: whether there are values beside the v, which no block contains.
    """
    if hasattr(law, "rare_chances"):
        offered: list[Fraction] | None = law.rare_chances(has_others)
        return offered
    if getattr(law, "blocks_alike", False):
        return [Fraction(1, law.alphabet_size)]
    if law.alphabet_size * law.size > _MOST_LISTED:
        return None
    blocks, chances = law.alphabet()
    contained = law.contains(blocks)
    # A block of every value there is compares none with another.
    telling = contained.any(axis=1) & (has_others | ~contained.all(axis=1))
    return list(set(chances[telling].tolist()))


_MOST_BITS = 1 << 20
"""Of a fraction that is worked with, where many rounds show a rare block."""


@dataclass(frozen=True, slots=True)
class Memo:
    """Permanent reports of a mechanism, and the coin that decides in each round whether the memo is sent or noise.

    The reports of a round are those of the mechanism, and all that is made of them is made by it.

    Attributes:
        mechanism: of one round; its epsilon is eps_1.
        infinity: eps_infinity, the promise for any number of rounds, in nats, above that of the mechanism; None for a
            memo that is sent in every round, whose promise is the mechanism's.

    Raises:
        ParameterError: if infinity is no such promise, or nothing is sensitive.

    Example:
        >>> import discreet as dc
        >>> memo = dc.Memo(dc.RandomizedResponse(dc.Domain(range(10)), epsilon=1.0), infinity=2.0)
        >>> [round(memo.epsilon(rounds), 3) for rounds in (1, 2, 3, 12)]
        [1.0, 1.753, 1.96, 2.0]
        >>> months = memo.obfuscate_rounds([3, 3, 4], people=[7, 8, 7], rounds=[1, 1, 2], random=dc.SeededRandom(1))
        >>> {month: reports.n for month, reports in months.items()}
        {1: 2, 2: 1}
    """

    mechanism: BlockMechanism
    infinity: float | None = None

    def __post_init__(self) -> None:
        """Refuse what is no promise for a memo."""
        mechanism = BlockMechanism.checked(self.mechanism)
        if mechanism.guarantee.notion == "none":
            raise ParameterError("memo.nothing-sensitive")
        if self.infinity is not None:
            object.__setattr__(self, "infinity", checked_epsilon(self.infinity))
            if self.truth <= mechanism.threshold:
                raise ParameterError(
                    "memo.epsilon-too-small", argument="infinity", epsilon=mechanism.epsilon, infinity=self.infinity
                )

    @property
    def truth(self) -> int:
        """S_1, the truth threshold of the memo: the largest that keeps the promise."""
        if self.infinity is None:
            return self.mechanism.threshold
        return truth_threshold(self.infinity, self.mechanism.law.inclusion)

    @property
    def again(self) -> int:
        """S_2, the threshold of the coin of every round; 2^64 where the memo is always sent."""
        return second_threshold(self.mechanism.threshold, self.truth)

    @property
    def permanent(self) -> BlockMechanism:
        """The mechanism of the memo: the same law, with S_1; all rounds together tell no more than its one report."""
        mechanism = self.mechanism
        if self.infinity is None:
            return mechanism
        return LawMechanism(mechanism.domain, self.infinity, mechanism.law, mechanism.clear_blocks)

    def _telling(self, rounds: int) -> list[Fraction] | None:
        """Return probabilities of blocks, one of which tells most in these rounds; None if numbers grow too large."""
        chances = rare_chances(self.mechanism.law, self.mechanism.domain.clear_count > 0)
        bits = max((chance.denominator.bit_length() for chance in chances or ()), default=0)
        return None if (bits + WORD_RANGE.bit_length()) * rounds > _MOST_BITS else chances

    def ratio(self, rounds: int | None = None) -> Fraction:
        """Return e^eps_t, exactly; see `is_exact`.

        Args:
            rounds: t; None for any number.
        """
        rounds = None if rounds is None else checked_whole("rounds", rounds)
        chances, pi = None if rounds is None else self._telling(rounds), self.mechanism.law.inclusion
        if rounds is None or chances is None:
            return likelihood_ratio(self.truth, pi)
        coins = Fraction(self.truth, WORD_RANGE), Fraction(self.again, WORD_RANGE)
        return max((ratio_after(rounds, coins, chance, pi) for chance in chances), default=Fraction(1))

    def is_exact(self, rounds: int) -> bool:
        """Return true if `ratio` is the largest there is, and not only above it, as where blocks are too many."""
        return self._telling(rounds) is not None

    def epsilon(self, rounds: int | None = None) -> float:
        """Return eps_t for t rounds, or for any number, in nats, rounded up; see `ratio`."""
        return logarithm(self.ratio(rounds))

    def obfuscate_rounds(
        self, codes: Any, people: Any, rounds: Any, *, random: RandomSource | None = None
    ) -> dict[int, Reports]:
        """Obfuscate values of people in rounds, each person with one memo for each different value.

        Args:
            codes: ``(n,)`` of the values.
            people: ``(n,)`` integers, the person of each.
            rounds: ``(n,)`` integers, the round of each.
            random: the words; None for fresh ones from the operating system's key.

        Returns:
            The reports of every round, ascending; within one, people are in the order of the rows.

        Raises:
            DataError: if the columns do not fit together, or a person is in one round twice.
        """
        source, codes = checked_source(random), self.mechanism.domain.check_codes(codes)
        people, rounds = (integers(column, name) for column, name in ((people, "people"), (rounds, "rounds")))
        if not len(codes) == len(people) == len(rounds):
            raise DataError(
                "rounds.different-lengths", codes_count=len(codes), people_count=len(people), rounds_count=len(rounds)
            )
        (_, person), (times, when) = numbered(people), numbered(rounds)
        if len(numbered(person * len(times) + when)[0]) < len(codes):
            raise DataError("rounds.repeated-person")
        pairs, memo = numbered(person * self.mechanism.domain.size + codes)
        sampling = self.mechanism._sampling(self.truth)
        memos = obfuscated(sampling, pairs % self.mechanism.domain.size, source)
        rows = (np.flatnonzero(when == place) for place in range(len(times)))
        return {
            int(time): sent_again(sampling, memos.take(memo[row]), self.again, source)
            for time, row in zip(times, rows, strict=True)
        }
