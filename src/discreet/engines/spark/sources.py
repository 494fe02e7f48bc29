"""Sources of tasks on a cluster: rows of a frame, or files that every executor sees under the same names."""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from discreet.engines.spark.frames import prepared, reports_in
from discreet.io.partitions import Checked, Partition, partition_elsewhere
from discreet.io.remote import shared_files
from discreet.mechanisms import Mechanism

Task = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
"""The function of an executor over the batches of a partition."""

_THREADS = "DISCREET_THREADS"


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """The reports of a source on a cluster.

    Attributes:
        frame: what is cut into partitions.
        read: makes checked reports of the batches of a partition.
    """

    frame: Any
    read: Callable[[Iterator[pa.RecordBatch]], Iterator[Checked]]


def from_frame(mechanism: Mechanism, frame: Any) -> Source:
    """Return the source of a frame; bad rows are left out.

    Raises:
        DataError: if a column is missing or of another kind.
    """

    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[Checked]:
        for batch in batches:
            yield reports_in(batch, mechanism)

    return Source(prepared(frame, mechanism), read)


def from_files(spark: Any, mechanism: Mechanism, parts: Sequence[Partition], *, sift: bool) -> Source:
    """Return the source of parts of files, a task for each; bad rows are left out, or refused."""
    shared_files(part.path for part in parts)
    # What the driver let through on the caller's word is let through again.
    places = [(part.path, tuple(part.groups), part.rows, part.content, part.form is not None) for part in parts]

    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[Checked]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                # What a file says of itself is read again: it may be large, and another machine reads it now.
                path, groups, rows, content, rewritten = places[number]
                part = partition_elsewhere(path, groups, rows, content, mechanism, trust_plan=rewritten)
                yield from part.reports(sift=sift)

    return Source(spark.range(0, len(places), 1, max(len(places), 1)), read)


def one_thread() -> None:
    """Limit a task to the one core that Spark assigns, unless the environment says otherwise."""
    os.environ.setdefault(_THREADS, "1")
