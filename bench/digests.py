"""The share of a tally's time that goes into the digests of reports, by law.

    python -m bench.digests

Files of each law are tallied with digests and without in turn, on one thread, in one process; processor time, medians.
"""

import statistics
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import numpy as np

from discreet.core.domain import Domain
from discreet.core.random import SeededRandom
from discreet.engines import tally
from discreet.formats.reports import write_reports
from discreet.formats.sources import Seen
from discreet.mechanisms import (
    BlockMechanism,
    HadamardResponse,
    LocalHashing,
    RandomizedResponse,
    SubsetSelection,
    UnaryEncoding,
)

_N, _ROUNDS = 1_000_000, 9
_SMALL, _LARGE = Domain(range(100)), Domain(range(1000))
_SOME = Domain(range(1000), sensitive=range(100))


def _cases() -> dict[str, BlockMechanism]:
    return {
        "RR, |X| = 100": RandomizedResponse(_SMALL, 1.0),
        "uRR, 100 of 1,000 sensitive": RandomizedResponse(_SOME, 1.0),
        "Hadamard, |X| = 1,000": HadamardResponse(_LARGE, 1.0),
        "OUE, |X| = 100": UnaryEncoding(_SMALL, 1.0),
        "OUE, |X| = 1,000": UnaryEncoding(_LARGE, 1.0),
        "uOUE, 100 of 1,000 sensitive": UnaryEncoding(_SOME, 1.0),
        "subset, |X| = 100": SubsetSelection(_SMALL, 1.0),
        "OLH, |X| = 100": LocalHashing(_SMALL, 1.0),
        "OLH, |X| = 1,000": LocalHashing(_LARGE, 1.0),
    }


def _seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def shares(mechanism: BlockMechanism, n: int = _N) -> tuple[float, float]:
    """Return nanoseconds per report of a tally from a Parquet file with digests, and without."""
    reports = mechanism.obfuscate_codes(np.arange(n) % mechanism.domain.size, random=SeededRandom(1))
    with TemporaryDirectory() as folder:
        path = Path(folder) / "reports.parquet"
        write_reports(path, mechanism, reports)
        del reports

        def work() -> object:
            return tally(mechanism, path, threads=1)

        times: tuple[list[float], list[float]] = [], []
        for _ in range(_ROUNDS):
            times[0].append(_seconds(work))
            with patch.object(Seen, "add", lambda *_: None):
                times[1].append(_seconds(work))
        left, right = (statistics.median(one[1:]) / n * 1e9 for one in times)
        return left, right


def main() -> None:
    """Print a row for each law."""
    # Kernels are compiled, as in any run of this many reports.
    import discreet.kernels.compiling  # noqa: F401

    print(f"{'law':<30} {'with':>8} {'without':>8} {'share':>7}   (ns per report)")
    for name, mechanism in _cases().items():
        left, right = shares(mechanism)
        print(f"{name:<30} {left:8.1f} {right:8.1f} {left / right - 1:7.1%}")


if __name__ == "__main__":
    main()
