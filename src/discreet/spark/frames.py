"""Reports on a cluster: frames of Spark, and files that every executor can read under the same names.

A frame of reports has the mechanism's columns (whole numbers as int or long, bits as binary, members as an array), a
column ``plan`` that holds the plan's fingerprint in every row, and perhaps ``simulated``. Spark has no place for what
belongs to a whole file, so every row says what it belongs to.

A column of values is obfuscated for simulations, and for gateways that are trusted with the values.
"""

import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.core.random import RandomSource, SecureRandom, SeededRandom
from discreet.core.reports import PLAN, SIMULATED, Column, Reports, check_same_plan, is_count
from discreet.errors import DataError, MismatchError, ParameterError
from discreet.files.paths import shared_files
from discreet.files.reading import Progress
from discreet.files.stored import HeldTable
from discreet.formats.scanned import CheckedBatch, ScannedSource, part_of_ticket
from discreet.formats.sources import ScannedSources, Sources
from discreet.mechanisms import Mechanism
from discreet.mechanisms.law import BlockMechanism
from discreet.mechanisms.report_tables import Form, check_columns, is_bits, refuse_counts, to_arrow, valid_rows
from discreet.spark.running import working

_OURS = "belongs"


def spark_type(column: Column) -> pa.DataType:
    """Return the Spark type of a column of reports. Spark has no unsigned integers and no bytes of fixed length."""
    if is_bits(column):
        return pa.binary()
    number = pa.int32() if np.dtype(column.dtype).itemsize < np.dtype(np.int32).itemsize else pa.int64()
    return number if column.width is None else pa.list_(number)


def prepared(frame: Any, mechanism: Mechanism, *, trust_plan: bool = False) -> Any:
    """Return the columns of a frame that tasks need, after a check of the plan in every row.

    Raises:
        DataError: if a column is missing or of another kind, or there is a column ``count``.
    """
    from pyspark.sql import functions as sql
    from pyspark.sql.pandas.types import to_arrow_schema

    names = [column.name for column in mechanism.columns]
    if PLAN not in frame.columns and not trust_plan:
        raise DataError("frame.no-plan", argument="trust_plan")
    refuse_counts(frame.columns)
    check_columns(mechanism, to_arrow_schema(frame.schema))
    named = PLAN in frame.columns
    ours = (sql.col(PLAN).cast("string") == mechanism.fingerprint if named else sql.lit(True)).alias(_OURS)
    marked = sql.col(SIMULATED).cast("boolean") if SIMULATED in frame.columns else sql.lit(False)
    return frame.select(*names, sql.coalesce(ours, sql.lit(False)).alias(_OURS), marked.alias(SIMULATED))


def reports_in(batch: pa.RecordBatch, mechanism: Mechanism) -> CheckedBatch:
    """Return the reports of a batch of a `prepared` frame, and the number of rows left out by reason.

    Raises:
        MismatchError: if a row belongs to another plan.
    """
    strangers = batch.num_rows - int(pc.sum(batch.column(_OURS)).as_py() or 0)
    if strangers:
        raise MismatchError(
            "frame.other-plan", strangers=strangers, num_rows=batch.num_rows, fingerprint=mechanism.fingerprint[:12]
        )
    simulated = bool(pc.any(batch.column(SIMULATED)).as_py())
    return CheckedBatch(*valid_rows(mechanism, batch, simulated=simulated))


def to_spark(mechanism: Mechanism, reports: Reports) -> pa.RecordBatch:
    """Return reports as a batch of a frame: the mechanism's columns, ``plan`` and ``simulated``."""
    check_same_plan({mechanism.fingerprint, reports.fingerprint})
    table = to_arrow(mechanism, reports)
    named = {column.name: table[column.name].cast(spark_type(column)) for column in mechanism.columns}
    named[PLAN] = pa.array([mechanism.fingerprint]).take(pa.array(np.zeros(reports.n, np.int8)))
    named[SIMULATED] = pa.array(np.full(reports.n, reports.simulated))
    whole = pa.table(named).combine_chunks()
    return whole.to_batches()[0] if reports.n else pa.RecordBatch.from_pylist([], schema=whole.schema)


def frame_schema(mechanism: Mechanism) -> Any:
    """Return the Spark schema of a frame of reports."""
    from pyspark.sql.pandas.types import from_arrow_schema

    fields = [pa.field(column.name, spark_type(column)) for column in mechanism.columns]
    return from_arrow_schema(pa.schema([*fields, pa.field(PLAN, pa.string()), pa.field(SIMULATED, pa.bool_())]))


Task = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
"""The function of an executor over the batches of a partition."""

_THREADS = "DISCREET_THREADS"


@dataclass(frozen=True, slots=True, eq=False)
class Clustered:
    """Scanned reports on a cluster.

    Attributes:
        frame: the frame that is cut into tasks.
        read: makes what folds add of the batches of a task.
    """

    frame: Any
    read: Callable[[Iterator[pa.RecordBatch]], Iterator[CheckedBatch]]


@dataclass(frozen=True, slots=True, eq=False)
class FrameSource(ScannedSource):
    """A frame of Spark whose columns were selected by `prepared`.

    Attributes:
        frame: the frame.
    """

    frame: Any = None

    def _read(self, groups: Sequence[int], omit_invalid: bool, most: int | None) -> NoReturn:
        raise NotImplementedError


def scanned(mechanism: Mechanism, sources: Sources, public: Sequence[str] = ()) -> ScannedSources:
    """Return files that every executor can read, or a frame, after a check of their metadata.

    Raises:
        DataError: if a column is missing or of another kind; and as for `Sources.scan`.
        MismatchError: as for `Sources.scan`.
        ParameterError: if there are tables besides, or public columns of a frame; and as for `Sources.scan`.
    """
    if not sources.tables:
        scan = sources.scan(mechanism, public)
        shared_files(source.place for source in scan.sources)
        return scan
    frame = sources.tables[0]
    if len(sources.of) > 1 or not hasattr(frame, "sparkSession"):
        raise ParameterError("cluster.other-table")
    if public:
        raise ParameterError("cluster.groups-of-frame")
    own_names = {PLAN, SIMULATED, *(column.name for column in mechanism.columns)}
    others = tuple(name for name in frame.columns if name not in own_names)
    wanted = prepared(frame, mechanism, trust_plan=sources.trust_plan)
    source = FrameSource(HeldTable("the frame", None), mechanism, Form(extra=others), frame=wanted)
    return ScannedSources(mechanism, sources, {}, [source])


def clustered(spark: Any, scan: ScannedSources, *, omit_invalid: bool) -> Clustered:
    """Return scanned reports, divided into tasks of similar size; invalid rows are left out, or raise an error.

    Those of a frame are always left out. A task of files reads several parts: a small file takes longer to hand out
    than to read.
    """
    mechanism = scan.mechanism
    for source in scan.sources:
        if isinstance(source, FrameSource):
            return Clustered(source.frame, lambda batches: (reports_in(batch, mechanism) for batch in batches))
    tickets = [part.ticket for part in scan.parts]
    # The cores of a cluster, where it says how many.
    cores = int(spark.sparkContext.defaultParallelism) if hasattr(spark, "_jsc") else 1
    tasks = packed([part.bytes for part in scan.parts], cores)

    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[CheckedBatch]:
        for batch in batches:
            for number in (number for task in batch.column(0).to_pylist() for number in tasks[task]):
                yield from part_of_ticket(mechanism, tickets[number]).batches(omit_invalid=omit_invalid)

    return Clustered(spark.range(0, len(tasks), 1, max(len(tasks), 1)), read)


# Bytes that could be read in the time of opening a file; the least and the most bytes of a task.
_OPENING, _LEAST_TASK, MOST_TASK_BYTES = 1 << 17, 1 << 20, 1 << 24
# Tasks for each core: the last ones are not waited for long.
_TASKS_A_CORE = 2


def packed(sizes: Sequence[int], cores: int) -> list[list[int]]:
    """Return the indices of the parts of each task; neighbouring parts belong to one task.

    Args:
        sizes: of the parts, in bytes.
        cores: of the cluster.

    Example:
        >>> [len(task) for task in packed([4096] * 20, cores=4)], packed([1 << 30, 1 << 30, 10, 10], cores=4)
        ([7, 7, 6], [[0], [1], [2, 3]])
    """
    costs = [_OPENING + size for size in sizes]
    most = min(max(sum(costs) // (_TASKS_A_CORE * cores), _LEAST_TASK), MOST_TASK_BYTES)
    tasks, full = list[list[int]](), most
    for number, cost in enumerate(costs):
        if full + cost > most:
            tasks.append([])
            full = 0
        tasks[-1].append(number)
        full += cost
    return tasks


def one_thread() -> None:
    """Limit a task to the one core that Spark assigns, unless an environment variable sets another number."""
    os.environ.setdefault(_THREADS, "1")


def obfuscate(
    frame: Any,
    mechanism: BlockMechanism,
    column: str,
    *,
    keep: Sequence[str] = (),
    seed: int | None = None,
    progress: Progress | None = None,
) -> Any:
    """Return a frame in which one report replaces each value of a column; the reports are drawn only once.

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
        A frame of reports (see `discreet.spark.frames`), with the kept columns.

    Raises:
        DataError: if a value is missing or not in the domain, or there is no such column.
        ParameterError: if a column to be kept is the one of values, or has a name that reports need.
        EngineError: if Spark gives up.
    """
    from pyspark.sql.types import StructType

    schema = frame_schema(mechanism)
    _check_columns(frame, column, keep, reserved=schema.names)
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
    spark = frame.sparkSession
    with working(spark, progress):
        is_kept = hasattr(spark, "_jsc") and spark.sparkContext.getCheckpointDir() is not None
        return drawn.checkpoint() if is_kept else drawn.localCheckpoint()


def _check_columns(frame: Any, column: str, keep: Sequence[str], *, reserved: Sequence[str]) -> None:
    missing = [name for name in (column, *keep) if name not in frame.columns]
    if missing:
        raise DataError("frame.missing-columns", names=", ".join(missing), names_2=", ".join(frame.columns))
    clash = sorted(name for name in keep if name in {column, *reserved} or is_count(name))
    if clash:
        raise ParameterError(
            "frame.reserved-columns", argument="keep", names=", ".join(clash), plan=PLAN, simulated=SIMULATED
        )


def _random(seed: int | None) -> RandomSource:
    if seed is None:
        # Made in the task: workers are forked from one process, and a source that came along would be the same in all.
        return SecureRandom()
    from pyspark import TaskContext

    context = TaskContext.get()
    digest = hashlib.sha256(f"partition {0 if context is None else context.partitionId()} of {seed}".encode()).digest()
    return SeededRandom(int.from_bytes(digest, "little"))
