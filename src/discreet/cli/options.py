"""Options that several commands share: their types, and classes of options that belong together.

A command takes options that belong together as one dataclass; the decorator ``options`` of the class declares them.
Rules for combining an option with others are part of the option (`discreet.cli.commands.ConditionalOption`).
"""

import re
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from decimal import Decimal
from functools import partial, wraps
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from discreet.cli.commands import ConditionalOption, idle
from discreet.cli.output import InputFile, OutputFile, given_options
from discreet.files.paths import PICTURES

if TYPE_CHECKING:
    from discreet.engines import Engine
    from discreet.files.paths import File
    from discreet.files.reading import Progress
    from discreet.formats.plan import Plan
    from discreet.formats.sources import Sources
    from discreet.tables.text import CellFormat

if TYPE_CHECKING:
    _Whole = click.ParamType[int]
else:
    # In older versions of click, ParamType is not generic.
    _Whole = click.ParamType

_COUNT = re.compile(r"[+-]?\d+(_\d+)*(\.\d+)?(e\+?\d{1,2})?", re.ASCII | re.IGNORECASE)


GROUPS = "by weights shares minimum small"
"""The options of groups and weights, as a condition."""

NOT_WITH_GROUPS = "it cannot be used with --by or --weights"


class Count(_Whole):
    """A type of option: a whole number, written as 100000, 100_000 or 1e5.

    Args:
        least: the smallest number allowed; None if the function that takes the number checks it.
    """

    name = "count"

    def __init__(self, least: int | None = None) -> None:
        self.least = least

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the whole number that a text states."""
        if isinstance(value, int):
            return value
        number = Decimal(value.replace("_", "")) if _COUNT.fullmatch(value) else Decimal("NaN")
        # 1.5e0 is not a whole number. 1.0 is an error too, because measured numbers are written like that.
        point = "." in value and "e" not in value.lower()
        if not number.is_finite() or point or number != number.to_integral_value():
            self.fail(f"{value!r} is not a whole number. Write it as 100000, 100_000 or 1e5.", param, ctx)
        if self.least is not None and number < self.least:
            self.fail(f"it must be at least {self.least}, got {value}.", param, ctx)
        return int(number)


class ShareOf(click.FloatRange):
    """A type of option: a number from 0 to 1. The help text does not show the range."""

    def __init__(self) -> None:
        super().__init__(0, 1)

    def _describe_range(self) -> str:
        return ""


PICTURE = OutputFile("pictures", PICTURES)

seed = click.option("--seed", type=int, help="Seed for a simulation. Simulated reports are marked and protect nobody.")


def option(*names: str, **about: Any) -> Any:
    """Declare an option as a field of an `OptionGroup`; arguments as for `click.option` and `ConditionalOption`."""
    return field(metadata={"option": partial(click.option, *names, **{"cls": ConditionalOption, **about})})


class OptionGroup:
    """Options that belong together: the base of frozen dataclasses whose fields are made by `option`."""

    @classmethod
    def options(cls, verb: Callable[..., Any]) -> Callable[..., Any]:
        """Decorate a command with the options of this class. The command gets them as one argument of this class."""
        (parameter,) = (name for name, kind in verb.__annotations__.items() if kind is cls)
        parts = [part for part in fields(cls) if "option" in part.metadata]  # type: ignore[arg-type]

        @wraps(verb)
        def called(*args: Any, **named: Any) -> Any:
            struct = cls(**{part.name: named.pop(part.name) for part in parts})
            return verb(*args, **named, **{parameter: struct})

        decorated: Any = called
        for part in reversed(parts):
            decorated = part.metadata["option"](part.name)(decorated)
        return decorated  # type: ignore[no-any-return]

    @classmethod
    def only(cls, name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Return a decorator that adds one option of this class to a command. The command gets it as an argument."""
        (part,) = (part for part in fields(cls) if part.name == name)  # type: ignore[arg-type]
        return part.metadata["option"](name)  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True)
class WriteOptions(OptionGroup):
    """The option that allows a command to replace its output files.

    Attributes:
        force: whether output files that exist are replaced.
    """

    force: bool = option("--force", is_flag=True, help="Replace output files that exist.")


force = WriteOptions.only("force")


NOT_TRUSTED: dict[str, Any] = {
    "type": Count(0),
    "default": 0,
    "help": "Number of reports in each batch that are fake or known to the reader.",
}
"""The option ``--not-trusted`` of a verb that prints a privacy statement."""


ENGINES = {"local": "discreet.engines.engine", "spark": "discreet.spark.engine"}
"""Modules of engines, each with a context manager ``running``: names only, since the core imports no wing."""


@dataclass(frozen=True, slots=True)
class ReadOptions(OptionGroup):
    """Options for reading reports: the engine, files without a plan's fingerprint, and invalid rows.

    Attributes:
        trust_plan: whether files without a plan's fingerprint are accepted.
        engine: the engine that reads the files.
        master: the URL of the Spark cluster.
        bad_share: the share of invalid rows that may be left out.
    """

    trust_plan: bool = option(
        "--trust-plan",
        is_flag=True,
        help="Accept files that do not name their plan. Use it only if you know that they belong to the plan.",
    )
    engine: str = option(
        "--engine",
        type=click.Choice(list(ENGINES)),
        default="local",
        help="Where to count reports: on this machine, or on a Spark cluster.",
    )
    master: str | None = option(
        "--master",
        metavar="URL",
        needs={"engine=spark": "it needs --engine spark"},
        help="With --engine spark: URL of the cluster. [Spark's configuration]",
    )
    bad_share: float = option(
        "--bad-rows",
        type=ShareOf(),
        default=0.0,
        metavar="SHARE",
        bars={GROUPS: NOT_WITH_GROUPS},
        help="Largest share (0 to 1) of invalid rows that are left out and counted.",
    )

    count: str | None = option("--count", metavar="COLUMN", help="Column with the number of reports of each row.")

    def sources(self, reports: "Sequence[str | File]", progress: "Progress | None" = None) -> "Sources":
        """Return the files of reports as `Sources` with these options."""
        from discreet.formats.sources import Sources

        about: Any = {"bad_share": self.bad_share, "trust_plan": self.trust_plan, "count": self.count}
        return Sources(reports, progress=progress, **about)

    @contextmanager
    def running(self, memory: int | None = None) -> Iterator["Engine"]:
        """Yield the engine, with a memory limit for reports in megabytes. Afterwards a Spark session is stopped."""
        module = import_module(ENGINES[self.engine])
        with module.running(master=self.master, memory=None if memory is None else memory * 1_000_000) as engine:
            yield engine


@dataclass(frozen=True, slots=True)
class TableOptions(OptionGroup):
    """Options for printed results: confidence intervals, the number of values shown, and the privacy statement.

    Attributes:
        level: the confidence level of the intervals.
        simultaneous: whether the level holds for all intervals together.
        largest: the number of values shown.
        statement: whether the privacy statement is asked for.
        not_trusted: for the statement, the number of reports in each batch that are fake or known to the reader.
    """

    level: float = option("--level", type=float, default=0.95, help="Confidence level of the intervals.")
    simultaneous: bool = option(
        "--simultaneous", is_flag=True, help="Make the confidence level hold for all intervals together."
    )
    largest: int = option("--largest", type=Count(1), default=15, help="Number of values to show, the largest shares.")
    statement: bool = option(
        "--statement", is_flag=True, help="Also print what publishing this result reveals about a person."
    )
    not_trusted: int = option("--not-trusted", needs={"statement": "{} needs --statement."}, **NOT_TRUSTED)

    @property
    def limits(self) -> dict[str, Any]:
        """The keyword arguments of confidence intervals: `level` and `simultaneous`."""
        return {"level": self.level, "simultaneous": self.simultaneous}


AS_READ: dict[str, Any] = {
    "is_flag": True,
    "help": "Read a text that is not a label as the label that looks the same, if there is only one.",
}
"""The option ``--as-read`` of a verb that reads people's values."""
FLOAT32: dict[str, Any] = {"is_flag": True, "help": "Round numbers to float32, if they once were float32."}
"""The option ``--float32`` of a verb that reads people's values."""


@dataclass(frozen=True, slots=True)
class Written(OptionGroup):
    """Options for how the cells of a table are written.

    Attributes:
        decimal: the decimal mark of numbers.
        as_missing: texts that mean a missing cell.
        dates: the order of the day and the month in dates.
    """

    decimal: str = option("--decimal", type=click.Choice([".", ","]), default=".", help="Decimal mark of numbers. [.]")
    as_missing: tuple[str, ...] = option(
        "--as-missing", multiple=True, metavar="TEXT", help="Text that means a missing cell. May be repeated."
    )
    dates: str | None = option("--dates", type=click.Choice(["day-first", "month-first"]), help="Order in 3/4/2026.")

    @property
    def spelling(self) -> "CellFormat":
        """The format of cells that the options describe."""
        from discreet.tables.text import CellFormat

        return CellFormat(self.decimal, self.as_missing, self.dates or "")

    @property
    def repeated(self) -> str:
        """The same options as text, for the next command that is printed."""
        options = [("--decimal", self.decimal), ("--dates", self.dates)]
        chosen = [*options, *(("--as-missing", text) for text in self.as_missing)]
        return "".join(f"{name} {shlex.quote(text)} " for name, text in chosen if text not in (None, "."))


@dataclass(frozen=True, slots=True)
class PeopleColumns(Written):
    """Options for a table of people's values: its columns, and the file of secret values.

    Attributes:
        column: the column of values.
        user: the column with the user of each row.
        tags: the file of secret values.
        as_read: whether a text that is no label is read as the only label that reads alike.
        float32: whether columns of float64 are read as float32.
    """

    column: str | None = option("--column", help="Column of the values. [the only column]")
    user: str | None = option("--user", help="For personalized plans: column of the users.")
    tags: Path | None = option(
        "--tags", type=InputFile(), help="For personalized plans: table of secret values (columns user, value, tag)."
    )
    as_read: bool = option("--as-read", **AS_READ)
    float32: bool = option("--float32", **FLOAT32)


def outside(**rules: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return the option ``--allow-outside``: a plan may name files outside its folder.

    `rules` are for `ConditionalOption`.
    """
    return click.option(
        "--allow-outside",
        cls=ConditionalOption,
        is_flag=True,
        expose_value=False,
        help="Allow the plan to name files outside the plan's folder.",
        **rules,
    )


allow_outside = outside()


def allows_outside() -> bool:
    """Return true if ``--allow-outside`` was given to the running command."""
    return "allow_outside" in given_options()


def load_plan(path: Path) -> "Plan":
    """Read a plan. It may name files outside its folder if ``--allow-outside`` was given.

    Raises:
        ParameterError: if the plan cannot be read or has an entry that is not valid; it names the entry.
    """
    from discreet.formats.plan import Plan

    return Plan.load(path, allow_outside=allows_outside())


def at_a_terminal() -> bool:
    """Return true if standard input is a terminal, so that the user can be asked."""
    return sys.stdin is not None and sys.stdin.isatty()


@contextmanager
def progress_bar(text: str) -> Iterator[Any]:
    """Show a progress bar on the error stream during the body, if the error stream is a terminal.

    Yields:
        a function of (text, steps done, number of all steps or None).
    """
    if sys.stderr is None or not sys.stderr.isatty():
        yield lambda *_: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn()
    shown = Console(file=sys.stderr)
    with Progress(*columns, console=shown, transient=True) as bar:
        task = bar.add_task(text, total=None)
        yield lambda what, done, total: bar.update(task, description=what, completed=done, total=total)


def refuse_idle(names: Sequence[str], why: str) -> None:
    """Raise an error if one of these options was given. `why` is the reason for which they have no effect here.

    Raises:
        ParameterError: if one of the options was given.
    """
    passed = given_options()
    for name in names:
        if name in passed:
            raise idle(passed[name], why)
