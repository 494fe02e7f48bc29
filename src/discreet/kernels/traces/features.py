"""An inverted index: for every feature its owners."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.kernels.compiling import compiled
from discreet.kernels.traces.numbering import ABSENT

_Ints = NDArray[np.int64]
_Numbers = NDArray[np.int32]


def invert(
    size: int, entries: list[tuple[_Ints, _Numbers, NDArray[np.integer[Any]]]], dtype: type = np.int32
) -> tuple[_Ints, _Numbers, NDArray[np.integer[Any]]]:
    """Return the owners of every feature, with their weights.

    Args:
        size: how many features there are.
        entries: groups of offsets ``(rows + 1,)``, features ``(m,)`` and weights ``(m,)``; row i belongs to owner
            i. `ABSENT` features and weights of 0 are left out. No feature may be in two of the groups.
        dtype: the type of the weights.

    Returns:
        ``(size + 1,)`` offsets, owners, ascending for each feature, and weights.
    """
    offsets = np.zeros(size + 1, np.int64)
    for _, features, weights in entries:
        _count_features(features, weights, offsets)
    np.cumsum(offsets, out=offsets)
    owners, kept, place = np.empty(offsets[-1], np.int32), np.empty(offsets[-1], dtype), offsets[:-1].copy()
    for rows, features, weights in entries:
        _scatter(rows, features, weights, place, (owners, kept))
    return offsets, owners, kept


@compiled()
def _count_features(features: _Numbers, weights: NDArray[np.integer[Any]], offsets: _Ints) -> None:
    for i in range(features.size):
        if features[i] != ABSENT and weights[i] != 0:
            offsets[features[i] + 1] += 1


@compiled()
def _scatter(rows: _Ints, features: _Numbers, weights: NDArray[np.integer[Any]], place: _Ints, out: Any) -> None:
    owners, kept = out
    for row in range(rows.size - 1):
        for i in range(rows[row], rows[row + 1]):
            feature = features[i]
            if feature != ABSENT and weights[i] != 0:
                owners[place[feature]] = row
                kept[place[feature]] = weights[i]
                place[feature] += 1
