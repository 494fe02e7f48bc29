"""The table of events for verbs on risk: its columns, the expected time of an attack, and the evidence of a result."""

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import click

from discreet import __version__
from discreet.cli.options import Count, OptionGroup, option, progress_bar
from discreet.core.domain import Domain
from discreet.core.result_table import number_of
from discreet.files.paths import is_url, shown
from discreet.files.reading import digest
from discreet.risk.clock import UNITS
from discreet.risk.events import read_traces
from discreet.risk.traces import Split, Traces
from discreet.tables.scan import table_files

ARGUMENTS = "discreet.risk.arguments"
"""The name under which a verb's context stores its arguments, as they were given."""

VARIES = "Random choices are a part of this, so figures vary from run to run; --seed repeats them."


@dataclass(frozen=True, slots=True)
class Events(OptionGroup):
    """The columns of the table of events, and the attacker's knowledge of each user."""

    user: str = option("--user", default="user", help="Column that says whose event it is.")
    event: tuple[str, ...] = option(
        "--event",
        default=["event"],
        multiple=True,
        help="Column of events; two for pairs, as place and category, or latitude and longitude.",
    )
    time: str | None = option("--time", help="Column by which a user's events are ordered. [order of the rows]")
    unit: str | None = option(
        "--time-unit",
        needs={"time": "{} goes with --time; leave it out."},
        metavar="UNIT",
        help=f"Unit of times that are numbers: {', '.join(UNITS[:-1])}, or order (no unit). [s to ns, if certain]",
    )
    missing: str = option(
        "--missing",
        type=click.Choice(["refuse", "drop"]),
        default="refuse",
        help="Rows without user, event or time: refuse, or leave out.",
    )
    split: str = option(
        "--split",
        default="half",
        help="What the attacker knows of each user: half (the first half), all, first:N, rest:N, time:WHEN.",
    )
    least: int = option("--least", type=Count(1), default=2, help="Leave out users with fewer events.")

    def read(self, tables: Sequence[str | Path], domain: Domain | None = None, *, keep_labels: bool = False) -> Traces:
        """Return the traces in the tables."""
        columns: dict[str, Any] = {"user": self.user, "event": self.event, "time": self.time, "missing": self.missing}
        columns |= {"unit": self.unit}
        with progress_bar("reading the events") as progress:
            how = partial(progress, "reading the events")
            columns |= {"keep_times": self.time is not None, "keep_labels": keep_labels}
            return read_traces(tables, domain=domain, progress=how, **columns)


def left_out_of(read: Traces, split: Split) -> list[str]:
    """Return sentences on the rows and the users that were omitted."""
    users = read.users - split.target.users
    rows = [f"Left out: {number_of(read.left_out, 'row')} in which a user, an event or a time is missing."]
    few = [f"Left out: {users:,} of {number_of(read.users, 'user')}, for too few events; nothing is said of them."]
    return rows * (read.left_out > 0) + few * (users > 0)


def evidence_of(tables: Sequence[str | Path], plans: Iterable[Path], read: Traces) -> dict[str, Any]:
    """Return the files, the command and the version behind an assessment, so that others can repeat it."""
    arguments = click.get_current_context().meta[ARGUMENTS]
    files = [*table_files(tables), *plans]
    return {
        "command": shlex.join(
            ["discreet", "risk", *(shown(argument) if is_url(argument) else argument for argument in arguments)]
        ),
        "version": __version__,
        "rows_read": len(read) + read.left_out,
        "files": [{"file": str(file), "bytes": file.stat().st_size, "sha256": digest(file)} for file in files],
    }
