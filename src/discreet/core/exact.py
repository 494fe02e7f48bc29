"""Exact arithmetic of promises: from epsilon to the integers of the sampler, and back.

The truth-or-noise law meets epsilon with equality when s / (1 - s) = pi (e^eps - 1) [ULDP; DESIGN section 1]. A sampler
works with integers over 2^64, so s is rounded *down*: what is realised is at most what was promised, and it is the
logarithm of an exact fraction.
"""

from decimal import ROUND_FLOOR, Decimal, localcontext
from fractions import Fraction
from math import inf, isfinite, nan, nextafter
from numbers import Integral, Real

from discreet.core.random import WORD_RANGE
from discreet.errors import ParameterError

_DIGITS = 120
# e^-200 is about 2^-289.
_WEIGHT_BITS = 400
_LARGEST_EPSILON = 200.0
# Characters of a text, and bits of an integer, that a refusal quotes.
_QUOTED = 64


def real_number(given: object) -> float:
    """Return a number as a float; nan if it is no real number, inf if it is too large for one."""
    if not isinstance(given, Real) or isinstance(given, bool):
        return nan
    try:
        return float(given)
    except OverflowError:
        return inf


def shown(given: object) -> str:
    """Return the form in which a refusal quotes a parameter: numbers and short texts as such, others by type."""
    if isinstance(given, Integral) and int(given).bit_length() > _QUOTED:
        return f"an integer of {int(given).bit_length()} bits"
    short = isinstance(given, str) and len(given) <= _QUOTED
    return repr(given) if short or given is None or isinstance(given, Real) else type(given).__name__


def checked_epsilon(epsilon: object) -> float:
    """Return ``epsilon`` as a float, or refuse it.

    Raises:
        ParameterError: if it is not a finite number above 0, or so large that it protects nothing.
    """
    number = real_number(epsilon)
    if not isfinite(number) or number <= 0:
        raise ParameterError(f"epsilon must be a finite number > 0, got epsilon={shown(epsilon)}.")
    if number > _LARGEST_EPSILON:
        raise ParameterError(
            f"epsilon must be at most {_LARGEST_EPSILON:g}, got epsilon={shown(epsilon)}: that protects nothing."
        )
    return number


def refuse_silence(epsilon: float, threshold: float) -> None:
    """Refuse an epsilon for which S, or another threshold, is below 1, so that no report tells the truth.

    Raises:
        ParameterError: if so.
    """
    if threshold < 1:
        raise ParameterError(
            f"epsilon={epsilon!r} is so small that the truth would never be told; choose a larger one."
        )


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


def checked_n(n: object) -> int:
    """Return a number of reports, or refuse it."""
    return checked_whole("n", n)


def checked_whole(name: str, given: object, least: int = 1, most: int = (1 << 63) - 1) -> int:
    """Return an integer in least..most, or refuse it under its name.

    Raises:
        ParameterError: if so.
    """
    if isinstance(given, bool) or not isinstance(given, Integral) or not least <= int(given) <= most:
        room = f"of at least {least} that fits into 64 bits" if most == (1 << 63) - 1 else f"in {least}..{most}"
        raise ParameterError(f"{name} must be an integer {room}, got {name}={shown(given)}.")
    return int(given)
