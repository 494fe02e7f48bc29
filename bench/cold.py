"""The first tally of a process, cold, beside the same one warm: before compiled kernels are loaded, and with them."""

import json
import subprocess
import sys
from importlib import import_module
from statistics import median

from bench.measure import REPEATS, Group, Row, progress, seconds
from bench.tasks import N, scaled, servers

COLUMNS = ("cold ns", "warm ns", "NumPy ns", "NumPy over cold")
_TASKS = 3


def run(repeats: int = REPEATS, share: float = 1.0) -> Group:
    """Measure the first servers, each in new processes."""
    rows = []
    for place in range(_TASKS):
        progress(f"a tally in a new process, {place + 1} of {_TASKS}")
        said = [_asked(place, share) for _ in range(repeats)]
        cold, warm, numpy = (median(one[kind] for one in said) for kind in ("cold", "warm", "numpy"))
        cells = dict(zip(COLUMNS, (cold, warm, numpy, numpy / cold), strict=True))
        rows.append(Row(said[0]["task"], cells))
    note = (
        f"Nanoseconds per report, {scaled(N, share):,} reports at hand; medians of {repeats} processes. Cold: the "
        "first tally, by NumPy where few reports do not pay for starting compiled kernels. Warm: with these loaded."
    )
    return Group("A tally in a new process", COLUMNS, rows, [note])


def _asked(place: int, share: float) -> dict[str, float]:
    command = [sys.executable, "-m", "bench.cold", str(place), str(share)]
    said: dict[str, float] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return said


def _measured(place: int, share: float) -> dict[str, float | str]:
    task = next(task for number, task in enumerate(servers(share)) if number == place)
    cold = seconds(task.ours) / task.n
    import_module("discreet.kernels.caching")
    task.ours()
    warm = median(seconds(task.ours) for _ in range(REPEATS)) / task.n
    task.numpy()
    numpy = median(seconds(task.numpy) for _ in range(REPEATS)) / task.numpy_n
    return {"task": task.name, "cold": cold * 1e9, "warm": warm * 1e9, "numpy": numpy * 1e9}


if __name__ == "__main__":
    print(json.dumps(_measured(int(sys.argv[1]), float(sys.argv[2]))))
