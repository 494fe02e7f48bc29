"""The abstract class of engines: tables of values and sources of reports, read on this machine or on a cluster."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from discreet.core.batches import NAME, checked_name
from discreet.core.checks import checked_whole
from discreet.core.tally import GroupedTally
from discreet.engines.folds import Counted, Fold, TallyFold
from discreet.engines.groups import GroupFold, checked_names
from discreet.files.reading import Progress
from discreet.formats.sealed_files import LEAST, checked_sealed, put_sealed, refuse_fewer
from discreet.formats.sources import Account, ScannedSources, sources_of
from discreet.mechanisms import BlockMechanism, Mechanism

if TYPE_CHECKING:
    from discreet.core.reports import Reports
    from discreet.core.tally import Tally
    from discreet.engines.obfuscation import Obfuscated, Values
    from discreet.mechanisms.evidence import StoredBlocks
    from discreet.tables.values import ValueColumns

Observed: TypeAlias = "tuple[Reports | Tally | StoredBlocks, Mapping[str, int]]"
"""The evidence for `discreet.estimate`, and the number of rows left out by reason."""

Answer = TypeVar("Answer")


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


class Engine(ABC):
    """A reader of values and of reports; every engine gives the same answer, to the last digit.

    Sources of reports are `discreet.Sources`, or what these may be of: files, folders, URLs, tables.

    Example:
        >>> import discreet as dc
        >>> from discreet.engines import LocalEngine
        >>> from discreet.formats.reports import write_reports
        >>> from tempfile import TemporaryDirectory
        >>> mechanism = dc.RandomizedResponse(dc.Domain(["yes", "no"]), epsilon=1.0)
        >>> engine: Engine = LocalEngine()
        >>> with TemporaryDirectory() as folder:
        ...     written = write_reports(f"{folder}/monday.parquet", mechanism, mechanism.obfuscate(["yes"] * 50))
        ...     engine.tally(mechanism, folder).tally.n
        50
    """

    __slots__ = ()

    @abstractmethod
    def obfuscate(
        self,
        mechanism: BlockMechanism,
        values: "Values",
        target: str | Path,
        columns: "ValueColumns | None" = None,
        *,
        seed: int | None = None,
        force: bool = False,
        progress: Progress | None = None,
    ) -> "Obfuscated":
        """Write a report for every value of tables; see `discreet.engines.obfuscation.obfuscate`."""

    @abstractmethod
    def fold(self, fold: Fold[Any, Answer], scan: ScannedSources) -> Answer:
        """Return the result of a fold over all reports."""

    @abstractmethod
    def fold_groups(self, fold: GroupFold, scan: ScannedSources) -> GroupedTally:
        """Return the tally of each group."""

    @abstractmethod
    def gathered(self, scan: ScannedSources) -> Observed:
        """Return the evidence in reports."""

    @abstractmethod
    def in_order(self, scan: ScannedSources) -> AbstractContextManager[tuple[Account, Any]]:
        """Give the account of all rows, and all reports in canonical order."""

    def scan(self, mechanism: Mechanism, sources: Any, public: Sequence[str] = ()) -> ScannedSources:
        """Return the sources, scanned; see `discreet.formats.sources.Sources.scan`."""
        return sources_of(sources).scan(mechanism, public)

    def tally(self, mechanism: Mechanism, sources: Any) -> Counted:
        """Return the tally of reports, in memory independent of their number, and the rows left out by reason.

        Args:
            mechanism: what made the reports.
            sources: reports and tallies.

        Raises:
            DataError: if a file is missing, truncated, damaged, changed or not of this plan's reports, too many rows
                are bad, or reports are there twice, as far as batches show it; it names the files.
            MismatchError: if a file belongs to another plan. All are looked at before any is counted.
            ParameterError: if a parameter is out of range, or a file is named twice, by itself or with its folder.
            EngineError: if a cluster gives up.
        """
        return self._tallied(self.scan(mechanism, sources))

    def _tallied(self, scan: ScannedSources) -> Counted:
        counted = self.fold(TallyFold(scan.mechanism), scan)
        return Counted(scan.whole(counted.tally), counted.left_out)

    def tally_onto(self, mechanism: Mechanism, sources: Any, before: "Tally") -> "Tally":
        """Return a tally with batches added that it has not counted yet; those that it has are not read.

        Args:
            mechanism: what made the reports.
            sources: batches with a name, such as a collector's sealed files, and tallies of such batches.
            before: the tally that they are added to.

        Raises:
            DataError, EngineError: as for `tally`; and if a batch has another number of reports than was counted.
            MismatchError: as for `tally`, and if a tally has counted some of the batches and not others.
            ParameterError: as for `tally`; and if a source is not a whole batch with a name.
        """
        return before + self._tallied(self.scan(mechanism, sources).beyond(before)).tally

    def tally_by(self, mechanism: Mechanism, sources: Any, by: str | Sequence[str]) -> GroupedTally:
        """Return a tally for each group of people, streamed.

        Args:
            mechanism: what made the reports.
            sources: Parquet and Arrow files of reports, folders of such files, and tables, each with the public
                columns; no rows are left out.
            by: names of the public columns that make the groups: text, integers, or true and false.

        Raises:
            DataError, MismatchError, ParameterError, EngineError: as for `tally`; and if a source has not these
                columns, or labels are missing.
        """
        names = checked_names(by)
        return self.fold_groups(GroupFold(mechanism, names), self.scan(mechanism, sources, names))

    def evidence(self, mechanism: Mechanism, sources: Any) -> Observed:
        """Return the evidence in reports for a likelihood: reports, or their blocks where they are too many.

        Args:
            mechanism: what made the reports.
            sources: reports, or tallies alone.

        Returns:
            What `discreet.estimate` takes, with the same estimate wherever the blocks are; and the number of rows left
            out by reason.

        Raises:
            DataError, MismatchError, EngineError: as for `tally`, and if temporary files do not fit.
            ParameterError: as for `tally`, and if reports and tallies are mixed.
        """
        scan = self.scan(mechanism, sources)
        if not scan.sources:
            return scan.whole(mechanism.empty_tally()), {}
        scan.refuse_tallies("reports are read one by one, and a tally has only counts")
        return self.gathered(scan)

    def seal(
        self,
        mechanism: Mechanism,
        sources: Any,
        target: str | Path,
        *,
        name: str | None = None,
        least: int = LEAST,
        force: bool = False,
    ) -> Sealed:
        """Write all reports into one sealed file; see `discreet.formats.sealing`.

        The same reports under the same name give the same bytes, whatever their order and the sources that they come
        in. Columns beside the reports are dropped, and named in the result. The caller sees to it that each person has
        one report.

        Args:
            mechanism: what made the reports.
            sources: reports, no tallies.
            target: the file, Parquet, on this machine.
            name: of the batch that the reports are, which every reader of the file sees. By default reports that are
                one batch keep its name, and others get a new one.
            least: how many reports there must be.
            force: whether a file that exists is replaced.

        Raises:
            DataError: as for `tally`; and if there are fewer reports than ``least``, or some are simulated and others
                are not.
            MismatchError, EngineError: as for `tally`.
            OutputExistsError: if the file exists and ``force`` is not set.
            ParameterError: if a parameter is out of range, there is a tally among the sources, or the target cannot be
                written, is among the sources, or lies in a folder of them.
        """
        least, output = checked_whole("least", least), checked_sealed(target, force=force)
        scan = self.scan(mechanism, sources)
        scan.refuse_tallies("reports are sealed, and a tally says nothing of their order already")
        scan.asked.refuse_output(output)
        batch_name = scan.name if name is None and scan.name else checked_name(name)
        with self.in_order(scan) as (account, batches):
            refuse_fewer(account.n, least)
            written = put_sealed(output, mechanism, batches, account.n, facts={NAME: batch_name}, force=force)
        return Sealed(output, batch_name, written, account.simulated, scan.beside, account.left_out)
