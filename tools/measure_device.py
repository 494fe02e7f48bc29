"""Measures the memory of a device on this machine: kills as it is operated, and what an answer and a sending cost.

    python tools/measure_device.py kills [--kills 1000] [--most-seconds S]
    python tools/measure_device.py costs [--answers 200] [--rounds 5] [--beside SRC]

`kills` ends with 1 if a promise was broken; see tests/device/operated_devices.py. `costs` takes turns with the sources
of another version, in the folder SRC, so that both meet the same disk. Everything happens in temporary folders.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TESTS = ROOT / "tests"

_COSTS = """
import sys, tempfile, time
from discreet.device import Device, Limits
from discreet.device.sending import Answer
from discreet.device.protocol.collection import Epochs
from signed import START, TRUST, collection
count, now = int(sys.argv[2]), [float(START)]
found = collection(answers="fresh", lifetime=1e6, epochs=Epochs(START, 60, 1_000_000), late=10**8)
with tempfile.TemporaryDirectory(dir=sys.argv[1]) as folder:
    device = Device(folder + "/device", TRUST, Limits(2, 1e9, 1e9), clock=lambda: now[0], post=lambda *_: Answer(202))
    device.agree(device.accept(found.envelope))
    spent = [0.0, 0.0]
    for _ in range(count):
        now[0] += 60
        for place, work in enumerate((lambda: device.answer(found, "daily"), device.send)):
            began = time.perf_counter()
            work()
            spent[place] += time.perf_counter() - began
    device.close()
print(*(1000 * one / count for one in spent))
"""


def kills(options: argparse.Namespace) -> int:
    """Print what is left after kills of devices that share a memory with others, and with an application's copies."""
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        command = [sys.executable, str(TESTS / "device" / "operated_devices.py"), folder]
        return subprocess.run([*command, str(options.kills), str(options.most_seconds)], check=False).returncode


def costs(options: argparse.Namespace) -> int:
    """Print the milliseconds of an answer and of a sending, here and in another version, in turns."""
    sources = [ROOT / "src", *([options.beside] if options.beside else [])]
    found: list[list[tuple[float, float]]] = [[] for _ in sources]
    for _ in range(options.rounds):
        for source, times in zip(sources, found, strict=True):
            times.append(_cost(source, options))
    for what, place in (("answer", 0), ("send", 1)):
        medians = [statistics.median(one[place] for one in times) for times in found]
        ratios = sorted(one[place] / other[place] for one, other in zip(found[0], found[-1], strict=True))
        beside = (
            f", {medians[1]:.2f} ms there: {statistics.median(ratios):.2f} times ({ratios[0]:.2f} to {ratios[-1]:.2f})"
        )
        print(f"{what}: {medians[0]:.2f} ms" + (beside if options.beside else ""))
    return 0


def _cost(source: Path, options: argparse.Namespace) -> tuple[float, float]:
    """Return the milliseconds of one answer and one sending by the sources in a folder."""
    surroundings = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (source, TESTS)))}
    command = [sys.executable, "-c", _COSTS, str(options.folder or tempfile.gettempdir()), str(options.answers)]
    done = subprocess.run(command, env=surroundings, capture_output=True, text=True, check=True)
    answer, send = map(float, done.stdout.split())
    return answer, send


def main() -> int:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("what", choices=["kills", "costs"])
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--most-seconds", type=float, default=1e9)
    parser.add_argument("--answers", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--beside", type=Path, help="sources of another version")
    parser.add_argument("--folder", type=Path, help="for the temporary folders")
    chosen = parser.parse_args()
    return {"kills": kills, "costs": costs}[chosen.what](chosen)


if __name__ == "__main__":
    sys.exit(main())
