"""Tallies on a cluster: a state of the local engine's fold per task, summed block by block.

A task that is run again, because its executor was lost or was slow, starts anew from an empty state, and Spark counts
the rows of one run only.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa

from discreet.arrays import AnyArray
from discreet.core.checks import checked_share
from discreet.engines.fold import Counted, Fold, TallyFold
from discreet.engines.spark.frames import frame_schema, to_spark
from discreet.engines.spark.running import working
from discreet.engines.spark.sources import Source, from_files, from_frame, one_thread, rows_seen
from discreet.engines.spark.vectors import SCHEMA, blocks_of, collected, refused
from discreet.errors import DiscreetError
from discreet.io.partitions import Seen
from discreet.io.progress import Progress
from discreet.io.report_sources import surveyed
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
