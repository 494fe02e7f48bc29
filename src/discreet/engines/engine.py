"""Engines behind one face: files of values and of reports are read on this machine or on a cluster."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

if TYPE_CHECKING:
    from discreet.core.reports import Reports
    from discreet.core.tally import GroupedTally, Tally
    from discreet.engines.local import Counted
    from discreet.engines.obfuscation import Obfuscated, Replace, Values
    from discreet.engines.sealing import Sealed
    from discreet.files.reading import Progress
    from discreet.mechanisms import BlockMechanism, Mechanism
    from discreet.mechanisms.evidence import StoredBlocks
    from discreet.tables.values import ValueColumns

Observed: TypeAlias = "tuple[Reports | Tally | StoredBlocks, Mapping[str, int]]"
"""The evidence for `discreet.estimate`, and the number of rows left out by reason."""


class Engine(Protocol):
    """A reader of files of values and of reports; every engine gives the same answer, to the last digit.

    Example:
        >>> import discreet as dc
        >>> from discreet.formats.reports import write_reports
        >>> from tempfile import TemporaryDirectory
        >>> mechanism = dc.RandomizedResponse(dc.Domain(["yes", "no"]), epsilon=1.0)
        >>> engine: Engine = LocalEngine()
        >>> with TemporaryDirectory() as folder:
        ...     written = write_reports(f"{folder}/monday.parquet", mechanism, mechanism.obfuscate(["yes"] * 50))
        ...     engine.tally(mechanism, folder).tally.n
        50
    """

    def obfuscate(
        self,
        mechanism: "BlockMechanism",
        values: "Values",
        target: str | Path,
        columns: "ValueColumns | None" = None,
        *,
        replace: "Replace | None" = None,
        seed: int | None = None,
        force: bool = False,
        progress: "Progress | None" = None,
    ) -> "Obfuscated":
        """Write a report for every value of tables; see `discreet.engines.obfuscation.obfuscate`."""
        ...

    def tally(
        self,
        mechanism: "Mechanism",
        sources: Any,
        *,
        bad_share: float = 0.0,
        trust_plan: bool = False,
        manifest: bool = False,
        progress: "Progress | None" = None,
    ) -> "Counted":
        """Return the tally of reports; see `discreet.engines.local.tally`."""
        ...

    def tally_by(
        self,
        mechanism: "Mechanism",
        sources: Any,
        by: str | Sequence[str],
        *,
        trust_plan: bool = False,
        manifest: bool = False,
        progress: "Progress | None" = None,
    ) -> "GroupedTally":
        """Return a tally for each group of people; see `discreet.engines.groups.tally_by`."""
        ...

    def evidence(
        self,
        mechanism: "Mechanism",
        sources: Any,
        *,
        bad_share: float = 0.0,
        trust_plan: bool = False,
        manifest: bool = False,
        progress: "Progress | None" = None,
    ) -> Observed:
        """Return the evidence in reports for a likelihood; see `discreet.engines.evidence.gather`."""
        ...

    def seal(
        self,
        mechanism: "Mechanism",
        sources: Any,
        target: str | Path,
        *,
        least: int = 2,
        bad_share: float = 0.0,
        trust_plan: bool = False,
        manifest: bool = False,
        force: bool = False,
        progress: "Progress | None" = None,
    ) -> "Sealed":
        """Write all reports into one sealed file; see `discreet.engines.sealing.seal`."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalEngine:
    """The engine of one machine: files are streamed by all cores.

    Attributes:
        memory: how many bytes the reports of a likelihood may take in memory; None for half of what there is. What
            needs more is kept in temporary files.
        folder: where temporary files go; None for the system's place for them.
        threads: how many threads; None for the environment variable DISCREET_THREADS, or all processors. They change
            nothing but the time.

    Example:
        >>> import discreet as dc
        >>> from discreet.formats.reports import write_reports
        >>> from tempfile import TemporaryDirectory
        >>> mechanism = dc.SubsetSelection(dc.Domain(["bus", "car", "walk"]), epsilon=1.0)
        >>> with TemporaryDirectory() as folder:
        ...     written = write_reports(f"{folder}/monday.parquet", mechanism, mechanism.obfuscate(["bus"] * 50))
        ...     reports, left_out = LocalEngine(memory=1_000_000).evidence(mechanism, folder)
        >>> reports.n, dict(left_out)
        (50, {})
    """

    memory: int | None = None
    folder: str | Path | None = None
    threads: int | None = None

    def obfuscate(
        self,
        mechanism: "BlockMechanism",
        values: "Values",
        target: str | Path,
        columns: "ValueColumns | None" = None,
        *,
        replace: "Replace | None" = None,
        seed: int | None = None,
        force: bool = False,
        progress: "Progress | None" = None,
    ) -> "Obfuscated":
        """Write a report for every value of tables into a file; see `discreet.engines.obfuscation.obfuscate`."""
        from discreet.engines.obfuscation import obfuscate

        asked: dict[str, Any] = {"replace": replace, "seed": seed, "force": force, "progress": progress}
        return obfuscate(mechanism, values, target, columns, threads=self.threads, **asked)

    def tally(
        self,
        mechanism: "Mechanism",
        sources: str | Path | Sequence[str | Path],
        *,
        bad_share: float = 0.0,
        trust_plan: bool = False,
        manifest: bool = False,
        progress: "Progress | None" = None,
    ) -> "Counted":
        """Return the tally of files of reports; see `discreet.engines.local.tally`."""
        from discreet.engines.local import tally

        read: dict[str, Any] = {"trust_plan": trust_plan, "manifest": manifest, "threads": self.threads}
        return tally(mechanism, sources, bad_share=bad_share, progress=progress, **read)

    def tally_by(
        self,
        mechanism: "Mechanism",
        sources: str | Path | Sequence[str | Path],
        by: str | Sequence[str],
        *,
        trust_plan: bool = False,
        manifest: bool = False,
        progress: "Progress | None" = None,
    ) -> "GroupedTally":
        """Return a tally for each group of people; see `discreet.engines.groups.tally_by`."""
        from discreet.engines.groups import tally_by

        read = {"trust_plan": trust_plan, "manifest": manifest}
        return tally_by(mechanism, sources, by, threads=self.threads, progress=progress, **read)

    def evidence(
        self,
        mechanism: "Mechanism",
        sources: str | Path | Sequence[str | Path],
        *,
        bad_share: float = 0.0,
        trust_plan: bool = False,
        manifest: bool = False,
        progress: "Progress | None" = None,
    ) -> Observed:
        """Return the evidence in files of reports; see `discreet.engines.evidence.gather`."""
        from discreet.engines.evidence import gather

        read: dict[str, Any] = {"trust_plan": trust_plan, "manifest": manifest}
        where: dict[str, Any] = {"memory": self.memory, "folder": self.folder, "threads": self.threads}
        return gather(mechanism, sources, bad_share=bad_share, progress=progress, **read, **where)

    def seal(
        self,
        mechanism: "Mechanism",
        sources: str | Path | Sequence[str | Path],
        target: str | Path,
        *,
        least: int = 2,
        bad_share: float = 0.0,
        trust_plan: bool = False,
        manifest: bool = False,
        force: bool = False,
        progress: "Progress | None" = None,
    ) -> "Sealed":
        """Write all reports into one sealed file; see `discreet.engines.sealing.seal`."""
        from discreet.engines.sealing import seal

        read: dict[str, Any] = {"trust_plan": trust_plan, "manifest": manifest}
        where: dict[str, Any] = {"folder": self.folder, "threads": self.threads}
        given: dict[str, Any] = {"least": least, "bad_share": bad_share, "force": force, "progress": progress}
        return seal(mechanism, sources, target, **given, **read, **where)
