"""NumPy kernels for machines without numba, with the same arguments and results as the compiled kernels.

Sums of integers are identical; sums of floating-point numbers are added in another order.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from discreet.arrays import AnyArray, FloatArray, IntArray

# Reports, values or members processed together, whose arrays fit into the cache.
_AT_ONCE = 1 << 13
_ENTRIES_AT_ONCE = 1 << 15


def count_preimages(columns: Any, groups: AnyArray, prime: int, buckets: int, counts: IntArray) -> None:
    """Add to existing counts, for every group and value, the number of blocks that contain the value."""
    flat, size = counts.reshape(-1), counts.shape[1]
    starts = groups.astype(np.int64) * size
    for rows, values in _preimages(columns, prime, buckets):
        there = values < size
        np.add.at(flat, starts[rows][there] + values[there].astype(np.int64), 1)


def preimages_dot(columns: Any, values: FloatArray, prime: int, buckets: int, sums: FloatArray) -> None:
    """Add, for every report, the values in the report's block to the report's sum."""
    padded = np.append(values, 0.0)
    for rows, places in _preimages(columns, prime, buckets):
        sums[rows] += padded[np.minimum(places, values.size).astype(np.int64)]


def preimages_dot_transposed(columns: Any, weights: FloatArray, prime: int, buckets: int, sums: FloatArray) -> None:
    """Add, for every value, the weights of the reports whose blocks contain the value to the value's sum."""
    for rows, places in _preimages(columns, prime, buckets):
        there = places < sums.size
        np.add.at(sums, places[there].astype(np.int64), weights[rows][there])


def _preimages(columns: Any, prime: int, buckets: int) -> Iterator[tuple[slice, AnyArray]]:
    """Yield the members of all blocks in steps: in each step some rows, and one member of each row's block."""
    # A sum of two residues must fit.
    lane = np.uint32 if prime < 1 << 31 else np.uint64
    modulus = lane(prime)
    for start in range(0, columns[0].size, _AT_ONCE):
        rows = slice(start, start + _AT_ONCE)
        alpha, beta, bucket = (column[rows].astype(np.uint64) for column in columns)
        x = ((alpha * bucket + beta) % np.uint64(prime)).astype(lane)
        step = (alpha * np.uint64(buckets) % np.uint64(prime)).astype(lane)
        visits = -((bucket.astype(np.int64) - prime) // buckets)
        common = visits.min()
        for visit in range(visits.max()):
            yield rows, x if visit < common else np.where(visits > visit, x, lane(0xFFFFFFFF))
            x = x + step
            # A sum that is too large is reduced; a difference below 0 wraps to a larger number.
            np.minimum(x, x - modulus, out=x)


def _chunks(rows: int, width: int) -> Iterator[slice]:
    """Yield chunks of consecutive rows whose arrays fit into the cache, for rows of the given width."""
    step = max(_ENTRIES_AT_ONCE // max(width, 1), 1)
    return (slice(start, start + step) for start in range(0, rows, step))


def members_dot(members: AnyArray, values: FloatArray, sums: FloatArray) -> None:
    """Write, for every report, the sum of the values of the members that the report lists."""
    padded = np.append(values, 0.0)
    for rows in _chunks(*members.shape):
        sums[rows] = padded[np.minimum(members[rows], values.size)].sum(axis=1)


def members_dot_transposed(members: AnyArray, weights: FloatArray, size: int) -> FloatArray:
    """Return, for every value, the sum of the weights of the reports that list the value."""
    sums = np.zeros(size + 1)
    for rows in _chunks(*members.shape):
        np.add.at(sums, np.minimum(members[rows], size), weights[rows, None])
    return sums[:-1]


def transpose_rows(rows: AnyArray, tiles: AnyArray) -> None:
    """Write packed reports as tiles: bit u of ``tiles[i, j]`` is bit j of report 32 i + u."""
    for i in range(len(tiles)):
        bits = np.zeros((32, tiles.shape[1]), np.uint8)
        some = rows[32 * i : 32 * i + 32]
        bits[: len(some)] = np.unpackbits(some, axis=1, bitorder="little", count=tiles.shape[1])
        tiles[i] = np.packbits(bits.T.copy(), axis=1, bitorder="little").view("<u4")[:, 0]


def tiles_dot(tiles: AnyArray, values: AnyArray, _: int, sums: AnyArray) -> None:
    """Write, for every report, the sum of the values whose bits are 1 in the report."""
    for rows, bits in _bits(tiles):
        sums[rows] = np.einsum("j,ijk->ik", values, bits, dtype=np.float64)


def tiles_dot_transposed(tiles: AnyArray, weights: AnyArray, _: int) -> FloatArray:
    """Return, for every column, the sum of the weights of the reports with a one in that column."""
    sums, each = np.zeros(tiles.shape[1]), weights.reshape(-1, 32)
    for rows, bits in _bits(tiles):
        sums += np.einsum("ik,ijk->j", each[rows], bits, dtype=np.float64)
    return sums


def _bits(tiles: AnyArray) -> Iterator[tuple[slice, AnyArray]]:
    """Yield slices of rows of 32-bit integers, and the bits of these rows, ``(rows, v, 32)``."""
    for rows in _chunks(len(tiles), 32 * tiles.shape[1]):
        some = np.ascontiguousarray(tiles[rows], "<u4").view(np.uint8)
        yield rows, np.unpackbits(some, axis=1, bitorder="little").reshape(len(some), -1, 32)
