"""Tallies: the integer counts that linear estimates need, and the batches that were counted.

Tallies of disjoint reports add up exactly, also by group and with weights.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np

from discreet.arrays import IntArray, read_only
from discreet.core.batches import NamedBatch, merged
from discreet.core.checks import is_whole
from discreet.core.reports import check_header, check_same_plan, is_plain
from discreet.errors import DataError, MismatchError

_SAFE = 2.0**62


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Tally:
    """The counts of a batch of reports; a commutative monoid under ``+`` whose zero is `Mechanism.empty_tally`.

    Attributes:
        fingerprint: fingerprint of the plan.
        n: number of reports.
        support: T, the counts of blocks. By default ``(v,)``: T_x counts the blocks that contain x. A design with two
            block sizes counts each size separately, ``(2 v,)``. A law with a small alphabet counts each of its blocks,
            such as ``(V,)`` translates. An explicit channel counts each output, ``(|Y|,)``.
        clear: ``(|X_N|,)`` F: for each value that is not sensitive, the number of reports that state it in clear.
        simulated: whether any of the reports was simulated.
        batches: the batches that were counted, as far as known, in the order of their names.

    Tallies with equal counts are equal, even if their reports were split into batches in different ways.

    Example:
        >>> import discreet as dc
        >>> mechanism = dc.RandomizedResponse(dc.Domain(["yes", "no"]), epsilon=1.0)
        >>> days = [mechanism.obfuscate(["yes"] * 50, random=dc.SeededRandom(day)) for day in (1, 2)]
        >>> whole = sum(map(mechanism.tally, days))
        >>> whole == mechanism.tally(dc.Reports.concatenate(days)), whole.n
        (True, 100)
    """

    fingerprint: str
    n: int
    support: IntArray
    clear: IntArray
    simulated: bool = False
    batches: tuple[NamedBatch, ...] = ()

    def __post_init__(self) -> None:
        """Check the counts and make them 64-bit integers and read-only; the mechanism makes further checks.

        Raises:
            DataError: if they are no counts, or a count exceeds the number of reports.
            MismatchError: if more reports of a batch were counted than it has.
        """
        check_header(self.fingerprint, self.n, self.simulated)
        for name in ("support", "clear"):
            counts = getattr(self, name)
            if not is_plain(counts):
                raise DataError("tally.not-integers", name=name)
            if len(counts) and (counts.min() < 0 or counts.max() > self.n):
                raise DataError("tally.out-of-range", name=name, n=self.n)
            object.__setattr__(self, name, read_only(counts.astype(np.int64, copy=False)))
        if len(self.clear) and total(self.clear) > self.n:
            raise DataError("tally.too-many-clear", n=self.n)
        object.__setattr__(self, "batches", merged(self.batches))
        if self.unnamed < 0:
            raise DataError("batches.too-many-reports", n=self.n)

    def __repr__(self) -> str:
        marks = ", simulated" if self.simulated else ""
        return f"Tally(n={self.n}, plan={self.fingerprint[:12]}{marks})"

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Tally)
            and (self.fingerprint, self.n, self.simulated) == (other.fingerprint, other.n, other.simulated)
            and np.array_equal(self.support, other.support)
            and np.array_equal(self.clear, other.clear)
        )

    __hash__ = None  # type: ignore[assignment]

    @property
    def people(self) -> int:
        """Number of people who reported: n, because each report is of one person."""
        return self.n

    @property
    def weights(self) -> Self:
        """The tally of weighted reports: this tally, because all weights are 1."""
        return self

    @property
    def square_parts(self) -> tuple[tuple[float, "Tally"], ...]:
        """The tally with squared weights, as pairs (factor, tally) to multiply and add up; here all weights are 1."""
        return ((1.0, self),)

    @property
    def unnamed(self) -> int:
        """Number of reports that belong to no named batch."""
        return self.n - sum(batch.n for batch in self.batches)

    @property
    def clear_total(self) -> int:
        """F, the number of counted reports that are in clear."""
        return total(self.clear)

    def __add__(self, other: Self) -> Self:
        """Return the tally of the reports of two tallies.

        Raises:
            MismatchError: if they belong to different plans, or some reports are in both, as far as batches show it.
        """
        return self.merged([self, other]) if isinstance(other, Tally) else NotImplemented

    @classmethod
    def merged(cls, tallies: Iterable[Self]) -> Self:
        """Return the sum of one or more tallies; it raises the same errors as ``+``."""
        first, *others = tallies
        check_same_plan({first.fingerprint, *(tally.fingerprint for tally in others)})
        support, clear, batches = first.support.copy(), first.clear.copy(), [*first.batches]
        for tally in others:
            if tally.support.shape != support.shape or tally.clear.shape != clear.shape:
                raise MismatchError("tally.different-sizes")
            support += tally.support
            clear += tally.clear
            batches += tally.batches
        n, simulated = sum(tally.n for tally in (first, *others)), any(tally.simulated for tally in (first, *others))
        return cls(first.fingerprint, n, support, clear, simulated, tuple(batches))

    def without(self, other: Self) -> Self:
        """Return the difference of this tally and the tally of some of its batches.

        Args:
            other: the tally of those batches, and of no other report.

        Raises:
            MismatchError: if ``other`` belongs to another plan, or counted reports that this tally did not count.

        Example:
            >>> import discreet as dc
            >>> mechanism = dc.RandomizedResponse(dc.Domain(["yes", "no"]), epsilon=1.0)
            >>> first, second = (mechanism.tally(mechanism.obfuscate(["yes"] * n)) for n in (50, 60))
            >>> (first + second).without(first) == second
            True
        """
        check_same_plan({self.fingerprint, other.fingerprint})
        left = set(self.batches) - set(other.batches)
        if other.unnamed or len(left) + len(other.batches) != len(self.batches):
            raise MismatchError("tally.not-counted")
        counts = (self.support - other.support, self.clear - other.clear)
        return type(self)(self.fingerprint, self.n - other.n, *counts, self.simulated, tuple(left))

    def __radd__(self, other: object) -> Self:
        """Return this tally if the other operand is 0, so that ``sum`` works."""
        return self if is_whole(other) and other == 0 else NotImplemented


def total(counts: IntArray, largest: int | None = None) -> int:
    """Return the exact sum of counts of at least 0, of any size. ``largest`` is the largest count, if it is known."""
    # A sum of forged counts could overflow.
    small = not len(counts) or int(counts.max() if largest is None else largest) * len(counts) < _SAFE
    return int(counts.sum() if small else counts.sum(dtype=object))


DIGIT = 20
"""Binary digits of the largest weight after its first: all weights are multiples of 2^-20 of the largest."""


def scaled(tally: Tally, times: int) -> Tally:
    """Return a tally in which each report counts ``times`` times."""
    return Tally(tally.fingerprint, tally.n * times, tally.support * times, tally.clear * times, tally.simulated)


@dataclass(frozen=True, slots=True, eq=False)
class WeightedTally:
    """The counts of reports with weights; each weight is an integer multiple of a unit.

    Attributes:
        people: number of reports.
        unit: the weight that counts 1.
        weights: the tally in which each report counts as often as its weight.
        squares: ``(low, high)``, two tallies; in low + 2^20 high each report counts as the square of its weight.
    """

    people: int
    unit: float
    weights: Tally
    squares: tuple[Tally, Tally]

    batches: ClassVar[tuple[NamedBatch, ...]] = ()

    @property
    def square_parts(self) -> tuple[tuple[float, Tally], ...]:
        """The tally with squared weights, as pairs (factor, tally) to multiply and add up."""
        return tuple((times, square) for times, square in zip((1.0, 2.0**DIGIT), self.squares, strict=True) if square.n)

    def __add__(self, other: Self) -> Self:
        """Return the weighted tally of the reports of two tallies.

        Raises:
            MismatchError: if they belong to different plans, or their weights have different units.
        """
        if not isinstance(other, WeightedTally):
            return NotImplemented
        if self.unit != other.unit:
            raise MismatchError("tally.different-units")
        low, high = (square + more for square, more in zip(self.squares, other.squares, strict=True))
        return type(self)(self.people + other.people, self.unit, self.weights + other.weights, (low, high))


@dataclass(frozen=True, slots=True, eq=False)
class TallyStack:
    """The counts of g groups of people, one group per row, for decoders that can decode several tallies at once.

    Attributes:
        n: ``(g, 1)`` numbers of reports.
        support: ``(g, blocks)`` counts of blocks, as in a tally.
        clear: ``(g, |X_N|)`` counts of values in clear.
    """

    n: IntArray
    support: IntArray
    clear: IntArray

    @classmethod
    def of(cls, tallies: Sequence[Tally]) -> Self:
        """Return the counts of one or more tallies of one plan, one row per tally."""
        sizes = np.array([[tally.n] for tally in tallies])
        return cls(sizes, np.stack([tally.support for tally in tallies]), np.stack([tally.clear for tally in tallies]))

    @property
    def clear_total(self) -> IntArray:
        """``(g, 1)`` numbers of reports in clear, one for each group."""
        totals: IntArray = self.clear.sum(axis=1, keepdims=True)
        return totals


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class GroupedTally(Mapping[Any, Tally]):
    """A tally for each group of people; a commutative monoid under ``+``.

    Attributes:
        names: names of the columns that make the groups; empty for one column without a name.
        tallies: the tally of each group, by its label; by a tuple of labels if there are several columns.

    Example:
        >>> import discreet as dc
        >>> from discreet.core.tally import GroupedTally
        >>> mechanism = dc.RandomizedResponse(dc.Domain(["yes", "no"]), epsilon=1.0)
        >>> day = GroupedTally(("region",), {"north": mechanism.tally(mechanism.obfuscate(["yes"] * 50))})
        >>> both = day + GroupedTally(("region",), {"south": mechanism.tally(mechanism.obfuscate(["no"] * 30))})
        >>> both, both.whole.n
        (GroupedTally(n=80, 2 groups), 80)
    """

    names: tuple[str, ...]
    tallies: Mapping[Any, Tally] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Raise an error if the groups' tallies belong to different plans.

        Raises:
            MismatchError: if there are two plans or more.
        """
        if len({tally.fingerprint for tally in self.tallies.values()}) > 1:
            raise MismatchError("plan.different-groups")

    def __getitem__(self, group: Any) -> Tally:
        return self.tallies[group]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tallies)

    def __len__(self) -> int:
        return len(self.tallies)

    def __repr__(self) -> str:
        return f"GroupedTally(n={sum(tally.n for tally in self.tallies.values())}, {len(self)} groups)"

    def __add__(self, other: Self) -> Self:
        """Return the tally of each group in two batches, sorted by the group's label.

        Raises:
            MismatchError: if they belong to different plans, or are grouped by different columns.
        """
        if not isinstance(other, GroupedTally):
            return NotImplemented
        if self.names != other.names:
            raise MismatchError("groups.other-columns", others=other.names, names=self.names)
        whole = dict(self.tallies)
        for label, tally in other.tallies.items():
            whole[label] = whole[label] + tally if label in whole else tally
        return type(self)(self.names, {label: whole[label] for label in sorted(whole)})

    @property
    def whole(self) -> Tally:
        """The tally of the people of all groups.

        Raises:
            DataError: if there is no group.
        """
        if not self.tallies:
            raise DataError("groups.empty")
        return Tally.merged(self.tallies.values())
