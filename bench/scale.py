"""Reports on disk: tallies against a bare scan of the same column, and a likelihood larger than memory.

Every measurement runs in a process of its own, which says how much memory it took. Files are temporary.
"""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from bench import memory
from bench.companions import Peers, peers
from bench.limits import increment
from bench.machine import cores
from bench.measure import Cell, Group, Row, judged, progress, seconds
from bench.memory import peak_bytes
from discreet import Domain, RandomizedResponse, Reports, SeededRandom, UnaryEncoding
from discreet.core.reports import Column
from discreet.engines import LocalEngine, tally
from discreet.formats.reports import write_reports
from discreet.kernels.parallel import thread_count
from discreet.mechanisms import BlockMechanism
from discreet.mechanisms.evidence import Membership

COLUMNS = (
    "seconds",
    "scan",
    "scan and adds",
    "times limit",
    "share of limit",
    "DuckDB",
    "times DuckDB",
    "faster",
    "peak MB",
)
N, N_STORED = 100_000_000, 10_000_000
QUICK_N, QUICK_STORED = 200_000, 50_000
# What counts beside the scan; the best of these is the limit.
ADDING = ("bincount", "loop")
REPEATS = 3
# More where the goal is near and a round is short.
ROUNDS = {"RR, |X| = 1e3": 9}
_BATCH = 1 << 20
_COUNTS_MB = 8e-6
MOST_MB, MOST_STORED_MB = 500, 400
MOST_OF_DUCKDB = 1.1
# Of a scan and numpy.bincount, where the table of counts stays in the cache.
MOST_OF_BINCOUNT = 1.2
_SHORT = 1 << 14
_MECHANISMS: dict[str, Callable[[], BlockMechanism]] = {
    "RR, |X| = 1e3": lambda: RandomizedResponse(Domain(range(1000)), 1.0),
    "RR, |X| = 1e7": lambda: RandomizedResponse(Domain(range(10_000_000)), 1.0),
    "unary, 128 bits": lambda: UnaryEncoding(Domain(range(128)), 1.0),
    "mle, unary, 1,024 bits": lambda: UnaryEncoding(Domain(range(1024)), 1.0),
}


_TEXT = (
    "A tally cannot be faster than going through the same column and adding to as many counters. That limit is "
    "measured on as many threads as ours, each with counters of its own: pyarrow reads row groups, and numpy.bincount "
    "or a plain compiled loop counts them, whichever is faster; beside it the bare scan. All take turns, each "
    "warm in a process that stays; above 100%, what they do is not the limit."
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
        f"{cores()} cores. Scan: pyarrow's threaded scan of the same column. Scan and adds: the better of "
        "numpy.bincount and a compiled loop, a thread per core; for bits the scan alone. DuckDB: GROUP BY of the same "
        "column, on all cores, warm like ours; faster: which of the two medians is smaller.",
        f"mle: {N_STORED:,} reports whose tiles are on disk; seconds are those of a pass (a product and a transposed "
        "one), beside them the time of reading the tiles once from the system's cache and of both kernels in memory.",
        "Times: our time over theirs. Peak: resident memory of the whole process.",
        *skipped,
    ]
    return Group("Scale", COLUMNS, rows, notes, text=_TEXT, also=[memory.run(quick=quick)])


def _tally_row(name: str, folder: Path, others: Peers, n: int, rounds: int) -> Row:
    progress(f"{name}: {n:,} reports")
    mechanism, path = _MECHANISMS[name](), folder / "reports.parquet"
    write_reports(path, mechanism, made_up(mechanism, n), force=True)
    (column,) = mechanism.columns
    adding = () if column.width is not None else ADDING
    with ExitStack() as stack:
        warm = [stack.enter_context(_warm(what, name, path)) for what in ("tally", "scan", *adding)]
        # In turns, so that what slows the machine down for a while slows all of them down.
        said = [[*(ask() for ask in warm), _duckdb(others, path, column, n)] for _ in range(rounds)]
    ours, scan, *adds, duck = (_medians(one) for one in zip(*said, strict=True))
    path.unlink()
    limit_seconds = min(one["seconds"] for one in (adds or [scan]))
    ratio, peak = ours["seconds"] / limit_seconds, ours["peak MB"]
    most = MOST_MB + mechanism.domain.size * _COUNTS_MB * 2
    limit = 1 / 0.7 if column.width is not None else 1.5
    reached = (f"<= {limit:.2f} x", ratio <= limit)
    if column.width is None and mechanism.domain.size <= _SHORT:
        by_bincount = MOST_OF_BINCOUNT * adds[ADDING.index("bincount")]["seconds"]
        reached = (f"<= {MOST_OF_BINCOUNT:g} x bincount", ours["seconds"] <= by_bincount)
    goals: list[tuple[str, bool | None]] = [reached, (f"< {most:,.0f} MB", peak < most)]
    cells: dict[str, Cell] = {**ours, "scan": scan["seconds"], "scan and adds": limit_seconds}
    cells |= {"times limit": ratio, "share of limit": f"{1 / ratio:.0%}"}
    if column.width is None:
        beside = ours["seconds"] / duck["seconds"] if duck else None
        cells |= {"DuckDB": duck.get("seconds"), "times DuckDB": beside}
        cells["faster"] = None if beside is None else "ours" if beside < 1 else "DuckDB"
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


@contextmanager
def _warm(what: str, name: str, path: Path) -> Iterator[Callable[[], dict[str, float]]]:
    """Start a process that has done its work once; yield what lets it do it again and returns what it measured."""
    command = [sys.executable, "-m", "bench.scale", "again", what, name, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        asked, answers = process.stdin, process.stdout
        assert asked is not None
        assert answers is not None

        def ask() -> dict[str, float]:
            asked.write("again\n")
            asked.flush()
            found: dict[str, float] = json.loads(answers.readline())
            return found

        yield ask
        asked.close()


def again(what: str, name: str, path: Path) -> None:
    """Do the work once, then measure it for every line that comes; runs in the child."""
    mechanism = _MECHANISMS[name]()
    work = {"tally": _tally, "scan": _scan, "bincount": bincount, "loop": loop}[what]
    work(mechanism, path)
    for _ in sys.stdin:
        spent = seconds(lambda: work(mechanism, path))
        print(json.dumps({"seconds": spent, "peak MB": peak_bytes() / 1e6}), flush=True)


def measured(what: str, name: str, path: Path) -> dict[str, float]:
    """Measure one thing; runs in the child."""
    mechanism = _MECHANISMS[name]()
    spent = {"stored": _pass_on_disk, "in memory": _pass_in_memory}[what](mechanism, path)
    return {"seconds": spent, "peak MB": peak_bytes() / 1e6}


def _tally(mechanism: BlockMechanism, path: Path) -> None:
    assert tally(mechanism, path).tally.n == pq.read_metadata(path).num_rows


def _scan(mechanism: BlockMechanism, path: Path) -> None:
    from pyarrow import dataset

    (column,) = mechanism.columns
    batches = dataset.dataset(path).to_batches(columns=[column.name])
    assert sum(batch.num_rows for batch in batches) == pq.read_metadata(path).num_rows


def bincount(mechanism: BlockMechanism, path: Path) -> None:
    def add(values: np.ndarray, counts: np.ndarray) -> None:
        counts += np.bincount(values, minlength=len(counts))

    scan_and_add(mechanism, path, add)


def loop(mechanism: BlockMechanism, path: Path) -> None:
    scan_and_add(mechanism, path, increment)


def scan_and_add(mechanism: BlockMechanism, path: Path, add: Callable[[np.ndarray, np.ndarray], None]) -> None:
    """Read row groups and add, on as many threads as ours, each with counters of its own; the counters are summed."""
    (column,), threads = mechanism.columns, thread_count()
    groups = range(pq.read_metadata(path).num_row_groups)

    def counted(place: int) -> np.ndarray:
        counts = np.zeros(mechanism.domain.size, np.int64)
        # Larger batches where the table is large, so that bincount does not sweep it for a few values.
        batch = max(_BATCH, 4 * mechanism.domain.size)
        with pq.ParquetFile(path) as file:
            named = {"row_groups": list(groups[place::threads]), "columns": [column.name], "use_threads": False}
            for rows in file.iter_batches(batch, **named):
                add(rows[column.name].to_numpy(), counts)
        return counts

    with ThreadPoolExecutor(threads) as pool:
        counts = sum(pool.map(counted, range(threads)))
    assert counts.sum() == pq.read_metadata(path).num_rows


def _pass_on_disk(mechanism: BlockMechanism, path: Path) -> float:
    """Make the tiles, estimate as `mle` does, and return the time of a pass."""
    from discreet.estimators import estimate

    data, _ = LocalEngine(memory=0).evidence(mechanism, path)
    moments: list[tuple[float, float]] = []
    estimate(mechanism, data, method="mle", progress=lambda passes, _: moments.append((passes, time.perf_counter())))
    return _pass_seconds(data.membership)


def _pass_in_memory(mechanism: BlockMechanism, path: Path) -> float:
    """Return the time of a pass in memory, and of reading the tiles from a file once."""
    from discreet.formats.reports import read_reports

    reports = read_reports(path, mechanism)
    membership: Any = mechanism.law.membership(reports.blocks)
    spent = _pass_seconds(membership)
    with tempfile.TemporaryFile(dir=path.parent, buffering=0) as file:
        view = memoryview(membership.laid.reshape(-1).view(np.uint8))
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


def _pass_seconds(membership: Membership) -> float:
    values, weights = np.full(membership.size, 1 / membership.size, np.float32), np.ones(membership.rows, np.float32)
    times = []
    for _ in range(REPEATS + 1):
        start = time.perf_counter()
        membership.dot(values)
        membership.transpose_dot(weights)
        times.append(time.perf_counter() - start)
    return float(np.median(times[1:]))


if __name__ == "__main__":
    if sys.argv[1] == "again":
        again(sys.argv[2], sys.argv[3], Path(sys.argv[4]))
    else:
        print(json.dumps(measured(sys.argv[1], sys.argv[2], Path(sys.argv[3]))))
