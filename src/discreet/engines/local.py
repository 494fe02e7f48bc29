"""Tallies of files on one machine: all cores, a few megabytes of reports at a time, the same result in any order."""

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from discreet.arrays import IntArray
from discreet.core.checks import checked_share
from discreet.engines.fold import Counted, Fold, TallyFold
from discreet.io.partitions import Partition
from discreet.io.progress import Progress
from discreet.io.report_sources import rows_in, surveyed
from discreet.kernels.parallel import thread_count
from discreet.mechanisms import Mechanism

Answer = TypeVar("Answer")
# Every thread has a state of its own; together they take no more than this, or there is one thread.
_STATES_BYTES = 1 << 29
_SECONDS_BETWEEN = 0.2


def tally(
    mechanism: Mechanism,
    sources: str | Path | Sequence[str | Path],
    *,
    bad_share: float = 0.0,
    trust_plan: bool = False,
    manifest: bool = False,
    threads: int | None = None,
    progress: Progress | None = None,
    plain_parquet: bool = False,
) -> Counted:
    """Return the tally of files of reports, and of folders of them, in memory independent of their size.

    Args:
        mechanism: what made the reports.
        sources: files of reports or tallies (``.tally.parquet``, say), and folders of such files.
        bad_share: the share of rows, in 0..1, that may be nothing a device can have sent: they are left out and
            counted. By default the first one is refused.
        trust_plan: whether you vouch that files which do not say their plan, because another tool rewrote them, hold
            reports of this one; what they say of another plan is refused all the same (`discreet.io.rewritten`).
        manifest: whether the sources are folders, each with a manifest (``discreet manifest``) that says which files
            with which bytes it holds.
        threads: how many threads; by default the environment variable DISCREET_THREADS, or all processors. They
            change nothing but the time.
        progress: called now and then.
        plain_parquet: whether pyarrow decodes every column of Parquet; by default dictionaries are counted by their
            indices as these lie (`discreet.io.dictionary_pages`), which changes nothing but the time.

    Returns:
        The tally, and the number of rows left out by reason.

    Raises:
        DataError: if a file is missing, truncated, damaged, changed or not of this plan's reports, too many rows are
            bad, or reports are there twice, in whatever files and order; it names the files.
        MismatchError: if a file belongs to another plan. All files are looked at before any is counted.
        ParameterError: if a parameter is out of range, or a file is named twice, by itself or with its folder.

    Example:
        >>> import discreet as dc
        >>> from discreet.io.reports import write_reports
        >>> from tempfile import TemporaryDirectory
        >>> mechanism = dc.RandomizedResponse(dc.Domain(["yes", "no"]), epsilon=1.0)
        >>> with TemporaryDirectory() as folder:
        ...     for day in ("monday", "tuesday"):
        ...         written = write_reports(f"{folder}/{day}.parquet", mechanism, mechanism.obfuscate(["yes"] * 50))
        ...     tally(mechanism, folder).tally.n
        100
    """
    sift = checked_share("bad_share", bad_share) > 0
    survey = surveyed(mechanism, sources, trust_plan=trust_plan, manifest=manifest)
    given: dict[str, Any] = {"sift": sift, "threads": threads, "progress": progress, "repeats": not plain_parquet}
    found = fold_parts(TallyFold(mechanism), survey.parts, **given)
    whole = Counted(survey.whole(found.tally), found.left_out)
    whole.refuse_above(bad_share)
    return whole


def fold_parts(
    fold: Fold[Answer],
    parts: Sequence[Partition],
    *,
    sift: bool = False,
    threads: int | None = None,
    progress: Progress | None = None,
    repeats: bool = False,
) -> Answer:
    """Return the result of a fold over all parts, several at a time; errors as for `tally`.

    Of several errors the one of the first part is raised, whichever thread was faster. With
    ``repeats``, a tally counts distinct reports where a file has them as a dictionary (`Partition.distinct`).
    """
    state = fold.zero()
    most = max(_STATES_BYTES // max(state.nbytes, 1), 1)
    work = _Work(fold, list(parts), sift, repeats)
    workers = min(thread_count(threads), most, len(parts))
    others = [fold.zero() for _ in range(workers - 1)]
    if others:
        work.run_together([state, *others], progress)
    else:
        work.run_into(state)
    if work.errors:
        # A state that met with an error cannot be merged.
        raise work.errors[min(work.errors)]
    for other in others:
        fold.merge(state, other)
    return fold.finish(state)


@dataclass(eq=False)
class _Work:
    """Parts that threads take in turn."""

    fold: Fold[Any]
    parts: list[Partition]
    sift: bool
    repeats: bool

    def __post_init__(self) -> None:
        self.errors: dict[int, Exception] = {}
        self.done = 0
        self._next = iter(enumerate(self.parts))
        self._lock = threading.Lock()
        self._interrupted = False

    def _take(self) -> tuple[int, Partition] | None:
        # After an error nothing new is begun; what was begun before it is finished, so that the first error is found.
        with self._lock:
            return None if self.errors or self._interrupted else next(self._next, None)

    def run_into(self, state: IntArray) -> None:
        """Take parts until there are none."""
        while (taken := self._take()) is not None:
            place, part = taken
            try:
                self._add(state, part)
            except Exception as error:
                self.errors[place] = error

    def _add(self, state: IntArray, part: Partition) -> None:
        fold, distinct = self.fold, part.distinct() if self.repeats else None
        if distinct is not None and isinstance(fold, TallyFold):
            fold.add_repeated(state, *distinct)
        else:
            self._add_rows(state, part)
        with self._lock:
            self.done += part.rows or 0

    def _add_rows(self, state: IntArray, part: Partition) -> None:
        for reports, left_out in part.reports(sift=self.sift):
            self.fold.add(state, reports, left_out)
            if self._interrupted:
                return

    def run_together(self, states: Sequence[IntArray], progress: Progress | None) -> None:
        """Take parts in a thread per state; an interruption stops all of them at their next batch."""
        total = rows_in(self.parts)
        with ThreadPoolExecutor(len(states)) as pool:
            running = {pool.submit(self.run_into, state) for state in states}
            try:
                while wait(running, _SECONDS_BETWEEN).not_done:
                    if progress is not None:
                        progress(self.done, total)
            except BaseException:
                self._interrupted = True
                raise
