"""Tallies by group, and tallies of weighted reports; integers that add up exactly."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from discreet.arrays import IntArray
from discreet.core.tally import Tally
from discreet.errors import DataError, MismatchError

DIGIT = 20
"""Binary digits of a weight beyond the largest's first: weights are multiples of 2^-20 of the largest."""


def scaled(tally: Tally, times: int) -> Tally:
    """Return a tally in which each report counts so many times."""
    return Tally(tally.fingerprint, tally.n * times, tally.support * times, tally.clear * times, tally.simulated)


@dataclass(frozen=True, slots=True, eq=False)
class WeightedTally:
    """The counts of reports with weights, which are integers: multiples of a unit.

    Attributes:
        people: number of reports.
        unit: the weight that counts 1.
        weights: the tally in which each report counts as often as its weight.
        squares: ``(low, high)`` tallies in which it counts as the square of its weight: low + 2^20 high.
    """

    people: int
    unit: float
    weights: Tally
    squares: tuple[Tally, Tally]

    def __add__(self, other: Self) -> Self:
        """Return the tally of both batches.

        Raises:
            MismatchError: if they belong to different plans, or their weights have different units.
        """
        if not isinstance(other, WeightedTally):
            return NotImplemented
        if self.unit != other.unit:
            raise MismatchError("weighted tallies must have one unit of weights; weigh all reports together.")
        low, high = (one + more for one, more in zip(self.squares, other.squares, strict=True))
        return type(self)(self.people + other.people, self.unit, self.weights + other.weights, (low, high))


@dataclass(frozen=True, slots=True, eq=False)
class TallyStack:
    """The counts of g groups of people in rows, which decoders that `stacks` take in the place of a tally.

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
        """Return the counts of one tally or more, of one plan."""
        sizes = np.array([[tally.n] for tally in tallies])
        return cls(sizes, np.stack([tally.support for tally in tallies]), np.stack([tally.clear for tally in tallies]))

    @property
    def clear_total(self) -> IntArray:
        """``(g, 1)`` numbers of reports in clear."""
        told: IntArray = self.clear.sum(axis=1, keepdims=True)
        return told


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class GroupedTally(Mapping[Any, Tally]):
    """A tally for each group of people; a commutative monoid under ``+``.

    Attributes:
        names: of the columns that make the groups; empty for one without a name.
        tallies: by the label of the group; by tuples of labels where there are several columns.

    Example:
        >>> import discreet as dc
        >>> from discreet.core.grouped_tally import GroupedTally
        >>> mechanism = dc.RandomizedResponse(dc.Domain(["yes", "no"]), epsilon=1.0)
        >>> day = GroupedTally(("region",), {"north": mechanism.tally(mechanism.obfuscate(["yes"] * 50))})
        >>> both = day + GroupedTally(("region",), {"south": mechanism.tally(mechanism.obfuscate(["no"] * 30))})
        >>> both, both.whole.n
        (GroupedTally(n=80, 2 groups), 80)
    """

    names: tuple[str, ...]
    tallies: Mapping[Any, Tally] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse tallies of different plans.

        Raises:
            MismatchError: if there are some.
        """
        if len({tally.fingerprint for tally in self.tallies.values()}) > 1:
            raise MismatchError("tallies of groups must belong to one plan.")

    def __getitem__(self, group: Any) -> Tally:
        return self.tallies[group]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tallies)

    def __len__(self) -> int:
        return len(self.tallies)

    def __repr__(self) -> str:
        return f"GroupedTally(n={sum(tally.n for tally in self.tallies.values())}, {len(self)} groups)"

    def __add__(self, other: Self) -> Self:
        """Return the tallies of both batches, in the order of their labels.

        Raises:
            MismatchError: if they belong to different plans, or are grouped by different columns.
        """
        if not isinstance(other, GroupedTally):
            return NotImplemented
        if self.names != other.names:
            raise MismatchError(f"groups must be by the same columns, got {self.names} and {other.names}.")
        whole = dict(self.tallies)
        for label, tally in other.tallies.items():
            whole[label] = whole[label] + tally if label in whole else tally
        return type(self)(self.names, {label: whole[label] for label in sorted(whole)})

    @property
    def whole(self) -> Tally:
        """The tally of all groups together.

        Raises:
            DataError: if there is no group.
        """
        if not self.tallies:
            raise DataError("at least one group is needed, got none.")
        return Tally.together(self.tallies.values())
