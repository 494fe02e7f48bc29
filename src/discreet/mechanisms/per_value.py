"""Randomized response and unary encoding with an epsilon for each value, which groups of values share.

Singleton blocks with a promise to each value: randomized response with weights.

Noise is one sensitive value, x with probability pi_x. With beta_x = 1/(e^eps_x - 1) and T the sum of beta over X_S,

    pi_x = beta_x / T,  rho = 0,  s = 1/(1 + T),

which meets every one-sided epsilon_x with equality, but for rounding [spec of the optimum, section 5]; uRR where all
are the same. Noise is drawn from one uniform integer below W, of which every value owns a stretch of its group's width.

Independent bits with a promise to each value: unary encoding with a probability per bit.

Noise sets the bit of x with probability d_x, on its own; the truth sets its own bit for sure. With r = s/(1 - s), the
odds of the truth, and beta_x = 1/(e^eps_x - 1),

    pi_x = d_x = r beta_x,  rho = d_x' for every x',  0 < r < 1/max(beta),

meets every one-sided epsilon_x with equality, but for rounding. r is free. Here it minimises the noise of the
decoder where no value goes in clear, that is the sum of these variances over X_S,

    n Var = beta_x (1 + r)^2 / (r (1 - r beta_x)),

which has one minimum, in r < 1; for one epsilon it is r = 1/(1 + 2 beta), that is theta = 1/2.
"""

import hashlib
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from math import fsum, inf, isclose
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np

from discreet.arrays import AnyArray, BoolArray, IntArray, WordArray, sealed
from discreet.core.arithmetic import bisected
from discreet.core.checks import checked_epsilon, checked_positive, checked_whole, real_number, shown
from discreet.core.columns import of_parameter
from discreet.core.domain import Domain, WithBots, checked_domain, sensitive_mask
from discreet.core.random import RandomSource, fresh_words, noise_weight, uniform_below
from discreet.core.reports import is_plain, smallest_unsigned
from discreet.errors import ParameterError
from discreet.mechanisms.bits import GREATEST_DEPTH, PIECE_WORDS, PRECISION_BITS, PackedBitCodec
from discreet.mechanisms.block_law import BlockLaw, SymbolLaw, group_counts, parts_of, tallied
from discreet.mechanisms.law import BlockMechanism

PerValueEpsilons: TypeAlias = Mapping[Any, float] | Sequence[Mapping[str, Any]]
"""A mapping from label to epsilon; or a list of groups, each a mapping with ``values`` and ``epsilon``."""

_GROUP = {"values", "epsilon"}
_STRETCH = 1 << 16
# Integers as large as this are too large for an epsilon, and larger ones for a float.
_LARGE = 1 << 1000
# Numbers this close are meant to be the same: 0.1 + 0.2 is 0.3. The smaller one is promised.
_SAME = 1e-12


class GroupEpsilons(tuple[float, ...]):
    """The epsilon_x of each group of sensitive values, ascending, in nats.

    Attributes:
        groups: ``(v,)`` the group of each sensitive value; ``(1,)`` zeros for a domain without sensitive values.
    """

    groups: IntArray

    @classmethod
    def over(cls, groups: IntArray, epsilons: Iterable[float]) -> Self:
        """Return the epsilons of groups of values."""
        group_epsilons = cls(epsilons)
        group_epsilons.groups = groups
        return group_epsilons

    @classmethod
    def of(cls, domain: Domain, epsilon: float, per_value: PerValueEpsilons) -> Self:
        """Return the groups that follow from the epsilon of every sensitive value.

        Args:
            domain: the values and which of them are sensitive.
            epsilon: the largest promise, in nats.
            per_value: see `PerValueEpsilons`. ``values`` of a group are said as what is sensitive in a `Domain` is:
                labels, a mask, a predicate, patterns of a product, points of a grid.

        Raises:
            ParameterError: if a sensitive value has no epsilon, or a value has two, or is not sensitive or not in the
                domain, or an epsilon is not a finite number above 0 and at most ``epsilon``; one that is above it by a
                rounding is lowered to it.
        """
        epsilon = checked_epsilon(epsilon)
        if isinstance(checked_domain(domain).space, WithBots):
            raise ParameterError(
                "a personalized mechanism must have one epsilon for all values and bots; "
                "choose a mechanism without epsilons."
            )
        if isinstance(per_value, cls):
            if len(per_value.groups) != max(domain.sensitive_count, 1) or max(per_value) > epsilon:
                raise ParameterError(
                    f"epsilons must be said anew for {domain.sensitive_count} sensitive values, at most {epsilon!r}, "
                    f"got those of {len(per_value.groups)} values, up to {max(per_value)!r}."
                )
            return per_value
        places, epsilons = _read(domain, epsilon, per_value)
        epsilons = [min(number, epsilon) for number in epsilons]
        missing = domain.sensitive_count - int(np.count_nonzero(places))
        if missing:
            first = int(np.argmax(domain.sensitive & (places == 0)))
            raise ParameterError(
                f"epsilons must give every sensitive value its epsilon; {missing} of {domain.sensitive_count} "
                f"have none, the first of them {_name(domain, first)}."
            )
        if domain.sensitive_count == 0:
            return cls.over(sealed(np.zeros(1, dtype=np.int64)), (epsilon,))
        used = [epsilons[place - 1] for place in np.flatnonzero(tallied(places)).tolist() if place]
        different = sorted(set(used))
        # One rank for groups of one epsilon, in the narrowest type: domains have millions of values.
        ranks = np.searchsorted(different, [0.0, *epsilons]).astype(smallest_unsigned(len(different)))
        groups = picked(ranks, places if domain.clear_count == 0 else places[domain.sensitive])
        return cls.over(sealed(groups), different)

    def largest(self, epsilon: float) -> float:
        """Return the largest promise if it is ``epsilon`` but for rounding, and ``epsilon`` otherwise."""
        most = max(self)
        return most if isclose(most, epsilon, rel_tol=_SAME) else epsilon

    @property
    def counts(self) -> list[int]:
        """Number of values in each group."""
        counts: list[int] = tallied(self.groups).tolist()
        return counts


def picked(table: AnyArray, groups: AnyArray) -> AnyArray:
    """Return ``table[groups]``, without a wide copy of the column of groups."""
    entries = np.empty(len(groups), dtype=table.dtype)
    for start in range(0, len(groups), _STRETCH):
        entries[start : start + _STRETCH] = table[groups[start : start + _STRETCH]]
    return entries


def _read(domain: Domain, epsilon: float, per_value: Any) -> tuple[AnyArray, list[float]]:
    """Return epsilons, and for each of the |X| values the place of its own among them, from 1 on; 0 if it has none."""
    if isinstance(per_value, Mapping):
        return _of_labels(domain, epsilon, per_value)
    if not isinstance(per_value, Sequence) or isinstance(per_value, str | bytes):
        raise ParameterError(
            f"epsilons must be a mapping from label to epsilon, or a list of groups with values and epsilon, "
            f"got {type(per_value).__name__}."
        )
    places, epsilons = np.zeros(domain.size, dtype=smallest_unsigned(len(per_value) + 1)), []
    for place, group in enumerate(per_value):
        if not isinstance(group, Mapping) or set(group) != _GROUP:
            raise ParameterError(f"group {place} of epsilons must have values and epsilon, and nothing else.")
        mask = _mask_of_group(domain, group["values"], place)
        first = int(np.argmax(mask))
        name = _name(domain, first) if mask[first] else f"group {place}, which has no values"
        epsilons.append(_checked(epsilon, group["epsilon"], name))
        _refuse_clear(domain, mask)
        _refuse_twice(domain, np.flatnonzero(mask & (places > 0)))
        places[mask] = place + 1
    return places, epsilons


def _of_labels(domain: Domain, epsilon: float, per_value: Mapping[Any, Any]) -> tuple[AnyArray, list[float]]:
    codes, wanted = _codes_of_labels(domain, list(per_value)), list(per_value.values())
    plain = {type(number) for number in wanted} <= {int, float}
    numbers = (
        [float(number) if abs(number) < _LARGE else inf for number in wanted]
        if plain
        else list(map(real_number, wanted))
    )
    different = sorted(set(numbers))
    for promise in different:
        if not 0 < promise <= epsilon * (1 + _SAME):
            # Named by the first value that is given it; nan is not even equal to itself.
            first = next(place for place, number in enumerate(numbers) if not 0 < number <= epsilon * (1 + _SAME))
            _checked(epsilon, wanted[first], _name(domain, codes[first]))
    places = np.zeros(domain.size, dtype=smallest_unsigned(len(different) + 1))
    places[codes] = np.searchsorted(different, numbers) + 1
    _refuse_clear(domain, places > 0)
    if np.count_nonzero(places) < len(codes):
        _refuse_twice(domain, np.delete(codes, np.unique(codes, return_index=True)[1]))
    return places, different


def _codes_of_labels(domain: Domain, labels: list[Any]) -> IntArray:
    if not labels:
        return np.zeros(0, dtype=np.int64)
    with of_parameter("labels of epsilons must be those of the domain: "):
        codes = domain.space.encode(labels)
    outside = np.flatnonzero(codes < 0)
    if len(outside):
        raise ParameterError(
            f"epsilons must be of values of the domain; {len(outside)} of {len(labels)} are not in it, "
            f"the first of them {labels[outside[0]]!r}."
        )
    return codes


def _mask_of_group(domain: Domain, values: Any, place: int) -> BoolArray:
    if values is None:
        raise ParameterError(f"values of group {place} of epsilons must be named, got None.")
    with of_parameter(f"values of group {place} of epsilons are said like what is sensitive: "):
        mask = sensitive_mask(domain.space, values)
    return np.ones(domain.size, dtype=np.bool_) if mask is None else mask


def _checked(epsilon: float, wanted: object, name: str) -> float:
    """Return an epsilon of the values of this name if it is a promise, and none above the largest."""
    number = checked_positive(f"epsilon of {name}", wanted)
    if number > epsilon * (1 + _SAME):
        raise ParameterError(f"epsilon must be the largest promise, {epsilon!r}, but {name} is given {shown(wanted)}.")
    return number


def _refuse_clear(domain: Domain, mask: BoolArray) -> None:
    if domain.clear_count == 0:
        return
    clear = np.flatnonzero(mask & ~domain.sensitive)
    if len(clear):
        raise ParameterError(
            f"epsilons are for sensitive values; {len(clear)} of the values named are not sensitive, "
            f"the first of them {_name(domain, clear[0])}."
        )


def _refuse_twice(domain: Domain, twice: IntArray) -> None:
    if len(twice):
        raise ParameterError(
            f"epsilons must name a value once; {len(twice)} have two, the first of them {_name(domain, twice[0])}."
        )


def _name(domain: Domain, code: int) -> str:
    return repr(domain.names(np.array([code]))[0])


class WeightedLaw(BlockLaw):
    """A block law with several groups: their values are in a noise block with different probabilities.

    Two of them are equal if their descriptions are.
    """

    groups: IntArray

    @property
    def size(self) -> int:  # type: ignore[override]
        """Return v."""
        return len(self.groups)

    @classmethod
    @abstractmethod
    def keeping(cls, promises: GroupEpsilons) -> Self:
        """Return the law that keeps the promises; the truth threshold compensates for its rounding."""

    def describe(self) -> dict[str, Any]:
        """Return the numbers of the groups, and a digest of the groups of values."""
        described = {"law": self.kind, "size": self.size, "levels": self._groups_digest}
        return described | {part.name: getattr(self, part.name) for part in parts_of(self) if part.name != "groups"}

    def _check_groups(self, name: str) -> None:
        """Refuse groups that are not integers from 0 on, or have no values, and what are not integers for each group.

        Args:
            name: of the field of integers.

        Raises:
            ParameterError: if groups or numbers are such.
        """
        groups, numbers = self.groups, getattr(self, name)
        if not is_plain(groups) or not len(groups) or groups.min() < 0:
            raise ParameterError("groups must be a column of integers of at least 0, one for each value.")
        if not isinstance(numbers, tuple) or not numbers:
            raise ParameterError(f"{name} must be a tuple of integers, one for each group.")
        for number in numbers:
            checked_whole(name, number)
        # Before values are counted by group, which takes memory for each number up to the largest one.
        if groups.max() >= len(numbers):
            raise ParameterError(f"{name} must have an integer for every group, got {len(numbers)}.")
        counts = group_counts(self.size, groups)
        if len(counts) != len(numbers) or not all(counts):
            raise ParameterError(f"every group must have values and a {name[:-1]}, got {len(numbers)} {name}.")

    def spelled(self) -> dict[str, Any]:
        """Return the description with the group of every value, in the place of a digest."""
        return {**self.describe(), "levels": self.groups.tolist()}

    @classmethod
    def of_parts(cls, parts: dict[str, Any]) -> Self:
        """Return the law of a spelled-out description; see `BlockLaw.of_parts`."""
        others = {name: part for name, part in parts.items() if name not in ("size", "levels")}
        numbers = {name: tuple(part) if isinstance(part, list) else part for name, part in others.items()}
        return super().of_parts({**numbers, "groups": np.array(parts["levels"])})

    @cached_property
    def _groups_digest(self) -> str:
        digest = hashlib.sha256()
        for start in range(0, len(self.groups), _STRETCH):
            digest.update(self.groups[start : start + _STRETCH].astype("<u4").tobytes())
        return digest.hexdigest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, WeightedLaw) and self.describe() == other.describe()

    def __hash__(self) -> int:
        return hash(self._groups_digest)


# A multiple of W is just below 2^64, so that hardly a word is thrown away.
_MOST_WEIGHT = 1 << 62


@dataclass(frozen=True, eq=False)
class WeightedSingletons(SymbolLaw, WeightedLaw):
    """One sensitive value per block, with a probability in proportion to the weight of its group.

    Attributes:
        groups: ``(v,)`` the group of each value.
        weights: one positive integer per group; W, the sum over all values, is at most 2^62.
    """

    kind = "uneven singletons"
    wide = ("weights",)

    groups: IntArray = field()
    weights: tuple[int, ...]

    def __post_init__(self) -> None:
        """Refuse parameters that define no law.

        Raises:
            ParameterError: if a group has no value or no weight, or they are too large.
        """
        self._check_groups("weights")
        if min(self.weights) < 1 or self.total > _MOST_WEIGHT:
            raise ParameterError("weights must be positive integers, which add up to 2^62 at most over all values.")

    @classmethod
    def keeping(cls, promises: GroupEpsilons) -> "WeightedSingletons":
        """Return the law whose weights are in proportion to beta, rounded down; to at least 1."""
        beta = [noise_weight(epsilon) for epsilon in promises]
        whole = sum((n * weight for n, weight in zip(promises.counts, beta, strict=True)), Fraction(0))
        room = _MOST_WEIGHT - len(promises.groups)
        return cls(promises.groups, tuple(max(int(weight * room / whole), 1) for weight in beta))

    @cached_property
    def total(self) -> int:
        """Return W, the sum of the weights of all values."""
        return sum(n * weight for n, weight in zip(group_counts(self.size, self.groups), self.weights, strict=True))

    @property
    def inclusions(self) -> tuple[Fraction, ...]:
        """Return pi of each group."""
        return tuple(Fraction(weight, self.total) for weight in self.weights)

    @property
    def conditional_inclusions(self) -> tuple[Fraction, ...]:
        """Return rho = 0 for each group."""
        return (Fraction(0),) * len(self.weights)

    @cached_property
    def _shares(self) -> tuple[AnyArray, WordArray, WordArray, IntArray]:
        """Return the values by group; and per group its width, the start of its stretches, its first place."""
        counts = group_counts(self.size, self.groups)
        order = np.argsort(self.groups, kind="stable").astype(smallest_unsigned(self.size))
        stretches = [n * weight for n, weight in zip(counts, self.weights, strict=True)]
        starts = np.array(list(accumulate(stretches, initial=0))[:-1], dtype=np.uint64)
        return order, np.array(self.weights, dtype=np.uint64), starts, np.cumsum([0, *counts[:-1]])

    def _noise(self, n: int, random: RandomSource) -> AnyArray:
        order, widths, starts, first = self._shares
        drawn = uniform_below(self.total, n, random)
        group = np.searchsorted(starts[1:], drawn, side="right")
        place = (drawn - starts[group]) // widths[group]
        return order[first[group] + place.astype(np.int64)]


# Steps of r: far finer than its effect on any error, far coarser than what machines disagree on.
_ODDS_BITS = 20
_BISECTIONS = 60


@dataclass(frozen=True, eq=False)
class WeightedBits(WeightedLaw, PackedBitCodec):
    """Bits that noise sets with probability ``threshold / 2^depth`` of their group, each on its own.

    Attributes:
        groups: ``(v,)`` the group of each value.
        thresholds: an integer in 1..2^depth - 1 per group.
        depth: random bits that one noise bit costs.
    """

    kind = "uneven bits"
    wide = ("thresholds",)

    groups: IntArray = field()
    thresholds: tuple[int, ...]
    depth: int

    def __post_init__(self) -> None:
        """Refuse parameters that define no law.

        Raises:
            ParameterError: if a group has no value or no threshold, or one is not a probability between 0 and 1.
        """
        self._check_groups("thresholds")
        checked_whole("depth", self.depth, 1, GREATEST_DEPTH)
        if min(self.thresholds) < 1 or max(self.thresholds) >= 1 << self.depth or self.depth > GREATEST_DEPTH:
            raise ParameterError(f"thresholds must be integers in 1..2^depth - 1, got depth {self.depth!r}.")
        # Now, not when the first report is wanted.
        _ = self._turns, self._groups_digest

    @classmethod
    def keeping(cls, promises: GroupEpsilons) -> "WeightedBits":
        """Return the law of the best r whose d_x are within 2^-12 of r beta_x."""
        odds = best_odds(promises)
        wanted = [odds * noise_weight(epsilon) for epsilon in promises]
        depth = min(max(map(_magnitude, wanted)) + PRECISION_BITS, GREATEST_DEPTH)
        nearest = (min(max(round(share * (1 << depth)), 1), (1 << depth) - 1) for share in wanted)
        return cls(promises.groups, tuple(nearest), depth)

    @property
    def inclusions(self) -> tuple[Fraction, ...]:
        """Return pi = d of each group."""
        return tuple(Fraction(threshold, 1 << self.depth) for threshold in self.thresholds)

    @property
    def conditional_inclusions(self) -> tuple[Fraction, ...]:
        """Return rho = d of each group: bits are independent."""
        return self.inclusions

    @property
    def _wide(self) -> bool:
        """True if eight rows, a whole number of lanes, are more than a piece."""
        return self._row_bytes > PIECE_WORDS // self.depth

    @cached_property
    def _piece_lanes(self) -> int:
        wanted = PIECE_WORDS // self.depth
        # Every piece of narrow rows begins with the first bit of one; wide rows are cut into pieces each by itself.
        return wanted if self._wide else self._row_bytes * (wanted // self._row_bytes)

    @cached_property
    def _turns(self) -> WordArray:
        """``(depth + 1, lanes)`` words: a bit is 1 where a digit of its threshold differs from the digit before it.

        Digits go from the last one to the first, with a 0 before and after them. Lanes are those of a piece; of wide
        rows, those of one row.
        """
        thresholds = np.array(self.thresholds, dtype=np.uint64)
        digits = (thresholds >> np.arange(self.depth, dtype=np.uint64)[:, None] & np.uint64(1)).astype(np.bool_)
        of_levels = np.diff(digits, axis=0, prepend=False, append=False)
        rows = np.zeros(
            (self.depth + 1, -(-self._row_bytes // 8) * 8 if self._wide else self._row_bytes), dtype=np.uint8
        )
        for row, turns in zip(rows, of_levels, strict=True):
            row[: self._row_bytes] = np.packbits(picked(turns, self.groups), bitorder="little")
        return (rows if self._wide else np.tile(rows, 8 * self._piece_lanes // self._row_bytes)).view("<u8")

    def _fill_with_noise(self, flat: AnyArray, random: RandomSource) -> None:
        if not self._wide:
            super()._fill_with_noise(flat, random)
            return
        for row in flat.reshape(-1, self._row_bytes):
            for first in range(0, self._turns.shape[1], self._piece_lanes):
                piece = row[8 * first : 8 * (first + self._piece_lanes)]
                lanes = -(-len(piece) // 8)
                words = fresh_words(random, lanes * self.depth).reshape(self.depth, lanes)
                piece[:] = self._ladder(words, first).view(np.uint8)[: len(piece)]

    def _ladder(self, words: AnyArray, first: int = 0) -> AnyArray:
        # Each step gives a bit its threshold's digit with probability 1/2, where its word is 0, and else leaves it.
        # What is carried along is the bit XOR the coming digit, so that a step is an AND with the word, and an XOR with
        # what tells this digit from the next.
        lanes = words.shape[1]
        turns = self._turns[:, first : first + lanes]
        bits: AnyArray = turns[0]
        for word, turn in zip(words, turns[1:], strict=True):
            bits = np.bitwise_and(bits, word, out=word)
            bits ^= turn
        return bits


def best_odds(promises: GroupEpsilons) -> Fraction:
    """Return the r = s/(1 - s) with the least summed variance of noise, to 20 significant binary digits.

    Its logarithm has the slope 2/(1 + r) - 1/r + sum(beta^2/(1 - r beta)^2) / sum(beta/(1 - r beta)), which ascends
    from minus infinity to what is positive at r = 1 or infinite at r = 1/max(beta).
    """
    beta, counts = [float(noise_weight(epsilon)) for epsilon in promises], promises.counts

    def slope(r: float) -> float:
        shares = [n * b / (1 - r * b) for n, b in zip(counts, beta, strict=True)]
        steeper = fsum(share * b / (1 - r * b) for share, b in zip(shares, beta, strict=True))
        return 2 / (1 + r) - 1 / r + steeper / fsum(shares)

    most = max(beta)
    low, _ = bisected(lambda r: r * most < 1 and slope(r) < 0, 0.0, min(1.0, 1 / most), _BISECTIONS)
    step = Fraction(2) ** (_magnitude(Fraction(low)) + _ODDS_BITS)
    return Fraction(int(Fraction(low) * step), step)


def _magnitude(share: Fraction) -> int:
    """Return k for a share in (2^-k, 2^(1-k)], nearly; a share above 1/2 counts by what it lacks to 1."""
    small = min(share, 1 - share) if share < 1 else share
    return (small.denominator // small.numerator).bit_length()


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class PerValueMechanism(BlockMechanism):
    """A mechanism with an epsilon for each sensitive value.

    The promise is one-sided: a report makes x at most e^epsilon_x times likelier than any other value. The two-sided
    reading, min(epsilon_x, epsilon_x') for every pair, is stricter and does not hold [spec of the optimum, section 5].

    Args:
        domain: the values and which of them are sensitive.
        epsilon: the largest promise, in nats; of two that differ by a rounding the smaller one is kept.
        epsilons: epsilon_x for every sensitive value: a mapping from label to epsilon, or a list of groups with
            ``values`` (written like the ``sensitive`` values of a domain) and ``epsilon``.

    Raises:
        ParameterError: if an epsilon is no promise, or values are not named once each; see `GroupEpsilons`.
    """

    laws: ClassVar[tuple[type[WeightedLaw], ...]]
    # Given as labels or groups, and kept as groups of values, which may be given again.
    epsilons: Mapping[Any, float] | Sequence[Mapping[str, Any]] = field()  # type: ignore[assignment]

    def __post_init__(self) -> None:
        """Replace ``epsilons`` by groups of values.

        Raises:
            ParameterError: if an epsilon is no promise, or values are not named once each.
        """
        groups = GroupEpsilons.of(self.domain, self.epsilon, self.epsilons)
        object.__setattr__(self, "epsilons", groups)
        object.__setattr__(self, "epsilon", groups.largest(self.epsilon))
        super().__post_init__()

    @cached_property
    def law(self) -> WeightedLaw:
        """The block law that keeps the promises."""
        return self.laws[0].keeping(GroupEpsilons.of(self.domain, self.epsilon, self.epsilons))


class PerValueResponse(PerValueMechanism):
    """Randomized response with an epsilon for each sensitive value; see `PerValueMechanism`.

    Example:
        >>> import discreet as dc
        >>> domain = dc.Domain(["clinic", "bar", "park"], sensitive=["clinic", "bar"])
        >>> mechanism = dc.PerValueResponse(domain, epsilon=2.0, epsilons={"clinic": 0.5, "bar": 2.0})
        >>> [(group.promised, round(group.realised, 6)) for group in mechanism.guarantee.groups]
        [(0.5, 0.5), (2.0, 2.0)]
    """

    name = "rr-per-value"
    laws = (WeightedSingletons,)


class PerValueEncoding(PerValueMechanism):
    """Unary encoding with an epsilon for each sensitive value; see `PerValueMechanism`.

    Example:
        >>> import discreet as dc
        >>> domain = dc.Domain(["clinic", "bar", "park"], sensitive=["clinic", "bar"])
        >>> mechanism = dc.PerValueEncoding(domain, epsilon=2.0, epsilons={"clinic": 0.5, "bar": 2.0})
        >>> [group.realised <= group.promised for group in mechanism.guarantee.groups]
        [True, True]
    """

    name = "unary-per-value"
    laws = (WeightedBits,)
