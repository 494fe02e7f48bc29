"""Figures: numbers with their unit, source and condition."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

Unit: TypeAlias = Literal["bits", "probability", "share"]
"""Of information; of being right or wrong; of information let through, or of certainty."""

_SAME = 1 + 1e-12


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure: a number with its unit, source and condition.

    Attributes:
        value: the number.
        unit: its unit.
        what: what it is, in words.
        source: where it comes from.
        exact: whether some source attains it; else it is a bound.
        condition: what must hold beyond what is said of users and mechanism; empty if nothing.

    Example:
        >>> print(Figure(2.5, "bits", "PIE", "capacity of n values", exact=True))
        PIE: 2.5 bits (exactly, capacity of n values)
    """

    value: float
    unit: Unit
    what: str
    source: str
    exact: bool = False
    condition: str = ""

    def __str__(self) -> str:
        unit = " bits" if self.unit == "bits" else ""
        how = "exactly" if self.exact else "bound"
        when = f"; {self.condition}" if self.condition else ""
        return f"{self.what}: {self.value:.4g}{unit} ({how}, {self.source}{when})"


def least(figures: Iterable[Figure]) -> Figure:
    """Return the smallest figure; of those equal up to rounding an exact one, then the first.

    Example:
        >>> figures = [Figure(2.5, "bits", "PIE", "one bound"), Figure(1.5, "bits", "PIE", "another bound")]
        >>> least(figures).source
        'another bound'
    """
    figures = list(figures)
    most = min(one.value for one in figures) * _SAME
    return min((one for one in figures if one.value <= most), key=lambda one: not one.exact)
