"""Memoized reports ("memos"): permanent reports with a second coin in every round, and the epsilon of several rounds.

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
from discreet.mechanisms.obfuscation import obfuscated, resent_reports
from discreet.theory.memo import ratio_after, second_threshold

# The most members of blocks that are examined one by one.
_MOST_LISTED = 1 << 16


def rare_chances(law: BlockLaw, has_others: bool) -> list[Fraction] | None:
    """Return probabilities of noise blocks, including the block that reveals most over several rounds.

    The result is None if there are too many blocks.

    Args:
        law: the block law.
        has_others: whether the domain has values that no block contains.
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
    # A block that contains every value does not distinguish any two.
    telling = contained.any(axis=1) & (has_others | ~contained.all(axis=1))
    return list(set(chances[telling].tolist()))


_MOST_BITS = 1 << 20
"""The most bits of an exact fraction, where a rare block is seen in many rounds."""


@dataclass(frozen=True, slots=True)
class Memo:
    """Memoized, permanent reports of a mechanism ("memos").

    In each round the second coin decides between memo and noise.

    The reports of a round are ordinary reports of the mechanism, which counts them and estimates from them.

    Attributes:
        mechanism: the mechanism of one round; its epsilon is eps_1.
        infinity: eps_infinity, the epsilon of any number of rounds, in nats, above eps_1. With None the memo is sent in
            every round, and eps_1 holds for any number of rounds.

    Raises:
        ParameterError: if eps_infinity is not a finite number above eps_1, or no value is sensitive.

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
        """Raise an error if eps_infinity, the epsilon of all rounds, is not above eps_1, the epsilon of one round."""
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
        """S_1, the truth threshold of the memo: the largest one that keeps the promise eps_infinity."""
        if self.infinity is None:
            return self.mechanism.threshold
        return truth_threshold(self.infinity, self.mechanism.law.inclusion)

    @property
    def coin_threshold(self) -> int:
        """S_2, the threshold of the second coin; 2^64 if the memo is sent in every round."""
        return second_threshold(self.mechanism.threshold, self.truth)

    @property
    def permanent(self) -> BlockMechanism:
        """The mechanism of the memo: the same block law, with threshold S_1.

        All rounds together reveal at most one memo.
        """
        mechanism = self.mechanism
        if self.infinity is None:
            return mechanism
        return LawMechanism(mechanism.domain, self.infinity, mechanism.law, mechanism.clear_blocks)

    def _revealing_chances(self, rounds: int) -> list[Fraction] | None:
        """Return probabilities of blocks, including the most revealing one; None if fractions get too long."""
        chances = rare_chances(self.mechanism.law, self.mechanism.domain.clear_count > 0)
        bits = max((chance.denominator.bit_length() for chance in chances or ()), default=0)
        return None if (bits + WORD_RANGE.bit_length()) * rounds > _MOST_BITS else chances

    def ratio(self, rounds: int | None = None) -> Fraction:
        """Return e^eps_t, the largest ratio of likelihoods over t rounds: exactly, or with many blocks an upper bound.

        Args:
            rounds: t; None for any number of rounds.
        """
        rounds = None if rounds is None else checked_whole("rounds", rounds)
        chances, pi = None if rounds is None else self._revealing_chances(rounds), self.mechanism.law.inclusion
        if rounds is None or chances is None:
            return likelihood_ratio(self.truth, pi)
        coins = Fraction(self.truth, WORD_RANGE), Fraction(self.coin_threshold, WORD_RANGE)
        return max((ratio_after(rounds, coins, chance, pi) for chance in chances), default=Fraction(1))

    def epsilon(self, rounds: int | None = None) -> float:
        """Return eps_t, the epsilon of t rounds or of any number of rounds, in nats, rounded up."""
        return logarithm(self.ratio(rounds))

    def obfuscate_rounds(
        self, codes: Any, people: Any, rounds: Any, *, random: RandomSource | None = None
    ) -> dict[int, Reports]:
        """Obfuscate people's values over several rounds, with one memo per person and value.

        Args:
            codes: ``(n,)`` codes of the values.
            people: ``(n,)`` integers: the person of each value.
            rounds: ``(n,)`` integers: the round of each value.
            random: the random words; None for fresh words under a key of the operating system.

        Returns:
            The reports of every round, in ascending order; within a round, people are in the order of the rows.

        Raises:
            DataError: if the columns have different lengths, or a person is in one round twice.
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
            int(time): resent_reports(sampling, memos.take(memo[row]), self.coin_threshold, source)
            for time, row in zip(times, rows, strict=True)
        }
