"""The engine of a Spark cluster, with the methods of every engine."""

import dataclasses
import hashlib
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from discreet.arrays import IntArray
from discreet.core.tally import GroupedTally
from discreet.engines.engine import Engine, Observed
from discreet.engines.evidence import with_blocks
from discreet.engines.folds import Fold, GroupFold, TallyFold
from discreet.engines.obfuscation import ObfuscationResult, Values, obfuscate
from discreet.errors import DataError, DiscreetError, ParameterError
from discreet.files.paths import File, output_of, shared_files
from discreet.files.reading import PipedTable, Progress
from discreet.files.stored import look
from discreet.files.writing import check_free
from discreet.formats.sealing import MIXED, in_batches
from discreet.formats.sources import RowCounts, ScannedSources, sources_of
from discreet.mechanisms import BlockMechanism, Mechanism
from discreet.spark.frames import clustered, one_thread, scanned
from discreet.spark.likelihood import kept_blocks
from discreet.spark.running import QUIET, SCHEMA, blocks_of, collected, refused, session, working
from discreet.spark.tallying import folded, folded_groups, sorted_keys
from discreet.tables.scan import table_files
from discreet.tables.values import REASONS, ValueColumns

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class SparkEngine(Engine):
    """The engine of a cluster. All executors must see the same files under the same names.

    Files may be at URLs, as on one machine; each executor opens them itself, with the credentials of its environment.

    Attributes:
        session: the Spark session; see `discreet.spark.session`.
    """

    session: Any

    def obfuscate(
        self,
        mechanism: BlockMechanism,
        values: Values,
        target: str | Path,
        columns: ValueColumns | None = None,
        *,
        seed: int | None = None,
        force: bool = False,
        progress: Progress | None = None,
    ) -> ObfuscationResult:
        """Write a report for every value in tables: a Parquet file for each table, with the table's name.

        A task writes one file, whole or not at all. One that is run again, because its executor was lost, takes the
        file that is there and draws nothing anew.

        Args:
            mechanism: what obfuscates them.
            values: files and folders of tables, all of different names.
            target: a folder that exists.
            columns: as for `discreet.engines.obfuscation.obfuscate`.
            seed: makes a simulation, with a seed of its own for each file; None for secure randomness.
            force: must not be set: a cluster replaces no files.
            progress: called now and then with the tasks done and the tasks in all.

        Raises:
            DataError, ParameterError, OutputExistsError: as there, and if the target is no folder.
            EngineError: if Spark gives up.
        """
        places = _places(values, output_of(target, "reports"), force=force)
        asked = ValueColumns(mechanism.domain) if columns is None else columns

        def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            one_thread()
            try:
                for batch in batches:
                    for number in batch.column(0).to_pylist():
                        source, path = places[number]
                        file_seed = None if seed is None else _seed_of(seed, path.name)
                        yield from blocks_of(_written(mechanism, source, path, asked, file_seed))
            except DiscreetError as error:
                yield refused(error)

        frame = self.session.range(0, len(places), 1, max(len(places), 1))
        with working(self.session, progress):
            counts = collected(frame.mapInArrow(work, SCHEMA), np.zeros(1 + len(REASONS), np.int64))
        left_out = {reason: int(count) for reason, count in zip(REASONS, counts[1:], strict=True) if count}
        return ObfuscationResult(int(counts[0]), left_out, seed is not None)

    def scan(self, mechanism: Mechanism, sources: Any, public: Sequence[str] = ()) -> ScannedSources:
        """Return the sources after a check of metadata: files that every executor can read, or a frame of Spark."""
        return scanned(mechanism, sources_of(sources), public)

    def fold(self, fold: Fold[Any, Answer], scan: ScannedSources) -> Answer:
        """Return the result of a fold over all reports; each task has a state of its own."""
        # Bad rows are counted first and refused later: no task knows their share.
        source = clustered(self.session, scan, omit_invalid=True)
        with scan.reader() as reader:
            state = folded(self.session, source, fold, reader.account, scan.asked.progress)
        return fold.finish(state, reader.account)

    def fold_groups(self, fold: GroupFold, scan: ScannedSources) -> GroupedTally:
        """Return the tally of each group: tasks count their parts, and the counts of each group are added."""
        source = clustered(self.session, scan, omit_invalid=False)
        with scan.reader() as reader:
            state = folded_groups(self.session, source, fold, scan.asked.progress)
            grouped = fold.finish(state, reader.account)
            reader.account.add_reports(sum(tally.n for tally in grouped.values()))
        return grouped

    def gathered(self, scan: ScannedSources) -> Observed:
        """Return the data for an estimate by likelihood, in one pass; executors store the blocks."""
        fold = TallyFold(with_blocks(scan.mechanism))
        source = clustered(self.session, scan, omit_invalid=True)
        with scan.reader() as reader:
            observed = kept_blocks(self.session, source, fold, reader.account, scan.asked.progress)
        return dataclasses.replace(observed, tally=scan.whole(observed.tally)), reader.account.left_out

    @contextmanager
    def in_order(self, scan: ScannedSources) -> Iterator[tuple[RowCounts, Any]]:
        """Yield the counts of all rows, and all reports in canonical order, sorted by Spark."""
        with scan.reader() as reader:
            source = clustered(self.session, scan, omit_invalid=True)
            folded(self.session, source, TallyFold(scan.mechanism), reader.account, scan.asked.progress)
        account = reader.account
        if account.is_mixed:
            raise DataError(MIXED)
        source = clustered(self.session, scan, omit_invalid=scan.asked.bad_share > 0)
        with working(self.session, scan.asked.progress):
            keys = sorted_keys(source, scan.mechanism)
            yield account, in_batches(scan.mechanism, keys, simulated=account.simulated)


def _places(values: Values, folder: Path, *, force: bool) -> list[tuple[File, Path]]:
    """Return each table with the path of its file of reports."""
    if force:
        raise ParameterError("cluster.cannot-replace", argument="force")
    if not folder.is_dir():
        raise ParameterError("cluster.no-folder", folder=folder)
    sources = [source for source in table_files(values) if not isinstance(source, PipedTable)]
    if not sources:
        raise ParameterError("cluster.standard-input")
    shared_files(sources)
    places = [(source, folder / f"{source.stem}.parquet") for source in sources]
    if len({path for _, path in places}) < len(places):
        raise ParameterError("cluster.equal-names")
    for _, path in places:
        check_free(path, force=False)
    return places


def _seed_of(seed: int, name: str) -> int:
    return int.from_bytes(hashlib.sha256(f"file {name} of {seed}".encode()).digest(), "little")


def _written(mechanism: BlockMechanism, source: File, path: Path, columns: ValueColumns, seed: int | None) -> IntArray:
    """Return the numbers of reports and of rows left out of a table, written now or by an earlier run of this task."""
    if path.exists():
        table = columns.of(source)
        for _ in table.batches():
            pass
        reports, left_out = sum(look(path).rows), dict(table.left_out)
    else:
        obfuscated = obfuscate(mechanism, source, path, columns, seed=seed, threads=1)
        reports, left_out = obfuscated.reports, dict(obfuscated.left_out)
    return np.array([reports, *(left_out.get(reason, 0) for reason in REASONS)], np.int64)


@contextmanager
def running(*, memory: int | None = None, master: str | None = None) -> Iterator[SparkEngine]:
    """Yield the engine of a new Spark session, which is stopped afterwards.

    Args:
        memory: has no effect: executors have memory of their own.
        master: where Spark runs; None for what Spark is set up for.
    """
    del memory
    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
    cluster = session(master, **QUIET)
    try:
        yield SparkEngine(cluster)
    finally:
        cluster.stop()
