"""Patterns of combinations that are sensitive: their codes, and where their ranges of numbers end."""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from discreet.arrays import BoolArray
from discreet.core.domain import Domain, numbers_in, value_mask
from discreet.core.labels.products import Product
from discreet.core.labels.spaces import LabelSpace


def with_ends(attributes: Mapping[str, Domain], patterns: Sequence[Mapping[str, Any]]) -> Mapping[str, Domain]:
    """Return domains whose numbers know where the ranges end that patterns name.

    Args:
        attributes: domains by name, in which every value is sensitive if there are patterns.
        patterns: combinations that are sensitive, as `Domain.product` takes them.
    """
    known = dict(attributes)
    for name, domain in attributes.items() if patterns else ():
        if (space := domain.numbers) is not None:
            every = np.ones(space.size, dtype=np.bool_)
            masks = [_mask(name, space, each[name]) if name in each else every for each in patterns]
            ended = space.ending(np.column_stack(masks), numbers_in([*patterns]))
            known[name] = Domain.over(ended, domain.sensitive, exact=domain.exact).about(domain.attribute)
    return MappingProxyType(known)


def coded_patterns(
    attributes: Mapping[str, Domain], patterns: Iterable[Mapping[str, Any]]
) -> list[dict[str, list[int]]]:
    """Return the parts of patterns, one after the other, with codes in the place of labels and ranges."""
    return [
        {name: np.flatnonzero(_mask(name, attributes[name].space, part)).tolist()}
        for pattern in patterns
        for name, part in pattern.items()
    ]


def _mask(name: str, space: LabelSpace, part: Any) -> BoolArray:
    return value_mask(Product({name: space}), [{name: part}], "combinations", closed=True)
