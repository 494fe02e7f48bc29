"""Block laws with several groups of values, which are in a noise block with different probabilities."""

import hashlib
from fractions import Fraction
from functools import cached_property
from typing import Any, Self

import numpy as np

from discreet.arrays import FloatArray, IntArray
from discreet.core.checks import checked_whole
from discreet.core.epsilons import tallied
from discreet.core.reports import is_plain
from discreet.errors import ParameterError
from discreet.mechanisms.block_law import CommonLaw

_STRETCH = 1 << 16


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
