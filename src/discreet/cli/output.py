"""Inputs, outputs and results of verbs.

Outputs are checked before any work: all of them can be written, or the verb is refused; and then all that are named
are written, or none. ``-`` is a temporary file while a verb runs, so that damage and change are noticed. Warnings are
notes on the error stream, or collected for the result. A result is printed in one way: built-ins for programs (JSON),
sentences and tables for people.
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
from discreet.core.labels.reading import visible
from discreet.core.result_table import ResultTable, json_text
from discreet.errors import ParameterError, SourceWarning
from discreet.extras import check_drawing
from discreet.files.paths import PAGES, PICTURES, checked_output, ending, matched, output_of
from discreet.files.writing import check_folder, check_free, replacing_all


class FilePlace(click.Path):
    """A place of files that a verb reads or writes."""

    is_checked = False
    """Whether it is an output that is checked before any work."""

    def inputs(self, value: Any) -> list[Path]:
        """Return the files and folders of this machine that are read."""
        return []

    def outputs(self, path: Path) -> list[Path]:
        """Return the files and folders that are checked before they are written."""
        return [path] if self.is_checked else []

    def check(self, path: Path, *, force: bool) -> None:
        """Refuse an output that cannot be written.

        Raises:
            OutputExistsError: if it exists and ``force`` was not given.
            ParameterError: if it cannot be written for another reason.
            MissingExtraError: if it is a picture, and the program that draws it is not installed.
        """


class InputFile(FilePlace):
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

    def inputs(self, value: Any) -> list[Path]:
        """Return the files that patterns match too."""
        paths = [path for path in (value if isinstance(value, tuple) else (value,)) if "://" not in str(path)]
        return [Path(str(file)) for path in paths for file in (matched(path) if self.urls else [path])]


class OutputPlace(FilePlace):
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
        folders: whether a name without an ending is a folder, which the verb itself checks.
    """

    is_checked = True

    def __init__(self, what: str, endings: tuple[str, ...], *, piped: bool = False, folders: bool = False) -> None:
        super().__init__(what, endings, dir_okay=folders, allow_dash=piped)
        self.piped, self.folders = piped, folders

    def outputs(self, path: Path) -> list[Path]:
        """Return the file, if it does not go to standard output."""
        if str(path) != "-" or not self.piped:
            return [path]
        if prints_json():
            raise ParameterError("output.two-on-standard-output")
        return []

    def check(self, path: Path, *, force: bool) -> None:
        """Refuse a file that cannot be written."""
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
    """A folder for files, pictures among them; made if need be.

    Args:
        names: of the files, if they replace nothing without ``--force``.
    """

    is_checked = True

    def __init__(self, *names: str) -> None:
        super().__init__("files")
        self.names = names

    def check(self, path: Path, *, force: bool) -> None:
        """Refuse a folder that cannot be written."""
        if any(path.suffix == Path(name).suffix for name in self.names) and not path.is_dir():
            listed = " and ".join(self.names)
            raise ParameterError("output.folder-like-file", path=path, listed=listed, folder=path.with_suffix(""))
        check_folder(path)
        check_drawing()
        for name in self.names if path.is_dir() else ():
            check_free(path / name, force=force)


def check_outputs(parameters: Sequence[click.Parameter], options: dict[str, Any]) -> None:
    """Refuse outputs that cannot be written, are named twice, or would replace an input; see `FilePlace.check`."""
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
    """Refuse an output that is also another output or an input.

    Raises:
        ParameterError: if there is one.
    """
    for place, path in enumerate(outputs):
        if any(_same(path, other) for other in outputs[:place]):
            raise ParameterError("output.twice", path=path)
        if any(_same(path, other) for other in inputs):
            raise ParameterError("output.is-input", path=path)


def _same(first: Path, second: Path) -> bool:
    return first.resolve() == second.resolve() or (first.exists() and second.exists() and first.samefile(second))


def _refuse_inside(output: Path, folders: Sequence[Path]) -> None:
    """Refuse an output in a folder of inputs: the next run would read it too."""
    for folder in folders:
        if folder.is_dir() and output.resolve().is_relative_to(folder.resolve()):
            inside = output.resolve().relative_to(folder.resolve())
            if not any(name.startswith((".", "_")) for name in inside.parts):
                raise ParameterError("output.in-input", path=output, folder=folder)


_KERNELS = logging.getLogger("discreet.kernels")
_KERNELS.setLevel(logging.INFO)


class _Compiling(logging.Handler):
    """A note on the error stream, once and only on a terminal, that kernels are being compiled."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print the note, if the error stream is a terminal."""
        _KERNELS.removeHandler(self)
        if sys.stderr is not None and sys.stderr.isatty():
            click.echo(f"Note: {record.getMessage()}", err=True)


@contextmanager
def notes_on_errors() -> Iterator[None]:
    """Print the body's warnings, and that it compiles kernels, on the error stream: a line each, each once."""
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
"""Columns of the output where the width of the terminal is unknown."""
SIMULATED_REPORTS = "These reports are simulated with a known seed: they protect nobody."


def _stream() -> TextIO | None:
    """Return the stream of results: standard error if standard output takes a file (``-o -``)."""
    ctx = click.get_current_context(silent=True)
    piped = ctx is not None and str(ctx.params.get("output")) == "-"
    return sys.stderr if piped else sys.stdout


def record_of(result: Any, attributes: Mapping[str, str | Callable[[Any], Any]]) -> dict[str, Any]:
    """Return figures of a result by name: attributes, such as ``central.among.upper``, or functions of the result."""
    return {name: attrgetter(of)(result) if isinstance(of, str) else of(result) for name, of in attributes.items()}


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


def show(result: Any, parts: Iterable[str | ResultTable], *, whole: bool = False) -> None:
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


def say(parts: Iterable[str | ResultTable], *, whole: bool = False) -> None:
    """Print sentences, and tables with their notes, in order; ``whole`` as in `show`."""
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


def read_as_table(read_as: Mapping[tuple[str, str], int]) -> list[ResultTable]:
    """Return the table of values that were taken for the label that they read like; none where there are no such."""
    if not read_as:
        return []
    cells = [[name, visible(label), f"{count:,}"] for (name, label), count in sorted(read_as.items())]
    named = any(name for name, _ in read_as)
    headings = ["attribute", "label", "values"] if named else ["label", "values"]
    rows = cells if named else [row[1:] for row in cells]
    return [ResultTable.of("Read as", headings, rows, left=len(headings) - 1)]


def read_as_record(read_as: Mapping[tuple[str, str], int]) -> dict[str, Any]:
    """Return the same numbers, ready for JSON; nothing where there are none."""
    rows = [{"attribute": name, "label": label, "values": count} for (name, label), count in sorted(read_as.items())]
    return {"read_as": rows} if rows else {}


def alike_in(domains: Mapping[str, Domain]) -> tuple[list[str], dict[str, Any]]:
    """Return sentences on the labels of some domains that read alike, and the same for JSON; nothing if none do.

    Args:
        domains: by the name of a question; one plan's has an empty name.
    """
    alike = list(dict.fromkeys(_named(domains.items())))
    exact = any(domain.exact for domain in domains.values())
    record = {"exact": exact, "alike": [asdict(group) for group in alike]}
    return alike_sentences(alike, exact=exact), record if alike or exact else {}


def _named(domains: Iterable[tuple[str, Domain]]) -> Iterable[AlikeLabels]:
    for name, domain in domains:
        yield from (replace(group, attribute=group.attribute or name) for group in domain.alike)


def written(*files: Path | None) -> list[str]:
    """Return a sentence that names the files that were written, without standard output; empty if there are none."""
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
        besides = stack.enter_context(replacing_all([path for path, _ in named], force=force)) if named else []
        for (_, writer), beside in zip(named, besides, strict=True):
            writer(beside)


def save_picture(draw: Callable[[], Any]) -> Callable[[Path], None]:
    """Return a function of a path that saves the picture that ``draw`` makes."""

    def save(path: Path) -> None:
        kind = path.suffix.lower().removeprefix(".")
        draw().save(str(path), format=kind, **({"ppi": 144} if kind == "png" else {}))

    return save


def save_table(table: Callable[[], Any], facts: Callable[[], Any], path: Path) -> None:
    """Write a table of Arrow as CSV, Parquet or Arrow, or facts as JSON, by the name of the file."""
    from pyarrow import csv

    from discreet.formats.tallies import write_columns

    if ending(path) == ".csv":
        csv.write_csv(table(), str(path))
    elif ending(path) == ".json":
        path.write_text(json_text(facts()) + "\n", encoding="utf-8")
    else:
        write_columns(path, table())


def in_words(mechanism: Any) -> str:
    """Return the numbers of values and of protected values, the mechanism and epsilon, in words."""
    # RandomizedResponse is randomized response.
    title = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(mechanism).__name__).lower()
    return f"{mechanism.domain.in_words}, {title}, epsilon {mechanism.epsilon:g}"
