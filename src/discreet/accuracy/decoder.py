"""Exact errors of linear decoders: their types, one number for a class of values or one for each."""

from typing import NamedTuple, TypeAlias

from discreet.arrays import FloatArray

PerValue: TypeAlias = float | FloatArray
"""One number for all sensitive values, or ``(v,)`` numbers."""


class Variances(NamedTuple):
    """The coefficients A and B of n Var(p_hat_x) = A + B p_x - p_x^2, for both classes of values."""

    sensitive: tuple[PerValue, PerValue]
    clear: tuple[PerValue, PerValue]


class WorthRanges(NamedTuple):
    """The least and the largest contribution of any one report to an estimate, for both classes of values."""

    sensitive: tuple[PerValue, PerValue]
    clear: tuple[float, float]
