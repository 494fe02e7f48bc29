"""Hypothesis runs the same examples everywhere; a failure prints what failed. One worker runs all tests of Spark."""

import os
from pathlib import Path
from typing import Any
from zlib import crc32

from hypothesis import HealthCheck, settings
from xdist.scheduler import LoadScopeScheduling

settings.register_profile(
    "fixed",
    derandomize=True,
    deadline=None,
    database=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.differing_executors],
)
settings.load_profile("fixed")

# Workers of pytest say how wide they are; programs that write into a pipe are told by nobody.
os.environ.pop("COLUMNS", None)

# Real data sets, where somebody has put them beside the sources.
_BESIDE = Path(__file__).parents[2] / "shared" / "data"
if _BESIDE.is_dir():
    os.environ.setdefault("DISCREET_DATA", str(_BESIDE))


# Handed out one by one, twenty thousand short tests would wait for each other.
_PARTS = 8


class SparkTogether(LoadScopeScheduling):
    """Hands out a part of a file at a time, but all tests of Spark together: its cluster is started once."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        return "spark" if "spark" in file else f"{file} {crc32(nodeid.encode()) % _PARTS}"


def pytest_xdist_make_scheduler(config: Any, log: Any) -> SparkTogether:
    """Return how tests are handed out."""
    return SparkTogether(config, log)
