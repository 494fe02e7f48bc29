"""Options that several verbs have, and types of parameters.

Types of parameters: counts of people and reports, times, lengths of time and public keys.

Options that several verbs have.

Values and secret places as people type them, in arguments or in a line of standard input.

Loading of plans by verbs: their files must lie beside them or below, unless ``--allow-outside`` is given.

Progress on the error stream.

The engine that goes through the reports of a verb: this machine, or a cluster.
"""

import re
import sys
import warnings
from base64 import b64decode, b64encode
from binascii import Error
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from discreet.cli.group import given_options
from discreet.cli.output import OutputFile
from discreet.errors import ParameterError
from discreet.files.paths import PICTURES

if TYPE_CHECKING:
    from discreet.engines import Engine
    from discreet.formats.plan import Plan

if TYPE_CHECKING:
    _Whole = click.ParamType[int]
    _Bytes = click.ParamType[bytes]
else:
    # Older versions of click do not say what a type makes.
    _Whole = _Bytes = click.ParamType

_COUNT = re.compile(r"[+-]?\d+(_\d+)*(\.\d+)?(e\+?\d{1,2})?", re.ASCII | re.IGNORECASE)

_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
_LENGTH = re.compile(r"(\d{1,12})([smhdw]?)", re.ASCII)
_KEY_BYTES = 32
_MOST_DIGITS = 20


class Count(_Whole):
    """A whole number in each form of a large one: 100000, 100_000 or 1e5.

    Args:
        least: the smallest that there may be; None if what takes it says so itself.
    """

    name = "count"

    def __init__(self, least: int | None = None) -> None:
        self.least = least

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the number."""
        if isinstance(value, int):
            return value
        number = Decimal(value.replace("_", "")) if _COUNT.fullmatch(value) else Decimal("NaN")
        # 1.5e0 is no count of anything, nor is 1.0, which is how measured numbers are written.
        point = "." in value and "e" not in value.lower()
        if not number.is_finite() or point or number != number.to_integral_value():
            self.fail(f"{value!r} is no whole number; write it as 100000, 100_000 or 1e5.", param, ctx)
        if self.least is not None and number < self.least:
            self.fail(f"it must be at least {self.least}, got {value}.", param, ctx)
        return int(number)


class Length(_Whole):
    """A length of time in seconds: 90, 90s, 15m, 12h, 1d or 2w."""

    name = "length"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return seconds."""
        if isinstance(value, int):
            return value
        found = _LENGTH.fullmatch(value)
        if found is None:
            self.fail(f"{value!r} is no length of time; write it as 90s, 15m, 12h, 1d or 2w.", param, ctx)
        return int(found[1]) * _UNITS[found[2]]


class Timestamp(_Whole):
    """A time in seconds since 1970: such a number, or 2027-01-31, or 2027-01-31T12:00; in UTC where no zone is said."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return seconds."""
        if isinstance(value, int) or (value.isascii() and value.isdecimal() and len(value) <= _MOST_DIGITS):
            return int(value)
        try:
            moment = datetime.fromisoformat(value)
            return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())
        except (ValueError, OverflowError):
            self.fail(f"{value!r} is no time; write it as 2027-01-31 or 2027-01-31T12:00.", param, ctx)


class PublicKey(_Bytes):
    """A public key as `discreet collection key` prints it."""

    name = "key"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> bytes:
        """Return 32 bytes."""
        if isinstance(value, bytes):
            return value
        try:
            key = b64decode(value, validate=True)
        except (Error, ValueError):
            key = b""
        if len(key) != _KEY_BYTES:
            self.fail("a public key must be 44 letters of base64, as `discreet collection key` prints it.", param, ctx)
        return key


def spelled_key(key: bytes) -> str:
    """Return a public key as it is printed."""
    return b64encode(key).decode()


PICTURE = OutputFile("pictures", PICTURES)

as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")
force = click.option("--force", is_flag=True, help="Replace output files that exist.")
seed = click.option("--seed", type=int, help="Seed for a simulation; such reports are marked and protect nobody.")
bad_rows = click.option(
    "--bad-rows",
    type=click.FloatRange(0, 1),
    default=0.0,
    show_default=True,
    metavar="SHARE",
    help="Share of rows that no device can have sent and that may be left out; they are counted.",
)
engine = click.option(
    "--engine",
    type=click.Choice(["local", "spark"]),
    default="local",
    show_default=True,
    help="What goes through the reports: this machine, or a Spark cluster whose executors see the same files.",
)
master = click.option("--master", metavar="URL", help="For --engine spark: where it runs. [what Spark is set up for]")
trust_plan = click.option(
    "--trust-plan",
    is_flag=True,
    help="Read files that another tool rewrote and that no longer say their plan: you vouch that all are of PLAN.",
)
manifest = click.option(
    "--manifest", is_flag=True, help="Refuse folders that hold other files or bytes than their manifests say."
)


_ALLOWED = "discreet.allow_outside"


def _note(ctx: click.Context, _: click.Parameter, given: bool) -> None:
    ctx.meta[_ALLOWED] = given


allow_outside = click.option(
    "--allow-outside",
    is_flag=True,
    expose_value=False,
    callback=_note,
    help="Let the plan name files that are neither beside it nor below.",
)


def allows_outside() -> bool:
    """Return true if the running verb was given ``--allow-outside``."""
    ctx = click.get_current_context(silent=True)
    return ctx is not None and bool(ctx.meta.get(_ALLOWED, False))


def load_plan(path: Path) -> "Plan":
    """Read a plan, with files outside its folder if the running verb allows them.

    Raises:
        ParameterError: if it cannot be read or says what it may not; it names the place.
    """
    from discreet.formats.plan import Plan

    return Plan.load(path, allow_outside=allows_outside())


@contextmanager
def progress_bar(text: str) -> Iterator[Any]:
    """Show a progress bar on the error stream during the body; nothing if that is not a terminal.

    Yields:
        a function of (text, steps done, steps in all or None).
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
    """Refuse options that were given and do nothing.

    Raises:
        ParameterError: if one of them was given.
    """
    given = given_options()
    for name in names:
        if name in given:
            raise ParameterError(f"{given[name]} does nothing here: {why}; leave it out.")


@contextmanager
def running_engine(name: str, master: str | None, memory: int | None, temporary: Path | None) -> Iterator["Engine"]:
    """Yield the engine of ``--engine``; a Spark session is stopped afterwards.

    Args:
        name: of the engine.
        master: where Spark runs.
        memory: megabytes that reports may take in memory.
        temporary: folder for the rest.

    Raises:
        ParameterError: if an option goes with the other engine.
    """
    if name == "local":
        from discreet.engines import LocalEngine

        refuse_idle(["master"], "it goes with --engine spark")
        most = None if memory is None else memory * 1_000_000
        yield LocalEngine(memory=most, folder=temporary)
        return
    from discreet.engines import spark

    refuse_idle(["memory", "temporary"], "it goes with --engine local")
    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
    running = spark.session(master, **spark.QUIET)
    try:
        yield spark.SparkEngine(running)
    finally:
        running.stop()
