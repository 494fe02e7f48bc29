"""Sealing on a cluster: the same bytes as on one machine, written by the driver.

Contents that are counted are summed as tallies are. All other reports are counted first, so that whatever is refused is
refused before anything is written, and then sorted by Spark; the driver writes them as they come, a few at a time.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.arrays import AnyArray
from discreet.core.arrow_memory import from_buffer
from discreet.core.checks import checked_share, checked_whole
from discreet.engines.sealing import ContentFold, Sealed, report_parts
from discreet.engines.spark.frames import PLAN, SIMULATED
from discreet.engines.spark.running import working
from discreet.engines.spark.sources import Source, from_files, from_frame, one_thread
from discreet.engines.spark.tallying import folded
from discreet.io.progress import Progress
from discreet.io.report_sources import Survey
from discreet.io.sealed_files import LEAST, checked_sealed, put_sealed
from discreet.io.sealing import CanonicalOrder, in_batches
from discreet.mechanisms import Mechanism

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
