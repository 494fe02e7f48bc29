"""Peak memory of obfuscating and tallying 1e8 values, each mechanism in a process of its own."""

import json
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from bench.measure import Group, Row, progress
from discreet import Domain, RandomizedResponse, UnaryEncoding
from discreet.core.random import SecureRandom

COLUMNS = ("peak MB", "of it codes MB", "seconds", "ns per value")
N, QUICK_N = 100_000_000, 1_000_000
SIZE = 625
SENSITIVE = range(0, 600, 40)
MOST_MB = 1000
_MECHANISMS = {
    "RR": lambda: RandomizedResponse(Domain(range(SIZE)), 1.0),
    "uRAP, 15 sensitive": lambda: UnaryEncoding(Domain(range(SIZE), sensitive=list(SENSITIVE)), 1.0),
}


def run(*, quick: bool = False) -> Group:
    """Measure every mechanism."""
    n = QUICK_N if quick else N
    rows = [_row(name, n) for name in _MECHANISMS]
    notes = [
        f"{n:,} values of {SIZE} as uint16, by obfuscate_batches and tally, once; resident memory of the whole process."
    ]
    return Group("Memory", COLUMNS, rows, notes)


def _row(name: str, n: int) -> Row:
    progress(f"{name}: {n:,} values")
    command = [sys.executable, "-m", "bench.memory", name, str(n)]
    cells = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return Row(name, cells, f"< {MOST_MB:,} MB", cells["peak MB"] < MOST_MB)


def work_through(name: str, n: int) -> dict[str, float]:
    """Obfuscate and tally, and say what it took; runs in the child."""
    mechanism, random = _MECHANISMS[name](), SecureRandom()
    codes = _codes(n)
    start = time.perf_counter()
    total = mechanism.empty_tally()
    for reports in mechanism.obfuscate_batches(codes, random=random):
        total += mechanism.tally(reports)
    spent = time.perf_counter() - start
    assert total.n == n
    return dict(zip(COLUMNS, (peak_bytes() / 1e6, codes.nbytes / 1e6, spent, spent / n * 1e9), strict=True))


def _codes(n: int) -> np.ndarray:
    rng, step = np.random.default_rng(1), 1 << 20
    codes = np.empty(n, dtype=np.uint16)
    for start in range(0, n, step):
        part = codes[start : start + step]
        part[:] = rng.integers(SIZE, size=len(part), dtype=np.uint16)
    return codes


def peak_bytes() -> int:
    """Return the most memory this process ever had resident."""
    status = Path("/proc/self/status")
    if status.exists():
        # On Linux ru_maxrss also remembers the parent, from before this program took its place.
        lines = dict(line.split(":", 1) for line in status.read_text().splitlines() if ":" in line)
        return int(lines["VmHWM"].split()[0]) * 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


if __name__ == "__main__":
    print(json.dumps(work_through(sys.argv[1], int(sys.argv[2]))))
