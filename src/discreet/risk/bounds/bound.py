"""Bounds: numbers with their unit, source and condition."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

Unit: TypeAlias = Literal["bits", "probability", "share"]
"""Of information; of being right or wrong; of information let through, or of certainty."""

ERROR = "error at least"
"""The bound that is one from below."""

NO_LIMIT = "no limit"
"""Of a bound that says nothing."""

_SAME = 1 + 1e-12


@dataclass(frozen=True, slots=True)
class Bound:
    """A bound, perhaps attained: a number with its unit, source and condition.

    Attributes:
        value: the number.
        unit: its unit.
        what: its name, in words.
        source: its derivation, in words.
        exact: whether some source attains it.
        condition: a condition beyond those on users and mechanism; empty if there is none.

    Example:
        >>> print(Bound(2.5, "bits", "PIE", "capacity of n values", exact=True))
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
        value = f"{self.value:.4g}" if self.unit == "bits" or self.what == ERROR else limit(self.value)
        return f"{self.what}: {value}{unit} ({how}, {self.source}{when})"


def limit(value: float, ceiling: float = 1.0) -> str:
    """Return a bound in figures; "no limit" where they reach those of what holds anyway, such as a probability of 1.

    Example:
        >>> limit(0.25), limit(0.99999), limit(12.5592, ceiling=12.5596)
        ('0.25', 'no limit', 'no limit')
    """
    shown = f"{value:.4g}"
    return shown if float(shown) < float(f"{ceiling:.4g}") else NO_LIMIT


def at_most(value: float, ceiling: float = 1.0, *, otherwise: str = NO_LIMIT) -> str:
    """Return a bound in words: "at most" with its figures, or other words where it is no limit.

    Example:
        >>> at_most(0.25), at_most(1.0)
        ('at most 0.25', 'no limit')
    """
    shown = limit(value, ceiling)
    return otherwise if shown == NO_LIMIT else f"at most {shown}"


def least(bounds: Iterable[Bound]) -> Bound:
    """Return the smallest bound; of those equal up to rounding an exact one, then the first.

    Example:
        >>> bounds = [Bound(2.5, "bits", "PIE", "one bound"), Bound(1.5, "bits", "PIE", "another bound")]
        >>> least(bounds).source
        'another bound'
    """
    candidates = list(bounds)
    most = min(bound.value for bound in candidates) * _SAME
    return min((bound for bound in candidates if bound.value <= most), key=lambda bound: not bound.exact)
