"""Tallies: the integer counts of reports that linear decoding needs."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

import numpy as np

from discreet.arrays import IntArray, frozen
from discreet.core.batches import SealedBatch, in_both
from discreet.core.digests import MODULUS
from discreet.core.reports import check_header, check_same_plan, is_plain
from discreet.errors import DataError, MismatchError

_SAFE = 2.0**62


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Tally:
    """The counts of a batch of reports; a commutative monoid under ``+`` whose zero is `Mechanism.empty_tally`.

    Attributes:
        fingerprint: of the plan.
        n: number of reports.
        support: T, the counts of blocks. By default ``(v,)``: T_x counts the blocks that contain x. A design with two
            block sizes counts both apart, ``(2 v,)``; a law with a small alphabet counts each of its blocks, such as
            ``(m g,)`` buckets of a pool; an explicit channel counts each output, ``(|Y|,)``.
        clear: ``(|X_N|,)`` F, the counts of reports that state each other value in clear.
        simulated: whether any of the reports was simulated.
        batches: the sealed batches that were counted, in order; no two are the same.
        rest: order-free digest of all other reports that were counted (`discreet.core.digests`); None where it is not
            known, as in tallies of earlier versions, so that nobody can tell what was counted twice.

    Tallies are equal if their counts are, however reports were split and sealed.

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
    batches: tuple[SealedBatch, ...] = ()
    rest: int | None = None

    def __post_init__(self) -> None:
        """Make the counts 64-bit integers and read-only; their mechanism judges them further.

        Raises:
            DataError: if they are no counts, or exceed the number of reports.
        """
        check_header(self.fingerprint, self.n, self.simulated)
        for name in ("support", "clear"):
            counts = getattr(self, name)
            if not is_plain(counts):
                raise DataError(f"{name} of a tally must be a column of integers.")
            if len(counts) and (counts.min() < 0 or counts.max() > self.n):
                raise DataError(f"{name} of a tally must be counts in 0..{self.n}, its number of reports.")
            object.__setattr__(self, name, frozen(counts.astype(np.int64, copy=False)))
        if len(self.clear) and total(self.clear) > self.n:
            raise DataError(f"a tally of {self.n} reports must have no more than that in clear.")
        if not self.rest_n:
            object.__setattr__(self, "rest", 0)
        elif self.rest_n < 0:
            raise DataError(f"a tally of {self.n} reports must have no more than that in its sealed batches.")
        object.__setattr__(self, "batches", tuple(sorted(self.batches)))

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
    def rest_n(self) -> int:
        """Number of reports that are in none of the sealed batches."""
        return self.n - sum(batch.n for batch in self.batches)

    @property
    def clear_total(self) -> int:
        """F: how many reports were in clear."""
        return total(self.clear)

    def __add__(self, other: Self) -> Self:
        """Return the tally of both batches.

        Raises:
            MismatchError: if they belong to different plans, or have counted a sealed batch both.
        """
        return self.together([self, other]) if isinstance(other, Tally) else NotImplemented

    @classmethod
    def together(cls, tallies: Iterable[Self]) -> Self:
        """Return the tally of one batch or more; errors as for ``+``."""
        first, *others = tallies
        check_same_plan({first.fingerprint, *(one.fingerprint for one in others)})
        support, clear, batches, rest = first.support.copy(), first.clear.copy(), first.batches, first.rest
        for one in others:
            if one.support.shape != support.shape or one.clear.shape != clear.shape:
                raise MismatchError("tallies of one plan must have equally many counts.")
            if one.batches and (twice := in_both(batches, one.batches)):
                raise MismatchError(
                    f"tallies must count different reports, and {len(twice)} sealed batches of "
                    f"{sum(batch.n for batch in twice):,} reports are in both; count them once."
                )
            support += one.support
            clear += one.clear
            batches += one.batches
            rest = None if rest is None or one.rest is None else (rest + one.rest) % MODULUS
        n, simulated = sum(one.n for one in (first, *others)), any(one.simulated for one in (first, *others))
        return cls(first.fingerprint, n, support, clear, simulated, batches, rest)

    def __radd__(self, other: object) -> Self:
        """Return this tally for 0, so that ``sum`` works."""
        return self if other == 0 and isinstance(other, int) else NotImplemented


def total(counts: IntArray, largest: int | None = None) -> int:
    """Return the exact sum of counts of at least 0, however large; ``largest`` is the largest, where it is known."""
    # A sum of forged counts could wrap.
    small = not len(counts) or int(counts.max() if largest is None else largest) * len(counts) < _SAFE
    return int(counts.sum() if small else counts.sum(dtype=object))
