"""Compiled kernels for local hashing: each report has its own hash function.

A report is ``(alpha, beta, bucket)``, three uint32 arrays of shape ``(m,)``. Its block is

    {x = (alpha*z + beta) mod prime : z = bucket, bucket + g, bucket + 2g, ... < prime}

restricted to values below ``size``, where g is the number of buckets and size <= prime < 2^32. So a block has a start
and a constant step, and costs prime/g additions modulo the prime. A bucket of at least the prime gives an empty block.
"""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.kernels import plain
from discreet.kernels.compiling import compiled
from discreet.kernels.parallel import map_blocks, release_pages

_Column: TypeAlias = NDArray[np.uint32]
_Columns: TypeAlias = tuple[_Column, _Column, _Column]

# Reports processed side by side, so that none waits for its own previous step.
_LANES = 64
# Values visited per task: about a millisecond of work; at most 64 tasks.
STEPS_PER_TASK = 1 << 21
_MOST_TASKS = 64
# At least any size: the position of a report whose block is complete.
_NOWHERE = 0xFFFFFFFF


def add_preimages(
    columns: _Columns, groups: NDArray[np.int32], counts: NDArray[np.int64], *, prime: int, buckets: int
) -> None:
    """Add to existing counts, for every group and value, the number of blocks that contain the value.

    Args:
        columns: alpha, beta and bucket, each of shape ``(m,)``.
        groups: shape ``(m,)``, rows of the counts; every row must exist.
        counts: shape ``(groups, size)``, contiguous; changed in place.
        prime: the modulus, at least size and below 2^32.
        buckets: g, at least 1 and below 2^32.

    Raises:
        ValueError: If the columns, the prime, g or the size do not fit together.
    """
    _check_parameters(prime, buckets, counts.shape[1])
    count_by_group(_checked_columns(*columns), groups, prime, buckets, counts)


def preimages_dot(
    alpha: _Column,
    beta: _Column,
    bucket: _Column,
    values: NDArray[np.float64],
    *,
    prime: int,
    buckets: int,
    threads: int | None = None,
) -> NDArray[np.float64]:
    """Return, for every report, the sum of the values in the report's block.

    Args:
        alpha: shape ``(m,)``.
        beta: shape ``(m,)``.
        bucket: shape ``(m,)``.
        values: shape ``(size,)``.
        prime: the modulus, at least size and below 2^32.
        buckets: g, at least 1 and below 2^32.
        threads: as in `map_blocks`.

    Returns:
        Sums, shape ``(m,)``.

    Raises:
        ValueError: If the columns, the prime, g or the size do not fit together.
    """
    columns = _checked_columns(alpha, beta, bucket)
    values = np.ascontiguousarray(values, np.float64)
    _check_parameters(prime, buckets, values.size)
    sums = np.zeros(alpha.size)

    def dot(start: int, stop: int) -> None:
        row_sums(_part(columns, start, stop), values, prime, buckets, sums[start:stop])

    map_blocks(dot, alpha.size, block=_reports_per_task(prime, buckets), threads=threads)
    _forget_columns(columns)
    return sums


def preimages_dot_transposed(
    alpha: _Column,
    beta: _Column,
    bucket: _Column,
    weights: NDArray[np.float64],
    *,
    prime: int,
    buckets: int,
    size: int,
    threads: int | None = None,
) -> NDArray[np.float64]:
    """Return, for every value, the sum of the weights of the reports whose blocks contain the value.

    Args:
        alpha: shape ``(m,)``.
        beta: shape ``(m,)``.
        bucket: shape ``(m,)``.
        weights: shape ``(m,)``.
        prime: the modulus, at least size and below 2^32.
        buckets: g, at least 1 and below 2^32.
        size: the number of values.
        threads: as in `map_blocks`.

    Returns:
        Sums, shape ``(size,)``.

    Raises:
        ValueError: If the columns, the weights, the prime, g or the size do not fit together.
    """
    columns = _checked_columns(alpha, beta, bucket)
    _check_parameters(prime, buckets, size)
    weights = np.ascontiguousarray(weights, np.float64)
    if weights.shape != alpha.shape:
        raise ValueError(f"weights must have shape {alpha.shape}, got {weights.shape}.")

    def dot(start: int, stop: int) -> NDArray[np.float64]:
        sums = np.zeros(size)
        column_sums(_part(columns, start, stop), weights[start:stop], prime, buckets, sums)
        return sums

    # A task returns `size` sums, so it should visit several times as many values.
    block = max(_reports_per_task(prime, buckets), 4 * size * buckets // prime)
    block = max(block, -(-alpha.size // _MOST_TASKS))
    sums = np.zeros(size)
    for part in map_blocks(dot, alpha.size, block=block, threads=threads):
        sums += part
    _forget_columns(columns)
    return sums


def _forget_columns(columns: _Columns) -> None:
    # At the end, not after each task: with long blocks the reports of a task do not fill a page.
    for column in columns:
        release_pages(column)


def _checked_columns(alpha: _Column, beta: _Column, bucket: _Column) -> _Columns:
    columns = (alpha, beta, bucket)
    if any(c.dtype != np.uint32 or c.ndim != 1 or c.size != alpha.size for c in columns):
        came = ", ".join(f"{column.dtype} {column.shape}" for column in columns)
        raise ValueError(f"alpha, beta, bucket must be uint32 with one shape (m,), got {came}.")
    return np.ascontiguousarray(alpha), np.ascontiguousarray(beta), np.ascontiguousarray(bucket)


def _check_parameters(prime: int, buckets: int, size: int) -> None:
    if not 0 <= size <= prime < 1 << 32 or prime < 1 or not 1 <= buckets < 1 << 32:
        raise ValueError(
            "size <= prime < 2^32 and 1 <= buckets < 2^32 must hold, "
            f"got size={size}, prime={prime}, buckets={buckets}."
        )


def _part(columns: _Columns, start: int, stop: int) -> _Columns:
    alpha, beta, bucket = columns
    return alpha[start:stop], beta[start:stop], bucket[start:stop]


def _reports_per_task(prime: int, buckets: int) -> int:
    return max(STEPS_PER_TASK // -(-prime // buckets), _LANES)


@compiled(plain=plain.count_preimages)
def count_by_group(
    columns: _Columns, groups: NDArray[np.int32], prime: int, buckets: int, counts: NDArray[np.int64]
) -> None:
    """Add to ``(g, size)`` counts, for every group and value, the number of blocks that contain the value."""
    flat, size, rows = counts.reshape(-1), np.uint64(counts.shape[1]), np.empty(_LANES, np.uint64)
    for start in range(0, columns[0].size, _LANES):
        x, step, visits = begin_walks(columns, start, prime, buckets)
        for lane in range(x.size):
            rows[lane] = np.uint64(groups[start + lane]) * size
        common = visits.min()
        for visit in range(visits.max()):
            if visit >= common:
                retire_walks(x, visits, visit)
            # Usually there is one group; without a look-up of its row the loop takes a quarter less time.
            if size == flat.size:
                for lane in range(x.size):
                    if x[lane] < size:
                        flat[x[lane]] += 1
            else:
                for lane in range(x.size):
                    if x[lane] < size:
                        flat[rows[lane] + x[lane]] += 1
            advance_walks(x, step, prime)


@compiled(plain=plain.preimages_dot)
def row_sums(
    columns: _Columns,
    values: NDArray[np.float64],
    prime: int,
    buckets: int,
    sums: NDArray[np.float64],
) -> None:
    """Write the ``(m,)`` sums of the values in each report's block."""
    for start in range(0, columns[0].size, _LANES):
        x, step, visits = begin_walks(columns, start, prime, buckets)
        common = visits.min()
        for visit in range(visits.max()):
            if visit >= common:
                retire_walks(x, visits, visit)
            for lane in range(x.size):
                if x[lane] < values.size:
                    sums[start + lane] += values[x[lane]]
            advance_walks(x, step, prime)


@compiled(plain=plain.preimages_dot_transposed)
def column_sums(
    columns: _Columns,
    weights: NDArray[np.float64],
    prime: int,
    buckets: int,
    sums: NDArray[np.float64],
) -> None:
    """Add, for each value, the weights of the reports whose blocks contain the value, to ``(size,)`` sums."""
    for start in range(0, columns[0].size, _LANES):
        x, step, visits = begin_walks(columns, start, prime, buckets)
        common = visits.min()
        for visit in range(visits.max()):
            if visit >= common:
                retire_walks(x, visits, visit)
            for lane in range(x.size):
                if x[lane] < sums.size:
                    sums[x[lane]] += weights[start + lane]
            advance_walks(x, step, prime)


@compiled()
def begin_walks(columns: _Columns, start: int, prime: int, buckets: int) -> Any:
    """Return the first value in each report's block, the steps between the values, and the numbers of values."""
    alpha, beta, bucket = columns
    count = min(_LANES, alpha.size - start)
    x, step = np.empty(count, np.uint32), np.empty(count, np.uint32)
    visits = np.empty(count, np.int64)
    modulus, stride = np.uint64(prime), np.uint64(buckets)
    for lane in range(count):
        a, b = np.uint64(alpha[start + lane]), np.uint64(beta[start + lane])
        first = np.uint64(bucket[start + lane])
        # At most (2^32 - 1) * 2^32: no overflow in 64 bits.
        x[lane] = (a * first + b) % modulus
        step[lane] = a * stride % modulus
        visits[lane] = -((np.int64(bucket[start + lane]) - prime) // buckets)
    return x, step, visits


@compiled()
def retire_walks(x: _Column, visits: NDArray[np.int64], visit: int) -> None:
    """Move reports whose block has no further value to a position above all values."""
    for lane in range(x.size):
        if visits[lane] <= visit:
            x[lane] = _NOWHERE


@compiled()
def advance_walks(x: _Column, step: _Column, prime: int) -> None:
    """Move each report to the next value of its block."""
    modulus = np.uint32(prime)
    for lane in range(x.size):
        # x + step would overflow 32 bits for a large prime; neither branch does.
        back = np.uint32(modulus - step[lane])
        down, up = np.uint32(x[lane] - back), np.uint32(x[lane] + step[lane])
        x[lane] = down if x[lane] >= back else up
