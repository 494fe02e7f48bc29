"""Outputs of verbs, checked before any work: all of them can be written, or the verb is refused."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from discreet.errors import ParameterError
from discreet.io.suffixes import PICTURES, checked_output


class InputFile(click.Path):
    """A file or a folder to read.

    Args:
        urls: whether it may be at a URL, which stays text.
    """

    def __init__(self, *, urls: bool = False) -> None:
        super().__init__(path_type=Path)
        self.urls = urls

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return a path, or the URL."""
        return value if self.urls and "://" in str(value) else super().convert(value, param, ctx)


class OutputPlace(click.Path):
    """A place of this machine to write to.

    Args:
        what: its content, in the plural.
    """

    def __init__(self, what: str, **kind: bool) -> None:
        super().__init__(path_type=Path, **kind)
        self.what = what

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return a path; a URL is refused."""
        if "://" in str(value):
            from discreet.io.remote import output_of

            value = output_of(str(value), self.what)
        return super().convert(value, param, ctx)


class OutputFile(OutputPlace):
    """A file to write.

    Args:
        what: its content, in the plural.
        endings: how its name may end.
        piped: whether ``-`` sends it to standard output.
    """

    def __init__(self, what: str, endings: tuple[str, ...], *, piped: bool = False) -> None:
        super().__init__(what, dir_okay=False, allow_dash=piped)
        self.endings, self.piped = endings, piped


class OutputFolder(OutputPlace):
    """A folder for files, pictures among them; made if need be.

    Args:
        names: of the files, if they replace nothing without ``--force``.
    """

    def __init__(self, *names: str) -> None:
        super().__init__("files")
        self.names = names


def check_outputs(parameters: Sequence[click.Parameter], given: dict[str, Any]) -> None:
    """Refuse outputs that cannot be written, are named twice, or would replace an input.

    Raises:
        OutputExistsError: if one exists and ``force`` was not given.
        ParameterError: if one cannot be written for another reason.
        MissingExtraError: if there is to be a picture, and what draws it is not installed.
    """
    values = [(one, given[one.name]) for one in parameters if one.name is not None and given.get(one.name) is not None]
    outputs = [(one, path) for one, path in values if isinstance(one.type, OutputFile | OutputFolder)]
    outputs = [(one, path) for one, path in outputs if not _is_piped(one.type, path, given)]
    named = any(isinstance(parameter.type, OutputFile | OutputFolder) for parameter in parameters)
    if given.get("force") and not outputs and named:
        raise ParameterError("--force does nothing here: no output is named that it could replace; leave it out.")
    for one, path in outputs:
        check_output(one.type, path, force=given.get("force", False))
    inputs = [(one, path) for one, value in values if isinstance(one.type, InputFile) for path in _several(value)]
    inputs = [(one, path) for one, path in inputs if isinstance(path, Path)]
    refuse_replacing([path for _, path in outputs], [path for _, path in inputs])
    for _, path in outputs:
        _refuse_inside(path, [folder for one, folder in inputs if one.nargs == -1])


def _is_piped(kind: Any, path: Path, given: dict[str, Any]) -> bool:
    if str(path) != "-" or not isinstance(kind, OutputFile) or not kind.piped:
        return False
    if given.get("as_json"):
        raise ParameterError("--json and -o - both go to standard output; leave one of them out.")
    return True


def _several(value: Any) -> tuple[Path, ...]:
    return value if isinstance(value, tuple) else (value,)


def check_output(kind: Any, path: Path, *, force: bool) -> None:
    """Refuse a file or a folder that cannot be written; errors as for `check_outputs`."""
    from discreet.io.atomic import check_folder, check_free
    from discreet.plots.pictures import check_drawing

    if isinstance(kind, OutputFolder):
        if any(path.suffix == Path(name).suffix for name in kind.names) and not path.is_dir():
            listed = " and ".join(kind.names)
            raise ParameterError(f"{path} would be a folder, for {listed}; name one, such as {path.with_suffix('')}.")
        check_folder(path)
        check_drawing()
        for name in kind.names if path.is_dir() else ():
            check_free(path / name, force=force)
        return
    checked_output(path, kind.endings, kind.what)
    check_free(path, force=force)
    if kind.endings == PICTURES:
        check_drawing()


def refuse_replacing(outputs: Sequence[Path], inputs: Sequence[Path]) -> None:
    """Refuse an output that is also another output or an input.

    Raises:
        ParameterError: if there is one.
    """
    for place, path in enumerate(outputs):
        if any(_same(path, other) for other in outputs[:place]):
            raise ParameterError(f"{path} is named for two outputs; give each a name of its own.")
        if any(_same(path, other) for other in inputs):
            raise ParameterError(f"{path} is read and would be replaced; choose another name for the output.")


def _same(one: Path, other: Path) -> bool:
    return one.resolve() == other.resolve() or (one.exists() and other.exists() and one.samefile(other))


def _refuse_inside(output: Path, folders: Sequence[Path]) -> None:
    """Refuse an output in a folder of inputs: the next run would read it too."""
    for folder in folders:
        if folder.is_dir() and output.resolve().is_relative_to(folder.resolve()):
            inside = output.resolve().relative_to(folder.resolve())
            if not any(name.startswith((".", "_")) for name in inside.parts):
                raise ParameterError(f"{output} is in {folder}, all of which is read; choose another place for it.")
