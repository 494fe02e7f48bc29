"""Files that get a stamp, and files that are sealed.

Stamping: files of reports written again in discreet's format, with the plan's fingerprint.

Sealing of files: all reports in one file, in canonical order, with nothing of their arrival and nothing beside them.

Where reports are one number among few they are counted by all cores; else they are sorted, through temporary files.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from discreet.arrays import IntArray
from discreet.core.checks import checked_share, checked_whole
from discreet.core.reports import Reports
from discreet.engines.local import Counted, StateHeading, TallyFold, fold_parts, refuse_above
from discreet.errors import DataError, ParameterError
from discreet.files.paths import GZIP, REPORTS, File, RemoteFile, checked_output, ending, file_of, output_of
from discreet.files.reading import Progress
from discreet.files.writing import check_free
from discreet.formats.arrow import warn_of
from discreet.formats.reports import write_reports
from discreet.formats.sealed_files import LEAST, checked_sealed, put_sealed, refuse_fewer
from discreet.formats.sealing import MIXED, CanonicalOrder, ContentCounts
from discreet.formats.sources import Partition, Survey, report_files, rows_in, surveyed
from discreet.mechanisms import Mechanism

_KEPT_AS = ".parquet"


@dataclass(frozen=True, slots=True, eq=False)
class Stamped:
    """The files of a stamping, with their numbers of reports.

    Attributes:
        files: number of reports by written file.
        simulated: written files that are marked because they hold a simulated report.
        left_out: number of rows left out by reason.

    Example:
        >>> Stamped({Path("monday.parquet"): 100, Path("tuesday.parquet"): 50}, simulated=(), left_out={}).reports
        150
    """

    files: Mapping[Path, int]
    simulated: tuple[Path, ...]
    left_out: Mapping[str, int]

    @property
    def reports(self) -> int:
        """Number of reports in all files."""
        return sum(self.files.values())


def stamp(
    mechanism: Mechanism,
    sources: str | Path | Sequence[str | Path],
    target: str | Path,
    *,
    bad_share: float = 0.0,
    force: bool = False,
    progress: Progress | None = None,
) -> Stamped:
    """Write files of reports again, with the plan's fingerprint; the caller vouches for the plan.

    All rows of all files are checked before anything is written.

    Args:
        mechanism: what made the reports.
        sources: files of reports, and folders of them, here or at URLs, as any tool wrote them; see
            `discreet.formats.arrow`.
        target: a file of reports on this machine for all of them; or a folder, which gets a Parquet file for each,
            named alike.
        bad_share: as for `discreet.engines.tally`.
        force: whether files that exist are replaced.
        progress: called now and then while rows are checked.

    Raises:
        DataError: as for `discreet.engines.tally`.
        MismatchError: if a stamp or a row says another plan.
        OutputExistsError: if a file exists and ``force`` is not set.
        ParameterError: if there is a tally among the sources, the target is neither a file of reports nor a folder, or
            two sources would be one file.

    Example:
        >>> import discreet as dc
        >>> from tempfile import TemporaryDirectory
        >>> mechanism = dc.RandomizedResponse(dc.Domain(["yes", "no"]), epsilon=1.0)
        >>> with TemporaryDirectory() as folder:
        ...     written = write_reports(f"{folder}/monday.jsonl", mechanism, mechanism.obfuscate(["yes"] * 50))
        ...     stamp(mechanism, f"{folder}/monday.jsonl", f"{folder}/stamped.parquet").reports
        50
    """
    share = checked_share("bad_share", bad_share)
    named = [sources] if isinstance(sources, str | Path) else list(sources)
    places, output = [file_of(source) for source in named], output_of(target, "stamped reports")
    survey = surveyed(mechanism, named, trust_plan=True)
    if survey.tallies:
        raise ParameterError(
            f"reports are stamped, and tallies have a stamp; leave the {len(survey.tallies)} tallies out."
        )
    parts = survey.parts
    # The reports alone are written anew.
    warn_of({}, len(parts), mechanism.fingerprint, [name for part in parts for name in part.kept])
    wanted = _targets(places, output)
    going: dict[Path, list[Partition]] = {path: [] for path in wanted.values()}
    for part in parts:
        going[wanted[part.path]].append(part)
    refuse_replacing(output, places, ())
    for path in going:
        _check_target(path, output, force=force)
        refuse_replacing(path, (), wanted)
    fold, sift = TallyFold(mechanism), share > 0
    found = {path: fold_parts(fold, each, sift=sift, progress=progress) for path, each in going.items()}
    survey.batches()
    left_out = sum((Counter(one.left_out) for one in found.values()), start=Counter[str]())
    Counted(sum((one.tally for one in found.values()), start=mechanism.empty_tally()), left_out).refuse_above(share)
    for path, each in going.items():
        _write(path, each, found[path], sift=sift, force=force)
    marked = tuple(path for path, one in found.items() if one.tally.simulated)
    return Stamped({path: one.tally.n for path, one in found.items()}, marked, dict(left_out))


def _targets(sources: Sequence[File], target: Path) -> dict[File, Path]:
    """Return the output file of every source."""
    if not target.is_dir() and target.suffix:
        checked_output(target, REPORTS, "reports")
        return dict.fromkeys(report_files(sources), target)
    wanted: dict[File, Path] = {}
    for source in sources:
        for path in report_files([source]):
            name = _below(path, source) if source.is_dir() else Path(path.name)
            wanted[path] = target / name.with_name(_bare(name) + _KEPT_AS)
    if len(set(wanted.values())) < len(wanted):
        twice = next(path for path, count in Counter(wanted.values()).items() if count > 1)
        raise ParameterError(f"several files would be {twice}; stamp them one after the other, into other folders.")
    return wanted


def _below(path: File, folder: File) -> Path:
    """Return the path of a file from the folder that was named."""
    if isinstance(path, RemoteFile) and isinstance(folder, RemoteFile):
        return Path(path.relative_to(folder))
    return Path(str(path)).relative_to(str(folder))


def refuse_replacing(target: Path, sources: Sequence[File], files: Iterable[File]) -> None:
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


def _bare(path: Path) -> str:
    """Return a file's name without its endings."""
    stem = path.stem
    return Path(stem).stem if ending(path) in REPORTS and path.suffix.lower() == GZIP else stem


def _check_target(path: Path, target: Path, *, force: bool) -> None:
    checked_output(path, REPORTS, "reports")
    if path.parent.is_dir() or path == target:
        check_free(path, force=force)


def _write(path: Path, parts: Sequence[Partition], found: Counted, *, sift: bool, force: bool) -> None:
    def batches() -> Iterator[Reports]:
        for part in parts:
            for reports, _ in part.reports(sift=sift):
                # A file says once whether its reports are simulated; one that is makes it say so.
                yield replace(reports, simulated=found.tally.simulated)

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ParameterError(f"{path.parent} cannot be made ({type(error).__name__}); choose another place.") from None
    if write_reports(path, parts[0].mechanism, batches(), force=force) != found.tally.n:
        path.unlink()
        raise DataError("the rows changed while they were read; leave the files alone and start again.")


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
    """Write all reports of files into one sealed file; see `discreet.formats.sealing`.

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
