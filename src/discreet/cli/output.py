"""Inputs, outputs and results of verbs.

Outputs are checked before any work: all of them can be written, or the verb is refused; and then all that are named
are written, or none. ``-`` is a temporary file while a verb runs, so that damage and change are noticed. Warnings are
notes on the error stream, or collected for the result. A result is printed in one way: built-ins for programs (JSON),
sentences and tables for people.
"""

import os
import shutil
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from fractions import Fraction
from operator import attrgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, TextIO

import click
from click.core import ParameterSource

from discreet.core.labels import CLIPPED, READ
from discreet.errors import DiscreetError, ParameterError, SourceWarning
from discreet.files.paths import PAGES, PICTURES, checked_output, ending, matched, output_of
from discreet.files.writing import check_folder, check_free, json_text, replacing_all


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
        endings: how the name of a file may end.
    """

    def __init__(self, what: str, endings: tuple[str, ...] = (), **kind: bool) -> None:
        super().__init__(path_type=Path, **kind)
        self.what, self.endings = what, endings

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return a path; a URL is refused."""
        if "://" in str(value):
            value = output_of(str(value), self.what)
        return super().convert(value, param, ctx)


class OutputFile(OutputPlace):
    """A file to write.

    Args:
        what: its content, in the plural.
        endings: how its name may end.
        piped: whether ``-`` sends it to standard output.
        folders: whether a name without an ending is that of a folder, which the verb itself looks at.
    """

    def __init__(self, what: str, endings: tuple[str, ...], *, piped: bool = False, folders: bool = False) -> None:
        super().__init__(what, endings, dir_okay=folders, allow_dash=piped)
        self.piped, self.folders = piped, folders


class OutputFolder(OutputPlace):
    """A folder for files, pictures among them; made if need be.

    Args:
        names: of the files, if they replace nothing without ``--force``.
    """

    def __init__(self, *names: str) -> None:
        super().__init__("files")
        self.names = names


def check_outputs(parameters: Sequence[click.Parameter], options: dict[str, Any]) -> None:
    """Refuse outputs that cannot be written, are named twice, or would replace an input.

    Raises:
        OutputExistsError: if one exists and ``force`` was not given.
        ParameterError: if one cannot be written for another reason.
        MissingExtraError: if there is to be a picture, and what draws it is not installed.
    """
    values = [
        (parameter, options[parameter.name])
        for parameter in parameters
        if parameter.name is not None and options.get(parameter.name) is not None
    ]
    outputs = [(parameter, path) for parameter, path in values if isinstance(parameter.type, OutputFile | OutputFolder)]
    outputs = [(parameter, path) for parameter, path in outputs if not _is_piped(parameter.type, path, options)]
    named = any(isinstance(parameter.type, OutputFile | OutputFolder) for parameter in parameters)
    if options.get("force") and not outputs and named:
        raise ParameterError("--force does nothing here: no output is named that it could replace; leave it out.")
    for parameter, path in outputs:
        check_output(parameter.type, path, force=options.get("force", False))
    inputs = [
        (parameter, Path(str(file)))
        for parameter, value in values
        if isinstance(parameter.type, InputFile)
        for path in (value if isinstance(value, tuple) else (value,))
        if isinstance(path, Path)
        for file in (matched(path) if parameter.type.urls else [path])
    ]
    refuse_replacing([path for _, path in outputs], [path for _, path in inputs])
    for _, path in outputs:
        _refuse_inside(path, [folder for parameter, folder in inputs if parameter.nargs == -1])


def _is_piped(kind: Any, path: Path, options: dict[str, Any]) -> bool:
    if str(path) != "-" or not isinstance(kind, OutputFile) or not kind.piped:
        return False
    if prints_json():
        raise ParameterError("--json and -o - both go to standard output; leave one of them out.")
    return True


def check_output(kind: Any, path: Path, *, force: bool) -> None:
    """Refuse a file or a folder that cannot be written; errors as for `check_outputs`."""
    if isinstance(kind, OutputFolder):
        if any(path.suffix == Path(name).suffix for name in kind.names) and not path.is_dir():
            listed = " and ".join(kind.names)
            raise ParameterError(f"{path} would be a folder, for {listed}; name one, such as {path.with_suffix('')}.")
        check_folder(path)
        _check_drawing()
        for name in kind.names if path.is_dir() else ():
            check_free(path / name, force=force)
        return
    if kind.folders and not path.suffix and path != STANDARD:
        check_folder(path)
        return
    checked_output(path, kind.endings, kind.what)
    if os.path.isdir(path):  # noqa: PTH112
        raise ParameterError(f"{path} is a directory, and its name is one of a file; name another.")
    check_free(path, force=force)
    if kind.endings in {PICTURES, PAGES}:
        _check_drawing()


def _check_drawing() -> None:
    # The pictures' modules import NumPy.
    from discreet.pictures.curves import check_drawing

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


def _same(first: Path, second: Path) -> bool:
    return first.resolve() == second.resolve() or (first.exists() and second.exists() and first.samefile(second))


def _refuse_inside(output: Path, folders: Sequence[Path]) -> None:
    """Refuse an output in a folder of inputs: the next run would read it too."""
    for folder in folders:
        if folder.is_dir() and output.resolve().is_relative_to(folder.resolve()):
            inside = output.resolve().relative_to(folder.resolve())
            if not any(name.startswith((".", "_")) for name in inside.parts):
                raise ParameterError(f"{output} is in {folder}, all of which is read; choose another place for it.")


@contextmanager
def notes_on_errors() -> Iterator[None]:
    """Print the warnings of the body for its user on the error stream, a line each, each of them once."""
    shown = set[str]()

    def note(message: Warning | str, category: type[Warning], *place: Any, **named: Any) -> None:
        if not issubclass(category, UserWarning):
            others(message, category, *place, **named)
        elif str(message) not in shown:
            shown.add(str(message))
            click.echo(f"Note: {message}", err=True)

    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        others, warnings.showwarning = warnings.showwarning, note
        yield


@contextmanager
def file_notes() -> Iterator[list[str]]:
    """Collect the warnings of files that are read; other warnings are issued again.

    Yields:
        a list, which holds the sentences afterwards.
    """
    notes: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", SourceWarning)
        yield notes
    for warning in caught:
        if issubclass(warning.category, SourceWarning):
            notes.append(str(warning.message))
        else:
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)


STANDARD = Path("-")
_NOT_LINES = (b"PAR1", b"ARROW1", b"\x1f\x8b")
_LONGEST = max(map(len, _NOT_LINES))


@contextmanager
def reports_here(sources: Sequence[Path]) -> Iterator[list[Path]]:
    """Yield the sources, with a file of JSON lines in the place of ``-``; errors about it name the standard input.

    Raises:
        ParameterError: if ``-`` is named twice, or something else than JSON lines comes.
    """
    if sources.count(STANDARD) > 1:
        raise ParameterError("- is named twice; standard input can be read once.")
    if STANDARD not in sources:
        yield list(sources)
        return
    with TemporaryDirectory(prefix="discreet-") as folder:
        file = Path(folder) / "standard-input.jsonl"
        _keep(file)
        try:
            yield [file if source == STANDARD else source for source in sources]
        except DiscreetError as error:
            raise type(error)(str(error).replace(str(file), "standard input")) from None


def _keep(target: Path) -> None:
    click.echo("Reading JSON lines from standard input.", err=True)
    source = sys.stdin.buffer
    first = source.read(_LONGEST)
    if first.startswith(_NOT_LINES):
        raise ParameterError("reports on standard input must be JSON lines, not compressed; name the file instead.")
    with target.open("wb") as file:
        file.write(first)
        shutil.copyfileobj(source, file)


@contextmanager
def sent(target: Path, ending: str) -> Iterator[Path]:
    """Yield the file to write: the target, or for ``-`` a file that is sent to standard output if all went well.

    Args:
        target: the file.
        ending: how a file of what standard output takes is named.
    """
    if target != STANDARD:
        yield target
        return
    with ExitStack() as stack:
        folder = stack.enter_context(TemporaryDirectory(prefix="discreet-"))
        copy = Path(folder) / f"standard-output{ending}"
        yield copy
        with copy.open("rb") as file:
            sys.stdout.flush()
            shutil.copyfileobj(file, sys.stdout.buffer)
            sys.stdout.buffer.flush()


MOST_COLUMNS = 200
"""Columns of what is printed where nothing says how wide the terminal is."""
SIMULATED_REPORTS = "These reports are simulated with a known seed: they protect nobody."


def _stream() -> TextIO | None:
    """Return the stream of results: that of errors where standard output takes a file (``-o -``)."""
    ctx = click.get_current_context(silent=True)
    piped = ctx is not None and str(ctx.params.get("output")) == "-"
    return sys.stderr if piped else sys.stdout


@dataclass(frozen=True, slots=True)
class Table:
    """A table for people.

    Attributes:
        title: above it.
        headings: of its columns.
        cells: a row each.
        left: how many columns, from the left, are text; the others are numbers.
    """

    title: str
    headings: Sequence[str]
    cells: list[list[str]]
    left: int = 1


class Fact(NamedTuple):
    """A figure of a result, or a column of a table of results.

    Attributes:
        name: for programs; empty if only people see it.
        of: its attribute, such as ``central.among.upper``, or a function of the result.
        heading: for people; empty if only programs see it.
        form: how the figure is spelled, or a function that spells it; missing ones are a dash.
    """

    name: str
    of: str | Callable[[Any], Any]
    heading: str = ""
    form: str | Callable[[Any], str] = ""

    def value(self, result: Any) -> Any:
        """Return the figure of a result."""
        return attrgetter(self.of)(result) if isinstance(self.of, str) else self.of(result)

    def cell(self, result: Any) -> str:
        """Return the figure of a result as people read it."""
        value = self.value(result)
        return "-" if value is None else self.form(value) if callable(self.form) else f"{value:{self.form}}"


def record_of(result: Any, facts: Iterable[Fact]) -> dict[str, Any]:
    """Return the figures of a result by name, for programs."""
    return {fact.name: fact.value(result) for fact in facts if fact.name}


def table_of(title: str, rows: Iterable[Any], facts: Iterable[Fact], *, left: int = 1) -> Table:
    """Return a table of results, a row each."""
    shown = [fact for fact in facts if fact.heading]
    return Table(title, [fact.heading for fact in shown], [[fact.cell(row) for fact in shown] for row in rows], left)


def given_options() -> dict[str, str]:
    """Return the options that the running verb was given, as they are written, by the names of their values.

    Whether one was given cannot be seen from its value: it may be the default, or 0.
    """
    if (ctx := click.get_current_context(silent=True)) is None:
        return {}
    sources = {ParameterSource.COMMANDLINE, ParameterSource.ENVIRONMENT}
    return {
        parameter.name: max(parameter.opts, key=len)
        for parameter in ctx.command.params
        if parameter.name is not None
        and ctx.get_parameter_source(parameter.name) in sources
        and isinstance(parameter, click.Option)
    }


def prints_json() -> bool:
    """Return true if the running verb was given ``--json``."""
    return "as_json" in given_options()


def show(result: Any, parts: Iterable[str | Table], *, whole: bool = False) -> None:
    """Print the result of a verb: its built-ins as JSON, or its sentences and tables in order.

    Args:
        result: anything that `built_ins` takes, or a function that returns it, called if it is printed.
        parts: sentences and tables; read only if they are printed.
        whole: whether sentences longer than the terminal are left to it, so that they can be copied.
    """
    if prints_json():
        click.echo(json_text(built_ins(result() if callable(result) else result), indent=2))
    else:
        say(parts, whole=whole)


def say(parts: Iterable[str | Table], *, whole: bool = False) -> None:
    """Print sentences and tables in order; ``whole`` as of `show`."""
    for part in parts:
        if not (whole or isinstance(part, Table)) and _is_plain(part):
            click.echo(part, file=_stream())
            continue
        from discreet.cli.drawing import console, print_line, show_table

        out = console(_stream(), MOST_COLUMNS)
        if isinstance(part, Table):
            show_table(out, part.title, part.headings, part.cells, left=part.left)
        elif whole:
            print_line(out, part)
        else:
            out.print(part)


def _is_plain(sentence: str) -> bool:
    """Return true for a sentence that needs no folding; what folds is imported if it has to."""
    out = _stream()
    plain = sentence.isascii() and len(sentence) <= MOST_COLUMNS
    return plain and out is not None and not out.isatty() and "COLUMNS" not in os.environ


def built_ins(result: Any) -> Any:
    """Return a result as mappings, lists, texts and numbers: of dataclasses, structs, arrays, paths and fractions."""
    from msgspec import to_builtins

    return to_builtins(result, enc_hook=_built_in, str_keys=True)


def _built_in(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Fraction):
        return f"{value.numerator}/{value.denominator}"
    # NumPy's arrays and numbers.
    return value.tolist() if hasattr(value, "tolist") else str(value)


def left_out_sentences(left_out: Mapping[str, int]) -> list[str]:
    """Return a sentence for each reason for which rows were left out."""
    words = {CLIPPED: "Numbers", READ: "Values"}
    return [f"{words.get(reason, 'Rows left out')} that {reason}: {count:,}." for reason, count in left_out.items()]


def written(*files: Path | None) -> list[str]:
    """Return a sentence that names the files that were written, if any were; standard output is none."""
    named = [str(file) for file in files if file is not None and str(file) != "-"]
    return [f"Written: {', '.join(named)}."] if named else []


def notes_of(notes: Iterable[str]) -> Iterator[str]:
    """Yield a line for each note on files that were read."""
    yield from (f"Note: {note}" for note in notes)


def write_results(output: Path | None, write: Any, writers: Mapping[Path | None, Any], *, force: bool) -> None:
    """Write all files that are named, or none.

    Args:
        output: the file of the result, ``-`` for standard output; None for none.
        write: a function of a path that writes the result.
        writers: functions of a path that write the other files, by name, and pictures; None where none is named.
        force: whether files that exist are replaced.

    Raises:
        OutputExistsError: if a file exists and is not to be replaced.
    """
    with ExitStack() as stack:
        target = None if output is None else stack.enter_context(sent(output, ".csv"))
        named = [(path, writer) for path, writer in {target: write, **writers}.items() if path is not None]
        besides = stack.enter_context(replacing_all([path for path, _ in named], force=force))
        for (_, writer), beside in zip(named, besides, strict=True):
            writer(beside)


def save_picture(draw: Callable[[], Any]) -> Callable[[Path], None]:
    """Return a function of a path that saves the picture that ``draw`` makes."""

    def save(path: Path) -> None:
        from discreet.pictures.curves import picture_options

        draw().save(str(path), **picture_options(path))

    return save


@dataclass(frozen=True, slots=True)
class SavedTable:
    """A table that is written as CSV, Parquet or Arrow, or facts as JSON, by the name of the file.

    Attributes:
        table: a function that returns it.
        facts: a function that returns what is written as JSON.
    """

    table: Callable[[], Any]
    facts: Callable[[], Any]

    def __call__(self, path: Path) -> None:
        """Write the file."""
        from pyarrow import csv

        from discreet.formats.tallies import write_columns

        if ending(path) == ".csv":
            csv.write_csv(self.table(), str(path))
        elif ending(path) == ".json":
            path.write_text(json_text(self.facts()) + "\n", encoding="utf-8")
        else:
            write_columns(path, self.table())
