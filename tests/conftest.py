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
# Handed out whole, and before all others: what they prepare once is dear, and the last tests to run should be short.
_WHOLE = ("spark", "test_distributions", "test_closed_forms", "test_reproduce")


class DearFirst(LoadScopeScheduling):
    """Hands out a part of a file at a time, but whole and first what is dear: all tests of Spark need one cluster."""

    def __init__(self, config: Any, log: Any) -> None:
        super().__init__(config, log)
        # In the order of the collection, not by the number of tests.
        config.option.loadscopereorder = False

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        whole = next((name for name in _WHOLE if name in file), None)
        return whole or f"{file} {crc32(nodeid.encode()) % _PARTS}"


def pytest_collection_modifyitems(items: list[Any]) -> None:
    """Put first what is handed out first; sorting keeps the order of the others."""
    items.sort(key=lambda item: next((i for i, name in enumerate(_WHOLE) if name in item.nodeid), len(_WHOLE)))


def pytest_xdist_make_scheduler(config: Any, log: Any) -> DearFirst:
    """Return how tests are handed out."""
    return DearFirst(config, log)
