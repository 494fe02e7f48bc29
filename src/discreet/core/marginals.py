"""Marginals and conditions of product domains: the domain that is left, and the values behind each of its own."""

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from discreet.arrays import FloatArray
from discreet.core.domain import Domain
from discreet.core.labels import LabelSpace
from discreet.core.partitions import AxisPartition, CellPartition
from discreet.core.products import Product
from discreet.core.sensitivity import value_mask
from discreet.errors import ParameterError


def marginal(domain: Domain, names: Sequence[str]) -> tuple[Domain, AxisPartition]:
    """Return the domain of some attributes, and the partition of the values by these.

    A value of the marginal is sensitive if one that falls on it is.

    Raises:
        ParameterError: if the domain is no product, or has no such attribute.
    """
    attributes = _attributes(domain, "a marginal")
    unknown = [name for name in names if name not in attributes]
    if unknown or not names or len(set(names)) < len(names):
        raise ParameterError(
            f"a marginal must be of different attributes among {', '.join(attributes)}, got {list(names)}."
        )
    order = list(attributes)
    shape, kept = tuple(space.size for space in attributes.values()), tuple(order.index(name) for name in names)
    cells = AxisPartition(prod(shape[axis] for axis in kept), shape, kept)
    return _domain_of({name: attributes[name] for name in names}, cells.total(_marks(domain)) > 0), cells


def condition(domain: Domain, pattern: Mapping[str, Any]) -> tuple[Domain, CellPartition]:
    """Return the domain of the attributes that a pattern leaves open, and the partition of the values that fit it.

    Raises:
        ParameterError: if the domain is no product, an attribute or a label is unknown, or none is left open.
    """
    attributes = _attributes(domain, "a condition")
    mask = value_mask(domain.space, [pattern], "where")
    left = {name: space for name, space in attributes.items() if name not in pattern}
    if not left:
        raise ParameterError(
            f"where must leave one attribute open, got labels of all: {', '.join(attributes)}; for the share of single "
            "values use total."
        )
    codes = np.flatnonzero(mask)
    places = np.unravel_index(codes, tuple(space.size for space in attributes.values()))
    of_left = [place for name, place in zip(attributes, places, strict=True) if name in left]
    sizes = tuple(space.size for space in left.values())
    cells = CellPartition(prod(sizes), domain.size, codes, np.ravel_multi_index(of_left, sizes))
    return _domain_of(left, cells.total(_marks(domain)) > 0), cells


def _marks(domain: Domain) -> FloatArray:
    return domain.sensitive.astype(np.float64)


def _attributes(domain: Domain, wanted: str) -> dict[str, LabelSpace]:
    if not isinstance(domain.space, Product):
        raise ParameterError(
            f"{wanted} needs a product domain, of several attributes, got {domain!r}; for sums of values use total."
        )
    return domain.space.attributes


def _domain_of(attributes: Mapping[str, LabelSpace], sensitive: Any) -> Domain:
    space = next(iter(attributes.values())) if len(attributes) == 1 else Product(dict(attributes))
    return Domain.over(space, sensitive)
