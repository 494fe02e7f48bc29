"""Labels as numbers, and in an order: for means and quantiles."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from discreet.arrays import FloatArray, IntArray
from discreet.core import columns
from discreet.core.domain import Domain
from discreet.core.labels import IntegerRange, Integers, LabelSpace
from discreet.errors import DataError, ParameterError


def scores_of(domain: Domain, scores: Any, name: str) -> FloatArray:
    """Return a number for each value of a domain.

    Args:
        domain: the values.
        scores: ``(|X|,)`` numbers, or a mapping from every label to its number; None for labels that are integers.
        name: of the argument, in refusals.

    Raises:
        ParameterError: if there is no finite number for each value.
    """
    if scores is None:
        return _integers(domain.space, f"the mean of labels needs labels that are integers, or {name}").astype(float)
    try:
        if isinstance(scores, Mapping):
            codes, found = domain.encode(list(scores)), np.full(domain.size, np.nan)
            found[codes] = columns.numbers(list(scores.values()), name)
        else:
            found = columns.reals(scores, name)
    except DataError as error:
        raise ParameterError(f"{name}: {error}") from None
    if found.shape != (domain.size,) or not np.isfinite(found).all():
        raise ParameterError(
            f"{name} must be a finite number for each of the {domain.size} values, got shape {found.shape} with "
            f"{np.count_nonzero(np.isfinite(found))} finite numbers."
        )
    return found


def ascending(domain: Domain, order: Any) -> tuple[IntArray, list[Any]]:
    """Return the codes of all values from the lowest to the highest, and their labels.

    Args:
        domain: the values.
        order: all labels in this order; None for labels that are integers.

    Raises:
        ParameterError: if the labels have no order, or it does not list each of them once.
    """
    if order is None:
        labels = _integers(domain.space, "a quantile needs labels that are integers, or their order from low to high")
        codes = np.argsort(labels, kind="stable")
        return codes, labels[codes].tolist()
    try:
        codes = domain.encode(order)
    except DataError as error:
        raise ParameterError(f"order: {error}") from None
    different = len(np.unique(codes))
    if len(codes) != domain.size or different != domain.size:
        raise ParameterError(
            f"order must list each of the {domain.size} values once, got {len(codes)}, of which {different} differ."
        )
    return codes, domain.names(codes)


def _integers(space: LabelSpace, wanted: str) -> IntArray:
    if not isinstance(space, IntegerRange | Integers):
        raise ParameterError(f"{wanted}, got other labels.")
    labels: IntArray = space.table(np.arange(space.size))["value"]
    return labels
