"""Hypothesis runs the same examples everywhere; a failure prints what failed. One worker runs all tests of Spark."""

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
