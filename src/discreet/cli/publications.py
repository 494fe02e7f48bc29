"""Statements of verbs on what they publish: sentences and record, columns beside reports included."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from discreet.cli.output import SIMULATED_REPORTS, asked_question, notes_of
from discreet.formats.plan import Plan
from discreet.formats.public_columns import cells_beside
from discreet.privacy.publication import WEIGHTS, Publication

_MOST_CELLS = 100_000
_VOUCHED = "That the files hold reports of this plan, and none that is simulated, is the word of whoever trusts them."
_FORGOTTEN = "A tally of an earlier version is among them, of which nobody can tell what else counts its reports too."
_NOT_COUNTED = "Columns beside the reports are not counted here: each cell of theirs that is published is a batch."


@dataclass(frozen=True, slots=True)
class Statement:
    """The statement of a verb on what it publishes.

    Attributes:
        alone: what is published by itself.
        wider: the same if the columns beside the reports, or the files, are published too; None without such columns.
    """

    alone: Publication
    wider: Publication | None = None

    def record(self) -> dict[str, Any]:
        """Return the statement ready for JSON; of a question of a survey none, as those of all questions add up."""
        if (question := asked_question()) is not None:
            question.statement = self
            return {}
        wider = {} if self.wider is None else {"publication_with_columns": self.wider.to_dict()}
        return {"publication": self.alone.to_dict(), **wider}

    def parts(self) -> Iterator[str]:
        """Yield a line on a person, another one where there are columns beside the reports, and the conditions."""
        if self.alone.simulated or asked_question() is not None:
            return
        person, conditions = self.alone.lines()
        yield person
        if self.wider is not None:
            yield " ".join(self.wider.person())
        yield conditions if self.alone.none else f"Conditions: {conditions}"

    def closing(self, notes: Sequence[str], left_out: Sequence[str] = ()) -> Iterator[str]:
        """Yield the statement, the mark of simulated reports, and sentences on rows and files."""
        yield from self.parts()
        if self.alone.simulated and asked_question() is None:
            yield SIMULATED_REPORTS
        yield from left_out
        yield from notes_of(notes)


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

    plan: Plan
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
        mechanism = self.plan.maker
        publication = self._of_folder() or Publication(mechanism, tuple(batches))
        remark_of = {_VOUCHED: self.trust_plan, _FORGOTTEN: self.forgotten, _NOT_COUNTED: not self.counted}
        remarks = [*publication.remarks, *(remark for remark, holds in remark_of.items() if holds)]
        alone = replace(
            publication,
            mechanism=mechanism,
            not_trusted=self.not_trusted,
            beside=beside,
            simulated=simulated,
            shown=shown,
            remarks=tuple(remarks),
        )
        return Statement(alone, self._wider(alone, known))

    def _of_folder(self) -> Publication | None:
        """Return the publication of a collector's folder, where that is all that was read."""
        if len(self.sources) != 1 or not Path(self.sources[0]).is_dir():
            return None
        # Of documents and their signatures, which other sources do not have.
        from discreet.formats.publications import folder_publication

        return folder_publication(Path(self.sources[0]), self.plan.mechanism())

    def _wider(self, alone: Publication, known: Sequence[str]) -> Publication | None:
        if alone.simulated or not self.counted or not self.sources:
            return None
        # What reads reports is loaded when there is something to read.
        from discreet.formats.sources import Sources

        read = Sources(self.sources, trust_plan=self.trust_plan)
        beside = cells_beside(self.plan.mechanism(), read, most=_MOST_CELLS, public=known)
        if not set(beside.names) - set(known):
            return None
        names = ", ".join(beside.names)
        shown = f"{alone.shown} and the columns beside the reports too ({names}), or the files"
        if not beside.cells:
            why = f"the columns {names} have many values, and a cell of one report is a name"
            return replace(alone, beside=why, shown=shown)
        return replace(alone, batches=beside.cells, shown=shown, not_trusted=alone.not_trusted + self.left_out)


def weighed_cells(columns: Sequence[Any]) -> tuple[tuple[int, ...], str]:
    """Return the number of reports of each combination of weights and groups, and why these are no batches, if so."""
    table = pa.table(list(columns), names=[str(place) for place in range(len(columns))])
    cells = tuple(table.group_by(table.column_names).aggregate([([], "count_all")])["count_all"].to_pylist())
    return cells, WEIGHTS if 1 in cells else ""
