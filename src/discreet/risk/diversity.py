"""Sensitive columns: what the people of a class have in common is no matter of how many they are.

l-diversity counts the values in each class [Machanavajjhala et al. 2006]; t-closeness compares their shares with those
in the whole table [Li et al. 2007]. People whose value is missing are no part of either.
"""

from dataclasses import dataclass

import numpy as np

from discreet.arrays import FloatArray, IntArray


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SensitiveColumn:
    """A sensitive column: people by cell of a `PeopleTable` and value, without those whose value is missing.

    Attributes:
        name: of the column.
        values: how many different values it has.
        is_ordered: whether they are numbers or dates, whose codes are in their order.
        cells: ``(m,)`` cells.
        codes: ``(m,)`` codes of values.
        counts: ``(m,)`` people with this cell and value.
        missing: people whose value is missing.
    """

    name: str
    values: int
    is_ordered: bool
    cells: IntArray
    codes: IntArray
    counts: IntArray
    missing: int


@dataclass(frozen=True, slots=True)
class Diversity:
    """The spread of a sensitive column within the classes, of the people whose value is there.

    Attributes:
        column: its name.
        distinct: l of l-diversity, the least number of different values in a class.
        entropy: l of entropy l-diversity, the least exp of a class's entropy.
        told: share of these people in whose class everybody has one value, which is told by being in it.
        closeness: t, the largest total variation between a class and all.
        ordered: t by the earth mover's distance of ordered values; None for text and marks.
        missing: people whose value is missing, of whom nothing is said.
    """

    column: str
    distinct: int
    entropy: float
    told: float
    closeness: float
    ordered: float | None
    missing: int

    def __str__(self) -> str:
        moved = "" if self.ordered is None else f", {self.ordered:.3g} as ordered values"
        missing = f"; nothing is said of the {self.missing:,} people without a value" if self.missing else ""
        return (
            f"{self.column}: {self.told:.2%} of the people are in classes that tell their value; the least diverse "
            f"class has l = {self.distinct} values (by entropy {self.entropy:.3g}), the furthest is "
            f"t = {self.closeness:.3g} from all{moved}{missing}."
        )


def diversity(column: SensitiveColumn) -> Diversity | None:
    """Return the spread of a sensitive column within the classes; None if nobody with a value is left."""
    there = column.counts > 0
    if not there.any():
        return None
    pairs, places = np.unique(column.cells[there] * column.values + column.codes[there], return_inverse=True)
    counts = np.bincount(places, weights=column.counts[there])
    _, starts, cells = np.unique(pairs // column.values, return_index=True, return_inverse=True)
    codes, people = pairs % column.values, np.bincount(cells, weights=counts)
    shares = counts / people[cells]
    everybody = np.bincount(codes, weights=counts, minlength=column.values) / counts.sum()
    entropies = np.bincount(cells, weights=-shares * np.log(shares))
    distinct = np.diff([*starts, len(pairs)])
    apart = np.bincount(cells, weights=np.maximum(shares - everybody[codes], 0))
    return Diversity(
        column.name,
        int(distinct.min()),
        float(np.exp(entropies.min())),
        float(people[distinct == 1].sum() / counts.sum()),
        float(apart.max()),
        float(_moved(cells, starts, codes, shares, everybody).max()) if column.is_ordered else None,
        column.missing,
    )


def _moved(cells: IntArray, starts: IntArray, codes: IntArray, shares: FloatArray, everybody: FloatArray) -> FloatArray:
    """Return the earth mover's distance of each class to all, of m ordered values one step of 1/(m - 1) apart.

    It is the mean of |P - Q| over the first m - 1 values, P and Q the shares up to there [Li et al. 2007, section 4.1].
    P is constant between two values of a class, and Q rises, so that each such stretch is two sums of Q.
    """
    m = len(everybody)
    if m == 1:
        return np.zeros(len(starts))
    upto = np.cumsum(everybody)
    sums = np.concatenate([[0.0], np.cumsum(upto)])
    running = np.cumsum(shares)
    before = np.concatenate([[0.0], running])[starts]
    level = running - before[cells]
    end = np.append(codes[1:], m)
    end[np.append(starts[1:], len(codes)) - 1] = m
    cross = np.clip(np.searchsorted(upto, level), codes, end)
    stretch = level * (2 * cross - codes - end) - (2 * sums[cross] - sums[codes] - sums[end])
    moved: FloatArray = (sums[codes[starts]] + np.bincount(cells, weights=stretch)) / (m - 1)
    return moved
