"""A promise to each value: its epsilon, and what a law with groups of values has.

Groups of sensitive values with one promise each: from the epsilon of every value to groups.

Block laws with several groups of values, which are in a noise block with different probabilities.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import inf, isclose, isfinite
from typing import Any, Self, TypeAlias

import numpy as np

from discreet.arrays import AnyArray, BoolArray, FloatArray, IntArray, sealed
from discreet.core.checks import checked_epsilon, checked_whole, real_number, shown
from discreet.core.domain import Domain, WithBots, checked_domain, sensitive_mask
from discreet.core.reports import is_plain, smallest_unsigned
from discreet.errors import DataError, ParameterError
from discreet.mechanisms.block_law import CommonLaw

PerValueEpsilons: TypeAlias = Mapping[Any, float] | Sequence[Mapping[str, Any]]
"""A mapping from label to epsilon; or a list of groups, each a mapping with ``values`` and ``epsilon``."""

_GROUP = {"values", "epsilon"}
_STRETCH = 1 << 16
# Integers as large as this are too large for an epsilon, and larger ones for a float.
_LARGE = 1 << 1000
# Numbers this close are meant to be the same: 0.1 + 0.2 is 0.3. The smaller one is promised.
_SAME = 1e-12


class GroupEpsilons(tuple[float, ...]):
    """The epsilons of groups, ascending, with the group of each sensitive value, ``groups``: ``(v,)``."""

    groups: IntArray

    @classmethod
    def of(cls, groups: "EpsilonGroups") -> "GroupEpsilons":
        """Return the epsilons of groups with the groups of the values."""
        made = cls(groups.epsilons)
        made.groups = groups.groups
        return made


@dataclass(frozen=True, slots=True, eq=False)
class EpsilonGroups:
    """The groups of sensitive values and the epsilon_x of each group.

    Attributes:
        epsilons: of the groups, ascending, in nats.
        groups: ``(v,)`` the group of each sensitive value; ``(1,)`` zeros for a domain without sensitive values.
    """

    epsilons: tuple[float, ...]
    groups: IntArray

    @classmethod
    def of(cls, domain: Domain, epsilon: float, said: PerValueEpsilons) -> "EpsilonGroups":
        """Return the groups that follow from the epsilon of every sensitive value.

        Args:
            domain: the values and which of them are sensitive.
            epsilon: the largest promise, in nats.
            said: see `PerValueEpsilons`. ``values`` of a group are said as what is sensitive in a `Domain` is: labels,
                a mask, a predicate, patterns of a product, points of a grid.

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
        if isinstance(said, GroupEpsilons):
            return cls._again(domain, epsilon, said)
        places, epsilons = _read(domain, epsilon, said)
        epsilons = [min(one, epsilon) for one in epsilons]
        missing = domain.sensitive_count - int(np.count_nonzero(places))
        if missing:
            first = int(np.argmax(domain.sensitive & (places == 0)))
            raise ParameterError(
                f"epsilons must give every sensitive value its epsilon; {missing} of {domain.sensitive_count} "
                f"have none, the first of them {_name(domain, first)}."
            )
        if domain.sensitive_count == 0:
            return cls((epsilon,), sealed(np.zeros(1, dtype=np.int64)))
        used = [epsilons[place - 1] for place in np.flatnonzero(tallied(places)).tolist() if place]
        different = sorted(set(used))
        # One rank for groups of one epsilon, in the narrowest type: domains have millions of values.
        ranks = np.searchsorted(different, [0.0, *epsilons]).astype(smallest_unsigned(len(different)))
        groups = picked(ranks, places if domain.clear_count == 0 else places[domain.sensitive])
        return cls(tuple(different), sealed(groups))

    @classmethod
    def _again(cls, domain: Domain, epsilon: float, said: GroupEpsilons) -> "EpsilonGroups":
        if len(said.groups) != max(domain.sensitive_count, 1) or max(said) > epsilon:
            raise ParameterError(
                f"epsilons must be said anew for {domain.sensitive_count} sensitive values, at most {epsilon!r}, got "
                f"those of {len(said.groups)} values, up to {max(said)!r}."
            )
        return cls(tuple(said), said.groups)

    @property
    def said(self) -> GroupEpsilons:
        """The epsilons of the groups, in a form that `of` accepts again."""
        return GroupEpsilons.of(self)

    def largest(self, epsilon: float) -> float:
        """Return the largest promise if it is ``epsilon`` but for rounding, and ``epsilon`` otherwise."""
        most = max(self.epsilons)
        return most if isclose(most, epsilon, rel_tol=_SAME) else epsilon

    @property
    def counts(self) -> list[int]:
        """Number of values in each group."""
        counts: list[int] = tallied(self.groups).tolist()
        return counts


def tallied(groups: AnyArray) -> IntArray:
    """Return the number of values in each group, without a wide copy of the column."""
    counts = np.zeros(int(groups.max()) + 1, dtype=np.int64)
    for start in range(0, len(groups), _STRETCH):
        counts += np.bincount(groups[start : start + _STRETCH], minlength=len(counts))
    return counts


def picked(table: AnyArray, groups: AnyArray) -> AnyArray:
    """Return ``table[groups]``, without a wide copy of the column of groups."""
    entries = np.empty(len(groups), dtype=table.dtype)
    for start in range(0, len(groups), _STRETCH):
        entries[start : start + _STRETCH] = table[groups[start : start + _STRETCH]]
    return entries


def _read(domain: Domain, epsilon: float, said: Any) -> tuple[AnyArray, list[float]]:
    """Return epsilons, and for each of the |X| values the place of its own among them, from 1 on; 0 if it has none."""
    if isinstance(said, Mapping):
        return _of_labels(domain, epsilon, said)
    if not isinstance(said, Sequence) or isinstance(said, str | bytes):
        raise ParameterError(
            f"epsilons must be a mapping from label to epsilon, or a list of groups with values and epsilon, "
            f"got {type(said).__name__}."
        )
    places, epsilons = np.zeros(domain.size, dtype=smallest_unsigned(len(said) + 1)), []
    for place, group in enumerate(said):
        if not isinstance(group, Mapping) or set(group) != _GROUP:
            raise ParameterError(f"group {place} of epsilons must have values and epsilon, and nothing else.")
        mask = _mask_of_group(domain, group["values"], place)
        first = int(np.argmax(mask))
        name = _name(domain, first) if mask[first] else f"group {place}, which has no values"
        epsilons.append(_checked(real_number(group["epsilon"]), epsilon, group["epsilon"], name))
        _refuse_clear(domain, mask)
        _refuse_twice(domain, np.flatnonzero(mask & (places > 0)))
        places[mask] = place + 1
    return places, epsilons


def _of_labels(domain: Domain, epsilon: float, said: Mapping[Any, Any]) -> tuple[AnyArray, list[float]]:
    codes, wanted = _codes_of_labels(domain, list(said)), list(said.values())
    plain = {type(one) for one in wanted} <= {int, float}
    numbers = [float(one) if abs(one) < _LARGE else inf for one in wanted] if plain else list(map(real_number, wanted))
    different = sorted(set(numbers))
    for one in different:
        if not 0 < one <= epsilon * (1 + _SAME):
            # Named by the first value that is given it; nan is not even equal to itself.
            first = next(place for place, number in enumerate(numbers) if not 0 < number <= epsilon * (1 + _SAME))
            _checked(numbers[first], epsilon, wanted[first], _name(domain, codes[first]))
    places = np.zeros(domain.size, dtype=smallest_unsigned(len(different) + 1))
    places[codes] = np.searchsorted(different, numbers) + 1
    _refuse_clear(domain, places > 0)
    if np.count_nonzero(places) < len(codes):
        _refuse_twice(domain, np.delete(codes, np.unique(codes, return_index=True)[1]))
    return places, different


def _codes_of_labels(domain: Domain, labels: list[Any]) -> IntArray:
    if not labels:
        return np.zeros(0, dtype=np.int64)
    try:
        codes = domain.space.encode(labels)
    except DataError as error:
        raise ParameterError(f"labels of epsilons must be those of the domain: {error}") from None
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
    try:
        mask = sensitive_mask(domain.space, values)
    except ParameterError as error:
        raise ParameterError(f"values of group {place} of epsilons are said like what is sensitive: {error}") from None
    return np.ones(domain.size, dtype=np.bool_) if mask is None else mask


def _checked(number: float, epsilon: float, wanted: object, name: str) -> float:
    """Return an epsilon of the values of this name if it is a promise, and none above the largest."""
    if not (isfinite(number) and number > 0):
        raise ParameterError(f"epsilon of a value must be a finite number > 0, got {shown(wanted)} for {name}.")
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


class WeightedLaw(CommonLaw):
    """A block law with several groups: their values are in a noise block with different probabilities.

    Two of them are equal if their descriptions are.
    """

    groups: IntArray

    def spelled(self) -> dict[str, Any]:
        """Return the description with the group of every value, in the place of a digest."""
        return {**self.describe(), "levels": self.groups.tolist()}

    @classmethod
    def of_parts(cls, parts: dict[str, Any]) -> Self:
        """Return the law of a spelled-out description; see `CommonLaw.of_parts`."""
        others = {name: part for name, part in parts.items() if name not in ("size", "levels")}
        numbers = {name: tuple(part) if isinstance(part, list) else part for name, part in others.items()}
        return super().of_parts({**numbers, "groups": np.array(parts["levels"])})

    @property
    def block_size(self) -> Fraction | None:
        """Return the number of values in a block; None if it varies."""
        return self._block_size(group_counts(self.size, self.groups))

    def hit_distribution(self, m: int) -> None:
        """Return None: sets of m values differ."""
        del m

    def hits(self, m: FloatArray) -> None:
        """Return None: sets of m values differ."""
        del m

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


def group_counts(size: int, groups: IntArray | None) -> list[int]:
    """Return the number of values in each group, of ``size`` in all."""
    return [size] if groups is None else tallied(groups).tolist()


def check_groups(groups: object, numbers: object, name: str) -> None:
    """Refuse groups that are not integers from 0 on, and parameters of groups that are not integers.

    Raises:
        ParameterError: if groups or numbers are such.
    """
    if not is_plain(groups) or not len(groups) or groups.min() < 0:  # type: ignore[arg-type,attr-defined]
        raise ParameterError("groups must be a column of integers of at least 0, one for each value.")
    if not isinstance(numbers, tuple) or not numbers:
        raise ParameterError(f"{name} must be a tuple of integers, one for each group.")
    for number in numbers:
        checked_whole(name, number)
    # Before values are counted by group, which takes memory for each number up to the largest one.
    if groups.max() >= len(numbers):  # type: ignore[attr-defined]
        raise ParameterError(f"{name} must have an integer for every group, got {len(numbers)}.")
