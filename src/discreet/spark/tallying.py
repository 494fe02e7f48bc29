"""Folds and sorting on a cluster: each task has a state, and states are added block by block or by group.

A task that is run again, because its executor was lost or was slow, starts anew from an empty state, and Spark counts
the rows of one run only.

Sealed files are the same bytes as on one machine, written by the driver. Contents that are counted are summed as
tallies are. All other reports are counted first, so that whatever is refused is refused before anything is written, and
then sorted by Spark; the driver writes them as they come, a few at a time.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from discreet.arrays import AnyArray
from discreet.core.arrow import from_buffer
from discreet.engines.folds import Fold, GroupFold, GroupState
from discreet.errors import DataError, DiscreetError
from discreet.files.reading import Progress
from discreet.formats.sealing import CanonicalOrder
from discreet.formats.sources import RowCounts, sources_of
from discreet.mechanisms import Mechanism
from discreet.spark.frames import Clustered, clustered, frame_schema, one_thread, scanned, to_spark
from discreet.spark.running import REFUSALS, SCHEMA, blocks_of, collected, refused, working

Answer = TypeVar("Answer")


def read_reports(spark: Any, mechanism: Mechanism, sources: Any) -> Any:
    """Return a Spark frame of the reports in files and folders, read by the executors.

    Args:
        spark: the session.
        mechanism: what made the reports.
        sources: `Sources`, or what they may be of; no tallies, and no share of bad rows.

    Raises:
        DataError, MismatchError: as for `SparkEngine.tally`, of what files say of themselves; bad rows are refused when
            the frame is worked out. A frame has no files, so that nobody notices reports that are in two of them.
    """
    read = sources_of(sources).with_all_rows()
    source = clustered(spark, scanned(mechanism, read), omit_invalid=False)

    frame, rows = source.frame, source.read

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in rows(batches):
            yield to_spark(mechanism, batch.reports)

    return frame.mapInArrow(work, frame_schema(mechanism))


def folded(
    spark: Any, source: Clustered, fold: Fold[AnyArray, Any], account: RowCounts, progress: Progress | None
) -> AnyArray:
    """Return the state of a fold over all reports of a source, and add the rows of all tasks to an account.

    Raises:
        DataError, MismatchError: what an executor refuses.
        EngineError: if Spark gives up.
    """
    read, mechanism = source.read, fold.mechanism

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        one_thread()
        state, rows = fold.zero(), RowCounts(mechanism)
        try:
            for batch in read(batches):
                rows.add(batch)
                fold.add(state, batch)
        except DiscreetError as error:
            yield refused(error)
            return
        yield from blocks_of(rows.before(state))

    with working(spark, progress):
        frame = source.frame.mapInArrow(work, SCHEMA)
        return account.split(collected(frame, RowCounts(mechanism).before(fold.zero())))


_SCHEMA = "label string, failed string, counts binary"
_ARROW = pa.schema({"label": pa.string(), "failed": pa.string(), "counts": pa.binary()})


def folded_groups(spark: Any, source: Clustered, fold: GroupFold, progress: Progress | None) -> GroupState:
    """Return the state of all groups over all reports of a source; errors as for `folded`."""
    read = source.read

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        one_thread()
        state = fold.zero()
        try:
            for batch in read(batches):
                fold.add(state, batch)
        except DiscreetError as error:
            kind = type(error).__name__
            yield _row("", kind if kind in REFUSALS else DataError.__name__, str(error).encode())
            return
        for label, place in state.places.items():
            spelled = json.dumps(label if isinstance(label, tuple) else (label,), ensure_ascii=False)
            yield _row(spelled, "", state.counts.row(place).astype("<i8").tobytes())

    with working(spark, progress):
        rows = source.frame.mapInArrow(work, _SCHEMA).groupBy("failed", "label").applyInArrow(_sum, _SCHEMA).collect()
    return _state_of(fold, rows)


def _state_of(fold: GroupFold, rows: Sequence[Any]) -> GroupState:
    """Return the state of all groups from their rows, or raise the error of a task."""
    whole = fold.zero()
    for row in rows:
        if row.failed:
            raise REFUSALS[row.failed](bytes(row.counts).decode())
        label = json.loads(row.label)
        place = whole.rows_of([tuple(label) if len(fold.by) > 1 else label[0]])
        whole.counts.add_row(int(place[0]), np.frombuffer(row.counts, np.int64))
    return whole


def _row(label: str, failed: str, counts: bytes) -> pa.RecordBatch:
    arrays = [pa.array([entry], field.type) for entry, field in zip((label, failed, counts), _ARROW, strict=True)]
    return pa.record_batch(arrays, schema=_ARROW)


def _sum(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Return the sum of the counts of one group, or the row of an error."""
    total: Any = None
    label = ""
    for batch in batches:
        for row in batch.to_pylist():
            if row["failed"]:
                yield _row("", row["failed"], row["counts"])
                return
            counts = np.frombuffer(row["counts"], "<i8").astype(np.int64)
            total, label = (counts if total is None else total + counts), row["label"]
    yield _row(label, "", total.astype("<i8").tobytes())


_KEYS = "keys binary"


def sorted_keys(source: Clustered, mechanism: Mechanism) -> Iterator[AnyArray]:
    """Yield the keys of all reports in ascending order, sorted by Spark."""
    read, width = source.read, CanonicalOrder(mechanism).width

    def keys(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        one_thread()
        for batch in read(batches):
            rows = from_buffer(pa.binary(width), CanonicalOrder(mechanism).keys(batch.reports), None)
            yield pa.record_batch([rows.cast(pa.binary())], names=["keys"])

    def packed(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            # Spark has no bytes of fixed length, and offsets between keys of one length say nothing.
            yield pa.record_batch([pa.array([b"".join(batch.column(0).to_pylist())], pa.binary())], names=["keys"])

    ordered = source.frame.mapInArrow(keys, _KEYS).orderBy("keys").mapInArrow(packed, _KEYS)
    for row in ordered.toLocalIterator(prefetchPartitions=True):
        yield np.frombuffer(row.keys, np.uint8).reshape(-1, width)
