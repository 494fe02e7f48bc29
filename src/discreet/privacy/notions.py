"""Privacy notions of a matrix: the smallest epsilon for which LDP, ULDP or OSLDP holds.

The three notions [ULDP, Defs. 1 and 2; arXiv version, Def. 5 for OSLDP], over the outputs that can occur:

- LDP: no output is more than e^eps times likelier from one value than from another;
- ULDP: LDP holds for every protected output, and every other output has one possible cause, which is not sensitive;
- OSLDP (one-sided): no output is more than e^eps times likelier from a *sensitive* value than from any value.

The matrix determines Y_P and Y_I. An output with a single possible cause has no finite ratio, so it cannot be
protected. An output with several possible causes is not invertible. An output that never occurs is in neither set.
"""

from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from math import inf, nextafter
from numbers import Rational
from typing import Any, Literal, TypeAlias

import numpy as np

from discreet.arrays import AnyArray, BoolArray, read_only
from discreet.core.checks import checked_choice
from discreet.core.columns import reals
from discreet.errors import ParameterError
from discreet.mechanisms import Channel

Notion: TypeAlias = Literal["LDP", "ULDP", "OSLDP"]
"""A privacy notion by its name."""

_NOTIONS = ("LDP", "ULDP", "OSLDP")
_DIGITS = 60
_ROW_TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Protection:
    """The smallest epsilon for which a matrix satisfies a privacy notion, and its protected and invertible outputs.

    Attributes:
        notion: the notion.
        epsilon: the smallest epsilon for which the notion holds, in nats; infinite if no epsilon suffices.
        ratio: e^epsilon as an exact fraction; None for a matrix of floats, or if epsilon is infinite.
        protected: ``(|Y|,)`` Y_P, the outputs that the notion bounds.
        invertible: ``(|Y|,)`` Y_I, the outputs with a single possible cause, a value that is not sensitive.
        blocking: the first output for which no epsilon suffices; None if every output allows one.

    Example:
        >>> protection = smallest_epsilon([[0.75, 0.25, 0.0], [0.25, 0.25, 0.5]], "LDP")
        >>> protection.epsilon, protection.blocking
        (inf, 2)
    """

    notion: Notion
    epsilon: float
    ratio: Fraction | None
    protected: BoolArray
    invertible: BoolArray
    blocking: int | None


def smallest_epsilon(source: Channel | Any, notion: Notion, *, sensitive: Any = None) -> Protection:
    """Return the smallest epsilon for which a channel or a matrix satisfies a privacy notion.

    Args:
        source: a channel, checked by its sampler's integers; or an ``(|X|, |Y|)`` matrix. Floats are approximate;
            `Fraction` or integers are exact (their rows may add up to any common total).
        notion: ``"LDP"``, ``"ULDP"`` or ``"OSLDP"``.
        sensitive: ``(|X|,)`` booleans, X_S; for a matrix, unless the notion is LDP. A channel's domain has its X_S.

    Returns:
        epsilon, and the output that prevents a finite epsilon, if there is one.

    Raises:
        ParameterError: if the matrix does not hold probabilities, or ``sensitive`` has another size.

    Example:
        >>> protection = smallest_epsilon([[Fraction(3, 4), Fraction(1, 4)], [Fraction(1, 4), Fraction(3, 4)]], "LDP")
        >>> protection.ratio, round(protection.epsilon, 4)
        (Fraction(3, 1), 1.0986)
    """
    checked_choice("notion", notion, _NOTIONS)
    return _evaluated(*_checked(source, notion, sensitive), notion)


def required(protection: Protection, what: str) -> Protection:
    """Return a protection with a finite epsilon, or raise an error if epsilon is infinite.

    Args:
        protection: the protection.
        what: the name of the matrix in the message.

    Raises:
        ParameterError: if no epsilon suffices.

    Example:
        >>> round(required(smallest_epsilon([[0.75, 0.25], [0.25, 0.75]], "LDP"), "the matrix").epsilon, 4)
        1.0986
    """
    if protection.blocking is not None:
        reason = "can come from some values only" + (
            ", and not from exactly one value that is not sensitive" if protection.notion == "ULDP" else ""
        )
        raise ParameterError(
            "channel.no-epsilon", what=what, notion=protection.notion, blocking=protection.blocking, reason=reason
        )
    return protection


def exact_ratio(protection: Protection) -> Fraction:
    """Return e^epsilon as an exact fraction. The matrix must be exact and epsilon finite.

    Example:
        >>> import discreet as dc
        >>> exact_ratio(smallest_epsilon(dc.Channel([[0.75, 0.25], [0.25, 0.75]]), "LDP"))
        Fraction(3, 1)
    """
    if protection.ratio is None:
        raise ParameterError("ratio.not-exact", argument="ratio")
    return protection.ratio


def at_most(ratio: Fraction, epsilon: float) -> bool:
    """Return true if ln(ratio) <= epsilon. e^epsilon is computed with sixty digits.

    Example:
        >>> at_most(Fraction(3), 1.0), at_most(Fraction(2), 1.0)
        (False, True)
    """
    with localcontext() as context:
        context.prec = _DIGITS
        return Decimal(ratio.numerator) / Decimal(ratio.denominator) <= Decimal(epsilon).exp()


def logarithm(ratio: Fraction) -> float:
    """Return the natural logarithm of a likelihood ratio as a float, rounded up.

    Example:
        >>> round(logarithm(Fraction(3)), 4)
        1.0986
    """
    with localcontext() as context:
        context.prec = _DIGITS
        nearest = float((Decimal(ratio.numerator) / Decimal(ratio.denominator)).ln())
    return nearest if at_most(ratio, nearest) else nextafter(nearest, inf)


def _evaluated(matrix: AnyArray, sensitive: BoolArray, notion: Notion) -> Protection:
    possible = matrix > 0
    occurs = possible.any(axis=0)
    tells_one = (possible.sum(axis=0) == 1) & ~possible[sensitive].any(axis=0)
    bounded = {"LDP": occurs, "ULDP": occurs & ~tells_one, "OSLDP": possible[sensitive].any(axis=0)}[notion]
    invertible = np.zeros_like(tells_one) if notion == "LDP" else tells_one
    blocked = np.flatnonzero(bounded & ~possible.all(axis=0))
    masks = read_only(bounded), read_only(invertible)
    if len(blocked):
        return Protection(notion, inf, None, *masks, int(blocked[0]))
    ratio = _largest_ratio(matrix[:, bounded], sensitive if notion == "OSLDP" else slice(None))
    exact = matrix.dtype == object
    return Protection(notion, logarithm(ratio), ratio if exact else None, *masks, None)


def _largest_ratio(matrix: AnyArray, numerators: Any) -> Fraction:
    """Return the largest ratio between two entries of a column: one in the rows `numerators`, one in any row."""
    if matrix.size == 0:
        return Fraction(1)
    most, least = matrix[numerators].max(axis=0), matrix.min(axis=0)
    if matrix.dtype == object:
        return max(Fraction(high, low) for high, low in zip(most.tolist(), least.tolist(), strict=True))
    # The quotient of two doubles may overflow; a fraction of the same doubles cannot.
    steepest = int((np.log(most) - np.log(least)).argmax())
    return Fraction(float(most[steepest])) / Fraction(float(least[steepest]))


def _checked(source: Channel | Any, notion: Notion, sensitive: Any) -> tuple[AnyArray, BoolArray]:
    """Check a channel, or a matrix with booleans, and return the matrix and the sensitive rows."""
    if not getattr(source, "is_explicit", False):
        matrix = _checked_matrix(source)
        return matrix, _checked_sensitive(sensitive, len(matrix), notion)
    if sensitive is not None:
        raise ParameterError("sensitive.given-by-channel", argument="sensitive")
    return source.weights, source.domain.sensitive


def _checked_matrix(entries: Any) -> AnyArray:
    try:
        matrix = np.asarray(entries)
        matrix = matrix.astype(object) if matrix.dtype.kind in "Oiu" else reals(entries, "matrix")
    except (TypeError, ValueError):
        raise ParameterError("matrix.not-numbers", argument="matrix") from None
    if matrix.ndim != 2 or 0 in matrix.shape:
        raise ParameterError("matrix.wrong-shape", argument="matrix", shape=matrix.shape)
    if matrix.dtype == object:
        if not all(isinstance(entry, Rational) for entry in matrix.flat):
            raise ParameterError("matrix.mixed-types", argument="matrix")
        totals = matrix.sum(axis=1)
        sums_agree = totals[0] > 0 and bool((totals == totals[0]).all())
    else:
        sums_agree = bool(np.isfinite(matrix).all()) and abs(matrix.sum(axis=1) - 1).max() <= _ROW_TOLERANCE
    if not sums_agree or (matrix < 0).any():
        raise ParameterError("matrix.not-probabilities", argument="matrix")
    return matrix


def _checked_sensitive(flags: Any, size: int, notion: Notion) -> BoolArray:
    if flags is None and notion == "LDP":
        return np.ones(size, dtype=np.bool_)
    sensitive: BoolArray = np.asarray(flags)
    if sensitive.shape != (size,) or sensitive.dtype != np.bool_:
        raise ParameterError("sensitive.not-booleans", argument="sensitive", size=size, notion=notion)
    return sensitive
