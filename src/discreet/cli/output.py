"""Output: one path to print, and files of results.

Outputs of verbs, checked before any work: all of them can be written, or the verb is refused.

Warnings as notes: on the error stream, or collected for the result.

``-`` as a file: standard input and standard output are temporary files while a verb runs.

So a verb reads and writes as it always does: damage and change are noticed, and either all of the output is sent on its
way, or nothing.

One way to print a result: built-ins for programs (JSON), sentences and tables for people.

Files that results are written to: all that are named, or none.
"""

import os
import shutil
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from discreet.errors import DiscreetError, ParameterError, SourceWarning
from discreet.files.paths import PICTURES, checked_output, ending
from discreet.files.writing import json_text

if TYPE_CHECKING:
    from rich.console import Console


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
            from discreet.files.paths import output_of

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
    from discreet.files.writing import check_folder, check_free
    from discreet.pictures.curves import check_drawing

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


@contextmanager
def notes_on_errors() -> Iterator[None]:
    """Print the warnings of the body for its user on the error stream, a line each, each of them once."""
    said = set[str]()

    def note(message: Warning | str, category: type[Warning], *place: Any, **named: Any) -> None:
        if not issubclass(category, UserWarning):
            others(message, category, *place, **named)
        elif str(message) not in said:
            said.add(str(message))
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
        kept = Path(folder) / "standard-input.jsonl"
        _keep(kept)
        try:
            yield [kept if source == STANDARD else source for source in sources]
        except DiscreetError as error:
            raise type(error)(str(error).replace(str(kept), "standard input")) from None


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
        kept = Path(folder) / f"standard-output{ending}"
        yield kept
        with kept.open("rb") as file:
            sys.stdout.flush()
            shutil.copyfileobj(file, sys.stdout.buffer)
            sys.stdout.buffer.flush()


# What draws is dear to import, and help needs none of it.

_MOST_COLUMNS = 200
SIMULATED_REPORTS = "These reports are simulated with a known seed: they protect nobody."

# Beside each column of a table; and how narrow text may be folded.
_BORDERS, _FOLDED = 3, 12


@cache
def _console() -> "type[Console]":
    from rich.console import Console

    class PlainConsole(Console):
        def on_broken_pipe(self) -> None:
            """Raise the error for the verb to handle; exit code 1, which rich would give, means a broken promise."""
            raise BrokenPipeError

    return PlainConsole


def console() -> "Console":
    """Return the console of tables; of a width that suffices where neither a terminal nor COLUMNS gives one.

    That is the error stream where standard output takes a file (``-o -``).
    """
    # A program without them discards what it prints.
    out = (sys.stderr if _output_is_piped() else sys.stdout) or StringIO()
    # No markup, no emoji: labels and file names are shown as they are.
    plain: dict[str, Any] = {"file": out, "highlight": False, "markup": False, "emoji": False}
    looked_at = out.isatty() or os.environ.get("COLUMNS", "").isdecimal()
    return _console()(**plain) if looked_at else _console()(**plain, width=_MOST_COLUMNS)


def _output_is_piped() -> bool:
    ctx = click.get_current_context(silent=True)
    return ctx is not None and str(ctx.params.get("output")) == "-"


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
    cells: Sequence[Sequence[str]]
    left: int = 1


def show(result: Any, parts: Iterable[str | Table], *, as_json: bool, whole: bool = False) -> None:
    """Print a result: its built-ins as JSON, or its sentences and tables in order.

    Args:
        result: anything that `built_ins` takes.
        parts: sentences and tables; read only if they are printed.
        as_json: whether JSON is printed.
        whole: whether sentences longer than the terminal are left to it, so that they can be copied.
    """
    if as_json:
        click.echo(json_text(built_ins(result), indent=2))
        return
    for part in parts:
        if isinstance(part, Table):
            show_table(part.title, part.headings, part.cells, left=part.left)
        elif whole:
            print_lines([part])
        else:
            _print_sentence(part)


def _print_sentence(sentence: str) -> None:
    """Print a sentence; rich, which folds long ones, is imported if it has to."""
    out, plain = sys.stderr if _output_is_piped() else sys.stdout, sentence.isascii() and len(sentence) <= _MOST_COLUMNS
    if not plain or out is None or out.isatty() or "COLUMNS" in os.environ:
        console().print(sentence)
        return
    click.echo(sentence, file=out)


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
    return [f"Left out: {count:,} rows that {reason}." for reason, count in left_out.items()]


def written(*files: Path | None) -> list[str]:
    """Return a sentence that names the files that were written, if any were; standard output is none."""
    named = [str(file) for file in files if file is not None and str(file) != "-"]
    return [f"Written: {', '.join(named)}."] if named else []


def print_lines(lines: Sequence[str]) -> None:
    """Print sentences, a line each; what is longer than the terminal is left to it, so that it can be copied whole.

    They may quote a document that nobody has checked, so that what would steer the terminal is shown as a mark.
    """
    for line in lines:
        console().print("".join(one if one.isprintable() else "\ufffd" for one in line), soft_wrap=True)


def show_table(title: str, headings: Sequence[str], cells: Sequence[Sequence[str]], *, left: int = 1) -> None:
    """Print a table; the first ``left`` columns are text, the others numbers.

    Where the terminal is narrow, text is folded; a number never is. Numbers that find no room go into further tables;
    if not one does, the table is a list: a row's text, and below it a line for each number.
    """
    from rich.table import Table

    out, least = console(), _least_widths(headings, cells, left)
    text, columns = range(left), list(range(left, len(headings)))
    parts: list[list[int]] = [[]]
    for place in columns:
        if parts[-1] and _across(least, [*text, *parts[-1], place]) > out.width:
            parts.append([])
        parts[-1].append(place)
    if any(_across(least, [*text, *part]) > out.width for part in parts):
        _show_list(out, title, headings, cells, left)
        return
    for number, part in enumerate(parts):
        drawn = Table(title=title if not number else f"{title}, continued", title_justify="left", title_style="bold")
        shown = [*text, *part]
        for place, width in zip(shown, _widths(least, shown, headings, cells, out.width), strict=True):
            justify: Any = "left" if place < left else "right"
            drawn.add_column(headings[place], justify=justify, overflow="fold", width=width)
        for row in cells:
            drawn.add_row(*(row[place] for place in shown))
        out.print(drawn)


def _across(widths: Sequence[int], shown: Sequence[int]) -> int:
    return sum(widths[place] for place in shown) + _BORDERS * len(shown) + 1


def _least_widths(headings: Sequence[str], cells: Sequence[Sequence[str]], left: int) -> list[int]:
    """Return the least width of each column: of its widest number, or of text as it may be folded."""
    from rich.cells import cell_len

    widths = []
    for place, heading in enumerate(headings):
        words = max(cell_len(word) for word in heading.split() or [""])
        widest = max((cell_len(row[place]) for row in cells), default=0)
        widths.append(max(words, min(widest, _FOLDED) if place < left else widest))
    return widths


def _widths(
    least: Sequence[int], shown: Sequence[int], headings: Sequence[str], cells: Sequence[Sequence[str]], most: int
) -> list[int]:
    """Return the width of each column: in turn they take the room that is left, up to their widest."""
    from rich.cells import cell_len

    widths, room = [], most - _across(least, shown)
    for place in shown:
        widest = max(cell_len(headings[place]), *(cell_len(row[place]) for row in cells), 0)
        more = min(max(widest - least[place], 0), room)
        widths.append(least[place] + more)
        room -= more
    return widths


def _show_list(out: "Console", title: str, headings: Sequence[str], cells: Sequence[Sequence[str]], left: int) -> None:
    out.print(title, style="bold")
    for row in cells:
        # Longer than the terminal, a line is left to it: it can be copied whole.
        out.print(", ".join(cell for cell in row[:left] if cell) or "-", soft_wrap=True)
        for heading, cell in zip(headings[left:], row[left:], strict=True):
            out.print(f"  {heading}: {cell}", soft_wrap=True)


def write_results(
    output: Path | None, writers: Mapping[Path | None, Callable[[Path], None]], write: Any, force: bool
) -> None:
    """Write files.

    Args:
        output: the file of the result, ``-`` for standard output; None for none.
        writers: functions that write the other files, by name; None for those that are not named.
        write: a function that writes the result.
        force: whether files that exist are replaced.

    Raises:
        OutputExistsError: if a file exists and is not to be replaced.
    """
    from discreet.files.writing import replacing_all

    with ExitStack() as stack:
        target = None if output is None else stack.enter_context(sent(output, ".csv"))
        named = [(path, one) for path, one in {target: write, **writers}.items() if path is not None]
        besides = stack.enter_context(replacing_all([path for path, _ in named], force=force))
        for (_, one), beside in zip(named, besides, strict=True):
            one(beside)


def write_table(path: Path, table: Any, facts: Callable[[], Any]) -> None:
    """Write a table as CSV, Parquet or Arrow, or facts as JSON, by the file's name."""
    from pyarrow import csv

    from discreet.files.writing import json_text
    from discreet.formats.tallies import write_columns

    if ending(path) == ".csv":
        csv.write_csv(table, str(path))
    elif ending(path) == ".json":
        path.write_text(json_text(facts()) + "\n", encoding="utf-8")
    else:
        write_columns(path, table)
