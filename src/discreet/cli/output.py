"""Input files, output files and printed results of commands.

All outputs are checked before any work. Later all named files are written, or none of them. ``-`` is a temporary file
while a command runs, so that damaged input is noticed. Warnings are notes on the error stream, or collected for the
result. Every result is printed by `show`: as JSON for programs, or as sentences and tables for people.
"""

import logging
import os
import re
import shutil
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, replace
from fractions import Fraction
from operator import attrgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TextIO

import click
from click.core import ParameterSource

from discreet.core.columns import CLIPPED, READ
from discreet.core.domain import Domain
from discreet.core.labels.alike import AlikeLabels, alike_sentences
from discreet.core.labels.text_forms import visible
from discreet.core.result_table import ResultTable, json_text
from discreet.errors import ParameterError, SourceWarning
from discreet.extras import check_drawing
from discreet.files.paths import PAGES, PICTURES, checked_output, ending, matched, output_of
from discreet.files.writing import check_folder, check_free, replacing_all


class FilePlace(click.Path):
    """A type of argument: a path that a command reads or writes."""

    is_checked = False
    """Whether the path is an output that is checked before any work."""

    def inputs(self, value: Any) -> list[Path]:
        """Return the local files and folders that the argument's value names, if they are inputs."""
        return []

    def outputs(self, path: Path) -> list[Path]:
        """Return the files and folders that must be checked before the command writes them."""
        return [path] if self.is_checked else []

    def check(self, path: Path, *, force: bool) -> None:
        """Raise an error if an output cannot be written.

        Raises:
            OutputExistsError: if the output exists and ``force`` was not given.
            ParameterError: if the output cannot be written for another reason.
            MissingExtraError: if the output is a picture, and the library that draws it is not installed.
        """


class InputFile(FilePlace):
    """A type of argument: a file or a folder to read.

    Args:
        urls: whether the input may be a URL.
    """

    def __init__(self, *, urls: bool = False) -> None:
        super().__init__(path_type=Path)
        self.urls = urls

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return a path, or the URL as text."""
        return value if self.urls and "://" in str(value) else super().convert(value, param, ctx)

    def inputs(self, value: Any) -> list[Path]:
        """Return the local files that are read, with all files that match a pattern."""
        paths = [path for path in (value if isinstance(value, tuple) else (value,)) if "://" not in str(path)]
        return [Path(str(file)) for path in paths for file in (matched(path) if self.urls else [path])]


class OutputPlace(FilePlace):
    """A type of argument: a local path to write to.

    Args:
        what: the content of the files, in the plural.
        endings: the allowed endings of the file name.
    """

    def __init__(self, what: str, endings: tuple[str, ...] = (), **kind: bool) -> None:
        super().__init__(path_type=Path, **kind)
        self.what, self.endings = what, endings

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return a path, or raise an error for a URL."""
        if "://" in str(value):
            value = output_of(str(value), self.what)
        return super().convert(value, param, ctx)


class OutputFile(OutputPlace):
    """A type of argument: a file to write.

    Args:
        what: the content of the file, in the plural.
        endings: the allowed endings of the file name.
        piped: whether ``-`` sends the file to standard output.
        folders: whether a name without an ending is a folder.
    """

    is_checked = True

    def __init__(self, what: str, endings: tuple[str, ...], *, piped: bool = False, folders: bool = False) -> None:
        super().__init__(what, endings, dir_okay=folders, allow_dash=piped)
        self.piped, self.folders = piped, folders

    def outputs(self, path: Path) -> list[Path]:
        """Return the file to write in a list; an empty list if the output goes to standard output."""
        if str(path) != "-" or not self.piped:
            return [path]
        if prints_json():
            raise ParameterError("output.two-on-standard-output")
        return []

    def check(self, path: Path, *, force: bool) -> None:
        """Raise an error if the file cannot be written."""
        if self.folders and not path.suffix and path != STANDARD:
            check_folder(path)
            return
        checked_output(path, self.endings, self.what)
        if os.path.isdir(path):  # noqa: PTH112
            raise ParameterError("output.is-directory", path=path)
        check_free(path, force=force)
        if self.endings in {PICTURES, PAGES}:
            check_drawing()


class OutputFolder(OutputPlace):
    """A type of argument: a folder for files and pictures, which is made if it does not exist.

    Args:
        names: the names of files in the folder that are replaced only with ``--force``.
    """

    is_checked = True

    def __init__(self, *names: str) -> None:
        super().__init__("files")
        self.names = names

    def check(self, path: Path, *, force: bool) -> None:
        """Raise an error if the folder, or one of its files, cannot be written."""
        if any(path.suffix == Path(name).suffix for name in self.names) and not path.is_dir():
            listed = " and ".join(self.names)
            raise ParameterError("output.folder-like-file", path=path, listed=listed, folder=path.with_suffix(""))
        check_folder(path)
        check_drawing()
        for name in self.names if path.is_dir() else ():
            check_free(path / name, force=force)


def check_outputs(parameters: Sequence[click.Parameter], options: dict[str, Any]) -> None:
    """Raise an error for outputs that cannot be written, are named twice, or would replace an input."""
    kinds = [(parameter, parameter.type) for parameter in parameters if isinstance(parameter.type, FilePlace)]
    values: list[Any] = [options.get(str(each.name)) for each, _ in kinds]
    files = [(value, kind, each.nargs) for value, (each, kind) in zip(values, kinds, strict=True) if value is not None]
    outputs = [(kind, path) for value, kind, _ in files for path in kind.outputs(value)]
    if options.get("force") and not outputs and any(kind.is_checked for _, kind in kinds):
        raise ParameterError("force.idle")
    for kind, path in outputs:
        kind.check(path, force=options.get("force", False))
    inputs = [(file, nargs) for value, kind, nargs in files for file in kind.inputs(value)]
    refuse_replacing([path for _, path in outputs], [file for file, _ in inputs])
    for _, path in outputs:
        _refuse_inside(path, [folder for folder, nargs in inputs if nargs == -1])


def refuse_replacing(outputs: Sequence[Path], inputs: Sequence[Path]) -> None:
    """Raise an error if two outputs are the same file, or if an output is an input.

    Raises:
        ParameterError: if a path is named twice.
    """
    for place, path in enumerate(outputs):
        if any(_same(path, other) for other in outputs[:place]):
            raise ParameterError("output.twice", path=path)
        if any(_same(path, other) for other in inputs):
            raise ParameterError("output.is-input", path=path)


def _same(first: Path, second: Path) -> bool:
    return first.resolve() == second.resolve() or (first.exists() and second.exists() and first.samefile(second))


def _refuse_inside(output: Path, folders: Sequence[Path]) -> None:
    """Raise an error if an output is in a folder of inputs, because the next run would read the output too."""
    for folder in folders:
        if folder.is_dir() and output.resolve().is_relative_to(folder.resolve()):
            inside = output.resolve().relative_to(folder.resolve())
            if not any(name.startswith((".", "_")) for name in inside.parts):
                raise ParameterError("output.in-input", path=output, folder=folder)


_KERNELS = logging.getLogger("discreet.kernels")
_KERNELS.setLevel(logging.INFO)


class _Compiling(logging.Handler):
    """A log handler that prints once that kernels are being compiled."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print the note that kernels are being compiled, if the error stream is a terminal."""
        _KERNELS.removeHandler(self)
        if sys.stderr is not None and sys.stderr.isatty():
            click.echo(f"Note: {record.getMessage()}", err=True)


@contextmanager
def notes_on_errors() -> Iterator[None]:
    """Print each different warning of the body, and the compilation of kernels, as one line on the error stream."""
    shown = set[str]()

    def note(message: Warning | str, category: type[Warning], *place: Any, **named: Any) -> None:
        if not issubclass(category, UserWarning):
            others(message, category, *place, **named)
        elif str(message) not in shown:
            shown.add(str(message))
            click.echo(f"Note: {message}", err=True)

    compiling = _Compiling()
    _KERNELS.addHandler(compiling)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", UserWarning)
            others, warnings.showwarning = warnings.showwarning, note
            yield
    finally:
        _KERNELS.removeHandler(compiling)


@contextmanager
def file_notes() -> Iterator[list[str]]:
    """Collect the warnings about files that the body reads. Other warnings are passed on.

    Yields:
        a list. After the body it holds the sentences of the warnings.
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
    """Yield the sources, with ``-`` replaced by a file that holds the JSON lines of standard input.

    Raises:
        ParameterError: if ``-`` is named twice, or standard input does not hold JSON lines.
    """
    if sources.count(STANDARD) > 1:
        raise ParameterError("standard-input.twice")
    if STANDARD not in sources:
        yield list(sources)
        return
    with TemporaryDirectory(prefix="discreet-") as folder:
        file = Path(folder) / "standard-input.jsonl"
        click.get_current_context().meta["discreet.piped"] = str(file)
        _keep(file)
        yield [file if source == STANDARD else source for source in sources]


def _keep(target: Path) -> None:
    click.echo("Reading JSON lines from standard input.", err=True)
    source = sys.stdin.buffer
    first = source.read(_LONGEST)
    if first.startswith(_NOT_LINES):
        raise ParameterError("standard-input.not-lines")
    with target.open("wb") as file:
        file.write(first)
        shutil.copyfileobj(source, file)


@contextmanager
def sent(target: Path, ending: str) -> Iterator[Path]:
    """Yield the file to write. For ``-`` it is a temporary file, whose content goes to standard output after the body.

    Args:
        target: the file.
        ending: the ending of the temporary file for standard output.
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
"""Columns of the output where the width of the terminal is unknown."""
SIMULATED_REPORTS = "These reports are simulated with a known seed: they protect nobody."


def _stream() -> TextIO | None:
    """Return the stream for printed results: standard error if standard output gets the output file (``-o -``)."""
    ctx = click.get_current_context(silent=True)
    piped = ctx is not None and str(ctx.params.get("output")) == "-"
    return sys.stderr if piped else sys.stdout


def record_of(result: Any, attributes: Mapping[str, str | Callable[[Any], Any]]) -> dict[str, Any]:
    """Return a dictionary for JSON. Each value is an attribute of `result`, or a function's value for `result`."""
    return {name: attrgetter(of)(result) if isinstance(of, str) else of(result) for name, of in attributes.items()}


def given_options() -> dict[str, str]:
    """Return the options that were given to the running command, by the name of the parameter.

    The value of an option does not show whether it was given: the value may equal the default.
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
    """Return true if ``--json`` was given to the running command."""
    return "as_json" in given_options()


def show(result: Any, parts: Iterable[str | ResultTable], *, whole: bool = False) -> None:
    """Print the result of a command: as JSON, or as sentences and tables.

    Args:
        result: anything that `built_ins` takes, or a function that returns it. It is called only for JSON.
        parts: sentences and tables; read only if they are printed.
        whole: whether the terminal folds long sentences, so that they can be copied whole.
    """
    if prints_json():
        click.echo(json_text(built_ins(result() if callable(result) else result), indent=2))
    else:
        say(parts, whole=whole)


def say(parts: Iterable[str | ResultTable], *, whole: bool = False) -> None:
    """Print sentences and tables, with the notes of the tables; arguments as for `show`."""
    for part in parts:
        if isinstance(part, str) and not whole and _is_plain(part):
            click.echo(part, file=_stream())
            continue
        from discreet.cli.drawing import console, print_line, show_table

        out = console(_stream(), MOST_COLUMNS)
        if isinstance(part, ResultTable):
            show_table(out, part)
            say(part.notes, whole=whole)
        elif whole:
            print_line(out, part)
        else:
            out.print(part)


def _is_plain(sentence: str) -> bool:
    """Return true if a sentence can be printed without folding. Then the library rich is not imported."""
    out = _stream()
    plain = sentence.isascii() and len(sentence) <= MOST_COLUMNS
    return plain and out is not None and not out.isatty() and "COLUMNS" not in os.environ


def built_ins(result: Any) -> Any:
    """Return a result as dictionaries, lists, texts and numbers, ready for JSON."""
    from msgspec import to_builtins

    return to_builtins(result, enc_hook=_built_in, str_keys=True)


def _built_in(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Fraction):
        return f"{value.numerator}/{value.denominator}"
    # Arrays and numbers of NumPy have the method tolist.
    return value.tolist() if hasattr(value, "tolist") else str(value)


def left_out_sentences(left_out: Mapping[str, int]) -> list[str]:
    """Return a sentence for each reason for which rows were left out, with the number of rows."""
    words = {CLIPPED: "Numbers", READ: "Values"}
    return [f"{words.get(reason, 'Rows left out')} that {reason}: {count:,}." for reason, count in left_out.items()]


def read_as_table(read_as: Mapping[tuple[str, str], int]) -> list[ResultTable]:
    """Return a table of the values that were read as a label that reads alike; an empty list without such values."""
    if not read_as:
        return []
    cells = [[name, visible(label), f"{count:,}"] for (name, label), count in sorted(read_as.items())]
    named = any(name for name, _ in read_as)
    headings = ["attribute", "label", "values"] if named else ["label", "values"]
    rows = cells if named else [row[1:] for row in cells]
    return [ResultTable.of("Read as", headings, rows, left=len(headings) - 1)]


def read_as_record(read_as: Mapping[tuple[str, str], int]) -> dict[str, Any]:
    """Return the counts of `read_as_table` as a dictionary for JSON; empty without such values."""
    rows = [{"attribute": name, "label": label, "values": count} for (name, label), count in sorted(read_as.items())]
    return {"read_as": rows} if rows else {}


def alike_in(domains: Mapping[str, Domain]) -> tuple[list[str], dict[str, Any]]:
    """Return sentences about labels that look the same, and a dictionary for JSON; both empty without such labels.

    Args:
        domains: the domains by the name of a question; the domain of a single plan has an empty name.
    """
    alike = list(dict.fromkeys(_named(domains.items())))
    exact = any(domain.exact for domain in domains.values())
    record = {"exact": exact, "alike": [asdict(group) for group in alike]}
    return alike_sentences(alike, exact=exact), record if alike or exact else {}


def _named(domains: Iterable[tuple[str, Domain]]) -> Iterable[AlikeLabels]:
    for name, domain in domains:
        yield from (replace(group, attribute=group.attribute or name) for group in domain.alike)


def written(*files: Path | None) -> list[str]:
    """Return a sentence that names the files that were written; an empty list if there are none."""
    named = [str(file) for file in files if file is not None and str(file) != "-"]
    return [f"Written: {', '.join(named)}."] if named else []


def notes_of(notes: Iterable[str]) -> Iterator[str]:
    """Yield one line for each note on the files that were read."""
    yield from (f"Note: {note}" for note in notes)


def write_results(output: Path | None, write: Any, writers: Mapping[Path | None, Any], *, force: bool) -> None:
    """Write all output files that were named, or none of them.

    Args:
        output: the file of the result, ``-`` for standard output; None for none.
        write: a function of a path that writes the result.
        writers: the paths of other files and pictures, each with a function that writes it; a path may be None.
        force: whether files that exist are replaced.

    Raises:
        OutputExistsError: if a file exists and `force` is false.
    """
    with ExitStack() as stack:
        target = None if output is None else stack.enter_context(sent(output, ".csv"))
        named = [(path, writer) for path, writer in {target: write, **writers}.items() if path is not None]
        besides = stack.enter_context(replacing_all([path for path, _ in named], force=force)) if named else []
        for (_, writer), beside in zip(named, besides, strict=True):
            writer(beside)


def save_picture(draw: Callable[[], Any]) -> Callable[[Path], None]:
    """Return a function that draws the picture with `draw` and saves it to a path."""

    def save(path: Path) -> None:
        kind = path.suffix.lower().removeprefix(".")
        draw().save(str(path), format=kind, **({"ppi": 144} if kind == "png" else {}))

    return save


def save_table(table: Callable[[], Any], facts: Callable[[], Any], path: Path) -> None:
    """Write an Arrow table as CSV, Parquet or Arrow, or facts as JSON, according to the ending of the path."""
    from pyarrow import csv

    from discreet.formats.tallies import write_columns

    if ending(path) == ".csv":
        csv.write_csv(table(), str(path))
    elif ending(path) == ".json":
        path.write_text(json_text(facts()) + "\n", encoding="utf-8")
    else:
        write_columns(path, table())


def in_words(mechanism: Any) -> str:
    """Return a text with the number of values and protected values, the mechanism and epsilon."""
    # The class name RandomizedResponse becomes "randomized response".
    title = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(mechanism).__name__).lower()
    return f"{mechanism.domain.size_text}, {title}, epsilon {mechanism.epsilon:g}"
