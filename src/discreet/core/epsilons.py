"""A promise of its own for each sensitive value: what a user says of it, turned into levels."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from discreet.arrays import FloatArray, IntArray, sealed
from discreet.core.bots import Extended
from discreet.core.domain import Domain, checked_domain
from discreet.core.exact import checked_epsilon, real_number
from discreet.core.sensitivity import sensitive_mask
from discreet.errors import DataError, ParameterError

PerValueEpsilons: TypeAlias = Mapping[Any, float] | Sequence[Mapping[str, Any]]
"""A mapping from label to epsilon; or a list of groups, each a mapping with ``values`` and ``epsilon``."""

_GROUP = {"values", "epsilon"}


@dataclass(frozen=True, slots=True, eq=False)
class Levels:
    """The epsilon_x of every sensitive value.

    Attributes:
        epsilons: the different ones, ascending, in nats.
        levels: ``(v,)`` which of them each sensitive value has; for a domain without any, one that stands for nobody.
    """

    epsilons: tuple[float, ...]
    levels: IntArray

    @classmethod
    def of(cls, domain: Domain, epsilon: float, said: PerValueEpsilons) -> "Levels":
        """Read what is promised to each sensitive value.

        Args:
            domain: the values and which of them are sensitive.
            epsilon: the largest promise, in nats.
            said: see `PerValueEpsilons`. ``values`` of a group are said as what is sensitive in a `Domain` is: labels,
                a mask, a predicate, patterns of a product, points of a grid.

        Raises:
            ParameterError: if a sensitive value has no epsilon, or a value has two, or is not sensitive or not in the
                domain, or an epsilon is not a finite number above 0 and at most ``epsilon``.
        """
        epsilon = checked_epsilon(epsilon)
        if isinstance(checked_domain(domain).space, Extended):
            raise ParameterError(
                "a personalized mechanism must have one epsilon for all values and bots; "
                "choose a mechanism without epsilons."
            )
        given = np.zeros(domain.size)
        for codes, wanted in _said(domain, said):
            given[codes] = _checked(domain, epsilon, given, codes, wanted)
        missing = domain.sensitive_codes[given[domain.sensitive_codes] == 0]
        if len(missing):
            raise ParameterError(
                f"epsilons must give every sensitive value its epsilon; {len(missing)} of {domain.sensitive_count} "
                f"have none, the first of them {_name(domain, missing[0])}."
            )
        if domain.sensitive_count == 0:
            return cls((epsilon,), sealed(np.zeros(1, dtype=np.int64)))
        different, levels = np.unique(given[domain.sensitive_codes], return_inverse=True)
        return cls(tuple(different.tolist()), sealed(levels.astype(np.int64)))

    @property
    def counts(self) -> list[int]:
        """How many values have each epsilon."""
        counts: list[int] = np.bincount(self.levels).tolist()
        return counts


def _said(domain: Domain, said: Any) -> Iterable[tuple[IntArray, list[Any]]]:
    """Yield codes with what each of them is given, which may still be anything."""
    if isinstance(said, Mapping):
        yield _codes_of_labels(domain, list(said)), list(said.values())
        return
    if not isinstance(said, Sequence) or isinstance(said, str | bytes):
        raise ParameterError(
            f"epsilons must be a mapping from label to epsilon, or a list of groups with values and epsilon, "
            f"got {type(said).__name__}."
        )
    for place, group in enumerate(said):
        if not isinstance(group, Mapping) or set(group) != _GROUP:
            raise ParameterError(f"group {place} of epsilons must have values and epsilon, and nothing else.")
        codes = _codes_of_group(domain, group["values"], place)
        yield codes, [group["epsilon"]] * len(codes)


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


def _codes_of_group(domain: Domain, values: Any, place: int) -> IntArray:
    if values is None:
        raise ParameterError(f"values of group {place} of epsilons must be named, got None.")
    try:
        mask = sensitive_mask(domain.space, values)
    except ParameterError as error:
        raise ParameterError(f"values of group {place} of epsilons are said like what is sensitive: {error}") from None
    return np.arange(domain.size) if mask is None else np.flatnonzero(mask)


def _checked(domain: Domain, epsilon: float, given: FloatArray, codes: IntArray, wanted: list[Any]) -> FloatArray:
    """Return ``(m,)`` epsilons for codes that have none yet."""
    numbers = np.array([real_number(one) for one in wanted])
    wrong = np.flatnonzero(~(np.isfinite(numbers) & (numbers > 0)))
    if len(wrong):
        raise ParameterError(
            f"epsilon of a value must be a finite number > 0, got {wanted[wrong[0]]!r} for "
            f"{_name(domain, codes[wrong[0]])}."
        )
    large = np.flatnonzero(numbers > epsilon)
    if len(large):
        raise ParameterError(
            f"epsilon must be the largest promise, {epsilon!r}, but {_name(domain, codes[large[0]])} is given "
            f"{wanted[large[0]]!r}."
        )
    clear = codes[~domain.sensitive[codes]]
    if len(clear):
        raise ParameterError(
            f"epsilons are for sensitive values; {len(clear)} of the values named are not sensitive, "
            f"the first of them {_name(domain, clear[0])}."
        )
    first = np.unique(codes, return_index=True)[1]
    twice = np.append(codes[given[codes] > 0], np.delete(codes, first))
    if len(twice):
        raise ParameterError(
            f"epsilons must name a value once; {len(twice)} have two, the first of them {_name(domain, twice[0])}."
        )
    return numbers


def _name(domain: Domain, code: int) -> str:
    return repr(domain.names(np.array([code]))[0])
