"""Tallies: counts of reports that add up, what they were counted from, and one for each group.

Order-free digests: numbers by which reports are recognised in any order and any file, so that none counts twice.

The digest of a batch is the sum modulo 2^128 of a mixing of every report's record (`discreet.core.reports`), keyed
by the plan's fingerprint. So digests of parts add up to that of the whole. The mixing is no cryptographic function and
its key is public: a digest recognises what is there again, and proves nothing against people who forge one. It is a
function of the unordered batch, and of a batch of few reports it tells all of them; so it is written of sealed batches
and of tallies, and of nothing finer.

Tallies: the integer counts of reports that linear decoding needs.

Tallies by group, and tallies of weighted reports; integers that add up exactly.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from math import exp, lgamma, log
from typing import Any, Self, TypeAlias

import numpy as np

from discreet.arrays import AnyArray, IntArray, frozen
from discreet.core.reports import (
    Column,
    RecordForm,
    Reports,
    SealedBatch,
    check_header,
    check_same_plan,
    in_both,
    is_plain,
)
from discreet.errors import DataError, MismatchError
from discreet.kernels.counting import count_symbols
from discreet.kernels.startup import pays

MODULUS = 1 << 128
"""Of digests."""

LIMBS = 4
"""Numbers of 32 bits that a digest consists of, where it is summed by machines."""

GROUPS = 1 << 12
"""Groups of contents, where it is asked whether two batches are equal by chance."""

_HALF, _LOW = np.uint64(32), np.uint64(0xFFFFFFFF)
_WORD = 8
# Bytes of records that are mixed at a time, and stay in the cache.
_CHUNK = 1 << 18
# Contents whose mixings are kept, so that reports of one number are counted instead of being mixed one by one.
_FEW = 1 << 16
# What NumPy takes longer than the compiled kernel, per word.
_WORD_SECONDS = 3e-9

Mixed: TypeAlias = tuple[AnyArray, AnyArray]
"""The lower and the higher 64 bits of the mixings of rows."""


def limbs_of(digest: int) -> IntArray:
    """Return a digest as `LIMBS` numbers, the lowest first, which add up without overflow.

    Example:
        >>> limbs_of(5 + 2**32).tolist(), digest_of_limbs(3 * limbs_of(5 + 2**32)) == 3 * (5 + 2**32)
        ([5, 1, 0, 0], True)
    """
    return np.array([digest >> 32 * place & 0xFFFFFFFF for place in range(LIMBS)], np.int64)


def digest_of_limbs(limbs: Iterable[Any]) -> int:
    """Return the digest of sums of `limbs_of` digests."""
    return sum(int(limb) << 32 * place for place, limb in enumerate(limbs)) % MODULUS


@dataclass(frozen=True)
class Digesting:
    """The digests of reports of one plan; see `digesting` for those of a mechanism.

    Attributes:
        columns: of a report.
        clear_blocks: whether reports in clear carry a block too.
        fingerprint: of the plan.

    Example:
        >>> import discreet as dc
        >>> mechanism = dc.UnaryEncoding(dc.Domain(["bus", "car", "walk"]), epsilon=1.0)
        >>> reports = mechanism.obfuscate(["bus", "walk"] * 5, random=dc.SeededRandom(1))
        >>> digests = digesting(mechanism)
        >>> parts = digests.of(reports.part(0, 3)) + digests.of(reports.part(3, 10))
        >>> digests.of(reports) == digests.of(reports.sealed()) == parts % 2**128
        True
    """

    columns: tuple[Column, ...]
    clear_blocks: bool
    fingerprint: str

    @cached_property
    def _form(self) -> RecordForm:
        return RecordForm(self.columns, self.clear_blocks)

    @cached_property
    def _words(self) -> int:
        return -(-self._form.width // _WORD)

    @cached_property
    def _keys(self) -> AnyArray:
        """The ``(words + 3,)`` odd factors of words, the start, and the factors of both halves."""
        drawn = hashlib.shake_256(b"discreet digest 1\n" + self.fingerprint.encode())
        return np.frombuffer(drawn.digest(_WORD * (self._words + 3)), "<u8").astype(np.uint64) | np.uint64(1)

    def of(self, reports: Reports) -> int:
        """Return the digest of reports, whatever their order."""
        form = self._form
        if self.clear_blocks:
            rows = self._rows(reports.n)
            parts = (reports.part(at, at + rows) for at in range(0, reports.n, rows))
            return sum(self._sum(form.encode(part, _WORD * self._words)) for part in parts) % MODULUS
        digest = self._of_columns(reports.blocks, clear=False)
        if len(reports.clear) and form.clear is not None:
            digest += self._of_columns({form.clear.name: reports.clear}, clear=True)
        return digest % MODULUS

    def groups(self, reports: Reports) -> IntArray:
        """Return the number of reports in each of `GROUPS` groups, by content: equal batches have equal numbers."""
        if not reports.n:
            return np.zeros(GROUPS, np.int64)
        words = self._form.encode(reports, _WORD * self._words).view("<u8")
        return np.bincount((mixed(words, self._keys)[1] % np.uint64(GROUPS)).astype(np.int64), minlength=GROUPS)

    def of_counts(self, counts: IntArray, clear: AnyArray) -> int:
        """Return the digest of reports with one number each, by the count of each block, and with codes in clear."""
        form, digest = self._form, 0
        if len(counts) <= _FEW:
            digest = weighted(self._block_mixings, counts)
        else:
            occurring = np.flatnonzero(counts)
            digest = weighted(self._mixed_blocks({form.block[0].name: occurring}), counts[occurring])
        if len(clear) and form.clear is not None:
            digest += self._of_columns({form.clear.name: clear}, clear=True)
        return digest % MODULUS

    def _mixed_blocks(self, blocks: Mapping[str, AnyArray]) -> Mixed:
        return mixed(self._form.of_blocks(blocks, _WORD * self._words).view("<u8"), self._keys)

    @cached_property
    def _block_mixings(self) -> Mixed:
        """The mixings of all blocks of one number."""
        block = self._form.block[0]
        return self._mixed_blocks({block.name: np.arange(block.bound or 0)})

    @cached_property
    def _clear_mixings(self) -> Mixed:
        """The mixings of all codes in clear."""
        clear = self._form.clear
        codes = np.arange(0 if clear is None else clear.bound or 0)
        return mixed(self._form.of_codes(codes, _WORD * self._words).view("<u8"), self._keys)

    def _rows(self, n: int) -> int:
        return min(max(_CHUNK // (_WORD * self._words), 1), max(n, 1))

    def _of_columns(self, columns: Mapping[str, AnyArray], *, clear: bool) -> int:
        """Return the digest of blocks, or of codes in clear: by their counts where there are few of them."""
        form, width = self._form, _WORD * self._words
        n = len(next(iter(columns.values())))
        fields = (form.clear,) if clear else form.block
        bound = fields[0].bound if len(fields) == 1 and fields[0] is not None and fields[0].width is None else None
        if bound is not None and bound <= min(n, _FEW):
            (entries,) = columns.values()
            return weighted(self._clear_mixings if clear else self._block_mixings, count_symbols(entries, bound))
        rows, digest = self._rows(n), 0
        for at in range(0, n, rows):
            some = {name: column[at : at + rows] for name, column in columns.items()}
            digest += self._sum(
                form.of_codes(next(iter(some.values())), width) if clear else form.of_blocks(some, width)
            )
        return digest % MODULUS

    def _sum(self, records: AnyArray) -> int:
        """Return the sum of the mixings of ``(n, 8 k)`` bytes."""
        words = records.view("<u8")
        if pays(_WORD_SECONDS * words.size):
            from discreet.kernels.hashing import sum_mixed

            low, middle, high = sum_mixed(words, self._keys)
            return int(low) + (int(middle) << 32) + (int(high) << 64)
        return weighted(mixed(words, self._keys), None)


_digesting = lru_cache(maxsize=64)(Digesting)


def digesting(mechanism: Any) -> Digesting:
    """Return the digests of a mechanism's reports."""
    return _digesting(mechanism.columns, mechanism.clear_blocks, mechanism.fingerprint)


def known_of(mechanism: Any, reports: Reports, counts: IntArray) -> tuple[tuple[SealedBatch, ...], int]:
    """Return the sealed batches among reports, and the digest of all others, as a tally knows them.

    Args:
        mechanism: what made the reports.
        reports: the reports.
        counts: of their blocks, as in a tally.
    """
    digests = digesting(mechanism)
    counted = mechanism.counts.numbered and not mechanism.clear_blocks and len(counts) > 0
    whole = digests.of_counts(counts, reports.clear) if counted else digests.of(reports)
    return reports.batches, (whole - sum(batch.digest for batch in reports.batches)) % MODULUS


def equal_by_chance(counts: IntArray) -> float:
    """Return an upper bound of the chance that another batch of as many reports has the same counts.

    Reports of people who were drawn from many are independent and alike, so that counts of contents, or of any groups
    of them, are multinomial. No probabilities make given counts likelier than their own shares do:
    n! prod (c/n)^c / c!, whatever the people report.

    Args:
        counts: ``(k,)`` reports by content, or by group of contents.

    Example:
        >>> import numpy as np
        >>> round(equal_by_chance(np.array([500, 500])), 4), equal_by_chance(np.ones(40, np.int64)) < 1e-15
        (0.0252, True)
    """
    positive = counts[counts > 0].astype(np.float64)
    n = float(positive.sum())
    logs = sum(count * log(count / n) - lgamma(count + 1) for count in positive.tolist())
    return exp(min(lgamma(n + 1) + logs, 0.0)) if n else 1.0


def mixed(words: AnyArray, keys: AnyArray) -> Mixed:
    """Return the mixings of ``(n, k)`` words by ``(k + 3,)`` odd keys: a product per word, and two of their sum."""
    start, low_key, high_key = keys[-3:]
    # Multiplied alone, the highest bits of words would cancel each other.
    total = ((words ^ words >> _HALF) * keys[:-3]).sum(axis=1, dtype=np.uint64) + start
    total ^= total >> _HALF
    low, high = total * low_key, total * high_key
    return low ^ low >> _HALF, high ^ high >> _HALF


def weighted(mixings: Mixed, counts: IntArray | None) -> int:
    """Return the sum of mixings modulo 2^128, each as often as it counts, below 2^32 in all; None for once each."""
    low, high = mixings
    parts = [low & _LOW, low >> _HALF, high]
    if counts is not None:
        often = counts.astype(np.uint64)
        parts = [part * often for part in parts]
    return (
        sum(int(part.sum(dtype=np.uint64)) << shift for part, shift in zip(parts, (0, 32, 64), strict=True)) % MODULUS
    )


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
        rest: order-free digest of all other reports that were counted (`discreet.core.tally`); None where it is not
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
    def people(self) -> int:
        """Number of reports, each of one person, as of `WeightedTally`."""
        return self.n

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
        check_same_plan({first.fingerprint, *(tally.fingerprint for tally in others)})
        support, clear, batches, rest = first.support.copy(), first.clear.copy(), first.batches, first.rest
        for tally in others:
            if tally.support.shape != support.shape or tally.clear.shape != clear.shape:
                raise MismatchError("tallies of one plan must have equally many counts.")
            if tally.batches and (twice := in_both(batches, tally.batches)):
                raise MismatchError(
                    f"tallies must count different reports, and {len(twice)} sealed batches of "
                    f"{sum(batch.n for batch in twice):,} reports are in both; count them once."
                )
            support += tally.support
            clear += tally.clear
            batches += tally.batches
            rest = None if rest is None or tally.rest is None else (rest + tally.rest) % MODULUS
        n, simulated = sum(tally.n for tally in (first, *others)), any(tally.simulated for tally in (first, *others))
        return cls(first.fingerprint, n, support, clear, simulated, batches, rest)

    def without(self, other: Self) -> Self:
        """Return the tally without sealed batches that it has counted.

        Args:
            other: the tally of those batches, and of no other report.

        Raises:
            MismatchError: if it belongs to another plan, or has counted anything else.

        Example:
            >>> import discreet as dc
            >>> mechanism = dc.RandomizedResponse(dc.Domain(["yes", "no"]), epsilon=1.0)
            >>> from dataclasses import replace
            >>> days = [mechanism.tally(mechanism.obfuscate(["yes"] * n)) for n in (50, 60)]
            >>> first, second = (
            ...     replace(day, batches=(SealedBatch(f"{'c0' * 32}/{number}", day.rest, day.n),), rest=0)
            ...     for number, day in enumerate(days)
            ... )
            >>> (first + second).without(first) == second
            True
        """
        check_same_plan({self.fingerprint, other.fingerprint})
        left = sorted(set(self.batches) - set(other.batches))
        if other.rest_n or len(left) + len(other.batches) != len(self.batches):
            raise MismatchError(
                "what is taken out of a tally must be sealed batches that it has counted, with the reports that it "
                "counted; it has not counted all of these."
            )
        counts = (self.support - other.support, self.clear - other.clear)
        return type(self)(self.fingerprint, self.n - other.n, *counts, self.simulated, tuple(left), self.rest)

    def __radd__(self, other: object) -> Self:
        """Return this tally for 0, so that ``sum`` works."""
        return self if other == 0 and isinstance(other, int) else NotImplemented


def total(counts: IntArray, largest: int | None = None) -> int:
    """Return the exact sum of counts of at least 0, however large; ``largest`` is the largest, where it is known."""
    # A sum of forged counts could wrap.
    small = not len(counts) or int(counts.max() if largest is None else largest) * len(counts) < _SAFE
    return int(counts.sum() if small else counts.sum(dtype=object))


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
        low, high = (square + more for square, more in zip(self.squares, other.squares, strict=True))
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
        totals: IntArray = self.clear.sum(axis=1, keepdims=True)
        return totals


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class GroupedTally(Mapping[Any, Tally]):
    """A tally for each group of people; a commutative monoid under ``+``.

    Attributes:
        names: of the columns that make the groups; empty for one without a name.
        tallies: by the label of the group; by tuples of labels where there are several columns.

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
