"""Exact arithmetic of promises: from epsilon to the integers of the sampler, and back.

The truth-or-noise law meets epsilon with equality when s / (1 - s) = pi (e^eps - 1) [ULDP; DESIGN section 1]. A sampler
works with integers over 2^64, so s is rounded *down*: the realised epsilon is the logarithm of an exact fraction, and
at most the promise.
"""

from decimal import ROUND_FLOOR, Decimal, localcontext
from fractions import Fraction
from math import inf, nextafter

from discreet.core.checks import refuse_silence
from discreet.core.random import WORD_RANGE

_DIGITS = 120
# e^-200 is about 2^-289.
_WEIGHT_BITS = 400


def exponential_below(epsilon: float) -> Fraction:
    """Return a fraction just below e^epsilon, right to about a hundred digits."""
    with localcontext() as context:
        context.prec = _DIGITS
        value = Decimal(epsilon).exp()
        context.rounding = ROUND_FLOOR
        return Fraction(value * (1 - Decimal(10) ** (2 - _DIGITS)))


def noise_weight(epsilon: float) -> Fraction:
    """Return beta = 1 / (e^epsilon - 1), over 2^400 and rounded down: the odds of noise against truth.

    The same on every machine, which no exponential of doubles is.
    """
    return Fraction(int((1 << _WEIGHT_BITS) / (exponential_below(epsilon) - 1)), 1 << _WEIGHT_BITS)


def truth_threshold(epsilon: float, inclusion: Fraction) -> int:
    """Return the largest S such that telling the truth with probability S / 2^64 keeps the promise.

    Args:
        epsilon: the promise, in nats.
        inclusion: pi, the probability that a noise block contains a given sensitive value.

    Raises:
        ParameterError: if S is 0, so that reports would say nothing.
    """
    odds = inclusion * (exponential_below(epsilon) - 1)
    threshold = int(WORD_RANGE * odds / (1 + odds))
    refuse_silence(epsilon, threshold)
    return min(threshold, WORD_RANGE - 1)


def likelihood_ratio(threshold: int, inclusion: Fraction) -> Fraction:
    """Return e^eps as realised by the sampler: 1 + s / ((1 - s) pi), exactly."""
    return 1 + Fraction(threshold, WORD_RANGE - threshold) / inclusion


def logarithm(ratio: Fraction) -> float:
    """Return ln(ratio) of an exact fraction of any size, rounded up, so that no leak is understated.

    An epsilon that ln(ratio) does not exceed, it does not exceed after rounding either.
    """
    if ratio == 1:
        return 0.0
    with localcontext() as context:
        context.prec = _DIGITS
        exact = (Decimal(ratio.numerator) / Decimal(ratio.denominator)).ln()
        # The last digits may be off; no logarithm of a fraction but 1 is itself a double.
        exact += abs(exact) * Decimal(10) ** (2 - _DIGITS)
        nearest = float(exact)
        return nearest if Decimal(nearest) >= exact else nextafter(nearest, inf)
