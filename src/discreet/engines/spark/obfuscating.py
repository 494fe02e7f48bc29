"""Obfuscation of a Spark column, for simulations and for gateways that are trusted with the values."""

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from discreet.core.random import RandomSource, SecureRandom, SeededRandom
from discreet.engines.spark.frames import PLAN, SIMULATED, frame_schema, to_spark
from discreet.engines.spark.running import working
from discreet.errors import DataError, ParameterError
from discreet.io.progress import Progress
from discreet.mechanisms.law import BlockMechanism


def obfuscate(
    frame: Any,
    mechanism: BlockMechanism,
    column: str,
    *,
    keep: Sequence[str] = (),
    seed: int | None = None,
    progress: Progress | None = None,
) -> Any:
    """Return a frame with a column obfuscated, once: one report per row.

    Spark works a frame out anew each time that it is used, and two reports of one value tell more than one of them. So
    the reports are drawn now, and kept by the executors (in the session's checkpoint folder, if it has one) until
    nobody holds the frame: whoever uses it twice sees the same reports, and if an executor is lost with some of them,
    Spark gives up rather than drawing them again. Write them to files if they are to last.

    Args:
        frame: the values, one per row.
        mechanism: what obfuscates them.
        column: name of the column of values.
        keep: names of columns to be kept as they are: they are *not* protected.
        seed: makes a simulation, which repeats itself if the frame is cut into the same partitions; None for secure
            randomness, with a key of its own in every task.
        progress: called now and then.

    Returns:
        A frame of reports (see `discreet.engines.spark.frames`), with what was to be kept.

    Raises:
        DataError: if a value is missing or not in the domain, or there is no such column.
        ParameterError: if a column to be kept is the one of values, or has a name that reports need.
        EngineError: if Spark gives up.
    """
    from pyspark.sql.types import StructType

    schema = frame_schema(mechanism)
    _check_columns(frame, column, keep, taken=schema.names)
    schema = StructType([*schema.fields, *(frame.schema[name] for name in keep)])

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        random = _random(seed)
        for batch in batches:
            reports = mechanism.obfuscate(batch.column(column), random=random)
            table = pa.Table.from_batches([to_spark(mechanism, reports)])
            for name in keep:
                table = table.append_column(name, batch.column(name))
            yield from table.to_batches()

    drawn = frame.select(column, *keep).mapInArrow(work, schema)
    with working(frame.sparkSession, progress):
        return drawn.checkpoint() if _has_folder(frame.sparkSession) else drawn.localCheckpoint()


def _check_columns(frame: Any, column: str, keep: Sequence[str], *, taken: Sequence[str]) -> None:
    missing = [name for name in (column, *keep) if name not in frame.columns]
    if missing:
        raise DataError(f"the frame must have the columns {', '.join(missing)}; it has {', '.join(frame.columns)}.")
    clash = sorted({*keep} & {column, *taken})
    if clash:
        raise ParameterError(
            f"{', '.join(clash)} cannot be kept: values would go in clear, or reports have columns of that name "
            f"({PLAN} and {SIMULATED} among them)."
        )


def _random(seed: int | None) -> RandomSource:
    if seed is None:
        # Made in the task: workers are forked from one process, and a source that came along would be the same in all.
        return SecureRandom()
    from pyspark import TaskContext

    context = TaskContext.get()
    digest = hashlib.sha256(f"partition {0 if context is None else context.partitionId()} of {seed}".encode()).digest()
    return SeededRandom(int.from_bytes(digest, "little"))


def _has_folder(spark: Any) -> bool:
    return hasattr(spark, "_jsc") and spark.sparkContext.getCheckpointDir() is not None
