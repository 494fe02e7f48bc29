"""What starting costs: the import, a device's first report, and the command line's help."""

import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from bench.measure import REPEATS, Group, Row, interleaved, progress, seconds

COLUMNS = ("seconds", "python -c pass", "times it", "heavy modules loaded")
MOST_IMPORT_SECONDS = 0.15
MOST_HELP_SECONDS = 0.1
HEAVY = ("numba", "llvmlite", "pyarrow", "pandas", "polars", "altair", "scipy", "matplotlib")

_IMPORT = "import discreet"
_NOUNS = "from discreet import Domain, RandomizedResponse, UnaryEncoding, LocalHashing"
_DEVICE = "import discreet; discreet.RandomizedResponse(discreet.Domain(range(625)), 1.0).obfuscate([17])"
_HELP = "import sys; sys.argv = ['discreet', '--help']; from discreet.cli import main; main()"


def run(*, quick: bool = False) -> Group:
    """Measure every way to start."""
    repeats = 1 if quick else REPEATS
    rows = [
        _row("import discreet", [sys.executable, "-c", _IMPORT], _IMPORT, MOST_IMPORT_SECONDS, repeats),
        _row("import the nouns of a device", [sys.executable, "-c", _NOUNS], _NOUNS, MOST_IMPORT_SECONDS, repeats),
        _row("first report of a device", [sys.executable, "-c", _DEVICE], _DEVICE, None, repeats),
        _help_row(repeats),
    ]
    notes = [
        f"Whole processes, interpreter included; medians of {repeats}, in turns with an empty one. "
        f"Heavy: {', '.join(HEAVY)}."
    ]
    return Group("Start-up", COLUMNS, rows, notes)


def _help_row(repeats: int) -> Row:
    command = Path(sys.executable).with_name("discreet")
    if not command.exists() or subprocess.run([command, "--help"], check=False, capture_output=True).returncode:
        return Row("discreet --help", dict.fromkeys(COLUMNS), f"< {MOST_HELP_SECONDS:g} s", None)
    return _row("discreet --help", [str(command), "--help"], _HELP, MOST_HELP_SECONDS, repeats)


def _row(name: str, command: Sequence[str], program: str, most: float | None, repeats: int) -> Row:
    progress(name)
    medians = interleaved({"it": _process(command), "pass": _process([sys.executable, "-c", "pass"])}, repeats)
    loaded = heavy_modules(program)
    cells = (medians["it"], medians["pass"], medians["it"] / medians["pass"], " ".join(loaded) or "none")
    if most is None:
        return Row(name, dict(zip(COLUMNS, cells, strict=True)), "nothing heavy", not loaded)
    met = medians["it"] <= most and not loaded
    return Row(name, dict(zip(COLUMNS, cells, strict=True)), f"<= {most:g} s, nothing heavy", met)


def _process(command: Sequence[str]) -> Callable[[], float]:
    return lambda: seconds(lambda: subprocess.run(command, check=True, capture_output=True))


def heavy_modules(program: str) -> list[str]:
    """Return which heavy modules are loaded after ``program``, in a fresh interpreter."""
    # At exit, because a command line ends the process itself.
    report = f"lambda: print(*sorted(set({HEAVY!r}) & set(sys.modules)), file=sys.stderr)"
    whole = f"import atexit, sys; atexit.register({report})\n{program}"
    done = subprocess.run([sys.executable, "-c", whole], check=True, capture_output=True, text=True)
    return done.stderr.split()
