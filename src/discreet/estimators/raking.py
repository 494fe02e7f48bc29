"""Raking: weights of cells such that the shares of several margins are those of the population."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.arrays import FloatArray, IntArray
from discreet.core.columns import reals
from discreet.errors import DataError, ParameterError

_ROUNDS = 5000
_CLOSE = 1e-10
_SUM = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class Margin:
    """The known shares of one column's categories.

    Attributes:
        name: of the column.
        places: ``(k,)`` the category of each cell.
        shares: ``(c,)`` of the categories; they sum to 1.
    """

    name: str
    places: IntArray
    shares: FloatArray


def checked_shares(shares: Any, labels: Sequence[Any], wanted: str) -> FloatArray:
    """Return the shares of groups in the population, in the order of the groups.

    Args:
        shares: the share of each group, by its label.
        labels: of the groups that have people.
        wanted: what they are called.

    Raises:
        DataError: if a group has no share, or a share no people.
        ParameterError: if they are no numbers of at least 0, or do not sum to 1.
    """
    if not isinstance(shares, Mapping):
        raise ParameterError(f"{wanted} must be shares by group, got {type(shares).__name__}.")
    empty = [label for label in shares if label not in set(labels)]
    if empty:
        raise DataError(f"{wanted} must be of groups with people, and {_listed(empty)} have none; merge them.")
    without = [label for label in labels if label not in shares]
    if without:
        raise DataError(f"{wanted} must name every group, and {_listed(without)} are not there.")
    numbers: FloatArray = reals([shares[label] for label in labels], wanted)
    if not ((numbers >= 0) & np.isfinite(numbers)).all() or abs(numbers.sum() - 1) > _SUM:
        raise ParameterError(f"{wanted} must be numbers >= 0 that sum to 1, got sum {numbers.sum():.9g}.")
    known: FloatArray = numbers / numbers.sum()
    return known


def raked(weights: FloatArray, margins: Sequence[Margin]) -> FloatArray:
    """Return the shares of cells whose margins are the known ones, by iterative proportional fitting.

    Args:
        weights: ``(k,)`` of the cells, above 0.
        margins: of the population.

    Returns:
        ``(k,)`` shares that sum to 1.

    Raises:
        DataError: if no shares of these cells have these margins.
    """
    shares: FloatArray = weights / weights.sum()
    for _ in range(_ROUNDS):
        most = 0.0
        for margin in margins:
            now = np.bincount(margin.places, shares, len(margin.shares))
            ratios = np.divide(margin.shares, now, out=np.ones_like(now), where=now > 0)
            most = max(most, float(np.abs(now - margin.shares).max()))
            shares = shares * ratios[margin.places]
        if most < _CLOSE:
            return shares
    raise DataError("margins must fit the people: no weights of the combinations that occur have these margins.")


def fitted(cells: FloatArray, shares: FloatArray, margins: Sequence[Margin]) -> FloatArray:
    """Return the ``(k, |X|)`` fitted values of the cells' means: what margins explain of them.

    Args:
        cells: ``(k, |X|)`` means.
        shares: ``(k,)`` of the cells, by which they are weighted.
        margins: whose categories explain them.
    """
    marks = [np.eye(len(margin.shares))[margin.places] for margin in margins]
    design = np.concatenate(marks, axis=1)
    root = np.sqrt(shares)[:, None]
    values: FloatArray = design @ np.linalg.lstsq(root * design, root * cells, rcond=None)[0]
    return values


def _listed(labels: Sequence[Any], most: int = 5) -> str:
    shown = ", ".join(str(label)[:40] for label in labels[:most])
    return shown if len(labels) <= most else f"{shown} and {len(labels) - most} others"
