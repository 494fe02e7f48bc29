"""The engine of one machine: folds over files, in threads.

Folds: computations over batches of checked reports whose states add up.

The state of a fold is one array of integers, and states of different reports add up entry by entry. So batches may be
added to any state and states merged in any order; and a state may be cut anywhere, sent as int64, and summed piece by
piece.

Tallies of files on one machine: all cores, a few megabytes of reports at a time, the same result in any order.
"""

import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np

from discreet.arrays import IntArray
from discreet.core.checks import checked_share
from discreet.core.reports import Reports
from discreet.core.tally import Tally
from discreet.errors import DataError
from discreet.files.reading import Progress
from discreet.formats.sources import Partition, rows_in, surveyed
from discreet.kernels.parallel import thread_count
from discreet.mechanisms import Mechanism
from discreet.protocol.frames import reasons

Answer_co = TypeVar("Answer_co", covariant=True)

# The first entries of a state: reports, simulated batches, then bad rows for each reason.
_REPORTS, _SIMULATED, _REASONS = 0, 1, 2


@dataclass(frozen=True, slots=True, eq=False)
class StateHeading:
    """The first entries of a state: how many reports there are, simulated batches, and bad rows for each reason.

    Attributes:
        mechanism: what made the reports.
    """

    mechanism: Mechanism

    @property
    def length(self) -> int:
        """Number of entries."""
        return _REASONS + len(reasons(self.mechanism))

    def add(self, state: IntArray, reports: Reports, left_out: Mapping[str, int]) -> None:
        """Add a batch of reports, and the number of rows left out beside them by reason, in place."""
        state[_REPORTS] += reports.n
        state[_SIMULATED] += reports.simulated
        for place, reason in enumerate(reasons(self.mechanism), start=_REASONS):
            state[place] += left_out.get(reason, 0)

    def reports(self, state: IntArray) -> int:
        """Return the number of reports."""
        return int(state[_REPORTS])

    def simulated(self, state: IntArray) -> bool:
        """Return true if a batch was simulated."""
        return bool(state[_SIMULATED])

    def left_out(self, state: IntArray) -> dict[str, int]:
        """Return the number of rows left out, by reason; only reasons that occurred."""
        bad = state[_REASONS : self.length].tolist()
        return {reason: count for reason, count in zip(reasons(self.mechanism), bad, strict=True) if count}


def refuse_above(rows: int, left_out: Mapping[str, int], share: float) -> None:
    """Refuse more bad rows than a share of all rows.

    Raises:
        DataError: if there are more; it says how many, and why.
    """
    bad = sum(left_out.values())
    if bad > share * rows:
        why = ", ".join(f"{count} {reason}" for reason, count in left_out.items())
        raise DataError(
            f"{bad} of {rows} rows are no reports of this plan, more than the share of {share:g} that may be: {why}."
        )


class Fold(Protocol[Answer_co]):
    """A computation over reports whose states add up.

    Example:
        >>> import discreet as dc
        >>> mechanism = dc.RandomizedResponse(dc.Domain(["yes", "no"]), epsilon=1.0)
        >>> fold: Fold[Counted] = TallyFold(mechanism)
        >>> fold.finish(fold.zero()).tally == mechanism.empty_tally()
        True
    """

    def zero(self) -> IntArray:
        """Return the ``(length,)`` state of no reports."""
        ...

    def add(self, state: IntArray, reports: Reports, left_out: Mapping[str, int]) -> None:
        """Add checked reports, and the number of rows left out beside them by reason, to a state, in place."""
        ...

    def merge(self, state: IntArray, other: IntArray) -> None:
        """Add another state to a state, in place."""
        ...

    def finish(self, state: IntArray) -> Answer_co:
        """Return the result of a state."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Counted:
    """A tally, and the rows left out of it.

    Attributes:
        tally: of the reports that a device can have sent.
        left_out: how many rows were left out for each reason; only reasons that occurred.

    Example:
        >>> import discreet as dc
        >>> tally = dc.RandomizedResponse(dc.Domain(["yes", "no"]), epsilon=1.0).empty_tally()
        >>> counted = Counted(tally, {"not in the domain": 2})
        >>> counted.rows, counted.bad
        (2, 2)
    """

    tally: Tally
    left_out: Mapping[str, int] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self.tally.n + self.bad

    @property
    def bad(self) -> int:
        """Number of rows left out."""
        return sum(self.left_out.values())

    def refuse_above(self, share: float) -> None:
        """Refuse a tally with more than a share of its rows left out.

        Raises:
            DataError: if it is so; it says how many, and why.
        """
        refuse_above(self.rows, self.left_out, share)


@dataclass(frozen=True, slots=True, eq=False)
class TallyFold:
    """The fold that tallies reports, with bad rows counted by reason.

    Attributes:
        mechanism: what made the reports.

    Example:
        >>> import discreet as dc
        >>> mechanism = dc.RandomizedResponse(dc.Domain(["yes", "no"]), epsilon=1.0)
        >>> fold, reports = TallyFold(mechanism), mechanism.obfuscate(["yes"] * 50)
        >>> state, other = fold.zero(), fold.zero()
        >>> fold.add(state, reports.part(0, 20), left_out={})
        >>> fold.add(other, reports.part(20, 50), left_out={})
        >>> fold.merge(state, other)
        >>> fold.finish(state).tally == mechanism.tally(reports)
        True
    """

    mechanism: Mechanism

    def zero(self) -> IntArray:
        """Return the ``(2 + reasons + support + clear,)`` state of no reports."""
        empty = self.mechanism.empty_tally()
        return np.zeros(self._heading.length + len(empty.support) + len(empty.clear), dtype=np.int64)

    @property
    def _heading(self) -> StateHeading:
        return StateHeading(self.mechanism)

    @property
    def _support(self) -> int:
        return len(self.mechanism.empty_tally().support)

    def add(self, state: IntArray, reports: Reports, left_out: Mapping[str, int]) -> None:
        """Add checked reports, and the number of rows left out beside them by reason, in place."""
        heading, support = self._heading, self._support
        start = heading.length
        self.mechanism.add_tally(reports, state[start : start + support], state[start + support :])
        heading.add(state, reports, left_out)

    def merge(self, state: IntArray, other: IntArray) -> None:
        """Add another state, in place."""
        state += other

    def finish(self, state: IntArray) -> Counted:
        """Return the tally, and the rows left out."""
        heading, support = self._heading, self._support
        start = heading.length
        counts: dict[str, Any] = {"support": state[start : start + support], "clear": state[start + support :]}
        n, simulated = heading.reports(state), heading.simulated(state)
        return Counted(Tally(self.mechanism.fingerprint, n, **counts, simulated=simulated), heading.left_out(state))


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
) -> Counted:
    """Return the tally of files of reports, and of folders of them, in memory independent of their size.

    Args:
        mechanism: what made the reports.
        sources: files of reports or tallies (``.tally.parquet``, say), and folders of such files.
        bad_share: the share of rows, in 0..1, that may be nothing a device can have sent: they are left out and
            counted. By default the first one is refused.
        trust_plan: whether you vouch that files which do not say their plan, because another tool rewrote them, hold
            reports of this one; what they say of another plan is refused all the same (`discreet.formats.arrow`).
        manifest: whether the sources are folders, each with a manifest (``discreet manifest``) that says which files
            with which bytes it holds.
        threads: how many threads; by default the environment variable DISCREET_THREADS, or all processors. They
            change nothing but the time.
        progress: called now and then.

    Returns:
        The tally, and the number of rows left out by reason.

    Raises:
        DataError: if a file is missing, truncated, damaged, changed or not of this plan's reports, too many rows are
            bad, or reports are there twice, in whatever files and order; it names the files.
        MismatchError: if a file belongs to another plan. All files are looked at before any is counted.
        ParameterError: if a parameter is out of range, or a file is named twice, by itself or with its folder.

    Example:
        >>> import discreet as dc
        >>> from discreet.formats.reports import write_reports
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
    given: dict[str, Any] = {"sift": sift, "threads": threads, "progress": progress}
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
) -> Answer:
    """Return the result of a fold over all parts, several at a time; errors as for `tally`.

    Of several errors the one of the first part is raised, whichever thread was faster.
    """
    state = fold.zero()
    most = max(_STATES_BYTES // max(state.nbytes, 1), 1)
    work = _Work(fold, list(parts), sift)
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
        for reports, left_out in part.reports(sift=self.sift):
            self.fold.add(state, reports, left_out)
            if self._interrupted:
                break
        with self._lock:
            self.done += part.rows or 0

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
