"""Reports on disk: tallies against a bare scan of the same column, and a likelihood larger than memory.

Every measurement runs in a process of its own, which says how much memory it took. Files are temporary.
"""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from bench.companions import Peers, peers
from bench.machine import cores
from bench.measure import Group, Row, judged, progress
from bench.memory import peak_bytes
from discreet import Domain, RandomizedResponse, Reports, SeededRandom, UnaryEncoding
from discreet.core.reports import Column
from discreet.engines import observe, tally
from discreet.io.files import write_reports
from discreet.mechanisms import BlockMechanism

COLUMNS = ("seconds", "scan and adds", "times limit", "share of limit", "DuckDB", "times DuckDB", "peak MB")
N, N_STORED = 100_000_000, 10_000_000
QUICK_N, QUICK_STORED = 200_000, 50_000
REPEATS = 3
# More where the goal is near and a round is short.
ROUNDS = {"RR, |X| = 1e3": 9}
_BATCH = 1 << 20
_COUNTS_MB = 8e-6
MOST_MB, MOST_STORED_MB = 500, 400
MOST_OF_DUCKDB = 0.7
_MECHANISMS: dict[str, Callable[[], BlockMechanism]] = {
    "RR, |X| = 1e3": lambda: RandomizedResponse(Domain(range(1000)), 1.0),
    "RR, |X| = 1e7": lambda: RandomizedResponse(Domain(range(10_000_000)), 1.0),
    "unary, 128 bits": lambda: UnaryEncoding(Domain(range(128)), 1.0),
    "mle, unary, 1,024 bits": lambda: UnaryEncoding(Domain(range(1024)), 1.0),
}


_TEXT = (
    "A tally cannot be faster than going through the same column and adding to as many counters. That limit is "
    "measured with pyarrow and NumPy, on all cores, in turns with ours; above 100%, what they do is not the limit."
)


def run(*, quick: bool = False) -> Group:
    """Measure every case."""
    with tempfile.TemporaryDirectory() as place, peers("duckdb") as others:
        folder, n = Path(place), QUICK_N if quick else N
        tallied = [name for name in _MECHANISMS if not name.startswith("mle")]
        # The large table takes as long for few reports as for many.
        rounds, tallied = ({}, tallied[::2]) if quick else (ROUNDS, tallied)
        rows = [_tally_row(name, folder, others, n, rounds.get(name, 1 if quick else REPEATS)) for name in tallied]
        rows.append(_stored_row("mle, unary, 1,024 bits", folder, QUICK_STORED if quick else N_STORED))
        skipped = [f"{name} is skipped: {reason}." for name, reason in others.skipped.items()] + others.notes
    rounds = ", ".join(f"{name}: {times}" for name, times in ROUNDS.items())
    notes = [
        f"Tallies of {n:,} reports in one Parquet file, from the system's cache, medians of {REPEATS} ({rounds}), "
        f"{cores()} cores. Scan and adds: pyarrow's threaded scan of the same column and numpy.add.at; for bits the "
        "scan alone. DuckDB: GROUP BY of the same column, on all cores, in its second time.",
        f"mle: {N_STORED:,} reports whose tiles are on disk; seconds are those of a pass (a product and a transposed "
        "one), beside them the time of reading the tiles once from the system's cache and of both kernels in memory.",
        "Times: our time over theirs. Peak: resident memory of the whole process.",
        *skipped,
    ]
    return Group("Scale", COLUMNS, rows, notes, text=_TEXT)


def _tally_row(name: str, folder: Path, others: Peers, n: int, rounds: int) -> Row:
    progress(f"{name}: {n:,} reports")
    mechanism, path = _MECHANISMS[name](), folder / "reports.parquet"
    write_reports(path, mechanism, made_up(mechanism, n), force=True)
    (column,) = mechanism.columns
    # In turns, so that what slows the machine down for a while slows all of them down.
    said = [
        (_child("tally", name, path), _child("scan", name, path), _duckdb(others, path, column, n))
        for _ in range(rounds)
    ]
    ours, scan, duck = (_medians(one) for one in zip(*said, strict=True))
    path.unlink()
    ratio, peak = ours["seconds"] / scan["seconds"], ours["peak MB"]
    most = MOST_MB + mechanism.domain.size * _COUNTS_MB * 2
    limit = 1 / 0.7 if column.width is not None else 1.5
    goals: list[tuple[str, bool | None]] = [(f"<= {limit:.2f} x", ratio <= limit), (f"< {most:,.0f} MB", peak < most)]
    cells = {**ours, "scan and adds": scan["seconds"], "times limit": ratio, "share of limit": f"{1 / ratio:.0%}"}
    if column.width is None:
        beside = ours["seconds"] / duck["seconds"] if duck else None
        cells |= {"DuckDB": duck.get("seconds"), "times DuckDB": beside}
        goals.append((f"<= {MOST_OF_DUCKDB:g} x DuckDB", None if beside is None else beside <= MOST_OF_DUCKDB))
    return Row(name, cells, *judged(*goals))


def _duckdb(others: Peers, path: Path, column: Column, n: int) -> dict[str, float]:
    if column.width is not None:
        return {}
    return others.ask("group by", path=str(path), column=column.name, n=n).get("duckdb", {})


def _stored_row(name: str, folder: Path, n: int) -> Row:
    progress(f"{name}: {n:,} reports")
    mechanism, path = _MECHANISMS[name](), folder / "reports.parquet"
    codes = np.random.default_rng(1).integers(0, mechanism.domain.size, n)
    write_reports(path, mechanism, mechanism.obfuscate_batches(codes, size=1 << 18, random=SeededRandom(1)))
    ours, memory = _child("stored", name, path), _child("in memory", name, path)
    ratio = ours["seconds"] / memory["seconds"]
    cells = {**ours, "scan and adds": memory["seconds"], "times limit": ratio, "share of limit": f"{1 / ratio:.0%}"}
    goals = ("<= 1.50 x", ratio <= 1.5), (f"< {MOST_STORED_MB} MB", ours["peak MB"] < MOST_STORED_MB)
    return Row(name, cells, *judged(*goals))


def made_up(mechanism: BlockMechanism, n: int) -> Iterator[Reports]:
    """Yield reports that say nothing about anybody: uniform symbols or bits."""
    (column,), rng = mechanism.columns, np.random.default_rng(1)
    for start in range(0, n, _BATCH):
        rows = min(_BATCH, n - start)
        shape, most = ((rows,), column.bound) if column.width is None else ((rows, column.width), 256)
        blocks = {column.name: rng.integers(0, most, shape, dtype=column.dtype)}
        yield Reports(mechanism.fingerprint, rows, None, np.empty(0, np.uint8), blocks, simulated=True)


def _medians(said: Sequence[dict[str, float]]) -> dict[str, float]:
    return {name: float(np.median([one[name] for one in said])) for name in said[0]}


def _child(what: str, name: str, path: Path) -> dict[str, float]:
    command = [sys.executable, "-m", "bench.scale", what, name, str(path)]
    found: dict[str, float] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return found


def measured(what: str, name: str, path: Path) -> dict[str, float]:
    """Measure one thing; runs in the child."""
    mechanism = _MECHANISMS[name]()
    if what == "stored":
        spent = _pass_on_disk(mechanism, path)
    elif what == "in memory":
        spent = _pass_in_memory(mechanism, path)
    else:
        work = {"tally": _tally, "scan": _scan}[what]
        work(mechanism, path)
        start = time.perf_counter()
        work(mechanism, path)
        spent = time.perf_counter() - start
    return {"seconds": spent, "peak MB": peak_bytes() / 1e6}


def _tally(mechanism: BlockMechanism, path: Path) -> None:
    assert tally(mechanism, path).tally.n == pq.read_metadata(path).num_rows


def _scan(mechanism: BlockMechanism, path: Path) -> None:
    from pyarrow import dataset

    (column,), seen = mechanism.columns, 0
    counts = np.zeros(mechanism.domain.size, np.int64)
    for batch in dataset.dataset(path).to_batches(columns=[column.name]):
        seen += batch.num_rows
        if column.width is None:
            np.add.at(counts, batch[column.name].to_numpy(), 1)
    assert seen == pq.read_metadata(path).num_rows


def _pass_on_disk(mechanism: BlockMechanism, path: Path) -> float:
    """Make the tiles, estimate as `mle` does, and return the time of a pass."""
    from discreet.estimators import estimate

    data, _ = observe(mechanism, path)
    moments: list[tuple[float, float]] = []
    estimate(mechanism, data, method="mle", progress=lambda passes, _: moments.append((passes, time.perf_counter())))
    return _pass_seconds(data.membership)


def _pass_in_memory(mechanism: BlockMechanism, path: Path) -> float:
    """Return the time of a pass in memory, and of reading the tiles from a file once."""
    from discreet.io.files import read_reports

    reports = read_reports(path, mechanism)
    membership = mechanism.law.membership(reports.blocks)
    spent = _pass_seconds(membership)
    with tempfile.TemporaryFile(dir=path.parent, buffering=0) as file:
        view = memoryview(membership.tiles.reshape(-1).view(np.uint8))
        while view:
            view = view[file.write(view) :]
        some = bytearray(1 << 22)
        times = []
        for _ in range(REPEATS):
            file.seek(0)
            start = time.perf_counter()
            while file.readinto(some):
                pass
            times.append(time.perf_counter() - start)
    return spent + float(np.median(times))


def _pass_seconds(membership: object) -> float:
    values, weights = np.full(membership.size, 1 / membership.size, np.float32), np.ones(membership.rows, np.float32)
    times = []
    for _ in range(REPEATS + 1):
        start = time.perf_counter()
        membership.dot(values)
        membership.transpose_dot(weights)
        times.append(time.perf_counter() - start)
    return float(np.median(times[1:]))


if __name__ == "__main__":
    print(json.dumps(measured(sys.argv[1], sys.argv[2], Path(sys.argv[3]))))
