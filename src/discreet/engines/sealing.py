"""Sealing of sources: all reports in one file, in canonical order, with nothing of their arrival and nothing beside."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from discreet.errors import ParameterError
from discreet.files.paths import File
from discreet.formats.scanned import Place


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
