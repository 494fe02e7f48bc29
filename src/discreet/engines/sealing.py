"""Sealing of sources: all reports in one file, in canonical order, with nothing of their arrival and nothing beside.

Where reports are one number among few they are counted by all cores; else they are sorted, through temporary files.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from discreet.arrays import IntArray
from discreet.core.reports import Reports
from discreet.engines.folds import Fold, StateHeading, refuse_above
from discreet.errors import DataError, ParameterError
from discreet.files.paths import File
from discreet.formats.sealed_files import refuse_fewer
from discreet.formats.sealing import MIXED, CanonicalOrder, ContentCounts
from discreet.formats.sources import Partition, Place, Sources, rows_in
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


class ContentFold(Fold[Reports, IntArray, Taken]):
    """The fold that counts reports by content, or reports alone where contents are not counted.

    Args:
        mechanism: what made the reports.
    """

    def __init__(self, mechanism: Mechanism) -> None:
        self.mechanism, self.contents = mechanism, ContentCounts.of(mechanism)
        self._heading = StateHeading(mechanism)

    def zero(self) -> IntArray:
        """Return the state of no reports: the heading, the number of simulated reports, a count of each content."""
        counts = 0 if self.contents is None else len(self.contents.zero())
        return np.zeros(self._heading.length + 1 + counts, dtype=np.int64)

    def add(self, state: IntArray, batch: Reports, left_out: Mapping[str, int]) -> None:
        """Add checked reports, and the number of rows left out beside them by reason, in place."""
        self._heading.add(state, batch, left_out)
        state[self._heading.length] += batch.n * batch.simulated
        if self.contents is not None:
            self.contents.add(state[self._heading.length + 1 :], batch)

    def finish(self, state: IntArray) -> Taken:
        """Return the reports, counted.

        Raises:
            DataError: if some are simulated and others are not.
        """
        n, simulated = self._heading.reports(state), int(state[self._heading.length])
        if simulated not in {0, n}:
            raise DataError(MIXED)
        return Taken(n, simulated > 0, self._heading.left_out(state), state[self._heading.length + 1 :])


def refuse_replacing(target: Path, sources: Sequence[File], files: Iterable[Place]) -> None:
    """Refuse an output that is read, or in a folder of sources, where the next reader of the folder would read it too.

    Args:
        target: the output.
        sources: the files and folders that were named.
        files: all files that are read.

    Raises:
        ParameterError: if it is so.
    """
    for source in sources:
        if isinstance(source, Path) and source.is_dir() and target.resolve().is_relative_to(source.resolve()):
            raise ParameterError(f"{target} is in {source}, all of which is read; choose another place for it.")
    if target.exists() and any(target.samefile(path) for path in files if isinstance(path, Path)):
        raise ParameterError(f"{target} is read and would be replaced; choose another name for the output.")


def sorted_into(order: CanonicalOrder, fold: ContentFold, parts: Sequence[Partition], read: Sources) -> Taken:
    """Give all reports to an order, and return how many there are."""
    state, total = fold.zero(), rows_in(parts)
    for part in parts:
        for reports, left_out in part.reports(sift=read.sift):
            fold.add(state, reports, left_out)
            order.add(reports)
            if read.progress is not None:
                read.progress(order.n, total)
    return fold.finish(state)
