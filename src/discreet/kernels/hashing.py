"""Compiled kernels for local hashing: one hash function per report, or a pool of functions for all reports.

A report with its own function is ``(alpha, beta, bucket)``, three uint32 arrays of shape ``(m,)``. Its block is

    {x = (alpha*z + beta) mod prime : z = bucket, bucket + g, bucket + 2g, ... < prime}

restricted to values below ``size``, where g is the number of buckets and size <= prime < 2^32. So a block has a start
and a constant step, and costs prime/g additions modulo the prime. A bucket of at least the prime gives an empty block.

Function j of a pool is a cubic polynomial modulo a prime,

    h_j(x) = ((c0 + c1 x + c2 x^2 + c3 x^3) mod prime) mod buckets,

and its row of a table has one entry per bucket. Products with the blocks need no list of members. Values are processed
in order, so that a polynomial costs three additions per value (its differences) and no product. The prime is below
2^31, so that a sum of two residues fits into 32 bits.
"""

from typing import Any, TypeAlias, TypeVar

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


Number = TypeVar("Number", np.int64, np.float64)

_LARGEST_PRIME = (1 << 31) - 1
# Values computed side by side, in vector lanes: each value continues from the one this far before it.
_POOL_LANES = 32
# Values per tile, whose buckets fit into the first-level cache.
_TILE = 4096
# Steps per task, about ten milliseconds of work.
_POOL_STEPS = 1 << 23
# Rows of a table this small are summed in four copies, so that no value waits for the previous one.
_INTERLEAVED = 1 << 10


def gather_buckets(
    coefficients: NDArray[np.uint32], tables: NDArray[Number], *, prime: int, size: int, threads: int | None = None
) -> NDArray[Number]:
    """Return, for every value, the sum of the table entries of the value's buckets over all functions.

    Args:
        coefficients: shape ``(m, 4)``, c0 to c3 of each function, below the prime.
        tables: shape ``(m, g)``; integers are summed exactly.
        prime: the modulus, at least size and below 2^31.
        size: the number of values.
        threads: as in `map_blocks`.

    Returns:
        Sums, shape ``(size,)``, of the tables' type.

    Raises:
        ValueError: If shapes or numbers do not fit together.
    """
    coefficients, tables = _checked(coefficients, prime, size), np.ascontiguousarray(tables)
    if tables.ndim != 2 or len(tables) != len(coefficients) or not 1 <= tables.shape[1] < 1 << 31:
        raise ValueError(f"tables must have a row per function, got shape {tables.shape}.")
    sums = np.zeros(size, tables.dtype)

    def gather(start: int, stop: int) -> None:
        collect(coefficients, tables, prime, start, sums[start:stop])

    map_blocks(gather, size, block=_TILE, threads=threads)
    return sums


def scatter_buckets(
    coefficients: NDArray[np.uint32],
    values: NDArray[np.float64],
    *,
    prime: int,
    buckets: int,
    threads: int | None = None,
) -> NDArray[np.float64]:
    """Return, for every function and bucket, the sum of the numbers of all values in the bucket.

    Args:
        coefficients: shape ``(m, 4)``, c0 to c3 of each function, below the prime.
        values: shape ``(size,)``.
        prime: the modulus, at least size and below 2^31.
        buckets: g, at least 1.
        threads: as in `map_blocks`.

    Returns:
        Sums, shape ``(m, buckets)``.

    Raises:
        ValueError: If shapes or numbers do not fit together.
    """
    values = np.ascontiguousarray(values, np.float64)
    coefficients = _checked(coefficients, prime, values.size)
    if not 1 <= buckets < 1 << 31:
        raise ValueError(f"buckets must be in 1..2^31 - 1, got {buckets}.")
    sums = np.zeros((len(coefficients), buckets))

    def scatter(start: int, stop: int) -> None:
        scatter_sums(coefficients[start:stop], values, prime, sums[start:stop])

    map_blocks(scatter, len(coefficients), block=max(_POOL_STEPS // max(values.size, 1), 1), threads=threads)
    return sums


def _checked(coefficients: NDArray[np.uint32], prime: int, size: int) -> NDArray[np.uint32]:
    if coefficients.dtype != np.uint32 or coefficients.ndim != 2 or coefficients.shape[1] != 4:
        raise ValueError(f"coefficients must be (m, 4) uint32, got {coefficients.shape} {coefficients.dtype}.")
    if not 0 <= size <= prime <= _LARGEST_PRIME:
        raise ValueError(f"size <= prime < 2^31 must hold, got size={size}, prime={prime}.")
    if coefficients.size and coefficients.max() >= prime:
        raise ValueError(f"coefficients must be below the prime {prime}.")
    return np.ascontiguousarray(coefficients)


@compiled(plain=plain.gather)
def collect(coefficients: NDArray[np.uint32], tables: NDArray[Any], prime: int, start: int, sums: NDArray[Any]) -> None:
    """Add the table entries of each value's buckets, over a pool's functions, to the value's sum."""
    buckets = np.empty(_TILE, np.uint32)
    for function in range(len(coefficients)):
        row = tables[function]
        for first in range(0, sums.size, _TILE):
            count = min(_TILE, sums.size - first)
            _hash(coefficients[function], start + first, count, prime, row.size, buckets)
            for i in range(count):
                sums[first + i] += row[buckets[i]]


@compiled(plain=plain.scatter)
def scatter_sums(coefficients: NDArray[np.uint32], values: NDArray[np.float64], prime: int, sums: NDArray[Any]) -> None:
    """Add the values to the sums of their buckets, for each function of a pool."""
    buckets = np.empty(_TILE, np.uint32)
    copies = np.zeros((4, min(sums.shape[1], _INTERLEAVED)))
    interleaved = sums.shape[1] <= _INTERLEAVED
    for function in range(len(coefficients)):
        row = sums[function]
        for first in range(0, values.size, _TILE):
            count = min(_TILE, values.size - first)
            _hash(coefficients[function], first, count, prime, row.size, buckets)
            if not interleaved:
                for i in range(count):
                    row[buckets[i]] += values[first + i]
                continue
            whole = count // 4 * 4
            for i in range(0, whole, 4):
                for copy in range(4):
                    copies[copy, buckets[i + copy]] += values[first + i + copy]
            for i in range(whole, count):
                copies[0, buckets[i]] += values[first + i]
        if interleaved:
            for bucket in range(row.size):
                row[bucket] = (copies[0, bucket] + copies[1, bucket]) + (copies[2, bucket] + copies[3, bucket])
                copies[:, bucket] = 0.0


@compiled()
def _hash(
    coefficients: NDArray[np.uint32], first: int, count: int, prime: int, buckets: int, out: NDArray[np.uint32]
) -> None:
    """Write the buckets of ``count`` consecutive values, starting with ``first``."""
    modulus = np.uint32(prime)
    head = 4 * _POOL_LANES
    _walk(coefficients, first, min(head, out.size), prime, out)
    if count > head:
        once, twice, thrice = (
            np.empty(_POOL_LANES, np.uint32),
            np.empty(_POOL_LANES, np.uint32),
            np.empty(_POOL_LANES, np.uint32),
        )
        y = out[head - _POOL_LANES : head].copy()
        for lane in range(_POOL_LANES):
            once[lane] = _less(y[lane], out[head - 2 * _POOL_LANES + lane], modulus)
            before = _less(out[head - 2 * _POOL_LANES + lane], out[head - 3 * _POOL_LANES + lane], modulus)
            earlier = _less(out[head - 3 * _POOL_LANES + lane], out[lane], modulus)
            twice[lane] = _less(once[lane], before, modulus)
            thrice[lane] = _less(twice[lane], _less(before, earlier, modulus), modulus)
        for place in range(head, count, _POOL_LANES):
            for lane in range(_POOL_LANES):
                twice[lane] = _plus(twice[lane], thrice[lane], modulus)
                once[lane] = _plus(once[lane], twice[lane], modulus)
                y[lane] = _plus(y[lane], once[lane], modulus)
                out[place + lane] = y[lane]
    _reduce(out, count, buckets)


@compiled()
def _walk(coefficients: NDArray[np.uint32], first: int, count: int, prime: int, out: NDArray[np.uint32]) -> None:
    modulus = np.uint32(prime)
    y, y1 = _evaluate(coefficients, first, prime), _evaluate(coefficients, first + 1, prime)
    y2, y3 = _evaluate(coefficients, first + 2, prime), _evaluate(coefficients, first + 3, prime)
    once, next_once, last_once = _less(y1, y, modulus), _less(y2, y1, modulus), _less(y3, y2, modulus)
    twice, next_twice = _less(next_once, once, modulus), _less(last_once, next_once, modulus)
    thrice = _less(next_twice, twice, modulus)
    for i in range(count):
        out[i] = y
        y, once, twice = _plus(y, once, modulus), _plus(once, twice, modulus), _plus(twice, thrice, modulus)


@compiled()
def _evaluate(coefficients: NDArray[np.uint32], value: int, prime: int) -> Any:
    modulus, x = np.uint64(prime), np.uint64(value) % np.uint64(prime)
    y = np.uint64(coefficients[3])
    for degree in range(2, -1, -1):
        y = (y * x + np.uint64(coefficients[degree])) % modulus
    return np.uint32(y)


@compiled()
def _plus(a: Any, b: Any, modulus: Any) -> Any:
    # A result that is too large is reduced; a difference below 0 wraps to a larger number.
    total = np.uint32(a + b)
    return min(total, np.uint32(total - modulus))


@compiled()
def _less(a: Any, b: Any, modulus: Any) -> Any:
    difference = np.uint32(a - b)
    return min(difference, np.uint32(difference + modulus))


@compiled()
def _reduce(out: NDArray[np.uint32], count: int, buckets: int) -> None:
    """Replace numbers below 2^31 by their remainders modulo g, without division [Granlund, Montgomery 1994]."""
    shift = 31
    while (1 << (shift - 31)) < buckets:
        shift += 1
    factor, places, divisor = np.uint64((1 << shift) // buckets + 1), np.uint64(shift), np.uint32(buckets)
    for i in range(count):
        quotient = np.uint32((np.uint64(out[i]) * factor) >> places)
        out[i] = np.uint32(out[i] - np.uint32(quotient * divisor))
