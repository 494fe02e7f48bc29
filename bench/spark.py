"""The same work on a Spark cluster within this machine: what it costs, and how much memory the driver needs.

Two executors with processes of their own (`local-cluster[2,1,1200]`), beside the local engine on the same files. Every
measurement runs in a process of its own. Files are temporary.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from bench.measure import Group, Row, progress
from bench.scale import made_up
from discreet import Domain, RandomizedResponse, SeededRandom, UnaryEncoding
from discreet.engines import LocalEngine, tally
from discreet.estimators import estimate
from discreet.formats.reports import write_reports
from discreet.mechanisms import BlockMechanism

COLUMNS = ("seconds", "local engine", "times local", "driver MB", "same")
MASTER = "local-cluster[2,1,1200]"
MOST_DRIVER_MB = 3000
N, N_WIDE, N_LIKELY, PARTITIONS = 20_000_000, 10_000_000, 1_000_000, 200
_TEXT = (
    "On one machine Spark cannot win: it exists for what does not fit there. What counts is that the answer is the "
    "same, and that the driver needs no more memory as the domain and the number of partitions grow."
)
_MECHANISMS: dict[str, Callable[[], BlockMechanism]] = {
    "tally, RR, |X| = 1e3": lambda: RandomizedResponse(Domain(range(1000)), 1.0),
    "tally, RR, |X| = 1e7": lambda: RandomizedResponse(Domain(range(10_000_000)), 1.0),
    "mle, unary, 256 bits": lambda: UnaryEncoding(Domain(range(256)), 1.0),
}


def run() -> Group:
    """Measure every case."""
    if shutil.which("java") is None:
        return Group("Spark", COLUMNS, [], ["Skipped: there is no Java on the path."], text=_TEXT)
    with tempfile.TemporaryDirectory() as place:
        rows = [
            _row("tally, RR, |X| = 1e3", Path(place), N, 16),
            _row("tally, RR, |X| = 1e7", Path(place), N_WIDE, PARTITIONS),
            _row("mle, unary, 256 bits", Path(place), N_LIKELY, 8),
        ]
    notes = [
        f"Tallies of {N:,} reports in 16 Parquet files and of {N_WIDE:,} in {PARTITIONS} files, each of which is a "
        f"partition; {MASTER}; the second of two runs, the start of Spark left out.",
        f"mle: {N_LIKELY:,} reports in 8 files, from files to the estimate, double precision on Spark; same: to 1e-6 "
        "in every frequency, since the local engine runs its first passes in single precision.",
        "Driver: the most resident memory of its Python process and its Java machine together.",
    ]
    return Group("Spark", COLUMNS, rows, notes, text=_TEXT)


def _row(name: str, place: Path, n: int, files: int) -> Row:
    progress(f"{name}: {n:,} reports in {files} files")
    mechanism, folder = _MECHANISMS[name](), place / "reports"
    folder.mkdir()
    for number, reports in enumerate(_cut(mechanism, n, files)):
        write_reports(folder / f"{number:04}.parquet", mechanism, reports)
    command = [sys.executable, "-W", "ignore", "-m", "bench.spark", name, str(folder)]
    said = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    shutil.rmtree(folder)
    found = json.loads(said.strip().splitlines()[-1])
    cells = {
        "seconds": found["spark"],
        "local engine": found["local"],
        "times local": found["spark"] / found["local"],
        "driver MB": found["driver"],
        "same": "yes" if found["same"] else "no",
    }
    met = bool(found["same"]) and found["driver"] < MOST_DRIVER_MB
    return Row(name, cells, f"same answer, < {MOST_DRIVER_MB:,} MB", met)


def _cut(mechanism: BlockMechanism, n: int, files: int) -> Any:
    if isinstance(mechanism, UnaryEncoding):
        size = mechanism.domain.size
        codes = np.random.default_rng(1).choice(size, n, p=np.arange(size, 0, -1) / (size * (size + 1) / 2))
        return mechanism.obfuscate_batches(codes, size=n // files, random=SeededRandom(1))
    whole = next(made_up(mechanism, n // files))
    # Almost the same reports in all files, so that making them takes no time; the same ones would be refused.
    return (whole.part(place, whole.n) for place in range(files))


def measured(name: str, folder: Path) -> dict[str, Any]:
    """Measure one case; runs in the child."""
    from discreet import spark as engine

    mechanism = _MECHANISMS[name]()
    spark = engine.session(MASTER, **engine.QUIET)
    if name.startswith("mle"):

        def ours() -> Any:
            return estimate(mechanism, LocalEngine().evidence(mechanism, folder)[0], method="mle")

        def theirs() -> Any:
            return estimate(mechanism, engine.SparkEngine(spark).evidence(mechanism, folder)[0], method="mle")

        rounds = [(_timed(ours), _timed(theirs)) for _ in range(2)]
        (local, left), (cluster, right) = rounds[-1]
        same = bool(np.abs(left.frequencies - right.frequencies).max() < 1e-6)
    else:
        rounds = [
            (
                _timed(lambda: tally(mechanism, folder).tally),
                _timed(lambda: engine.SparkEngine(spark).tally(mechanism, folder).tally),
            )
            for _ in range(2)
        ]
        (local, left), (cluster, right) = rounds[-1]
        same = left.n == right.n and bool((left.support == right.support).all())
    driver = _resident(os.getpid()) + sum(map(_resident, _java_of(spark)))
    spark.stop()
    return {"spark": cluster, "local": local, "driver": driver / 1e6, "same": same}


def _timed(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    found = work()
    return time.perf_counter() - start, found


def _java_of(spark: Any) -> list[int]:
    """Return the driver's Java process."""
    return [int(spark.sparkContext._jvm.java.lang.ProcessHandle.current().pid())]


def _resident(process: int) -> int:
    """Return the most memory that a process ever had resident, in bytes; 0 where the system does not tell."""
    status = Path(f"/proc/{process}/status")
    lines = status.read_text().splitlines() if status.exists() else []
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


if __name__ == "__main__":
    print(json.dumps(measured(sys.argv[1], Path(sys.argv[2]))))
