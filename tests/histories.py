"""All histories of blocks that a memo can send, with their chances, by enumeration."""

from fractions import Fraction
from math import lcm

import numpy as np

from discreet import Memo
from discreet.arrays import AnyArray
from discreet.core.random import WORD_RANGE


def whole(fractions: AnyArray) -> AnyArray:
    """Fractions as Python integers, over one denominator."""
    scale = lcm(*(fraction.denominator for fraction in fractions.reshape(-1)))
    return fractions * scale // 1


def of_blocks(memo: Memo) -> tuple[AnyArray, AnyArray]:
    """By value the chances of memos, blocks first, then values in clear; and by memo those of a round's blocks."""
    domain, law = memo.mechanism.domain, memo.mechanism.law
    truth, again = (Fraction(coin, WORD_RANGE) for coin in (memo.truth, memo.coin_threshold))
    blocks, chances = law.alphabet()
    contained = law.contains(blocks)
    told = np.full((domain.size, len(chances) + domain.size), Fraction(0), dtype=object)
    for code in range(domain.size):
        told[code, : len(chances)] = (1 - truth) * chances
        if domain.sensitive[code]:
            inside = contained[:, np.searchsorted(domain.sensitive_codes, code)]
            told[code, np.flatnonzero(inside)] += truth * chances[inside] / chances[inside].sum()
        else:
            told[code, len(chances) + code] = truth
    sent = np.repeat([(1 - again) * chances], told.shape[1], axis=0)
    sent[np.arange(len(chances)), np.arange(len(chances))] += again
    return whole(told), whole(sent)


def listed(memo: Memo, rounds: int) -> AnyArray:
    """By value the chances of all histories of blocks."""
    told, sent = of_blocks(memo)
    histories = sent
    for _ in range(rounds - 1):
        histories = (histories[:, :, None] * sent[:, None, :]).reshape(len(sent), -1)
    return told @ histories
