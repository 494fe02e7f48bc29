"""The daemon of Spark's Python workers, with what they need imported: each worker is a fork that imports nothing.

Spark ends a worker whose task was refused, and tests refuse many.
"""

import numba  # noqa: F401
import pandas  # noqa: F401
import pyarrow.dataset
import pyarrow.ipc
import pyarrow.parquet  # noqa: F401
from pyspark.daemon import manager

import discreet
import discreet.engines
import discreet.engines.spark
import discreet.estimators
import discreet.kernels.bits  # noqa: F401

if __name__ == "__main__":
    manager()
