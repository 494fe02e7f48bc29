"""Paley blocks: translates of the squares modulo a prime, a response with one small index like Hadamard's.

For a prime q of the form 4 m + 3 the non-zero squares modulo q are a difference set [Paley 1933]: of the q translates
t + squares, every value is in (q - 1)/2, and any two values are together in (q - 3)/4. A block is a uniform translate,
restricted to the v sensitive values 0..v - 1, v <= q. So

    pi = (q - 1)/(2 q),  rho = (q - 3)/(2 (q - 1)),

both below 1/2: where v is just below such a prime, its error is nearer to the least one than that of Hadamard columns.
"""

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from discreet.arrays import AnyArray, BoolArray, sealed
from discreet.core.checks import checked_whole
from discreet.mechanisms.law import BlockMechanism, sensitive_size
from discreet.mechanisms.primes import next_prime
from discreet.mechanisms.translates import TranslatesLaw

# Squares of numbers below q, and products of q and v, stay far below 2^63.
_LARGEST_SIZE = 1 << 20


@dataclass(frozen=True, slots=True)
class PaleyTranslates(TranslatesLaw):
    """The values of a uniform translate of the non-zero squares modulo a prime.

    Attributes:
        size: v, the number of sensitive values; at least 1.
        prime: q, the least prime of the form 4 m + 3 that is at least v, and at least 7.
    """

    kind = "paley"

    size: int
    prime: int = field(init=False)

    def __post_init__(self) -> None:
        """Find the prime.

        Raises:
            ParameterError: if there is no value, or there are more than 2^20.
        """
        checked_whole("size", self.size, 1, _LARGEST_SIZE)
        object.__setattr__(self, "prime", next_prime(max(self.size, 7), step=4, rest=3))

    @property
    def inclusion(self) -> Fraction:
        """Return pi = (q - 1)/(2 q)."""
        return Fraction(self.prime - 1, 2 * self.prime)

    @property
    def conditional_inclusion(self) -> Fraction:
        """Return rho = (q - 3)/(2 (q - 1))."""
        return Fraction(self.prime - 3, 2 * (self.prime - 1))

    @property
    def alphabet_size(self) -> int:
        """Return q."""
        return self.prime

    def describe(self) -> dict[str, Any]:
        """Return v and q."""
        return {"law": self.kind, "size": self.size, "prime": self.prime}

    @classmethod
    def of_parts(cls, parts: dict[str, Any]) -> "PaleyTranslates":
        """Return the law of a description, whose prime is compared with the law's; see `CommonLaw.of_parts`."""
        return cls(parts["size"])

    @property
    def choices(self) -> int:
        """Return q - 1: every square is that of two numbers."""
        return self.prime - 1

    def elements(self, drawn: AnyArray) -> AnyArray:
        """Return squares; see `TranslatesLaw`."""
        squares: AnyArray = drawn + drawn.dtype.type(1)
        squares *= squares
        # The remainder, by a quotient, which NumPy finds several times faster.
        squares -= squares // squares.dtype.type(self.prime) * squares.dtype.type(self.prime)
        return squares

    @property
    def mask(self) -> BoolArray:
        """Return ``(q,)`` booleans: the non-zero squares."""
        return _squares(self.prime)


@lru_cache(maxsize=8)
def _squares(prime: int) -> BoolArray:
    """Return ``(q,)`` booleans: the non-zero squares."""
    marked = np.zeros(prime, dtype=np.bool_)
    marked[np.arange(1, prime, dtype=np.int64) ** 2 % prime] = True
    return sealed(marked)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class PaleyResponse(BlockMechanism):
    """Paley response; utility-optimized when only some values are sensitive. One index per report.

    Args:
        domain: the values and which of them are sensitive.
        epsilon: the privacy promise, in nats.

    Raises:
        ParameterError: if epsilon is not a finite number above 0, or too small for any truth to be told.

    Example:
        >>> from discreet import Domain, HadamardResponse
        >>> mechanism = PaleyResponse(Domain(range(10)), epsilon=1.0)
        >>> mechanism.law.prime
        11
        >>> beside = HadamardResponse(Domain(range(10)), epsilon=1.0)
        >>> round(mechanism.decoder.worst_case_mse(1) / beside.decoder.worst_case_mse(1), 3)
        0.767
    """

    name = "paley"
    laws = (PaleyTranslates,)

    @cached_property
    def law(self) -> PaleyTranslates:
        """The block law."""
        return PaleyTranslates(sensitive_size(self.domain))
