"""Traces from Parquet: by streaming, and from the table read into memory; alone, and with the attack that follows.

Made-up check-ins, with their rows mixed, and in order. Each measurement runs in a process of its own, after a small one
that compiles, in turns. ``python -m bench.traces --full`` takes as many as the PIE paper has, which needs 8 GB and some
minutes. Files are temporary.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench.measure import Group, Row
from bench.memory import peak_bytes
from bench.risk import EVENTS, PLACES, USERS, ours, synthetic
from bench.tables import show
from discreet.risk.events import read_traces
from discreet.risk.traces import Traces, by_half

COLUMNS = ("events", "seconds", "from a table", "ratio", "CPU seconds", "peak MB", "peak MB from a table", "share")
COLUMN_NAMES = {"user": "user", "event": "place", "time": "time"}
PART, REPEATS = 10, 3
MOST_TIME, MOST_MEMORY, MOST_MEMORY_WHOLE = 1.0, 0.6, 0.25
_ROWS, _HOUR = 1 << 20, 3_600_000
_FEW = 300, 9_000, 5_000
_CASES = {
    "rows mixed, ordered by time": ("mixed", False),
    "rows in order": ("in order", False),
    "rows mixed, to the ranks of the Markov attack": ("mixed", True),
}
_SCHEMA = pa.schema(
    [("user", pa.int64()), ("place", pa.int64()), ("time", pa.timestamp("ms")), ("latitude", pa.float64())]
)


def run(*, full: bool = False) -> Group:
    """Measure a tenth of the paper's size, or all of it."""
    part = 1 if full else PART
    with tempfile.TemporaryDirectory() as place:
        rows = []
        for order in ("mixed", "in order"):
            path = Path(place) / f"{order}.parquet"
            _child("make", order, str(path), str(part))
            rows += [_row(name, path, attack, full) for name, (how, attack) in _CASES.items() if how == order]
            path.unlink()
    notes = [
        f"Check-ins made up as for the attacks, {USERS // part:,} users and {PLACES // part:,} places at most, with "
        "times and a column that is not asked for; one Parquet file in the system's cache.",
        f"Medians of {REPEATS} in turns. From a table: pyarrow reads all columns, Traces.from_table groups the rows.",
        "Peak: resident memory of the whole process, of which the libraries take about 260 MB; share: of the peak from "
        "a table.",
    ]
    return Group("Traces", COLUMNS, rows, notes)


def _row(name: str, path: Path, attack: bool, full: bool) -> Row:
    what = "attack" if attack else "traces"
    rounds = [[_child(how, what, str(path)) for how in ("stream", "table")] for _ in range(REPEATS)]
    streamed, table = (
        {key: float(np.median([one[key] for one in said])) for key in said[0]} for said in zip(*rounds, strict=True)
    )
    ratio, share = streamed["seconds"] / table["seconds"], streamed["peak MB"] / table["peak MB"]
    numbers = streamed["events"], streamed["seconds"], table["seconds"], ratio, streamed["CPU seconds"]
    cells = dict(zip(COLUMNS, (*numbers, streamed["peak MB"], table["peak MB"], share), strict=True))
    most = MOST_MEMORY_WHOLE if full and not attack else MOST_MEMORY
    return Row(name, cells, f"<= {MOST_TIME:g} x, <= {most:g} of the memory", ratio <= MOST_TIME and share <= most)


def _child(*words: str) -> dict[str, float]:
    command = [sys.executable, "-m", "bench.traces", *words]
    found: dict[str, float] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return found


def write(path: Path, traces: Traces, *, mixed: bool) -> None:
    """Write check-ins, an hour or less between those of a user, in any order or as they are."""
    rng = np.random.default_rng(2)
    places = np.arange(len(traces), dtype=np.int32)
    if mixed:
        rng.shuffle(places)
    with pq.ParquetWriter(path, _SCHEMA) as sink:
        for start in range(0, len(places), _ROWS):
            chosen = places[start : start + _ROWS]
            owners = np.searchsorted(traces.offsets, chosen, side="right") - 1
            # Whose check-ins begin when is made up, too; names are no codes.
            times = owners * 7919 % 10_000_000 * 1000 + (chosen - traces.offsets[owners]) * _HOUR
            events = traces.events[chosen].astype(np.int64) * 101
            columns = [owners * 13 + 7, events, pa.array(times).cast(pa.timestamp("ms")), rng.random(len(chosen))]
            sink.write_table(pa.table(dict(zip(_SCHEMA.names, columns, strict=True)), schema=_SCHEMA))


def streamed(path: Path) -> Traces:
    """Read by streaming."""
    return read_traces(path, **COLUMN_NAMES)


def from_table(path: Path) -> Traces:
    """Read the table first."""
    return Traces.from_table(pq.read_table(path), **COLUMN_NAMES)


def work_through(read: Callable[[Path], Traces], what: str, path: Path) -> dict[str, float]:
    """Measure one way; runs in the child."""

    def work(source: Path) -> int:
        traces = read(source)
        if what == "traces":
            return len(traces)
        split = by_half(traces)
        del traces
        ours(split)
        return len(split.training) + len(split.target)

    with tempfile.TemporaryDirectory() as place:
        for mixed in (False, True):
            few = Path(place) / "few.parquet"
            write(few, synthetic(*_FEW), mixed=mixed)
            work(few)
    start, spent = time.perf_counter(), time.process_time()
    events = work(path)
    took = {"seconds": time.perf_counter() - start, "CPU seconds": time.process_time() - spent}
    return {"events": events, **took, "peak MB": peak_bytes() / 1e6}


def main() -> None:
    """Measure one thing for the parent, or all of them for people."""
    parser = argparse.ArgumentParser(prog="bench.traces", description="Measures how traces are read.")
    parser.add_argument("--full", action="store_true", help="as many check-ins as the paper has")
    parser.add_argument("words", nargs="*", help="for the processes that it starts")
    arguments = parser.parse_args()
    if not arguments.words:
        show(run(full=arguments.full))
    elif arguments.words[0] == "make":
        order, path, part = arguments.words[1:]
        made = synthetic(USERS // int(part), EVENTS // int(part), PLACES // int(part))
        write(Path(path), made, mixed=order == "mixed")
        print(json.dumps({}))
    else:
        how, what, path = arguments.words
        print(json.dumps(work_through({"stream": streamed, "table": from_table}[how], what, Path(path))))


if __name__ == "__main__":
    main()
