"""Sealing of sources: all reports in one file, in canonical order, with nothing of their arrival and nothing beside."""

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
from discreet.formats.sealing import MIXED, CanonicalOrder
from discreet.formats.sources import Partition, Place, Sources, rows_in
from discreet.mechanisms import Mechanism


@dataclass(frozen=True, slots=True, eq=False)
class Sealed:
    """A file of sealed reports, as it was written.

    Attributes:
        path: the file.
        name: of the batch that the reports are.
        n: number of reports.
        simulated: whether they are simulated, and protect nobody.
        dropped: names of columns beside the reports, which are not in the file.
        left_out: number of rows left out by reason.

    Example:
        >>> Sealed(Path("sealed.parquet"), "monday", 1000, simulated=False, dropped=("owner",), left_out={}).dropped
        ('owner',)
    """

    path: Path
    name: str
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
    """

    n: int
    simulated: bool
    left_out: Mapping[str, int]

    def check(self, share: float, least: int) -> None:
        """Refuse too few reports, or too many rows that were left out.

        Raises:
            DataError: if it is so.
        """
        refuse_above(self.n + sum(self.left_out.values()), self.left_out, share)
        refuse_fewer(self.n, least)


class CountFold(Fold[Reports, IntArray, Taken]):
    """The fold that counts the reports that go into a sealed file.

    Args:
        mechanism: what made the reports.
    """

    def __init__(self, mechanism: Mechanism) -> None:
        self.mechanism, self._heading = mechanism, StateHeading(mechanism)

    def zero(self) -> IntArray:
        """Return the state of no reports: the heading, and the number of simulated reports."""
        return np.zeros(self._heading.length + 1, dtype=np.int64)

    def add(self, state: IntArray, batch: Reports, left_out: Mapping[str, int]) -> None:
        """Add checked reports, and the number of rows left out beside them by reason, in place."""
        self._heading.add(state, batch, left_out)
        state[-1] += batch.n * batch.simulated

    def finish(self, state: IntArray) -> Taken:
        """Return the number of reports.

        Raises:
            DataError: if some are simulated and others are not.
        """
        n, simulated = self._heading.reports(state), int(state[-1])
        if simulated not in {0, n}:
            raise DataError(MIXED)
        return Taken(n, simulated > 0, self._heading.left_out(state))


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


def sorted_into(order: CanonicalOrder, parts: Sequence[Partition], read: Sources) -> Taken:
    """Give all reports to an order, and return how many there are."""
    fold, total = CountFold(order.mechanism), rows_in(parts)
    state = fold.zero()
    for part in parts:
        for reports, left_out in part.reports(sift=read.sift):
            fold.add(state, reports, left_out)
            order.add(reports)
            if read.progress is not None:
                read.progress(order.n, total)
    return fold.finish(state)
