"""Translates of a set modulo V: cyclic designs, projective planes, and other difference sets.

A uniform index t shifts a set D modulo V, so that a block is t + D. Value x is the residue x, v <= V, and every value
is in |D| of the V translates. The number of translates that contain both x and x' is the number of pairs of elements of
D with difference x' - x. So

    pi = |D|/V,  rho = (pairs of D with a given difference)/|D|,

if the number of pairs is the same for all differences 1..v - 1, as for a difference set. A report is the index.
Examples are randomized response (D = {0}), all values but one, cyclic designs and projective planes. Devices get a set
of up to 4,096 elements with the sampler.
"""

from abc import abstractmethod
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import pairwise

import numpy as np

from discreet.arrays import AnyArray, BoolArray, IntArray
from discreet.core.checks import checked_whole, is_whole, quoted
from discreet.core.reports import Blocks
from discreet.errors import ParameterError
from discreet.mechanisms.block_law import ChosenLaw
from discreet.mechanisms.cyclic import CyclicMembership
from discreet.mechanisms.law import BlockMechanism, sensitive_size

_MOST_ELEMENTS = 1 << 12
LARGEST_MODULUS = 1 << 24


class TranslatesLaw(ChosenLaw):
    """A block law whose blocks are the translates t + D of a set D modulo V.

    Such a law defines V, pi, rho, and D, both as a mask and as a function of uniform integers.
    """

    __slots__ = ()

    index = "translate"

    @abstractmethod
    def elements(self, drawn: AnyArray) -> AnyArray:
        """Return equally likely elements of D for integers that are uniform below `choices`.

        Args:
            drawn: integers of 32 bits, or of 64 if there are more than 2^16 choices.

        Returns:
            integers 0..V - 1 of the same type.
        """

    @property
    @abstractmethod
    def mask(self) -> BoolArray:
        """Return ``(V,)`` booleans: true for the residues in the set D."""

    def residues(self, ranks: AnyArray) -> AnyArray:
        """Return the residues of values, given their ranks: the ranks themselves, unless a law skips some residues."""
        return ranks

    def containing(self, ranks: AnyArray, numbers: AnyArray) -> AnyArray:
        """Return the translates that contain values: a value minus an element of D."""
        modulus = numbers.dtype.type(self.alphabet_size)
        truthful = self.residues(ranks).astype(numbers.dtype) + (modulus - self.elements(numbers))
        # The sum is below 2 V; a number below V wraps round to a larger one.
        translates: AnyArray = np.minimum(truthful, truthful - modulus)
        return translates

    def support_of(self, counts: IntArray) -> IntArray:
        """Return ``(v,)`` T: for each value the summed counts of the translates that contain it, exactly."""
        return self.membership_of(counts).exact_sums(counts, self.choices)

    def membership_of(self, counts: IntArray) -> CyclicMembership:
        """Return the membership matrix of all translates of D, with their counts: x - t is in D."""
        size = self.alphabet_size
        backwards = -np.arange(size) % size
        return CyclicMembership.of(counts, self.mask, backwards, self.residues(np.arange(self.size)))

    def contains(self, blocks: Blocks) -> BoolArray:
        """Return ``(m, v)`` booleans: true where the translate contains the value."""
        beyond = self.residues(np.arange(self.size))[None, :] - blocks[self.index].astype(np.int64)[:, None]
        contained: BoolArray = self.mask[beyond % self.alphabet_size]
        return contained


@dataclass(frozen=True, slots=True)
class SetTranslates(TranslatesLaw):
    """Blocks of the values in a uniform translate of a given set.

    Attributes:
        size: v, the number of sensitive values; at least 1.
        modulus: V, at least v and 2, at most 2^24.
        base: D, ascending integers in 0..V - 1: at least one, at most 4,096, and not all of them.
    """

    kind = "translates"

    size: int
    modulus: int
    base: tuple[int, ...]
    _elements: IntArray = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Raise an error for a V out of range, or a D that is no set of residues modulo V.

        Raises:
            ParameterError: if V is out of range, or D is not a set of residues modulo V.
        """
        checked_whole("modulus", self.modulus, max(checked_whole("size", self.size), 2), LARGEST_MODULUS)
        most = min(_MOST_ELEMENTS, self.modulus - 1)
        size = len(self.base) if isinstance(self.base, tuple) else type(self.base).__name__
        if size not in range(1, most + 1):
            raise ParameterError("base.wrong-size", argument="base", most=most, size=size)
        whole = all(map(is_whole, self.base)) and self.base[0] >= 0 and self.base[-1] < self.modulus
        if not whole or any(number >= other for number, other in pairwise(self.base)):
            raise ParameterError("base.not-ascending", argument="base", value=self.modulus - 1)
        object.__setattr__(self, "_elements", np.array(self.base, dtype=np.int64))

    @property
    def inclusion(self) -> Fraction:
        """Return pi = |D|/V, the probability that a noise block contains a given value."""
        return Fraction(len(self.base), self.modulus)

    @property
    def conditional_inclusion(self) -> Fraction:
        """Return rho, the probability that a block of one value contains a second value.

        It is counted from pairs of elements of D.

        Raises:
            ParameterError: if rho differs between pairs of values: devices can draw such blocks, but nothing can be
                planned or estimated with them.
        """
        pairs = _pairs_per_difference(self.size, self.modulus, self.base)
        if pairs is None:
            raise ParameterError("base.not-difference-set", argument="base", value=self.size - 1, modulus=self.modulus)
        return Fraction(pairs, len(self.base))

    @property
    def alphabet_size(self) -> int:
        """Return V, the number of translates of a set modulo V."""
        return self.modulus

    @property
    def choices(self) -> int:
        """Return |D|, the number of uniform integers from which an element of D is drawn."""
        return len(self.base)

    def elements(self, drawn: AnyArray) -> AnyArray:
        """Return elements of D, given their positions; see `TranslatesLaw`."""
        return self._elements.astype(drawn.dtype)[drawn]

    @property
    def mask(self) -> BoolArray:
        """Return ``(V,)`` booleans: true for the elements of the set D."""
        mask = np.zeros(self.modulus, dtype=np.bool_)
        mask[self._elements] = True
        return mask


@lru_cache(maxsize=1 << 6)
def _pairs_per_difference(size: int, modulus: int, base: tuple[int, ...]) -> int | None:
    """Return the number of pairs of elements of D with a given difference.

    None if it is not the same for all differences 1..v - 1 modulo V.
    """
    elements, counts = np.array(base, dtype=np.int64), np.zeros(max(size, 2), dtype=np.int64)
    for element in base:
        beyond = (elements - element) % modulus
        counts[beyond[beyond < len(counts)]] += 1
    return int(counts[1]) if (counts[1:] == counts[1]).all() else None


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class TranslateResponse(BlockMechanism):
    """Translates of a set; utility-optimized when only some values are sensitive. A report is one index.

    The set must have equally many pairs with each difference, as a cyclic difference set has. Blocks are its
    translates. Everybody who knows the plan can draw them and count them.

    Args:
        domain: the values and which of them are sensitive.
        epsilon: the privacy promise, in nats.
        modulus: V, at least the number of sensitive values.
        base: D, ascending integers in 0..V - 1.

    Raises:
        ParameterError: if epsilon is not a finite number above 0, or base is not such a set.

    Example:
        >>> import discreet as dc
        >>> plane = TranslateResponse(dc.Domain(range(13)), epsilon=1.0, modulus=13, base=(0, 1, 3, 9))
        >>> plane.law.inclusion, plane.law.conditional_inclusion
        (Fraction(4, 13), Fraction(1, 4))
        >>> subsets = dc.SubsetSelection(dc.Domain(range(13)), epsilon=1.0, k=4)
        >>> [sum(column.bytes for column in one.columns) for one in (plane, subsets)]
        [1, 4]
        >>> round(plane.decoder.worst_case_mse(1) / subsets.decoder.worst_case_mse(1), 6)
        1.0
    """

    name = "translates"
    laws = (SetTranslates,)
    modulus: int = field()
    base: tuple[int, ...] = field()

    def __post_init__(self) -> None:
        """Store the set ``base`` as a tuple, and check the parameters of the mechanism.

        Raises:
            ParameterError: if the parameters define no law.
        """
        if not isinstance(self.base, list | tuple):
            raise ParameterError("base.not-integers", argument="base", base=quoted(self.base))
        object.__setattr__(self, "modulus", checked_whole("modulus", self.modulus))
        object.__setattr__(self, "base", tuple(int(number) if is_whole(number) else number for number in self.base))
        super().__post_init__()

    @property
    def settings(self) -> dict[str, float]:
        """Return V and k: the modulus of the translates, and the size of the set D that is translated."""
        return {"V": self.modulus, "k": len(self.base)}

    @cached_property
    def law(self) -> SetTranslates:
        """The block law: translates of the set ``base`` modulo V."""
        law = SetTranslates(sensitive_size(self.domain), self.modulus, self.base)
        _ = law.conditional_inclusion
        return law
