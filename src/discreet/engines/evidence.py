"""Evidence from files of reports: the reports in memory, or their blocks on disk."""

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeAlias

import pyarrow as pa

from discreet.core.checks import checked_share
from discreet.core.reports import Reports
from discreet.core.tally import Tally
from discreet.engines.fold import Counted, TallyFold
from discreet.engines.spill import BlockWriter, rows_on_disk
from discreet.errors import ParameterError
from discreet.estimators.likelihood import LocalRows
from discreet.io.endings import text_bytes
from discreet.io.partitions import Checked, Partition
from discreet.io.prefetch import prefetched
from discreet.io.progress import Progress
from discreet.io.read_errors import readable
from discreet.io.remote import File
from discreet.io.report_sources import Survey, rows_in, surveyed
from discreet.mechanisms import Mechanism
from discreet.mechanisms.evidence import StoredBlocks

Sources: TypeAlias = "str | Path | Sequence[str | Path]"

# Reports are held as batches, as one, and as what the law lays them out as.
_COPIES = 3
_UNKNOWN_MEMORY = 1 << 32
_CONTAINER_LIMIT = Path("/sys/fs/cgroup/memory.max")


def gather(
    mechanism: Mechanism,
    sources: Sources,
    *,
    memory: int | None = None,
    bad_share: float = 0.0,
    trust_plan: bool = False,
    manifest: bool = False,
    folder: str | Path | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> tuple[Reports | Tally | StoredBlocks, Mapping[str, int]]:
    """Return the evidence in files: reports, or blocks on disk (`observe`) where they exceed the memory.

    Args:
        mechanism: what made the reports.
        sources: files of reports, and folders of them; or tallies alone.
        memory: how many bytes the reports may take in memory; None for half of what there is. 0: none at all.
        bad_share: as for `discreet.engines.tally`.
        trust_plan: as for `discreet.engines.tally`.
        manifest: as for `discreet.engines.tally`.
        folder: as for `observe`.
        threads: as for `discreet.engines.tally`.
        progress: called now and then.

    Returns:
        The evidence for `estimate`, and the number of rows left out by reason.

    Raises:
        DataError, MismatchError, ParameterError: as for `observe`.

    Example:
        >>> import discreet as dc
        >>> from discreet.io.reports import write_reports
        >>> from tempfile import TemporaryDirectory
        >>> mechanism = dc.UnaryEncoding(dc.Domain(["yes", "no"]), epsilon=1.0)
        >>> with TemporaryDirectory() as folder:
        ...     written = write_reports(f"{folder}/monday.parquet", mechanism, mechanism.obfuscate(["yes"] * 50))
        ...     reports, left_out = gather(mechanism, folder)
        >>> reports.n, dict(left_out)
        (50, {})
    """
    survey = surveyed(mechanism, sources, trust_plan=trust_plan, manifest=manifest)
    if not survey.parts:
        return survey.whole(mechanism.empty_tally()), {}
    limit = memory_limit() if memory is None else memory
    if any(one.n for one in survey.tallies.values()):
        raise ParameterError("this method needs reports; tallies cannot be mixed with them.")
    through = _Through(mechanism, survey, bad_share, progress, threads)
    if memory_needed(mechanism, survey.parts) > limit:
        return through.onto_disk(folder)
    return through.into_memory()


def observe(
    mechanism: Mechanism,
    sources: Sources,
    *,
    bad_share: float = 0.0,
    trust_plan: bool = False,
    manifest: bool = False,
    folder: str | Path | None = None,
    progress: Progress | None = None,
) -> tuple[StoredBlocks, Mapping[str, int]]:
    """Return the evidence in files with its blocks on disk, in one pass.

    Args:
        mechanism: what made the reports.
        sources: files of reports, and folders of them.
        bad_share: as for `discreet.engines.tally`.
        trust_plan: as for `discreet.engines.tally`.
        manifest: as for `discreet.engines.tally`.
        folder: where temporary files go, as large as the blocks of all reports, and for ``mle`` 16 bytes more for each;
            None for the system's place for them. They have no names: whatever ends this process, they are gone.
        progress: called now and then.

    Returns:
        The evidence for ``mle`` and ``em``, with the same estimate as from the reports themselves; and the number of
        rows left out by reason.

    Raises:
        DataError: as for `discreet.engines.tally`, and if the temporary files do not fit.
        MismatchError: if a file belongs to another plan.
        ParameterError: if there is a tally among the sources, from which blocks cannot be told, or a file is named
            twice.

    Example:
        >>> import discreet as dc
        >>> from discreet.io.reports import write_reports
        >>> from tempfile import TemporaryDirectory
        >>> mechanism = dc.SubsetSelection(dc.Domain(["bus", "car", "walk"]), epsilon=1.0)
        >>> with TemporaryDirectory() as folder:
        ...     written = write_reports(f"{folder}/monday.parquet", mechanism, mechanism.obfuscate(["bus"] * 50))
        ...     observed, left_out = observe(mechanism, folder)
        >>> observed.tally.n, dict(left_out)
        (50, {})
    """
    survey = surveyed(mechanism, sources, trust_plan=trust_plan, manifest=manifest)
    if survey.tallies:
        raise ParameterError("this method needs reports; tallies cannot be mixed with them.")
    return _Through(mechanism, survey, bad_share, progress).onto_disk(folder)


class _Through:
    """One pass through all parts, in order, so that rows stay in the order of the files."""

    def __init__(
        self,
        mechanism: Mechanism,
        survey: Survey,
        bad_share: float,
        progress: Progress | None,
        threads: int | None = None,
    ) -> None:
        self._threads = threads
        self._mechanism, self._survey, self._progress = mechanism, survey, progress
        self._share = checked_share("bad_share", bad_share)
        self._left_out: Counter[str] = Counter()

    def _batches(self) -> Iterator[Reports]:
        done, total = 0, rows_in(self._survey.parts)
        for reports, left_out in prefetched(self._checked(), self._threads):
            self._left_out += left_out
            done += reports.n
            yield reports
            if self._progress is not None:
                self._progress(done, total)

    def _checked(self) -> Iterator[Checked]:
        for part in self._survey.parts:
            yield from part.reports(sift=self._share > 0)

    def onto_disk(self, folder: str | Path | None) -> tuple[StoredBlocks, Mapping[str, int]]:
        fold = TallyFold(self._mechanism)
        state = fold.zero()
        with BlockWriter(self._mechanism, folder) as stored:
            for reports in self._batches():
                fold.add(state, reports, {})
                stored.add(reports)
            found = self._counted(self._survey.whole(fold.finish(state).tally))
            # What reading took would otherwise stay with Arrow while the likelihood is worked out.
            pa.default_memory_pool().release_unused()
            rows_of = partial(LocalRows, new_rows=rows_on_disk(folder))
            return StoredBlocks(found.tally, stored.membership(), rows_of), found.left_out

    def into_memory(self) -> tuple[Reports, Mapping[str, int]]:
        reports = Reports.concatenate(self._batches())
        empty = self._mechanism.empty_tally()
        n = Tally(empty.fingerprint, reports.n, empty.support, empty.clear)
        return replace(reports, batches=self._survey.batches()), self._counted(n).left_out

    def _counted(self, tally: Tally) -> Counted:
        found = Counted(tally, dict(self._left_out))
        found.refuse_above(self._share)
        return found


def memory_needed(mechanism: Mechanism, parts: Sequence[Partition]) -> int:
    """Return about how many bytes the reports of parts would take in memory."""
    each = sum(column.bytes for column in mechanism.columns)
    # Where nobody has counted rows, a text is longer than what it says.
    return _COPIES * sum(_text_bytes(part.path) if part.rows is None else part.rows * each for part in parts)


def _text_bytes(path: File) -> int:
    with readable(path):
        return text_bytes(path)


def memory_limit() -> int:
    """Return half of the memory of this machine, or of this process's container, in bytes."""
    found = _UNKNOWN_MEMORY
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        found = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if _CONTAINER_LIMIT.is_file():
        said = _CONTAINER_LIMIT.read_text(encoding="ascii").strip()
        found = min(found, int(said)) if said.isdecimal() else found
    return found // 2
