"""Sealing of files: all reports in one file, in canonical order, with nothing of their arrival and nothing beside them.

Where reports are one number among few they are counted by all cores; else they are sorted, through temporary files.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from discreet.arrays import IntArray
from discreet.core.checks import checked_share, checked_whole
from discreet.core.reports import Reports
from discreet.engines.fold import StateHeading, refuse_above
from discreet.engines.local import fold_parts
from discreet.engines.stamping import refuse_replacing
from discreet.errors import DataError, ParameterError
from discreet.io.content_counts import ContentCounts
from discreet.io.partitions import Partition
from discreet.io.progress import Progress
from discreet.io.remote import file_of
from discreet.io.report_sources import Survey, rows_in, surveyed
from discreet.io.sealed_files import LEAST, checked_sealed, put_sealed, refuse_fewer
from discreet.io.sealing import MIXED, CanonicalOrder
from discreet.mechanisms import Mechanism


@dataclass(frozen=True, slots=True, eq=False)
class Sealed:
    """A file of sealed reports, as it was written.

    Attributes:
        path: the file.
        n: number of reports.
        simulated: whether they are simulated, and protect nobody.
        dropped: names of columns beside the reports, which are not in the file.
        left_out: number of rows left out by reason.

    Example:
        >>> Sealed(Path("sealed.parquet"), 1000, simulated=False, dropped=("owner",), left_out={}).dropped
        ('owner',)
    """

    path: Path
    n: int
    simulated: bool
    dropped: tuple[str, ...]
    left_out: Mapping[str, int]


@dataclass(frozen=True, slots=True, eq=False)
class Taken:
    """The reports that go into a sealed file.

    Attributes:
        n: how many.
        simulated: whether they are simulated.
        left_out: number of rows left out by reason.
        counts: of each content; empty where contents are not counted.
    """

    n: int
    simulated: bool
    left_out: Mapping[str, int]
    counts: IntArray

    def check(self, share: float, least: int) -> None:
        """Refuse too few reports, or too many rows that were left out.

        Raises:
            DataError: if it is so.
        """
        refuse_above(self.n + sum(self.left_out.values()), self.left_out, share)
        refuse_fewer(self.n, least)


class ContentFold:
    """The fold that counts reports by content, or reports alone where contents are not counted.

    Args:
        mechanism: what made the reports.
    """

    def __init__(self, mechanism: Mechanism) -> None:
        self.contents = ContentCounts.of(mechanism)
        self._heading = StateHeading(mechanism)

    def zero(self) -> IntArray:
        """Return the state of no reports: the heading, the number of simulated reports, a count of each content."""
        counts = 0 if self.contents is None else len(self.contents.zero())
        return np.zeros(self._heading.length + 1 + counts, dtype=np.int64)

    def add(self, state: IntArray, reports: Reports, left_out: Mapping[str, int]) -> None:
        """Add checked reports, and the number of rows left out beside them by reason, in place."""
        self._heading.add(state, reports, left_out)
        state[self._heading.length] += reports.n * reports.simulated
        if self.contents is not None:
            self.contents.add(state[self._heading.length + 1 :], reports)

    def merge(self, state: IntArray, other: IntArray) -> None:
        """Add another state, in place."""
        state += other

    def finish(self, state: IntArray) -> Taken:
        """Return the reports, counted.

        Raises:
            DataError: if some are simulated and others are not.
        """
        n, simulated = self._heading.reports(state), int(state[self._heading.length])
        if simulated not in {0, n}:
            raise DataError(MIXED)
        return Taken(n, simulated > 0, self._heading.left_out(state), state[self._heading.length + 1 :])


def seal(
    mechanism: Mechanism,
    sources: str | Path | Sequence[str | Path],
    target: str | Path,
    *,
    least: int = LEAST,
    bad_share: float = 0.0,
    trust_plan: bool = False,
    manifest: bool = False,
    force: bool = False,
    folder: str | Path | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Sealed:
    """Write all reports of files into one sealed file; see `discreet.io.sealing`.

    The same reports give the same bytes, whatever their order and the files that they come in. Columns beside the
    reports are dropped, and named in the result. That each person has one report is for the caller to see to.

    Args:
        mechanism: what made the reports.
        sources: files of reports, and folders of them, here or at URLs.
        target: the file, Parquet, on this machine.
        least: how many reports there must be.
        bad_share: as for `discreet.engines.tally`.
        trust_plan: as there.
        manifest: as there.
        force: whether a file that exists is replaced.
        folder: where temporary files go; None for the system's place for them.
        threads: as there.
        progress: called now and then while rows are read.

    Raises:
        DataError: as there; and if there are fewer reports than ``least``, or some are simulated and others are not.
        MismatchError: if a file belongs to another plan.
        OutputExistsError: if the file exists and ``force`` is not set.
        ParameterError: if a parameter is out of range, there is a tally among the sources, or the target cannot be
            written, is among the sources, or lies in a folder of them.

    Example:
        >>> import discreet as dc
        >>> from tempfile import TemporaryDirectory
        >>> mechanism = dc.RandomizedResponse(dc.Domain(["yes", "no"]), epsilon=1.0)
        >>> with TemporaryDirectory() as folder:
        ...     written = dc.write_reports(f"{folder}/monday.jsonl", mechanism, mechanism.obfuscate(["yes"] * 50))
        ...     seal(mechanism, f"{folder}/monday.jsonl", f"{folder}/sealed.parquet", least=20).n
        50
    """
    share, least = checked_share("bad_share", bad_share), checked_whole("least", least)
    output = checked_sealed(target, force=force)
    read = {"trust_plan": trust_plan, "manifest": manifest}
    survey, dropped = report_parts(mechanism, sources, output, **read)
    with CanonicalOrder(mechanism, folder=None if folder is None else Path(folder)) as order:
        fold = ContentFold(mechanism)
        if fold.contents is None:
            found = _sorted(fold, order, survey.parts, sift=share > 0, progress=progress)
        else:
            found = fold_parts(fold, survey.parts, sift=share > 0, threads=threads, progress=progress)
            order.add_counts(found.counts, simulated=found.simulated)
        survey.batches()
        found.check(share, least)
        written = put_sealed(output, mechanism, order.batches(), order.n, force=force)
    return Sealed(output, written, found.simulated, dropped, found.left_out)


def report_parts(
    mechanism: Mechanism, sources: str | Path | Sequence[str | Path], output: Path, **read: Any
) -> tuple[Survey, tuple[str, ...]]:
    """Return the survey of files of reports, and the names of columns beside the reports.

    Raises:
        ParameterError: if there is a tally among them, or the output is one of them, or in a folder of them.
    """
    named = [sources] if isinstance(sources, str | Path) else list(sources)
    survey = surveyed(mechanism, named, **read)
    parts = survey.parts
    if survey.tallies:
        raise ParameterError(
            f"reports are sealed, and a tally says nothing of their order already; leave the {len(survey.tallies)} "
            "tallies out."
        )
    refuse_replacing(output, [file_of(source) for source in named], [part.path for part in parts])
    return survey, tuple(dict.fromkeys(name for part in parts for name in (*part.kept, *part.unread)))


def _sorted(
    fold: ContentFold, order: CanonicalOrder, parts: Sequence[Partition], *, sift: bool, progress: Progress | None
) -> Taken:
    """Give all reports to an order, and return how many there are."""
    state, total = fold.zero(), rows_in(parts)
    for part in parts:
        for reports, left_out in part.reports(sift=sift):
            fold.add(state, reports, left_out)
            order.add(reports)
            if progress is not None:
                progress(order.n, total)
    return fold.finish(state)
