"""Statements of verbs on what they publish: options, sentences and record, columns beside reports included."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from discreet.cli.options import Count

if TYPE_CHECKING:
    from discreet.formats.plan import Plan
    from discreet.privacy.publication import Publication

_MOST_CELLS = 100_000
_VOUCHED = "That the files hold reports of this plan, and none that is simulated, is the word of whoever trusts them."
_FORGOTTEN = "A tally of an earlier version is among them, of which nobody can tell what else counts its reports too."
_NOT_COUNTED = "Columns beside the reports are not counted here: each cell of theirs that is published is a batch."

not_trusted_option = click.option(
    "--not-trusted",
    type=Count(0),
    default=0,
    show_default=True,
    help="Reports of each batch that hide nobody (known, faked, made elsewhere), for what is said of a person.",
)
no_central_option = click.option(
    "--no-central", is_flag=True, help="Leave out what is said of a person who is in what is published."
)


@dataclass(frozen=True, slots=True)
class Statement:
    """The statement of a verb on what it publishes.

    Attributes:
        alone: what is published by itself.
        wider: the same if the columns beside the reports, or the files, are published too; None without such columns.
    """

    alone: "Publication"
    wider: "Publication | None" = None

    def record(self) -> dict[str, Any]:
        """Return the statement ready for JSON."""
        wider = {} if self.wider is None else {"publication_with_columns": self.wider.to_dict()}
        return {"publication": self.alone.to_dict(), **wider}

    def parts(self) -> Iterator[str]:
        """Yield a line on a person, another one where there are columns beside the reports, and the conditions."""
        if self.alone.simulated:
            return
        person, conditions = self.alone.lines()
        yield person
        if self.wider is not None:
            yield " ".join(self.wider.person())
        yield conditions if self.alone.none else f"Conditions: {conditions}"


@dataclass(frozen=True, slots=True)
class Publishing:
    """The question that a verb was asked, as far as its statement needs it.

    Attributes:
        plan: of the reports.
        sources: of reports; none where no column can stand beside them.
        not_trusted: reports of each batch that hide nobody.
        trust_plan: whether files were taken on the caller's word.
        counted: whether columns beside the reports can be counted here.
        left_out: rows that are no reports, in whichever cell they are.
        forgotten: whether it is not known which reports were counted, as of tallies of earlier versions.
    """

    plan: "Plan"
    sources: Sequence[Any]
    not_trusted: int
    trust_plan: bool
    counted: bool = True
    left_out: int = 0
    forgotten: bool = False

    def of(
        self, batches: Sequence[int], shown: str, *, simulated: bool, beside: str = "", known: Sequence[str] = ()
    ) -> Statement:
        """Return the statement on batches of reports: of whom nothing is known, unless a collector's folder says it.

        Args:
            batches: number of reports of each.
            shown: what the reader sees.
            simulated: whether any report is simulated.
            beside: why what is shown is no function of unordered batches; empty if it is.
            known: names of columns beside the reports that made the batches.
        """
        from discreet.privacy.publication import Publication

        mechanism = self.plan.personalized() if self.plan.is_personalized else self.plan.mechanism()
        made = self._of_folder() or Publication(mechanism, tuple(batches))
        told = {_VOUCHED: self.trust_plan, _FORGOTTEN: self.forgotten, _NOT_COUNTED: not self.counted}
        remarks = [*made.remarks, *(remark for remark, holds in told.items() if holds)]
        alone = replace(
            made,
            mechanism=mechanism,
            not_trusted=self.not_trusted,
            beside=beside,
            simulated=simulated,
            shown=shown,
            remarks=tuple(remarks),
        )
        return Statement(alone, self._wider(alone, known))

    def _of_folder(self) -> "Publication | None":
        """Return the publication of a collector's folder, where that is all that was read."""
        from discreet.formats.publications import folder_publication

        if len(self.sources) != 1 or not Path(self.sources[0]).is_dir():
            return None
        return folder_publication(Path(self.sources[0]), self.plan.mechanism())

    def _wider(self, alone: "Publication", known: Sequence[str]) -> "Publication | None":
        from discreet.formats.public_columns import cells_beside

        if alone.simulated or not self.counted or not self.sources:
            return None
        beside = cells_beside(
            self.plan.mechanism(), self.sources, most=_MOST_CELLS, public=known, trust_plan=self.trust_plan
        )
        if not set(beside.names) - set(known):
            return None
        names = ", ".join(beside.names)
        shown = f"{alone.shown} and the columns beside the reports too ({names}), or the files"
        if not beside.cells:
            why = f"the columns {names} have many values, and a cell of one report is a name"
            return replace(alone, beside=why, shown=shown)
        return replace(alone, batches=beside.cells, shown=shown, not_trusted=alone.not_trusted + self.left_out)
