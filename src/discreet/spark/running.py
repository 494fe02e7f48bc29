"""Running on a cluster: sessions, errors, and sums of long vectors.

Sums of long vectors over a cluster: tasks cut theirs into blocks, and each block is summed separately.

No machine ever holds more than a few blocks beside one whole vector, however many tasks there are. Whole numbers are
written in as few bytes as they need. A task that cannot go on yields why instead of its vector: raised, the reason
would only be tried again, and come back wrapped in the traces of two languages.

Spark sessions: their start, progress, and errors as discreet's own.
"""

import os
import re
import shutil
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.arrays import AnyArray
from discreet.errors import DataError, DiscreetError, EngineError, MismatchError, ParameterError
from discreet.extras import optional
from discreet.files.reading import Progress

WIDTH = 1 << 16
"""Entries per block."""

SCHEMA = "block int, kind string, entries binary"
"""Of the rows that tasks yield: number of the block (-1: why the task gave up), type of its entries, entries."""

_ARROW = pa.schema({"block": pa.int32(), "kind": pa.string(), "entries": pa.binary()})
_FAILED = -1
REFUSALS: dict[str, type[DiscreetError]] = {kind.__name__: kind for kind in (DataError, MismatchError)}
"""Errors by name with which an executor refuses reports; all others are Spark's."""

# A result that is larger than this is fetched piece by piece.
BYTES_AT_ONCE = 1 << 26


def blocks_of(vector: AnyArray) -> Iterator[pa.RecordBatch]:
    """Yield a vector of integers of at least 0, or of float64, as rows of a frame; blocks of zeros are left out."""
    for block, start in enumerate(range(0, len(vector), WIDTH)):
        part = vector[start : start + WIDTH]
        if part.any():
            if vector.dtype.kind != "f":
                part = part.astype(np.min_scalar_type(int(part.max())))
            part = part.astype(part.dtype.newbyteorder("<"), copy=False)
            yield _row(block, part.dtype.str, part.tobytes())


def refused(error: DiscreetError) -> pa.RecordBatch:
    """Return the row by which a task reports an error."""
    kind = type(error).__name__
    return _row(_FAILED, kind if kind in REFUSALS else DataError.__name__, str(error).encode())


def _row(block: int, kind: str, entries: bytes) -> pa.RecordBatch:
    arrays = [pa.array([entry], field.type) for entry, field in zip((block, kind, entries), _ARROW, strict=True)]
    return pa.record_batch(arrays, schema=_ARROW)


def sum_block(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Return the sum of the rows of one block."""
    total: Any = None
    for batch in batches:
        for row in batch.to_pylist():
            if row["block"] == _FAILED:
                yield _row(_FAILED, row["kind"], row["entries"])
                return
            entries = np.frombuffer(row["entries"], row["kind"])
            total = _Sum(entries.dtype, len(entries)) if total is None else total
            total.add(entries)
    yield from total.rows(row["block"])


class _Sum:
    """A sum of vectors that may be added in any order: exact for integers, up to rounding for floats."""

    def __init__(self, kind: np.dtype[Any], length: int) -> None:
        self._exact = kind.kind != "f"
        self._total = np.zeros(length, np.int64 if self._exact else np.float64)
        self._lost = np.zeros(0 if self._exact else length)

    def add(self, entries: AnyArray) -> None:
        """Add a vector to the sum."""
        if self._exact:
            self._total += entries.astype(np.int64)
            return
        # What rounding takes from each sum is kept (Neumaier), so that the order of tasks leaves no trace.
        total = self._total + entries
        larger = np.abs(self._total) >= np.abs(entries)
        self._lost += np.where(larger, (self._total - total) + entries, (entries - total) + self._total)
        self._total = total

    def rows(self, block: int) -> Iterator[pa.RecordBatch]:
        """Yield the sum as a row of a frame."""
        entries = self._total if self._exact else self._total + self._lost
        entries = entries.astype(entries.dtype.newbyteorder("<"), copy=False)
        yield _row(block, entries.dtype.str, entries.tobytes())


def collected(parts: Any, vector: AnyArray) -> AnyArray:
    """Add the vectors of all tasks to a vector, in place.

    Args:
        parts: a Spark frame of the rows that tasks yielded.
        vector: as long as theirs; int64 or float64.

    Returns:
        The vector.

    Raises:
        DataError, MismatchError: what a task gave up for; if several did, the first in the alphabet.
    """
    sums = parts.groupBy("block").applyInArrow(sum_block, SCHEMA)
    failures = []
    for row in sums.collect() if vector.nbytes <= BYTES_AT_ONCE else sums.toLocalIterator(prefetchPartitions=True):
        if row.block == _FAILED:
            failures.append(REFUSALS[row.kind](bytes(row.entries).decode()))
        else:
            start = row.block * WIDTH
            vector[start : start + WIDTH] += np.frombuffer(row.entries, row.kind)
    if failures:
        raise failures[0]
    return vector


_SECONDS_BETWEEN = 0.2
_REMOTE = "sc://"
_MASTERS = ("local", "spark://", "yarn", "k8s://", _REMOTE)
_LOGGING = Path(__file__).with_name("log4j2.properties")
QUIET = {
    "spark_ui_enabled": "false",
    "spark_ui_showConsoleProgress": "false",
    "spark_driver_extraJavaOptions": f"-Dlog4j2.configurationFile={_LOGGING}",
}
"""Settings of a session that shows errors only."""

_SAID = re.compile(r"discreet\.errors\.(\w+): (.+)")


def session(master: str | None = None, **settings: str) -> Any:
    """Return the present Spark session, or a new session without one.

    Args:
        master: where Spark runs: ``local[*]``, ``spark://host:7077``, ``yarn``, ``sc://host``; None for what Spark is
            set up for, or else all cores of this machine.
        settings: Spark's, with underscores for dots: ``spark_executor_memory="4g"``.

    Raises:
        MissingExtraError: if PySpark is not installed.
        ParameterError: if Spark does not know the form of the master.
        EngineError: if there is no Java, or Spark does not start.
    """
    if master is not None and not master.startswith(_MASTERS):
        raise ParameterError("master.unknown", argument="master", names=", ".join(_MASTERS), master=master)
    sql = optional("pyspark.sql")
    remote = master is not None and master.startswith(_REMOTE)
    if not remote:
        _check_java()
    # Workers would otherwise take whatever python3 is first on their path.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = sql.SparkSession.builder.appName("discreet")
    if master is not None:
        builder = builder.remote(master) if remote else builder.master(master)
    for name, value in settings.items():
        builder = builder.config(name.replace("_", "."), value)
    try:
        return builder.getOrCreate()
    except Exception as error:
        lines = str(error).strip().splitlines()
        raise EngineError("spark.not-started", error=lines[0] if lines else type(error).__name__) from None


def _check_java() -> None:
    home = os.environ.get("JAVA_HOME")
    if not (shutil.which("java") if home is None else shutil.which("java", path=str(Path(home) / "bin"))):
        raise EngineError("spark.no-java")


@contextmanager
def working(spark: Any, progress: Progress | None = None) -> Iterator[None]:
    """Show the progress of tasks during the body, and raise errors of executors as if they came from this process.

    Raises:
        DataError, MismatchError: what an executor raised.
        EngineError: if Spark gave up for another reason.
    """
    stopped = threading.Event()
    watcher = threading.Thread(target=_watch, args=(spark, progress, stopped), daemon=True)
    watcher.start()
    try:
        yield
    except DiscreetError:
        raise
    except KeyboardInterrupt:
        if hasattr(spark, "_jsc"):
            spark.sparkContext.cancelAllJobs()
        raise
    except Exception as error:
        raise _refusal_of(error) from None
    finally:
        stopped.set()
        watcher.join()


def _watch(spark: Any, progress: Progress | None, stopped: threading.Event) -> None:
    if progress is None or not hasattr(spark, "_jsc"):
        return
    tracker = spark.sparkContext.statusTracker()
    while not stopped.wait(_SECONDS_BETWEEN):
        stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
        tasks = [(stage.numCompletedTasks, stage.numTasks) for stage in stages if stage is not None]
        if tasks:
            progress(sum(done for done, _ in tasks), sum(total for _, total in tasks))


def _refusal_of(error: Exception) -> DiscreetError:
    """Return the message of a Spark error without its traces, which may hold values."""
    module = type(error).__module__
    if not module.startswith(("pyspark", "py4j")):
        raise error
    named = _SAID.search(str(error))
    if named is not None and named[1] in REFUSALS:
        return REFUSALS[named[1]](named[2])
    return EngineError("spark.failed", kind=type(error).__name__)
