"""The daemon of Spark's Python workers, with what they need imported: each worker is a fork that imports nothing.

Spark ends a worker whose task was refused, and tests refuse many.
"""

# ruff: noqa: E402
import sys

# Spark's own copy of itself is in a zip, whose directory each task would read again: the installed one is the same.
for zipped in [place for place in {*sys.path, *sys.path_importer_cache} if place.endswith(".zip")]:
    sys.path_importer_cache.pop(zipped, None)
sys.path[:] = [place for place in sys.path if not place.endswith(".zip")]

import numba  # noqa: F401
import pandas  # noqa: F401
import pyarrow.dataset
import pyarrow.ipc
import pyarrow.parquet  # noqa: F401
from pyspark.daemon import manager

from discreet import Domain, SeededRandom, UnaryEncoding

# What each fork would do at its first kernel: numba sets itself up for half a second.
_MECHANISM = UnaryEncoding(Domain(range(40)), 1.0)
_MECHANISM.tally(_MECHANISM.obfuscate_codes([0] * 4000, random=SeededRandom(1)))

if __name__ == "__main__":
    manager()
