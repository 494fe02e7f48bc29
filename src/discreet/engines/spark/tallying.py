"""Tallies, tallies by group, and sealed files on a cluster.

Tallies on a cluster: a state of the local engine's fold per task, summed block by block.

A task that is run again, because its executor was lost or was slow, starts anew from an empty state, and Spark counts
the rows of one run only.

Tallies by group on a cluster: each task counts the groups of its part, and the counts of a group are summed.

Sealing on a cluster: the same bytes as on one machine, written by the driver.

Contents that are counted are summed as tallies are. All other reports are counted first, so that whatever is refused is
refused before anything is written, and then sorted by Spark; the driver writes them as they come, a few at a time.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from discreet.arrays import AnyArray
from discreet.core.arrow import from_buffer
from discreet.core.checks import checked_share, checked_whole
from discreet.core.reports import PLAN, SIMULATED
from discreet.core.tally import GroupedTally
from discreet.engines.groups import GroupFold, GroupState, PublicPart, checked_names
from discreet.engines.local import Counted, Fold, TallyFold
from discreet.engines.sealing import ContentFold, Sealed, report_parts
from discreet.engines.spark.frames import (
    Source,
    frame_schema,
    from_files,
    from_frame,
    note_seen,
    one_thread,
    rows_seen,
    seen_numbers,
    to_spark,
)
from discreet.engines.spark.running import REFUSALS, SCHEMA, blocks_of, collected, refused, working
from discreet.errors import DataError, DiscreetError
from discreet.files.paths import shared_files
from discreet.files.reading import Progress
from discreet.formats.sealed_files import LEAST, checked_sealed, put_sealed
from discreet.formats.sealing import CanonicalOrder, in_batches
from discreet.formats.sources import Seen, Survey, partition_elsewhere, surveyed
from discreet.mechanisms import Mechanism

Answer = TypeVar("Answer")


def tally(frame: Any, mechanism: Mechanism, *, bad_share: float = 0.0, progress: Progress | None = None) -> Counted:
    """Return the tally of a Spark frame of reports.

    Args:
        frame: the reports; see `discreet.engines.spark.frames`. Other columns are not read.
        mechanism: what made the reports.
        bad_share: the share of rows, in 0..1, that may be nothing a device can have sent: they are left out and
            counted.
        progress: called now and then with the tasks done and the tasks in all.

    Returns:
        The tally, the same to the last digit as on one machine; and how many rows were left out for which reason.

    Raises:
        DataError: if a column is missing or of another kind, or too many rows are bad.
        MismatchError: if a row belongs to another plan.
        ParameterError: if a parameter is out of range.
        EngineError: if Spark gives up.
    """
    checked_share("bad_share", bad_share)
    fold = TallyFold(mechanism)
    source = from_frame(mechanism, frame)
    found = folded(frame.sparkSession, source, fold, progress)
    found.refuse_above(bad_share)
    return Counted(replace(found.tally, rest=source.whole.digest), found.left_out)


def tally_files(
    spark: Any,
    mechanism: Mechanism,
    sources: str | Path | Sequence[str | Path],
    *,
    bad_share: float = 0.0,
    trust_plan: bool = False,
    manifest: bool = False,
    progress: Progress | None = None,
) -> Counted:
    """Return the tally of files of reports, and of folders, that every executor sees under the same names.

    Args:
        spark: the session.
        mechanism: what made the reports.
        sources: as for `discreet.engines.tally`.
        bad_share: as for `tally`.
        trust_plan: as for `discreet.engines.tally`.
        manifest: as for `discreet.engines.tally`.
        progress: as for `tally`.

    Returns:
        As `tally`.

    Raises:
        DataError, MismatchError, ParameterError: as for `discreet.engines.tally`.
        EngineError: if Spark gives up.
    """
    checked_share("bad_share", bad_share)
    survey = surveyed(mechanism, sources, trust_plan=trust_plan, manifest=manifest)
    fold = TallyFold(mechanism)
    found = folded(spark, from_files(spark, mechanism, survey.parts, sift=True), fold, progress)
    whole = Counted(survey.whole(found.tally), found.left_out)
    whole.refuse_above(bad_share)
    return whole


def read_reports(
    spark: Any,
    mechanism: Mechanism,
    sources: str | Path | Sequence[str | Path],
    *,
    trust_plan: bool = False,
    manifest: bool = False,
) -> Any:
    """Return a Spark frame of the reports in files and folders, read by the executors.

    Args:
        spark: the session.
        mechanism: what made the reports.
        sources: as for `tally_files`; no tallies.
        trust_plan: as for `discreet.engines.tally`.
        manifest: as for `discreet.engines.tally`.

    Raises:
        DataError, MismatchError: as for `tally_files`, of what files say of themselves; bad rows are refused when the
            frame is worked out. A frame has no files, so that nobody notices reports that are in two of them.
    """
    survey = surveyed(mechanism, sources, trust_plan=trust_plan, manifest=manifest)
    source = from_files(spark, mechanism, survey.parts, sift=False)
    read = source.read

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for reports, _ in read(batches, {}):
            yield to_spark(mechanism, reports)

    return source.frame.mapInArrow(work, frame_schema(mechanism))


def folded(spark: Any, source: Source, fold: Fold[Answer], progress: Progress | None) -> Answer:
    """Return the result of a fold over all reports of a source, a state per task.

    Raises:
        DataError, MismatchError: what an executor refuses.
        EngineError: if Spark gives up.
    """
    read = source.read

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        one_thread()
        state, seen = fold.zero(), dict[int, Seen]()
        try:
            for found in read(batches, seen):
                fold.add(state, *found)
        except DiscreetError as error:
            yield refused(error)
            return
        yield from blocks_of(state)
        yield from rows_seen(state, seen)

    found: dict[int, AnyArray] = {}
    with working(spark, progress):
        state = collected(source.frame.mapInArrow(work, SCHEMA), fold.zero(), found)
    source.note(found)
    return fold.finish(state)


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


_KEYS = "keys binary"


def seal_files(
    spark: Any,
    mechanism: Mechanism,
    sources: str | Path | Sequence[str | Path],
    target: str | Path,
    *,
    least: int = LEAST,
    bad_share: float = 0.0,
    force: bool = False,
    progress: Progress | None = None,
    **read: Any,
) -> Sealed:
    """Write all reports of files, which every executor sees under the same names, into one sealed file.

    Arguments, result and errors as for `discreet.engines.sealing.seal`; ``spark`` is the session.

    Raises:
        EngineError: if Spark gives up.
    """
    output = checked_sealed(target, force=force)
    survey, dropped = report_parts(mechanism, sources, output, **read)
    source = from_files(spark, mechanism, survey.parts, sift=bad_share > 0)
    return _sealed(
        source, survey, mechanism, output, dropped, least=least, bad_share=bad_share, force=force, progress=progress
    )


def seal_frame(
    frame: Any,
    mechanism: Mechanism,
    target: str | Path,
    *,
    least: int = LEAST,
    bad_share: float = 0.0,
    force: bool = False,
    progress: Progress | None = None,
) -> Sealed:
    """Write the reports of a frame (see `discreet.engines.spark.frames`) into one sealed file; see `seal_files`."""
    output = checked_sealed(target, force=force)
    own = {PLAN, SIMULATED, *(column.name for column in mechanism.columns)}
    dropped = tuple(name for name in frame.columns if name not in own)
    source, survey = from_frame(mechanism, frame), Survey({}, ())
    return _sealed(
        source, survey, mechanism, output, dropped, least=least, bad_share=bad_share, force=force, progress=progress
    )


def _sealed(
    source: Source,
    survey: Survey,
    mechanism: Mechanism,
    output: Path,
    dropped: tuple[str, ...],
    *,
    least: int,
    bad_share: float,
    force: bool,
    progress: Progress | None,
) -> Sealed:
    share, least = checked_share("bad_share", bad_share), checked_whole("least", least)
    spark, fold = source.frame.sparkSession, ContentFold(mechanism)
    found = folded(spark, source, fold, progress)
    survey.batches()
    found.check(share, least)
    if fold.contents is not None:
        with CanonicalOrder(mechanism) as order:
            order.add_counts(found.counts, simulated=found.simulated)
            put_sealed(output, mechanism, order.batches(), order.n, force=force)
    else:
        with working(spark, progress):
            batches = in_batches(mechanism, _sorted_keys(source, mechanism), simulated=found.simulated)
            put_sealed(output, mechanism, batches, found.n, force=force)
    return Sealed(output, found.n, found.simulated, dropped, found.left_out)


def _sorted_keys(source: Source, mechanism: Mechanism) -> Iterator[AnyArray]:
    """Yield the keys of all reports in ascending order, as Spark sorts them."""
    read, width = source.read, CanonicalOrder(mechanism).width

    def keys(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        one_thread()
        for reports, _ in read(batches, {}):
            rows = from_buffer(pa.binary(width), CanonicalOrder(mechanism).keys(reports), None)
            yield pa.record_batch([rows.cast(pa.binary())], names=["keys"])

    def packed(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            # Spark has no bytes of fixed length, and offsets between keys of one length say nothing.
            yield pa.record_batch([pa.array([b"".join(batch.column(0).to_pylist())], pa.binary())], names=["keys"])

    ordered = source.frame.mapInArrow(keys, _KEYS).orderBy("keys").mapInArrow(packed, _KEYS)
    for row in ordered.toLocalIterator(prefetchPartitions=True):
        yield np.frombuffer(row.keys, np.uint8).reshape(-1, width)
