"""Shares of people as integers over 2^64."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate

from discreet.core.random import WORD_RANGE


def whole_shares(shares: Sequence[Fraction]) -> list[int]:
    """Return shares as integers over 2^64 that add up to what the shares do, each within one of its share.

    Args:
        shares: exact numbers that add up to a whole number.

    Example:
        >>> whole_shares([Fraction(1, 3), Fraction(2, 3)])
        [6148914691236517205, 12297829382473034411]
    """
    ends = [int(end * WORD_RANGE) for end in accumulate(shares)]
    return [end - start for start, end in zip([0, *ends], ends, strict=False)]
