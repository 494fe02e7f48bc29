"""From values on disk over reports on disk to an estimate on disk: the command line beside NumPy, whole processes."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from bench.machine import cores
from bench.measure import Group, Row, interleaved, progress, seconds
from bench.numpy_pipeline import EPSILON, SENSITIVE, SIZE

COLUMNS = (
    "values",
    "seconds",
    "of it obfuscate",
    "ns per value",
    "NumPy s",
    "of it obfuscate, NumPy",
    "ratio to NumPy",
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
    """

    what: str
    mechanism: str
    tagged: bool
    method: str
    n: int


CASES = {
    "RR, linear": Case("rr", "rr", False, "linear", 10_000_000),
    f"uRAP, {SENSITIVE} sensitive, linear": Case("urap", "unary", True, "linear", 10_000_000),
    f"uRAP, {SENSITIVE} sensitive, mle": Case("mle", "unary", True, "mle", 1_000_000),
}


def run(*, quick: bool = False) -> Group:
    """Measure every case."""
    with tempfile.TemporaryDirectory() as place:
        rows = [_row(name, case, Path(place), quick=quick) for name, case in list(CASES.items())[:: 2 if quick else 1]]
    notes = [
        f"|X| = {SIZE:,}, epsilon = {EPSILON:g}; Parquet to Parquet to CSV with standard errors and intervals; medians "
        f"of {REPEATS}, in turns, {cores()} cores. `discreet obfuscate` and `discreet estimate`, two processes each, "
        "starting included; checks of every value and report are included on our side only.",
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
    domain = f"[domain]\nrange = [0, {SIZE}]\n{sensitive}\n"
    path.write_text(f'version = 1\nepsilon = {EPSILON}\n\n{domain}[mechanism]\nname = "{case.mechanism}"\n')


def write_values(path: Path, n: int) -> None:
    """Write values that fall off as 1/rank, from the last one, so that few are sensitive."""
    rng, weights = np.random.default_rng(1), 1 / np.arange(SIZE, 0, -1)
    schema = pa.schema([("value", pa.int64())])
    with pq.ParquetWriter(path, schema) as writer:
        for start in range(0, n, _BATCH):
            codes = rng.choice(SIZE, min(_BATCH, n - start), p=weights / weights.sum())
            writer.write_batch(pa.RecordBatch.from_arrays([pa.array(codes)], schema=schema))


def commands(case: Case, folder: Path) -> dict[str, Sequence[str]]:
    """Return what is run, by who does which half."""
    plan, values = folder / "plan.toml", folder / "values.parquet"
    discreet = str(Path(sys.executable).with_name("discreet"))
    numpy = [sys.executable, "-m", "bench.numpy_pipeline"]
    tolerance = ["--tolerance", str(TOLERANCE)] if case.method == "mle" else []
    ours, theirs = folder / "ours.parquet", folder / "numpy.parquet"
    written = ["--method", case.method, *tolerance, "--force", "-o", folder / "ours.csv"]
    found = {
        "ours, obfuscate": [discreet, "obfuscate", plan, values, "-o", ours, "--force"],
        "ours, estimate": [discreet, "estimate", plan, ours, *written],
        "numpy, obfuscate": [*numpy, "obfuscate", case.what, values, theirs],
        "numpy, estimate": [*numpy, "estimate", case.what, theirs, folder / "numpy.csv", *tolerance[1:]],
    }
    return {name: [str(part) for part in command] for name, command in found.items()}


def _row(name: str, case: Case, folder: Path, *, quick: bool) -> Row:
    n = QUICK_N if quick else case.n
    progress(f"{name}: {n:,} values")
    write_plan(folder / "plan.toml", case)
    write_values(folder / "values.parquet", n)
    said: dict[str, str] = {}

    def work(who: str, command: Sequence[str]) -> float:
        return seconds(lambda: said.update({who: _done(command)}))

    works = {
        who: (lambda who=who, command=command: work(who, command)) for who, command in commands(case, folder).items()
    }
    spent = interleaved(works, 1, warm=False) if quick else interleaved(works, REPEATS)
    ours = spent["ours, obfuscate"] + spent["ours, estimate"]
    numpy = spent["numpy, obfuscate"] + spent["numpy, estimate"]
    cells = {
        "values": n,
        "seconds": ours,
        "of it obfuscate": spent["ours, obfuscate"],
        "ns per value": ours / n * 1e9,
        "NumPy s": numpy,
        "of it obfuscate, NumPy": spent["numpy, obfuscate"],
        "ratio to NumPy": numpy / ours,
        "largest difference, errors": _difference(folder, SENSITIVE if case.tagged else SIZE),
    }
    note = json.loads(said["numpy, estimate"]) if case.method == "mle" else None
    passes = f" (NumPy: {note['passes']} passes, gap {note['gap']:.1e})" if note else ""
    return Row(name + passes, cells)


def _done(command: Sequence[str]) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def _difference(folder: Path, values: int) -> float:
    ours, numpy = (pyarrow.csv.read_csv(folder / name) for name in ("ours.csv", "numpy.csv"))
    apart = (ours["frequency"].to_numpy() - numpy["frequency"].to_numpy())[:values]
    errors = [table["standard_error"].to_numpy()[:values] for table in (ours, numpy)]
    return float(np.abs(apart / np.sqrt(errors[0] ** 2 + errors[1] ** 2)).max())
