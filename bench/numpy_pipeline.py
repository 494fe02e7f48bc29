"""The whole way, by somebody who knows NumPy and pyarrow well: values on disk, reports on disk, an estimate on disk.

``python -m bench.numpy_pipeline obfuscate rr values.parquet reports.parquet`` and the like; streams in batches. As
`bench.numpy_reference`, it is fast and no replacement: PCG64 can be predicted and nothing is checked.
"""

import sys
from collections.abc import Callable, Iterator
from math import exp

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

from bench import numpy_reference as reference

SIZE, SENSITIVE, EPSILON = 1000, 40, 1.0
LABELS = pa.array([f"value {code}" for code in range(SIZE)])
_BATCH = 1 << 18
_MOST_PASSES = 300
# As wide as the intervals of the command line.
_SIGMAS = 1.959964
_BYTES = -(-SENSITIVE // 8)
_TOLD = -np.expm1(-EPSILON / 2)
_NOISE = 1 / (1 + exp(EPSILON / 2))

Columns = dict[str, np.ndarray]


def batches(path: str) -> Iterator[pa.RecordBatch]:
    """Read a file in pieces; labels of a CSV file become codes."""
    if path.endswith(".csv"):
        with pyarrow.csv.open_csv(path) as file:
            for batch in file:
                codes = pc.index_in(batch.column(0), value_set=LABELS)
                yield pa.RecordBatch.from_arrays([codes.cast(pa.int64())], ["value"])
        return
    with pq.ParquetFile(path) as file:
        yield from file.iter_batches(batch_size=_BATCH)


def obfuscate_rr(codes: np.ndarray, rng: np.random.Generator) -> pa.RecordBatch:
    """Obfuscate values by randomized response."""
    symbols = reference.rr(codes, SIZE, EPSILON, rng).astype(np.uint16)
    return pa.RecordBatch.from_arrays([pa.array(symbols)], ["symbol"])


def obfuscate_urap(codes: np.ndarray, rng: np.random.Generator) -> pa.RecordBatch:
    """Obfuscate values by uRAP; the first `SENSITIVE` are sensitive, and -1 means that nothing is in clear."""
    slots = np.where(np.arange(SIZE) < SENSITIVE, np.arange(SIZE), -1)
    told = (codes >= SENSITIVE) & (rng.random(len(codes)) < _TOLD)
    bits = rng.integers(1 << 16, size=(len(codes), SENSITIVE), dtype=np.uint16) < np.uint16(_NOISE * 2**16)
    own = np.flatnonzero(codes < SENSITIVE)
    bits[own, slots[codes[own]]] = rng.random(len(own)) < 1 - _NOISE
    bits[told] = False
    rows = np.packbits(bits, axis=1, bitorder="little")
    packed = pa.FixedSizeBinaryArray.from_buffers(pa.binary(_BYTES), len(rows), [None, pa.py_buffer(rows)])
    clear = np.where(told, codes, -1).astype(np.int16)
    return pa.RecordBatch.from_arrays([pa.array(clear), packed], ["clear", "bits"])


OBFUSCATE: dict[str, Callable[[np.ndarray, np.random.Generator], pa.RecordBatch]] = {
    "rr": obfuscate_rr,
    "urap": obfuscate_urap,
    "mle": obfuscate_urap,
}


def obfuscate(what: str, source: str, target: str) -> None:
    """Write a report for every value."""
    rng, writer = np.random.default_rng(), None
    for batch in batches(source):
        reports = OBFUSCATE[what](batch.column(0).to_numpy(), rng)
        writer = writer or pq.ParquetWriter(target, reports.schema)
        writer.write_batch(reports)
    if writer is not None:
        writer.close()


def unpacked(batch: pa.RecordBatch) -> tuple[np.ndarray, np.ndarray]:
    """Return values in clear and packed rows of the other reports."""
    clear = batch["clear"].to_numpy()
    rows = np.frombuffer(batch["bits"].buffers()[1], dtype=np.uint8).reshape(-1, _BYTES)
    rows = rows[batch["bits"].offset :][: len(clear)]
    return clear[clear >= 0], rows[clear < 0]


def estimate_rr(source: str) -> Columns:
    """Count symbols and decode."""
    counts = np.zeros(SIZE, dtype=np.int64)
    for batch in batches(source):
        counts += np.bincount(batch["symbol"].to_numpy(), minlength=SIZE)
    frequencies, errors = reference.linear(counts, int(counts.sum()), EPSILON)
    return {"frequency": frequencies, "standard_error": errors}


def estimate_urap(source: str) -> Columns:
    """Count bits and values in clear, and decode."""
    ones, clear, blocks = np.zeros(SENSITIVE, dtype=np.int64), np.zeros(SIZE, dtype=np.int64), 0
    for batch in batches(source):
        told, rows = unpacked(batch)
        ones += reference.unary_counts(rows, SENSITIVE)
        clear += np.bincount(told, minlength=SIZE)
        blocks += len(rows)
    return decoded(ones, clear, blocks)


def decoded(ones: np.ndarray, clear: np.ndarray, blocks: int) -> Columns:
    """Return the unbiased estimate of uRAP; a value's own bit is set with probability 1 - d1 and the others with d1."""
    n = blocks + int(clear.sum())
    seen = (ones - _NOISE * blocks) / (n * (1 - 2 * _NOISE))
    frequencies = np.concatenate([seen, clear[SENSITIVE:] / (n * _TOLD)])
    inside = (ones / blocks) * (1 - ones / blocks) * blocks / (n * (1 - 2 * _NOISE)) ** 2
    outside = clear[SENSITIVE:] / (n * _TOLD) ** 2
    return {"frequency": frequencies, "standard_error": np.sqrt(np.concatenate([inside, outside]))}


def estimate_mle(source: str, tolerance: float) -> Columns:
    """Run EM on all rows of bits until less than ``tolerance`` is missing per report, or `_MOST_PASSES` are done."""
    parts = [unpacked(batch) for batch in batches(source)]
    rows = np.concatenate([rows for _, rows in parts])
    clear = np.bincount(np.concatenate([told for told, _ in parts]), minlength=SIZE)
    bits = np.unpackbits(rows, axis=1, count=SENSITIVE, bitorder="little").astype(np.float32)
    ones = bits.sum(axis=0, dtype=np.float64).astype(np.int64)
    start = decoded(ones, clear, len(rows))
    p = np.maximum(start["frequency"], 1e-6)
    p, n, contrast = p / p.sum(), len(rows) + int(clear.sum()), np.float32(exp(EPSILON) - 1)
    passes, gap = 0, np.inf
    while gap > tolerance and passes < _MOST_PASSES:
        weights = 1 / (1 + contrast * (bits @ p[:SENSITIVE].astype(np.float32)))
        everywhere = float(weights.sum(dtype=np.float64)) / n
        inside = everywhere + contrast * (weights @ bits).astype(np.float64) / n
        told = clear[SENSITIVE:] / n
        outside = everywhere + np.divide(told, p[SENSITIVE:], out=np.zeros_like(told), where=told > 0)
        gradient = np.concatenate([inside, outside])
        gap, passes = float(gradient.max()) - 1, passes + 1
        p = p * gradient
        p /= p.sum()
    print(f'{{"passes": {passes}, "gap": {gap}}}')
    return {"frequency": p, "standard_error": start["standard_error"]}


def write(columns: Columns, target: str) -> None:
    """Write an estimate with its intervals."""
    away = _SIGMAS * columns["standard_error"]
    lower, upper = columns["frequency"] - away, columns["frequency"] + away
    table = pa.table({"label": np.arange(SIZE), **columns, "lower": lower, "upper": upper})
    pyarrow.csv.write_csv(table, target)


def main(verb: str, what: str, source: str, target: str, *tolerance: str) -> None:
    """Do one half of the way."""
    if verb == "obfuscate":
        obfuscate(what, source, target)
    elif what == "mle":
        write(estimate_mle(source, float(tolerance[0])), target)
    else:
        write({"rr": estimate_rr, "urap": estimate_urap}[what](source), target)


if __name__ == "__main__":
    main(*sys.argv[1:])
