"""From values on disk over reports on disk to an estimate on disk: the command line beside NumPy.

Cold: processes of their own. Warm: the same once more in a process that has done it before.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import partial
from io import StringIO
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from bench import numpy_pipeline
from bench.machine import cores
from bench.measure import Group, Row, interleaved, progress, seconds
from bench.numpy_pipeline import EPSILON, LABELS, SENSITIVE, SIZE
from discreet.cli import main

COLUMNS = (
    "seconds",
    "NumPy s",
    "ratio to NumPy",
    "warm s",
    "NumPy warm s",
    "ratio, warm",
    "ns per value, warm",
    "largest difference, errors",
)
REPEATS = 3
QUICK_N = 20_000
TOLERANCE = 1e-6
_BATCH = 1 << 20


@dataclass(frozen=True, slots=True)
class Case:
    """One way from values to an estimate.

    Attributes:
        what: what NumPy's script calls it.
        mechanism: plan name.
        tagged: whether only some values are sensitive.
        method: of the estimate.
        n: how many values.
        text: whether values are labels in a CSV file, not codes in Parquet.
    """

    what: str
    mechanism: str
    tagged: bool
    method: str
    n: int
    text: bool = False

    @property
    def values(self) -> str:
        """Return the name of the file of values."""
        return "values.csv" if self.text else "values.parquet"


CASES = {
    **{f"RR, linear, {n:,}": Case("rr", "rr", False, "linear", n) for n in (1000, 10_000_000)},
    **{f"RR, linear, {n:,}, CSV": Case("rr", "rr", False, "linear", n, text=True) for n in (1000, 100_000, 10_000_000)},
    f"uRAP, {SENSITIVE} sensitive, linear, 10,000,000": Case("urap", "unary", True, "linear", 10_000_000),
    f"uRAP, {SENSITIVE} sensitive, mle, 1,000,000": Case("mle", "unary", True, "mle", 1_000_000),
}


def run(*, quick: bool = False) -> Group:
    """Measure every case."""
    with tempfile.TemporaryDirectory() as place:
        rows = [_row(name, case, Path(place), quick=quick) for name, case in list(CASES.items())[:: 3 if quick else 1]]
    notes = [
        f"Values of |X| = {SIZE:,}, epsilon = {EPSILON:g}; codes in Parquet, or labels in CSV, to reports in Parquet "
        f"to a CSV with standard errors and intervals on both sides; medians of {REPEATS}, in turns, {cores()} cores. "
        "`discreet obfuscate` and `discreet estimate`, two processes each, starting included; warm: both verbs in a "
        "process that has run them before. Checks of every value and report are included on our side only.",
        f"mle: to a gap of {TOLERANCE:g} nats per report; NumPy by EM, at most 300 passes. The last column is the "
        "largest difference between both estimates of a sensitive value, in standard errors of the difference: each "
        f"draws its own noise, so about {_expected(SIZE):.1f} of {SIZE:,} values and {_expected(SENSITIVE):.1f} of "
        f"{SENSITIVE} is what to expect.",
    ]
    return Group("End to end", COLUMNS, rows, notes)


def _expected(values: int) -> float:
    """Return about how large the largest of so many standard normal numbers is."""
    return float(np.sqrt(2 * np.log(2 * values)))


def write_plan(path: Path, case: Case) -> None:
    """Write the plan of a case."""
    sensitive = f"sensitive = {list(range(SENSITIVE))}\n" if case.tagged else ""
    values = f"labels = {LABELS.to_pylist()}" if case.text else f"range = [0, {SIZE}]"
    domain = f"[domain]\n{values}\n{sensitive}\n"
    path.write_text(f'version = 1\nepsilon = {EPSILON}\n\n{domain}[mechanism]\nname = "{case.mechanism}"\n')


def write_values(path: Path, n: int) -> None:
    """Write values that fall off as 1/rank, from the last one, so that few are sensitive; labels if it is a CSV."""
    rng, weights, text = np.random.default_rng(1), 1 / np.arange(SIZE, 0, -1), path.suffix == ".csv"
    schema = pa.schema([("value", pa.string() if text else pa.int64())])
    with (pyarrow.csv.CSVWriter if text else pq.ParquetWriter)(path, schema) as writer:
        for start in range(0, n, _BATCH):
            codes = pa.array(rng.choice(SIZE, min(_BATCH, n - start), p=weights / weights.sum()))
            writer.write_batch(pa.RecordBatch.from_arrays([LABELS.take(codes) if text else codes], schema=schema))


def commands(case: Case, folder: Path) -> dict[str, Sequence[str]]:
    """Return what is run, by who does which half."""
    plan, values = folder / "plan.toml", folder / case.values
    tolerance = ["--tolerance", str(TOLERANCE)] if case.method == "mle" else []
    ours, theirs = folder / "ours.parquet", folder / "numpy.parquet"
    written = ["--method", case.method, *tolerance, "--force", "-o", folder / "ours.csv"]
    found = {
        "ours, obfuscate": ["obfuscate", plan, values, "-o", ours, "--force"],
        "ours, estimate": ["estimate", plan, ours, *written],
        "numpy, obfuscate": ["obfuscate", case.what, values, theirs],
        "numpy, estimate": ["estimate", case.what, theirs, folder / "numpy.csv", *tolerance[1:]],
    }
    return {name: [str(part) for part in command] for name, command in found.items()}


def _row(name: str, case: Case, folder: Path, *, quick: bool) -> Row:
    n = QUICK_N if quick else case.n
    progress(f"{name}: {n:,} values")
    write_plan(folder / "plan.toml", case)
    write_values(folder / case.values, n)
    said: dict[str, str] = {}
    works: dict[str, Callable[[], float]] = {}
    for who, command in commands(case, folder).items():
        for warm in (False, True):
            works[f"{who}, warm" if warm else who] = partial(_timed, who, command, said, warm=warm)
    spent = interleaved(works, 1, warm=False) if quick else interleaved(works, REPEATS)
    ours, numpy, ours_warm, numpy_warm = (
        spent[f"{side}, obfuscate{state}"] + spent[f"{side}, estimate{state}"]
        for state in ("", ", warm")
        for side in ("ours", "numpy")
    )
    cells = {
        "seconds": ours,
        "NumPy s": numpy,
        "ratio to NumPy": numpy / ours,
        "warm s": ours_warm,
        "NumPy warm s": numpy_warm,
        "ratio, warm": numpy_warm / ours_warm,
        "ns per value, warm": ours_warm / n * 1e9,
        "largest difference, errors": _difference(folder, SENSITIVE if case.tagged else SIZE),
    }
    note = json.loads(said["numpy, estimate"]) if case.method == "mle" else None
    passes = f" (NumPy: {note['passes']} passes, gap {note['gap']:.1e})" if note else ""
    return Row(name + passes, cells)


def _timed(who: str, command: Sequence[str], said: dict[str, str], *, warm: bool) -> float:
    """Return how long a command takes, in a process of its own or in this one; keep what it prints."""
    ours = who.startswith("ours")

    def cold() -> str:
        start = [Path(sys.executable).with_name("discreet")] if ours else [sys.executable, "-m", "bench.numpy_pipeline"]
        return subprocess.run([*start, *command], check=True, capture_output=True, text=True).stdout

    def here() -> str:
        with redirect_stdout(StringIO()) as printed, redirect_stderr(StringIO()):
            main(list(command), standalone_mode=False) if ours else numpy_pipeline.main(*command)
        return printed.getvalue()

    return seconds(lambda: said.update({who: here() if warm else cold()}))


def _difference(folder: Path, values: int) -> float:
    ours, numpy = (pyarrow.csv.read_csv(folder / name) for name in ("ours.csv", "numpy.csv"))
    apart = (ours["frequency"].to_numpy() - numpy["frequency"].to_numpy())[:values]
    errors = [table["standard_error"].to_numpy()[:values] for table in (ours, numpy)]
    return float(np.abs(apart / np.sqrt(errors[0] ** 2 + errors[1] ** 2)).max())
