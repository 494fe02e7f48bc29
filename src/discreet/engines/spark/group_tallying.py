"""Tallies by group on a cluster: each task counts the groups of its part, and the counts of a group are summed."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.arrays import AnyArray
from discreet.core.grouped_tally import GroupedTally
from discreet.engines.groups import GroupFold, GroupState, PublicPart, checked_names
from discreet.engines.spark.running import working
from discreet.engines.spark.sources import note_seen, one_thread, seen_numbers
from discreet.engines.spark.vectors import REFUSALS
from discreet.errors import DataError, DiscreetError
from discreet.io.partitions import Seen, partition_elsewhere
from discreet.io.progress import Progress
from discreet.io.remote import shared_files
from discreet.io.report_sources import surveyed
from discreet.mechanisms import Mechanism

_SCHEMA = "label string, failed string, counts binary"
_ARROW = pa.schema({"label": pa.string(), "failed": pa.string(), "counts": pa.binary()})


def tally_by_files(
    spark: Any,
    mechanism: Mechanism,
    sources: str | Path | Sequence[str | Path],
    by: str | Sequence[str],
    *,
    trust_plan: bool = False,
    manifest: bool = False,
    progress: Progress | None = None,
) -> GroupedTally:
    """Return a tally for each group of people whose reports are in files that every executor sees.

    Arguments and errors as for `discreet.engines.groups.tally_by`.

    Raises:
        EngineError: if Spark gives up.
    """
    names = checked_names(by)
    read = {"trust_plan": trust_plan, "manifest": manifest}
    survey = surveyed(mechanism, sources, public=names, **read)
    parts = survey.parts
    shared_files(part.path for part in parts)
    places = [(part.path, tuple(part.groups), part.rows, part.content, part.form is not None) for part in parts]
    fold = GroupFold(mechanism, names)

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        one_thread()
        state, seen = fold.zero(), dict[int, Seen]()
        try:
            for batch in batches:
                for number in batch.column(0).to_pylist():
                    path, groups, rows, content, rewritten = places[number]
                    trusted = {"trust_plan": rewritten, "public": names}
                    part = partition_elsewhere(path, groups, rows, content, mechanism, **trusted)
                    for found in PublicPart(part).reports():
                        fold.add(state, *found)
                    seen[number] = part.seen
        except DiscreetError as error:
            kind = type(error).__name__
            yield _row("", kind if kind in REFUSALS else DataError.__name__, str(error).encode())
            return
        yield from _rows_of(state)
        for number, one in seen.items():
            yield _row(json.dumps(number), "", seen_numbers(one).astype("<i8").tobytes())

    frame = spark.range(0, len(places), 1, max(len(places), 1)).mapInArrow(work, _SCHEMA)
    with working(spark, progress):
        rows = frame.groupBy("failed", "label").applyInArrow(_sum, _SCHEMA).collect()
    found: dict[int, AnyArray] = {}
    state = _state_of(fold, rows, found)
    note_seen([part.seen for part in parts], found)
    survey.batches()
    return fold.finish(state)


def _state_of(fold: GroupFold, rows: Sequence[Any], found: dict[int, AnyArray]) -> GroupState:
    """Return the state of all groups' rows, or raise a task's refusal; ``found`` gets what was read of each part."""
    whole = fold.zero()
    for row in rows:
        if row.failed:
            raise REFUSALS[row.failed](bytes(row.counts).decode())
        label = json.loads(row.label)
        if isinstance(label, int):
            found[label] = np.frombuffer(row.counts, np.int64)
            continue
        place = whole.rows_of([tuple(label) if len(fold.by) > 1 else label[0]])
        whole.counts.add_row(int(place[0]), np.frombuffer(row.counts, np.int64))
    return whole


def _rows_of(state: GroupState) -> Iterator[pa.RecordBatch]:
    """Yield a row for each group: whether any report was simulated, and its counts."""
    for label, place in state.places.items():
        spelled = json.dumps(label if isinstance(label, tuple) else (label,), ensure_ascii=False)
        yield _row(spelled, "", state.counts.row(place).astype("<i8").tobytes())


def _row(label: str, failed: str, counts: bytes) -> pa.RecordBatch:
    arrays = [pa.array([entry], field.type) for entry, field in zip((label, failed, counts), _ARROW, strict=True)]
    return pa.record_batch(arrays, schema=_ARROW)


def _sum(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Return the sum of the counts of one group, or one of the refusals."""
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
