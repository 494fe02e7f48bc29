"""Sources of tasks on a cluster: rows of a frame, or files that every executor sees under the same names."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.arrays import AnyArray
from discreet.core.digests import MODULUS, digest_of_limbs, limbs_of
from discreet.engines.spark.frames import prepared, reports_in
from discreet.engines.spark.vectors import beside
from discreet.io.partitions import Checked, Partition, Seen, partition_elsewhere
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
        read: makes checked reports of the batches of a partition, and notes what was read of each part, by its number.
        parts: of files; none of a frame.
        whole: what was read of a frame, in the end.
    """

    frame: Any
    read: Callable[[Iterator[pa.RecordBatch], dict[int, Seen]], Iterator[Checked]]
    parts: Sequence[Partition] = ()

    whole: Seen = field(default_factory=Seen)

    def note(self, found: Mapping[int, AnyArray]) -> None:
        """Note what tasks have read, by the number of the part; see `rows_seen`."""
        note_seen([part.seen for part in self.parts] or [self.whole], found)


def note_seen(parts: Sequence[Seen], found: Mapping[int, AnyArray]) -> None:
    """Note what tasks have read of each part, by its number and as `seen_numbers`."""
    for number, (n, *limbs) in found.items():
        parts[number].n, parts[number].digest = int(n), digest_of_limbs(limbs)


def seen_numbers(seen: Seen) -> AnyArray:
    """Return the number of reports read, and the limbs of their digest: numbers that add up."""
    return np.array([seen.n, *limbs_of(seen.digest % MODULUS)])


def rows_seen(vector: AnyArray, seen: Mapping[int, Seen]) -> Iterator[pa.RecordBatch]:
    """Yield rows of what a task has read of each part, beside its vector."""
    for number, one in seen.items():
        yield beside(vector, number, seen_numbers(one))


def from_frame(mechanism: Mechanism, frame: Any) -> Source:
    """Return the source of a frame; bad rows are left out.

    Raises:
        DataError: if a column is missing or of another kind.
    """

    def read(batches: Iterator[pa.RecordBatch], seen: dict[int, Seen]) -> Iterator[Checked]:
        whole = seen.setdefault(0, Seen())
        for batch in batches:
            checked = reports_in(batch, mechanism)
            whole.add(mechanism, checked[0])
            yield checked

    return Source(prepared(frame, mechanism), read)


def from_files(spark: Any, mechanism: Mechanism, parts: Sequence[Partition], *, sift: bool) -> Source:
    """Return the source of parts of files, a task for each; bad rows are left out, or refused."""
    shared_files(part.path for part in parts)
    # What the driver let through on the caller's word is let through again.
    places = [(part.path, tuple(part.groups), part.rows, part.content, part.form is not None) for part in parts]

    def read(batches: Iterator[pa.RecordBatch], seen: dict[int, Seen]) -> Iterator[Checked]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                # What a file says of itself is read again: it may be large, and another machine reads it now.
                path, groups, rows, content, rewritten = places[number]
                part = partition_elsewhere(path, groups, rows, content, mechanism, trust_plan=rewritten)
                yield from part.reports(sift=sift)
                seen[number] = part.seen

    return Source(spark.range(0, len(places), 1, max(len(places), 1)), read, parts)


def one_thread() -> None:
    """Limit a task to the one core that Spark assigns, unless the environment says otherwise."""
    os.environ.setdefault(_THREADS, "1")
