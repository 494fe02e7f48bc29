"""The option ``--known`` of ``risk traces``: a release without names beside an attacker's table with names."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from discreet.cli.options import OptionGroup, option, progress_bar, refuse_idle
from discreet.cli.output import InputFile, built_ins
from discreet.core.domain import Domain
from discreet.core.result_table import ResultTable, number_of
from discreet.risk.events import asked_columns, read_linked
from discreet.risk.linkage import Linkage
from discreet.risk.traces import Split
from discreet.risk.verbs.events import Events

_ONE_TABLE = "with --known the attacker knows that table, and compares with all of it"
_NEEDS = {"known": "{} goes with --known; leave it out."}


@dataclass(frozen=True, slots=True)
class KnownTable(OptionGroup):
    """The table that the attacker knows, with names, and its columns."""

    known: str | Path | None = option(
        "--known",
        type=InputFile(urls=True),
        metavar="TABLE",
        help="Events that the attacker has of some of the users, and of others.",
    )
    known_user: str | None = option(
        "--known-user", metavar="COLUMN", needs=_NEEDS, help="Its column of users, as those of the release. [--user]"
    )
    known_event: tuple[str, ...] = option(
        "--known-event", multiple=True, metavar="COLUMN", needs=_NEEDS, help="Its columns of events. [--event]"
    )
    known_time: str | None = option(
        "--known-time", metavar="COLUMN", needs=_NEEDS, help="Its column of times. [--time]"
    )

    def read(self, release: Sequence[str | Path], events: Events, domain: Domain | None) -> Split:
        """Return the traces of the release as target, and the known traces as training."""
        assert self.known is not None
        refuse_idle(["split", "least"], _ONE_TABLE)
        user, event, time = self.known_user or events.user, self.known_event or events.event, self.known_time
        asked = (
            asked_columns(events.user, events.event, events.time, domain),
            asked_columns(user, event, time or events.time, domain),
        )
        with progress_bar("reading the events") as progress:
            how = partial(progress, "reading the events")
            about: dict[str, Any] = {"missing": events.missing, "unit": events.unit, "progress": how}
            return read_linked(release, self.known, asked=asked, **about)


def linkage_record(linkage: Linkage, split: Split) -> dict[str, Any]:
    """Return the figures of a linkage for programs, beside the assessment's."""
    inside = len(linkage.assessment.places.users)
    record: dict[str, Any] = built_ins(
        {
            "known": linkage.assessment.users,
            "traces": inside + linkage.strangers,
            "traces_of_known_users": inside,
            "claims": linkage.claims,
            "known_rows_left_out": split.training.left_out,
        }
    )
    return record


def linkage_parts(linkage: Linkage, split: Split) -> list[str | ResultTable]:
    """Return the sentence on the users in both tables, and the table of claims."""
    inside, rows = linkage_record(linkage, split)["traces_of_known_users"], split.training.left_out
    left_out = f" Left out of the known table: {number_of(rows, 'row')} in which something is missing."
    both = (
        f"{inside:,} of the {inside + linkage.strangers:,} traces have a known user, and all figures above are of "
        f"these. The attacker does not know which traces these are.{left_out if rows else ''}"
    )
    return [both, *([linkage.table()] if linkage.claims else [])]
