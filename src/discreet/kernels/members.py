"""Compiled products with the membership matrix of member lists, and with its transpose.

``members`` are unsigned integers, shape ``(m, k)``: row i lists the k values in the block of
report i. Members outside 0..size-1 are ignored, and a repeated member counts every time.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.kernels import plain
from discreet.kernels.compiling import REASSOCIATE, compiled
from discreet.kernels.parallel import map_blocks, release_pages

# Members read per task: about a millisecond of work; at most 64 tasks.
_MEMBERS_PER_TASK = 1 << 21
_MOST_TASKS = 64


def members_dot(
    members: NDArray[np.unsignedinteger[Any]],
    values: NDArray[np.float64],
    *,
    threads: int | None = None,
) -> NDArray[np.float64]:
    """Return, for every report, the sum of the values of the members that the report lists.

    Args:
        members: shape ``(m, k)``.
        values: shape ``(size,)``.
        threads: as in `map_blocks`.

    Returns:
        Sums, shape ``(m,)``.

    Raises:
        ValueError: If the members are not unsigned integers in two dimensions.
    """
    members = _checked_members(members)
    values = np.ascontiguousarray(values, np.float64)
    sums = np.empty(len(members))

    def dot(start: int, stop: int) -> None:
        row_sums(members[start:stop], values, sums[start:stop])
        release_pages(members[start:stop])

    map_blocks(dot, len(members), block=_rows_per_task(members), threads=threads)
    return sums


def members_dot_transposed(
    members: NDArray[np.unsignedinteger[Any]],
    weights: NDArray[np.float64],
    size: int,
    *,
    threads: int | None = None,
) -> NDArray[np.float64]:
    """Return, for every value, the sum of the weights of the reports that list the value.

    Args:
        members: shape ``(m, k)``.
        weights: shape ``(m,)``.
        size: the number of values.
        threads: as in `map_blocks`.

    Returns:
        Sums, shape ``(size,)``.

    Raises:
        ValueError: If the members are not unsigned integers in two dimensions, or the
            weights are not one per report.
    """
    members = _checked_members(members)
    weights = np.ascontiguousarray(weights, np.float64)
    if weights.shape != (len(members),):
        raise ValueError(f"weights must have shape ({len(members)},), got {weights.shape}.")

    def dot(start: int, stop: int) -> NDArray[np.float64]:
        sums = column_sums(members[start:stop], weights[start:stop], size)
        release_pages(members[start:stop])
        return sums

    # A task returns `size` sums, so it should read several times as many members.
    block = max(_rows_per_task(members), 4 * size // max(members.shape[1], 1))
    block = max(block, -(-len(members) // _MOST_TASKS))
    sums = np.zeros(size)
    for part in map_blocks(dot, len(members), block=block, threads=threads):
        sums += part
    return sums


def _checked_members(
    members: NDArray[np.unsignedinteger[Any]],
) -> NDArray[np.unsignedinteger[Any]]:
    if members.dtype.kind != "u" or members.ndim != 2:
        raise ValueError(
            f"members must be unsigned integers with shape (m, k), got {members.dtype} with shape {members.shape}."
        )
    return np.ascontiguousarray(members)


def _rows_per_task(members: NDArray[np.unsignedinteger[Any]]) -> int:
    return max(_MEMBERS_PER_TASK // max(int(members.shape[1]), 1), 1)


@compiled(fastmath=REASSOCIATE, plain=plain.members_dot)
def row_sums(
    members: NDArray[np.unsignedinteger[Any]],
    values: NDArray[np.float64],
    sums: NDArray[np.float64],
) -> None:
    """Write the ``(m,)`` sums of the values of the members that each report lists."""
    for i in range(members.shape[0]):
        total = 0.0
        for k in range(members.shape[1]):
            if members[i, k] < values.size:
                total += values[members[i, k]]
        sums[i] = total


@compiled(plain=plain.members_dot_transposed)
def column_sums(
    members: NDArray[np.unsignedinteger[Any]], weights: NDArray[np.float64], size: int
) -> NDArray[np.float64]:
    """Return, for each value, the sum of the weights of the reports that list the value."""
    sums = np.zeros(size)
    for i in range(members.shape[0]):
        for k in range(members.shape[1]):
            if members[i, k] < size:
                sums[members[i, k]] += weights[i]
    return sums
