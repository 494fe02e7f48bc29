"""Promises in digits: epsilons, deltas, chances and how sure people can get, never printed better than they are.

A promise is an upper end, and rounded to the nearest it may be stated too small. So every promise is rounded upwards
here, and what no number of users lowers is rounded downwards. Both start from the shortest decimal number that a float
stands for, 0.1 and not the 0.1000000000000000055 that it holds; no other tolerance takes "a little above 1" for 1.
"""

from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from math import exp

DIGITS = 4
"""Digits of a promise, where nothing else is said."""


def rounded_up(number: float, digits: int = DIGITS) -> str:
    """Return a number of at least 0 in so many digits, rounded up: a promise is never stated too small.

    Args:
        number: an epsilon, a delta, a chance or a percentage.
        digits: without leading zeros, 1 to 15.

    Example:
        >>> rounded_up(0.0889601), rounded_up(0.0889601, 2), rounded_up(3.0), rounded_up(1.01e-7, 2)
        ('0.08897', '0.089', '3', '1.1e-07')
    """
    return _rounded(number, digits, ROUND_CEILING)


def rounded_down(number: float, digits: int = DIGITS) -> str:
    """Return a number of at least 0 in so many digits, rounded down: for lower ends and floors.

    Example:
        >>> rounded_down(0.0889699), rounded_down(3.0)
        ('0.08896', '3')
    """
    return _rounded(number, digits, ROUND_FLOOR)


def _rounded(number: float, digits: int, way: str) -> str:
    if number <= 0:
        return "0"
    # Fifteen digits show every decimal number of so many or fewer as it is.
    return f"{float(Context(prec=digits, rounding=way).create_decimal(repr(float(number)))):.15g}"


def sureness(epsilon: float) -> float:
    """Return the share that 50% becomes at most, in whoever learns epsilon: e^epsilon / (1 + e^epsilon).

    Args:
        epsilon: what is learned, in nats.

    Example:
        >>> round(sureness(2.0), 3), sureness(0.0), sureness(1000.0)
        (0.881, 0.5, 1.0)
    """
    # e^-epsilon, not e^epsilon: no overflow.
    return 1 / (1 + exp(-epsilon))
