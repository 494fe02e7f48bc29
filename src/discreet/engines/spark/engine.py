"""The engine of a Spark cluster, with the face of every engine."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.arrays import IntArray
from discreet.core.tally import GroupedTally
from discreet.engines.engine import Observed
from discreet.engines.local import Counted
from discreet.engines.obfuscation import Obfuscated, Replace, Values, obfuscate, sources_of
from discreet.engines.sealing import Sealed
from discreet.engines.spark import likelihood, tallying
from discreet.engines.spark.frames import one_thread
from discreet.engines.spark.running import SCHEMA, blocks_of, collected, refused, working
from discreet.errors import DiscreetError, ParameterError
from discreet.files.paths import File, output_of, shared_files
from discreet.files.reading import Piped, Progress
from discreet.files.stored import look
from discreet.files.writing import check_free
from discreet.mechanisms import BlockMechanism, Mechanism
from discreet.tables.values import REASONS, ValueColumns


@dataclass(frozen=True, slots=True)
class SparkEngine:
    """The engine of a cluster: executors, which see the same files under the same names, read and write them.

    Files may be at URLs, as on one machine; each executor opens them itself, with the credentials of its environment.

    Attributes:
        session: the Spark session; see `discreet.engines.spark.session`.
    """

    session: Any

    def obfuscate(
        self,
        mechanism: BlockMechanism,
        values: Values,
        target: str | Path,
        columns: ValueColumns | None = None,
        *,
        replace: Replace | None = None,
        seed: int | None = None,
        force: bool = False,
        progress: Progress | None = None,
    ) -> Obfuscated:
        """Write a report for every value of tables, a Parquet file for each table, named alike.

        A task writes one file, whole or not at all. One that is run again, because its executor was lost, takes the
        file that is there and draws nothing anew.

        Args:
            mechanism: what obfuscates them.
            values: files and folders of tables, all of different names.
            target: a folder that exists.
            columns: as for `discreet.engines.obfuscation.obfuscate`.
            replace: as there.
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
                        own = None if seed is None else _seed_of(seed, path.name)
                        yield from blocks_of(_written(mechanism, source, path, asked, (replace, own)))
            except DiscreetError as error:
                yield refused(error)

        frame = self.session.range(0, len(places), 1, max(len(places), 1))
        with working(self.session, progress):
            counts = collected(frame.mapInArrow(work, SCHEMA), np.zeros(1 + len(REASONS), np.int64))
        left_out = {reason: int(count) for reason, count in zip(REASONS, counts[1:], strict=True) if count}
        return Obfuscated(int(counts[0]), left_out, seed is not None)

    def tally(
        self,
        mechanism: Mechanism,
        sources: Any,
        *,
        bad_share: float = 0.0,
        trust_plan: bool = False,
        manifest: bool = False,
        progress: Progress | None = None,
    ) -> Counted:
        """Return the tally of a frame of reports, or of files of reports; see `tally` and `tally_files`."""
        read: dict[str, Any] = {"trust_plan": trust_plan, "manifest": manifest}
        given: dict[str, Any] = {"bad_share": bad_share, "progress": progress}
        if _is_frame(sources, read):
            return tallying.tally(sources, mechanism, **given)
        return tallying.tally_files(self.session, mechanism, sources, **given, **read)

    def tally_by(
        self,
        mechanism: Mechanism,
        sources: Any,
        by: str | Sequence[str],
        *,
        trust_plan: bool = False,
        manifest: bool = False,
        progress: Progress | None = None,
    ) -> GroupedTally:
        """Return a tally for each group of people; see `tally_by_files`. A frame is not taken, files are."""
        if hasattr(sources, "sparkSession"):
            raise ParameterError("tallies by group are of files on a cluster, got a frame; write it as Parquet first.")
        read: dict[str, Any] = {"trust_plan": trust_plan, "manifest": manifest}
        return tallying.tally_by_files(self.session, mechanism, sources, by, progress=progress, **read)

    def evidence(
        self,
        mechanism: Mechanism,
        sources: Any,
        *,
        bad_share: float = 0.0,
        trust_plan: bool = False,
        manifest: bool = False,
        progress: Progress | None = None,
    ) -> Observed:
        """Return the evidence in a frame of reports, or in files of reports; see `gather` and `gather_files`."""
        read: dict[str, Any] = {"trust_plan": trust_plan, "manifest": manifest}
        given: dict[str, Any] = {"bad_share": bad_share, "progress": progress}
        if _is_frame(sources, read):
            return likelihood.gather(sources, mechanism, **given)
        return likelihood.gather_files(self.session, mechanism, sources, **given, **read)

    def seal(
        self,
        mechanism: Mechanism,
        sources: Any,
        target: str | Path,
        *,
        least: int = 2,
        bad_share: float = 0.0,
        trust_plan: bool = False,
        manifest: bool = False,
        force: bool = False,
        progress: Progress | None = None,
    ) -> Sealed:
        """Write a frame of reports, or files of reports, into one sealed file (`discreet.engines.spark.tallying`)."""
        read: dict[str, Any] = {"trust_plan": trust_plan, "manifest": manifest}
        given: dict[str, Any] = {"least": least, "bad_share": bad_share, "force": force, "progress": progress}
        if _is_frame(sources, read):
            return tallying.seal_frame(sources, mechanism, target, **given)
        return tallying.seal_files(self.session, mechanism, sources, target, **given, **read)


def _is_frame(sources: Any, read: Mapping[str, bool]) -> bool:
    """Return true if reports are a Spark frame, for which options of files do nothing."""
    if not hasattr(sources, "sparkSession"):
        return False
    useless = [name for name, given in read.items() if given]
    if useless:
        raise ParameterError(f"{', '.join(useless)} must not be set for a frame: files have manifests.")
    return True


def _places(values: Values, folder: Path, *, force: bool) -> list[tuple[File, Path]]:
    """Return the tables and the file of reports of each."""
    if force:
        raise ParameterError("force must not be set: a cluster replaces no files; choose another folder.")
    if not folder.is_dir():
        raise ParameterError(f"a cluster writes into a folder that exists, got {folder}.")
    sources = [source for source in sources_of(values) if not isinstance(source, Piped)]
    if not sources:
        raise ParameterError("executors read files, and standard input is none; name files.")
    shared_files(sources)
    places = [(source, folder / f"{source.stem}.parquet") for source in sources]
    if len({path for _, path in places}) < len(places):
        raise ParameterError("tables must have different names, since the files of their reports are named alike.")
    for _, path in places:
        check_free(path, force=False)
    return places


def _seed_of(seed: int, name: str) -> int:
    return int.from_bytes(hashlib.sha256(f"file {name} of {seed}".encode()).digest(), "little")


def _written(
    mechanism: BlockMechanism,
    source: File,
    path: Path,
    columns: ValueColumns,
    drawing: tuple[Replace | None, int | None],
) -> IntArray:
    """Return the number of reports of a table, written now or by an earlier run of this task, and of rows left out."""
    replace, seed = drawing
    if path.exists():
        table = columns.of(source)
        for _ in table.batches():
            pass
        reports, left_out = sum(look(path).rows), dict(table.left_out)
    else:
        found = obfuscate(mechanism, source, path, columns, replace=replace, seed=seed, threads=1)
        reports, left_out = found.reports, dict(found.left_out)
    return np.array([reports, *(left_out.get(reason, 0) for reason in REASONS)], np.int64)
