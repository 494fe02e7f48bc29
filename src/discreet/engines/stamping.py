"""Stamping: reports written again in discreet's format, with the plan's fingerprint."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from discreet.core.reports import Reports
from discreet.engines.folds import Counted, TallyFold
from discreet.engines.local import fold_parts
from discreet.engines.sealing import refuse_replacing
from discreet.errors import DataError, ParameterError
from discreet.files.paths import GZIP, REPORTS, checked_output, ending, output_of, path_below
from discreet.files.writing import check_free
from discreet.formats.reports import write_reports
from discreet.formats.sources import Partition, Place, Sources, report_files, sources_of, surveyed
from discreet.mechanisms import Mechanism
from discreet.mechanisms.report_tables import warn_of

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


def stamp(mechanism: Mechanism, sources: Any, target: str | Path, *, force: bool = False) -> Stamped:
    """Write reports again, with the plan's fingerprint; the caller vouches for the plan.

    All rows of all sources are checked before anything is written.

    Args:
        mechanism: what made the reports.
        sources: files of reports, folders of them, here or at URLs, and tables, as any tool wrote them (see
            `discreet.mechanisms.report_tables`); or `Sources`, of which the plan is trusted anyway.
        target: a file of reports on this machine for all of them; or a folder, which gets a Parquet file for each,
            named alike.
        force: whether files that exist are replaced.

    Raises:
        DataError: as for `Engine.tally`.
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
    read, output = replace(sources_of(sources), trust_plan=True), output_of(target, "stamped reports")
    survey = surveyed(mechanism, read)
    survey.refuse_tallies("reports are stamped, and tallies have a stamp")
    parts = survey.parts
    # The reports alone are written anew.
    warn_of([], len(parts), mechanism.fingerprint, [name for part in parts for name in part.kept])
    wanted = _targets(read, [part.path for part in parts], output)
    going: dict[Path, list[Partition]] = {path: [] for path in wanted.values()}
    for part in parts:
        going[wanted[part.path]].append(part)
    refuse_replacing(output, read.named, ())
    for path in going:
        _check_target(path, output, force=force)
        refuse_replacing(path, (), wanted)
    fold = TallyFold(mechanism)
    by_path = {path: fold_parts(fold, each, sift=read.sift, progress=read.progress) for path, each in going.items()}
    survey.batches()
    left_out = sum((Counter(counted.left_out) for counted in by_path.values()), start=Counter[str]())
    whole = Counted(sum((counted.tally for counted in by_path.values()), start=mechanism.empty_tally()), left_out)
    whole.refuse_above(read.bad_share)
    for path, each in going.items():
        _write(path, each, by_path[path], sift=read.sift, force=force)
    marked = tuple(path for path, counted in by_path.items() if counted.tally.simulated)
    return Stamped({path: counted.tally.n for path, counted in by_path.items()}, marked, dict(left_out))


def _targets(read: Sources, places: Sequence[Place], target: Path) -> dict[Place, Path]:
    """Return the output file of every source."""
    if not target.is_dir() and target.suffix:
        checked_output(target, REPORTS, "reports")
        return dict.fromkeys(places, target)
    if read.tables:
        raise ParameterError("stamped tables go into one file; name a file of reports for them, not a folder.")
    wanted: dict[Place, Path] = {}
    for source in read.named:
        for path in report_files([source]):
            name = Path(path_below(path, source) or path.name)
            wanted[path] = target / name.with_name(_bare(name) + _KEPT_AS)
    if len(set(wanted.values())) < len(wanted):
        twice = next(path for path, count in Counter(wanted.values()).items() if count > 1)
        raise ParameterError(f"several files would be {twice}; stamp them one after the other, into other folders.")
    return wanted


def _bare(path: Path) -> str:
    """Return a file's name without its endings."""
    stem = path.stem
    return Path(stem).stem if ending(path) in REPORTS and path.suffix.lower() == GZIP else stem


def _check_target(path: Path, target: Path, *, force: bool) -> None:
    checked_output(path, REPORTS, "reports")
    if path.parent.is_dir() or path == target:
        check_free(path, force=force)


def _write(path: Path, parts: Sequence[Partition], counted: Counted, *, sift: bool, force: bool) -> None:
    def batches() -> Iterator[Reports]:
        for part in parts:
            for reports, _ in part.reports(sift=sift):
                # A file says once whether its reports are simulated; one that is makes it say so.
                yield replace(reports, simulated=counted.tally.simulated)

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ParameterError(f"{path.parent} cannot be made ({type(error).__name__}); choose another place.") from None
    if write_reports(path, parts[0].mechanism, batches(), force=force) != counted.tally.n:
        path.unlink()
        raise DataError("the rows changed while they were read; leave the files alone and start again.")
