"""The option ``--known`` of ``risk traces``: a release without names beside an attacker's table with names."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from discreet.cli.options import OptionGroup, option, progress_bar, refuse_idle
from discreet.cli.output import InputFile, built_ins, record_of
from discreet.core.domain import Domain
from discreet.core.result_table import ResultTable, number_of
from discreet.risk.events import asked_columns, read_linked
from discreet.risk.linkage import Linkage
from discreet.risk.traces import Split
from discreet.risk.verbs.gates import end_above

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
    known_event: str | None = option(
        "--known-event", metavar="COLUMN", needs=_NEEDS, help="Its column of events. [--event]"
    )
    known_time: str | None = option(
        "--known-time", metavar="COLUMN", needs=_NEEDS, help="Its column of times. [--time]"
    )

    def read(
        self, release: Sequence[str | Path], columns: tuple[str, str, str | None], domain: Domain | None, missing: str
    ) -> Split:
        """Return the traces of the release as target, and the known traces as training."""
        assert self.known is not None
        refuse_idle(["split", "least", "attack", "alone", "largest_list"], _ONE_TABLE)
        others = self.known_user, self.known_event, self.known_time
        user, event, time = (other or column for other, column in zip(others, columns, strict=True))
        asked = asked_columns(*columns, domain), asked_columns(str(user), str(event), time, domain)
        with progress_bar("reading the events") as progress:
            how = partial(progress, "reading the events")
            return read_linked(release, self.known, asked=asked, missing=missing, progress=how)


_NAMING = ("rule", "named", "precision", "recall", "false")
_FACTS: dict[str, Any] = {
    "attack": "attack",
    "known": "known",
    "traces": lambda linkage: linkage.inside + linkage.outside,
    "traces_of_known_users": "inside",
    "risk": "risk",
    "success": "recall",
    "identification_at_most": "bound",
    "named": "namings",
    "named_by_permuted_names": "chance",
    "traces_of_which_nothing_was_learned": "unlearned",
    "level": "level",
    "in_words": "sentences",
}


def linkage_record(linkage: Linkage, split: Split) -> dict[str, Any]:
    """Return the figures of a linkage for programs."""
    left_out = {"rows_left_out": split.target.left_out, "known_rows_left_out": split.training.left_out}
    record: dict[str, Any] = built_ins({**record_of(linkage, _FACTS), **left_out})
    return record


def linkage_parts(linkage: Linkage, split: Split) -> list[str | ResultTable]:
    """Return the table of outcomes and the sentences."""
    sides = (("release", split.target.left_out), ("known table", split.training.left_out))
    left_out = [
        f"Left out of the {side}: {number_of(rows, 'row')} in which a user, an event or a time is missing."
        for side, rows in sides
        if rows
    ]
    return [*left_out, linkage.view()]


def gate_linkage(linkage: Linkage, fail_above: float | None) -> None:
    """Exit with 1 if the identification risk of a user in both tables may exceed the limit."""
    if fail_above is None or linkage.risk <= fail_above:
        return
    asked = "what no attack exceeds"
    if linkage.bound is None:
        nothing = f", and the {linkage.unlearned:.2%} of which nothing was learned" if linkage.unlearned else ""
        asked = f"upper limit of what is named right if all traces are named{nothing}"
    end_above(
        f"The identification risk of users in both tables, {linkage.risk:.4g} ({asked}), is above {fail_above:g}."
    )
